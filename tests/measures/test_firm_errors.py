"""FIRM from scores at rows: sample weights, standard errors and their coverage."""

import numpy as np
import pytest
from combinations import each
from firm_rows import N, X, score
from sklearn.linear_model import LinearRegression

from skvarimp import FIRMImportance
from skvarimp.feature_functions import Conjunction, Not, Step

CASES = [
    {"method": "binary", "feature_functions": [Step(0, 0.1), Conjunction(2, Not(0))]},
    {"method": "linear"},
    {"method": "linear", "features": [[0, 3], [1, 2, 4]]},
    {"method": "conditional_mean"},
    {"method": "conditional_mean", "features": [[1, 2], [0, 3]], "n_bins": 16},
    {"method": "auto", "features": [[1, 2], 0, 2]},
]


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("parameters", CASES, ids=repr)
def test_integer_weights_are_repeated_rows(parameters, standardize):
    """Importances and conditional scores; weight 0 is no row."""
    weights = np.random.default_rng(1).integers(0, 4, size=N)
    rows = np.repeat(np.arange(N), weights)
    imp = FIRMImportance(standardize=standardize, **parameters)
    imp.fit(score, X, sample_weight=weights)
    again = FIRMImportance(standardize=standardize, **parameters).fit(score, X[rows])
    np.testing.assert_allclose(imp.importances_, again.importances_, rtol=1e-9)
    for name, (t, q) in imp.conditional_scores_.items():
        if t.ndim == 1:
            np.testing.assert_allclose(t, again.conditional_scores_[name][0])
            np.testing.assert_allclose(q, again.conditional_scores_[name][1])


@pytest.mark.parametrize(
    ("parameters", "standardize"), each(CASES[:-1], [False, True]), ids=repr
)
def test_standard_errors_are_derivatives(parameters, standardize):
    """Infinitesimal jackknife: sum over rows of (dQ / d weight)^2, by differences.

    Without the correction, which is of a smaller order: so for many rows of few values.
    """
    Z = X.copy()
    Z[:, [0, 3]] = np.round(Z[:, [0, 3]])
    Z, repeats = np.repeat(Z[:20], 25, axis=0), 25
    imp = FIRMImportance(standardize=standardize, **parameters)
    base = imp.fit(score, Z)
    errors, changes = base.standard_errors_, []
    for row in range(0, len(Z), repeats):
        ends = []
        for h in (1e-3, -1e-3):
            weights = np.full(len(Z), 1.0 - h)
            weights[row] += h * len(Z)
            ends.append(imp.fit(score, Z, sample_weight=weights).importances_)
        changes.append((ends[0] - ends[1]) / 2e-3)
    expected = np.sqrt(repeats * np.sum(np.square(changes), axis=0)) / len(Z)
    np.testing.assert_allclose(errors, expected, rtol=0.03, atol=1e-12)


def draw(n, seed):
    """Correlated normal columns."""
    Z = np.random.default_rng(seed).normal(size=(n, 3))
    Z[:, 1] = 0.7 * Z[:, 0] + np.sqrt(0.51) * Z[:, 1]
    return Z


def curved(Z):
    """A fixed score that is linear in no column."""
    return np.sin(Z[:, 0]) + 0.5 * Z[:, 1] * Z[:, 2] + 0.3 * Z[:, 1]


def straight():
    """A fitted linear model with round coefficients."""
    model = LinearRegression().fit(draw(10, 0), np.zeros(10))
    model.coef_, model.intercept_ = np.array([1.0, 0.5, -0.3]), 0.0
    return model


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("parameters", "fixed", "population"),
    [
        ({"method": "binary", "feature_functions": [Step(0, 0.3)]}, curved, None),
        ({"method": "linear", "features": [0]}, curved, None),
        ({"method": "linear", "features": [[0, 2]]}, curved, None),
        (
            {
                "method": "conditional_mean",
                "feature_functions": [lambda Z: np.clip(np.round(Z[:, 0]), -2, 2)],
            },
            curved,
            None,
        ),
        # (0.7 * 1 + 1 * 0.5) / 1
        ({"method": "gaussian", "features": [1]}, straight(), 1.2),
        (
            {"method": "linear", "features": [1], "standardize": True},
            straight(),
            # var s = 1 + 0.25 + 0.09 + 2 * 0.5 * 0.7
            1.2 / np.sqrt(2.04),
        ),
    ],
)
def test_intervals_cover(parameters, fixed, population):
    """Nominal 95% at n = 200 in 600 samples: 92 to 97%."""
    imp = FIRMImportance(**parameters)
    if population is None:
        population = imp.fit(fixed, draw(400_000, 10**6)).importances_[0]
    inside = []
    for seed in range(600):
        imp.fit(fixed, draw(200, seed))
        gap = np.abs(imp.importances_[0] - population)
        inside.append(gap <= 1.96 * imp.standard_errors_[0])
    assert 0.92 <= np.mean(inside) <= 0.97


@pytest.mark.parametrize("standardize", [False, True])
def test_no_interval_ends_above_half_the_range(standardize):
    """Which no standard deviation exceeds; scores of 0 and 3."""
    rows = draw(12, 0)
    score = np.where(rows[:, 0] > 0, 3.0, 0.0)
    imp = FIRMImportance(standardize=standardize, features=[0, 1])
    imp.fit(lambda Z: np.where(Z[:, 0] > 0, 3.0, 0.0), rows)
    most = 1.5 / score.std() if standardize else 1.5
    np.testing.assert_allclose(imp.interval(0.9999)["upper"], most, rtol=1e-12)
