"""Between which ranks the true importances lie, jointly for all features."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from skvarimp._data.statistics import divided, holm, t_quantile, unit_of
from skvarimp._results.intervals import (
    corrected,
    error_and_skewness,
    interval_bounds,
)
from skvarimp._running.memory import slices

SIMULATED_FEATURES = 300  # above, all pairs of draws cost too much
MOST_FEATURES = 5000  # above, the table of all pairs takes too much memory
DRAWS = 5000
RESAMPLED_ROWS = 5000  # above, estimates are normal enough
RESAMPLES = 1000


def joint_ranks(estimates, terms, drawn, freedom, confidence):
    """Simultaneous intervals of importances and of their ranks.

    Parameters
    ----------
    estimates : ndarray of shape (n_features,)
    terms : ndarray of shape (n_features, n_rows)
        What the rows add to the sampling errors.
    drawn : ndarray of shape (n_features,)
        Errors of random draws.
    freedom, confidence : float

    Returns
    -------
    dict
        lower, upper, lowest_rank and highest_rank, ndarrays of shape (n_features,).
    """
    n = len(estimates)
    errors, skew = error_and_skewness(terms, drawn)
    known = np.flatnonzero(np.isfinite(errors) & np.isfinite(estimates))
    greater, quantile = np.zeros((n, n), dtype=bool), np.nan
    if len(known):
        pairs, quantile = _tested(
            estimates[known], terms[known], drawn[known], freedom, confidence
        )
        greater[np.ix_(known, known)] = pairs
    lower, upper = interval_bounds(estimates, errors, skew, quantile)
    return {
        "lower": lower,
        "upper": upper,
        "lowest_rank": 1 + greater.sum(axis=0),
        "highest_rank": n - greater.sum(axis=1),
    }


def joint_ends(estimates, terms, drawn, freedom, confidence):
    """Ends of intervals that hold for all features together.

    Parameters
    ----------
    estimates, terms, drawn, freedom, confidence
        As in `joint_ranks`.

    Returns
    -------
    ndarray of shape (2, n_features)
    """
    errors, skew = error_and_skewness(terms, drawn)
    known = np.isfinite(errors) & (errors > 0)
    quantile, n = np.nan, int(known.sum())
    if n:
        size = unit_of(estimates[known])
        some, of_draws = terms[known] / size, drawn[known] / size
        if n > SIMULATED_FEATURES:
            quantile = t_quantile(1.0 - (1.0 - confidence) / (2 * n), freedom)
        else:
            covariance = some @ some.T + np.diag(of_draws**2)
            draws, sizes = _normal_draws(covariance, DRAWS), errors[known] / size
            found = some, of_draws, draws, sizes, freedom, confidence
            quantile = _joint_quantile(*found)
    ends = interval_bounds(estimates, errors, skew, quantile)
    return np.where(errors == 0, estimates, np.array(ends))


def careful_ranks(estimates, errors, freedom, confidence, some):
    """Ranks of some features, where it is not known how the errors go together.

    The error of a difference is at most the sum of both errors. All pairs of features
    are tested together, by Bonferroni's bound.

    Parameters
    ----------
    estimates, errors : ndarray of shape (n_features,)
        An error that is not known is NaN.
    freedom, confidence : float
    some : ndarray of int
        Positions of the features.

    Returns
    -------
    lowest, highest : ndarray of the shape of `some`
    """
    n = len(estimates)
    quantile = t_quantile(1.0 - (1.0 - confidence) / max(n * (n - 1), 1), freedom)
    estimates = np.where(np.isfinite(estimates), estimates, np.nan)
    gaps = estimates[some, np.newaxis] - estimates
    rounding = 1e-12 * np.nanmax(np.abs(estimates), initial=0.0)
    margin = quantile * (errors[some, np.newaxis] + errors)
    apart = np.abs(gaps) > np.maximum(margin, rounding)  # not where NaN
    lowest = 1 + np.sum(apart & (gaps < 0), axis=1)
    return lowest, n - np.sum(apart & (gaps > 0), axis=1)


def _tested(estimates, terms, drawn, freedom, confidence):
    """Which features are significantly more important than which others.

    Parameters
    ----------
    estimates : ndarray of shape (n_features,)
    terms, drawn
        See `error_and_skewness`.
    freedom : int
    confidence : float

    Returns
    -------
    greater : ndarray of bool of shape (n_features, n_features)
    quantile : float
        For intervals of all features together.
    """
    n, alpha, size = len(estimates), 1.0 - confidence, unit_of(estimates)
    estimates, terms, drawn = estimates / size, terms / size, drawn / size
    statistics, pair_errors, covariance = _differences(estimates, terms, drawn)
    if n <= SIMULATED_FEATURES:
        draws = _normal_draws(covariance, DRAWS)
        greater = _step_down(statistics, pair_errors, draws, alpha)
        errors = np.sqrt(np.diag(covariance))
        quantile = _joint_quantile(terms, drawn, draws, errors, freedom, confidence)
        return greater, quantile
    off = ~np.eye(n, dtype=bool)
    greater = np.zeros((n, n), dtype=bool)
    greater[off] = holm(norm.sf(statistics[off])) <= alpha
    return greater, t_quantile(1.0 - alpha / (2 * n), freedom)


def _differences(estimates, terms, drawn):
    """Corrected studentised differences of all pairs, their errors, the covariance.

    statistics[j, k] is large where feature j is more important than feature k.
    """
    covariance = terms @ terms.T + np.diag(drawn**2)
    variances = np.diag(covariance)
    of_sums = variances[:, np.newaxis] + variances
    squared = of_sums - 2.0 * covariance
    # what is left of equal influences is rounding
    squared = np.where(squared > 1e-13 * of_sums, squared, 0.0)
    errors = np.sqrt(squared)
    # E (a - b)^3 = E a^3 - 3 E a^2 b + 3 E a b^2 - E b^3
    cubes = terms @ (terms**2).T  # E a b^2
    third = np.diag(cubes)
    third = third[:, np.newaxis] - third + 3.0 * (cubes - cubes.T)
    gaps = estimates[:, np.newaxis] - estimates
    gaps = np.where(np.abs(gaps) > 1e-12 * np.abs(estimates).max(initial=0.0), gaps, 0)
    statistics = corrected(divided(gaps, errors), divided(third, errors**3))
    # known without error: decided, or equal
    exact = np.where(gaps > 0, np.inf, -np.inf)
    return np.where(errors > 0, statistics, exact), errors, covariance


def _joint_quantile(terms, drawn, draws, errors, freedom, confidence):
    """The quantile of the largest corrected statistic of all features."""
    if terms.shape[1] <= RESAMPLED_ROWS:
        return np.quantile(_largest_resampled(terms, drawn), confidence)
    largest = np.abs(divided(draws, errors)).max(axis=1, initial=0.0)
    probability = norm.cdf(np.quantile(largest, confidence))
    return t_quantile(probability, freedom)


def _largest_resampled(terms, drawn):
    """The largest corrected statistic of all features, in each resample of the rows.

    Parameters
    ----------
    terms : ndarray of shape (n_features, n_rows)
        What the rows add to the sampling errors.
    drawn : ndarray of shape (n_features,)
        Errors of random draws.
    """
    random, n = np.random.RandomState(0), terms.shape[1]
    # the order of the rows given must not matter
    terms = terms.T[np.argsort(random.normal(size=len(terms)) @ terms)]
    powers = np.hstack([terms, terms**2, terms**3])
    largest = np.empty(RESAMPLES)
    for part in slices(RESAMPLES, n):
        n_resamples = part.stop - part.start
        found = (random.random_sample((n_resamples, n)) * n).astype(np.intp)
        found += n * np.arange(n_resamples)[:, np.newaxis]
        counts = np.bincount(found.ravel(), minlength=n_resamples * n)
        sums = counts.reshape(n_resamples, n) @ powers
        first, second, third = np.split(sums, 3, axis=1)
        errors = np.sqrt(np.maximum(second - first**2 / n, 0.0) + drawn**2)
        third += 2.0 * first**3 / n**2 - 3.0 * first * second / n
        first += drawn * random.normal(size=first.shape)
        statistics = corrected(divided(first, errors), divided(third, errors**3))
        largest[part] = np.abs(statistics).max(axis=1, initial=0.0)
    return largest


def _normal_draws(covariance, n_draws):
    """Normal draws with a covariance, (n_draws, n_features); always the same."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    normal = np.random.RandomState(0).normal(size=(n_draws, len(values)))
    return normal @ root.T


def _step_down(statistics, errors, draws, alpha):
    """Which features j are significantly more important than which k."""
    n = len(statistics)
    greater = np.isposinf(statistics)
    undecided = (errors > 0) & ~np.eye(n, dtype=bool)
    while undecided.any():
        critical = np.quantile(_largest(draws, errors, undecided), 1.0 - alpha)
        decided = undecided & (statistics > critical)
        if not decided.any():
            break
        greater |= decided
        undecided &= ~decided
    return greater


def _largest(draws, errors, pairs):
    """The largest studentised difference of the given pairs in each draw."""
    inverse = np.where(pairs, 1.0 / np.where(pairs, errors, 1.0), 0.0)
    largest = np.empty(len(draws))
    for part in slices(len(draws), errors.size):
        some = draws[part]
        gaps = some[:, :, np.newaxis] - some[:, np.newaxis]
        gaps *= inverse
        largest[part] = gaps.reshape(len(some), -1).max(axis=1)
    return largest
