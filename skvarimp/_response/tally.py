"""Sums of draws by row and by donor, and the errors that follow from them."""

from dataclasses import dataclass

import numpy as np

from skvarimp._response.reductions.states import Finished
from skvarimp._response.subgroups import donor_levels


def scaled_influences(psi, weights, variance):
    """Influences estimated from draws, with mean 0 and the variance that is known.

    Drawing adds noise to each row's influence; it is shrunk by what the noise adds.
    """
    psi = psi - weights @ psi
    size = weights @ psi**2
    return psi * np.sqrt(variance / size) if size > 0 else psi


class Tally:
    """Running sums of draws, by row and by donor cell."""

    def __init__(self, n_rows, n_outputs, n_cells):
        self.per_output = np.zeros((n_outputs, n_rows))
        self.row_sums = np.zeros((2, n_rows))  # of the mean over outputs, its square
        self.cell_sums = np.zeros((4, n_cells))  # count, weight, weighted mean, square

    def add(self, rows, cells, values, weights, repeats):
        """Add draws; `values` (n_outputs, n) with every row once per repeat."""
        shape = (len(values), repeats, -1)
        self.per_output += values.reshape(shape).sum(axis=1)
        mean = values.mean(axis=0)
        by_row = mean.reshape(repeats, -1)
        self.row_sums += by_row.sum(axis=0), (by_row**2).sum(axis=0)
        weights = weights[rows]
        n_cells = self.cell_sums.shape[1]
        for drawn in cells:
            for s, what in enumerate(
                (None, weights, weights * mean, weights * mean**2)
            ):
                self.cell_sums[s] += np.bincount(drawn, what, minlength=n_cells)

    def of_rows(self, n_repeats):
        """Each row's mean, and the variance that drawing gives it, of several draws."""
        row_mean = self.row_sums[0] / n_repeats
        within = self.row_sums[1] / n_repeats - row_mean**2
        return row_mean, np.maximum(within, 0.0) / max(n_repeats - 1, 1)

    def estimate(self, walk, move, draw, n_repeats):
        """`Finished` from the sums of all rows."""
        weights = walk.weights
        importances = self.per_output @ weights / n_repeats
        n_draws = n_repeats * len(weights)
        row_mean, noise = self.of_rows(n_repeats)
        if n_repeats == 1:
            rows = (np.full(len(weights), np.nan), row_mean) if walk.keep_rows else ()
            return Finished(importances, np.nan, np.nan, n_draws, *rows)
        monte_carlo = np.sqrt(np.sum(weights**2 * noise))
        theta = importances.mean()
        unmoved = draw.unmoved(walk.base, walk.y)
        psi = row_mean - theta + draw.further_influence(theta, unmoved)
        variance = weights @ (psi**2 - noise)
        if move.codes is not None:
            donors = DonorMeans.of(
                self.cell_sums, donor_levels(walk, move, row_mean, theta)
            )
            codes, factor = move.codes[walk.rows], draw.donor_factor
            own = weights, codes, psi
            variance += donors.share_of_variance(*own, move.chances, factor)
            psi = psi + factor * donors.means[codes]
        variance = max(variance, 0.0)
        rows = ()
        if walk.keep_rows:
            rows = scaled_influences(psi, weights, variance), row_mean
        error = np.sqrt(variance / walk.total_weight)
        return Finished(importances, error, monte_carlo, n_draws, *rows)


@dataclass
class DonorMeans:
    """What the draws say of the donors.

    Attributes
    ----------
    means, noise : ndarray of shape (n_cells,)
        Each cell's mean contribution as donor minus that of all, and the variance
        that drawing gives it.
    """

    means: np.ndarray
    noise: np.ndarray

    @classmethod
    def of(cls, cell_sums, level):
        """From the sums of a `Tally`; minus `level`, (n_cells,) or a number."""
        count, weight, first, second = cell_sums
        safe = np.where(weight > 0, weight, 1.0)
        mean = np.where(weight > 0, first / safe - level, 0.0)
        spread = np.where(weight > 0, second / safe - (first / safe) ** 2, 0.0)
        several = count > 1
        within = np.maximum(spread, 0.0) * count / np.maximum(count - 1, 1)
        pooled = within[several].mean() if several.any() else 0.0
        within = np.where(several, within, pooled)
        return cls(mean, np.where(count > 0, within / np.maximum(count, 1), 0.0))

    def share_of_variance(self, weights, codes, psi, chances, factor):
        """What rows' parts as donors add to the variance of their influences.

        Parameters
        ----------
        weights, codes, psi : ndarray of shape (n_rows,)
            Weight of each row, its own cell (`n_cells` and above: none), and its
            influence as evaluated row.
        chances : ndarray of shape (n_cells,)
            How likely a row drawn by its weight has each cell.
        factor : int
            How much of a row's influence is that as donor.

        Returns
        -------
        float
            Drawing inflates squares of estimates by its own variance, which is taken
            off.
        """
        n_cells = len(self.means)
        masses, own = (
            np.bincount(codes, of_rows, n_cells)[:n_cells]
            for of_rows in (weights, weights * psi)
        )
        own = np.divide(own, masses, out=np.zeros(n_cells), where=masses > 0)
        squares = factor**2 * (self.means**2 - self.noise)
        return chances @ (2 * factor * own * self.means + squares)
