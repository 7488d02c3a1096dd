"""Samples of rows in opposite pairs, and means and areas of many samples at once.

A row of a shuffled table holds values of two rows of X: its own and its donor's. A
sample that counts row i c_i times thus gives the shuffled row i with donor d the weight
w_i (c_i + c_d) / 2.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skvarimp._compiled import use_compiled
from skvarimp._measures.rows import RandomSampleUnits, SampleUnits
from skvarimp._running.memory import HELD, slices

N_PAIRS = 100


def resamples_of(units):
    """`UnitsLess` where these are no more samples than `OppositeHalves`, or those.

    Parameters
    ----------
    units : Units
        The rows of positive weight, with their groups.
    """
    return UnitsLess(units) if units.n <= 2 * N_PAIRS else OppositeHalves(units)


class UnitsLess:
    """Samples in each of which one row, or one group of rows, counts a third.

    That is the jackknife, but no class is ever missing. The first sample counts all
    rows alike.

    Attributes
    ----------
    units : Units
    counts : list of ndarray of uint8 of shape (n_rows, n_samples)
        Of n + 1 samples in all.
    stand_in : Units
        What the samples are as `deviations` of rows; the sample of all rows is not.
    """

    def __init__(self, units):
        self.units = units
        even = np.full(units.n, 1.0 / units.n)
        self.stand_in = SampleUnits(units.n, even, even, of_rows=units)
        own = np.arange(units.n) if units.groups is None else units.groups
        self.counts = [np.full((len(own), 1), 3, dtype=np.uint8)]
        for part in slices(units.n, len(own), HELD):
            less = own[:, np.newaxis] == np.arange(part.start, part.stop)
            self.counts.append(np.where(less, np.uint8(1), np.uint8(3)))

    def deviations(self, lost):
        """What scores lost owe to single units, and to pairs of units.

        A unit with the share W of the weights has two thirds of it less, as row and as
        donor, of which each is half of a shuffled row's weight. The mean loss of the
        others' rows is then by (W / 3) / (1 - 2 W / 3) times the unit's influence away.
        Pairs are in this: the jackknife is too large for what only they cause.

        Parameters
        ----------
        lost : ndarray of shape (n_groups, n + 1)

        Returns
        -------
        ndarray of shape (2, n_groups, n)
            Of the size of `orders`: the variance is the squared error.
        """
        shares = self.units.sums(self.units.weights)
        moved = (lost[:, :1] - lost[:, 1:]) * (1.0 - 2.0 * shares / 3.0)
        of_units = 3.0 * np.sqrt(self.units.n) * moved
        return np.stack([of_units, np.zeros_like(of_units)])


class OppositeHalves:
    """Random samples in opposite pairs, see `opposite_samples`.

    Attributes
    ----------
    counts : list of ndarray of uint8 of shape (n_rows, n_samples)
        Of 2 * N_PAIRS samples in all.
    stand_in : Units
        What pairs of samples are as `deviations` of rows.
    """

    def __init__(self, units):
        even = np.full(N_PAIRS, 1.0 / N_PAIRS)
        self.stand_in = RandomSampleUnits(N_PAIRS, even, even, of_rows=units)
        self.counts = list(opposite_samples(units))

    def deviations(self, lost):
        """What scores lost owe to single units, and to pairs of units, see `orders`."""
        return orders(lost)


def opposite_samples(units):
    """Yield counts (n_rows, 2 * n_pairs) of pairs, N_PAIRS in all: always the same.

    A sample counts a random half of the rows, or of the groups of rows, three times and
    the others once. Its opposite, which follows, does the reverse (Fay's weights;
    Judkins 1990, "Fay's method for variance estimation", Journal of Official Statistics
    6). No class is thus ever missing. Halves of n rows vary n / (n - 1) times as much
    as the rows say, as samples of n rows do, or (n + 1) / n times where n is odd.

    Parameters
    ----------
    units : Units
        The rows, with their groups.
    """
    random, half = np.random.default_rng(0), np.arange(units.n) < units.n // 2
    of_rows = slice(None) if units.groups is None else units.groups
    for pairs in slices(N_PAIRS, 2 * len(units.weights), HELD, 1):
        halves = random.permuted([half] * (pairs.stop - pairs.start), axis=1)
        counts = 1 + 2 * halves.T[of_rows].astype(np.uint8)
        yield np.stack([counts, 4 - counts], axis=-1).reshape(len(counts), -1)


def orders(lost):
    """What scores lost in samples owe to single rows, and to pairs of rows.

    Let s_i be 1 where a sample counts row i three times, and else -1. Weights move by a
    quarter of s_i + s_d. To second order the score lost is thus a constant + L / 4 +
    Q / 16, with L = sum of a_i s_i over rows and Q = sum of a_ik s_i s_k over pairs of
    rows. The opposite sample has -L and Q.

    Parameters
    ----------
    lost : ndarray of shape (..., 2 * n_pairs)

    Returns
    -------
    ndarray of shape (2, ..., n_pairs)
        L and, but for a constant, Q.
    """
    sample, opposite = lost[..., ::2], lost[..., 1::2]
    return np.stack([2.0 * (sample - opposite), 8.0 * (sample + opposite)])


class AllRows:
    """All rows as the only sample, each counted by its weight.

    Parameters
    ----------
    weights : ndarray of shape (n_rows,)
    """

    def __init__(self, weights):
        self.shares = weights / weights.sum()

    def mean(self, values):
        """Means over the rows, (...), of values (..., n_rows)."""
        return np.sum(values * self.shares, axis=-1)  # equal values have equal means


@dataclass
class Weighting:
    """Shuffled tables in some samples.

    Parameters
    ----------
    counts : ndarray of uint8 of shape (n_rows, n_samples)
    donors : ndarray of shape (n_repeats, n_rows)
    weights : ndarray of shape (n_rows,)
    """

    counts: np.ndarray
    donors: np.ndarray
    weights: np.ndarray

    def mean(self, values):
        """Means over the rows, (..., n_repeats, n_samples).

        Parameters
        ----------
        values : ndarray of shape (n_rows,) or (..., n_repeats, n_rows)
        """
        return self._sums(self.weights * values) / self._totals

    @cached_property
    def _totals(self):
        return self._sums(self.weights)

    def _sums(self, values):
        n_repeats, n = self.donors.shape
        if values.ndim == 1:
            values = np.broadcast_to(values, (n_repeats, n))
        flat = values.reshape(-1, n)
        of_rows = flat.astype(np.float64)
        for own, (at, of_repeat) in zip(of_rows, enumerate(flat)):
            own += np.bincount(self.donors[at % n_repeats], of_repeat, n)
        sums = of_rows @ self.counts.astype(np.float64)
        return sums.reshape(*values.shape[:-1], -1)

    def areas(self, positive, scores, precision=False, rows=None):
        """Sums under the curve of the ranks, and weights of positive and other rows.

        Parameters
        ----------
        positive : ndarray of bool of shape (n_rows,)
        scores : ndarray of shape (..., n_repeats, n_rows)
        precision : bool, default=False
            Whether the curve is that of precision and recall, else the ROC curve.
        rows : ndarray of shape (n_ranked,), default=None
            Those that are ranked; None: all.

        Returns
        -------
        ndarray of shape (3, ..., n_repeats, n_samples)
        """
        *shape, n = scores.shape
        rows = np.arange(n) if rows is None else rows
        found = []
        for at, of_repeat in enumerate(scores.reshape(-1, n)):
            scored = of_repeat[rows]
            order = np.argsort(-scored if precision else scored, kind="stable")
            ranked, scored = rows[order], scored[order]
            last = np.append(scored[1:] != scored[:-1], True)
            donors = self.donors[at % len(self.donors)][ranked]
            found.append(self._area(ranked, donors, positive[ranked], last, precision))
        return np.stack(found, axis=1).reshape(3, *shape, -1)

    def _area(self, rows, donors, positive, last, precision):
        weights = self.weights[rows]
        if use_compiled():
            from skvarimp._compiled.ranked import areas

            return areas(
                self.counts,
                rows,
                donors,
                weights,
                positive.view(np.uint8),
                last.view(np.uint8),
                precision,
            )
        n_samples = self.counts.shape[1]
        found = np.empty((3, n_samples))
        for part in slices(n_samples, len(rows)):
            counts = self.counts[:, part]
            of_rows = weights[:, np.newaxis] * (1.0 * counts[rows] + counts[donors])
            P, N = (
                np.cumsum(of_rows * of_class[:, np.newaxis], axis=0)[last]
                for of_class in (positive, ~positive)
            )
            gained = np.diff(P, axis=0, prepend=0.0)
            if precision:
                height = P / (P + N)
            else:
                height = N - np.diff(N, axis=0, prepend=0.0) / 2
            found[:, part] = (gained * height).sum(axis=0), P[-1], N[-1]
        return found
