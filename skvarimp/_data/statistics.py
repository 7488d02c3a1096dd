"""Weighted statistics of one sample, and p-values adjusted for their number.

Weights are non-negative and sum to 1.
"""

import math

import numpy as np


def gini_mean_difference(values, weights):
    """E|V' - V''| of two independent draws from a weighted sample.

    Computed as 2 sum_k (v_(k+1) - v_(k)) P_k (1 - P_k), which is exactly 0 for a
    constant sample; self-pairs count.
    """
    order = np.argsort(values, kind="stable")
    below = precise_cumsum(weights[order])[:-1]
    return float(2.0 * np.sum(np.diff(values[order]) * below * (1.0 - below)))


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


def weighted_median(values, weights):
    """Median of a weighted sample; integer weights equal repeated values.

    Where exactly half of the weight lies below a gap, the midpoint of the gap.
    """
    positive = weights > 0
    values, weights = values[positive], weights[positive]
    order = np.argsort(values, kind="stable")
    values, below = values[order], np.cumsum(weights[order])
    half = 0.5 * below[-1]
    tolerance = 1e-12 * below[-1]
    low = np.searchsorted(below, half - tolerance)
    high = np.searchsorted(below, half + tolerance)
    return 0.5 * (values[low] + values[min(high, len(values) - 1)])


def quantile_positions(probabilities, at):
    """Positions of the first values at which the distribution function reaches `at`."""
    reached = np.cumsum(probabilities)
    reached /= reached[-1]
    return np.minimum(np.searchsorted(reached, at - 1e-12), len(reached) - 1)


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


def centred(values, weights):
    """Minus the weighted mean along the last axis; exactly 0 where constant."""
    shifted = values - values[..., :1]
    return shifted - np.matmul(shifted, weights[..., np.newaxis])


def variance(values, weights):
    """Weighted variance along the last axis, with divisor n; 0 where constant."""
    squares = centred(values, weights) ** 2
    return np.matmul(squares, weights[..., np.newaxis])[..., 0]


def deciles(values, probabilities):
    """The nine deciles of observed values, missing ones left out."""
    values = values.astype(np.float64)
    seen = ~np.isnan(values)
    if not seen.any():
        return np.empty(0)
    at = quantile_positions(probabilities[seen], np.arange(1, 10) / 10)
    return values[seen][at]
