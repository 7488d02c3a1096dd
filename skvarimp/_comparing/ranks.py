"""`rank_intervals`: between which ranks the true importance of each feature lies."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from skvarimp._data.statistics import divided, holm, t_quantile, unit_of
from skvarimp._data.validation import check_confidence
from skvarimp._measures.base import BaseImportance
from skvarimp._measures.rows import (
    corrected,
    drawing_errors,
    error_and_skewness,
    interval_bounds,
    rows_of,
)
from skvarimp._running.memory import slices
from skvarimp._types import Frame

SIMULATED_FEATURES = 300  # above, all pairs of draws cost too much
MOST_FEATURES = 5000  # above, the table of all pairs takes too much memory
DRAWS = 5000
RESAMPLED_ROWS = 5000  # above, estimates are normal enough
RESAMPLES = 1000


def rank_intervals(importance: BaseImportance, *, confidence: float = 0.95) -> Frame:
    """Ranks between which the true importances lie, jointly for all features.

    A feature's lowest rank is one more than the number of features that are
    significantly more important, its highest rank is the number of features less
    those that are significantly less important. All ordered pairs of features are
    tested together, so that with probability `confidence` every true rank lies
    inside its interval. The model is held fixed; refits are the matter of
    `importance_across_folds`.

    Parameters
    ----------
    importance : importance instance
        Fitted with ``keep_rows=True``.
    confidence : float, default=0.95
        Probability that all ranks are inside, and that all intervals of the
        importances hold.

    Returns
    -------
    frame of shape (n_features, 7)
        Columns feature, importance, lower and upper (simultaneous over the features),
        rank, lowest_rank and highest_rank, most important first, in the library of
        X's frame.

    Raises
    ------
    ValueError
        If the importance was fitted without ``keep_rows=True``, or has more than
        5000 features.

    Notes
    -----
    The covariance of the importances is that of their influences; errors of random
    draws add to the variances. Each difference is divided by its standard error and
    corrected for its skewness (Hall 1992). Up to 300 features the critical value is a
    quantile of the largest of all differences that are still undecided, from 5000
    normal draws with a fixed seed, again after each step in which pairs were decided
    (step-down). Above 300 features Holm's procedure replaces the draws.

    The simultaneous intervals take a quantile of the largest corrected statistic of
    the features: in 1000 resamples of the influences up to 5000 rows, in the normal
    draws for more rows, and by Bonferroni's bound above 300 features.

    References
    ----------
    .. [1] M. Mogstad, J. P. Romano, A. M. Shaikh and D. Wilhelm, "Inference for Ranks
       with Applications to Mobility across Neighbourhoods and Academic Achievement
       across Countries", Review of Economic Studies 91 (2024), section 3.
    .. [2] P. Hall, "On the removal of skewness by transformation",
       JRSS B 54 (1992).

    Examples
    --------
    >>> import numpy as np
    >>> from skvarimp import ALEImportance, rank_intervals
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = lambda X: 2 * X[:, 0] + X[:, 1] + 0.99 * X[:, 2]
    >>> imp = ALEImportance(keep_rows=True).fit(model, X)
    >>> ranks = rank_intervals(imp)
    >>> ranks[["feature", "lowest_rank", "highest_rank"]].values.tolist()
    [['x0', 1, 1], ['x2', 2, 3], ['x1', 2, 3]]
    """
    check_confidence(confidence)
    rows = rows_of(importance)
    estimates = importance.importances_
    n = len(estimates)
    if n > MOST_FEATURES:
        raise ValueError(
            f"rank_intervals compares all pairs of at most {MOST_FEATURES} features, "
            f"got {n}. Name fewer in `features`."
        )
    terms, drawn = rows.terms(rows.influences), drawing_errors(importance)
    errors, skew = error_and_skewness(terms, drawn)
    known = np.flatnonzero(np.isfinite(errors))
    greater, quantile = np.zeros((n, n), dtype=bool), np.nan
    if len(known):
        pairs, quantile = _tested(
            estimates[known], terms[known], drawn[known], rows.units.freedom, confidence
        )
        greater[np.ix_(known, known)] = pairs
    lower, upper = interval_bounds(estimates, errors, skew, quantile)
    columns = {
        "importance": estimates,
        "lower": lower,
        "upper": upper,
        "rank": importance.ranking_,
        "lowest_rank": 1 + greater.sum(axis=0),
        "highest_rank": n - greater.sum(axis=1),
    }
    return importance._frame(columns)


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
