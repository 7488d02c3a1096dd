"""Partial dependence: against scikit-learn, closed forms, weights, standard errors."""

import tracemalloc

import joblib
import numpy as np
import pytest
from literal import curve, mean_curve, standard_error
from messages import says
from partial_dependence_models import X, Y
from roundoff import roundoff
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import (
    GradientBoostingRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

from skvarimp import PartialDependenceImportance, compare_importances
from skvarimp.exceptions import ResponseWarning


def test_linear_model_is_coefficient_times_spread_of_distinct_values():
    """|w| sd(distinct x, ddof=1), whatever the frequencies of the values."""
    model = LinearRegression().fit(X, Y)
    imp = PartialDependenceImportance().fit(model, X)
    spread = [np.unique(x).std(ddof=1) for x in X.T]
    np.testing.assert_allclose(
        imp.importances_, np.abs(model.coef_) * spread, rtol=1e-12
    )
    again = PartialDependenceImportance(kind="individual").fit(model, X)
    np.testing.assert_allclose(again.importances_, imp.importances_, rtol=1e-12)


def test_unused_and_constant_inputs_are_exactly_zero():
    """A constant has one value; an unused input never moves the response."""
    data = np.column_stack([X[:, :2], np.full(len(X), 3.0)])
    for kind in ("average", "individual"):
        imp = PartialDependenceImportance(kind=kind)
        imp.fit(lambda X: np.exp(X[:, 0]) / 3 * X[:, 2], data)
        assert imp.importances_[1:].tolist() == [0, 0]
        assert imp.importances_[0] > 0
        assert imp.standard_errors_[1:].tolist() == [0, 0]


def test_weights_weigh_rows_and_drop_them():
    """Integer weights are repeated rows; distinct values count once all the same."""
    weights = np.arange(len(X)) % 3

    def f(X):
        return X[:, 0] * X[:, 1] + np.sin(4 * X[:, 2]) * X[:, 3]

    for kind in ("average", "individual"):
        imp = PartialDependenceImportance(kind=kind)
        weighted = imp.fit(f, X, sample_weight=weights).importances_
        imp.fit(f, np.repeat(X, weights, axis=0))
        np.testing.assert_allclose(imp.importances_, weighted, rtol=1e-12)
    kept = X[weights > 0]
    mean = mean_curve(
        lambda X: f(X)[:, None],
        kept,
        (0,),
        np.unique(kept[:, [0]], axis=0),
        weights[weights > 0],
    )
    weighted = PartialDependenceImportance().fit(f, X, sample_weight=weights)
    np.testing.assert_allclose(weighted.curves_["x0"][1], mean[:, 0], rtol=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("statistic", ["std", "range"])
def test_standard_errors_are_the_derivative_by_the_rows(statistic):
    """The influences are derivatives by the weights at a fixed grid."""

    def f(X):
        return X[:, 0] * (1 + X[:, 1]) + X[:, 2] ** 2 * X[:, 3]

    grid = {f"x{j}": np.linspace(0, 1, 7) for j in range(5)}
    imp = PartialDependenceImportance(statistic=statistic, grid=grid)
    errors = imp.fit(f, X).standard_errors_
    slopes, step = np.empty((len(X), 5)), 1e-4
    for i in range(len(X)):
        up, down = np.ones(len(X)), np.ones(len(X))
        up[i] += step
        down[i] -= step
        higher = imp.fit(f, X, sample_weight=up).importances_
        lower = imp.fit(f, X, sample_weight=down).importances_
        slopes[i] = (higher - lower) / (2 * step)
    expected = standard_error(len(X) * slopes)
    np.testing.assert_allclose(errors, expected, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("statistic", ["std", "range"])
@pytest.mark.parametrize("rounding", [-1e-14, 0.0, 1e-14])
def test_rounding_decides_no_standard_error(statistic, rounding):
    """Tied extremes share; a constant mean curve: no error."""
    z = np.array([-1.0, 1.0, -0.5, 0.5, -2.0, 2.0])
    X = np.column_stack([[0, 1, 2, 0, 1, 2], z])

    def tied(X):
        level, z = X.T
        return (level == 1) * (1 + z) + (level == 2) * (1 + rounding)

    def constant(X):
        return 3 + (X[:, 0] == 1) * X[:, 1] + (X[:, 0] == 2) * rounding

    imp = PartialDependenceImportance(statistic=statistic, features=[0])
    assert imp.fit(constant, X).standard_errors_[0] == 0
    small = abs(rounding) + roundoff(len(X), 3.0)
    np.testing.assert_allclose(imp.importances_, 0, atol=small)
    if statistic == "range":
        # the largest mean is half that of level 1, half that of level 2
        error = standard_error(z / 2)
        np.testing.assert_allclose(imp.fit(tied, X).standard_errors_, error)
        other_order = np.column_stack([2 - X[:, 0], z])
        imp.fit(lambda X: tied(np.column_stack([2 - X[:, 0], X[:, 1]])), other_order)
        np.testing.assert_allclose(imp.standard_errors_, error)


def test_named_grids_against_a_literal_computation():
    """Deciles of the distinct values, bins, equal spacing, and values given."""
    model = KNeighborsRegressor(4).fit(X, Y)
    distinct = np.unique(X[:, 3])
    grids = {
        "deciles": np.unique(np.quantile(distinct, np.arange(11) / 10)),
        "equidistant": np.linspace(distinct[0], distinct[-1], 5),
        "given": np.array([0.5, 2.5]),
    }
    for name, grid in grids.items():
        asked = {"x3": grid} if name == "given" else name
        imp = PartialDependenceImportance(grid=asked, features=[3]).fit(model, X)
        mean = mean_curve(
            lambda X: model.predict(X)[:, None], X, (3,), grid[:, np.newaxis]
        )[:, 0]
        np.testing.assert_allclose(imp.curves_["x3"][0], grid)
        np.testing.assert_allclose(imp.curves_["x3"][1], mean, rtol=1e-12)
        np.testing.assert_allclose(imp.importances_, mean.std(ddof=1), rtol=1e-10)
    imp = PartialDependenceImportance(grid=3).fit(model, X)
    assert len(imp.curves_["x0"][0]) == 3
    assert len(imp.curves_["x3"][0]) <= 3


def test_individual_equals_a_literal_loop():
    """Row by row, two outputs."""

    def f(X):
        return np.column_stack([X[:, 0] * X[:, 3], np.cos(3 * X[:, 3] * X[:, 1])])

    imp = PartialDependenceImportance(kind="individual").fit(f, X)
    for j in range(5):
        values = np.unique(X[:, [j]], axis=0)
        each = [curve(f, X, i, (j,), values).std(axis=0, ddof=1) for i in range(len(X))]
        np.testing.assert_allclose(
            imp.importances_per_output_[j],
            np.mean(each, axis=0),
            rtol=1e-10,
            atol=roundoff(len(X), f(X)),
        )


def test_opposite_effects_cancel_in_the_average_only():
    """y = x0 x1 with x1 symmetric: flat on average, not for any row."""
    random = np.random.RandomState(0)
    half = random.randn(40, 2)
    data = np.vstack([half, half * [1, -1]])

    def f(X):
        return X[:, 0] * X[:, 1]

    average = PartialDependenceImportance().fit(f, data).importances_
    individual = PartialDependenceImportance(kind="individual").fit(f, data)
    assert average[0] < 1e-14
    assert individual.importances_[0] > 0.5


def test_shares_a_walk_and_n_jobs_changes_nothing():
    """In `compare_importances` beside itself; workers give the same numbers."""
    model = GradientBoostingRegressor(n_estimators=10, random_state=0).fit(X, Y)
    measures = {
        "average": PartialDependenceImportance(),
        "individual": PartialDependenceImportance(kind="individual"),
    }
    table = compare_importances({"m": model}, X, Y, measures)
    for label, measure in measures.items():
        with joblib.parallel_config(backend="threading", n_jobs=2):
            alone = clone(measure).fit(model, X)
        np.testing.assert_allclose(
            table.results["m", label].importances,
            alone.importances_,
            rtol=1e-12,
            atol=roundoff(len(X), Y),
        )
        fit = table.fitted["m", label]
        np.testing.assert_allclose(fit.curves_["x0"][1], alone.curves_["x0"][1])


def test_bad_input():
    """Errors come before the model is asked to move anything."""
    calls = []

    def f(X):
        calls.append(len(X))
        return X[:, 0]

    with pytest.raises(ValueError, match="statistic"):
        PartialDependenceImportance(statistic="variance").fit(f, X)
    with pytest.raises(ValueError, match="kind"):
        PartialDependenceImportance(kind="both").fit(f, X)
    with pytest.raises(ValueError, match="grid"):
        PartialDependenceImportance(grid="bins").fit(f, X)
    with pytest.raises(ValueError, match="grid"):
        PartialDependenceImportance(grid=True).fit(f, X)
    with pytest.raises(ValueError, match="'x9' is not among"):
        PartialDependenceImportance(features=["x9"]).fit(f, X)
    with pytest.raises(ValueError, match="non-empty 1-d array"):
        PartialDependenceImportance(grid=np.empty(0)).fit(f, X)
    assert all(n == len(X) for n in calls)


def softmax_of(seed, n_rows, n_outputs):
    """Rows, and a model of many outputs that depend on one another."""
    random = np.random.RandomState(seed)
    data, weights = random.randn(n_rows, 2), random.randn(2, n_outputs)

    def softmax(X):
        scores = np.exp(X @ weights)
        return scores / scores.sum(axis=1, keepdims=True)

    return softmax, data


@pytest.mark.parametrize("n_outputs", [5, 40])
def test_memory_does_not_grow_with_the_outputs(n_outputs):
    """At most a quarter of `working_memory`, whatever the number of outputs."""
    softmax, data = softmax_of(0, 400, n_outputs)
    imp = PartialDependenceImportance(features=[0])
    with config_context(working_memory=64):
        tracemalloc.start()
        try:
            imp.fit(softmax, data)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak <= 64 * 2**20 / 4


@pytest.mark.thorough
def test_standard_errors_from_joined_groups_are_unbiased():
    """Where memory allows only few groups of rows: less exact, but not smaller."""
    ratios = []
    for seed in range(20):
        softmax, data = softmax_of(seed, 250, 30)
        imp = PartialDependenceImportance(features=[0])
        exact = imp.fit(softmax, data).standard_errors_[0]
        with config_context(working_memory=16):
            ratios.append((imp.fit(softmax, data).standard_errors_[0] / exact) ** 2)
    # the mean of 20 squares, each known to about (2 / 10)^(1/2)
    np.testing.assert_allclose(np.mean(ratios), 1.0, atol=3 * np.sqrt(0.2 / 20))
    assert np.std(ratios) > 0.05


def test_lines_of_categories_are_measured_by_their_range():
    """And the others by the standard deviation, many columns at once."""
    data = np.column_stack([np.arange(len(X)) % 3, X])
    model = LinearRegression().fit(data, Y)
    paper = {"statistic": "std_or_range", "categorical_features": [0]}
    found = PartialDependenceImportance(**paper)
    with pytest.warns(ResponseWarning, match=says("std_or_range … 'x0'")):
        found.fit(model, data)
    assert found.response_path_ == "linear"
    spread = [np.unique(x).std(ddof=1) for x in data.T]
    spread[0] = 2.0  # from level 0 to level 2
    np.testing.assert_allclose(
        found.importances_, np.abs(model.coef_) * spread, rtol=1e-12
    )
