"""Models of boosting libraries that take no arrays or frames, in one place.

`lightgbm.Booster` and `catboost.CatBoost` predict rows in any container; only
`xgboost.Booster` insists on its own. Nothing here imports a library: whoever holds a
model of it has imported it.
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

    The booster keeps none; whoever trained it with another than NaN can say so with
    ``booster.set_attr(missing=-999)``.
    """
    said = booster.attr("missing")
    return float("nan") if said is None else float(said)


def rows_for(estimator, X):
    """X as a model takes it: a `DMatrix` for `xgboost.Booster`, else X itself.

    Columns of codes of categories are told by the types the booster was trained with.
    """
    if not is_exactly(estimator, "xgboost", "Booster"):
        return X
    marker = missing_marker(estimator)
    options = {"enable_categorical": True, "missing": marker}
    if not hasattr(X, "columns"):
        options["feature_types"] = estimator.feature_types
        options["feature_names"] = estimator.feature_names
    return sys.modules["xgboost"].DMatrix(X, **options)
