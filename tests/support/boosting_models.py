"""Data for boosting libraries, and a builder of every kind of fitted model."""

import numpy as np
import pandas as pd


def data(n=48, seed=0):
    """(X, y): continuous, few-valued, constant and half zeros, one unused; missing."""
    random = np.random.RandomState(seed)
    X = np.column_stack(
        [
            random.randn(n),
            random.randint(0, 4, n),
            np.full(n, 1.5),
            random.randn(n) * (random.rand(n) < 0.5),
            random.randn(n),
        ]
    ).astype(float)
    y = X[:, 0] * (1 + X[:, 1]) + 2 * X[:, 3] + (X[:, 3] == 0)
    X[random.rand(n) < 0.2, 0] = np.nan
    X[random.rand(n) < 0.1, 1] = np.nan
    X[:, 4] = 0.0  # takes no part, and then moves
    return X, y


UNUSED = [2, 4]


def moving(X, seed=1):
    """X with an unused column that varies after the fit."""
    X = X.copy()
    X[:, 4] = np.random.RandomState(seed).randn(len(X))
    return X


def three(y):
    """Three classes."""
    return np.digitize(y, np.quantile(y, [0.4, 0.7]))


def two(y):
    """Two classes, as texts."""
    return np.where(y > np.median(y), "yes", "no")


def frame(n=60, seed=0, numbers_first=True):
    """(frame, y): categories of texts and of numbers, missing ones, booleans."""
    random = np.random.RandomState(seed)
    X = pd.DataFrame(
        {
            "number": random.randn(n),
            "colour": random.choice(["red", "green", "blue", "a long name"], n),
            "size": random.choice([3, 7, 9], n),
            "flag": random.rand(n) < 0.5,
            "count": random.randint(0, 6, n),
        }
    )
    y = X["number"] * (X["colour"] == "red") + 2 * (X["size"] == 7) + X["flag"]
    y = y + (X["colour"] == "blue") * (X["count"] > 2)
    return X, y.to_numpy(dtype=float)


def categorical_frame(missing=True, **options):
    """The frame with pandas' categories."""
    X, y = frame(**options)
    X = X.astype({"colour": "category", "size": "category"})
    if missing:
        X.loc[::9, "colour"] = None
        X.loc[::7, "number"] = np.nan
    return X, y


def half_zeros(n=60):
    """(X, y) with many zeros and no missing values."""
    random = np.random.RandomState(2)
    X = random.randn(n, 4) * (random.rand(n, 4) < 0.5)
    return X, X[:, 0] + X[:, 1] * X[:, 2] + (X[:, 3] == 0) + (X[:, 1] < 0)


# One builder per case: library -> name -> (library, X, y) -> (model, response method)

XGB = {"n_jobs": 1, "n_estimators": 8, "max_depth": 3, "min_child_weight": 0.1}


def _xgb(kind="XGBRegressor", method="auto", target=lambda y: y, fit=(), **more):
    def build(xgb, X, y):
        model = getattr(xgb, kind)(**{**XGB, **more})
        return model.fit(X, target(y), **dict(fit)), method

    return build


def _numbers(y):
    return (y > np.median(y)).astype(int)


def _labels(y):
    return np.column_stack([y > 0, y > 1, np.abs(y) < 1]).astype(int)


def _xgb_native(objective, target=_numbers, **more):
    def build(xgb, X, y):
        options = {"objective": objective, "max_depth": 3, **more}
        return xgb.train(options, xgb.DMatrix(X, target(y)), 6), "predict"

    return build


def _xgb_stopped(xgb, X, y):
    model = xgb.XGBRegressor(n_estimators=60, max_depth=3, early_stopping_rounds=2)
    half = len(X) // 2
    model.fit(X[:half], y[:half], eval_set=[(X[half:], y[half:])], verbose=0)
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    return model, "predict"


def _xgb_aft(xgb, X, y):
    bounds = {"label_lower_bound": np.exp(y), "label_upper_bound": np.exp(y) + 1}
    rows = xgb.DMatrix(X, **bounds)
    return xgb.train({"objective": "survival:aft", "max_depth": 3}, rows, 6), "predict"


def _both(y):
    return np.column_stack([y, -(y**2)])


def _own_gradient(y, predicted):
    return predicted - y, np.ones_like(y)


_groups = (("qid", np.repeat(np.arange(6), 8)),)
_three_softmax = {"objective": "multi:softmax"}

XGBOOST = {
    "squares": _xgb(),
    "deep, lossguide": _xgb(grow_policy="lossguide", max_leaves=9, max_depth=0),
    "exact": _xgb(tree_method="exact"),
    "approx": _xgb(tree_method="approx"),
    "dart": _xgb(booster="dart", rate_drop=0.5, random_state=0),
    "forest": _xgb("XGBRFRegressor"),
    "boosted forests": _xgb(num_parallel_tree=3, subsample=0.7, random_state=0),
    "early stopping": _xgb_stopped,
    "poisson": _xgb(objective="count:poisson", target=np.exp),
    "gamma": _xgb(objective="reg:gamma", target=np.exp),
    "tweedie": _xgb(objective="reg:tweedie", target=np.exp),
    "log squares": _xgb(objective="reg:squaredlogerror", target=np.exp),
    "pseudo Huber": _xgb(objective="reg:pseudohubererror"),
    "absolute": _xgb(objective="reg:absoluteerror"),
    "quantiles": _xgb(objective="reg:quantileerror", quantile_alpha=[0.2, 0.8]),
    "logistic": _xgb(objective="reg:logistic", target=_numbers),
    "own objective": _xgb(objective=_own_gradient),
    "two targets": _xgb(target=_both),
    "two counts": _xgb(
        objective="count:poisson", target=lambda y: np.exp(_both(y / 3))
    ),
    "missing is 0": _xgb(missing=0.0),
    "weak, monotone": _xgb(monotone_constraints="(1,0,0,-1,0)", base_score=2.5),
    "classes": _xgb("XGBClassifier", target=_numbers),
    "classes, labels": _xgb("XGBClassifier", "predict", _numbers),
    "3 classes": _xgb("XGBClassifier", target=three),
    "3 classes, labels": _xgb("XGBClassifier", "predict", three),
    "3 classes, softmax": _xgb("XGBClassifier", target=three, **_three_softmax),
    "softmax, labels": _xgb("XGBClassifier", "predict", three, **_three_softmax),
    "3 targets": _xgb("XGBClassifier", target=_labels),
    "3 targets, labels": _xgb("XGBClassifier", "predict", _labels),
    "hinge, labels": _xgb(
        "XGBClassifier", "predict", _numbers, objective="binary:hinge"
    ),
    "forest, classes": _xgb("XGBRFClassifier", target=three),
    "ranker": _xgb("XGBRanker", target=three, fit=_groups),
    "native, squares": _xgb_native("reg:squarederror", lambda y: y),
    "native, logistic": _xgb_native("binary:logistic"),
    "native, raw": _xgb_native("binary:logitraw"),
    "native, Cox": _xgb_native("survival:cox", np.exp),
    "native, failure time": _xgb_aft,
    "native, softprob": _xgb_native("multi:softprob", three, num_class=3),
    "native, 2 of softprob": _xgb_native("multi:softprob", num_class=2),
}

LGBM = {"n_jobs": 1, "n_estimators": 8, "min_child_samples": 3, "verbose": -1}


def _lgbm(kind="LGBMRegressor", method="auto", target=lambda y: y, fit=(), **more):
    def build(lgbm, X, y):
        model = getattr(lgbm, kind)(**{**LGBM, **more})
        return model.fit(X, target(y), **dict(fit)), method

    return build


def _lgbm_native(lgbm, X, y):
    options = {"objective": "multiclass", "num_class": 3, "min_data_in_leaf": 3}
    rows = lgbm.Dataset(X, three(y))
    return lgbm.train({**options, "verbose": -1}, rows, 6), "predict"


def _lgbm_stopped(lgbm, X, y):
    options = {"min_data_in_leaf": 3, "verbose": -1, "num_threads": 1}
    rows = lgbm.Dataset(X[::2], y[::2])
    model = lgbm.train(
        options,
        rows,
        60,
        valid_sets=[rows.create_valid(X[1::2], y[1::2])],
        callbacks=[lgbm.early_stopping(2, verbose=False)],
        keep_training_booster=True,
    )
    assert 0 < model.best_iteration < model.current_iteration()
    return model, "predict"


def _between(y):
    return 1 / (1 + np.exp(-y))


_forest = {"boosting_type": "rf", "subsample": 0.7, "subsample_freq": 1}

LIGHTGBM = {
    "squares": _lgbm(),
    "absolute": _lgbm(objective="regression_l1"),
    "Huber": _lgbm(objective="huber"),
    "fair": _lgbm(objective="fair"),
    "quantile": _lgbm(objective="quantile", alpha=0.3),
    "percentages": _lgbm(objective="mape"),
    "poisson": _lgbm(objective="poisson", target=np.exp),
    "gamma": _lgbm(objective="gamma", target=np.exp),
    "tweedie": _lgbm(objective="tweedie", target=np.exp),
    "cross-entropy": _lgbm(objective="cross_entropy", target=_between),
    "own objective": _lgbm(objective=_own_gradient),
    "dart": _lgbm(boosting_type="dart"),
    "forest": _lgbm(**_forest),
    "early stopping": _lgbm_stopped,
    "missing is zero": _lgbm(use_missing=False),
    "extra trees": _lgbm(extra_trees=True),
    "classes": _lgbm("LGBMClassifier", target=two, sigmoid=2.0),
    "classes, labels": _lgbm("LGBMClassifier", "predict", two),
    "classes, scores": _lgbm("LGBMClassifier", "decision_function", two),
    "3 classes": _lgbm("LGBMClassifier", target=three),
    "3 classes, labels": _lgbm("LGBMClassifier", "predict", three),
    "one against others": _lgbm(
        "LGBMClassifier", target=three, objective="multiclassova"
    ),
    "2 of softmax": _lgbm(
        "LGBMClassifier", target=_numbers, objective="multiclass", num_class=2
    ),
    "forest, classes": _lgbm("LGBMClassifier", target=three, **_forest),
    "forest, scores": _lgbm("LGBMClassifier", "decision_function", three, **_forest),
    "ranker": _lgbm("LGBMRanker", target=three, fit=(("group", [8] * 6),)),
    "native": _lgbm_native,
}

CAT = {"iterations": 8, "depth": 3, "verbose": 0, "allow_writing_files": False}
CAT["thread_count"] = 1


def _cat(kind="CatBoostRegressor", method="auto", target=lambda y: y, fit=(), **more):
    def build(cat, X, y):
        model = getattr(cat, kind)(**{**CAT, **more})
        return model.fit(X, target(y), **dict(fit)), method

    return build


def _cat_native(loss, target):
    def build(cat, X, y):
        return cat.CatBoost({**CAT, "loss_function": loss}).fit(X, target(y)), "predict"

    return build


def _cat_threshold(cat, X, y):
    model = cat.CatBoostClassifier(**CAT).fit(X, two(y))
    model.set_probability_threshold(0.3)
    return model, "predict"


def _cat_stopped(cat, X, y):
    model = cat.CatBoostRegressor(**{**CAT, "iterations": 80}, learning_rate=0.5)
    half = len(X) // 2
    model.fit(X[:half], y[:half], eval_set=(X[half:], y[half:]))
    assert model.tree_count_ < 80
    return model, "predict"


CATBOOST = {
    "squares": _cat(),
    "by depth": _cat(grow_policy="Depthwise"),
    "lossguide": _cat(grow_policy="Lossguide", max_leaves=7),
    "early stopping": _cat_stopped,
    "missing above": _cat(nan_mode="Max"),
    "absolute": _cat(loss_function="MAE"),
    "quantile": _cat(loss_function="Quantile:alpha=0.3"),
    "3 quantiles": _cat(loss_function="MultiQuantile:alpha=0.1,0.5,0.9"),
    "power": _cat(loss_function="Lq:q=3"),
    "poisson": _cat(loss_function="Poisson", target=np.exp),
    "tweedie": _cat(loss_function="Tweedie:variance_power=1.5", target=np.exp),
    "two targets": _cat(loss_function="MultiRMSE", target=_both),
    "classes": _cat("CatBoostClassifier", target=two),
    "classes, labels": _cat("CatBoostClassifier", "predict", two),
    "classes, threshold": _cat_threshold,
    "shares": _cat("CatBoostClassifier", target=_between, loss_function="CrossEntropy"),
    "3 classes": _cat("CatBoostClassifier", target=three),
    "3 classes, labels": _cat("CatBoostClassifier", "predict", three),
    "3 classes, by depth": _cat(
        "CatBoostClassifier", target=three, grow_policy="Depthwise"
    ),
    "2 of softmax": _cat("CatBoostClassifier", target=two, loss_function="MultiClass"),
    "one against others": _cat(
        "CatBoostClassifier", target=three, loss_function="MultiClassOneVsAll"
    ),
    "3 targets": _cat(
        "CatBoostClassifier", target=_labels, loss_function="MultiLogloss"
    ),
    "3 targets, labels": _cat(
        "CatBoostClassifier", "predict", _labels, loss_function="MultiLogloss"
    ),
    "ranker": _cat(
        "CatBoostRanker",
        target=three,
        loss_function="QueryRMSE",
        fit=(("group_id", np.repeat(np.arange(6), 8)),),
    ),
    "native, squares": _cat_native("RMSE", lambda y: y),
    "native, scores": _cat_native("Logloss", _numbers),
    "native, 3 scores": _cat_native("MultiClass", three),
}

CASES = {"xgboost": XGBOOST, "lightgbm": LIGHTGBM, "catboost": CATBOOST}
