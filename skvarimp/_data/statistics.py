"""Weighted statistics of one sample, adjusted p-values, and sampling errors.

Weights are non-negative and sum to 1. A sampling error comes from influences: psi_i
says how much row i moves an estimate, and its weighted mean is 0. Rows of one group may
depend on each other, but the n groups are independent (without groups each row is one),
and the sampling error is to first order the sum of the terms

    t_g = (n / (n - 1))^(1/2) sum_(i in g) w_i psi_i

so that its variance is the sum of their squares, and its third central moment the sum
of their cubes. What the weights summed to before does not matter: a row of weight 3 is
one row, not three.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.stats import t as student

from skvarimp._data.base_table import begins_value


def divided(a, b, least=0.0):
    """a / b, and 0 where b is not above `least`."""
    a, b = np.broadcast_arrays(a, b)
    return np.divide(a, b, out=np.zeros(a.shape), where=b > least)


def precise_cumsum(values):
    """np.cumsum block by block, so that rounding errors of many values stay few."""
    width = max(math.isqrt(len(values)), 1)
    blocks = np.zeros((-(-len(values) // width), width))
    blocks.ravel()[: len(values)] = values
    np.cumsum(blocks, axis=1, out=blocks)
    blocks[1:] += np.cumsum(blocks[:-1, -1])[:, np.newaxis]
    return blocks.ravel()[: len(values)]


def running_sums(values):
    """Sums up to each place along the last axis; 0 first, and the sum of all last."""
    return np.insert(np.cumsum(values, axis=-1), 0, 0.0, axis=-1)


SLACK = 1e-12  # of shares: rounding must not take a quantile to the next value


def quantile_positions(probabilities, at):
    """Positions of the first values at which the distribution function reaches `at`."""
    reached = precise_cumsum(probabilities)
    reached = reached / reached[-1]
    return np.minimum(np.searchsorted(reached, at - SLACK), len(reached) - 1)


def holm(pvalues):
    """Holm's step-down adjusted p-values.

    At most a share alpha of data sets has an adjusted p-value of at most alpha for any
    true hypothesis, however the p-values depend on each other.

    Parameters
    ----------
    pvalues : ndarray of shape (n,)

    Returns
    -------
    ndarray of shape (n,)
        max over k <= j of (n - k + 1) p_(k), at most 1, for the j-th smallest.
    """
    order = np.argsort(pvalues, kind="stable")
    factors = np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(factors * pvalues[order])
    return np.minimum(adjusted, 1.0)


def mean_over_outputs(per_output):
    """Means of numbers by output, (n_features, n_outputs), over outputs that are known.

    An output is unknown where it is NaN for every feature.
    """
    known = ~np.isnan(per_output).all(axis=0)
    return per_output[:, known if known.any() else slice(None)].mean(axis=1)


def centred(values, weights):
    """Minus the weighted mean along the last axis; exactly 0 where constant."""
    shifted = values - values[..., :1]
    return shifted - np.matmul(shifted, weights[..., np.newaxis])


def variance(values, weights):
    """Weighted variance along the last axis, with divisor n; 0 where constant."""
    squares = centred(values, weights) ** 2
    return np.matmul(squares, weights[..., np.newaxis])[..., 0]


TENTHS = np.arange(1, 10) / 10


def deciles(values, probabilities):
    """The nine deciles of observed values in any order, missing ones left out."""
    values = values.astype(np.float64)
    seen = ~np.isnan(values)
    values, probabilities = values[seen], probabilities[seen]
    if not len(values):
        return np.empty(0)
    if np.all(probabilities == probabilities[0]):  # which need no sort
        at = np.ceil(len(values) * (TENTHS - SLACK)).astype(np.intp) - 1
        return np.partition(values, at)[at]
    order = np.argsort(values, kind="stable")
    at = quantile_positions(probabilities[order], TENTHS)
    return values[order][at]


def ranking(importances):
    """Ranks from 1 = most important; ties in the order given; NaN last.

    Parameters
    ----------
    importances : ndarray of shape (n_features,)

    Returns
    -------
    ndarray of shape (n_features,)
    """
    order = np.argsort(-importances, kind="stable")  # NaN sorts last
    return np.argsort(order) + 1


def distinct_masses(column, weights):
    """Distinct values, ascending, and their weights, or counts where all are equal."""
    if np.all(weights == weights[0]):
        column, weights = np.sort(column), np.ones(len(column))
    else:
        order = np.argsort(column, kind="stable")
        column, weights = column[order], weights[order]
    first = np.flatnonzero(begins_value(column))
    return column[first], np.add.reduceat(weights, first)


def equal_bins(distinct, masses, n_bins):
    """Equal-probability bins of sorted values, each represented by its median.

    Tied values stay together: a value belongs to the bin that holds the middle of its
    probability mass. If exactly half of a bin's mass lies below a gap, its median is
    the middle of the gap.
    """
    up_to = np.cumsum(masses)
    total = up_to[-1]
    if len(distinct) <= n_bins:
        return distinct, masses / total
    # the tolerance keeps a middle that is a bin's edge up to rounding in the left bin
    bins = ((up_to - masses / 2) * (n_bins / total) - 1e-9).astype(int)
    first = np.flatnonzero(np.diff(np.minimum(bins, n_bins - 1), prepend=-1))
    begin = up_to[first] - masses[first]
    end, last = np.append(begin[1:], total), np.append(first[1:], len(bins)) - 1
    half, tolerance = (begin + end) / 2, 1e-12 * total
    low = np.searchsorted(up_to, half - tolerance)
    high = np.minimum(np.searchsorted(up_to, half + tolerance), last)
    return 0.5 * (distinct[low] + distinct[high]), (end - begin) / total


@dataclass(frozen=True)
class Units:
    """The independent rows, or groups of rows, that an estimate is made of.

    Attributes
    ----------
    n : int
        Number of groups, or of rows without groups, of positive weight.
    weights : ndarray of shape (n_rows,) or (n_features, n_rows), or None
        They sum to 1. Of a row that stands for several of equal influence, the root of
        the sum of their squared weights. None where others weigh the influences.
    thirds : ndarray of the shape of `weights`, or None
        The same for third moments: the cube root of the sum of their cubed weights.
        None where it is not known.
    groups : ndarray of shape (n_rows,) or None
        The group of each row, numbers from 0 of which each occurs. None: each row is
        independent of all others, or the groups of the rows are known elsewhere.
    labels : ndarray of shape (n,) or None
        The user's label of each group; None without groups.
    """

    n: int
    weights: np.ndarray | None = None
    thirds: np.ndarray | None = None
    groups: np.ndarray | None = None
    labels: np.ndarray | None = None

    @classmethod
    def of(cls, weights, labels=None):
        """Each row by itself, or rows of one label together.

        Parameters
        ----------
        weights : ndarray of shape (n_rows,)
            Positive; they sum to 1.
        labels : ndarray of shape (n_rows,), default=None
        """
        if labels is None:
            return cls(len(weights), weights, weights)
        labels, groups = np.unique(labels, return_inverse=True)
        return cls(len(labels), weights, weights, groups, labels)

    @property
    def n_groups(self):
        """How many groups the rows are in; None without groups."""
        return None if self.labels is None else self.n

    @property
    def inflation(self):
        """What sums of squares are multiplied by; NaN for one unit."""
        return self.n / (self.n - 1) if self.n > 1 else np.nan

    @property
    def freedom(self):
        """Degrees of freedom of Student's distribution.

        Those of a sum of squares with unequal weights (Satterthwaite 1946): n - 1 where
        the rows of all groups have the same weights on average, and fewer where some
        weigh much more than others.
        """
        return max(self._numbers[0] - 1, 1)

    @property
    def interval_freedom(self):
        """Degrees of freedom of the interval of one estimate.

        One less than the geometric mean of the effective numbers of units in a sum,
        (sum w)^2 / sum w^2, and in a sum of squares, as in `freedom`. Numerator and
        denominator of a studentised estimate hold the same heavy units: its tails are
        not as long as those of so few squares alone.
        """
        of_squares, of_sums = self._numbers
        return max(math.sqrt(of_squares * of_sums) - 1, 1)

    @property
    def evenness(self):
        """How even the weights are: the effective share of the units, at most 1."""
        return min(self._numbers[0] / self.n, 1.0)

    @property
    def understatement(self):
        """The factor by which errors are too small for one heavy unit among others.

        A heavy unit pulls the estimate to itself and makes its own influence small. Of
        units with equal variances the squared standard error is on average the true one
        times n / (n - 1) (1 - 2 sum w^3 / sum w^2 + sum w^2). 1 for even weights. At
        most 2: where one unit is nearly all, no factor makes its error known.
        """
        if self.weights is None or self.n < 2:
            return 1.0
        shares = self._relative / self._relative.sum()
        squares = shares**2
        heavy = 2.0 * (squares @ shares) / squares.sum() - squares.sum()
        left = self.inflation * (1.0 - heavy)
        return 1.0 / math.sqrt(max(left, 0.25))

    @property
    def _relative(self):
        """The units' weights; a group counts by the mean weight of its rows."""
        weights = self.sums(self.weights)
        if self.groups is not None:
            weights = weights / np.bincount(self.groups)
        return weights / weights.max()

    @cached_property
    def _numbers(self):
        """Effective numbers of units in sums of squares, and in sums."""
        if self.weights is None:
            return self.n, self.n
        weights = self._relative
        squares = weights**2
        total = squares.sum()
        return total**2 / (squares @ squares), weights.sum() ** 2 / total

    def count(self, rows):
        """Number of units that have some of the rows, a mask of shape (n_rows,)."""
        if self.groups is None:
            return int(rows.sum())
        return len(np.unique(self.groups[rows]))

    def same_groups(self, other):
        """Whether other units put the same rows together."""
        if self.groups is None or other.groups is None:
            return self.groups is other.groups
        pairs = np.unique(self.groups * other.n + other.groups)
        return len(pairs) == self.n == other.n

    def sums(self, values):
        """Numbers of rows, (..., n_rows), summed within the groups, (..., n)."""
        if self.groups is None:
            return values
        flat = values.reshape(-1, len(self.groups))
        sums = [np.bincount(self.groups, of_one, self.n) for of_one in flat]
        return np.reshape(sums, (*values.shape[:-1], self.n))

    def squares_by_cell(self, codes, n_cells):
        """Squared weights of the rows of each unit in each cell, summed over the units.

        Parameters
        ----------
        codes : ndarray of shape (n_rows,)
            The cell of each row.
        n_cells : int
        """
        if self.groups is None:
            return np.bincount(codes, self.weights**2, n_cells)
        where = self.groups, codes
        of_both = sparse.coo_array((self.weights, where), (self.n, n_cells)).tocsr()
        return of_both.power(2).sum(axis=0)

    @property
    def cubed_apart(self):
        """Whether the `terms` for cubes are others than those for squares."""
        return self.thirds is not self.weights

    def terms(self, influences, power=2):
        """What each unit adds to the sampling error, (..., n).

        Parameters
        ----------
        influences : ndarray of shape (..., n_rows)
        power : {2, 3}
            For sums of squares, or of cubes, of the terms.
        """
        return np.sqrt(self.inflation) * self.weighted_sums(influences, power)

    def weighted_sums(self, influences, power=2):
        """The terms but for their common factor."""
        weights = self.weights if power == 2 else self.thirds
        return self.sums(weights * influences)

    def error(self, influences):
        """Standard errors of estimates, from influences (..., n_rows)."""
        return self.error_of_sums(self.weighted_sums(influences))

    def error_of_columns(self, influences):
        """The same from influences (n_rows, n_features), which are written to."""
        if self.groups is not None:
            return self.error(influences.T)
        influences *= influences
        return self.error_of_squares(self.weights**2 @ influences)

    def skewness(self, influences, errors):
        """Skewness of estimates with these standard errors; None where not known."""
        if self.thirds is None:
            return None
        return skewness_of(self.terms(influences, power=3), errors)

    def error_and_skewness(self, influences):
        """Both `error` and `skewness`."""
        sums = self.weighted_sums(influences)
        if self.cubed_apart:
            errors = self.error_of_sums(sums)
            return errors, self.skewness(influences, errors)
        size, scaled = _scaled(sums)
        squares = scaled * scaled
        total = squares.sum(axis=-1)
        cubes = np.einsum("...i,...i->...", squares, scaled)
        return np.sqrt(self.inflation * total) * size, divided(cubes, total**1.5)

    def error_of_sums(self, sums):
        """The same as `error` from sums of w_i psi_i over whole units, (..., any)."""
        return np.sqrt(self.inflation) * root_of_squares(sums)

    def error_of_squares(self, squares):
        """The same from the squares of such sums, summed over all units."""
        return np.sqrt(self.inflation * squares)


def root_of_squares(values):
    """The root of the sum of squares along the last axis.

    Values are scaled before they are squared, so that no square vanishes or overflows.
    """
    size, scaled = _scaled(values)
    return size * np.sqrt(np.einsum("...i,...i->...", scaled, scaled))


def _scaled(values):
    """The largest size of values along the last axis, and the values divided by it."""
    size = np.abs(values).max(axis=-1, initial=0.0)
    return size, values / np.where(size > 0, size, 1.0)[..., np.newaxis]


def t_quantile(probability, freedom):
    """Quantile of Student's distribution."""
    return float(student.ppf(probability, freedom))


def skewness_of(terms, errors):
    """The sum of cubes of terms along the last axis over that of standard errors."""
    shares = divided(terms, errors[..., np.newaxis])
    return np.einsum("...i,...i->...", shares * shares, shares)


def unit_of(values):
    """The power of two next to the largest size of the values; 1 where all are 0.

    Numbers divided by it keep all their digits, and their squares neither vanish nor
    overflow.
    """
    size = np.abs(values).max(initial=0.0)
    return float(np.exp2(np.frexp(size)[1])) if 0 < size < np.inf else 1.0


def gini_mean_difference(values, weights):
    """E|V' - V''| of two independent draws from a weighted sample.

    Computed as 2 sum_k (v_(k+1) - v_(k)) P_k (1 - P_k), which is exactly 0 for a
    constant sample; self-pairs count.
    """
    order = np.argsort(values, kind="stable")
    below = precise_cumsum(weights[order])[:-1]
    return float(2.0 * np.sum(np.diff(values[order]) * below * (1.0 - below)))
