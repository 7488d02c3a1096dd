"""Tree responses against the model's own predictions and against plain loops."""

import tracemalloc

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from literal import mean_curve, sensitivity
from response_oracle import check_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from skvarimp import PartialDependenceImportance, SensitivityImportance
from skvarimp._entries import resolve_features
from skvarimp._model import Model
from skvarimp._response_importance import Request, make_problem
from skvarimp._table import as_table
from skvarimp.response import _steps, _tree_curves, _tree_incidence, _tree_walk
from skvarimp.response._lowering import NotLowerable, lowered
from skvarimp.response._reductions import (
    IndividualFlatness,
    Observed,
    Pairs,
    PartialDependence,
    Range,
)
from skvarimp.response._trees import TreeResponse
from skvarimp.response._walk import run_walk


def data(n=30, seed=0, missing=False):
    """Continuous, few-valued, constant and binary columns, then one unused."""
    random = np.random.RandomState(seed)
    X = np.column_stack(
        [
            random.randn(n),
            random.randint(0, 4, n),
            np.full(n, 1.5),
            random.rand(n) < 0.4,
            np.round(random.randn(n), 1),
            random.randn(n),
        ]
    ).astype(float)
    y = X[:, 0] * (1 + X[:, 1]) + 2 * X[:, 3] * X[:, 4] + 0.3 * random.randn(n)
    if missing:
        X[random.rand(n) < 0.25, 1] = np.nan
        X[random.rand(n) < 0.2, 0] = np.nan
    return X, y, random


# every column, groups of which no, one and all columns are used
FEATURES = {
    **{f"x{j}": j for j in range(6)},
    "pair": [0, 4],
    "three": [4, 1, 3],
    "one used": [2, 3],
    "unused": [2, 5],
}
UNUSED = [2, 5, 9]
GRIDS = ["all", 4, {"x0": [-0.3, 0.2, 0.2, 2.0], "pair": [[0, 1]]}]


def three_classes(y):
    """Strings, so that labels are no positions."""
    return np.array(["low", "mid", "top"])[np.digitize(y, np.quantile(y, [0.3, 0.7]))]


def two_classes(y):
    """See `three_classes`."""
    return np.where(y > np.median(y), "yes", "no")


def bounded(y):
    """Non-negative counts."""
    return np.floor(np.abs(y))


def two_targets(y):
    """Two outputs."""
    return np.column_stack([y, np.abs(y)])


def two_labels(y):
    """Two label columns, of two and of three classes."""
    return np.column_stack([y > np.median(y), np.digitize(y, [-1, 1])]).astype(int)


small = {"n_estimators": 6, "random_state": 0}
HIST = {
    "max_iter": 8,
    "min_samples_leaf": 2,
    "random_state": 0,
    "early_stopping": False,
}
MODELS = {
    "tree": (DecisionTreeRegressor(max_depth=4, random_state=0), None, "auto"),
    "full tree": (DecisionTreeRegressor(random_state=0), None, "auto"),
    "tree, two targets": (DecisionTreeRegressor(max_depth=3), two_targets, "auto"),
    "extra tree": (ExtraTreeRegressor(random_state=0), None, "auto"),
    "tree, classes": (DecisionTreeClassifier(max_depth=3), three_classes, "auto"),
    "tree, labels": (DecisionTreeClassifier(max_depth=3), three_classes, "predict"),
    "extra tree, classes": (ExtraTreeClassifier(random_state=0), two_classes, "auto"),
    "forest": (RandomForestRegressor(**small), None, "auto"),
    "forest, two targets": (RandomForestRegressor(**small), two_targets, "auto"),
    "forest, classes": (RandomForestClassifier(**small), three_classes, "auto"),
    "forest, two classes": (RandomForestClassifier(**small), two_classes, "auto"),
    "forest, labels": (RandomForestClassifier(**small), three_classes, "predict"),
    "forest, impure labels": (
        RandomForestClassifier(max_depth=2, **small),
        three_classes,
        "predict",
    ),
    "forest, label columns": (RandomForestClassifier(**small), two_labels, "auto"),
    "forest, columns' labels": (
        RandomForestClassifier(max_leaf_nodes=5, **small),
        two_labels,
        "predict",
    ),
    "extra trees": (ExtraTreesRegressor(max_depth=4, **small), None, "auto"),
    "extra trees, classes": (ExtraTreesClassifier(**small), two_classes, "auto"),
    "boosting": (GradientBoostingRegressor(**small), None, "auto"),
    "boosting, huber": (GradientBoostingRegressor(loss="huber", **small), None, "auto"),
    "boosting from zero": (
        GradientBoostingRegressor(init="zero", **small),
        None,
        "auto",
    ),
    "boosting from constant": (
        GradientBoostingRegressor(init=DummyRegressor(strategy="median"), **small),
        None,
        "auto",
    ),
    "boosting, classes": (GradientBoostingClassifier(**small), three_classes, "auto"),
    "boosting, two classes": (GradientBoostingClassifier(**small), two_classes, "auto"),
    "boosting, exponential": (
        GradientBoostingClassifier(loss="exponential", **small),
        two_classes,
        "auto",
    ),
    "boosting, score": (
        GradientBoostingClassifier(**small),
        three_classes,
        "decision_function",
    ),
    "boosting, labels": (GradientBoostingClassifier(**small), two_classes, "predict"),
    "boosting, three labels": (
        GradientBoostingClassifier(**small),
        three_classes,
        "predict",
    ),
    "hist": (HistGradientBoostingRegressor(**HIST), None, "auto"),
    "hist, quantile": (
        HistGradientBoostingRegressor(loss="quantile", quantile=0.8, **HIST),
        None,
        "auto",
    ),
    "hist, absolute": (
        HistGradientBoostingRegressor(loss="absolute_error", **HIST),
        None,
        "auto",
    ),
    "hist, poisson": (
        HistGradientBoostingRegressor(loss="poisson", **HIST),
        bounded,
        "auto",
    ),
    "hist, gamma": (
        HistGradientBoostingRegressor(loss="gamma", **HIST),
        lambda y: bounded(y) + 1,
        "auto",
    ),
    "hist, classes": (HistGradientBoostingClassifier(**HIST), three_classes, "auto"),
    "hist, two classes": (HistGradientBoostingClassifier(**HIST), two_classes, "auto"),
    "hist, score": (
        HistGradientBoostingClassifier(**HIST),
        two_classes,
        "decision_function",
    ),
    "hist, labels": (HistGradientBoostingClassifier(**HIST), three_classes, "predict"),
    "hist, two labels": (
        HistGradientBoostingClassifier(**HIST),
        two_classes,
        "predict",
    ),
    "bagging": (
        BaggingRegressor(max_features=0.7, bootstrap_features=True, **small),
        None,
        "auto",
    ),
    "bagging of forests": (
        BaggingRegressor(RandomForestRegressor(2), n_estimators=3, random_state=0),
        None,
        "auto",
    ),
    "bagging of hist": (
        BaggingRegressor(
            HistGradientBoostingRegressor(**HIST), n_estimators=2, random_state=0
        ),
        None,
        "auto",
    ),
    "bagging, classes": (
        BaggingClassifier(max_features=0.7, max_samples=6, **small),
        three_classes,
        "auto",
    ),
    "bagging, labels": (BaggingClassifier(**small), two_classes, "predict"),
    "bagging, score": (
        BaggingClassifier(GradientBoostingClassifier(**small), **small),
        two_classes,
        "decision_function",
    ),
    "adaboost": (AdaBoostClassifier(**small), two_classes, "auto"),
    "adaboost, three": (
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), **small),
        three_classes,
        "auto",
    ),
    "adaboost, score": (
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), **small),
        three_classes,
        "decision_function",
    ),
    "adaboost, labels": (AdaBoostClassifier(**small), two_classes, "predict"),
    "adaboost, three labels": (
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), **small),
        three_classes,
        "predict",
    ),
}


def fitted(name, missing=False):
    """(model, X, method); column 5 is not used."""
    model, target, method = MODELS[name]
    X, y, _ = data(missing=missing)
    y = y if target is None else target(y)
    X_train = X.copy()
    X_train[:, 5] = 0.0  # constant: no tree can split on it
    return clone(model).fit(X_train, y), X, method


def uneven(n):
    """Row weights, one of them 0."""
    weights = np.random.RandomState(1).uniform(0.3, 2, n)
    weights[4] = 0.0
    return weights


@pytest.mark.parametrize("name", MODELS)
def test_every_model_equals_its_own_predictions(name):
    """All reductions, grids, groups and weights; what is unused is exactly 0."""
    model, X, method = fitted(name)
    fast = check_equal(model, X, uneven(len(X)), method, FEATURES, GRIDS)
    assert fast.path == "trees"
    _, of_all = walked(model, X, method)
    for outcome in of_all:
        assert np.all(outcome.importances[UNUSED] == 0)


def walked(model, X, method="auto", features=FEATURES, weights=None, **kwargs):
    """(response, outcomes of some reductions) by the fast response."""
    problem = make_problem(model, X, None, weights, method)
    fast = lowered(problem.model, problem.table)
    table = problem.table
    entries = resolve_features(features, table.names, table.n_columns)
    wanted = [
        Pairs(),
        Observed(),
        Range(),
        PartialDependence.over("std", table.n_samples, 9),
        IndividualFlatness(),
    ]
    request = Request("all", wanted, [np.ones(len(problem.base))] * len(wanted))
    return fast, run_walk(problem.walk(fast, entries, [request]), **kwargs)[0]


MISSING = [
    "full tree",
    "extra tree",
    "tree, labels",
    "forest",
    "forest, classes",
    "extra trees",
    "hist",
    "hist, poisson",
    "hist, classes",
    "bagging",
    "bagging of hist",
]


@pytest.mark.parametrize("name", MISSING)
@pytest.mark.parametrize("trained", [True, False], ids=["seen", "not seen"])
def test_missing_values_go_where_each_split_sends_them(name, trained):
    """Missing values in training or not; a value of the grid like any other."""
    model, X, method = fitted(name, missing=trained)
    X, _, _ = data(seed=3, missing=True)
    if trained or not name.startswith("bagging"):
        features = {"a": 0, "b": 1, "c": 4, "both": [0, 1]}
        check_equal(model, X, uneven(len(X)), method, features, ["all", 3])


def frame(n=60, seed=0):
    """Categories as strings and numbers, a boolean, missing values everywhere."""
    random = np.random.RandomState(seed)
    X = pd.DataFrame(
        {
            "number": np.where(random.rand(n) < 0.2, np.nan, random.randn(n)),
            "colour": random.choice(["red", "green", "blue", "grey", None], n),
            "flat": random.randn(n),
            "rank": random.choice([10, 20, 30], n),
            "yes": random.rand(n) < 0.5,
        }
    )
    y = (X["colour"] == "red") * X["flat"] + (X["rank"] == 20) + X["yes"]
    X["colour"] = X["colour"].astype("category")
    X["rank"] = X["rank"].astype("category")
    return X, y.to_numpy() + X["number"].fillna(1.0).to_numpy()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_hist_boosting_on_a_frame_with_categories(library):
    """Categorical splits behind the model's own encoding; groups across kinds."""
    X, y = frame()
    if library == "polars":
        X = pl.from_pandas(X.astype({"rank": float}))
    model = HistGradientBoostingRegressor(
        categorical_features="from_dtype", max_iter=12, min_samples_leaf=2
    ).fit(X, y)
    assert np.any(model.is_categorical_)
    names = ["number", "colour", "flat", "rank", "yes"]
    features = [*names, ["colour", "number"], ["colour", "rank", "flat"]]
    custom = {"colour": ["red", "blue"], "number": [0.0, 1.5]}
    check_equal(model, X, uneven(len(X)), "auto", features, ["all", 3, custom])
    # categories that the model has not seen are as good as missing
    if library == "pandas":
        X["colour"] = X["colour"].astype(str).replace("red", "violet")
        X["colour"] = X["colour"].astype("category")
        check_equal(model, X, None, "auto", features, ["all"])


def test_hist_boosting_on_an_array_with_categories():
    """Categorical columns by position, encoded from numbers that are no positions."""
    X, y, random = data(60, missing=True)
    X[:, 1] = random.choice([3.0, 7.0, -2.0, np.nan], 60)
    model = HistGradientBoostingClassifier(
        categorical_features=[1, 3], max_iter=8, min_samples_leaf=2
    ).fit(X, three_classes(y))
    check_equal(model, X, uneven(60), "auto", [0, 1, 3, 4, [1, 3], [0, 1]])


@pytest.mark.parametrize("by_rows", [True, False])
def test_groups_either_way(by_rows, monkeypatch):
    """Rows that reach leaves and cells that reach leaves give the same curves."""
    monkeypatch.setattr(
        _tree_incidence.Group, "_rows_reach_fewer", lambda self, codes: by_rows
    )
    groups = [[0, 4], [0, 1, 3, 4], [1, 2, 5], [4, 3]]
    for name in ("forest", "hist, poisson", "forest, impure labels"):
        model, X, method = fitted(name, missing=True)
        check_equal(model, X, uneven(len(X)), method, groups, ["all"])
    X, y = frame()
    X = X[["number", "colour", "rank"]]
    model = HistGradientBoostingRegressor(categorical_features="from_dtype", **HIST)
    groups = [["colour", "rank"], ["number", "rank"], ["number", "colour", "rank"]]
    check_equal(model.fit(X, y), X, None, "auto", groups, ["all"])


def test_literal_double_loop():
    """Pairs, observed and range by the definition, row by row and donor by donor."""
    X, y, _ = data(9)
    model = GradientBoostingRegressor(n_estimators=4, max_depth=2).fit(X, y)
    weights = np.arange(1.0, 10.0)
    _, outcomes = walked(model, X, weights=weights)

    def f(X):
        return model.predict(X)[:, np.newaxis]

    for e, columns in enumerate([np.atleast_1d(c) for c in FEATURES.values()]):
        for outcome, contrast in zip(outcomes, ("pairs", "observed", "range")):
            expected = sensitivity(f, X, columns, contrast, weights)
            np.testing.assert_allclose(
                outcome.importances[e], expected, rtol=1e-10, atol=1e-13
            )
        values = np.unique(X[:, columns], axis=0)
        mean = mean_curve(f, X, columns, values, weights)
        np.testing.assert_allclose(outcomes[3].curves[e], mean.T, rtol=1e-11)


@pytest.mark.parametrize("kind", ["tree", "hist"])
def test_values_at_thresholds_and_next_to_them(kind):
    """Trees compare in single precision, histogram boosting in double."""
    X, y, random = data(200)
    X[:, 0] = 0.1 + 1e-9 * random.randint(0, 300, 200)  # merge in single precision
    y = y + (X[:, 0] > 0.1 + 150e-9)
    if kind == "tree":
        model = RandomForestRegressor(3, random_state=0).fit(X, y)
    else:
        model = HistGradientBoostingRegressor(max_iter=20).fit(X, y)
    table = as_table(X)
    fast = lowered(Model(model), table)
    for column in (0, 4):
        critical = fast.critical_values(column)
        assert len(critical) > 3
        check_equal(model, X[:30], None, "auto", [column], [{f"x{column}": critical}])


def test_grid_values_are_rounded_as_x_stores_them():
    """Histogram boosting on single-precision X sees single-precision grid values."""
    X, y, _ = data(60)
    model = HistGradientBoostingRegressor(max_iter=8, min_samples_leaf=2).fit(X, y)
    thresholds = lowered(Model(model), as_table(X)).critical_values(0)
    grids = ["equidistant", {"x0": thresholds}]
    check_equal(model, X.astype(np.float32), None, "auto", [0, [0, 4]], grids)


CONTAINERS = {
    "integers": lambda X: np.round(10 * X).astype(int),
    "objects": lambda X: X.astype(object),
    "Fortran order": np.asfortranarray,
    "CSR": sparse.csr_array,
    "CSC matrix": sparse.csc_matrix,
    "pandas": lambda X: pd.DataFrame(X, columns=list("abcdef"), index=X[:, 5]),
    "polars": lambda X: pl.DataFrame(X, schema=list("abcdef")),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_containers(container):
    """Any container of numbers."""
    X, y, _ = data()
    X = CONTAINERS[container](X)
    model = ExtraTreesRegressor(4, max_depth=5, random_state=0).fit(X, y)
    check_equal(model, X, None, "auto", [0, 1, 3, 5, [1, 4]])


def test_data_of_another_distribution():
    """X need not be the training data, nor lie where thresholds are."""
    model, X, _ = fitted("forest")
    other = np.random.RandomState(7).standard_t(2, size=(25, 6)) * 3
    check_equal(model, other, None, "auto", FEATURES)
    check_equal(model, X[:1].repeat(3, axis=0), None, "auto", [0, [0, 4]])


@settings(max_examples=25, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(data=st.data())
def test_random_trees(data):
    """Few-valued columns: ties, duplicate rows, constants, missing values.

    The target is continuous: where a mean curve has its largest value twice, the
    error of its range is another for each of them, and rounding chooses.
    """
    n, p = data.draw(st.integers(4, 14)), data.draw(st.integers(1, 3))
    values = st.sampled_from([-1.0, 0.0, 0.5, 0.5 + 1e-12, 3.0, np.nan])
    X = np.array(data.draw(st.lists(values, min_size=n * p, max_size=n * p)))
    X = X.reshape(n, p)
    seed = data.draw(st.integers(0, 100))
    y = np.random.RandomState(seed).randn(n)
    models = [
        RandomForestRegressor(3, random_state=seed),
        ExtraTreesRegressor(3, random_state=seed),
        HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=1),
    ]
    model = models[data.draw(st.integers(0, 2))].fit(X, y)
    weights = np.array(data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)))
    features = [*range(p), list(range(p))] if p > 1 else [0]
    check_equal(model, X, weights, "auto", features, ["all", 2])


def test_overriding_takes_the_black_box():
    """A subclass or an instance with another predict is not what its trees say."""
    X, y, _ = data()

    class Exponentiated(RandomForestRegressor):
        def predict(self, X):
            return np.exp(super().predict(X))

    model = Exponentiated(3, random_state=0).fit(X, y)
    imp = SensitivityImportance(scale=None).fit(model, X)
    assert imp.response_path_ == "black box (Exponentiated has no lowering)"

    model = RandomForestRegressor(3, random_state=0).fit(X, y)
    fast = SensitivityImportance(scale=None).fit(model, X)
    assert fast.response_path_ == "trees"
    plain = model.predict
    model.predict = lambda X: 2 * plain(X)
    imp = SensitivityImportance(scale=None).fit(model, X)
    assert imp.response_path_.startswith("black box (predict of this instance")
    np.testing.assert_allclose(imp.importances_, 2 * fast.importances_, rtol=1e-12)
    del model.predict
    member = model.estimators_[0]
    member.predict = member.predict
    assert_declined(BaggingRegressor(n_estimators=2).fit(X, y), X, replace=True)


def assert_declined(model, X, reason="", replace=False):
    """No fast response, for a reason."""
    if replace:
        member = model.estimators_[0]
        member.predict = lambda X: np.zeros(len(X))
        reason = "predict of this instance was replaced"
    with pytest.raises(NotLowerable, match=reason):
        lowered(Model(model), as_table(X))
    path = SensitivityImportance(scale=None, grid=2).fit(model, X).response_path_
    assert path.startswith("black box (")


def test_trees_that_never_split():
    """A constant target leaves nothing that could move."""
    X, _, _ = data()
    y = np.full(len(X), 2.0)
    for model in (
        DecisionTreeRegressor(),
        GradientBoostingRegressor(n_estimators=2),
        HistGradientBoostingRegressor(loss="poisson", max_iter=2),
        RandomForestClassifier(2),
    ):
        check_equal(model.fit(X, y), X, None, "auto", [0, 1, [0, 1]])
        imp = SensitivityImportance(scale=None).fit(model, X)
        assert imp.response_path_ == "trees"
        assert np.all(imp.importances_ == 0)


def test_declines_with_a_reason():
    """What is no sum of trees goes to the black box."""
    X, y, _ = data()
    two = two_classes(y)
    assert_declined(AdaBoostRegressor(n_estimators=3).fit(X, y), X, "weighted median")
    assert_declined(
        GradientBoostingRegressor(n_estimators=3, init=LinearRegression()).fit(X, y),
        X,
        "init estimator LinearRegression is no constant",
    )
    assert_declined(
        BaggingRegressor(LinearRegression(), n_estimators=2).fit(X, y),
        X,
        "LinearRegression is no tree",
    )
    assert_declined(
        BaggingClassifier(GradientBoostingClassifier(n_estimators=2)).fit(X, two),
        X,
        "mean of GradientBoostingClassifier is no sum",
    )
    assert_declined(
        AdaBoostClassifier(RandomForestClassifier(2), n_estimators=2).fit(X, two),
        X,
        "AdaBoost of RandomForestClassifier",
    )


def test_poisson_is_in_the_units_of_predict():
    """The exponential of the sum is watched, not the sum."""
    X, y, _ = data(60)
    model = HistGradientBoostingRegressor(loss="poisson", max_iter=10)
    model.fit(X, np.exp(y / 2).round())
    imp = PartialDependenceImportance().fit(model, X)
    assert imp.response_path_ == "trees"
    grid, averages = imp.curves_["x0"]
    for value, average in zip(grid[::9], averages[::9]):
        moved = X.copy()
        moved[:, 0] = value
        np.testing.assert_allclose(average, model.predict(moved).mean(), rtol=1e-12)


@pytest.mark.parametrize("name", ["forest", "hist, classes", "forest, impure labels"])
def test_sizes_of_blocks_change_nothing(name, monkeypatch):
    """Small blocks, small frontiers, small chunks: the same numbers up to rounding."""
    model, X, method = fitted(name)
    some = [0, 3, [0, 4]]
    _, reference = walked(model, X, method, some)
    monkeypatch.setattr(TreeResponse, "TASK_PATHS", 40)
    monkeypatch.setattr(TreeResponse, "TASK_EVALUATIONS", 100)
    monkeypatch.setattr(_tree_walk, "LEVEL_STATES", 11)
    monkeypatch.setattr(_tree_walk, "PATHS", 30)
    monkeypatch.setattr(_tree_curves, "VISITS", 50)
    monkeypatch.setattr(_tree_incidence, "MEETINGS", 50)
    monkeypatch.setattr(_tree_incidence, "REACHED", 60)
    monkeypatch.setattr(_steps, "CHUNK_PIECES", 10)
    with config_context(working_memory=1e-3):
        _, small = walked(model, X, method, some)
    for a, b in zip(reference, small):
        np.testing.assert_allclose(a.importances, b.importances, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(
            a.standard_errors, b.standard_errors, rtol=1e-10, atol=1e-14
        )


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_workers_change_nothing(backend, monkeypatch):
    """Row chunks go to workers and come back to the same numbers."""
    monkeypatch.setattr(TreeResponse, "TASK_PATHS", 60)
    model, X, method = fitted("hist, classes")
    _, reference = walked(model, X, method)
    with joblib.parallel_config(backend=backend):
        _, parallel = walked(model, X, method, n_jobs=2)
    for a, b in zip(reference, parallel):
        np.testing.assert_allclose(b.importances, a.importances, rtol=1e-13)
        np.testing.assert_allclose(b.standard_errors, a.standard_errors, rtol=1e-12)


def test_a_few_features_cost_their_share(monkeypatch):
    """Only leaves that the asked feature leads to are visited."""
    X, y, _ = data(200)
    model = RandomForestRegressor(10, random_state=0).fit(X, y)
    visited = []
    visits = _tree_walk.Descent.visits

    def counting(self, moving=None):
        for some in visits(self, moving):
            visited.append(len(some.leaf))
            yield some

    monkeypatch.setattr(TreeResponse, "visits_per_row", lambda self: 1.0)
    monkeypatch.setattr(_tree_walk.Descent, "visits", counting)
    each = []
    for features in [[0], [1], [3], [4], [5], None]:
        visited.clear()
        walked(model, X, features=features)
        each.append(sum(visited))
    assert min(each) > 0
    assert sum(each[:-1]) == each[-1]
    # the partial dependence alone forms no row's pieces
    monkeypatch.setattr(_steps.Steps, "pieces", None)
    PartialDependenceImportance().fit(model, X)


def test_column_wise_steps_in_front():
    """One-hot columns behind a pipeline move as a group, and overlap with others."""
    X, y = frame()
    X = X[["number", "rank", "flat"]]
    steps = ColumnTransformer(
        [("one", OneHotEncoder(), ["rank"]), ("num", SimpleImputer(), ["number"])],
        remainder="passthrough",
        sparse_threshold=0,
    )
    model = make_pipeline(steps, RandomForestRegressor(4, random_state=0)).fit(X, y)
    features = ["number", "rank", "flat", ["number", "rank"], ["rank", "flat"]]
    check_equal(model, X, uneven(len(X)), "auto", features)


def test_memory_is_bounded():
    """Far below what every row's value on every cell would take."""
    random = np.random.RandomState(0)
    X = random.randn(3000, 6)
    model = ExtraTreesRegressor(8, random_state=0).fit(X, X[:, 0] * X[:, 1])
    table_bytes = 3000 * 3000 * 8
    tracemalloc.start()
    try:
        walked(model, X, features=None)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < table_bytes


def test_evaluations_state_an_honest_cost():
    """Exact by default wherever that is cheaper than the draws."""
    X, y, _ = data(400)
    model = GradientBoostingRegressor(n_estimators=20).fit(X, y)
    imp = SensitivityImportance().fit(model, X, y)
    assert (imp.estimation_, imp.response_path_) == ("exact", "trees")
    response = lowered(Model(model), as_table(X))
    assert response.evaluations(100, 1) < response.evaluations(100, 1000)
    assert response.evaluations(200, 10**6) == 2 * response.evaluations(100, 10**6)
