"""Categories of the boosting libraries, encoder by encoder."""

import numpy as np
from boosting_checks import library_of
from boosting_models import CAT, frame

from skvarimp._data.table import as_table
from skvarimp._models.model import Model
from skvarimp._models.trees import place_among, recoded, without_marker
from skvarimp._response.probe import fast_response


def test_categories_of_catboost_met_later():
    """A value that X does not hold is asked for when it comes."""
    cat = library_of("catboost")
    X, y = frame()
    options = {**CAT, "cat_features": [1, 2, 3], "one_hot_max_size": 9}
    model = cat.CatBoostRegressor(**options).fit(X, y)
    few = X[X["colour"] != "red"].reset_index(drop=True)
    trees = fast_response(Model(model), as_table(few)).trees
    feature = trees.columns.tolist().index(1)
    own, other = np.array(["red", "blue", "new"], dtype=object), np.array(X["colour"])
    codes = trees.codes(feature, own)
    assert len(set(codes.tolist())) == 3
    reading_all = fast_response(Model(model), as_table(X)).trees
    np.testing.assert_array_equal(
        trees.codes(feature, other), reading_all.codes(feature, other)
    )


def test_encoders_by_hand():
    """Each on values next to its limits."""
    values = np.array([0.1, np.float32(0.1), np.nan, 0.2])
    np.testing.assert_array_equal(without_marker(0.1, values), [np.nan] * 3 + [0.2])
    named = place_among(np.array([2, 5]), np.array([2.9, -0.5, 5, 7, np.nan, np.inf]))
    np.testing.assert_array_equal(named, [0, 2, 1, 2, np.nan, 2])
    texts = np.array(["b", None, "c", "a"], dtype=object)
    numbers = recoded(["a", "b"], texts)
    np.testing.assert_array_equal(numbers, [1, np.nan, np.nan, 0])
