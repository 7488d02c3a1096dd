"""FIRM from conditional means: the score averaged over rows of one feature value.

A mean of n_b scores varies by chance, so that the variance between the means of rows
that do not differ is not 0. Its expectation is taken off:

    Q^2 = sum_b p_b (q_b - q)^2 - sum_b p_b (1 - p_b) s_b^2 / n_b,  at least 0

with p_b the share of group b, n_b its number of rows (sum of weights) and s_b^2 the
variance of the scores in it (divisor n_b - 1); groups of one row take the pooled
variance. The standard error is that of leaving out one row at a time (jackknife): for
groups of few rows, unlike an influence function, it contains the error of s_b^2.
"""

from dataclasses import dataclass

import numpy as np

from skvarimp._running.warn import warn

ALONE = 1.5  # a smaller group counts as one row
MOST_UNKNOWN = 0.12  # of the score's variance; beyond, noise looks significant


def auto_bins(total):
    """Bins of a continuous feature at a sample size: at least 10 rows each, 10 bins.

    More only as the cube root of the sample size: narrow bins follow q closely, but
    each costs chance variation.
    """
    fewest = min(10, max(2, int(total // 10)))
    return max(fewest, int(np.cbrt(total)))


def distinct_counts(F, limit):
    """Number of distinct values of each column, NaN one of them, or `limit` + 1.

    Parameters
    ----------
    F : ndarray of shape (n_samples, n_entries)
    limit : int
        At least 2; counting stops above it.

    Returns
    -------
    ndarray of shape (n_entries,)
    """
    limit = min(limit, len(F))  # there are no more values than rows
    low, high = F.min(axis=0), F.max(axis=0)  # NaN where a column holds one
    pair = np.all((low == F) | (high == F), axis=0)
    counts = np.where(pair, np.where(low == high, 1, 2), limit + 1)
    # Most columns of more values show it in a few rows already.
    some = np.sort(F[: 4 * (limit + 1)], axis=0)
    distinct = 1 + np.count_nonzero(some[1:] > some[:-1], axis=0)
    for e in np.flatnonzero(~pair & (distinct <= limit)):
        counts[e] = min(len(np.unique(F[:, e])), limit + 1)
    return counts


def quantile_codes(values, weights, n_bins):
    """Bins of (nearly) equal weight; equal values never part, NaN is a bin of its own.

    A value goes to the bin in which the middle of its weight falls.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
    weights : ndarray of shape (n_samples,)
    n_bins : int

    Returns
    -------
    codes : ndarray of shape (n_samples,)
        Ascending from 0, none empty.
    """
    distinct, codes = np.unique(values, return_inverse=True)
    mass = np.bincount(codes, weights)
    missing = np.isnan(distinct)  # at most the last one
    mass_seen = np.where(missing, 0.0, mass)
    middle = np.cumsum(mass_seen) - 0.5 * mass_seen
    # 1e-12: repeated rows and integer weights must not part by rounding
    position = middle / mass_seen.sum() * n_bins + 1e-12 if mass_seen.any() else middle
    bins = np.minimum(position.astype(int), n_bins - 1)
    bins[missing] = n_bins
    return np.cumsum(np.diff(bins, prepend=bins[0]) > 0)[codes]  # none empty


def conditional_means(codes, scores, name):
    """FIRM of a feature given by the group of each row.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        Groups from 0, none empty.
    scores : Scores
    name : str
        Of the entry, for the warning.

    Returns
    -------
    root : Root
        NaN, with a warning, where too few values repeat.
    means : ndarray of shape (n_groups, n_outputs)
        Conditional expected scores.
    """
    groups = Groups(codes, scores)
    n_groups = len(groups.sizes)
    if n_groups == 1:  # exactly 0
        nothing = np.zeros((1, scores.n_outputs))
        return Root(nothing[0], 0.0, np.zeros(len(codes))), scores.in_units(nothing)
    if groups.unknown_share > MOST_UNKNOWN:
        warn_unknown(name, n_groups, scores.total)
        unknown = Root(np.full(scores.n_outputs, np.nan), np.nan)
        return unknown, scores.in_units(groups.means)
    variance = groups.between()
    influence = (scores.total - 1.0) * (variance - groups.between_without_each_row())
    root = root_with_error(variance, influence, scores)
    return root, scores.in_units(groups.means)


def warn_unknown(name, n_groups, total):
    """Say that too few values of an entry repeat."""
    warn(
        f"The importance of {name!r} cannot be estimated: it has {n_groups} different "
        f"values in {total:g} rows, and too few of them repeat to tell an effect from "
        "chance. Group its values, or give a feature function such as Level. Sample "
        "weights must be counts of rows."
    )


@dataclass
class Root:
    """The root of a variance.

    Attributes
    ----------
    importances : ndarray of shape (n_outputs,)
    error : float
        Standard error of their mean.
    influences : ndarray of shape (n_samples,) or None
        Of the rows on their mean; None where it is unknown.
    """

    importances: np.ndarray
    error: float
    influences: np.ndarray | None = None


def root_with_error(variance, influence, scores):
    """The root of an estimated variance, and its standard error.

    Parameters
    ----------
    variance : ndarray of shape (n_outputs,)
        Estimate of Q^2; below 0 counts as 0.
    influence : ndarray of shape (n_samples, n_outputs)
        Of each row on the variance.
    scores : Scores

    Returns
    -------
    Root
        Its standard error is that of the delta method for the root of the variance,
        at most the root of the variance's own error (the scale on which an importance
        near 0 varies).
    """
    w = scores.weights
    if scores.standardized:
        influence = influence - variance * (scores.values**2 - ~scores.constant)
    root = np.sqrt(np.maximum(variance, 0.0))
    error = scores.error(w @ influence**2)
    divisor = 2.0 * np.maximum(root, 0.5 * np.sqrt(error))
    influence = influence / np.where(divisor > 0, divisor, 1.0)
    influence = influence.mean(axis=1)
    return Root(root, float(scores.error(w @ influence**2)), influence)


class Groups:
    """Sizes and sums of the scores in each group of rows.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
    scores : Scores

    Attributes
    ----------
    total : float
        Number of rows n.
    sizes : ndarray of shape (n_groups, 1)
        Number of rows n_b.
    means, squares, own : ndarray of shape (n_groups, n_outputs)
        Means, sums of squares about them, and variances; 0 for groups of one row.
    alone : ndarray of shape (n_groups, 1)
        Which groups are of one row.
    deviations : ndarray of shape (n_samples, n_outputs)
        The scores minus the means.
    """

    def __init__(self, codes, scores):
        self.codes, self.values, self.total = codes, scores.values, scores.total
        counts = scores.total * scores.weights
        self.sizes = np.bincount(codes, counts)[:, np.newaxis]
        self.means = _group_sums(codes, counts, self.values) / self.sizes
        self.deviations = self.values - self.means.take(codes, axis=0)
        self.squares = _group_sums(codes, counts, self.deviations**2)
        self._set_own()

    @classmethod
    def of_sums(cls, sizes, means, squares, total):
        """From what is known of the groups, without rows."""
        groups = cls.__new__(cls)
        groups.sizes, groups.means, groups.squares = sizes, means, squares
        groups.total = total
        groups._set_own()
        return groups

    def at(self, deviation):
        """With one row in each group, at a deviation from its mean."""
        groups = Groups.of_sums(self.sizes, self.means, self.squares, self.total)
        groups.codes = np.arange(len(self.sizes))
        groups.deviations = np.full_like(self.means, deviation)
        groups.values = self.means + deviation
        return groups

    def _set_own(self):
        self.alone = self.sizes < ALONE
        divisor = np.where(self.alone, 1.0, self.sizes - 1.0)
        self.own = np.where(self.alone, 0.0, self.squares / divisor)

    @property
    def freedom(self):
        """Degrees of freedom of the pooled variance, n minus the number of groups."""
        return self.total - len(self.sizes)

    @property
    def unknown_share(self):
        """Error of what is taken off for groups of one row, by the score's variance."""
        alone = self.alone.sum()
        if alone == 0:
            return 0.0
        return alone / self.total * np.sqrt(2.0 / max(self.freedom, 1e-300))

    def between(self):
        """Q^2, the formula of the module, (n_outputs,)."""
        pooled = self.squares.sum(axis=0) / max(self.freedom, 1e-300)
        variances = np.where(self.alone, pooled, self.own)
        chance = (1.0 - self.sizes / self.total) * variances
        return (self.sizes * self.means**2 - chance).sum(axis=0) / self.total

    def between_without_each_row(self):
        """Q^2 of the other rows, for each row, (n_samples, n_outputs).

        With e the row's deviation from its group's mean q, leaving it out takes
        q^2 + 2 q e - e^2 / (n_b - 1) off the group's n_b q^2, and n_b / (n_b - 1) e^2
        off its sum of squares: for each group the result is quadratic in e.
        """
        n, size, means = self.total - 1.0, self.sizes, self.means
        alone, own = self.alone, self.own
        left = np.where(alone, 1.0, size - 1.0)  # a group of one row goes with it
        left_alone = ~alone & (left < ALONE)
        off = np.where(alone, 0.0, size / left)
        several = ~alone & ~left_alone
        by_own = np.where(several, (1.0 - left / n) / np.where(several, left - 1, 1), 0)
        n_alone, freedom = alone.sum() - alone + left_alone, self.freedom - ~alone
        known = np.where(freedom > 0, freedom, np.nan)
        by_pooled = np.where(n_alone > 0, n_alone / known, 0.0) * (1.0 - 1.0 / n)
        kept = (1.0 - size / n) * own  # of each other group
        constant = (
            (size * means**2 - kept).sum(axis=0)
            - np.where(alone, size, 1.0) * means**2
            + kept
            - by_own * self.squares
            - by_pooled * self.squares.sum(axis=0)
        )
        quadratic = np.where(alone, 0.0, 1.0 / left) + off * (by_own + by_pooled)
        slope = np.where(alone, 0.0, -2.0 * means)
        e = self.deviations
        quadratic, slope, constant = (
            of_groups.take(self.codes, axis=0)
            for of_groups in (quadratic, slope, constant)
        )
        return ((quadratic * e + slope) * e + constant) / n - (self.values / n) ** 2


def _group_sums(codes, w, values):
    return np.column_stack([np.bincount(codes, w * column) for column in values.T])
