"""Curves of models that are not read: 64 quantiles, means over drawn rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.neural_network import MLPRegressor

from skvarimp import PartialDependenceImportance
from skvarimp._response.rows import RowOrder


def bent(X):
    """A function with an interaction."""
    return np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]


def numbers(n, seed=0):
    """Rows of three columns; the last has four values."""
    random = np.random.default_rng(seed)
    return np.column_stack([random.normal(size=(n, 2)), random.integers(0, 4, n)])


class Counted:
    """A function that counts the rows it is asked for."""

    def __init__(self, function):
        self.function, self.n_rows = function, 0

    def __call__(self, X):
        """The function's values."""
        self.n_rows += len(X)
        return self.function(X)


def test_values_are_medians_of_bins():
    """640 rows: each of 64 bins holds ten, with the middle of the fifth and sixth."""
    X, model = numbers(640), Counted(bent)
    imp = PartialDependenceImportance().fit(model, X)
    assert imp.grid_ == {"x0": 64, "x1": 64, "x2": "all"}
    assert model.n_rows <= 640 * (1 + 64 + 64 + 4)
    assert imp.estimation_ == "exact"
    assert imp.monte_carlo_errors_ is None
    middles = np.sort(X[:, :2], axis=0).reshape(64, 10, 2)[:, 4:6].mean(axis=1)
    for j, name in enumerate(["x0", "x1"]):
        values, averages = imp.curves_[name]
        np.testing.assert_allclose(values, middles[:, j], rtol=1e-14)
        moved = X.copy()
        expected = []
        for value in values:
            moved[:, j] = value
            expected.append(bent(moved).mean())
        np.testing.assert_allclose(averages, expected, rtol=1e-12, atol=1e-13)
        spread = np.std(expected, ddof=1)
        np.testing.assert_allclose(imp.importances_[j], spread, rtol=1e-12)


def test_few_rows_and_few_values_are_all_taken():
    """No grid can cost less then."""
    imp = PartialDependenceImportance().fit(bent, numbers(64))
    assert set(imp.grid_.values()) == {"all"}
    tied = np.round(numbers(500), 0)
    every = PartialDependenceImportance(grid="all").fit(bent, tied)
    auto = PartialDependenceImportance().fit(bent, tied)
    np.testing.assert_array_equal(auto.importances_, every.importances_)


@pytest.mark.thorough
def test_a_network_takes_the_grid_where_all_values_cost_more():
    """With the curves of the network itself."""
    X = numbers(2000)
    model = MLPRegressor(
        hidden_layer_sizes=(100,), activation="tanh", max_iter=5, random_state=0
    )
    with pytest.warns(match="Maximum iterations"):
        model.fit(X, bent(X))
    read = PartialDependenceImportance().fit(model, X)
    asked = PartialDependenceImportance().fit(lambda Z: model.predict(Z), X)
    assert read.grid_["x0"] == 64
    np.testing.assert_allclose(read.importances_, asked.importances_, rtol=1e-9)


def test_groups_levels_and_missing_values():
    """256 joint values, every level, and missing values beside the quantiles."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(numbers(600), columns=["a", "b", "c"])
    X["level"] = pd.Categorical([f"level {k}" for k in random.integers(0, 90, 600)])
    X.loc[::5, "a"] = np.nan
    size = {level: k / 90 for k, level in enumerate(X["level"].cat.categories)}

    def model(Z):
        a = Z["a"].fillna(3.0).to_numpy()
        return a * Z["b"].to_numpy() + np.array([size[v] for v in Z["level"]])

    measure = PartialDependenceImportance(
        statistic="std", features=["a", "level", ["a", "b"]]
    )
    imp = measure.fit(model, X)
    assert imp.grid_ == {"a": 64, "level": "all", "a+b": 256}
    values, averages = imp.curves_["a"]
    assert len(values) == 65
    assert np.isnan(values[-1])
    at_missing = model(X.assign(a=np.nan)).mean()
    np.testing.assert_allclose(averages[-1], at_missing, rtol=1e-12)
    every = measure.set_params(grid="all").fit(model, X)
    # medians of bins of 1/64: curves are smooth; 256 draws: a standard deviation to 5%
    relative = imp.importances_ / every.importances_ - 1
    assert np.all(np.abs(relative) < [0.05, 1e-12, 4 * 0.05])


def test_half_of_many_rows_are_drawn():
    """The cost stops growing; the error of drawing holds the exact number."""
    X, model = numbers(9000), Counted(bent)
    imp = PartialDependenceImportance(keep_rows=True).fit(model, X)
    assert model.n_rows <= 9000 + 4500 * (64 + 64 + 4)
    assert imp.estimation_ == "rows"
    assert "4500 of 9000 rows" in imp.response_path_
    # the same grid over all rows
    every = PartialDependenceImportance(grid=64, keep_rows=True).fit(bent, X)
    gap = np.abs(imp.importances_ - every.importances_)
    assert np.all(gap <= 4 * imp.monte_carlo_errors_ + 1e-12)
    np.testing.assert_allclose(
        imp.standard_errors_[1:], every.standard_errors_[1:], rtol=0.1
    )
    assert imp.influences_.shape == (9000, 3)


@pytest.mark.thorough
def test_numbers_do_not_depend_on_blocks_workers_or_containers():
    """Nor on whether it is fitted again."""
    X = numbers(4500)
    first = PartialDependenceImportance().fit(bent, X)
    with config_context(working_memory=4):
        blocks = PartialDependenceImportance(n_jobs=2).fit(bent, np.asfortranarray(X))
    framed = PartialDependenceImportance().fit(
        lambda Z: bent(Z.to_numpy()), pd.DataFrame(X)
    )
    for other in (blocks, framed):
        np.testing.assert_allclose(other.importances_, first.importances_, rtol=1e-12)
        np.testing.assert_allclose(
            other.monte_carlo_errors_, first.monte_carlo_errors_, rtol=1e-9, atol=1e-12
        )


@pytest.mark.thorough
def test_errors_of_drawn_rows_are_honest(monkeypatch):
    """z-values over 400 orders of the rows: mean 0 and standard deviation near 1."""
    monkeypatch.setattr("skvarimp._response.rounds.CURVE_ROWS", (100, 100))
    X, z = numbers(300) + np.array([0.0, 2.0, 1.0]), []
    weights = np.random.default_rng(1).uniform(0.5, 1.5, size=300)
    exact = PartialDependenceImportance(grid=64).fit(bent, X, sample_weight=weights)
    drawn = RowOrder.drawn
    for seed in range(400):
        order = drawn(weights / weights.sum(), seed, 300)
        monkeypatch.setattr(RowOrder, "drawn", lambda *_, order=order: order)
        imp = PartialDependenceImportance(features=[1, 2])
        imp.fit(bent, X, sample_weight=weights)
        gap = imp.importances_ - exact.importances_[1:]
        z.append(gap / imp.monte_carlo_errors_)
    # a root of squares is convex: a bias of at most half of its relative variance
    assert np.all(np.abs(np.mean(z, axis=0)) < 4 / np.sqrt(400))
    assert np.all((np.std(z, axis=0) > 0.7) & (np.std(z, axis=0) < 1.1))
