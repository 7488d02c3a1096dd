"""Accumulated local effects: a plain loop, closed forms, errors, containers."""

from itertools import pairwise

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from combinations import each
from literal import standard_error
from messages import says
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from skvarimp import ALEImportance, PartialDependenceImportance
from skvarimp.exceptions import ImportanceWarning

rng = np.random.default_rng(0)
N = 103
X = rng.normal(size=(N, 3))
X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
X[:, 2] = np.round(X[:, 2])
Y = X[:, 0] * X[:, 1] + X[:, 2] ** 2
WEIGHTS = rng.integers(0, 4, N)


def literal_ale(f, X, j, n_bins, weights=None):
    """Edges, curve and importance by loops over bins and rows."""
    w = np.ones(len(X)) if weights is None else weights
    x = X[:, j]
    ordered = np.repeat(np.sort(x), w[np.argsort(x, kind="stable")].astype(int))
    upper = [ordered[int(np.ceil(len(ordered) * k / n_bins - 1e-9)) - 1]
             for k in range(1, n_bins + 1)]  # fmt: skip
    edges = sorted({ordered[0], *upper})
    if len(set(ordered)) <= n_bins + 1:
        edges = sorted(set(ordered))
    curve, at_row = [0.0], np.zeros(len(X))
    for k, (low, high) in enumerate(pairwise(edges)):
        members = [i for i in range(len(X)) if low < x[i] <= high]
        members += [i for i in range(len(X)) if k == 0 and x[i] == low]
        effect = weight = 0.0
        up, down = X[members], X[members]
        up[:, j], down[:, j] = high, low
        for i, change in zip(members, f(up) - f(down)):
            effect += w[i] * change
            weight += w[i]
        for i in members:
            at_row[i] = curve[-1] + effect / weight * (x[i] - low) / (high - low)
        curve.append(curve[-1] + effect / weight)
    mean = np.average(at_row, weights=w)
    spread = np.sqrt(np.average((at_row - mean) ** 2, weights=w))
    return np.array(edges), np.array(curve) - mean, spread


@pytest.mark.parametrize(("n_bins", "weights"), each([1, 7, 1000], [None, WEIGHTS]))
def test_equals_the_plain_loop(n_bins, weights):
    """Edges, curves and importances, also where values are tied."""
    forest = RandomForestRegressor(3, random_state=0).fit(X, Y)
    kept = np.ones(N, bool) if weights is None else weights > 0
    of_kept = None if weights is None else weights[kept]

    ale = ALEImportance(n_bins=n_bins).fit(forest, X, sample_weight=weights)

    for j in range(3):
        edges, curve, spread = literal_ale(forest.predict, X[kept], j, n_bins, of_kept)
        np.testing.assert_array_equal(ale.curves_[f"x{j}"][0], edges)
        np.testing.assert_allclose(ale.curves_[f"x{j}"][1], curve, rtol=0, atol=1e-9)
        assert ale.importances_[j] == pytest.approx(spread, rel=1e-9)


def test_rare_values_have_an_edge_of_their_own():
    """f(2) - f(1) and f(3) - f(2) are 5 and -5: without an edge at 2, 0.

    By hand: 0, 1, 6, 1 less their mean over the rows.
    """
    x = np.repeat([0.0, 1.0, 2.0, 3.0], [40, 30, 1, 29])
    effect = np.array([0.0, 1.0, 6.0, 1.0])
    for n_bins in (3, 5, 20):
        ale = ALEImportance(n_bins=n_bins).fit(
            lambda Z: effect[Z[:, 0].astype(int)], x[:, np.newaxis]
        )
        edges, curve = ale.curves_["x0"]
        assert edges.tolist() == [0, 1, 2, 3]
        centred = effect - effect[x.astype(int)].mean()
        rounding = len(x) * np.finfo(float).eps * effect.max()
        np.testing.assert_allclose(curve, centred, atol=rounding)
        assert ale.importances_[0] == pytest.approx(
            effect[x.astype(int)].std(), rel=1e-12
        )


def test_an_additive_model_has_the_shape_of_its_partial_dependence():
    """With a bin a value the two differ by a constant only."""

    def additive(X):
        return np.exp(X[:, 0]) + 3 * X[:, 1] - X[:, 2] ** 2

    ale = ALEImportance(n_bins=N).fit(additive, X)
    average = PartialDependenceImportance(grid="all").fit(additive, X)

    for name, (edges, effects) in ale.curves_.items():
        grid, mean = average.curves_[name]
        np.testing.assert_array_equal(edges, grid)
        np.testing.assert_allclose(np.ptp(effects - mean), 0, atol=1e-12)


def test_a_product_of_correlated_inputs():
    """E[x2 | x1] = r x1, so the curve is r (x1² - 1) / 2 with spread r / 2^(1/2)."""
    n, r = 100_000, 0.7
    some = np.random.default_rng(1)
    first = some.normal(size=n)
    second = r * first + np.sqrt(1 - r**2) * some.normal(size=n)
    both = np.column_stack([first, second])

    ale = ALEImportance(n_bins=200).fit(lambda X: X[:, 0] * X[:, 1], both)

    assert ale.importances_ == pytest.approx([r / np.sqrt(2)] * 2, rel=0.02)
    edges, effects = ale.curves_["x0"]
    np.testing.assert_allclose(
        effects[50:151], r * (edges[50:151] ** 2 - 1) / 2, atol=0.02
    )


def test_standard_errors_are_those_of_the_infinitesimal_jackknife():
    """The influence of a row is the derivative by its weight, the bins held fixed."""

    rng = np.random.default_rng(0)

    def f(X):
        return X[:, 0] * X[:, 1] + np.sin(X[:, 2])

    rows, weights = X[:40], rng.uniform(0.5, 1.5, 40)
    ale = ALEImportance(n_bins=5).fit(f, rows, sample_weight=weights)

    step = 1e-6
    derivatives = []
    for i in range(40):
        shifted = weights.copy()
        shifted[i] += step
        above = ALEImportance(n_bins=5).fit(f, rows, sample_weight=shifted).importances_
        derivatives.append((above - ale.importances_) / step)
    psi = weights.sum() * np.array(derivatives)
    expected = standard_error(psi, weights)
    np.testing.assert_allclose(ale.standard_errors_, expected, rtol=1e-3)


def test_errors_of_curves_are_those_of_the_infinitesimal_jackknife():
    """The influence of a row is the derivative by its weight, the bins held fixed."""

    def f(X):
        return X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2])

    rows, weights = X[:40], np.random.default_rng(0).uniform(0.5, 1.5, 40)
    measure, step = ALEImportance(n_bins=4, features=[0, 2]), 1e-6
    errors = measure.fit(f, rows, sample_weight=weights).curve_errors_
    before = {feature: curve for feature, (_, curve) in measure.curves_.items()}
    slopes = {feature: [] for feature in before}
    for i in range(40):
        shifted = weights.copy()
        shifted[i] += step
        measure.fit(f, rows, sample_weight=shifted)
        for feature, (_, after) in measure.curves_.items():
            slopes[feature].append((after - before[feature]) / step)
    for feature, of_rows in slopes.items():
        expected = standard_error(weights.sum() * np.array(of_rows), weights)
        np.testing.assert_allclose(errors[feature], expected, rtol=1e-3)


def test_integer_weights_equal_repeated_rows():
    """In the importances."""

    def f(X):
        return X[:, 0] * X[:, 1] + X[:, 2]

    weighted = ALEImportance(n_bins=5).fit(f, X, sample_weight=WEIGHTS)
    repeated = ALEImportance(n_bins=5).fit(f, np.repeat(X, WEIGHTS, axis=0))

    np.testing.assert_allclose(weighted.importances_, repeated.importances_, rtol=1e-12)


def test_unused_and_constant_columns_are_exactly_zero():
    """Nothing moves, and nothing is divided by 0."""
    with_constant = np.column_stack([X, np.full(N, 3.0)])

    ale = ALEImportance().fit(lambda X: X[:, 0], with_constant)

    assert ale.importances_[1:].tolist() == [0.0, 0.0, 0.0]
    assert ale.standard_errors_[1:].tolist() == [0.0, 0.0, 0.0]
    assert ale.curves_["x3"][0].tolist() == [3.0]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames_classes_and_jobs_give_the_same_numbers(make):
    """One curve per class; the number of workers changes nothing."""
    data, classes = load_iris(return_X_y=True)
    names = ["sl", "sw", "pl", "pw"]
    forest = RandomForestClassifier(10, random_state=0).fit(data, classes)
    named = make({name: data[:, j] for j, name in enumerate(names)})

    with joblib.parallel_config(backend="threading"):
        array = ALEImportance(n_jobs=2).fit(forest, data)
    frame = ALEImportance().fit(
        lambda X: forest.predict_proba(np.asarray(X.to_numpy())), named
    )

    np.testing.assert_allclose(array.importances_, frame.importances_, rtol=1e-12)
    assert array.importances_per_output_.shape == (4, 3)
    assert array.curves_["x0"][1].shape == (len(array.curves_["x0"][0]), 3)
    assert frame.features_ == names
    assert (
        type(frame.to_frame()).__module__.split(".")[0] == make.__module__.split(".")[0]
    )


@pytest.mark.parametrize("zone", [None, "Europe/Zurich"])
def test_dates_booleans_and_ordered_categories_have_an_order(zone):
    """Rows with a missing value are in no bin."""
    frame = pd.DataFrame(
        {
            "day": pd.date_range("2020-01-01", periods=40, tz=zone),
            "size": pd.Categorical(["s", "m", "l", "m"] * 10, ["s", "m", "l"], True),
            "flag": [True, False] * 20,
            "hole": [np.nan, 1.0, 2.0, 3.0] * 10,
        }
    )

    def f(X):
        days = (X["day"] - pd.Timestamp("2020-01-01", tz=zone)).dt.days
        return (
            days + X["size"].cat.codes + X["flag"] + X["hole"].fillna(50)
        ).to_numpy()

    ale = ALEImportance(n_bins=39).fit(f, frame)

    spread = np.std(np.arange(40))
    codes = np.std([0, 1, 2, 1])
    expected = [spread, codes, 0.5, np.std([1, 2, 3])]
    np.testing.assert_allclose(ale.importances_, expected, rtol=1e-12)
    assert ale.curves_["size"][0].tolist() == ["s", "m", "l"]
    assert set(ale.deciles_) == {"hole"}


def test_what_has_no_order():
    """NaN beside columns with an order; refused alone, and in groups, unasked."""
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})

    def never(X):
        raise AssertionError("asked")

    with pytest.warns(ImportanceWarning, match=r"'b' has no importance \(NaN\)"):
        mixed = ALEImportance().fit(lambda X: X["a"].to_numpy(), frame)
    alone = ALEImportance(features=["a"]).fit(lambda X: X["a"].to_numpy(), frame)
    assert np.isnan(mixed.importances_[1])
    assert mixed.importances_[0] == alone.importances_[0]
    assert list(mixed.curves_) == ["a"]
    assert "complete" not in mixed.to_frame()
    with pytest.raises(TypeError, match=says("'b' … PartialDependenceImportance")):
        ALEImportance(features=["b"]).fit(never, frame)
    with pytest.raises(TypeError, match="group of columns"):
        ALEImportance(features=[["x0", "x1"]]).fit(never, X)
    with pytest.raises(ValueError, match="n_bins"):
        ALEImportance(n_bins=0).fit(never, X)


def test_curves_are_drawn():
    """The axis says what they are, a note what bands and lines are; none if centred."""
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    frame["size"] = pd.Categorical.from_codes(WEIGHTS, list("smlx"), ordered=True)

    def f(frame):
        return (frame["a"] * (frame["b"] + frame["size"].cat.codes)).to_numpy()

    ale = ALEImportance().fit(f, frame)
    display = ale.plot_curves()

    assert display.axes_[0].get_ylabel() == "accumulated local effect"
    assert len(display.axes_) >= 3
    note = display.figure_._supxlabel.get_text()
    assert "bands and lines: 95% intervals" in note
    note = ale.plot_curves(centred=True).figure_._supxlabel.get_text()
    assert "95%" not in note


def test_no_band_where_all_rows_have_the_same_effects():
    """The effects are known without error, given the bins, but for their centre."""
    ale = ALEImportance().fit(lambda X: 2 * X[:, 0], X)

    errors = ale.curve_errors_["x0"]
    np.testing.assert_allclose(errors, errors[0], rtol=1e-9)
    assert not ale.curve_errors_["x1"].any()
