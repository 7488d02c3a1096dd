"""Shares of the variance of the response (Sobol' indices) as reductions.

Index letters as in `reductions`. With F[k] the mean over the rows of ICE[i, k]:

============ ==========================================================
TotalShare   sum_i w[i] Var_k ICE[i, k] / Var f
OwnShare     Var_k F[k] / Var f
============ ==========================================================

where Var_k weighs the cells by p[k]. The variance of f over the rows comes as the
scale. It is estimated from the same rows, so that a row moves a share s = U / Var f by

    psi[i] = (psi_U[i] - s ((f[i] - mean f)^2 - Var f)) / Var f.
"""

from dataclasses import dataclass

import numpy as np

from skvarimp._response.reductions.reductions import PartialDependence, _RowMean
from skvarimp._response.reductions.states import State


def _through_variance(shares, sample):
    """The part of the influences that comes from Var f, times Var f."""
    squares = sample.squared_deviations() - sample.scale[:, np.newaxis]
    return -shares[..., np.newaxis] * squares


class TotalShare(_RowMean):
    """Sobol's total index: mean over the rows of the variance of the row's curve."""

    needs = "moments"
    merges_rows = False
    uses_squares = True
    donor_factor = 1

    def reduce(self, shape):
        """See `Reduction.reduce`.

        The mean of (ICE[i, k] - ICE[i, l])^2 / 2 over l is half of the cell's squared
        deviation plus half of the row's variance: each donor brings one deviation.
        """
        return State(*shape.variances())

    def through_scale(self, shares, sample):
        """See `Reduction.through_scale`."""
        return _through_variance(shares, sample)


@dataclass(frozen=True)
class OwnShare(PartialDependence):
    """Sobol's first-order index: the variance of the mean curve."""

    statistic: str = "variance"

    merges_rows = False
    counts_values = False
    uses_squares = True

    def spread(self, cells, sample):
        """See `PartialDependence.spread`."""
        return np.einsum(
            "bok,bk->bo", _centred(cells, sample) ** 2, sample.probabilities
        )

    def slope(self, cells, sample):
        """See `PartialDependence.slope`."""
        chances = sample.probabilities[:, np.newaxis]
        return 2.0 * chances * _centred(cells, sample)

    def through_scale(self, shares, sample):
        """See `Reduction.through_scale`."""
        return _through_variance(shares, sample)

    def own_influences(self, cells, importances, sample):
        """See `PartialDependence.own_influences`; a row is also donor of its value."""
        through_scale = self.through_scale(importances, sample)
        if sample.codes is None:
            return through_scale
        squares = sample.donated(_centred(cells, sample) ** 2)
        return through_scale + squares - self.spread(cells, sample)[..., np.newaxis]


def _centred(cells, sample):
    """Mean curves minus their mean over the donors; exactly 0 where constant."""
    shifted = cells - cells[..., :1]
    mean = np.einsum("bok,bk->bo", shifted, sample.probabilities)
    return shifted - mean[..., np.newaxis]
