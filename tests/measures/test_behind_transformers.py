"""Measures that read a model itself, with column-wise steps of a pipeline before it."""

import numpy as np
import pandas as pd
import pytest
from literal import standard_error
from roundoff import roundoff
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skvarimp import (
    CoefficientImportance,
    ConnectionWeightImportance,
    ImpurityImportance,
)

RANDOM = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "size": RANDOM.normal(size=150),
        "color": RANDOM.choice(["red", "green", "blue"], 150),
        "unused": RANDOM.normal(size=150),
        "age": RANDOM.normal(size=150),
    }
)
Y = X["size"] + (X["color"] == "red") - 0.5 * X["age"] + 0.1 * RANDOM.normal(size=150)


def pipeline(model):
    """Age first behind the steps, three columns for the colour, one left out."""
    steps = make_column_transformer(
        (StandardScaler(), ["age"]), (OneHotEncoder(), ["color"]), ("passthrough", [0])
    )
    return make_pipeline(steps, model).fit(X, Y)


def by_hand(measure, whole, **options):
    """The measure of the last step, added up by inputs: size, color, unused, age."""
    behind = whole[:-1].transform(X)
    alone = type(measure)(**measure.get_params()).fit(whole[-1], behind, Y, **options)
    age, *colors, size = alone.importances_per_output_
    return np.array([size, np.sum(colors, axis=0), np.zeros_like(age), age]), alone


@pytest.mark.parametrize(
    ("measure", "model"),
    [
        (ImpurityImportance(), RandomForestRegressor(5, random_state=0)),
        (ImpurityImportance(rows="oob"), RandomForestRegressor(20, random_state=0)),
        (ImpurityImportance(rows="unseen"), DecisionTreeRegressor(max_depth=4)),
        (CoefficientImportance(statistic="absolute"), LinearRegression()),
        (CoefficientImportance(statistic="standardized"), LinearRegression()),
        (
            ConnectionWeightImportance(),
            MLPRegressor(hidden_layer_sizes=[3], solver="lbfgs", tol=0.1),
        ),
    ],
)
def test_columns_are_counted_to_their_inputs(measure, model):
    """Also through a search around the pipeline, whose names and order are X's."""
    whole = pipeline(model)
    expected, _ = by_hand(measure, whole)
    found = measure.fit(whole, X, Y)
    assert found.features_ == list(X.columns)
    assert found.n_features_in_ == 4
    np.testing.assert_allclose(found.importances_per_output_, expected, rtol=1e-12)
    assert found.to_frame()["feature"].iloc[-1] == "unused"
    search = GridSearchCV(whole, {}, cv=2)
    search.best_estimator_ = whole
    search.refit = True
    again = type(measure)(**measure.get_params()).fit(search, X, Y)
    np.testing.assert_array_equal(again.importances_, found.importances_)


def test_rows_of_inputs():
    """Influences add up, and the standard error is theirs."""
    whole = pipeline(RandomForestRegressor(20, random_state=0))
    measure = ImpurityImportance(rows="oob", keep_rows=True).fit(whole, X, Y)
    _, alone = by_hand(measure, whole)
    influence = alone.influences_[:, 1:4].sum(axis=1)
    np.testing.assert_allclose(
        measure.influences_[:, 1], influence, atol=roundoff(len(X), influence)
    )
    expected = standard_error(influence)
    assert measure.standard_errors_[1] == pytest.approx(expected, rel=1e-9)
    assert measure.standard_errors_[2] == 0
    means = measure.row_importances_.mean(axis=0)
    np.testing.assert_allclose(
        means,
        measure.importances_,
        rtol=1e-9,
        atol=roundoff(len(X), measure.row_importances_),
    )
    plain = ImpurityImportance(rows="oob").fit(whole, X, Y)
    np.testing.assert_array_equal(plain.standard_errors_, measure.standard_errors_)
    assert not hasattr(plain, "influences_")


def test_the_largest_t_counts():
    """Statistics do not add up; signs are those of an input's only column."""
    steps = make_column_transformer(
        (StandardScaler(), ["age"]),
        (OneHotEncoder(drop="first"), ["color"]),
        ("passthrough", [0]),
    )
    whole = make_pipeline(steps, LinearRegression()).fit(X, Y)
    found = CoefficientImportance().fit(whole, X, Y)
    alone = CoefficientImportance().fit(whole[-1], whole[:-1].transform(X), Y)
    age, green, red, size = alone.importances_
    expected = [size, max(green, red), 0.0, age]
    np.testing.assert_allclose(found.importances_, expected, rtol=1e-12)
    assert np.isnan(found.signed_importances_[1, 0])
    assert found.signed_importances_[3, 0] < 0


def test_without_x():
    """Measures that read numbers alone need no data."""
    whole = pipeline(LinearRegression())
    measure = CoefficientImportance(statistic="absolute")
    assert measure.fit(whole).features_ == list(X.columns)
    tree = pipeline(DecisionTreeRegressor(max_depth=3))
    assert ImpurityImportance().fit(tree).ranking_[2] > 2


def test_refused():
    """Steps that mix columns, and associations of several columns of one input."""
    numbers = X[["size", "unused", "age"]]
    mixing = make_pipeline(PCA(2), DecisionTreeRegressor()).fit(numbers, Y)
    with pytest.raises(TypeError, match="mix columns: PCA is not a column-wise"):
        ImpurityImportance().fit(mixing, numbers, Y)
    whole = pipeline(DecisionTreeRegressor(max_depth=2))
    with pytest.raises(TypeError, match="no associations of inputs that are several"):
        ImpurityImportance(surrogates=True).fit(whole, X, Y)
    scaled = make_pipeline(StandardScaler(), DecisionTreeRegressor(max_depth=2))
    found = ImpurityImportance(surrogates=True).fit(scaled.fit(numbers, Y), numbers, Y)
    assert found.association_.shape == (3, 3)
