"""`ShapleyImportance`: a loop over all coalitions, theorems, published functions."""

from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from callback_recorder import Recorder
from combinations import each, half
from messages import says
from roundoff import roundoff
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from skvarimp import ShapleyImportance, SobolImportance, compare_importances

RNG = np.random.default_rng(0)
N = 40
X = RNG.normal(size=(N, 5))
X[:, 1] += X[:, 0]  # correlated
X[:, 2] = np.round(X[:, 2])  # ties
X[:, 4] = 1.5  # constant
Y = X[:, 0] * X[:, 1] + X[:, 2] ** 2 + 0.1 * X[:, 3] + RNG.normal(size=N)
WEIGHTS = RNG.uniform(0.2, 2.0, N)
WEIGHTS[7] = 0.0
COLUMNS = {"a": [0], "b": [1], "c": [2], "d": [3], "e": [4]}
GROUPS = {"pair": [0, 2], "b": [1], "d": [3], "constant": [4]}
SOME = {"pair": [0, 2], "b": [1]}  # the other columns are those of donors
FEATURES = {"columns": COLUMNS, "groups": GROUPS, "some": SOME}

BOOSTING = {"n_estimators": 20, "random_state": 0}
MODELS = {
    "ridge": Ridge(),
    "stumps": GradientBoostingRegressor(max_depth=1, **BOOSTING),
    "boosting of depth 2": GradientBoostingRegressor(max_depth=2, **BOOSTING),
    "boosting of depth 3": GradientBoostingRegressor(max_depth=3, **BOOSTING),
    "forest of depth 3": RandomForestRegressor(10, max_depth=3, random_state=0),
    "deep forest": RandomForestRegressor(5, random_state=0),
    "polynomial": make_pipeline(PolynomialFeatures(2), Ridge()),
    "cubic": make_pipeline(PolynomialFeatures(3), Ridge()),
    "interactions": make_pipeline(PolynomialFeatures(2), LinearRegression()),
}


def literal(f, X, target, features, weights):
    """Shapley values by a loop over all coalitions, of all rows and donors."""
    w, p = weights / weights.sum(), len(features)
    n, value = len(X), {}
    for size in range(p + 1):
        for coalition in combinations(range(p), size):
            moved = np.tile(X, (n, 1))  # row i of donor k at i n + k
            for e in coalition:
                moved[:, features[e]] = np.repeat(X[:, features[e]], n, axis=0)
            mean = f(moved).reshape(n, n) @ w
            value[coalition] = -w @ (target - mean) ** 2
    shares = np.zeros(p)
    for j in range(p):
        for coalition, before in value.items():
            if j not in coalition:
                s = len(coalition)
                chance = factorial(s) * factorial(p - s - 1) / factorial(p)
                after = value[tuple(sorted((*coalition, j)))]
                shares[j] += chance * (after - before)
    return shares


def close(found, expected, *entered):
    """Equal to the rounding of sums over rows, donors and coalitions."""
    return np.abs(found - expected).max() <= roundoff(N * N, *entered)


@pytest.mark.parametrize(("name", "which"), half(each(MODELS, FEATURES)))
def test_exact_shares_equal_all_coalitions(name, which):
    """SAGE and shares of the variance, with weights, ties, groups, a constant."""
    model, features = MODELS[name].fit(X, Y), FEATURES[which]
    kept = WEIGHTS > 0
    rows, weights = X[kept], WEIGHTS[kept]
    for loss, y in (("squared_error", Y), (None, model.predict(X))):
        imp = ShapleyImportance(
            loss=loss, estimation="exact", scale=None, features=features
        )
        imp.fit(model, X, Y, sample_weight=WEIGHTS)
        expected = literal(
            model.predict, rows, y[kept], list(features.values()), weights
        )
        assert close(imp.importances_, expected, y**2, model.predict(X) ** 2)
        assert imp.estimation_ == "exact"
        assert imp.total_ == imp.importances_.sum()
        if "e" in features:
            assert imp.importances_[4] == 0.0  # constant


EIGHT = [
    "ridge",
    "boosting of depth 2",
    "boosting of depth 3",
    "forest of depth 3",
    "deep forest",
    "polynomial",
]


@pytest.mark.thorough
@pytest.mark.parametrize("name", EIGHT)
def test_exact_shares_of_eight_columns(name):
    """256 coalitions, with weights, a copy, a constant and an unused column."""
    rng = np.random.default_rng(1)
    rows, weights = rng.normal(size=(30, 8)), rng.uniform(0.2, 2.0, 30)
    rows[:, 1] += 0.5 * rows[:, 0]
    rows[:, 6], rows[:, 7] = 2.0, rows[:, 0]
    y = rows[:, 0] * rows[:, 1] + rows[:, 2] - rows[:, 3] * rows[:, 4]
    learned = rows.copy()
    learned[:, 5] = 0.0  # no model can learn to use it
    model = MODELS[name].fit(learned, y)
    for loss, target in (("squared_error", y), (None, model.predict(rows))):
        imp = ShapleyImportance(loss=loss, estimation="exact", scale=None)
        found = imp.fit(model, rows, y, sample_weight=weights).importances_
        features = [[j] for j in range(8)]
        expected = literal(model.predict, rows, target, features, weights)
        assert close(found, expected, y**2, target**2)
        assert np.abs(found - expected).max() <= 1e-9
        assert found[6] == 0.0  # constant
        unused = 0.0 if name != "polynomial" else roundoff(256, y**2, target**2)
        assert abs(found[5]) <= unused  # a polynomial's cross terms round
        if name in {"ridge", "polynomial"}:  # which use both copies alike
            assert close(found[0], found[7], y**2)


SAMPLED = {
    "boosting of depth 3": (MODELS["boosting of depth 3"], 20),
    "deep forest": (MODELS["deep forest"], 20),
    "polynomial": (MODELS["polynomial"], 200),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", SAMPLED)
def test_drawn_shares_are_near_all_coalitions(name):
    """Within four errors of drawing, and the sum needs no draw to be right."""
    model, n_repeats = SAMPLED[name]
    model.fit(X, Y)
    how = {"loss": "squared_error", "scale": None}
    exact = ShapleyImportance(estimation="exact", **how).fit(model, X, Y)
    drawn = ShapleyImportance(
        estimation="sampled", n_repeats=n_repeats, random_state=1, **how
    ).fit(model, X, Y)
    gap = np.abs(drawn.importances_ - exact.importances_)
    floor = roundoff(N * N, Y**2)
    assert np.all(gap <= 4 * drawn.monte_carlo_errors_ + floor)
    assert abs(drawn.total_ - exact.total_) <= roundoff(N * N, Y**2)
    assert drawn.importances_[4] == 0.0  # constant


def test_brier_of_a_logistic_model_by_drawing():
    """Near the loop over all coalitions of probabilities."""
    labels = np.where(Y > 0, "yes", "no")
    model = LogisticRegression().fit(X, labels)
    imp = ShapleyImportance(
        loss="brier", estimation="sampled", n_repeats=200, scale=None, random_state=0
    )
    imp.fit(model, X, labels)
    f = lambda X: model.predict_proba(X)[:, 1]  # noqa: E731
    features = list(COLUMNS.values())
    expected = literal(f, X, 1.0 * (labels == "yes"), features, np.ones(N))
    assert imp.estimation_ == "sampled"
    errors = 4 * imp.monte_carlo_errors_ + roundoff(N * N, 1.0)
    assert np.all(np.abs(imp.importances_ - expected) <= errors)
    base = np.mean((f(X) - (labels == "yes")) ** 2)
    level = np.mean((f(X).mean() - (labels == "yes")) ** 2)
    assert abs(imp.total_ - (level - base)) <= roundoff(N * N, 1.0)


def test_shares_of_a_black_box_by_drawing():
    """With weights, a group, and columns in no feature."""

    def f(X):
        return X[:, 0] * X[:, 1] + np.abs(X[:, 2]) * X[:, 3]

    kept = WEIGHTS > 0
    for features in (GROUPS, SOME):
        imp = ShapleyImportance(
            estimation="sampled",
            n_repeats=300,
            scale=None,
            features=features,
            random_state=0,
        )
        imp.fit(f, X, sample_weight=WEIGHTS)
        expected = literal(
            f, X[kept], f(X[kept]), list(features.values()), WEIGHTS[kept]
        )
        errors = 4 * imp.monte_carlo_errors_ + roundoff(N * N, f(X) ** 2)
        assert np.all(np.abs(imp.importances_ - expected) <= errors)
        errors = dict(zip(imp.features_, imp.monte_carlo_errors_))
        assert errors.get("constant", 0.0) == 0.0
        assert errors["b"] > 0


@pytest.mark.thorough
def test_drawn_donors_behind_transformers():
    """The model is asked for rows of X, though trees are read behind a transformer."""
    encoded = make_column_transformer(
        (StandardScaler(), [3, 1]), (OneHotEncoder(), [2]), remainder="passthrough"
    )
    boosting = GradientBoostingClassifier(n_estimators=5, random_state=0)
    model = make_pipeline(encoded, boosting).fit(X, Y > 0)
    imp = ShapleyImportance(
        estimation="sampled", n_repeats=50, scale=None, random_state=0
    ).fit(model, X)

    def f(X):
        return model.predict_proba(X)[:, 1]

    expected = literal(f, X, f(X), list(COLUMNS.values()), np.ones(N))
    errors = 4 * imp.monte_carlo_errors_ + roundoff(N * N, 1.0)
    assert np.all(np.abs(imp.importances_ - expected) <= errors)


def test_several_outputs_by_drawing():
    """Means over the outputs, within four errors of drawing."""

    def f(X):
        return np.column_stack([X[:, 0] * X[:, 1], np.abs(X[:, 2]) + X[:, 0]])

    imp = ShapleyImportance(
        estimation="sampled", n_repeats=300, scale=None, random_state=0
    ).fit(f, X)
    features = list(COLUMNS.values())
    expected = [
        literal(lambda X, o=o: f(X)[:, o], X, f(X)[:, o], features, np.ones(N))
        for o in range(2)
    ]
    assert imp.importances_per_output_.shape == (5, 2)
    errors = 4 * imp.monte_carlo_errors_ + roundoff(N * N, f(X) ** 2)
    assert np.all(np.abs(imp.importances_ - np.mean(expected, axis=0)) <= errors)


@pytest.mark.parametrize("name", ["ridge", "stumps"])
def test_nothing_is_drawn_where_no_features_interact(name):
    """So drawn shares are exact ones, and drawing has no error."""
    model, how = MODELS[name].fit(X, Y), {"loss": "squared_error", "random_state": 0}
    drawn = ShapleyImportance(estimation="sampled", **how).fit(model, X, Y)
    exact = ShapleyImportance(estimation="exact", **how).fit(model, X, Y)
    np.testing.assert_array_equal(drawn.importances_, exact.importances_)
    np.testing.assert_array_equal(drawn.standard_errors_, exact.standard_errors_)
    assert np.all(drawn.monte_carlo_errors_ == 0.0)


def test_all_orders_of_two_features_are_known():
    """Nothing is drawn, and no error is one of drawing."""
    model = RandomForestRegressor(3, random_state=0).fit(X, Y)
    how = dict(features=[0, 1], loss="squared_error", random_state=0)
    drawn = ShapleyImportance(estimation="sampled", **how).fit(model, X, Y)
    exact = ShapleyImportance(estimation="exact", **how).fit(model, X, Y)
    np.testing.assert_allclose(drawn.importances_, exact.importances_, rtol=1e-12)
    np.testing.assert_allclose(
        drawn.standard_errors_, exact.standard_errors_, rtol=1e-9
    )
    np.testing.assert_allclose(drawn.monte_carlo_errors_, 0.0, atol=1e-15)


SUMS = {
    "ridge": "exact",
    "boosting of depth 3": "exact",
    "deep forest": "sampled",
    "black box": "sampled",
}


@pytest.mark.parametrize("name", SUMS)
def test_the_sum_is_what_all_features_explain(name):
    """R^2, and the square of a wrong mean response, whatever is drawn."""
    model = (lambda X: X[:, 0] * X[:, 1]) if name == "black box" else MODELS[name]
    f = model if name == "black box" else model.fit(X, Y).predict
    w = WEIGHTS / WEIGHTS.sum()
    imp = ShapleyImportance(
        loss="squared_error", estimation=SUMS[name], n_repeats=2, random_state=0
    ).fit(model, X, Y, sample_weight=WEIGHTS)
    variance = w @ (Y - w @ Y) ** 2
    explained = w @ (Y - w @ f(X)) ** 2 - w @ (Y - f(X)) ** 2
    assert abs(imp.total_ - explained / variance) <= roundoff(N * N, Y**2 / variance)
    assert abs(imp.total_ - imp.importances_.sum()) <= roundoff(N, 1.0)


@pytest.mark.thorough
def test_compiled_and_numpy_trees_agree(monkeypatch):
    """Exact and drawn, of small trees and of large ones."""
    for name in ("boosting of depth 3", "deep forest"):
        model = MODELS[name].fit(X, Y)
        for estimation in ("exact", "sampled"):
            imp = ShapleyImportance(estimation=estimation, n_repeats=2, random_state=0)
            found = imp.fit(model, X).importances_
            monkeypatch.setenv("SKVARIMP_COMPILED", "0")
            assert close(imp.fit(model, X).importances_, found, 1.0)
            assert imp.response_path_ == "trees"
            monkeypatch.delenv("SKVARIMP_COMPILED")


def test_many_rows_go_down_small_trees_by_kinds():
    """Rows that a tree does not tell apart go down as one; with NaN and categories."""
    rng = np.random.default_rng(3)
    rows = pd.DataFrame(rng.normal(size=(25, 4)), columns=list("abcd"))
    rows["b"] = rows["b"].where(rng.random(25) < 0.8)
    rows["d"] = pd.Categorical(rng.choice(["u", "v", "w"], 25))
    many = pd.concat([rows] * 170, ignore_index=True)
    y = many["a"] * (many["d"] == "u") + many["b"].isna() * many["c"]
    how = {"categorical_features": "from_dtype", "max_leaf_nodes": 4}
    model = HistGradientBoostingRegressor(max_iter=8, **how).fit(many, y)
    imp = ShapleyImportance(estimation="exact", scale=None)
    few = imp.fit(model, rows).importances_

    def f(array):
        frame = pd.DataFrame(array, columns=list("abcd"))
        frame["d"] = pd.Categorical(frame["d"], categories=["u", "v", "w"])
        return model.predict(frame.astype(dict.fromkeys("abc", float)))

    target, features = model.predict(rows), [[0], [1], [2], [3]]
    expected = literal(f, rows.to_numpy(), target, features, np.ones(25))
    assert np.abs(few - expected).max() <= roundoff(25**2, target**2)
    by_kinds = imp.fit(model, many).importances_
    assert np.abs(by_kinds - few).max() <= roundoff(len(many), target**2)


def test_repeated_rows_equal_weights():
    """Integer weights are repeated rows."""
    model, counts = MODELS["boosting of depth 3"].fit(X, Y), RNG.integers(0, 4, N)
    repeated = np.repeat(np.arange(N), counts)
    imp = ShapleyImportance(loss="squared_error", estimation="exact")
    weighted = imp.fit(model, X, Y, sample_weight=counts).importances_
    found = imp.fit(model, X[repeated], Y[repeated]).importances_
    assert close(found, weighted, 1.0)


def test_linear_model_has_a_closed_form():
    """2 cov(y, m_j) - cov(m_j, f), whatever the columns' correlation; R^2 in sum."""
    model = LinearRegression().fit(X[:, :4], Y)
    imp = ShapleyImportance(loss="squared_error").fit(model, X[:, :4], Y)
    m, f = model.coef_ * (X[:, :4] - X[:, :4].mean(axis=0)), model.predict(X[:, :4])
    expected = (2 * (Y - Y.mean()) - (f - f.mean())) @ m / N / Y.var()
    assert imp.response_path_ == "linear"
    assert close(imp.importances_, expected, 1.0)
    assert abs(imp.total_ - model.score(X[:, :4], Y)) <= roundoff(N, 1.0)


def test_shares_lie_between_sobol_indices():
    """First order <= share <= total where rows hold all combinations of values."""
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 4)] * 3), axis=-1).reshape(-1, 3)

    def f(X):
        return X[:, 0] * X[:, 1] + X[:, 1] ** 2 + np.exp(X[:, 2] * X[:, 0])

    imp = ShapleyImportance(estimation="exact").fit(f, grid)
    sobol = SobolImportance().fit(f, grid)
    slack = roundoff(len(grid) ** 2, 1.0)
    assert np.all(sobol.first_order_ <= imp.importances_ + slack)
    assert np.all(imp.importances_ <= sobol.total_ + slack)
    assert abs(imp.total_ - 1.0) <= slack


def ishigami(X):
    """Ishigami and Homma (1990), a = 7, b = 0.1, of columns uniform on (-pi, pi)."""
    return (
        np.sin(X[:, 0])
        + 7 * np.sin(X[:, 1]) ** 2
        + 0.1 * X[:, 2] ** 4 * np.sin(X[:, 0])
    )


A = np.array([0.0, 1.0, 4.5, 9.0])


def g_function(X):
    """Sobol's g of columns uniform on (0, 1)."""
    return np.prod((np.abs(4 * X - 2) + A) / (1 + A), axis=1)


def g_shares():
    """Shapley effects of g: of a set the product of the variances, shared equally."""
    own, shares = 1 / (3 * (1 + A) ** 2), np.zeros(len(A))
    for size in range(1, len(A) + 1):
        for members in map(list, combinations(range(len(A)), size)):
            shares[members] += np.prod(own[members]) / size
    return shares / shares.sum()


def ishigami_shares():
    """Owen (2014): an interaction of two is shared equally."""
    first = 0.5 * (1 + 0.1 * np.pi**4 / 5) ** 2
    both = 0.1**2 * np.pi**8 * (1 / 18 - 1 / 50)
    parts = np.array([first + both / 2, 49 / 8, both / 2])
    return parts / parts.sum()


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["ishigami", "g", "linear"])
def test_published_functions(name):
    """Shapley effects within three errors, of rows and of drawing."""
    rng = np.random.default_rng(0)
    if name == "g":
        f, rows, expected = g_function, rng.random((20_000, 4)), g_shares()
    elif name == "linear":
        f, rows, expected = linear_model(), correlated(rng, 20_000), linear_shares()
    else:
        rows = rng.uniform(-np.pi, np.pi, (20_000, 3))
        f, expected = ishigami, ishigami_shares()
    imp = ShapleyImportance(random_state=0).fit(f, rows)
    drawing = 0.0 if name == "linear" else imp.monte_carlo_errors_
    errors = np.hypot(imp.standard_errors_, drawing)
    assert np.all(np.abs(imp.importances_ - expected) <= 3 * errors)


def correlated(rng, n):
    """Four normal columns, of which two have correlation 0.6."""
    rows = rng.normal(size=(n, 4))
    rows[:, 1] = 0.6 * rows[:, 0] + 0.8 * rows[:, 1]
    return rows


SLOPES = np.array([1.0, -0.5, 0.25, 2.0])


def linear_model():
    """A linear model of these columns."""
    model = LinearRegression().fit(np.eye(4), np.zeros(4))
    model.coef_ = SLOPES
    return model


def linear_shares():
    """b_j cov(x_j, f) / var f of a linear model (Owen 2014 for independent columns)."""
    cov = np.eye(4)
    cov[0, 1] = cov[1, 0] = 0.6
    return SLOPES * (cov @ SLOPES) / (SLOPES @ cov @ SLOPES)


def boosted():
    """A boosted model of g, and its shares in many rows."""
    rng = np.random.default_rng(5)
    rows = rng.random((2000, 4))
    model = GradientBoostingRegressor(n_estimators=30, random_state=0)
    model.fit(rows, g_function(rows))
    many = ShapleyImportance(estimation="exact").fit(model, rng.random((100_000, 4)))
    return model, many.importances_


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["linear", "g", "boosting"])
def test_intervals_cover(name):
    """95% intervals hold the shares of the population in 93 to 97% of 500 samples.

    On average over the columns; of a single one the frequency itself has an error.
    """
    rng, hits, n_draws = np.random.default_rng(7), 0.0, 500
    if name == "linear":
        model, expected = linear_model(), linear_shares()
    elif name == "g":
        model, expected = g_function, g_shares()
    else:
        model, expected = boosted()
    imp = ShapleyImportance(keep_rows=True)
    for seed in range(n_draws):
        rows = correlated(rng, 500) if name == "linear" else rng.random((500, 4))
        frame = imp.set_params(random_state=seed).fit(model, rows).interval()
        frame = frame.sort_values("feature")
        hits += (frame["lower"] <= expected) & (expected <= frame["upper"])
    covered = hits.to_numpy() / n_draws
    assert 0.93 <= covered.mean() <= 0.97
    error = np.sqrt(0.95 * 0.05 / n_draws)
    assert np.all(np.abs(covered - 0.95) <= 0.02 + 2 * error)


def test_errors_of_drawing():
    """They are the spread of importances over seeds, also as the sum is kept."""
    found, errors = [], []
    for seed in range(60):
        imp = ShapleyImportance(estimation="sampled", random_state=seed)
        imp.set_params(n_repeats=5).fit(product, X[:, :3])
        found.append(imp.importances_)
        errors.append(imp.monte_carlo_errors_)
    # variances of 60 numbers have an error of (2 / 59)^(1/2) of them
    ratio = np.mean(np.square(errors), axis=0) / np.var(found, axis=0, ddof=1)
    assert np.all(np.abs(ratio - 1.0) <= 4 * np.sqrt(2 / 59))


@pytest.mark.thorough
@pytest.mark.parametrize("model", ["function", "forest"])
def test_errors_of_drawing_are_honest_where_a_tolerance_stops(model):
    """z-values over seeds: repeats that agree by chance must not end a fit."""
    rows = np.random.default_rng(0).normal(size=(80, 6))

    def function(Z):
        return Z[:, 0] * Z[:, 1] + np.sin(2 * Z[:, 2]) + Z[:, 4] * Z[:, 5]

    fitted, n_repeats = function, 3000
    if model == "forest":
        fitted = RandomForestRegressor(3, max_depth=8, random_state=0)
        fitted.fit(rows, function(rows))
        n_repeats = 1
    estimation = "exact" if model == "forest" else "sampled"
    many = ShapleyImportance(estimation=estimation, n_repeats=n_repeats, tol=None)
    many.set_params(random_state=1000).fit(fitted, rows)
    z = []
    for seed in range(150):
        imp = ShapleyImportance(estimation="sampled", tol=0.1, n_repeats=100)
        imp.set_params(random_state=seed).fit(fitted, rows)
        used = [0, 1, 2, 4, 5]
        gap = (imp.importances_ - many.importances_)[used]
        z.append(gap / imp.monte_carlo_errors_[used])
    spread = np.std(z, axis=0)
    # 150 numbers tell a standard deviation to 1 / 17 of it
    assert np.all((spread > 0.7 - 2 / 17) & (spread < 1.1 + 2 / 17)), spread


@pytest.mark.thorough
@pytest.mark.parametrize("labels", [None, np.arange(200) // 4])
def test_standard_errors_have_no_noise_of_drawing(labels):
    """Of few repeats as of many, on average, also where rows depend on each other."""
    rows = np.random.default_rng(2).normal(size=(200, 3))

    def squares(n_repeats, seed):
        imp = ShapleyImportance(estimation="sampled", tol=None, random_state=seed)
        imp.set_params(n_repeats=n_repeats).fit(product, rows, groups=labels)
        return imp.standard_errors_**2

    few, many = [squares(40, seed) for seed in range(50)], squares(2000, 0)
    error = np.std(few, axis=0, ddof=1) / np.sqrt(50)
    assert np.all(np.abs(np.mean(few, axis=0) - many) <= 4 * error)


def test_influences_are_the_derivative_by_weights():
    """An infinitesimally heavier row moves the importances by its influence.

    The last model's mean output is not the mean of y.
    """
    step = 1e-6
    for model in (MODELS["boosting of depth 2"].fit(X, Y), Ridge().fit(X, Y + 1)):
        imp = ShapleyImportance(
            loss="squared_error",
            estimation="exact",
            features=SOME,  # two features: one pair of orders has all coalitions
            keep_rows=True,
            random_state=0,
        ).fit(model, X, Y)
        for i in (0, 11):
            moved = np.ones((2, N))
            moved[:, i] += [-step, step]
            low, high = (
                ShapleyImportance(
                    loss="squared_error", estimation="exact", features=SOME
                )
                .fit(model, X, Y, sample_weight=of_rows)
                .importances_
                for of_rows in moved
            )
            slope = N * (high - low) / (2 * step)
            allowed = step**2 * N + roundoff(N, 10.0) / step
            assert np.abs(slope - imp.influences_[i]).max() <= allowed
        rows = imp.row_importances_.mean(axis=0)
        assert close(rows, imp.importances_, 1.0)


@pytest.mark.filterwarnings("ignore::skvarimp.exceptions.ImportanceWarning")
@pytest.mark.parametrize("n_repeats", [1, 2])
def test_shares_of_a_row_add_up_to_its_squared_deviation(n_repeats):
    """Each order adds up to it, where the means of coalitions are exact."""
    model = MODELS["deep forest"].fit(X, Y)
    imp = ShapleyImportance(estimation="sampled", tol=None, keep_rows=True)
    imp.set_params(n_repeats=n_repeats, random_state=0).fit(model, X)
    squares = (model.predict(X) - model.predict(X).mean()) ** 2
    expected = squares / squares.mean()
    assert close(imp.row_importances_.sum(axis=1), expected, expected)


def test_sampled_rows_average_to_the_importances():
    """Also where donors are drawn."""
    for model in (lambda X: X[:, 0] * X[:, 1], MODELS["deep forest"].fit(X, Y)):
        imp = ShapleyImportance(estimation="sampled", keep_rows=True, random_state=0)
        imp.fit(model, X, sample_weight=WEIGHTS)
        rows = WEIGHTS @ imp.row_importances_ / WEIGHTS.sum()
        assert np.abs(rows - imp.importances_).max() <= roundoff(N * N, 10.0)


def test_several_outputs_and_classes():
    """Each output has its own shares; probabilities of a forest are exact."""
    labels = np.digitize(Y, [0.0, 1.0])
    forest = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X, labels)
    imp = ShapleyImportance(loss="brier", scale=None).fit(forest, X, labels)
    assert imp.estimation_ == "exact"
    for o, label in enumerate(forest.classes_):
        f = lambda X, o=o: forest.predict_proba(X)[:, o]  # noqa: E731
        features = list(COLUMNS.values())
        expected = literal(f, X, 1.0 * (labels == label), features, np.ones(N))
        assert close(imp.importances_per_output_[:, o], expected, 1.0)


def test_containers_give_the_same():
    """Frames, sparse matrices, and a pipeline of one-hot columns."""
    model = Ridge().fit(X, Y)
    expected = ShapleyImportance().fit(model, X).importances_
    rows = sparse.csr_array(X)
    assert close(ShapleyImportance().fit(model, rows).importances_, expected, 1.0)
    frame = pd.DataFrame({"x": X[:, 0], "kind": np.where(X[:, 1] > 0, "u", "v")})
    encoded = make_column_transformer(
        (OneHotEncoder(), ["kind"]), remainder="passthrough"
    )
    boosting = GradientBoostingRegressor(**BOOSTING)
    few = frame[:20]
    for inner in (Ridge(), boosting):
        pipeline = make_pipeline(encoded, inner).fit(frame, Y)
        imp = ShapleyImportance(estimation="exact").fit(pipeline, few)
        other = ShapleyImportance(estimation="exact")
        other.fit(lambda X: pipeline.predict(X), few)  # noqa: B023
        assert close(imp.importances_, other.importances_, 1.0)
        assert imp.response_path_ != other.response_path_
    drawn = ShapleyImportance(n_repeats=2, random_state=0)
    found = drawn.fit(lambda X: X["x"].to_numpy() * 2.0, frame).importances_
    assert close(found, [1.0, 0.0], 1.0)
    polars = drawn.fit(lambda X: X["x"].to_numpy() * 2.0, pl.from_pandas(frame))
    assert polars.to_frame()["importance"].to_list() == pytest.approx([1.0, 0.0])


@pytest.mark.parametrize(
    "name", ["deep forest", pytest.param("black box", marks=pytest.mark.thorough)]
)
def test_seeds_and_workers(name):
    """The same seed gives the same numbers, on any number of workers."""
    model = product if name == "black box" else MODELS[name].fit(X, Y)
    first = ShapleyImportance(estimation="sampled", random_state=0).fit(model, X)
    again = ShapleyImportance(estimation="sampled", random_state=0, n_jobs=2)
    other = ShapleyImportance(estimation="sampled", random_state=1).fit(model, X)
    assert close(again.fit(model, X).importances_, first.importances_, 1.0)
    assert np.any(other.importances_ != first.importances_)


def test_draws_stop_at_the_tolerance():
    """A loose tolerance needs few repeats; one out of reach warns; "auto" does not."""
    model = GradientBoostingClassifier(n_estimators=5).fit(X, Y > 0)
    how = {"estimation": "sampled", "random_state": 0}
    rough = ShapleyImportance(tol=0.5, n_repeats=1000, **how).fit(model, X)
    assert rough.monte_carlo_errors_.max() <= 0.5 * rough.importances_.max()
    with pytest.warns(
        UserWarning,
        match=says("tol=1e-09 … 5 repeats … `monte_carlo_errors_` … larger n_repeats"),
    ):
        ShapleyImportance(tol=1e-9, n_repeats=5, **how).fit(model, X)
    auto = ShapleyImportance(n_repeats=1000, **how).fit(model, X)
    goal = np.fmax(auto.standard_errors_ / 3, 0.005 * auto.importances_.max())
    assert np.all(auto.monte_carlo_errors_ <= goal)


def test_repeats_before_an_error_of_drawing_is_trusted():
    """Four of a callable, and ten of trees, of which all rows have the same order."""
    forest = MODELS["deep forest"].fit(X, Y)
    for model, least in ((forest.predict, 4), (forest, 10)):
        imp = ShapleyImportance(estimation="sampled", tol=1e9, n_repeats=50)
        recorder = Recorder(step="repeat")
        imp.set_params(random_state=0).set_callbacks(recorder).fit(model, X)
        assert recorder.steps == least


def test_a_callback_stops_after_a_repeat():
    """The numbers are those of the repeats so far."""
    model = MODELS["deep forest"].fit(X, Y)
    how = {"estimation": "sampled", "random_state": 0}
    recorder = Recorder(stop_after=3, step="repeat")
    imp = ShapleyImportance(n_repeats=20, **how).set_callbacks(recorder).fit(model, X)
    expected = ShapleyImportance(n_repeats=3, **how).fit(model, X)
    assert recorder.max_subtasks == 20
    np.testing.assert_array_equal(imp.importances_, expected.importances_)
    np.testing.assert_array_equal(imp.standard_errors_, expected.standard_errors_)


def test_rows_in_partitions():
    """The numbers are those of all rows."""
    dask_array = pytest.importorskip("dask.array")
    model, rows = Ridge().fit(X, Y), dask_array.from_array(X, chunks=(20, 5))
    found, expected = (ShapleyImportance().fit(model, one) for one in (rows, X))
    np.testing.assert_allclose(found.importances_, expected.importances_, rtol=1e-12)
    errors = found.standard_errors_, expected.standard_errors_
    np.testing.assert_allclose(*errors, rtol=1e-12)


def test_constant_response_has_no_shares():
    """Nothing to share out is 0 and not NaN."""
    imp = ShapleyImportance(random_state=0).fit(lambda X: np.full(len(X), 2.0), X)
    assert np.all(imp.importances_ == 0.0)


@pytest.mark.parametrize("size", [1.0, 8.0])
@pytest.mark.parametrize(("times", "share"), [(0.95, 0.0), (1.05, 1.0)])
def test_responses_that_are_constant_up_to_rounding(times, share, size):
    """Standard deviations below 1e-13 of the response's size are rounding."""
    rows = np.array([[0.0, 0.0], [1.0, 1.0]])
    move = size * 2e-13 * times  # of two rows, twice the standard deviation
    imp = ShapleyImportance(random_state=0)
    imp.fit(lambda X: size + move * X[:, 0], rows)
    np.testing.assert_allclose(imp.importances_, [share, 0.0], rtol=0.01, atol=1e-20)


def test_compared_with_other_measures():
    """Stands beside other measures."""
    model = Ridge().fit(X, Y)
    compared = compare_importances(model, X, Y, [ShapleyImportance(), "sobol"])
    own = np.sort(ShapleyImportance().fit(model, X, Y).importances_)
    found = [np.sort(one.importances) for one in compared.results.values()]
    assert any(np.array_equal(one, own) for one in found)


@pytest.mark.parametrize(
    ("parameters", "y", "message"),
    [
        ({"loss": "squared_error"}, None, "y is required"),
        ({"loss": "brier"}, Y, "loss='brier' compares probabilities"),
        ({"loss": "squared_error"}, np.ones(N), "y is constant"),
        ({"features": [[0, 1], 1]}, Y, "share the column 1"),
        ({"loss": "log_loss"}, Y, "loss"),
        ({"tol": -0.1}, Y, "tol"),
    ],
)
def test_bad_input(parameters, y, message):
    """Raised before the work, with a way out."""
    with pytest.raises(ValueError, match=message):
        ShapleyImportance(**parameters).fit(Ridge().fit(X, Y), X, y)


def test_too_many_sets_are_refused():
    """Exact numbers of a model in which 30 columns may all interact."""
    rows = np.random.default_rng(0).normal(size=(20, 30))
    with pytest.raises(
        ValueError,
        match=says("estimation='exact' … `working_memory` … estimation='sampled'"),
    ):
        ShapleyImportance(estimation="exact").fit(lambda X: X.prod(axis=1), rows)


def product(X):
    """A black box whose effects are small beside the noise of drawing donors."""
    return X[:, 0] * X[:, 1] + np.abs(X[:, 2])


@pytest.mark.parametrize("name", ["black box", "deep forest"])
@pytest.mark.parametrize("estimation", ["exact", "sampled"])
def test_groups_of_one_row_change_nothing(name, estimation):
    """Labels that put each row in a group of its own are no groups."""
    model = product if name == "black box" else MODELS[name].fit(X, Y)
    imp = ShapleyImportance(estimation=estimation, n_repeats=4, random_state=0)
    expected = imp.fit(model, X, sample_weight=WEIGHTS).standard_errors_
    labels = RNG.permutation(N)
    found = imp.fit(model, X, sample_weight=WEIGHTS, groups=labels).standard_errors_
    assert np.abs(found - expected).max() <= 1e-12
    assert expected[:3].min() > 0.0


def test_copies_in_a_group_have_the_errors_of_the_rows():
    """Of numbers without noise: each row and its two copies are one group."""
    model, how = Ridge().fit(X, Y), {"loss": "squared_error"}
    expected = ShapleyImportance(**how).fit(model, X, Y).standard_errors_
    rows = np.tile(np.arange(N), 3)
    copies = ShapleyImportance(**how).fit(model, X[rows], Y[rows], groups=rows)
    assert np.abs(copies.standard_errors_ - expected).max() <= 1e-12


def test_noise_of_drawing_leaves_an_error():
    """Where it dominates, no standard error is 0, but that of an unused column is."""
    for seed in range(20):
        imp = ShapleyImportance(estimation="sampled", n_repeats=2, random_state=seed)
        errors = imp.fit(product, X[:12]).standard_errors_
        assert np.all(errors[:3] > 0.0)
        assert np.all(errors[3:] == 0.0)
