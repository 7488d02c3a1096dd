"""Sobol' indices of models that are not read: drawn donors, and curves at quantiles."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor

from skvarimp import SobolImportance


def bent(X):
    """A function with interactions."""
    return np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * (X[:, 3] % 3) * X[:, 0]


def numbers(n):
    """Rows: numbers, ties, three values, twelve values, and a number without effect."""
    random = np.random.default_rng(0)
    normal = random.normal(size=(n, 3))
    levels = random.integers(0, 3, n), random.integers(0, 12, n)
    return np.column_stack([normal[:, 0], normal[:, 1].round(1), *levels, normal[:, 2]])


def test_cost_and_first_orders():
    """Six donors and 64 quantiles of each row; first orders of the mean curves."""
    X, asked = numbers(640), []

    def counted(Z):
        asked.append(len(Z))
        return bent(Z)

    imp = SobolImportance(random_state=0).fit(counted, X)
    assert imp.estimation_ == "sampled"
    assert sum(asked) <= 640 * (1 + 5 * (6 + 64))
    exact = SobolImportance(estimation="exact").fit(bent, X)
    gap = np.abs(imp.total_ - exact.total_)
    assert np.all(gap <= 4 * imp.monte_carlo_errors_ + 1e-12)
    # medians of 64 bins have a variance of a percent less than a normal column
    np.testing.assert_allclose(imp.first_order_, exact.first_order_, rtol=0.03)
    np.testing.assert_allclose(
        imp.first_order_standard_errors_, exact.first_order_standard_errors_, rtol=0.15
    )
    assert imp.total_[4] == imp.first_order_[4] == imp.monte_carlo_errors_[4] == 0
    again = SobolImportance(random_state=0, n_jobs=2).fit(bent, X)
    np.testing.assert_allclose(again.total_, imp.total_, rtol=1e-12)


@pytest.mark.parametrize("kind", [LinearRegression, LogisticRegression])
@pytest.mark.parametrize("order", ["total", "first"])
def test_models_that_are_read_may_be_drawn(kind, order):
    """Sums of terms, whose curves are the same for all rows, among them."""
    X = numbers(300)
    y = bent(X) if kind is LinearRegression else bent(X) > 0.0
    model = kind().fit(X, y)
    how = {"order": order, "grid": "deciles", "keep_rows": True}
    exact = SobolImportance(estimation="exact", **how).fit(model, X)
    drawn = SobolImportance(estimation="sampled", random_state=0, **how).fit(model, X)
    gap = np.abs(drawn.importances_ - exact.importances_)
    assert np.all(gap <= 4 * drawn.monte_carlo_errors_ + 1e-12)


def test_rows_are_drawn_where_there_are_many():
    """Both indices say what the rows that were left out add to the errors."""
    X = numbers(12_000)
    total = SobolImportance(random_state=0).fit(bent, X)
    first = SobolImportance(order="first", random_state=0, keep_rows=True).fit(bent, X)
    assert "of 12000 rows" in total.response_path_
    np.testing.assert_array_equal(first.importances_, total.first_order_)
    assert np.all(first.monte_carlo_errors_[:3] >= 0)
    assert first.monte_carlo_errors_[1] > 0
    assert first.influences_.shape == (12_000, 5)
    lower, upper = first.interval()[["lower", "upper"]].to_numpy().T
    assert np.all(lower <= upper)


@pytest.mark.thorough
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", ["function", "neighbours"])
def test_errors_of_drawing_are_honest(model, weighted, monkeypatch):
    """Over 400 seeds: z-values have the mean 0, and a standard deviation near 1."""
    monkeypatch.setattr("skvarimp._response.rounds.CURVE_ROWS", (20, 20))
    X = numbers(300)
    weights = np.random.default_rng(1).uniform(0.5, 1.5, 300) if weighted else None
    predict = bent
    if model == "neighbours":
        predict = KNeighborsRegressor().fit(X, bent(X)).predict
    features = ["x0", "x1", "x3", ["x0", "x4"]]
    measure = SobolImportance(features=features, estimation="exact")
    exact = measure.fit(lambda Z: predict(Z), X, sample_weight=weights).total_
    measure.set_params(estimation="sampled", tol=None)
    z = []
    for seed in range(400):
        measure.set_params(random_state=seed)
        imp = measure.fit(lambda Z: predict(Z), X, sample_weight=weights)
        z.append((imp.total_ - exact) / imp.monte_carlo_errors_)
    mean, spread = np.mean(z, axis=0), np.std(z, axis=0)
    assert np.all(np.abs(mean) < 4 / np.sqrt(400)), mean
    assert np.all((spread > 0.7) & (spread < 1.1)), spread
