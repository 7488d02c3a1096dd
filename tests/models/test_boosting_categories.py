"""Categories of XGBoost, LightGBM and CatBoost, and how columns are encoded."""

import numpy as np
import polars as pl
import pytest
from boosting_checks import check_curves, declined, library_of, weights
from boosting_models import CAT, LGBM, XGB, categorical_frame, frame
from response_oracle import check_equal

from skvarimp import InteractionImportance


def check_pairs(model, X):
    """Levels and numbers that meet, by codes and by the model as a bare function."""
    X = X[:30]
    imp = InteractionImportance(grid="all", pairs=[(0, 1), (1, 2)]).fit(model, X)
    assert "black box" not in imp.response_path_
    fast = imp.importances_
    imp.fit(model.predict, X)
    size = np.finfo(np.float32).eps * np.abs(model.predict(X)).max()
    np.testing.assert_allclose(fast, imp.importances_, rtol=0, atol=10 * size)


@pytest.mark.parametrize("one_hot", [1, 100], ids=["sets", "one each"])
def test_categories_of_xgboost(one_hot):
    """By name in any order, by number, missing; from pandas and from polars."""
    xgb = library_of("xgboost")
    X, y = categorical_frame()
    options = {**XGB, "enable_categorical": True, "max_cat_to_onehot": one_hot}
    model = xgb.XGBRegressor(**options).fit(X, y)
    groups = ["colour", "size", "number", ["colour", "number"], ["colour", "size"]]
    check_curves(model, X, features=groups)
    check_curves(model.get_booster(), X, features=groups)
    turned = X.assign(
        colour=X["colour"].cat.reorder_categories(sorted(X["colour"].cat.categories))
    )
    check_curves(model, turned, features=groups)
    unknown = X.assign(colour=X["colour"].cat.rename_categories({"red": "new"}))
    assert "does not know" in declined(model, unknown)
    codes = X.assign(colour=X["colour"].cat.codes.replace(-1, np.nan))
    codes = codes.assign(size=X["size"].cat.codes).to_numpy(dtype=float)
    codes[::5, 1] = [17, 2.6, -1, 2**25] * 3  # numbers of no category
    check_curves(model.get_booster(), codes)
    texts = pl.from_pandas(X.drop(columns="size"))
    model = xgb.XGBRegressor(**options).fit(texts, y)
    check_curves(model, texts)
    check_pairs(model, texts)
    X["colour"] = X["colour"].cat.rename_categories({"red": "rosé"})
    model = xgb.XGBRegressor(**options).fit(X, y)
    assert "ASCII" in declined(model, X)


@pytest.mark.parametrize("one_hot", [1, 100], ids=["sets", "one each"])
def test_categories_of_lightgbm(one_hot):
    """By name in any order, unknown, missing; numbers that are cut to integers."""
    lgbm = library_of("lightgbm")
    X, y = categorical_frame()
    options = {**LGBM, "max_cat_to_onehot": one_hot, "min_data_per_group": 1}
    model = lgbm.LGBMRegressor(**options, cat_smooth=1.0).fit(X, y)
    groups = ["colour", "size", "number", ["colour", "number"], ["colour", "size"]]
    check_equal(model, X, weights(len(X)), features=groups, grids=["all", 3])
    check_pairs(model, X)
    loaded = lgbm.Booster(model_str=model.booster_.model_to_string())
    check_equal(loaded, X, features=groups, grids=["all"])
    turned = X["colour"].cat.reorder_categories(sorted(X["colour"].cat.categories))
    check_equal(model, X.assign(colour=turned), grids=["all"])
    unknown = X["colour"].cat.rename_categories({"red": "new"})
    check_equal(model, X.assign(colour=unknown), grids=["all"])
    codes = X.assign(colour=X["colour"].cat.codes.replace(-1, np.nan))
    codes = codes.assign(size=X["size"].cat.codes).to_numpy(dtype=float)
    model = lgbm.LGBMRegressor(**options).fit(codes, y, categorical_feature=[1, 2])
    codes[::5, 1] = [17, 2.6, -1, -0.5] * 3
    check_equal(model, codes, grids=["all"])
    assert "category columns" in declined(model, X)


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise"])
@pytest.mark.parametrize("container", ["pandas", "categories", "polars", "objects"])
def test_categories_of_catboost(policy, container):
    """Splits on one category each; texts, numbers, booleans; values not in X."""
    cat = library_of("catboost")
    X, y = frame()
    names = [1, 2, 3]
    if container == "categories":
        X = X.astype({"colour": "category", "size": "category"})
    if container == "polars":
        X = pl.from_pandas(X)
    if container == "objects":
        X = X.to_numpy(dtype=object)
    model = cat.CatBoostRegressor(
        **CAT, grow_policy=policy, cat_features=names, one_hot_max_size=9
    ).fit(X, y)
    # integers of "size" have no numbers in between, that equal steps would need
    check_equal(model, X, weights(len(X)), features=[0, 1, 3, [1, 0]], grids=["all"])
    check_pairs(model, X)
    groups = [0, 1, 2, 3, [1, 0], [1, 2], [2, 3, 4]]
    check_curves(model, X, features=groups)
    check_curves(model, X[: len(X) // 2], features=groups)
