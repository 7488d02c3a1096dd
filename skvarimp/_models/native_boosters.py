"""Models of boosting libraries that take no arrays or frames, in one place.

`lightgbm.Booster` and `catboost.CatBoost` predict rows in any container. Only
`xgboost.Booster` insists on its own. Nothing here imports a library: the user who holds
one of its models has imported it.
"""

import sys

from skvarimp._models.column_sources import is_exactly

# What they call models whose `predict` returns scores, whatever the target was.
NATIVE = {"xgboost": "Booster", "lightgbm": "Booster", "catboost": "CatBoost"}


def is_native(estimator):
    """Whether a model is a library's own, which has no classes, not a wrapper."""
    return any(is_exactly(estimator, *native) for native in NATIVE.items())


def missing_marker(booster):
    """The number that stands for a missing value in an `xgboost.Booster`'s rows.

    The booster does not keep it. If it was trained with another number than NaN, the
    user can say so by ``booster.set_attr(missing=-999)``.
    """
    said = booster.attr("missing")
    return float("nan") if said is None else float(said)


def rows_for(estimator, X):
    """X as a model takes it: a `DMatrix` for `xgboost.Booster`, else X itself.

    The types that the booster was trained with tell which columns hold categories.
    """
    if not is_exactly(estimator, "xgboost", "Booster"):
        return X
    marker = missing_marker(estimator)
    options = {"enable_categorical": True, "missing": marker}
    if not hasattr(X, "columns"):
        options["feature_types"] = estimator.feature_types
        options["feature_names"] = estimator.feature_names
    return sys.modules["xgboost"].DMatrix(X, **options)
