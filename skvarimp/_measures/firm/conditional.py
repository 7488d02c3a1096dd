"""FIRM from conditional means: the score averaged over rows of one feature value.

A mean of n_b scores varies by chance, so that the variance between the means of rows
that do not differ is not 0. Its expectation is taken off:

    Q^2 = sum_b p_b (q_b - q)^2 - sum_b p_b (1 - p_b) s_b^2 / n_b,  at least 0

with p_b the share of group b, n_b its number of rows (sum of weights) and s_b^2 the
variance of the scores in it (divisor n_b - 1).
"""

import numpy as np


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
    _, bins = np.unique(bins, return_inverse=True)
    return bins[codes]


def conditional_means(codes, scores, name):
    """FIRM of a feature given by the group of each row.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        Groups from 0, none empty.
    scores : Scores
    name : str
        Of the entry, for messages.

    Returns
    -------
    importances : ndarray of shape (n_outputs,)
    error : float
        Standard error of their mean.
    means : ndarray of shape (n_groups, n_outputs)
        Conditional expected scores.
    """
    w, S, n = scores.weights, scores.values, scores.total
    n_groups = codes.max() + 1
    if n <= n_groups and n_groups > 1:
        raise ValueError(
            f"Feature {name!r} has {n_groups} different values in {n:g} rows, so none "
            "of its conditional means varies by chance to a known extent. Group its "
            "values, or give a feature function such as Level; sample weights must be "
            "counts of rows."
        )
    share = np.bincount(codes, w)
    means = _group_sums(codes, w, S) / share[:, np.newaxis]
    means *= n_groups > 1  # exactly 0 for a constant feature
    fitted = means[codes]
    correction = _chance_variation(codes, share, n, w, S - fitted)
    root, error = projection_importance(fitted, scores, correction)
    return root, error, scores.in_units(means)


def projection_importance(fitted, scores, correction=0.0):
    """FIRM of fitted conditional expected scores: their standard deviation.

    Parameters
    ----------
    fitted : ndarray of shape (n_samples, n_outputs)
        Least-squares fit of the centred scores (group means, or a regression).
    scores : Scores
    correction : float or ndarray of shape (n_outputs,), default=0.0
        Chance variation to take off the variance.

    Returns
    -------
    importances : ndarray of shape (n_outputs,)
    error : float
        Standard error of their mean: the delta method for the root of the variance,
        at most the root of the variance's own error (the scale on which an importance
        near 0 varies).
    """
    w, S = scores.weights, scores.values
    variance = w @ fitted**2
    root = np.sqrt(np.maximum(variance - correction, 0.0))
    # Influence of row i on the variance of a projection: 2 s q - q^2 - Q^2.
    influence = 2.0 * S * fitted - fitted**2 - variance
    if scores.standardized:
        influence -= variance * (S**2 - ~scores.constant)
    error = scores.error(w @ influence**2)
    divisor = 2.0 * np.maximum(root, 0.5 * np.sqrt(error))
    influence = influence / np.where(divisor > 0, divisor, 1.0)
    return root, float(scores.error(w @ influence.mean(axis=1) ** 2))


def _chance_variation(codes, share, n, w, residuals):
    """sum_b p_b (1 - p_b) s_b^2 / n_b; groups of one row take the pooled variance."""
    size = n * share
    squares = n * _group_sums(codes, w, residuals**2)
    pooled = squares.sum(axis=0) / max(n - len(share), 1e-300)
    alone = size < 1.5
    own = squares / np.where(alone, 1.0, size - 1.0)[:, np.newaxis]
    variance = np.where(alone[:, np.newaxis], pooled, own)
    return (share * np.maximum(1.0 - share, 0.0) / size) @ variance


def _group_sums(codes, w, values):
    return np.column_stack([np.bincount(codes, w * column) for column in values.T])
