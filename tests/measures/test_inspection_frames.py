"""`skvarimp.inspection` of polars frames, against scikit-learn's of pandas frames."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.inspection
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

from skvarimp.inspection import partial_dependence, permutation_importance

LEVELS = np.array(["u", "v", "w"])[np.arange(60) % 3]
MIXED = {
    "a": np.random.default_rng(3).normal(size=60),
    "s": LEVELS,
    "b": np.random.default_rng(4).normal(size=60),
}
OF_MIXED = MIXED["a"] * (LEVELS == "u") + MIXED["b"] ** 2
OF_NUMBERS = {
    "linear": LinearRegression(),
    "boosting": GradientBoostingRegressor(n_estimators=4, random_state=0),
    "neighbours": KNeighborsRegressor(3),
}


@pytest.mark.parametrize("options", [{}, {"method": "brute"}, {"kind": "both"}])
@pytest.mark.parametrize("features", ["b", [0], ["a", "b"]])
@pytest.mark.parametrize("model", OF_NUMBERS)
def test_curves_of_polars_frames_are_those_of_pandas(model, features, options):
    """scikit-learn's own function fails on them."""
    numbers = {name: MIXED[name] for name in "ab"}
    options = options | {"grid_resolution": 6}
    found, expected = (
        function(clone(OF_NUMBERS[model]).fit(X, OF_MIXED), X, features, **options)
        for function, X in (
            (partial_dependence, pl.DataFrame(numbers)),
            (sklearn.inspection.partial_dependence, pd.DataFrame(numbers)),
        )
    )
    for name in set(expected) - {"grid_values"}:
        np.testing.assert_allclose(found[name], expected[name], atol=1e-12)
    for ours, theirs in zip(found["grid_values"], expected["grid_values"]):
        np.testing.assert_array_equal(ours, theirs)


def test_polars_frames_with_texts():
    """Curves over texts and over numbers beside them, and shuffled columns."""
    model = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(sparse_output=False), ["s"]), remainder="passthrough"
        ),
        DecisionTreeRegressor(max_depth=4, random_state=0),
    )
    ours, theirs = pl.DataFrame(MIXED), pd.DataFrame(MIXED)
    of_ours = clone(model).fit(ours, OF_MIXED)
    of_theirs = clone(model).fit(theirs, OF_MIXED)
    for features, more in (
        ("s", {"categorical_features": ["s"]}),
        ("b", {}),
        ("b", {"custom_values": {"b": np.array([-1.0, 0.0, 2.0])}}),
    ):
        found = partial_dependence(of_ours, ours, features, **more)
        expected = sklearn.inspection.partial_dependence(
            of_theirs, theirs, [features], **more
        )
        np.testing.assert_allclose(found["average"], expected["average"], atol=1e-12)
    for options in ({}, {"scoring": "r2"}, {"max_samples": 0.5}):
        options = options | {"random_state": 0}
        shuffled = permutation_importance(of_ours, ours, OF_MIXED, **options)
        expected = sklearn.inspection.permutation_importance(
            of_theirs, theirs, OF_MIXED, **options
        )
        np.testing.assert_allclose(
            shuffled.importances, expected.importances, atol=1e-12
        )
