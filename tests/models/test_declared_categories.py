"""Columns that a fitted model itself treats as categories move through their levels."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    BaggingRegressor,
    HistGradientBoostingRegressor,
    VotingRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skvarimp import InteractionImportance, SensitivityImportance, SobolImportance

EFFECT = np.array([0.0, 5.0, -3.0, 4.0, -2.0, 1.0])


@pytest.fixture(scope="module")
def rows():
    """Codes whose effects are not in order."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"u": rng.normal(size=300), "c": rng.integers(0, 6, 300)})
    X["v"] = rng.normal(size=300)
    return X, EFFECT[X["c"]] * (1 + (X["u"] > 0)) + X["v"]


def histogram(categories):
    """scikit-learn's boosting."""
    return HistGradientBoostingRegressor(categorical_features=categories, max_iter=20)


def lightgbm_model():
    """Takes its categories in fit."""
    library = pytest.importorskip("lightgbm")
    return library.LGBMRegressor(n_estimators=20, verbose=-1, min_child_samples=5)


def catboost_model():
    """Refuses numbers that are not whole."""
    library = pytest.importorskip("catboost")
    return library.CatBoostRegressor(
        iterations=20, cat_features=["c"], verbose=False, allow_writing_files=False
    )


def xgboost_model():
    """Told by letters."""
    library = pytest.importorskip("xgboost")
    return library.XGBRegressor(
        n_estimators=20, feature_types=["q", "c", "q"], enable_categorical=True
    )


def fitted(name, rows):
    """A model that treats the second column as categories."""
    X, y = rows
    encoder = make_column_transformer(
        (OneHotEncoder(), ["c"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    if name == "lightgbm":
        return lightgbm_model().fit(X, y, categorical_feature=["c"])
    if name == "encoder of an array":
        by_position = make_column_transformer(
            (OneHotEncoder(), [1]), (StandardScaler(), [0, 2])
        )
        return make_pipeline(by_position, LinearRegression()).fit(X.to_numpy(), y)
    model = {
        "histogram": lambda: histogram(["c"]),
        "searched": lambda: GridSearchCV(histogram(["c"]), {"max_depth": [3]}, cv=2),
        "voting": lambda: VotingRegressor([("a", histogram(["c"]))]),
        "bagged": lambda: BaggingRegressor(
            histogram([1]), n_estimators=2, random_state=0
        ),
        "behind a scaler": lambda: make_pipeline(StandardScaler(), histogram([1])),
        "encoder": lambda: make_pipeline(encoder, LinearRegression()),
        "catboost": catboost_model,
        "xgboost": xgboost_model,
    }[name]()
    return model.fit(X, y)


NAMES = ["histogram", "searched", "voting", "bagged", "behind a scaler", "encoder"]
NAMES += ["encoder of an array", "catboost", "xgboost", "lightgbm"]


def predictions_with(model, X, level):
    """Predictions with all rows at one level."""
    X = X.copy()
    if isinstance(X, np.ndarray):
        X[:, 1] = level
    else:
        X["c"] = level
    return model.predict(X)


SLOW = pytest.mark.thorough
EACH = [pytest.param(n, marks=SLOW) if n == "lightgbm" else n for n in NAMES]


@pytest.mark.parametrize("name", EACH)
def test_the_range_is_taken_over_the_levels(name, rows):
    """Steps of a grid of equal distance are no levels: codes have no order."""
    model, X = fitted(name, rows), rows[0]
    X = X.to_numpy() if name == "encoder of an array" else X
    moved = np.array([predictions_with(model, X, level) for level in range(6)])
    expected = np.mean(np.ptp(moved, axis=0))
    found = SensitivityImportance(contrast="range", scale=None).fit(model, X)
    single = 1e-6 if name in {"catboost", "xgboost"} else 1e-12
    assert found.importances_[1] == pytest.approx(expected, rel=single)
    assert np.isnan(found.directions_[1])


def test_interactions_use_the_levels(rows):
    """Greenwell's statistic along categories is a range, over all six of them."""
    model, X = fitted("histogram", rows), rows[0]
    text = X.assign(c=pd.Categorical(["abcdef"[k] for k in X["c"]]))

    def asked(frame):
        return model.predict(frame.assign(c=frame["c"].cat.codes))

    declared = InteractionImportance().fit(model, X).importances_
    by_type = InteractionImportance().fit(asked, text).importances_
    np.testing.assert_allclose(declared, by_type, rtol=1e-9)


def test_a_named_category_reaches_rows_and_screened_pairs(rows):
    """The second walk of kept rows and the screening take the same grids."""
    X = rows[0]

    def model(frame):
        return EFFECT[np.rint(frame["c"]).astype(int)] * (1 + (frame["u"] > 0))

    how = dict(
        order="first", keep_rows=True, grid="deciles", categorical_features=["c"]
    )
    many = SobolImportance(**how).fit(model, X)
    share = many.first_order_[1]
    assert np.isfinite(many.influences_).all()
    levels = SobolImportance(order="first").fit(model, X[["c", "u"]].assign(v=0.0))
    assert share == pytest.approx(levels.first_order_[0], rel=1e-12)
    pairs = InteractionImportance(pairs=1, categorical_features=["c"])
    assert pairs.fit(model, X).pairs_ == [("u", "c")]
