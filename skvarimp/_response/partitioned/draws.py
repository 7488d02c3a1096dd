"""Draws of (row, donor) over partitions.

Each row draws the random numbers that it would draw in memory: those of its place among
all rows. Its donors are the observed values where all are known, with their weights.
Of more values they are those of a pool of `N_DONORS` rows, drawn from all partitions by
their weights.
"""

import math
from dataclasses import dataclass

import numpy as np

from skvarimp._response.partitioned.moments import Moments
from skvarimp._response.partitioned.observed import MOST_VALUES
from skvarimp._response.reductions.states import Finished
from skvarimp._response.sampling import tallied
from skvarimp._response.tally import DonorMeans

N_DONORS = MOST_VALUES  # of which any values can be counted


class OfRows:
    """The random numbers of some rows, out of those of all rows.

    Parameters
    ----------
    seed : int
    n_all : int
        For how many rows they are drawn, one after another.
    rows : slice
        Those wanted.
    """

    def __init__(self, seed, n_all, rows):
        self.n_all, self.rows = n_all, rows
        self._random = np.random.Generator(np.random.PCG64(seed))

    def random(self, size):
        """Numbers in [0, 1), the last axis of `size` holding the rows in turn."""
        n_rows = self.rows.stop - self.rows.start
        numbers = np.empty((math.prod(size) // n_rows, n_rows))
        bits = self._random.bit_generator
        for of_all in numbers:
            bits.advance(self.rows.start)
            self._random.random(out=of_all)
            bits.advance(self.n_all - self.rows.stop)
        return numbers.reshape(size)


@dataclass
class Drawn:
    """What the draws of some rows say of an entry.

    Attributes
    ----------
    importances : ndarray of shape (n_outputs,)
        The part of these rows.
    moments : Moments
        Of each row's mean contribution and of `Draw.unmoved`, by the row's own cell; of
        rows whose values are no donors in one cell more.
    cells : ndarray of shape (4, n_cells)
        See `Tally`.
    noise : ndarray of shape (2,)
        Variances that drawing gives the rows' means, times weights and their squares.
    """

    importances: np.ndarray
    moments: Moments
    cells: np.ndarray
    noise: np.ndarray

    @classmethod
    def of(cls, tally, walk, move, draw, n_repeats):
        """From the draws of one partition."""
        weights, (row_mean, noise) = walk.weights, tally.of_rows(n_repeats)
        unmoved = np.broadcast_to(draw.unmoved(walk.base, walk.y), row_mean.shape)
        codes = None if move.codes is None else move.codes[walk.rows]
        numbers = np.stack([row_mean, unmoved])
        return cls(
            tally.per_output @ weights / n_repeats,
            Moments.of(numbers, weights, codes, move.n_cells + 1),
            tally.cell_sums,
            np.array([weights @ noise, weights**2 @ noise]),
        )

    def estimate(self, move, pooled, draw, n_repeats, n_rows, total_weight):
        """`Finished`; `move` through all donors, `pooled`: whether from a pool."""
        n_draws = n_repeats * n_rows
        if n_repeats == 1:
            return Finished(self.importances, np.nan, np.nan, n_draws)
        numbers, weights, codes = self.moments.points()
        theta = self.importances.mean()
        psi = numbers[0] - theta + draw.further_influence(theta, numbers[1])
        variance, monte_carlo = weights @ psi**2 - self.noise[0], self.noise[1]
        if move.codes is not None:
            donors, factor = DonorMeans.of(self.cells, theta), draw.donor_factor
            own = weights, codes, psi
            variance += donors.share_of_variance(*own, move.chances, factor)
            if pooled:
                squares = donors.means**2 - donors.noise
                monte_carlo += max(factor**2 * move.chances @ squares, 0) / N_DONORS
        error = np.sqrt(max(variance, 0.0) / total_weight)
        return Finished(self.importances, error, monte_carlo**0.5, n_draws)


def draw_in(part, walk, pooled, draw, scale, n_repeats, seeds):
    """The `Drawn` of each entry from one partition.

    Parameters
    ----------
    part : Part
    walk : PartitionedWalk
        Whose model is the black box.
    pooled : list of bool
        By entry, whether its donors come from the pool.
    draw : Reduction
    scale : ndarray of shape (n_outputs,)
    n_repeats : int
    seeds : ndarray of shape (n_entries,)
    """
    rows, n_all, walk = slice(*walk.spans[part.number]), walk.n_rows, walk.of(part)
    result = []
    for e, from_pool in enumerate(pooled):
        random, move = OfRows(int(seeds[e]), n_all, rows), walk.moves[e]
        # two donors are the same row of a pool more often than of all rows
        distinct = 1 - 1 / N_DONORS if from_pool else 1.0
        of_distinct = scale * distinct ** (draw.n_moves - 1)
        tally = tallied(walk, move, draw, of_distinct, n_repeats, random, n_all)
        result.append(Drawn.of(tally, walk, move, draw, n_repeats))
    return result


def pool_points(seed, weight):
    """Where the rows of the pool lie in the summed weights of all rows; ascending."""
    return np.sort(np.random.default_rng([seed, 1]).random(N_DONORS)) * weight


def pool_rows(part, points, spans):
    """The rows of a partition that are in the pool: number -> table.

    Parameters
    ----------
    part : Part
    points : ndarray of shape (n_donors,)
        Between 0 and the weight of all rows, ascending.
    spans : dict
        Number of a partition -> weight of all rows before it, and up to its end.
    """
    begin, end = spans[part.number]
    mine = points[(points >= begin) & (points < end)]
    rows = np.searchsorted(begin + np.cumsum(part.weights)[:-1], mine, side="right")
    return {part.number: part.table.take(rows)} if len(rows) else {}
