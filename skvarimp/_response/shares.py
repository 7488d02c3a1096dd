"""Shares of the variance of the response: Sobol' indices.

Index letters as in `reductions`. With F[k] the mean over the rows of ICE[i, k]:

============ =========================================================
OwnShare     Var_k F[k] / Var f
TotalShare   sum_i w[i] Var_k ICE[i, k] / Var f
============ =========================================================

where Var_k weighs the cells by p[k]. The variance of f over the rows comes as the
scale. It is estimated from the same rows, so that a row moves a share s = U / Var f by

    psi[i] = (psi_U[i] - s ((f[i] - mean f)^2 - Var f)) / Var f.
"""

from dataclasses import dataclass

import numpy as np

from skvarimp._data.statistics import centred, variance
from skvarimp._response.mean_curves import PartialDependence
from skvarimp._response.reductions import RowMean


def _through_variance(self, shares, sample):
    """`Reduction.through_scale` of shares: what comes from Var f, times Var f."""
    squares = sample.squared_deviations() - sample.scale[:, np.newaxis]
    return -shares[..., np.newaxis] * squares


class TotalShare(RowMean):
    """Sobol's total index: mean over the rows of the variance of the row's curve.

    The mean of (ICE[i, k] - ICE[i, l])^2 / 2 over l is half of the cell's squared
    deviation plus half of the row's variance: each donor brings one deviation.
    """

    primitive = "variances"
    needs = "moments"
    merges_rows = False
    uses_squares = True
    donor_factor = 1

    through_scale = _through_variance


@dataclass(frozen=True)
class OwnShare(PartialDependence):
    """Sobol's first-order index: the variance of the mean curve."""

    statistic: str = "variance"

    merges_rows = False
    counts_values = False
    uses_squares = True

    def spread(self, cells, sample):
        return variance(cells, sample.probabilities)

    def slope(self, cells, sample):
        chances = sample.probabilities
        return 2.0 * chances[:, np.newaxis] * centred(cells, chances)

    through_scale = _through_variance

    def own_influences(self, cells, importances, sample):
        """A row is also donor of its value."""
        through_scale = self.through_scale(importances, sample)
        if sample.codes is None:
            return through_scale
        squares = sample.donated(centred(cells, sample.probabilities) ** 2)
        return through_scale + squares - self.spread(cells, sample)[..., np.newaxis]
