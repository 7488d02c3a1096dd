"""Pipelines whose transformers select, fill or overflow, against the black box."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import BaggingRegressor
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.svm import SVR

from skvarimp import PartialDependenceImportance, SensitivityImportance

N = 40
RANDOM = np.random.RandomState(3)
X = RANDOM.randn(N, 4)
X[:, 0] = RANDOM.randint(0, 3, N)
X[:, 2] = np.round(X[:, 2])
Y = X[:, 1] * 3 + X[:, 2] * 2 + 0.1 * X[:, 0] * X[:, 3]

MEASURES = {
    "pairs": SensitivityImportance(estimation="exact", scale=None),
    "range": SensitivityImportance(contrast="range", estimation="exact", scale=None),
    "average": PartialDependenceImportance(),
    "individual": PartialDependenceImportance(kind="individual"),
}


def same_as_black_box(measure, model, X, path, **parameters):
    """Importances, their errors and curves of the fast path and of `predict` alone."""
    measure.set_params(**parameters)
    slow = clone(measure).fit(model.predict, X)
    measure.fit(model, X)
    assert measure.response_path_.startswith(path), measure.response_path_
    for name in ("importances_", "standard_errors_"):
        np.testing.assert_allclose(
            getattr(measure, name),
            getattr(slow, name),
            rtol=1e-9,
            atol=1e-11,
            err_msg=name,
        )
    for feature, (grid, curve) in getattr(slow, "curves_", {}).items():
        own_grid, own_curve = measure.curves_[feature]
        np.testing.assert_array_equal(own_grid, grid)
        np.testing.assert_allclose(own_curve, curve, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_group_of_which_a_selector_leaves_one_column(name):
    """Its grid is the group's joint values, more than the column's own."""
    model = make_pipeline(SelectKBest(f_regression, k=2), Ridge()).fit(X, Y)
    assert model[0].get_support().tolist() == [False, True, True, False]
    features = {"c": 2, "one of two": [0, 2], "none": [0, 3], "both": [1, 2]}
    path = "column-wise steps, linear"
    same_as_black_box(MEASURES[name], model, X, path, features=features)


@pytest.mark.parametrize("name", sorted(MEASURES))
@pytest.mark.parametrize("strategy", ["mean", "constant"])
def test_missing_value_filled_in_stays_last(name, strategy):
    """One missing value, so that no two values are merged: the grid's last."""
    holes = X.copy()
    holes[5, 1] = holes[7, 2] = np.nan
    imputer = SimpleImputer(strategy=strategy, fill_value=-9.0)
    model = make_pipeline(imputer, Ridge()).fit(holes, Y)
    path = "column-wise steps, linear"
    same_as_black_box(MEASURES[name], model, holes, path, features=None)


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_frame_with_columns_in_another_order(name):
    """`ColumnTransformer` looks columns up by name, wherever they stand."""
    frame = pd.DataFrame(X, columns=list("abcd"))
    columns = ColumnTransformer(
        [("s", StandardScaler(), ["c", "a"]), ("m", MinMaxScaler(), [1])],
        remainder="passthrough",
    )
    model = make_pipeline(columns, Ridge()).fit(frame, Y)
    other = frame[["d", "b", "c", "a"]]
    path = "column-wise steps, linear"  # the probe would have found it, with a warning
    same_as_black_box(MEASURES[name], model, other, path, features=None)


def test_steps_overflow_as_they_do_in_the_model():
    """What a step's own arithmetic does on the way is the model's affair."""
    steep = FunctionTransformer(np.exp, np.log)
    bounded = FunctionTransformer(np.arctan)
    model = make_pipeline(steep, bounded, Ridge()).fit(X, Y)
    path = "column-wise steps, linear"
    with np.errstate(over="ignore"):  # exp(1000) is infinite, its arctan is not
        same_as_black_box(
            MEASURES["average"], model, X, path, features=[1], grid=[0.0, 1e3]
        )
    MEASURES["average"].set_params(grid="all")


def test_steps_that_make_no_number_are_refused_by_the_model():
    """Infinity behind the steps of a finite value of the grid's own."""
    model = make_pipeline(FunctionTransformer(np.exp), Ridge()).fit(X, Y)
    measure = SensitivityImportance(scale=None, features=[1], grid=[0.0, 1e3])
    for estimator in (model, model.predict):
        with (
            np.errstate(over="ignore"),
            pytest.raises(ValueError, match="contains infinity"),
        ):
            measure.fit(estimator, X)


def test_inverse_target_overflows_as_it_does_in_the_model():
    """The inverse of a target's transformation is the user's code too."""
    model = TransformedTargetRegressor(
        Ridge(), func=np.log, inverse_func=np.exp, check_inverse=False
    ).fit(X, np.exp(Y))
    measure = SensitivityImportance(scale=None, features=[1], grid=[0.0, 1e3])
    for estimator in (model, model.predict):
        with (
            np.errstate(over="ignore"),
            pytest.raises(ValueError, match="output is NaN or infinite with 'x1'"),
        ):
            measure.fit(estimator, X)


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_bagging_on_some_columns_whatever_output_is_configured(container):
    """No warning about frames that the user has not asked for."""
    model = BaggingRegressor(SVR(), 3, max_features=2, random_state=0).fit(X, Y)
    with config_context(transform_output=container):
        same_as_black_box(MEASURES["pairs"], model, X, "bagging of column-wise steps")
