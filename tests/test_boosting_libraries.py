"""XGBoost, LightGBM and CatBoost against their own predictions, model by model."""

import json
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from boosting_models import (
    CASES,
    CAT,
    LGBM,
    UNUSED,
    XGB,
    DoubleXGBoost,
    categorical_frame,
    data,
    frame,
    moving,
    three,
    two,
)
from response_oracle import check_equal, check_response
from scipy import sparse
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import VotingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skvarimp import (
    ImpurityImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
)
from skvarimp._entries import resolve_features
from skvarimp._model import Model
from skvarimp._native_boosters import rows_for
from skvarimp._response_importance import make_problem
from skvarimp._table import as_table
from skvarimp.response import _tree_readers_xgboost
from skvarimp.response._black_box import BlackBoxResponse
from skvarimp.response._grid import make_move
from skvarimp.response._lowering import REGISTRY, NotLowerable, lowered
from skvarimp.response._tree_encoders import Band, Marked, Positions, Recoded

ALL = [(library, name) for library, cases in CASES.items() for name in cases]
FEATURES = {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4, "two": [0, 3], "rest": [1, 2, 4]}
DISCRETE = ("labels", "hinge", "native, softmax", "threshold")


def library_of(name):
    """The library, or the test is skipped."""
    return pytest.importorskip(name)


def fitted(library, name):
    """(model, X, response method) of a case."""
    X, y = data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the libraries' own
        model, method = CASES[library][name](library_of(library), X, y)
    return model, moving(X), method


def weights(n):
    """Uneven, one of them 0."""
    result = np.random.RandomState(4).uniform(0.2, 2, n)
    result[3] = 0
    return result


def check_curves(model, X, method="auto", features=None):
    """Curves equal the model's own, XGBoost's to its rounding; returns the response."""
    problem = make_problem(model, X, None, None, method)
    table, base = problem.table, problem.base
    entries = resolve_features(features, table.names, table.n_columns)
    fast = problem.response(entries)  # any warning would be an error
    assert not fast.path.startswith("black box"), fast.path
    slow, rows = BlackBoxResponse(problem.model, len(base)), np.arange(table.n_samples)
    largest = 0.0
    for entry in entries:
        move = make_move(table, problem.weights, entry, "all")
        gap = fast.curves(table, rows, move, base) - slow.curves(
            table, rows, move, base
        )
        largest = max(largest, np.abs(gap).max())
    scale = np.abs(base).max() + np.ptp(base)
    assert largest <= max(fast.rounding, 1e-12) * scale
    assert fast.rounding < 2e-5
    return fast


@pytest.mark.parametrize(("library", "name"), [x for x in ALL if x[0] != "xgboost"])
def test_every_model_equals_its_own_predictions(library, name):
    """All reductions, grids, groups and weights; what is unused is exactly 0."""
    model, X, method = fitted(library, name)
    fast = check_equal(model, X, weights(len(X)), method, FEATURES, ["all", 4])
    assert fast.path.startswith("trees")
    check_unused(model, X, method)


@pytest.mark.parametrize(("library", "name"), [x for x in ALL if x[0] == "xgboost"])
def test_every_xgboost_model(library, name):
    """Its own predictions to single precision; to double those summed in double."""
    model, X, method = fitted(library, name)
    assert check_curves(model, X, method, FEATURES).path.startswith("trees")
    check_unused(model, X, method)
    if any(part in name for part in DISCRETE):  # labels: no rounding to speak of
        check_equal(model, X, weights(len(X)), method, FEATURES, ["all", 4])
    else:
        check_in_double(model, X, method)


def check_in_double(model, X, method, grids=("all", 4)):
    """Everything to 1e-9 against XGBoost's own leaves, summed in double precision."""
    double = DoubleXGBoost(model, rows_for)
    own = make_problem(model, X, None, None, method)

    def outputs(X):  # of two classes the second
        predicted = double.predict(X)
        return predicted[:, -len(own.base) :]

    problem = make_problem(outputs, X, None, weights(len(X)), "auto")
    problem.y = np.random.RandomState(5).randn(*problem.base.T.shape)
    fast = lowered(own.model, problem.table)
    return check_response(problem, fast, FEATURES, list(grids))


def check_unused(model, X, method):
    """An unused column's importance is 0 and not nearly 0."""
    measure = SensitivityImportance(response_method=method, scale=None)
    assert np.all(measure.fit(model, X).importances_[UNUSED] == 0)
    assert measure.response_path_.startswith("trees")


@pytest.mark.parametrize("library", CASES)
def test_every_row_of_the_registry_is_visited(library):
    """No type is registered without a case above."""
    visited = {type(fitted(library, name)[0]).__name__ for name in CASES[library]}
    assert visited == {x.name for x in REGISTRY if x.package == library}


# Numbers at thresholds, missing values, containers


@pytest.mark.parametrize("library", CASES)
def test_values_at_thresholds_and_next_to_them(library):
    """In single and in double precision, on the very threshold and beside it."""
    X, y = data(120)
    model, _ = CASES[library]["squares"](library_of(library), X, y)
    response = lowered(Model(model), as_table(X))
    for j in (0, 3):
        critical = response.critical_values(j)
        X[:, j] = np.resize(critical, len(X))
        assert len(np.unique(X[:, j])) > 20
    if library == "xgboost":
        check_curves(model, X)
        check_in_double(model, X, "auto", ["all"])
    else:
        check_equal(model, X, grids=["all"], features=[0, 3, [0, 3]])


@pytest.mark.parametrize("library", CASES)
def test_numbers_beyond_single_precision(library):
    """Digits that single precision loses are lost, or kept, as the library does."""
    module, random = library_of(library), np.random.RandomState(0)
    X = np.column_stack(
        [0.1 + 1e-9 * random.randint(0, 300, 80), 2.0**24 + random.randint(0, 9, 80)]
    )
    y = 5.0 * (X[:, 0] > 0.1 + 150e-9) + X[:, 1] - 2**24
    name, small = {
        "xgboost": ("XGBRegressor", XGB),
        "lightgbm": ("LGBMRegressor", LGBM),
        "catboost": ("CatBoostRegressor", CAT),
    }[library]
    model = getattr(module, name)(**small).fit(X, y)
    check = check_curves if library == "xgboost" else check_equal
    check(model, X)
    whole = X.round().astype(np.int64)
    if library == "lightgbm":
        assert "2**24" in declined(model, whole)
    else:
        check(model, whole)
    check(model, whole.astype(np.int32) % 1000)


def declined(model, X, method="auto"):
    """The reason for which a model is asked itself."""
    with pytest.raises(NotLowerable) as reason:
        lowered(Model(model, method), as_table(X))
    return str(reason.value)


def half_zeros(n=60):
    """(X, y) with many zeros and no missing values."""
    random = np.random.RandomState(2)
    X = random.randn(n, 4) * (random.rand(n, 4) < 0.5)
    return X, X[:, 0] + X[:, 1] * X[:, 2] + (X[:, 3] == 0) + (X[:, 1] < 0)


@pytest.mark.parametrize("form", ["csr_array", "csc_matrix", "coo_array"])
@pytest.mark.parametrize("native", [False, True], ids=["wrapper", "native"])
def test_absent_entries_are_missing_to_xgboost(form, native):
    """An entry that a sparse X does not store is missing, a zero of an array is 0."""
    xgb = library_of("xgboost")
    X, y = half_zeros()
    model = xgb.XGBRegressor(**XGB).fit(getattr(sparse, form)(X), y)
    model = model.get_booster() if native else model
    check_curves(model, getattr(sparse, form)(X))
    check_curves(model, X)
    stored = sparse.csr_array(X)
    stored.data[:3] = 0
    assert "stores" in declined(model, stored)


@pytest.mark.parametrize("marker", [0.0, -999.0, 0.1])
def test_a_number_stands_for_missing_values(marker):
    """`missing=`, which XGBoost compares in single precision."""
    xgb = library_of("xgboost")
    X, y = half_zeros()
    X[X == 0] = marker
    model = xgb.XGBRegressor(**XGB, missing=marker).fit(X, y)
    X[::3, 0] = np.nan
    check_curves(model, X)
    check_curves(model, X.astype(np.float32))


NEAR_ZERO = [
    -2e-35,
    -np.float32(1e-35),
    -5e-36,
    0,
    5e-36,
    np.float32(1e-35),
    2e-35,
    1.0,
]


@pytest.mark.parametrize("zero_as_missing", [False, True])
def test_lightgbm_next_to_zero(zero_as_missing):
    """Numbers next to 0 are 0, or missing, in every container."""
    lgbm = library_of("lightgbm")
    X, y = half_zeros()
    X[:, 1] = np.resize(NEAR_ZERO, len(X))
    X[:, 3] = np.resize(NEAR_ZERO[::-1], len(X))
    y = y + 2 * (X[:, 1] > 0) + (X[:, 1] < 0)
    model = lgbm.LGBMRegressor(**LGBM, zero_as_missing=zero_as_missing).fit(X, y)
    table = pd.DataFrame(X, columns=list("abcd"))
    containers = [X, table, pl.from_pandas(table)]
    containers += [sparse.csr_matrix(X), sparse.csc_matrix(X)]
    for container in containers:
        check_equal(model, container, grids=["all"])
        check_equal(model.booster_, container, grids=["all"], features=[1, 3])


@pytest.mark.parametrize("library", CASES)
def test_frames_of_numbers(library):
    """pandas and polars by name, integers and booleans among them."""
    module = library_of(library)
    X, y = frame()
    X = X.drop(columns=["colour", "size"])
    name, small = {
        "xgboost": ("XGBRegressor", XGB),
        "lightgbm": ("LGBMRegressor", LGBM),
        "catboost": ("CatBoostRegressor", CAT),
    }[library]
    for container in (X, pl.from_pandas(X)):
        model = getattr(module, name)(**small).fit(container, y)
        if library == "xgboost":
            check_curves(model, container)
            check_curves(model.get_booster(), container)
            check_curves(model.get_booster(), X.to_numpy(dtype=float))
        else:
            check_equal(model, container, grids=["all"])


# Categories


@pytest.mark.parametrize("one_hot", [1, 100], ids=["sets", "one each"])
def test_categories_of_xgboost(one_hot):
    """By name in any order, by number, missing; from pandas and from polars."""
    xgb = library_of("xgboost")
    X, y = categorical_frame()
    options = {**XGB, "enable_categorical": True, "max_cat_to_onehot": one_hot}
    model = xgb.XGBRegressor(**options).fit(X, y)
    groups = ["colour", "size", "number", ["colour", "number"], ["colour", "size"]]
    check_curves(model, X, features=groups)
    check_curves(model.get_booster(), X, features=groups)
    turned = X.assign(
        colour=X["colour"].cat.reorder_categories(sorted(X["colour"].cat.categories))
    )
    check_curves(model, turned, features=groups)
    unknown = X.assign(colour=X["colour"].cat.rename_categories({"red": "new"}))
    assert "does not know" in declined(model, unknown)
    codes = X.assign(colour=X["colour"].cat.codes.replace(-1, np.nan))
    codes = codes.assign(size=X["size"].cat.codes).to_numpy(dtype=float)
    codes[::5, 1] = [17, 2.6, -1, 2**25] * 3  # numbers of no category
    check_curves(model.get_booster(), codes)
    texts = pl.from_pandas(X.drop(columns="size"))
    model = xgb.XGBRegressor(**options).fit(texts, y)
    check_curves(model, texts)
    X["colour"] = X["colour"].cat.rename_categories({"red": "rosé"})
    model = xgb.XGBRegressor(**options).fit(X, y)
    assert "ASCII" in declined(model, X)


@pytest.mark.parametrize("one_hot", [1, 100], ids=["sets", "one each"])
def test_categories_of_lightgbm(one_hot):
    """By name in any order, unknown, missing; numbers that are cut to integers."""
    lgbm = library_of("lightgbm")
    X, y = categorical_frame()
    options = {**LGBM, "max_cat_to_onehot": one_hot, "min_data_per_group": 1}
    model = lgbm.LGBMRegressor(**options, cat_smooth=1.0).fit(X, y)
    groups = ["colour", "size", "number", ["colour", "number"], ["colour", "size"]]
    check_equal(model, X, weights(len(X)), features=groups, grids=["all", 3])
    loaded = lgbm.Booster(model_str=model.booster_.model_to_string())
    check_equal(loaded, X, features=groups, grids=["all"])
    turned = X["colour"].cat.reorder_categories(sorted(X["colour"].cat.categories))
    check_equal(model, X.assign(colour=turned), grids=["all"])
    unknown = X["colour"].cat.rename_categories({"red": "new"})
    check_equal(model, X.assign(colour=unknown), grids=["all"])
    codes = X.assign(colour=X["colour"].cat.codes.replace(-1, np.nan))
    codes = codes.assign(size=X["size"].cat.codes).to_numpy(dtype=float)
    model = lgbm.LGBMRegressor(**options).fit(codes, y, categorical_feature=[1, 2])
    codes[::5, 1] = [17, 2.6, -1, -0.5] * 3
    check_equal(model, codes, grids=["all"])
    assert "category columns" in declined(model, X)


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise"])
@pytest.mark.parametrize("container", ["pandas", "categories", "polars", "objects"])
def test_categories_of_catboost(policy, container):
    """Splits on one category each; texts, numbers, booleans; values not in X."""
    cat = library_of("catboost")
    X, y = frame()
    names = [1, 2, 3]
    if container == "categories":
        X = X.astype({"colour": "category", "size": "category"})
    if container == "polars":
        X = pl.from_pandas(X)
    if container == "objects":
        X = X.to_numpy(dtype=object)
    model = cat.CatBoostRegressor(
        **CAT, grow_policy=policy, cat_features=names, one_hot_max_size=9
    ).fit(X, y)
    # integers of "size" have no numbers in between, that equal steps would need
    check_equal(model, X, weights(len(X)), features=[0, 1, 3, [1, 0]], grids=["all"])
    groups = [0, 1, 2, 3, [1, 0], [1, 2], [2, 3, 4]]
    check_curves(model, X, features=groups)
    check_curves(model, X[: len(X) // 2], features=groups)


def test_categories_of_catboost_met_later():
    """A value that X does not hold is asked for when it comes."""
    cat = library_of("catboost")
    X, y = frame()
    options = {**CAT, "cat_features": [1, 2, 3], "one_hot_max_size": 9}
    model = cat.CatBoostRegressor(**options).fit(X, y)
    few = X[X["colour"] != "red"].reset_index(drop=True)
    trees = lowered(Model(model), as_table(few)).trees
    feature = trees.columns.tolist().index(1)
    own, other = np.array(["red", "blue", "new"], dtype=object), np.array(X["colour"])
    codes = trees.codes(feature, own)
    assert len(set(codes.tolist())) == 3
    reading_all = lowered(Model(model), as_table(X)).trees
    np.testing.assert_array_equal(
        trees.codes(feature, other), reading_all.codes(feature, other)
    )


# Models that are asked themselves


def test_what_xgboost_models_decline_for():
    """Each with its reason."""
    xgb = library_of("xgboost")
    X, y = half_zeros()
    linear = xgb.XGBRegressor(booster="gblinear").fit(X, y)
    assert "gblinear has no trees" in declined(linear, X)
    far = xgb.XGBRegressor(**XGB).fit(X, y + 1e6)
    assert "too coarse" in declined(far, X)
    scores = xgb.XGBClassifier(**XGB, objective="binary:logitraw").fit(X, y > 0)
    assert "labels of the objective" in declined(scores, X, "predict")
    none = xgb.XGBRegressor(n_estimators=0).fit(X, y)
    assert "no trees" in declined(none, X)
    unknown = pd.DataFrame(X, columns=list("abcd"))
    model = xgb.XGBRegressor(**XGB).fit(unknown, y)
    unknown["a"] = pd.Categorical(np.where(X[:, 0] > 0, "p", "n"))
    with pytest.raises(NotLowerable, match="does not know"):
        lowered(Model(model), as_table(unknown))


def test_what_lightgbm_models_decline_for():
    """Each with its reason."""
    lgbm = library_of("lightgbm")
    X, y = half_zeros()
    lines = lgbm.LGBMRegressor(**LGBM, linear_tree=True).fit(X, y)
    assert "linear_tree" in declined(lines, X)
    stops = lgbm.LGBMClassifier(**LGBM, pred_early_stop=True).fit(X, two(y))
    assert "pred_early_stop" in declined(stops, X)


def test_what_catboost_models_decline_for():
    """Each with its reason."""
    cat = library_of("catboost")
    X, y = frame()
    model = cat.CatBoostRegressor(**CAT, cat_features=[1, 2]).fit(X, y)
    assert "OnlineCtr" in declined(model, X)
    X, y = half_zeros()
    model = cat.CatBoostRegressor(**CAT, loss_function="RMSEWithUncertainty")
    assert "RMSEWithUncertainty" in declined(model.fit(X, y), X)
    texts = pd.DataFrame({"a": ["one two", "two", "three one"] * 20, "b": X[:, 0]})
    model = cat.CatBoostClassifier(**CAT, text_features=["a"]).fit(texts, y > 0)
    assert (
        "black box" in SensitivityImportance().fit(model, texts, y > 0).response_path_
    )


def test_subclasses_and_replaced_methods_are_asked_themselves():
    """Never another estimand."""
    lgbm = library_of("lightgbm")
    X, y = half_zeros()

    class Squared(lgbm.LGBMRegressor):
        def predict(self, X, **options):
            return super().predict(X, **options) ** 2

    assert "no lowering" in declined(Squared(**LGBM).fit(X, y), X)
    model = lgbm.LGBMRegressor(**LGBM).fit(X, y)
    model.predict = lambda X: np.ones(len(X))
    assert "replaced" in declined(model, X)


def test_a_version_that_writes_otherwise(monkeypatch):
    """What is missed in the file is the reason; importances come all the same."""
    xgb = library_of("xgboost")
    X, y = half_zeros()
    model = xgb.XGBRegressor(**XGB).fit(X, y)
    expected = SensitivityImportance().fit(model, X, y)
    content = json.loads(bytes(model.get_booster().save_raw("json")))
    del content["learner"]["gradient_booster"]["model"]["tree_info"]
    changed = json.dumps(content).encode()
    monkeypatch.setattr(xgb.Booster, "save_raw", lambda *_: bytearray(changed))
    measure = SensitivityImportance(estimation="exact").fit(model, X, y)
    assert "writes its models otherwise (KeyError: 'tree_info')" in (
        measure.response_path_
    )
    np.testing.assert_allclose(
        measure.importances_, expected.importances_, rtol=1e-5, atol=1e-6
    )


def test_a_wrong_reading_is_noticed_whatever_the_rounding(monkeypatch):
    """XGBoost's leaves are compared one by one: `<=` in place of `<` declines."""
    xgb = library_of("xgboost")
    X = np.resize([0.0, 1.0, 2.0, 3.0], (40, 1))
    # the cut is on a value that rows hold; its leaves differ by next to nothing
    options = {"n_estimators": 1, "learning_rate": 1e-6, "base_score": 0.0}
    model = xgb.XGBRegressor(**options, tree_method="exact")
    model.fit(X, X[:, 0] > 1)
    X = np.where(X > 1, 1.5, X)
    lowered(Model(model), as_table(X))
    monkeypatch.setattr(_tree_readers_xgboost.np, "nextafter", lambda x, _: x)
    assert "other leaves" in declined(model, X)


def test_a_wrong_sum_is_noticed(monkeypatch):
    """Values of leaves that are off by a hundredth part."""
    xgb = library_of("xgboost")
    X, y = half_zeros()
    model = xgb.XGBRegressor(**XGB).fit(X, y)
    right = _tree_readers_xgboost._leaf_values
    monkeypatch.setattr(
        _tree_readers_xgboost, "_leaf_values", lambda *a: 1.01 * right(*a)
    )
    assert "base score" in declined(model, X)


# The library in use


@pytest.mark.parametrize("name", ["squares", "logistic", "3 classes"])
def test_native_booster_and_wrapper_agree(name):
    """A Booster is given rows; every measure takes it."""
    xgb = library_of("xgboost")
    X, y = data()
    target = {"squares": y, "logistic": (y > 0).astype(int), "3 classes": three(y)}
    kind = xgb.XGBRegressor if name == "squares" else xgb.XGBClassifier
    model = kind(**XGB).fit(X, target[name])
    for measure in (
        SensitivityImportance(scale=None),
        PartialDependenceImportance(),
    ):
        own = measure.fit(model, X).importances_per_output_
        native = measure.fit(model.get_booster(), X).importances_per_output_
        np.testing.assert_allclose(own, native, rtol=1e-12)
        assert measure.response_path_.startswith("trees")


def test_permutation_importance_of_native_boosters():
    """Scored by the response that they return."""
    X, y = half_zeros()
    xgb, lgbm = library_of("xgboost"), library_of("lightgbm")
    for wrapper in (xgb.XGBRegressor(**XGB), lgbm.LGBMRegressor(**LGBM)):
        wrapper.fit(X, y)
        booster = getattr(wrapper, "booster_", None) or wrapper.get_booster()
        own = PermutationImportance().fit(wrapper, X, y)
        native = PermutationImportance().fit(booster, X, y)
        np.testing.assert_allclose(own.importances_, native.importances_, rtol=1e-9)


def test_rows_in_a_containers_of_a_library_are_refused():
    """Such a container gives its rows back to nobody."""
    xgb, lgbm = library_of("xgboost"), library_of("lightgbm")
    cat = library_of("catboost")
    X, y = half_zeros()
    model = xgb.XGBRegressor(**XGB).fit(X, y)
    for container in (xgb.DMatrix(X), lgbm.Dataset(X), cat.Pool(X)):
        with pytest.raises(TypeError, match="must hold the rows themselves"):
            SensitivityImportance().fit(model, container, y)


def test_base_models_of_catboost_have_scores():
    """`CatBoost.predict` returns scores, whatever its loss."""
    cat = library_of("catboost")
    X, y = half_zeros()
    model = cat.CatBoost({**CAT, "loss_function": "Logloss"}).fit(X, y > 0)
    watched = Model(model)
    assert not watched.classifier
    assert watched.kind == "value"
    np.testing.assert_array_equal(watched(X)[:, 0], model.predict(X))


@pytest.mark.parametrize("library", ["xgboost", "catboost"])
def test_inside_other_estimators(library):
    """Pipelines, votes and transformed targets; XGBoost's rounding is allowed for."""
    module = library_of(library)
    X, y = half_zeros()
    kind, small = module.__dict__, {"xgboost": XGB, "catboost": CAT}[library]
    kind = kind["XGBRegressor" if library == "xgboost" else "CatBoostRegressor"]
    models = [
        make_pipeline(StandardScaler(), kind(**small)),
        VotingRegressor([("a", kind(**small)), ("b", LinearRegression())]),
        TransformedTargetRegressor(kind(**small), func=np.log, inverse_func=np.exp),
    ]
    for model in models:
        model.fit(X, np.exp(y))
        measure = SensitivityImportance(scale=None, estimation="exact").fit(model, X)
        assert "trees" in measure.response_path_
        asked = SensitivityImportance(scale=None, estimation="exact")
        asked.fit(model.predict, X)
        np.testing.assert_allclose(
            measure.importances_, asked.importances_, rtol=1e-4, atol=1e-6
        )


def test_workers_read_categories():
    """What a response keeps of CatBoost is sent to other processes."""
    cat = library_of("catboost")
    X, y = frame()
    model = cat.CatBoostRegressor(**CAT, cat_features=[1, 2, 3], one_hot_max_size=9)
    model.fit(X, y)
    one = SensitivityImportance().fit(model, X, y)
    two_jobs = SensitivityImportance(n_jobs=2).fit(model, X, y)
    assert one.response_path_.startswith("trees")
    np.testing.assert_allclose(two_jobs.importances_, one.importances_, rtol=1e-12)


@pytest.mark.parametrize("library", CASES)
def test_impurity_importance_names_what_to_use(library):
    """Their trees hold no impurity that could be read."""
    model, X, _ = fitted(library, "squares")
    name = type(model).__name__
    with pytest.raises(TypeError, match=f"got {name}. Use SensitivityImportance"):
        ImpurityImportance().fit(model, X)


def test_nothing_is_imported_before_it_is_needed():
    """Neither at import nor by a registry that knows them."""
    code = (
        "import sys, skvarimp\n"
        "from sklearn.linear_model import LinearRegression\n"
        "X = [[0.0, 1], [1, 0], [2, 2]]\n"
        "model = LinearRegression().fit(X, [0, 1, 2])\n"
        "skvarimp.SensitivityImportance().fit(model, X, [0, 1, 2])\n"
        "loaded = {'xgboost', 'lightgbm', 'catboost', 'treelite'} & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# Parameters at random


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("library", CASES)
def test_parameters_at_random(library, seed):
    """Depth, growth, regularisation, sampling and missing values in any mixture."""
    module, random = library_of(library), np.random.RandomState(100 + seed)
    X, y = data(seed=seed)
    X[random.rand(*X.shape) < 0.1] = np.nan
    target = three(y) if seed % 3 == 1 else y
    model = RANDOM[library](module, random, seed % 3 == 1).fit(X, target)
    X[random.rand(*X.shape) < 0.1] = 0.0
    if library == "xgboost":
        check_curves(model, X, features=FEATURES)
        check_in_double(model, X, "auto", ["all"])
    else:
        check_equal(model, X, features=FEATURES, grids=["all"])


def _random_xgboost(xgb, random, classify):
    kind = xgb.XGBClassifier if classify else xgb.XGBRegressor
    dart = {"booster": "dart", "rate_drop": 0.2} if random.rand() < 0.5 else {}
    return kind(
        **dart,
        n_estimators=random.randint(1, 30),
        max_depth=random.randint(1, 8),
        grow_policy=random.choice(["depthwise", "lossguide"]),
        max_leaves=random.randint(0, 12),
        learning_rate=random.uniform(0.05, 1),
        gamma=random.choice([0, 0.1]),
        min_child_weight=random.choice([0, 1, 3]),
        subsample=random.uniform(0.5, 1),
        colsample_bynode=random.uniform(0.5, 1),
        max_bin=random.choice([2, 4, 64]),
        num_parallel_tree=random.choice([1, 2]),
        random_state=0,
        n_jobs=1,
    )


def _random_lightgbm(lgbm, random, classify):
    kind = lgbm.LGBMClassifier if classify else lgbm.LGBMRegressor
    return kind(
        n_estimators=random.randint(1, 30),
        num_leaves=random.randint(2, 20),
        max_depth=random.choice([-1, 2, 4]),
        min_child_samples=random.randint(1, 6),
        learning_rate=random.uniform(0.05, 1),
        boosting_type=random.choice(["gbdt", "dart"]),
        subsample=random.uniform(0.5, 1),
        subsample_freq=random.choice([0, 1]),
        colsample_bytree=random.uniform(0.5, 1),
        max_bin=random.choice([4, 64]),
        zero_as_missing=bool(random.choice([False, True])),
        use_missing=bool(random.choice([False, True, True])),
        path_smooth=random.choice([0, 1]),
        random_state=0,
        n_jobs=1,
        verbose=-1,
    )


def _random_catboost(cat, random, classify):
    kind = cat.CatBoostClassifier if classify else cat.CatBoostRegressor
    return kind(
        iterations=int(random.randint(1, 20)),
        depth=int(random.randint(1, 6)),
        grow_policy=str(random.choice(["SymmetricTree", "Depthwise", "Lossguide"])),
        learning_rate=float(random.uniform(0.05, 1)),
        border_count=int(random.choice([2, 8, 64])),
        nan_mode=str(random.choice(["Min", "Max"])),
        min_data_in_leaf=int(random.randint(1, 4)),
        l2_leaf_reg=float(random.uniform(0, 3)),
        random_seed=0,
        verbose=0,
        thread_count=1,
        allow_writing_files=False,
    )


RANDOM = {
    "xgboost": _random_xgboost,
    "lightgbm": _random_lightgbm,
    "catboost": _random_catboost,
}


# Encoders


def test_encoders_by_hand():
    """Each on values next to its limits."""
    values = np.array([0.1, np.float32(0.1), np.nan, 0.2])
    np.testing.assert_array_equal(Marked(0.1)(values), [np.nan] * 3 + [0.2])
    near = Band(1.0, 0.0)(np.array([-1.5, -1.0, 0.5, 1.0, 1.5, np.nan]))
    np.testing.assert_array_equal(near, [-1.5, 0, 0, 0, 1.5, np.nan])
    named = Positions(np.array([2, 5]))(np.array([2.9, -0.5, 5, 7, np.nan, np.inf]))
    np.testing.assert_array_equal(named, [0, 2, 1, 2, np.nan, 2])
    texts = np.array(["b", None, "c", "a"], dtype=object)
    numbers = Recoded({"a": 0, "b": 1})(texts)
    np.testing.assert_array_equal(numbers, [1, np.nan, np.nan, 0])
