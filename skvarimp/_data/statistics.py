"""Weighted statistics of one sample; weights are non-negative and sum to 1."""

import numpy as np


def gini_mean_difference(values, weights):
    """E|V' - V''| of two independent draws from a weighted sample.

    Computed as 2 sum_k (v_(k+1) - v_(k)) P_k (1 - P_k), which is exactly 0 for a
    constant sample; self-pairs count.
    """
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])[:-1]
    return float(2.0 * np.sum(np.diff(values[order]) * below * (1.0 - below)))


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
