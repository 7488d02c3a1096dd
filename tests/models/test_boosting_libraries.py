"""XGBoost, LightGBM and CatBoost against their own predictions, model by model."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from boosting_checks import (
    FEATURES,
    check_curves,
    check_in_double,
    declined,
    fitted,
    library_of,
    weights,
)
from boosting_models import (
    CASES,
    CAT,
    LGBM,
    UNUSED,
    XGB,
    data,
    frame,
    half_zeros,
    three,
)
from response_oracle import check_equal
from scipy import sparse

from skvarimp import ImpurityImportance, SensitivityImportance

ALL = [(library, name) for library, cases in CASES.items() for name in cases]
DISCRETE = ("labels", "threshold")


@pytest.mark.parametrize(("library", "name"), [x for x in ALL if x[0] != "xgboost"])
def test_every_model_equals_its_own_predictions(library, name):
    """All grids, groups and weights; what is unused is exactly 0.

    Four reductions: `test_response_trees.py` has all reductions of trees and links.
    """
    model, X, method = fitted(library, name)
    fast = check_equal(model, X, weights(len(X)), method, FEATURES, ["all", 4], 0)
    assert fast.path.startswith("trees")
    check_unused(model, X, method)


@pytest.mark.parametrize(("library", "name"), [x for x in ALL if x[0] == "xgboost"])
def test_every_xgboost_model(library, name):
    """Its own predictions to single precision; to double those summed in double."""
    model, X, method = fitted(library, name)
    assert check_curves(model, X, method, FEATURES).path.startswith("trees")
    check_unused(model, X, method)
    if any(part in name for part in DISCRETE):  # labels: no rounding to speak of
        check_equal(model, X, weights(len(X)), method, FEATURES, ["all", 4], 0)
    else:
        check_in_double(model, X, method)


def check_unused(model, X, method):
    """An unused column's importance is 0 and not nearly 0."""
    measure = SensitivityImportance(response_method=method, scale=None)
    assert np.all(measure.fit(model, X).importances_[UNUSED] == 0)
    assert measure.response_path_.startswith("trees")


@pytest.mark.parametrize("library", CASES)
def test_numbers_beyond_single_precision(library):
    """Digits that single precision loses are lost, or kept, as the library does."""
    module, random = library_of(library), np.random.RandomState(0)
    X = np.column_stack(
        [0.1 + 1e-9 * random.randint(0, 300, 80), 2.0**24 + random.randint(0, 9, 80)]
    )
    y = 5.0 * (X[:, 0] > 0.1 + 150e-9) + X[:, 1] - 2**24
    name, small = {
        "xgboost": ("XGBRegressor", XGB),
        "lightgbm": ("LGBMRegressor", LGBM),
        "catboost": ("CatBoostRegressor", CAT),
    }[library]
    model = getattr(module, name)(**small).fit(X, y)
    check = check_curves if library == "xgboost" else check_equal
    check(model, X)
    whole = X.round().astype(np.int64)
    if library == "lightgbm":
        assert "2**24" in declined(model, whole)
    else:
        check(model, whole)
    check(model, whole.astype(np.int32) % 1000)


@pytest.mark.parametrize("form", ["csr_array", "csc_matrix", "coo_array"])
@pytest.mark.parametrize("native", [False, True], ids=["wrapper", "native"])
def test_absent_features_are_missing_to_xgboost(form, native):
    """A feature that a sparse X does not store is missing, a zero of an array is 0."""
    xgb = library_of("xgboost")
    X, y = half_zeros()
    model = xgb.XGBRegressor(**XGB).fit(getattr(sparse, form)(X), y)
    model = model.get_booster() if native else model
    check_curves(model, getattr(sparse, form)(X))
    check_curves(model, X)
    stored = sparse.csr_array(X)
    stored.data[:3] = 0
    assert "stores" in declined(model, stored)


@pytest.mark.parametrize("marker", [0.0, -999.0, 0.1])
def test_a_number_stands_for_missing_values(marker):
    """`missing=`, which XGBoost compares in single precision."""
    xgb = library_of("xgboost")
    X, y = half_zeros()
    X[X == 0] = marker
    model = xgb.XGBRegressor(**XGB, missing=marker).fit(X, y)
    X[::3, 0] = np.nan
    check_curves(model, X)
    check_curves(model, X.astype(np.float32))


NEAR_ZERO = [
    -2e-35,
    -np.float32(1e-35),
    -5e-36,
    0,
    5e-36,
    np.float32(1e-35),
    2e-35,
    1.0,
]


def test_lightgbm_next_to_zero():
    """Numbers next to 0 are 0 in every container."""
    lgbm = library_of("lightgbm")
    X, y = half_zeros()
    X[:, 1] = np.resize(NEAR_ZERO, len(X))
    X[:, 3] = np.resize(NEAR_ZERO[::-1], len(X))
    y = y + 2 * (X[:, 1] > 0) + (X[:, 1] < 0)
    model = lgbm.LGBMRegressor(**LGBM).fit(X, y)
    table = pd.DataFrame(X, columns=list("abcd"))
    containers = [X, table, pl.from_pandas(table)]
    containers += [sparse.csr_matrix(X), sparse.csc_matrix(X)]
    for container in containers:
        check_equal(model, container, grids=["all"])
        check_equal(model.booster_, container, grids=["all"], features=[1, 3])


@pytest.mark.parametrize("library", CASES)
def test_frames_of_numbers(library):
    """pandas and polars by name, integers and booleans among them."""
    module = library_of(library)
    X, y = frame()
    X = X.drop(columns=["colour", "size"])
    name, small = {
        "xgboost": ("XGBRegressor", XGB),
        "lightgbm": ("LGBMRegressor", LGBM),
        "catboost": ("CatBoostRegressor", CAT),
    }[library]
    for container in (X, pl.from_pandas(X)):
        model = getattr(module, name)(**small).fit(container, y)
        if library == "xgboost":
            check_curves(model, container)
            check_curves(model.get_booster(), container)
            check_curves(model.get_booster(), X.to_numpy(dtype=float))
        else:
            check_equal(model, container, grids=["all"])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("library", CASES)
def test_parameters_at_random(library, seed):
    """Depth, growth, regularisation, sampling and missing values in any mixture."""
    module, random = library_of(library), np.random.RandomState(100 + seed)
    X, y = data(seed=seed)
    X[random.rand(*X.shape) < 0.1] = np.nan
    target = three(y) if seed % 3 == 1 else y
    model = RANDOM[library](module, random, seed % 3 == 1).fit(X, target)
    X[random.rand(*X.shape) < 0.1] = 0.0
    if library == "xgboost":
        check_curves(model, X, features=FEATURES)
        check_in_double(model, X, "auto", ["all"])
    else:
        check_equal(model, X, features=FEATURES, grids=["all"], n_full=0)


def _random_xgboost(xgb, random, classify):
    kind = xgb.XGBClassifier if classify else xgb.XGBRegressor
    dart = {"booster": "dart", "rate_drop": 0.2} if random.rand() < 0.5 else {}
    return kind(
        **dart,
        n_estimators=random.randint(1, 30),
        max_depth=random.randint(1, 8),
        grow_policy=random.choice(["depthwise", "lossguide"]),
        max_leaves=random.randint(0, 12),
        learning_rate=random.uniform(0.05, 1),
        gamma=random.choice([0, 0.1]),
        min_child_weight=random.choice([0, 1, 3]),
        subsample=random.uniform(0.5, 1),
        colsample_bynode=random.uniform(0.5, 1),
        max_bin=random.choice([2, 4, 64]),
        num_parallel_tree=random.choice([1, 2]),
        random_state=0,
        n_jobs=1,
    )


def _random_lightgbm(lgbm, random, classify):
    kind = lgbm.LGBMClassifier if classify else lgbm.LGBMRegressor
    return kind(
        n_estimators=random.randint(1, 30),
        num_leaves=random.randint(2, 20),
        max_depth=random.choice([-1, 2, 4]),
        min_child_samples=random.randint(1, 6),
        learning_rate=random.uniform(0.05, 1),
        boosting_type=random.choice(["gbdt", "dart"]),
        subsample=random.uniform(0.5, 1),
        subsample_freq=random.choice([0, 1]),
        colsample_bytree=random.uniform(0.5, 1),
        max_bin=random.choice([4, 64]),
        use_missing=bool(random.choice([False, True, True])),
        path_smooth=random.choice([0, 1]),
        random_state=0,
        n_jobs=1,
        verbose=-1,
    )


def _random_catboost(cat, random, classify):
    kind = cat.CatBoostClassifier if classify else cat.CatBoostRegressor
    return kind(
        iterations=int(random.randint(1, 20)),
        depth=int(random.randint(1, 6)),
        grow_policy=str(random.choice(["SymmetricTree", "Depthwise", "Lossguide"])),
        learning_rate=float(random.uniform(0.05, 1)),
        border_count=int(random.choice([2, 8, 64])),
        nan_mode=str(random.choice(["Min", "Max"])),
        min_data_in_leaf=int(random.randint(1, 4)),
        l2_leaf_reg=float(random.uniform(0, 3)),
        random_seed=0,
        verbose=0,
        thread_count=1,
        allow_writing_files=False,
    )


RANDOM = {
    "xgboost": _random_xgboost,
    "lightgbm": _random_lightgbm,
    "catboost": _random_catboost,
}


@pytest.mark.parametrize("kind", ["cbm", "json", "onnx"])
def test_catboost_models_from_files(kind, tmp_path):
    """They say nothing of how many columns they have but their names."""
    cat = library_of("catboost")
    X, y = data()
    X = np.nan_to_num(X)
    model = cat.CatBoostRegressor(**CAT).fit(X, y)
    file = str(tmp_path / "model")
    model.save_model(file, format=kind)
    loaded = cat.CatBoostRegressor().load_model(file, format=kind)
    first, second = (
        SensitivityImportance(scale=None, estimation="exact").fit(m, X)
        for m in (model, loaded)
    )
    np.testing.assert_allclose(first.importances_, second.importances_, rtol=1e-5)
    # CatBoost cannot write a model read from ONNX
    assert second.response_path_.startswith("black box" if kind == "onnx" else "trees")
    with pytest.raises(ValueError, match=r"has 4 columns, .* fitted with 5"):
        SensitivityImportance().fit(loaded, X[:, :4])


def test_catboost_matches_columns_by_name():
    """Columns in another order are the same; those of categories must stay."""
    cat = library_of("catboost")
    X, y = frame()
    options = {**CAT, "cat_features": ["colour", "size"], "one_hot_max_size": 9}
    model = cat.CatBoostRegressor(**options).fit(X, y)
    turned = X[["count", "colour", "size", "flag", "number"]]
    measures = [
        SensitivityImportance(scale=None, estimation="exact"),
        ImpurityImportance(rows="unseen"),
    ]
    for measure in measures:
        expected = measure.fit(model, X, y).importances_
        found = measure.fit(model, turned, y)
        back = found.importances_[[4, 1, 2, 3, 0]]
        np.testing.assert_allclose(back, expected, rtol=1e-9)
        assert found.features_ == list(turned.columns)
        path = getattr(found, "response_path_", "trees")
        assert path.startswith("trees")
