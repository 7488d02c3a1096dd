"""The table of a comparison, and the walk that its measures share."""

from time import process_time
from types import SimpleNamespace

import numpy as np
from roundoff import roundoff
from scipy import stats
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor

from skvarimp import (
    Comparison,
    Importances,
    SensitivityImportance,
    compare_importances,
)
from skvarimp._comparing.differences import _from_others, _mean_of, _tested
from skvarimp._data.statistics import Units
from skvarimp._measures import problem
from skvarimp._measures.rows import KeptRows
from skvarimp._response.walk import run_walk

X, Y = load_diabetes(return_X_y=True, as_frame=True)
X, Y = X.iloc[:50, :4], Y[:50]
MODELS = {"ridge": Ridge(0.1).fit(X, Y), "knn": KNeighborsRegressor(3).fit(X, Y)}


def test_most_workers_of_a_shared_walk(monkeypatch):
    """The measure that asks for most workers gets them, wherever it stands."""
    used = []

    def noted(walk, n_jobs, *rest):
        used.append(n_jobs)
        return run_walk(walk, 1, *rest)

    monkeypatch.setattr(problem, "run_walk", noted)
    measures = [
        SensitivityImportance(),
        SensitivityImportance(contrast="observed", n_jobs=2),
        SensitivityImportance(contrast="observed", n_jobs=1),
    ]
    compare_importances(MODELS["ridge"], X, Y, measures)
    assert used == [2]


def test_many_features():
    """They are put in order once, not once per feature."""
    n_features = 20_000
    results = {
        ("model", label): Importances(
            [f"x{j}" for j in range(first, first + n_features)],
            -np.arange(n_features, dtype=float),
        )
        for label, first in {"one": 5, "other": 0}.items()
    }
    start = process_time()
    found = Comparison(results, {}, {"one": "one", "other": "other"})
    assert process_time() - start < 3.0
    more = [f"x{j}" for j in range(5)]  # of the other measure only
    assert found.features == [*results["model", "one"].features, *more]


def test_influences_on_the_importance_of_a_cohort_without_donors():
    """Of contributions that no other row changes: those on a weighted mean."""
    random = np.random.default_rng(0)
    contributions = random.uniform(1.0, 2.0, (30, 2))
    weights, inside = random.uniform(0.5, 2.0, 30), np.arange(30) % 3 == 0
    weights /= weights.sum()
    influences = contributions - weights @ contributions
    rows = SimpleNamespace(
        weights=weights, contributions=contributions, influences=influences
    )
    theta, psi = _mean_of(rows, inside)
    own = weights * inside  # d (sum w c / sum w) / d w = (c - mean) / sum w
    expected = own @ contributions / own.sum()
    derivatives = inside[:, np.newaxis] * (contributions - expected) / own.sum()
    np.testing.assert_allclose(theta, expected, rtol=1e-14)
    np.testing.assert_allclose(psi, derivatives, atol=roundoff(30, derivatives))


def test_influences_of_donors_on_the_importance_of_a_cohort():
    """Of rows whose contributions are products of their own number and the donors'.

    The mean of a over the rows times the mean of b over the donors, who are all rows,
    changes by d a times the mean of b and by the mean of a times d b.
    """
    random = np.random.default_rng(0)
    a, b, weights = random.uniform(1.0, 2.0, (3, 30, 1))
    weights, inside = weights[:, 0] / weights.sum(), np.arange(30) % 3 == 0
    contributions = a * (weights @ b)
    influences = (
        contributions - weights @ contributions + (weights @ a) * (b - weights @ b)
    )
    rows = SimpleNamespace(
        weights=weights, contributions=contributions, influences=influences
    )
    own = weights * inside / weights[inside].sum()
    expected = (own / weights)[:, np.newaxis] * (a - own @ a) * (weights @ b)
    expected += (own @ a) * (b - weights @ b)
    theta, psi = _mean_of(rows, inside)
    np.testing.assert_allclose(theta, (own @ a) * (weights @ b), rtol=1e-14)
    np.testing.assert_allclose(psi, expected, atol=roundoff(30, expected))


def test_errors_of_drawing_of_a_cohort_and_of_all_others():
    """Each mean is over fewer draws than that of all; rows' own errors are 0 here."""
    weights, inside = np.arange(1.0, 11.0) / 55, np.arange(10) < 4
    contributions = np.where(inside, 2.0, 1.0)[:, np.newaxis]
    influences = contributions - weights @ contributions
    rows = KeptRows(influences, contributions, Units.of(weights), inside, "")
    difference, p_values = _from_others(rows, np.array([0.1]), inside)
    error = np.sqrt(0.1**2 / (10 / 55) + 0.1**2 / (45 / 55))
    np.testing.assert_allclose(difference, 1.0, rtol=1e-14)
    np.testing.assert_allclose(p_values, 2 * stats.t.sf(1 / error, 3), rtol=1e-10)


def test_differences_of_the_size_of_rounding_are_none():
    """Below 1e-12 of the numbers; a difference of 0 has the p-value 1."""
    second = np.array([1.0, 1.0, 0.001, 3.0, 0.0])
    first = second + np.array([0.9e-12, 1.1e-12, -0.9e-14, -2.0, 0.0])
    error = np.array([1e-12, 1e-12, 1e-12, 1.0, 1.0])
    difference, p_values = _tested([first, second], error, np.zeros(5), 4)
    expected = first - second
    expected[0] = 0.0
    np.testing.assert_array_equal(difference, expected)
    by_hand = 2 * stats.t.sf(np.abs(expected) / error, 4)
    np.testing.assert_allclose(p_values, by_hand, rtol=1e-12)
    assert p_values[[0, 4]].tolist() == [1.0, 1.0]
