"""Parameters of the estimator's `fit` that are not per row."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skvarimp import (
    AllRelevantSelector,
    BackwardEliminationSelector,
    ForwardSelector,
    ImportanceEstimator,
    PermutationImportance,
    importance_across_folds,
    leave_out_importances,
)

RANDOM = np.random.default_rng(0)
X = pd.DataFrame(RANDOM.normal(size=(60, 4)), columns=list("abcd"))
X["c"] = RANDOM.integers(0, 4, 60)
Y = 2 * X["a"] + 3 * (X["c"] % 2) + 0.1 * RANDOM.normal(size=60)


class Levels(RegressorMixin, BaseEstimator):
    """Least squares on the means of y by level of some columns, given to `fit`."""

    asked = ()  # by every fit: the names of the categories, and how many columns

    def fit(self, X, y, categorical_feature=(), power=1):
        """The categories are positions."""
        names = getattr(X, "columns", np.arange(X.shape[1]))
        given = tuple(names[k] for k in categorical_feature)
        Levels.asked += ((given, X.shape[1], power),)
        self.categories_ = list(categorical_feature)
        values = np.asarray(X, dtype=float)
        self.means_ = {}
        for k in self.categories_:
            of_level = pd.Series(np.asarray(y)).groupby(values[:, k]).mean()
            self.means_[k] = of_level
        self.model_ = LinearRegression().fit(self._numbers(values), y)
        return self

    def _numbers(self, X):
        values = np.array(X, dtype=float)
        for k, of_level in self.means_.items():
            values[:, k] = of_level.reindex(values[:, k]).fillna(0.0)
        return values

    def predict(self, X):
        """Of any rows."""
        return self.model_.predict(self._numbers(X))


@pytest.fixture(autouse=True)
def asked():
    """Forget earlier fits."""
    Levels.asked = ()


SELECTORS = [
    BackwardEliminationSelector(Levels(), removal="drop", min_features_to_select=2),
    ForwardSelector(Levels(), removal="drop"),
    AllRelevantSelector(
        Levels(), PermutationImportance(), max_iter=3, removal="drop", random_state=0
    ),
    BackwardEliminationSelector(Levels(), removal="constant"),
]


@pytest.mark.parametrize("selector", SELECTORS, ids=lambda s: type(s).__name__)
@pytest.mark.filterwarnings("ignore::skvarimp.exceptions.ImportanceWarning")
def test_positions_follow_the_columns(selector):
    """Whatever columns are left, it is column c and its copies that are categories."""
    selector.fit(X, Y, categorical_feature=[2], power=2)
    assert Levels.asked
    for names, _, power in Levels.asked:
        assert power == 2
        assert {name.removeprefix("shuffled ") for name in names} <= {"c"}
    assert any(names for names, *_ in Levels.asked)
    widths = {n_columns for _, n_columns, _ in Levels.asked}
    if isinstance(selector, AllRelevantSelector):
        assert min(widths) > 4  # with shuffled copies
    else:
        assert (len(widths) > 1) == (selector.removal == "drop")


def test_names_and_functions():
    """Functions that refit pass on `params`."""
    left = leave_out_importances(
        Levels(), X, Y, params={"categorical_feature": [2]}, removal="drop"
    )
    right = leave_out_importances(LinearRegression(), X, Y)
    assert left.importances[2] > right.importances[2]  # levels 0 and 2 are alike
    assert {names for names, *_ in Levels.asked} == {("c",), ()}
    params = {"categorical_feature": [2], "power": 3}
    importance_across_folds(Levels(), X, Y, params=params, cv=2)
    assert Levels.asked[-1][2] == 3
    machine = ImportanceEstimator(Levels(), PermutationImportance())
    machine.fit(X, Y, categorical_feature=[2])
    assert Levels.asked[-1] == (("c",), 4, 1)


def test_routing():
    """With scikit-learn's routing on, what is requested arrives."""
    with sklearn.config_context(enable_metadata_routing=True):
        model = Levels().set_fit_request(categorical_feature=True)
        selector = BackwardEliminationSelector(model, removal="drop")
        selector.fit(X, Y, categorical_feature=[2])
    assert Levels.asked[0] == (("c",), 4, 1)


def test_steps():
    """Of a step, columns of X must be named; positions may be other columns."""
    steps = make_pipeline(StandardScaler(), Levels())
    fit = {"levels__categorical_feature": [2], "levels__power": 2}
    constant = BackwardEliminationSelector(steps, removal="constant").fit(X, Y, **fit)
    assert constant.support_.any()
    drop = BackwardEliminationSelector(steps, removal="drop")
    with pytest.raises(ValueError, match="levels__categorical_feature"):
        drop.fit(X, Y, **fit)


def test_what_fit_does_not_take():
    """The message names it."""
    selector = BackwardEliminationSelector(LinearRegression())
    with pytest.raises(TypeError, match="categorical_feature"):
        selector.fit(X, Y, categorical_feature=[2])
    for metadata in (
        {"sample_weight": [1.0, 2.0]},
        {"sample_weight": 2.0},
        {"groups": "a"},
    ):
        with pytest.raises(ValueError, match="60 values, one per row"):
            selector.fit(X, Y, **metadata)
