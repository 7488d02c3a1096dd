"""Intervals and ranks that hold together, of many features and of many rows."""

import numpy as np
import pytest
from scipy import stats

from skvarimp._results import ranks
from skvarimp._results.ranks import joint_ends, joint_ranks

multitest = pytest.importorskip("statsmodels.stats.multitest")

random = np.random.default_rng(0)


def terms_of(n_features, n_rows):
    """What rows add, each with one of the opposite sign: nothing is skew."""
    half = random.normal(size=(n_features, n_rows // 2))
    return np.hstack([half, -half]) / n_rows


def test_of_many_features_all_pairs_are_tested_by_holm():
    """And intervals are Bonferroni's, by Student's quantile."""
    n = ranks.SIMULATED_FEATURES + 1
    terms = terms_of(n, 60)
    estimates = 2.0 * np.sqrt(np.arange(n) / n)
    nothing, freedom = np.zeros(n), 59
    found = joint_ranks(estimates, terms, nothing, freedom, 0.95)

    off = ~np.eye(n, dtype=bool)
    gaps = estimates[:, np.newaxis] - estimates
    errors = np.sqrt(np.sum((terms[:, np.newaxis] - terms) ** 2, axis=2))
    p = stats.norm.sf(gaps[off] / errors[off])
    greater = np.zeros((n, n), dtype=bool)
    greater[off] = multitest.multipletests(p, 0.05, "holm")[0]
    assert 0 < greater.sum() < n * (n - 1) / 2
    np.testing.assert_array_equal(found["lowest_rank"], 1 + greater.sum(axis=0))
    np.testing.assert_array_equal(found["highest_rank"], n - greater.sum(axis=1))

    quantile = stats.t.ppf(1 - 0.05 / (2 * n), freedom)
    reach = quantile * np.sqrt(np.sum(terms**2, axis=1))
    expected = estimates - reach, estimates + reach
    together = joint_ends(estimates, terms, nothing, freedom, 0.95)
    for ends in ([found["lower"], found["upper"]], together):
        np.testing.assert_allclose(ends, expected, rtol=1e-12)


def test_of_many_rows_the_largest_error_is_drawn():
    """One feature: Student's quantile, up to that of the drawn quantile itself."""
    n_rows, freedom = ranks.RESAMPLED_ROWS + 1, 9
    terms = terms_of(1, n_rows + 1)
    error = np.sqrt(np.sum(terms**2))
    lower, upper = joint_ends(np.ones(1), terms, np.zeros(1), freedom, 0.95)
    # the share below the drawn quantile of |Z| errs by its binomial error
    binomial = np.sqrt(0.95 * 0.05 / ranks.DRAWS)
    low, high = 0.95 - 4 * binomial, 0.95 + 4 * binomial
    # the quantile of |Z| is turned into a one-sided probability, and that into t's
    limits = [stats.t.ppf((1 + share) / 2, freedom) for share in (low, high)]
    assert limits[0] < (1 - lower[0]) / error < limits[1]
    assert upper[0] - 1 == pytest.approx(1 - lower[0], rel=1e-12)
