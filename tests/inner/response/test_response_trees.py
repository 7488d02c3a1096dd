"""Tree responses against the model's own predictions and against plain loops."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from combinations import half, one_per
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from literal import mean_curve, sensitivity
from response_oracle import check_equal, problem_of
from roundoff import roundoff
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingRegressor,
    ExtraTreesRegressor,
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
    DecisionTreeRegressor,
)
from tree_models import (
    FEATURES,
    GRIDS,
    MODELS,
    UNUSED,
    data,
    fitted,
    frame,
    path_of_trees,
    three_classes,
    two_classes,
    uneven,
    walked,
)

from skvarimp import PartialDependenceImportance, SensitivityImportance
from skvarimp._data.table import Feature, as_table
from skvarimp._models.forms import NotReadable
from skvarimp._models.model import Model
from skvarimp._response.contract import BlackBoxResponse
from skvarimp._response.grid import make_move
from skvarimp._response.probe import fast_response
from skvarimp._response.steps import settled

ONE_OF_EACH = {name.split()[0].strip(","): name for name in MODELS}.values()


@pytest.mark.parametrize(
    ("name", "n_full"),
    [
        *half((name, 1) for name in ONE_OF_EACH),
        *(pytest.param(name, 3, marks=pytest.mark.thorough) for name in MODELS),
    ],
)
def test_every_model_equals_its_own_predictions(name, n_full):
    """All reductions, grids, groups and weights; what is unused is exactly 0."""
    model, X, method = fitted(name)
    fast = check_equal(model, X, uneven(len(X)), method, FEATURES, GRIDS, n_full)
    assert fast.path == path_of_trees()
    _, of_all = walked(model, X, method)
    for outcome in of_all:
        assert np.all(outcome.importances[UNUSED] == 0)


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


@pytest.mark.parametrize(
    ("name", "trained"),
    one_per(
        lambda name, trained: name.split(",")[0].split()[-1],
        [
            (name, first == (i % 2 == 0))
            for first in (True, False)
            for i, name in enumerate(MISSING)
        ],
    ),
    ids=str,
)
def test_missing_values_go_where_each_split_sends_them(name, trained):
    """Missing values in training or not; a value of the grid like any other."""
    model, X, method = fitted(name, missing=trained)
    X, _, _ = data(seed=3, missing=True)
    if trained or not name.startswith("bagging"):
        features = {"a": 0, "b": 1, "c": 4, "both": [0, 1]}
        check_equal(model, X, uneven(len(X)), method, features, ["all", 3])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_hist_boosting_on_a_frame_with_categories(library):
    """Categorical splits behind the model's own encoding; groups across kinds."""
    X, y = frame()
    if library == "polars":
        X = pl.from_pandas(X.astype({"rank": float}))
    model = HistGradientBoostingRegressor(
        categorical_features="from_dtype", max_iter=6, min_samples_leaf=2
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


def test_literal_double_loop():
    """Pairs, observed and range by the definition, row by row and donor by donor."""
    X, y, _ = data(7)
    model = GradientBoostingRegressor(n_estimators=4, max_depth=2).fit(X, y)
    weights = np.arange(1.0, 8.0)
    _, outcomes = walked(model, X, weights=weights)

    def f(X):
        return model.predict(X)[:, np.newaxis]

    for e, columns in enumerate([np.atleast_1d(c) for c in FEATURES.values()]):
        for outcome, contrast in zip(outcomes, ("pairs", "observed", "range")):
            expected = sensitivity(f, X, columns, contrast, weights)
            np.testing.assert_allclose(
                outcome.importances[e], expected, rtol=1e-10, atol=roundoff(49, y)
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
    fast = fast_response(Model(model), table)
    for column in (0, 4):
        critical = fast.critical_values(column)
        assert len(critical) > 3
        check_equal(model, X[:30], None, "auto", [column], [{f"x{column}": critical}])


def test_grid_values_are_rounded_as_x_stores_them():
    """Histogram boosting on single-precision X sees single-precision grid values."""
    X, y, _ = data(60)
    model = HistGradientBoostingRegressor(max_iter=8, min_samples_leaf=2).fit(X, y)
    thresholds = fast_response(Model(model), as_table(X)).critical_values(0)
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


@pytest.mark.parametrize("container", half(CONTAINERS))
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


@pytest.mark.thorough
@settings(max_examples=25, phases=[Phase.explicit, Phase.generate])
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
    check_equal(model, X, weights, "auto", features, ["all", 2], 2)


def test_overriding_takes_the_black_box():
    """A subclass or an instance with another predict is not what its trees say."""
    X, y, _ = data()

    class Exponentiated(RandomForestRegressor):
        def predict(self, X):
            return np.exp(super().predict(X))

    model = Exponentiated(3, random_state=0).fit(X, y)
    imp = SensitivityImportance(scale=None).fit(model, X)
    assert imp.response_path_ == "black box (Exponentiated has no fast response)"

    model = RandomForestRegressor(3, random_state=0).fit(X, y)
    fast = SensitivityImportance(scale=None).fit(model, X)
    assert fast.response_path_ == path_of_trees()
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
    with pytest.raises(NotReadable, match=reason):
        fast_response(Model(model), as_table(X))
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
        assert imp.response_path_ == path_of_trees()
        assert np.all(imp.importances_ == 0)


def test_declines_with_a_reason():
    """What is no sum of trees goes to the black box."""
    X, y, _ = data()
    two = two_classes(y)
    assert_declined(
        GradientBoostingRegressor(n_estimators=3, init=LinearRegression()).fit(X, y),
        X,
        "init estimator LinearRegression is no constant",
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
    assert imp.response_path_ == path_of_trees()
    grid, averages = imp.curves_["x0"]
    for value, average in zip(grid[::9], averages[::9]):
        moved = X.copy()
        moved[:, 0] = value
        np.testing.assert_allclose(average, model.predict(moved).mean(), rtol=1e-12)


def test_rounding_does_not_move_shares_off_their_ends():
    """What is nearly 0 or 1 becomes so; other shares stay as they are."""
    shares = [-1e-17, 0.0, 1e-17, 0.1, 0.5, 0.9, 1 - 1e-16, 1.0, 1 + 3e-16]
    found = settled(np.array(shares), 0.1)
    assert found.tolist() == [0.0, 0.0, 0.0, 0.1, 0.5, 0.9, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("n_trees", [1, 3])
def test_no_share_but_the_ends_is_nearer_to_them_than_that_of_one_tree(n_trees):
    """By hand: the smallest of all leaves that is not 0, of a class or of the rest."""
    X, y, _ = data()
    model = RandomForestClassifier(n_trees, max_depth=3, random_state=0)
    response = fast_response(Model(model.fit(X, three_classes(y))), as_table(X))
    shares = []
    for tree in model.estimators_:
        is_leaf = tree.tree_.children_left < 0
        leaves = tree.tree_.value[is_leaf].ravel() / n_trees
        shares += [*leaves, *(1 / n_trees - leaves)]
    expected = min(share for share in shares if share > 1e-9)
    assert response.gap == pytest.approx(expected, rel=1e-9)


def test_labels_of_two_trees_that_disagree():
    """The model itself decides ties: of steps, of mean curves, and of all moves."""
    X, y, _ = data()
    model = RandomForestClassifier(2, max_depth=4, random_state=0)
    model.fit(X, three_classes(y))
    problem, fast = problem_of(model, X, method="predict")
    one, two = (tree.predict_proba(X) for tree in model.estimators_)
    best = np.sort(one + two, axis=1)
    assert np.any(best[:, -1] == best[:, -2])
    n, slow = len(X), BlackBoxResponse(problem.model, len(problem.base))
    for j in range(X.shape[1]):
        move = make_move(problem.table, problem.weights, Feature("x", (j,)), "all")
        expected = slow.curves(problem.rows, move)
        np.testing.assert_array_equal(fast.curves(problem.rows, move), expected)
        steps = fast.steps(problem.table, move)(problem.rows)
        moved = steps.by_group(np.ones(n), np.arange(n), n)
        unmoved = problem.base[:, :, np.newaxis]
        np.testing.assert_array_equal(moved, expected - unmoved)
        means = fast.mean_curves(problem.rows, move)
        np.testing.assert_allclose(
            means, slow.mean_curves(problem.rows, move), atol=1e-14
        )


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
