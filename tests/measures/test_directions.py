"""Which way the mean response goes, and signed effects of single rows."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from combinations import each
from messages import says
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from skvarimp import (
    ALEImportance,
    DerivativeImportance,
    FIRMImportance,
    PartialDependenceImportance,
    PermutationImportance,
    RowsDisplay,
    SensitivityImportance,
    ShapleyImportance,
    compare_importances,
)

rng = np.random.default_rng(0)
X = np.column_stack([rng.normal(size=(80, 3)), rng.integers(0, 4, size=80)])
Y = 2 * X[:, 0] - X[:, 1] ** 3 + X[:, 2] ** 2 + X[:, 3] * X[:, 0]
WEIGHTS = rng.uniform(0.5, 2.0, size=80)
WEIGHTS[:3] = 0.0
MODELS = {
    "forest": RandomForestRegressor(10, random_state=0),
    "boosting": HistGradientBoostingRegressor(max_iter=10),
    "svr": SVR(),
    "ridge": Ridge(),
    "pipeline": make_pipeline(StandardScaler(), SVR()),
}
MODELS = {name: model.fit(X, Y) for name, model in MODELS.items()}
FOLLOWING = {
    "pairs": SensitivityImportance(estimation="exact"),
    "observed": SensitivityImportance(
        contrast="observed", estimation="exact", keep_rows=True
    ),
    "range": SensitivityImportance(contrast="range", grid="all"),
    "curve": PartialDependenceImportance(),
    "curves": PartialDependenceImportance(kind="individual"),
    "loss": PermutationImportance(estimation="exact"),
    "score": PermutationImportance(scoring="r2", n_draws=4, random_state=0),
    "shapley": ShapleyImportance(random_state=0, n_repeats=2),
}


def plain_direction(values, means, weights):
    """Over all pairs of values; missing ones are in none."""
    rise = size = 0.0
    for v, m, w in zip(values, means, weights):
        for other, mean, weight in zip(values, means, weights):
            if v == v and other == other:
                rise += w * weight * np.sign(v - other) * (m - mean)
                size += w * weight * abs(m - mean)
    return rise / size if size > 0 else 0.0


def plain_means(predict, X, j, weights):
    """Mean response with one column set to each of its values."""
    moved = np.tile(X, (len(X), 1))
    moved[:, j] = np.repeat(X[:, j], len(X))
    of_values = predict(moved).reshape(len(X), len(X))
    return [np.average(of_value, weights=weights) for of_value in of_values]


def plain_directions(predict, X, weights=None):
    """Those of all columns, by double loops."""
    weights = np.ones(len(X)) if weights is None else weights
    return np.array(
        [
            plain_direction(X[:, j], plain_means(predict, X, j, weights), weights)
            for j in range(X.shape[1])
        ]
    )


@cache
def of_model(name, weighted):
    """Directions of a model, by double loops."""
    weights = WEIGHTS if weighted else None
    return plain_directions(MODELS[name].predict, X, weights)


@pytest.mark.parametrize(("name", "measure"), each(MODELS, FOLLOWING))
def test_directions_equal_a_double_loop(name, measure):
    """On the mean curve, whatever the measure does with the rows' own curves."""
    weighted = measure in {"pairs", "loss", "shapley"}
    weights = WEIGHTS if weighted else None
    imp = clone(FOLLOWING[measure]).fit(MODELS[name], X, Y, sample_weight=weights)
    if measure == "curve" and name == "svr":
        assert imp.to_frame()["direction"].iloc[0] == imp.directions_.max()
    expected = of_model(name, weighted)
    np.testing.assert_allclose(imp.directions_, expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(imp.directions_per_output_[:, 0], imp.directions_)


ALL = {
    **FOLLOWING,
    "drawn": SensitivityImportance(estimation="sampled", random_state=0),
    "drawn loss": PermutationImportance(estimation="sampled", random_state=0),
    "rows": SensitivityImportance(estimation="rows", random_state=0),
    "effects": ALEImportance(),
    "derivative": DerivativeImportance(),
    "score given": FIRMImportance(),
    "parts": SensitivityImportance(conditional="subgroups", estimation="exact"),
    "residuals": SensitivityImportance(conditional=Ridge(), random_state=0),
}
SYMMETRIC = rng.normal(size=(100, 3))
SYMMETRIC = np.vstack([SYMMETRIC, -SYMMETRIC])


def additive(X):
    """Rises with the first column, falls with the second, turns in the third."""
    return np.exp(X[:, 0]) - 2 * X[:, 1] + X[:, 2] ** 2


@pytest.mark.parametrize("measure", ALL)
def test_rising_falling_and_turning(measure):
    """1 and -1 whatever the steepness; near 0 for a parabola on symmetric data."""
    read = measure in {"score", "shapley"}  # these do not ask the model
    data = SYMMETRIC if not read else SYMMETRIC[:, :2]
    model = LinearRegression().fit(data, data @ [1.0, -2.0]) if read else additive
    y = data[:, 0] + 0.5 * data[:, 1]
    imp = clone(ALL[measure]).fit(model, data, y)
    # draws are noisy, and so are means of a score that depends on other columns
    noise = {"score given": 0.2}.get(measure, 0.02 if measure in DRAWN else 1e-9)
    np.testing.assert_allclose(imp.directions_[:2], [1, -1], rtol=0, atol=noise)
    assert np.all(np.abs(imp.directions_) <= 1.0)
    if not read:
        exact = measure not in DRAWN | {"derivative", "parts", "score given"}
        assert abs(imp.directions_[2]) < (0.05 if exact else 0.2)


DRAWN = {"drawn", "drawn loss", "rows", "residuals"}


@pytest.mark.parametrize("measure", ALL)
def test_invariant_under_units_of_the_response(measure):
    """A linear increasing transform changes nothing, a decreasing one the sign."""
    some = X[:, :3]

    def fitted(scale):
        model = LinearRegression().fit(some, Y)
        model.coef_, model.intercept_ = scale * model.coef_, 7.0
        return clone(ALL[measure]).fit(model, some, 1e-3 * abs(scale) * Y)

    once = fitted(1.0)
    for scale in (1024.0, -1.0):
        ours = fitted(scale).directions_
        expected = np.sign(scale) * once.directions_
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-9)


def test_unused_and_constant_columns_have_no_direction():
    """The mean response does not change: 0, for functions and read models."""
    data = np.column_stack([X[:, :2], np.ones(80)])
    model = Ridge().fit(data, data[:, 0])
    model.coef_ = np.array([1.0, 0.0, 3.0])
    for f in (model, model.predict, lambda X: X[:, 0] + 5.0):
        imp = SensitivityImportance(estimation="exact", scale=None).fit(f, data)
        assert imp.directions_.tolist() == [1.0, 0.0, 0.0]


def test_an_interaction_alone_has_no_direction():
    """Rounding of a flat mean curve does not decide."""
    data = np.vstack([SYMMETRIC, SYMMETRIC * [1, -1, 1]])
    imp = SensitivityImportance(scale=None, estimation="exact")
    imp.fit(lambda X: 1e3 + X[:, 0] * X[:, 1], data)
    assert imp.directions_.tolist() == [0.0, 0.0, 0.0]
    assert imp.importances_[0] > 0.1


@pytest.mark.parametrize("size", [1.0, 8.0])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_rises_below_rounding_are_none(sign, size):
    """Below 1e-12 of the largest response: of lines the rise, of others its quarter.

    Of two values, each with probability 1/2, the sum over pairs is a quarter.
    """
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    model = LinearRegression().fit(corners, corners[:, 1])
    imp = SensitivityImportance(scale=None, estimation="exact")
    for times, expected in [(0.95, 0.0), (1.05, sign)]:
        model.coef_ = size * np.array([sign * times * 1e-12, 1.0])
        assert imp.fit(model, corners).directions_.tolist() == [expected, 1.0]
        four = model.coef_ * [4.0, 1.0]
        imp.fit(lambda X, four=four: X @ four, corners)
        assert imp.directions_.tolist() == [expected, 1.0]


def mixed_frame():
    """Values of all kinds, some of them missing."""
    levels = ["low", "middle", "high"]
    return pd.DataFrame(
        {
            "number": np.where(np.arange(80) % 9 == 0, np.nan, X[:, 0]),
            "level": pd.Categorical(rng.choice(levels, 80), levels, ordered=True),
            "kind": pd.Categorical(rng.choice(["a", "b", "c"], 80)),
            "flag": X[:, 2] > 0,
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(80), "D"),
            "class": X[:, 3],
        }
    )


def of_mixed(frame):
    """Rises with the level and the number, also where it is missing; falls by day."""
    number = np.nan_to_num(frame["number"].to_numpy(), nan=-9.0)
    days = (frame["day"] - pd.Timestamp("2026-01-01")).dt.days.to_numpy()
    kinds = frame["kind"].cat.codes.to_numpy() + frame["class"].to_numpy()
    flag = frame["flag"].to_numpy() * 2.0
    return number + frame["level"].cat.codes.to_numpy() + kinds - flag - 0.1 * days


@pytest.mark.parametrize("estimation", ["exact", "sampled", "rows"])
def test_values_without_order_have_none(estimation):
    """Categories and groups: NaN. Ordered types have an order; missing values none."""
    frame, names = mixed_frame(), ["number", "level", "flag", "day"]
    imp = SensitivityImportance(
        estimation=estimation,
        categorical_features=["class"],
        features=[*names, "kind", "class", ["number", "flag"]],
        scale=None,
        n_draws=60,
        random_state=0,
    ).fit(of_mixed, frame)
    steady = [1.0, 1.0, -1.0, -1.0]
    np.testing.assert_allclose(imp.directions_[:4], steady, rtol=0, atol=0.05)
    assert np.isnan(imp.directions_[4:]).all()
    table = imp.to_frame().set_index("feature")
    assert np.isnan(table.loc["kind", "direction"])
    firm = FIRMImportance(features=["level", "kind", "flag"]).fit(of_mixed, frame)
    assert np.isnan(firm.directions_).tolist() == [False, True, False]
    ale = ALEImportance(features=names).fit(of_mixed, frame)
    np.testing.assert_allclose(ale.directions_, steady, rtol=0, atol=1e-12)


def test_named_categories_have_a_share_and_no_direction():
    """The shares are the same."""
    model = Ridge().fit(X, Y)
    plain = ShapleyImportance().fit(model, X)
    named = ShapleyImportance(categorical_features=[1]).fit(model, X)
    np.testing.assert_array_equal(named.importances_, plain.importances_)
    np.testing.assert_array_equal(
        np.isnan(named.directions_), np.arange(len(X[0])) == 1
    )
    others = np.arange(len(X[0])) != 1
    np.testing.assert_array_equal(named.directions_[others], plain.directions_[others])


def test_missing_values_are_in_no_pair():
    """A boosting's own way with them moves no direction but their weight is lost."""
    data = np.where(rng.uniform(size=X.shape) < 0.2, np.nan, X)
    model = HistGradientBoostingRegressor(max_iter=10).fit(data, Y)
    imp = SensitivityImportance(estimation="exact").fit(model, data, Y)
    expected = plain_directions(model.predict, data)
    np.testing.assert_allclose(imp.directions_, expected, rtol=0, atol=1e-12)


def test_outputs_of_a_classifier():
    """Of two classes the second; of several each its own, and none for all."""
    two = LogisticRegression().fit(X, Y > 0)
    imp = SensitivityImportance().fit(two, X, Y > 0)
    expected = plain_directions(lambda X: two.predict_proba(X)[:, 1], X)
    np.testing.assert_allclose(imp.directions_, expected, rtol=0, atol=1e-12)
    three = LogisticRegression().fit(X, np.digitize(Y, [-1, 1]))
    of_classes = [
        plain_directions(lambda X, o=o: three.predict_proba(X)[:, o], X)
        for o in range(3)
    ]
    for measure in (SensitivityImportance(), PermutationImportance(keep_rows=True)):
        imp = measure.fit(three, X, np.digitize(Y, [-1, 1]))
        assert imp.directions_ is None
        assert "direction" not in imp.to_frame().columns
        for found, of_class in zip(imp.directions_per_output_.T, of_classes):
            np.testing.assert_allclose(found, of_class, rtol=0, atol=1e-12)
    assert imp.row_effects_.shape == (80, 4, 3)
    # probabilities add up to 1
    np.testing.assert_allclose(imp.row_effects_.sum(axis=2), 0.0, atol=1e-12)
    imp.fit(two, X, Y > 0)
    assert imp.row_effects_.shape == (80, 4)


def test_pairs_within_subgroups():
    """Of each part the sums over its pairs, weighed by its rows."""
    part = (X[:, 3] > 1).astype(int)
    model = MODELS["forest"]
    imp = SensitivityImportance(conditional=part).fit(model, X, Y)
    for j in range(3):
        rise = size = 0.0
        for g in (0, 1):
            rows = X[part == g]
            ones = np.ones(len(rows))
            means = plain_means(model.predict, rows, j, ones)
            pairs = np.subtract.outer(means, means) / len(rows)
            rise += np.sum(np.sign(np.subtract.outer(rows[:, j], rows[:, j])) * pairs)
            size += np.abs(pairs).sum()
        assert imp.directions_[j] == pytest.approx(rise / size, abs=1e-12)


def test_drawn_pairs_within_subgroups():
    """Near those of all pairs: 40 draws of 80 rows tell a share to 1 / 3200^(1/2)."""
    part = (X[:, 3] > 1).astype(int)

    def model(X):
        return np.where(X[:, 3] > 1, 1, -1) * X[:, 0] - X[:, 1]

    imp = SensitivityImportance(conditional=part, scale=None, features=[0, 1])
    drawn = clone(imp).set_params(estimation="sampled", n_draws=40, random_state=0)
    exact = imp.set_params(estimation="exact").fit(model, X)
    directions = drawn.fit(model, X).directions_
    np.testing.assert_allclose(directions, exact.directions_, atol=3 / np.sqrt(3200))


def test_sparse_and_many_columns():
    """Lines of many columns at once, and in a comparison's shared walk."""
    dense = np.where(rng.uniform(size=(60, 30)) < 0.8, 0.0, rng.normal(size=(60, 30)))
    slopes = rng.normal(size=30) * (np.arange(30) % 5 > 0)
    model = LinearRegression().fit(dense, dense @ slopes)
    model.coef_ = slopes
    expected = np.sign(slopes) * (np.ptp(dense, axis=0) > 0)
    for container in (sparse.csr_array(dense), dense):
        for grid in ("all", "deciles"):
            contrast = "range" if grid == "deciles" else "pairs"
            imp = SensitivityImportance(contrast=contrast, grid=grid, scale=None)
            found = imp.fit(model, container).directions_
            np.testing.assert_array_equal(found, expected)
    measures = {"pairs": SensitivityImportance(scale=None), "curve": FOLLOWING["curve"]}
    table = compare_importances(model, dense, dense @ slopes, measures)
    for imp in table.fitted.values():
        np.testing.assert_allclose(imp.directions_, expected, rtol=0, atol=1e-12)


def test_sparse_columns_of_few_values():
    """They are reduced together; the curves of a network turn more than once."""
    random = np.random.default_rng(0)
    counts = random.poisson(1.2, size=(60, 5)).astype(float)
    targets = np.column_stack([np.sin(2 * counts[:, 0]), counts[:, 1] - counts[:, 2]])
    model = MLPRegressor(
        hidden_layer_sizes=12, solver="lbfgs", max_iter=40, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(counts, targets)
    weights = random.uniform(0.5, 2.0, size=60)
    imp = SensitivityImportance(estimation="exact")
    imp.fit(model, sparse.csr_array(counts), targets, sample_weight=weights)
    for o in range(2):
        expected = plain_directions(
            lambda X, o=o: model.predict(X)[:, o], counts, weights
        )
        found = imp.directions_per_output_[:, o]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
        assert np.any(np.abs(expected) < 0.9)  # not all are monotone


EFFECTS = {
    "pairs": SensitivityImportance(keep_rows=True),
    "loss": PermutationImportance(keep_rows=True),
    "shapley": ShapleyImportance(keep_rows=True, n_repeats=2, random_state=0),
}


@pytest.mark.parametrize(
    ("name", "measure"), each(["forest", "svr", "ridge", "pipeline"], EFFECTS)
)
def test_effects_equal_a_plain_loop(name, measure):
    """f(x_i) minus the weighted mean over the donors; rows of weight 0 have none."""
    model = MODELS[name]
    imp = clone(EFFECTS[measure]).fit(model, X, Y, sample_weight=WEIGHTS)
    expected = np.empty_like(X)
    for j in range(X.shape[1]):
        moved = np.repeat(X, len(X), axis=0)
        moved[:, j] = np.tile(X[:, j], len(X))
        for i, of_row in enumerate(model.predict(moved).reshape(len(X), len(X))):
            expected[i, j] = np.average(of_row, weights=WEIGHTS)
        expected[:, j] = model.predict(X) - expected[:, j]
    expected[WEIGHTS == 0] = np.nan
    size = np.nanmax(np.abs(expected))
    np.testing.assert_allclose(imp.row_effects_, expected, rtol=0, atol=1e-10 * size)


@pytest.mark.parametrize(
    "weights", [WEIGHTS, np.ones(80)], ids=["weighted", "equal weights"]
)
@pytest.mark.parametrize("measure", EFFECTS)
def test_effects_of_additive_models(measure, weights):
    """The closed form slope (x - mean), which is also the Shapley value.

    Where all rows weigh the same, many columns are otherwise put in any order.
    """
    slopes = np.array([1.0, -3.0, 0.0, 0.5])
    model = LinearRegression().fit(X, X @ slopes)
    imp = clone(EFFECTS[measure]).fit(model, X, X @ slopes, sample_weight=weights)
    kept = weights > 0
    centred = X - np.average(X, weights=weights, axis=0)
    close = {"rtol": 0, "atol": 1e-10}
    effects = imp.row_effects_[kept]
    np.testing.assert_allclose(effects, (centred * slopes)[kept], **close)
    means = weights[kept] @ effects / weights.sum()
    np.testing.assert_allclose(means, 0.0, **close)


@pytest.mark.parametrize("features", [None, [[0, 3], 1, 2]], ids=["columns", "groups"])
@pytest.mark.parametrize("measure", EFFECTS)
def test_effects_stand_at_their_rows_of_sparse_columns(measure, features):
    """The closed form again: all rows that hold 0 have numbers of their own."""
    stored = X * (np.arange(X.size).reshape(X.shape) % 3 == 0)
    model = LinearRegression().fit(stored, Y)
    imp = clone(EFFECTS[measure]).set_params(features=features)
    imp.fit(model, sparse.csr_array(stored), Y, sample_weight=WEIGHTS)
    effects = model.coef_ * (stored - np.average(stored, weights=WEIGHTS, axis=0))
    if features is not None:
        effects = np.c_[effects[:, 0] + effects[:, 3], effects[:, 1:3]]
    effects[WEIGHTS == 0] = np.nan
    np.testing.assert_allclose(imp.row_effects_, effects, rtol=0, atol=1e-10)


def test_effects_of_draws():
    """Unbiased means over each row's donors; rows that were not drawn have none."""
    slopes = np.array([1.0, -3.0, 0.0, 0.5])
    for estimation in ("sampled", "rows"):
        imp = SensitivityImportance(
            estimation=estimation,
            n_draws=200,
            max_evaluations=None if estimation == "sampled" else 10_000,
            keep_rows=True,
            scale=None,
            random_state=0,
        ).fit(lambda X: X @ slopes, X)
        exact = (X - X.mean(axis=0)) * slopes
        known = ~np.isnan(imp.row_effects_).any(axis=1)
        assert known.all() == (estimation == "sampled")
        spread = 6 * X.std(axis=0) * np.abs(slopes) / np.sqrt(400)
        tolerance = spread if estimation == "sampled" else 1e-12
        gaps = np.abs(imp.row_effects_ - exact)[known]
        assert np.all(gaps <= tolerance + 1e-12)


def test_effects_are_forgotten_by_the_next_fit():
    """A fit without `keep_rows` has none of single rows."""
    imp = SensitivityImportance(keep_rows=True).fit(MODELS["ridge"], X, Y)
    assert imp.row_effects_.shape == X.shape
    imp.set_params(keep_rows=False).fit(MODELS["ridge"], X, Y)
    assert not hasattr(imp, "row_effects_")
    assert imp.directions_.shape == (4,)


def test_models_whose_evaluations_are_counted_are_not_asked():
    """Shapley shares of a function: its curves are not known."""
    imp = ShapleyImportance(n_repeats=10, random_state=0, keep_rows=True)
    imp.fit(additive, SYMMETRIC)
    assert np.isnan(imp.directions_).all()
    assert not hasattr(imp, "row_effects_")


def test_signed_effects_are_drawn():
    """By default on both sides of 0, in the order of mean sizes; or importances."""
    imp = SensitivityImportance(keep_rows=True).fit(MODELS["ridge"], X, Y)
    display = RowsDisplay.from_importance(imp, X)
    order = np.argsort(-np.abs(imp.row_effects_).mean(axis=0))
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == [imp.features_[e] for e in order]
    for marks, e in zip(display.points_, order):
        np.testing.assert_array_equal(marks.get_offsets()[:, 0], imp.row_effects_[:, e])
    assert display.ax_.get_xlabel() == "effect of the row's own value on the prediction"
    other = RowsDisplay.from_importance(imp, X, what="importance")
    assert other.ax_.get_xlabel() == "importance of the row"
    assert all(np.all(marks.get_offsets()[:, 0] >= 0) for marks in other.points_)
    with pytest.raises(ValueError, match=says("`what` … got 'both'")):
        RowsDisplay.from_importance(imp, X, what="both")
    classes = np.digitize(Y, [-1, 1])
    three = LogisticRegression().fit(X, classes)
    imp.fit(three, X, classes)
    shown = RowsDisplay.from_importance(imp, X).ax_.get_xlabel()
    assert shown == "importance of the row"
    with pytest.raises(ValueError, match="no `row_effects_` of one output"):
        RowsDisplay.from_importance(imp, X, what="effect")
