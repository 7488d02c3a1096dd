"""FIRM from conditional means: the score averaged over rows of one feature value.

A mean of n_b scores varies by chance, so that the variance between the means of rows
that do not differ is not 0. Its expectation is taken off:

    Q^2 = sum_b p_b (q_b - q)^2 - sum_b p_b (1 - p_b) s_b^2 / n_b,  at least 0

with p_b the share of group b, n_b its number of rows (sum of weights) and s_b^2 the
variance of the scores in it (divisor n_b - 1); groups of one row take the pooled
variance. The standard error is that of leaving out one row at a time (jackknife): for
groups of few rows, unlike an influence function, it contains the error of s_b^2. It
does not depend on the scale of the weights: for it, they are scaled so that their sum
is the number of rows.
"""

from dataclasses import dataclass

import numpy as np

from skvarimp._data.statistics import divided
from skvarimp._running.guards import warn

ALONE = 1.5  # a smaller group counts as one row
MOST_UNKNOWN = 0.12  # of the score's variance; beyond, noise looks significant


def number_of_bins(asked, total):
    """Bins of a continuous feature: "auto" has at least 10 rows in each, and 10 bins.

    More only as the cube root of the sample size: narrow bins follow q closely, but
    each costs chance variation.
    """
    if asked != "auto":
        return asked
    fewest = min(10, max(2, int(total // 10)))
    return max(fewest, int(np.cbrt(total)))


def distinct_counts(F, limit):
    """Number of distinct values of each column, NaN one of them, or `limit` + 1.

    Parameters
    ----------
    F : ndarray of shape (n_samples, n_features)
    limit : int
        At least 2; counting stops above it.

    Returns
    -------
    ndarray of shape (n_features,)
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
        Of the feature, for the warning.

    Returns
    -------
    root : tuple
        See `root_of_rows`. NaN, with a warning, where too few values repeat.
    means : ndarray of shape (n_groups, n_outputs)
        Conditional expected scores.
    """
    counts = scores.total * scores.weights
    sizes = np.bincount(codes, counts)[:, np.newaxis]
    means = _group_sums(codes, counts, scores.values) / sizes
    deviations = scores.values - means.take(codes, axis=0)
    squares = _group_sums(codes, counts, deviations**2)
    groups = Groups(sizes, means, squares, scores)
    known = groups.without_influence(name)
    if known is None:
        of_rows = groups.scaled_to_rows()
        terms = (term.take(codes, axis=0) for term in of_rows.influence_terms())
        constant, slope, curve = terms
        influence = (curve * deviations + slope) * deviations + constant
        known = groups.root, *root_of_rows(of_rows.variance, influence, scores)[1:]
    return known, scores.in_units(means)


def root_of_rows(variance, influence, scores):
    """The root of a variance, its standard error, and the influences on it.

    Parameters
    ----------
    variance : ndarray of shape (n_outputs,)
    influence : ndarray of shape (n_samples, n_outputs)
        Of each row on the variance.
    scores : Scores

    Returns
    -------
    root, error
        See `root_with_error`.
    influences : ndarray of shape (n_samples, 1)
        Of each row on the mean of the roots.
    """
    terms = scores.units.sums(scores.weights * influence.T)
    root, error, shares = root_with_error(variance, terms @ terms.T, scores)
    return root, error, influence @ shares[:, np.newaxis]


def root_with_error(variance, products, scores):
    """The root of an estimated variance, and its standard error.

    Parameters
    ----------
    variance : ndarray of shape (n_outputs,)
        Estimate of Q^2; below 0 counts as 0.
    products : ndarray of shape (n_outputs, n_outputs)
        Of the weighted influences on the variance, summed within the units: their
        products, summed over the units.
    scores : Scores

    Returns
    -------
    root : ndarray of shape (n_outputs,)
    error : float
        Standard error of their mean, that of the delta method for the root of the
        variance, at most the root of the variance's own error (the scale on which an
        importance near 0 varies).
    shares : ndarray of shape (n_outputs,)
        The influence on the mean of the roots is that on the variances times these.
    """
    root = root_of(variance)
    error_of = scores.units.error_of_squares
    divisor = 2.0 * np.maximum(root, 0.5 * np.sqrt(error_of(np.diag(products))))
    shares = divided(1.0, divisor) / len(root)
    return root, error_of(shares @ products @ shares), shares


def root_of(variance):
    """The root of an estimated variance, which may be below 0."""
    return np.sqrt(np.maximum(variance, 0.0))


@dataclass
class Groups:
    """Sizes and sums of the scores in each group of rows.

    Parameters
    ----------
    sizes : ndarray of shape (n_groups, 1)
        Number of rows n_b.
    means, squares : ndarray of shape (n_groups, n_outputs)
        Means, and sums of squares about them.
    scores : Scores

    Attributes
    ----------
    total : float
        Number of rows in all groups.
    own : ndarray of shape (n_groups, n_outputs)
        Variances; 0 for groups of one row.
    alone : ndarray of shape (n_groups, 1)
        Which groups are of one row.
    freedom : float
        Degrees of freedom of the pooled variance, n minus the number of groups.
    variance, root : ndarray of shape (n_outputs,)
        Q^2, the formula of the module, and Q.
    """

    sizes: np.ndarray
    means: np.ndarray
    squares: np.ndarray
    scores: object

    def __post_init__(self):
        sizes = self.sizes
        self.total = total = sizes.sum()
        self.alone = sizes < ALONE
        self.own = self.squares / np.where(self.alone, 1.0, sizes - 1.0) * ~self.alone
        self.freedom = total - len(sizes)
        pooled = self.squares.sum(axis=0) / max(self.freedom, 1e-300)
        chance = (1.0 - sizes / total) * np.where(self.alone, pooled, self.own)
        self.variance = (sizes * self.means**2 - chance).sum(axis=0) / total
        self.root = root_of(self.variance)

    def scaled_to_rows(self):
        """The same groups with sizes that add up to the number of rows."""
        factor = self.scores.n_rows / self.total
        sizes, squares = self.sizes * factor, self.squares * factor
        return Groups(sizes, self.means, squares, self.scores)

    def without_influence(self, name):
        """Root and error of one group, or where too few values of a feature repeat.

        None elsewhere. Says so if too few values repeat: if the error of what is taken
        off for groups of one row is too large a part of the score's variance.
        """
        n_groups, total = len(self.sizes), self.total
        if n_groups == 1:  # exactly 0
            return np.zeros(self.means.shape[1]), 0.0, 0.0
        share = self.alone.sum() / total * np.sqrt(2.0 / max(self.freedom, 1e-300))
        if share <= MOST_UNKNOWN:
            return None
        warn(
            f"The importance of {name!r} cannot be estimated: it has {n_groups} "
            f"different values in {total:g} rows, and too few of them repeat to tell "
            "an effect from chance. Group its values, or give a feature function such "
            "as Level. Sample weights must be counts of rows."
        )
        return self.means[0] * np.nan, np.nan, np.nan

    def influence_terms(self):
        """Influence of a row on Q^2, b0 + b1 e + b2 e^2, by leaving it out.

        With e the row's deviation from its group's mean q, leaving it out takes
        q^2 + 2 q e - e^2 / (n_b - 1) off the group's n_b q^2, and n_b / (n_b - 1) e^2
        off its sum of squares: for each group the result is quadratic in e.

        Returns
        -------
        b0, b1, b2 : ndarray of shape (n_groups, n_outputs)
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
        curve = np.where(alone, 0.0, 1.0 / left) + off * (by_own + by_pooled)
        slope = np.where(alone, 0.0, -2.0 * means)
        # n (Q^2 - Q^2 of the others), whose mean is that of all less the row's share
        b0 = n * self.variance - constant + means**2 / n
        b1, b2 = 2.0 * means / n - slope, 1.0 / n - curve
        if self.scores.standardized:
            b0 -= self.variance * (means**2 - ~self.scores.constant)
            b1, b2 = b1 - 2.0 * self.variance * means, b2 - self.variance
        return b0, b1, b2


def _group_sums(codes, w, values):
    return np.column_stack([np.bincount(codes, w * column) for column in values.T])
