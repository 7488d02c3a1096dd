"""Why a booster is not read."""

import numpy as np
import pandas as pd
import pytest
from boosting_checks import declined, library_of
from boosting_models import CAT, XGB, half_zeros

from skvarimp._data.table import as_table
from skvarimp._models.forms import NotReadable
from skvarimp._models.model import Model
from skvarimp._models.readers import xgboost as _tree_readers_xgboost
from skvarimp._response.probe import fast_response


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
    both = np.column_stack([y, -y])
    vectors = xgb.XGBRegressor(**XGB, multi_strategy="multi_output_tree").fit(X, both)
    assert "multi_output_tree" in declined(vectors, X)
    hinge = xgb.XGBClassifier(**XGB, objective="binary:hinge").fit(X, y > 0)
    assert "no known function" in declined(hinge, X)
    options = {"objective": "multi:softmax", "num_class": 3}
    numbers = xgb.train(options, xgb.DMatrix(X, np.digitize(y, [0.0, 1.0])), 4)
    assert "no known function" in declined(numbers, X)
    none = xgb.XGBRegressor(n_estimators=0).fit(X, y)
    assert "no trees" in declined(none, X)
    unknown = pd.DataFrame(X, columns=list("abcd"))
    model = xgb.XGBRegressor(**XGB).fit(unknown, y)
    unknown["a"] = pd.Categorical(np.where(X[:, 0] > 0, "p", "n"))
    with pytest.raises(NotReadable, match="does not know"):
        fast_response(Model(model), as_table(unknown))


def test_a_wrong_reading_is_noticed_whatever_the_rounding(monkeypatch):
    """XGBoost's leaves are compared one by one: `<=` in place of `<` declines."""
    xgb = library_of("xgboost")
    X = np.resize([0.0, 1.0, 2.0, 3.0], (40, 1))
    # the cut is on a value that rows hold; its leaves differ by next to nothing
    options = {"n_estimators": 1, "learning_rate": 1e-6, "base_score": 0.0}
    model = xgb.XGBRegressor(**options, tree_method="exact")
    model.fit(X, X[:, 0] > 1)
    X = np.where(X > 1, 1.5, X)
    fast_response(Model(model), as_table(X))
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


def test_base_models_of_catboost_have_scores():
    """`CatBoost.predict` returns scores, whatever its loss."""
    cat = library_of("catboost")
    X, y = half_zeros()
    model = cat.CatBoost({**CAT, "loss_function": "Logloss"}).fit(X, y > 0)
    watched = Model(model)
    assert not watched.classifier
    assert watched.kind == "value"
    np.testing.assert_array_equal(watched(X)[:, 0], model.predict(X))
