"""Parameters that refer to columns follow them when some go or get copies."""

import numpy as np
import pandas as pd
import pytest
from messages import says
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    BaggingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    StackingRegressor,
    VotingRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OrdinalEncoder,
    StandardScaler,
)

from skvarimp import (
    AllRelevantSelector,
    BackwardEliminationSelector,
    PermutationImportance,
    SensitivityImportance,
    leave_out_importances,
)
from skvarimp.exceptions import ImportanceWarning

RANDOM = np.random.RandomState(0)
N = 120
X = np.column_stack([RANDOM.randint(0, 4, N), RANDOM.normal(size=(N, 4))])
X[:, 4] = np.sign(X[:, 4])
Y = np.array([0.0, 3.0, -1.0, 2.0])[X[:, 0].astype(int)] + X[:, 1] * X[:, 2]
Y = Y + 0.1 * RANDOM.normal(size=N)
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d", "e"])
FOLDS = KFold(2)
DRAWN = PermutationImportance(estimation="sampled", n_draws=4)


def boosting(**given):
    """scikit-learn's, small."""
    return HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5, **given)


def scaled(**given):
    """The same behind a step that leaves columns in their places."""
    return make_pipeline(StandardScaler(), boosting(**given))


def xgboost(**given):
    """XGBoost's, small."""
    library = pytest.importorskip("xgboost")
    return library.XGBRegressor(n_estimators=5, max_depth=3, **given)


def lightgbm(**given):
    """LightGBM's, small."""
    library = pytest.importorskip("lightgbm")
    return library.LGBMRegressor(
        n_estimators=5, min_child_samples=5, verbose=-1, **given
    )


def gaussian(scales):
    """A kernel with a width for each column."""
    kernel = RBF(scales) + WhiteKernel(0.1)
    return GaussianProcessRegressor(kernel, optimizer=None)


def ensemble(cst):
    """Models in bags, in a search and in a stack, all with a list for the columns."""
    one = boosting(monotonic_cst=cst)
    inside = {
        "bags": BaggingRegressor(one, 3),
        "grid": GridSearchCV(one, {"max_iter": [5]}, cv=2),
        "stack": StackingRegressor([("one", one)]),
    }
    return VotingRegressor(list(inside.items()))


def binned(n_bins):
    """Ridge on bins, so many of each column."""
    return make_pipeline(KBinsDiscretizer(n_bins, strategy="uniform"), Ridge())


def columns(*lists, behind=None):
    """Steps for lists of columns, all others as they are, then a model."""
    steps = [StandardScaler(), PCA(1), OrdinalEncoder()]
    named = [(f"{k}", steps[k], part) for k, part in enumerate(lists) if part != []]
    return make_pipeline(
        ColumnTransformer(named, remainder="passthrough"), behind or Ridge()
    )


MASK = [True, False, False, True]


class PerColumn(TransformerMixin, BaseEstimator):
    """Multiplies; somebody's own."""

    def __init__(self, factors, column_index=None):
        self.factors, self.column_index = factors, column_index

    def fit(self, X, y=None):
        """Learn nothing."""
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        """Multiply, or select by name."""
        if isinstance(self.factors, list) and isinstance(self.factors[0], str):
            return X[self.factors].to_numpy()
        return np.asarray(X) * self.factors


# name: (a model of all columns, the same by hand for columns 1, 2, ...)
CASES = {
    "positions": lambda: (boosting(categorical_features=[0]), boosting()),
    "positions from the end": lambda: (columns([-5, -2]), columns([2])),
    "mask": lambda: (
        boosting(categorical_features=[True, False, False, False, True]),
        boosting(categorical_features=[False, False, False, True]),
    ),
    "array": lambda: (
        scaled(monotonic_cst=np.array([0, 1, -1, 0, 0])),
        scaled(monotonic_cst=[1, -1, 0, 0]),
    ),
    "sets": lambda: (
        boosting(interaction_cst=[{1, 2}, {0}, {3}]),
        boosting(interaction_cst=[{0, 1}, {2}]),
    ),
    "text of sets": lambda: (
        xgboost(interaction_constraints="[[1,2],[0],[3]]"),
        xgboost(interaction_constraints="[[0,1],[2]]"),
    ),
    "text of items": lambda: (
        xgboost(monotone_constraints="(0,1,-1,0,1)"),
        xgboost(monotone_constraints="(1,-1,0,1)"),
    ),
    "types": lambda: (
        xgboost(feature_types=["c", "q", "q", "i", "q"], enable_categorical=True),
        xgboost(feature_types=["q", "q", "i", "q"], enable_categorical=True),
    ),
    "LightGBM's sets": lambda: (
        lightgbm(interaction_constraints=[[1, 2], [0], [3]]),
        lightgbm(interaction_constraints=[[0, 1], [2]]),
    ),
    "LightGBM's texts": lambda: (
        lightgbm(interaction_constraints="[1,2],[0],[3]", mc="0,1,-1,0,0"),
        lightgbm(interaction_constraints="[0,1],[2]", mc="1,-1,0,0"),
    ),
    "forest": lambda: (
        RandomForestRegressor(5, monotonic_cst=[0, 1, -1, 1, 0], random_state=0),
        RandomForestRegressor(5, monotonic_cst=[1, -1, 1, 0], random_state=0),
    ),
    "ensembles": lambda: (ensemble([0, 1, -1, 1, 0]), ensemble([1, -1, 1, 0])),
    "kernel": lambda: (gaussian([1.0, 2, 3, 4, 5]), gaussian([2.0, 3, 4, 5])),
    "bins": lambda: (binned([4, 3, 5, 6, 2]), binned([3, 5, 6, 2])),
    "lists": lambda: (columns([1, 0], [2, -1]), columns([0], [1, 3])),
    "masks and slices": lambda: (
        columns([*MASK, False], slice(1, 3)),
        columns([2], slice(0, 2)),
    ),
    "behind a transformer": lambda: (
        columns([], [], [4, 0], behind=boosting(monotonic_cst=[1, 0, -1, 1, 0])),
        columns([], [], [3], behind=boosting(monotonic_cst=[1, -1, 1, 0])),
    ),
    "behind a dropped column": lambda: (
        make_pipeline(
            ColumnTransformer([("x", "drop", [2])], remainder="passthrough"),
            binned([4, 3, 5, 6]),
        ),
        make_pipeline(
            ColumnTransformer([("x", "drop", [1])], remainder="passthrough"),
            binned([3, 5, 6]),
        ),
    ),
    "one item for the one column of a step": lambda: (
        make_pipeline(
            ColumnTransformer([("x", PerColumn([3.0]), [2])], remainder="passthrough"),
            Ridge(),
        ),
        make_pipeline(
            ColumnTransformer([("x", PerColumn([3.0]), [1])], remainder="passthrough"),
            Ridge(),
        ),
    ),
    "remainder": lambda: (
        make_pipeline(
            ColumnTransformer([("x", "drop", [2])], remainder=binned([4, 3, 5, 6])[0]),
            Ridge(),
        ),
        make_pipeline(
            ColumnTransformer([("x", "drop", [1])], remainder=binned([3, 5, 6])[0]),
            Ridge(),
        ),
    ),
}


SLOW = {"array", "mask", "forest", "ensembles", "LightGBM's texts", "lists of sets"}


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=name, marks=pytest.mark.thorough if name in SLOW else ())
        for name, case in CASES.items()
    ],
)
def test_parameters_are_renumbered(case):
    """The loss of the model that is written by hand for the columns that are left."""
    model, by_hand = case()
    how = dict(y=Y, cv=FOLDS, features=[0], random_state=0)
    found = leave_out_importances(model, X, removal="drop", **how)
    rest = leave_out_importances(by_hand, X[:, 1:], removal="drop", **how)
    assert found.importances[0] + found.baseline == pytest.approx(
        rest.baseline, rel=1e-10
    )


def test_names_are_renumbered():
    """XGBoost's sets of names and numbers for names; only what is left is listed."""
    model = xgboost(
        interaction_constraints=[["b", "c"], ["a"], ["d"]],
        monotone_constraints={"c": 1},
    )
    by_hand = xgboost(
        interaction_constraints=[["b", "c"], ["d"]], monotone_constraints={"c": 1}
    )
    how = dict(y=Y, cv=FOLDS, features=["a"], random_state=0)
    found = leave_out_importances(model, FRAME, removal="drop", **how)
    rest = leave_out_importances(
        by_hand, FRAME.drop(columns="a"), **how | dict(features=["b"])
    )
    assert found.importances[0] + found.baseline == pytest.approx(rest.baseline)


COPIES = {  # (model, parameter, its value for columns 0-4 and copies 5-9)
    "mask": (
        lambda: boosting(categorical_features=[*MASK, False]),
        "categorical_features",
        2 * [*MASK, False],
    ),
    "positions": (
        lambda: boosting(categorical_features=[3, 0]),
        "categorical_features",
        [3, 8, 0, 5],
    ),
    "items": (
        lambda: scaled(monotonic_cst=[0, 1, -1, 0, 1]),
        "histgradientboostingregressor__monotonic_cst",
        2 * [0, 1, -1, 0, 1],
    ),
    "sets": (
        lambda: boosting(interaction_cst=[{1, 2}, {0}]),
        "interaction_cst",
        [[1, 6, 2, 7], [0, 5]],
    ),
    "text of sets": (
        lambda: xgboost(interaction_constraints="[[1,2],[0],[3]]"),
        "interaction_constraints",
        "[[1,6,2,7],[0,5],[3,8]]",
    ),
    "LightGBM's text": (
        lambda: lightgbm(interaction_constraints="[1,2],[0,3]"),
        "interaction_constraints",
        "[1,6,2,7],[0,5,3,8]",
    ),
    "types": (
        lambda: xgboost(
            feature_types=["c", "q", "q", "i", "q"], enable_categorical=True
        ),
        "feature_types",
        2 * ["c", "q", "q", "i", "q"],
    ),
    "lists": (
        lambda: columns([1, 0], [2, -1]),
        "columntransformer__transformers",
        [[1, 6, 0, 5], [2, 7, 4, 9]],
    ),
    "behind lists": (
        lambda: columns(
            [], [], [4, 0], behind=boosting(monotonic_cst=[1, 0, -1, 1, 0])
        ),
        "histgradientboostingregressor__monotonic_cst",
        [1, 1, 0, 0, -1, 1, 0, -1, 1, 0],
    ),
}


@pytest.mark.parametrize("case", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("removal", ["drop", "constant"])
def test_copies_are_treated_as_their_columns(case, removal):
    """A measure sees the estimator that is fitted to columns and copies."""
    make, name, expected = case
    seen = []

    def measure(model, wide, y):
        value = model.get_params()[name]
        if name.endswith("transformers"):
            value = [list(columns) for _, _, columns in value]
        seen.append(value)
        return np.zeros(wide.shape[1])

    AllRelevantSelector(
        make(), measure, max_iter=1, removal=removal, random_state=0
    ).fit(X, Y)
    assert (
        np.array_equal(seen[0], expected)
        if name != "interaction_cst"
        else (seen[0] == expected)
    )


def test_columns_of_measures_are_renumbered():
    """`categorical_features` of a measure by position: as by name."""
    table, paths = FRAME[["b", "c", "d", "a"]], []
    for columns_of, rows in (([3], table.to_numpy()), (["a"], table)):
        measure = SensitivityImportance(
            contrast="range", categorical_features=columns_of
        )
        selector = BackwardEliminationSelector(boosting(), measure, cv=FOLDS)
        paths.append(selector.fit(rows, Y))
    np.testing.assert_array_equal(paths[0].path_["score"], paths[1].path_["score"])
    np.testing.assert_array_equal(paths[0].ranking_, paths[1].ranking_)


def asking(frame):
    """A step that needs its columns."""
    return frame[["a", "b"]]


NEEDY = {
    "components": (make_pipeline(PCA(3), Ridge()), "without .* raises ValueError"),
    "function": (
        make_pipeline(FunctionTransformer(asking), Ridge()),
        "function of a FunctionTransformer may need",
    ),
    "unknown list": (
        make_pipeline(PerColumn([1.0, 2.0, 1.0, 1.0, 1.0]), Ridge()),
        "`factors` of PerColumn refers to columns: it has 5 items",
    ),
    "unknown names": (
        make_pipeline(PerColumn(["a", "b"]), Ridge()),
        "`factors` of PerColumn refers to columns: it names",
    ),
    "unknown positions": (
        make_pipeline(PerColumn(1.0, column_index=[0]), Ridge()),
        "`column_index` of PerColumn .* positions",
    ),
    "candidates": (
        GridSearchCV(boosting(), {"monotonic_cst": [[0, 0, 0, 0, 1]]}, cv=2),
        "`param_grid` of GridSearchCV .* candidates",
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("case", NEEDY.values(), ids=NEEDY)
def test_steps_that_need_their_columns_get_constants(case):
    """ "auto" says why, once; "drop" names what to do instead."""
    model, reason = case
    how = dict(cv=FOLDS, random_state=0)
    selector = BackwardEliminationSelector(model, **how)
    with pytest.warns(ImportanceWarning, match=f"hold a constant.*{reason}") as said:
        selector.fit(FRAME, Y)
    assert len(said) == 1
    told = BackwardEliminationSelector(model, removal="constant", **how).fit(FRAME, Y)
    assert selector.path_["score"] == told.path_["score"]
    with pytest.raises(ValueError, match=f"{reason}.*[uU]se (removal=)?'constant'"):
        selector.set_params(removal="drop").fit(FRAME, Y)
    how |= dict(features=[["a", "b", "c"], "d"])
    with pytest.warns(ImportanceWarning, match="hold a constant"):
        left_out = leave_out_importances(model, FRAME, Y, removal="auto", **how)
    constant = leave_out_importances(model, FRAME, Y, **how)
    np.testing.assert_array_equal(left_out.importances, constant.importances)


def test_copies_that_a_function_leaves_out_are_refused():
    """Else they would count as useless, and every column as better than they."""
    model = make_pipeline(FunctionTransformer(asking), Ridge())
    with pytest.raises(ValueError, match=says("copies … ColumnTransformer")):
        AllRelevantSelector(model, DRAWN).fit(FRAME, Y)
    model = make_pipeline(FunctionTransformer(np.nan_to_num), Ridge())
    found = AllRelevantSelector(model, DRAWN, max_iter=2, removal="constant")
    assert found.fit(FRAME, Y).n_iter_ == 2


def test_errors_of_all_columns_are_the_estimators_own():
    """Nothing is dropped then, so that no constants are tried."""
    with pytest.raises(ValueError, match="n_components"):
        BackwardEliminationSelector(make_pipeline(PCA(9), Ridge())).fit(FRAME, Y)
