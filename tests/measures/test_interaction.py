"""`InteractionImportance` against literal loops and what must hold for every model."""

from itertools import combinations, product

import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from combinations import each, half
from messages import says
from roundoff import roundoff
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_friedman1
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor
from tree_models import path_of_trees

from skvarimp import ImportanceDisplay, InteractionImportance, MatrixDisplay

X, Y = make_friedman1(40, n_features=5, noise=0.5, random_state=0)
X[:, 3] = np.round(4 * X[:, 3]) / 4  # ties
WEIGHTS = np.random.RandomState(1).uniform(0.3, 2, len(X))


def moved(X, columns, values):
    """All rows with some columns set."""
    Z = X.copy()
    Z[:, list(columns)] = values
    return Z


def dependence(f, X, columns, w, at):
    """Partial dependence on columns at points (k, len(columns)), (k, n_outputs)."""
    rows = np.concatenate([moved(X, columns, value) for value in at])
    return np.array([w @ of_value for of_value in np.split(f(rows), len(at))])


def literal_h(f, X, j, k, weights):
    """Friedman & Popescu, eq. 44, by a loop over the rows as points."""
    w = weights / weights.sum()
    joint = dependence(f, X, (j, k), w, X[:, [j, k]])
    parts = dependence(f, X, (j,), w, X[:, [j]]), dependence(f, X, (k,), w, X[:, [k]])
    joint, first, second = (F - w @ F for F in (joint, *parts))
    rest = w @ (joint - first - second) ** 2
    return np.sqrt(rest / (w @ joint**2))


def literal_overall(f, X, j, weights):
    """Friedman & Popescu, eq. 45."""
    w = weights / weights.sum()
    own = dependence(f, X, (j,), w, X[:, [j]])
    rows = np.concatenate([_with_column(x, X, j) for x in X])
    others = np.array([w @ of_row for of_row in np.split(f(rows), len(X))])
    total = f(X)
    total, own, others = (F - w @ F for F in (total, own, others))
    return np.sqrt(w @ (total - own - others) ** 2 / (w @ total**2))


def _with_column(x, X, j):
    """The row x with column j running through all of X's."""
    Z = np.tile(x, (len(X), 1))
    Z[:, j] = X[:, j]
    return Z


def literal_conditional_std(f, X, j, k, grids, weights, along=("std", "std")):
    """Greenwell et al., section 3.2."""
    w = weights / weights.sum()
    points = list(product(*grids))
    F = dependence(f, X, (j, k), w, points)
    F = F.reshape(len(grids[0]), len(grids[1]), -1)

    def flat(curve, how):
        return np.ptp(curve, axis=0) if how == "range" else curve.std(axis=0, ddof=1)

    along_first = np.array([flat(F[:, l], along[0]) for l in range(len(grids[1]))])
    along_second = np.array([flat(F[m], along[1]) for m in range(len(grids[0]))])
    return (along_first.std(axis=0, ddof=1) + along_second.std(axis=0, ddof=1)) / 2


def deciles(x):
    """Of the distinct values."""
    return np.unique(np.quantile(np.unique(x), np.arange(11) / 10))


def smooth(X):
    """Two outputs with interactions; column 4 is unused."""
    return np.column_stack(
        [X[:, 0] * X[:, 1] + X[:, 2] ** 2, np.sin(3 * X[:, 0] * X[:, 3]) + X[:, 1]]
    )


BOOSTING = GradientBoostingRegressor(n_estimators=15, random_state=0).fit(X, Y)
THREE = GradientBoostingClassifier(n_estimators=4, random_state=0)
THREE.fit(X, np.digitize(Y, [11, 17]))
# one column of X moves several columns of the trees, another a single one
BINNED = make_pipeline(
    make_column_transformer(
        (KBinsDiscretizer(4, strategy="uniform"), [0, 3]), remainder="passthrough"
    ),
    DecisionTreeRegressor(random_state=0),
).fit(X, Y)
MODELS = {
    "bins": (BINNED, lambda X: BINNED.predict(X)[:, None]),
    "boosting": (BOOSTING, lambda X: BOOSTING.predict(X)[:, None]),
    "three classes": (THREE, THREE.predict_proba),
    "callable": (smooth, smooth),
    "kernel": (
        kernel := KernelRidge(kernel="rbf", gamma=1.0).fit(X, Y),
        lambda X: kernel.predict(X)[:, None],
    ),
}
PAIRS = [(0, 1), (0, 3), (2, 3)]


@pytest.mark.parametrize(("name", "weighted"), each(MODELS, [False, True]))
def test_h_equals_a_literal_loop(name, weighted):
    """Pairs and overall, tree ensembles among them, with ties and weights."""
    model, f = MODELS[name]
    weights = WEIGHTS if weighted else np.ones(len(X))
    given = weights if weighted else None
    imp = InteractionImportance(statistic="h", pairs=PAIRS)
    imp.fit(model, X, sample_weight=given)
    expected = [literal_h(f, X, j, k, weights) for j, k in PAIRS]
    np.testing.assert_allclose(
        imp.importances_per_output_, expected, rtol=1e-9, atol=1e-13
    )
    imp = InteractionImportance(statistic="h_overall", features=[0, 3])
    imp.fit(model, X, sample_weight=given)
    expected = [literal_overall(f, X, j, weights) for j in (0, 3)]
    np.testing.assert_allclose(
        imp.importances_per_output_, expected, rtol=1e-9, atol=1e-13
    )
    assert imp.pairs_ is None
    assert imp.matrix_ is None
    assert imp.features_ == ["x0", "x3"]


@pytest.mark.parametrize(("name", "weighted"), each(MODELS, [False, True]))
def test_conditional_std_equals_a_literal_loop(name, weighted):
    """On deciles of the distinct values, and on every value."""
    model, f = MODELS[name]
    weights = WEIGHTS if weighted else np.ones(len(X))
    given = weights if weighted else None
    for grid, values in (("deciles", deciles), ("all", np.unique)):
        pairs = PAIRS if grid == "deciles" else [(3, 0)]
        imp = InteractionImportance(grid=grid, pairs=pairs)
        imp.fit(model, X, sample_weight=given)
        expected = [
            literal_conditional_std(
                f, X, j, k, (values(X[:, j]), values(X[:, k])), weights
            )
            for j, k in pairs
        ]
        np.testing.assert_allclose(
            imp.importances_per_output_, expected, rtol=1e-9, atol=1e-13
        )


ADDITIVE = {
    "linear": LinearRegression().fit(X, Y),
    "stumps": GradientBoostingRegressor(max_depth=1, random_state=0).fit(X, Y),
    "callable": lambda X: np.exp(X[:, 0]) + np.sin(5 * X[:, 1]) - X[:, 2] * 7,
    "stump": DecisionTreeRegressor(max_depth=1).fit(X, Y),
}


@pytest.mark.parametrize("name", ADDITIVE)
def test_additive_models_have_none(name):
    """f = sum of functions of one input: H = 0 to rounding for every pair."""
    model = ADDITIVE[name]
    scale = np.ptp(Y)
    for statistic in ("h", "h_overall"):
        imp = InteractionImportance(statistic=statistic).fit(model, X)
        assert imp.importances_.max() < 1e-12
    imp = InteractionImportance().fit(model, X)
    assert imp.importances_.max() < 1e-13 * scale


def test_product_of_centred_columns_is_all_interaction():
    """Sample means 0: both single dependences are flat, so that H = 1."""
    random = np.random.RandomState(0)
    data = random.randn(50, 3)
    data -= data.mean(axis=0)
    imp = InteractionImportance(statistic="h").fit(lambda X: X[:, 0] * X[:, 1], data)
    assert imp.pairs_ == [("x0", "x1"), ("x0", "x2"), ("x1", "x2")]
    np.testing.assert_allclose(imp.importances_[0], 1.0, rtol=1e-12)
    # the pair with the unused column has no joint effect at all
    assert imp.importances_[1:].tolist() == [0, 0]
    overall = InteractionImportance(statistic="h_overall")
    overall.fit(lambda X: X[:, 0] * X[:, 1], data)
    # f's own part that is no product of the two: the sample's covariance is not 0
    assert overall.importances_[0] > 0.9
    assert overall.importances_[2] == 0


def test_names_of_a_matrix_are_those_of_the_last_fit():
    """Of every statistic, and of other columns than before."""
    imp = InteractionImportance(statistic="h_overall").fit(lambda Z: Z[:, 0], X)
    assert imp.matrix_names_ == imp.features_
    imp.set_params(statistic="h").fit(lambda Z: Z[:, 0], X[:, :2])
    imp.set_params(statistic="h_overall").fit(lambda Z: Z[:, 0], X[:, :3])
    assert imp.matrix_names_ == ["x0", "x1", "x2"]


def test_unused_inputs_and_constant_responses_score_zero():
    """No interaction with an input that nothing depends on; no 0 / 0."""
    model = RandomForestRegressor(5, random_state=0).fit(X[:, :3], Y)

    def f(X):
        return model.predict(X[:, :3])

    for statistic in ("conditional_std", "h"):
        imp = InteractionImportance(statistic=statistic).fit(f, X)
        matrix = imp.matrix_
        assert np.nanmax(np.abs(matrix[3:])) < 1e-12
        assert np.nanmax(matrix[:3, :3]) > 0.01
    overall = InteractionImportance(statistic="h_overall").fit(f, X)
    assert overall.importances_[3:].tolist() == [0, 0]
    for statistic in ("conditional_std", "h", "h_overall"):
        flat = InteractionImportance(statistic=statistic)
        flat.fit(lambda X: np.full(len(X), 0.1), X)
        assert np.all(flat.importances_ == 0)
    constant = moved(X, [0], 0.5)
    one = InteractionImportance(statistic="h").fit(f, constant)
    assert np.nanmax(one.matrix_[0]) < 1e-12


def test_rescaling_the_response():
    """f -> a f + b: H stays, the conditional deviation is multiplied by |a|."""
    for statistic, factor in (("h", 1), ("h_overall", 1), ("conditional_std", 3)):
        imp = InteractionImportance(statistic=statistic)
        before = imp.fit(BOOSTING, X).importances_
        after = imp.fit(lambda X: 5 - 3 * BOOSTING.predict(X), X).importances_
        np.testing.assert_allclose(after, factor * before, rtol=1e-8, atol=1e-12)


def test_matrix_pairs_and_order():
    """Symmetric, NaN where not asked; pairs by name, position and from the end."""
    frame = pd.DataFrame(X, columns=list("abcde"))

    def f(frame):
        return smooth(np.asarray(frame))

    imp = InteractionImportance(pairs=[("d", "a"), (1, -1)]).fit(f, frame)
    assert imp.pairs_ == [("d", "a"), ("b", "e")]
    assert imp.features_ == ["d:a", "b:e"]
    assert imp.matrix_names_ == list("abcde")
    assert imp.matrix_[0, 3] == imp.matrix_[3, 0] == imp.importances_[0]
    assert np.isnan(imp.matrix_).sum() == 25 - 4
    assert imp.standard_errors_ is None
    assert list(imp.to_frame()["feature"]) == ["d:a", "b:e"]
    full = InteractionImportance().fit(f, frame)
    np.testing.assert_array_equal(full.matrix_, full.matrix_.T)
    assert np.isnan(np.diag(full.matrix_)).all()
    assert len(full.importances_) == 10
    swapped = InteractionImportance(pairs=[("a", "d")]).fit(f, frame)
    np.testing.assert_allclose(swapped.importances_, imp.importances_[:1], rtol=1e-12)


def test_groups_as_features():
    """A pair of a group and a column: the group's joint values are its points."""
    imp = InteractionImportance(
        statistic="h", features={"both": [0, 1], "three": 3}
    ).fit(smooth, X)
    w = np.full(len(X), 1 / len(X))
    joint = dependence(smooth, X, (0, 1, 3), w, X[:, [0, 1, 3]])
    first = dependence(smooth, X, (0, 1), w, X[:, [0, 1]])
    second = dependence(smooth, X, (3,), w, X[:, [3]])
    joint, first, second = (F - w @ F for F in (joint, first, second))
    share = w @ (joint - first - second) ** 2 / (w @ joint**2)
    np.testing.assert_allclose(
        imp.importances_per_output_[0], np.sqrt(share), rtol=1e-10, atol=1e-13
    )


def frame_and_model():
    """Strings, booleans and numbers in a pipeline over a frame."""
    random = np.random.RandomState(0)
    frame = pd.DataFrame(
        {
            "color": random.choice(["red", "green", "blue"], 40),
            "size": np.round(random.rand(40), 2),
            "flag": random.rand(40) > 0.5,
            "same": ["one"] * 40,
        }
    )
    y = (frame["color"] == "red") * 3 * frame["size"] + frame["flag"]
    encode = make_column_transformer(
        (OneHotEncoder(), ["color", "flag", "same"]), remainder="passthrough"
    )
    return frame, make_pipeline(encode, KNeighborsRegressor(4)).fit(frame, y)


@pytest.mark.parametrize(
    "container", ["pandas", pytest.param("polars", marks=pytest.mark.thorough)]
)
def test_strings_and_numbers_meet(container):
    """Each level meets each decile in X's own container; flatness by kind."""
    frame, model = frame_and_model()
    given = frame if container == "pandas" else pl.DataFrame(frame)
    imp = InteractionImportance().fit(model, given)
    levels = {
        "color": ["blue", "green", "red"],
        "size": deciles(frame["size"]),
        "flag": [False, True],
        "same": ["one"],
    }
    how = {"size": "std"}
    for p, (first, second) in enumerate(imp.pairs_):
        F = np.array(
            [
                [
                    model.predict(frame.assign(**{first: v, second: u})).mean()
                    for u in levels[second]
                ]
                for v in levels[first]
            ]
        )

        def spread(F, name):
            flat = np.ptp(F, axis=1) if name not in how else F.std(axis=1, ddof=1)
            return flat.std(ddof=1) if len(flat) > 1 else 0.0

        if "same" in (first, second):
            assert imp.importances_[p] == 0
            continue
        expected = (spread(F, second) + spread(F.T, first)) / 2
        np.testing.assert_allclose(imp.importances_[p], expected, rtol=1e-10)
    h = InteractionImportance(statistic="h", pairs=[("color", "size")])
    h.fit(model, given)
    assert 0.1 < h.importances_[0] < 1


def native_categories():
    """A frame with gaps, a level that was not trained on, and numbers as levels."""
    random = np.random.RandomState(0)
    frame = pd.DataFrame(
        {
            "color": pd.Categorical(random.choice(["red", "green", "blue", None], 60)),
            "size": np.where(random.rand(60) < 0.1, np.nan, random.rand(60).round(1)),
            "class": pd.Categorical(random.choice([3, 1, 2], 60)),
            "flag": random.rand(60) > 0.5,
        }
    )
    y = (frame["color"] == "red") * 3 * frame["size"].fillna(2) + frame["flag"]
    y += frame["class"].cat.codes * (frame["color"] == "blue")
    return frame, y, (frame["color"] != "green").to_numpy()


@pytest.mark.parametrize(
    ("kind", "grid", "compiled"),
    half(
        [
            ("values", "deciles", "1"),
            ("values", "all", "0"),
            ("labels", "deciles", "0"),
            ("labels", "all", "1"),
            ("behind steps", "deciles", "1"),
        ]
    ),
)
def test_native_categories_meet_by_codes(kind, grid, compiled, monkeypatch):
    """Each level meets each number on the way down the trees, and in a plain loop."""
    monkeypatch.setenv("SKVARIMP_COMPILED", compiled)
    frame, y, trained = native_categories()
    options = {"max_iter": 8, "min_samples_leaf": 3, "random_state": 0}
    model = HistGradientBoostingRegressor(**options)
    if kind == "labels":
        model, y = HistGradientBoostingClassifier(**options), y > y.mean()
    if kind == "behind steps":
        keep = make_column_transformer(
            (StandardScaler(), ["size"]),
            remainder="passthrough",
            verbose_feature_names_out=False,
        )
        model = make_pipeline(keep.set_output(transform="pandas"), model)
    model.fit(frame[trained], y[trained])
    imp = InteractionImportance(grid=grid, response_method="predict")
    imp.fit(model, frame)
    steps = "column-wise steps, " * (kind == "behind steps")
    assert imp.response_path_ == steps + path_of_trees()
    sizes = frame["size"].dropna()
    levels = {
        "color": ["blue", "green", "red", None],
        "size": [*(deciles(sizes) if grid == "deciles" else np.unique(sizes)), np.nan],
        "class": [1, 2, 3],
        "flag": [False, True],
    }

    for p, pair in enumerate(imp.pairs_):
        cells = list(product(*(levels[name] for name in pair)))
        many = pd.concat([frame] * len(cells), ignore_index=True)
        for name, values in zip(pair, zip(*cells)):
            put = pd.Series(values, dtype=frame[name].dtype)
            many[name] = put.repeat(len(frame)).to_numpy()
            many[name] = many[name].astype(frame[name].dtype)
        F = model.predict(many).reshape(len(cells), -1).mean(axis=1)
        first, second = pair
        F = F.reshape(len(levels[first]), len(levels[second]))

        def spread(F, name):
            flat = F.std(axis=1, ddof=1) if name == "size" else np.ptp(F, axis=1)
            return flat.std(ddof=1)

        expected = (spread(F, second) + spread(F.T, first)) / 2
        # labels: the two indicators move alike
        np.testing.assert_allclose(
            imp.importances_per_output_[p], expected, rtol=1e-9, atol=1e-13
        )


def test_declared_categories_change_the_flatness():
    """A numeric column named as categorical takes the range along it."""
    imp = InteractionImportance(categorical_features=[3], pairs=[(0, 3)])
    imp.fit(BOOSTING, X)
    expected = literal_conditional_std(
        MODELS["boosting"][1],
        X,
        0,
        3,
        (deciles(X[:, 0]), np.unique(X[:, 3])),
        np.ones(len(X)),
        ("std", "range"),
    )
    np.testing.assert_allclose(imp.importances_, expected, rtol=1e-9)


def test_integer_weights_equal_repeated_rows():
    """Zero weights too."""
    counts = np.arange(len(X)) % 3
    repeated = np.repeat(X, counts, axis=0)
    for statistic in ("conditional_std", "h", "h_overall"):
        imp = InteractionImportance(statistic=statistic)
        weighted = imp.fit(BOOSTING, X, sample_weight=counts).importances_
        np.testing.assert_allclose(
            imp.fit(BOOSTING, repeated).importances_,
            weighted,
            rtol=1e-9,
            atol=roundoff(len(repeated), weighted),
        )


def test_n_jobs_changes_nothing():
    """Pairs go through joblib."""
    for statistic in ("conditional_std", "h"):
        one = InteractionImportance(statistic=statistic).fit(BOOSTING, X)
        with joblib.parallel_config(backend="threading", n_jobs=2):
            two = InteractionImportance(statistic=statistic).fit(BOOSTING, X)
        assert np.array_equal(one.importances_, two.importances_)


def test_bad_input():
    """Before any work, naming the way out."""
    cases = [
        ({"pairs": [(0, 9)]}, ValueError, "positions run from 0 to 4"),
        ({"pairs": [("x0", "x9")]}, ValueError, "'x9', which is not among the 5"),
        ({"pairs": [(0, 0)]}, ValueError, r"different features.*got \(0, 0\)"),
        ({"pairs": [(0, 1), (1, 0)]}, ValueError, "'x0', 'x1'.* more than once"),
        ({"pairs": [(0, 1, 2)]}, ValueError, "pairs of different features"),
        ({"pairs": ["x0"]}, ValueError, "pairs of different features"),
        ({"pairs": [(0, 1.5)]}, ValueError, "names or positions"),
        ({"pairs": [(True, 1)]}, ValueError, "names or positions"),
        ({"pairs": []}, ValueError, "empty"),
        ({"features": [0]}, ValueError, "at least two features"),
        ({"features": [[0, 1], [1, 2]]}, ValueError, "share the column"),
        ({"statistic": "h_overall", "pairs": [(0, 1)]}, ValueError, "no meaning"),
        ({"statistic": "h", "grid": 5}, ValueError, "takes no `grid`"),
        ({"statistic": "hh"}, ValueError, "statistic"),
    ]
    calls = []

    def f(X):
        calls.append(len(X))
        return X[:, 0]

    for parameters, error, match in cases:
        with pytest.raises(error, match=match):
            InteractionImportance(**parameters).fit(f, X)
    assert all(n == len(X) for n in calls)
    # positions count the features, not the columns
    with pytest.raises(ValueError, match="positions run from 0 to 1"):
        InteractionImportance(features=[3, 4], pairs=[(3, 4)]).fit(f, X)


@pytest.mark.parametrize("model", [BOOSTING, ADDITIVE["linear"]])
@pytest.mark.parametrize("statistic", ["conditional_std", "h"])
def test_unknown_categorical_features(model, statistic):
    """Refused whether or not the numbers depend on them."""
    imp = InteractionImportance(statistic=statistic, categorical_features=[9])
    with pytest.raises(ValueError, match=says("Feature 9 … 5 features … 0 to 4")):
        imp.fit(model, X)


def test_heat_map_and_bars():
    """One triangle in the order of X; overall H as bars; the features of large sums."""
    imp = InteractionImportance().fit(BOOSTING, X)
    display = imp.plot()
    assert isinstance(display, MatrixDisplay)
    drawn = display.ax_.collections[-1].get_array().filled(np.nan)
    below = np.tri(5, k=-1, dtype=bool)
    np.testing.assert_array_equal(drawn, np.where(below, imp.matrix_, np.nan))
    names = [t.get_text() for t in display.ax_.get_xticklabels()]
    assert names == imp.matrix_names_
    few = MatrixDisplay.from_importance(imp, max_features=2)
    largest = sorted(np.argsort(-np.nansum(imp.matrix_, axis=1))[:2])
    expected = [names[e] for e in largest]
    assert [t.get_text() for t in few.ax_.get_xticklabels()] == expected
    bars = imp.plot(kind="bars", max_features=2)
    assert isinstance(bars, ImportanceDisplay)
    assert "8 of 10 pairs are not shown" in bars.key_.get_text()
    some = InteractionImportance(pairs=[(1, 4)]).fit(BOOSTING, X).plot()
    assert [t.get_text() for t in some.ax_.get_yticklabels()] == ["x1", "x4"]
    overall = InteractionImportance(statistic="h_overall").fit(BOOSTING, X)
    assert isinstance(overall.plot(), ImportanceDisplay)
    plt.close("all")


def test_all_pairs_by_default():
    """In the order of itertools.combinations."""
    imp = InteractionImportance().fit(BOOSTING, X)
    expected = [(f"x{j}", f"x{k}") for j, k in combinations(range(5), 2)]
    assert imp.pairs_ == expected


@pytest.mark.parametrize("statistic", ["conditional_std", "h"])
@pytest.mark.parametrize(
    ("model", "path"),
    [
        (BOOSTING, path_of_trees()),
        (MODELS["kernel"][0], "kernel"),
        (ADDITIVE["linear"], "linear"),
    ],
)
def test_joint_moves_take_the_fast_paths(model, path, statistic):
    """And give the numbers of the model asked as a bare function."""
    imp = InteractionImportance(statistic=statistic, pairs=PAIRS).fit(model, X)
    assert imp.response_path_ == path
    asked = InteractionImportance(statistic=statistic, pairs=PAIRS)
    asked.fit(lambda X: model.predict(X), X)
    assert asked.response_path_.startswith("black box")
    np.testing.assert_allclose(
        imp.importances_, asked.importances_, rtol=1e-9, atol=1e-12 * np.ptp(Y)
    )


def test_too_many_pairs_are_refused_at_once():
    """20 000 columns have 2e8 pairs; named ones are computed and drawn."""
    rows = np.random.default_rng(0).random((5, 20_000))

    def f(X):
        return X[:, 0] * X[:, 1]

    with pytest.raises(ValueError, match=r"199990000 pairs.*pairs=\[\(0, 1\)"):
        InteractionImportance().fit(f, rows)
    imp = InteractionImportance(pairs=[(0, 1), (5, 19_999)], grid=3).fit(f, rows)
    display = imp.plot()
    assert imp.importances_[0] > imp.importances_[1] == 0
    assert display.names == ["x0", "x1", "x5", "x19999"]
    assert (
        " ".join(display.key_.get_text().split())
        == "19996 of 20000 features are not shown"
    )
    plt.close(display.figure_)


def test_overall_h_of_many_rows_is_refused():
    """A feature of many values at many rows; few values are computed."""
    rows = np.random.default_rng(0).random((200_000, 2))
    rows[:, 1] = rows[:, 1] > 0.5

    def f(X):
        return X[:, 0] * X[:, 1]

    imp = InteractionImportance(statistic="h_overall")
    with pytest.raises(ValueError, match=r"200000 values of 'x0'.*random sample"):
        imp.fit(f, rows)
    few = InteractionImportance(statistic="h_overall", features=[1]).fit(f, rows)
    assert 0 < few.importances_[0] < 1


def test_fitted_matrix_does_not_read_parameters():
    """`set_params` after `fit` neither removes the matrix nor renames its values."""
    rows = np.random.default_rng(0).random((20, 3))
    imp = InteractionImportance(statistic="h").fit(lambda X: X[:, 0] * X[:, 1], rows)
    before = imp.matrix_
    imp.set_params(statistic="conditional_std")
    np.testing.assert_array_equal(imp.matrix_, before)
    display = imp.plot()
    assert display.label == "Friedman's H"
    assert display.ax_.get_xlabel() == ""
    plt.close(display.figure_)


@pytest.mark.parametrize(("size", "share"), [(1e-9, 0.0), (1e-5, 1.0)])
def test_a_joint_effect_of_rounding_is_none(size, share):
    """H is a ratio of two small numbers; below 1e-20 of the variance they are noise."""
    corners = np.array(list(product([-1.0, 1.0], repeat=3)))
    measure = InteractionImportance(statistic="h", pairs=[(0, 1)])
    measure.fit(lambda X: 1e3 * X[:, 2] + size * X[:, 0] * X[:, 1], corners)
    assert measure.importances_[0] == pytest.approx(share, abs=1e-3)


@pytest.mark.parametrize(("n", "kind"), [(12, MatrixDisplay), (13, ImportanceDisplay)])
def test_pairs_of_more_than_twelve_features_are_bars(n, kind):
    """As documented at `plot`."""
    X = np.random.RandomState(0).randn(10, n)
    imp = InteractionImportance().fit(LinearRegression().fit(X, X[:, 0]), X)
    assert type(imp.plot()) is kind
    plt.close("all")
