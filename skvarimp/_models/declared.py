"""The columns of X that a fitted model itself treats as categories.

Histogram gradient boosting, LightGBM, CatBoost and XGBoost say which columns they split
by sets of values, and scikit-learn's encoders take every column that they are given for
categories. Meta-estimators and pipelines are asked for the models inside them.
"""

import inspect
import re
import sys

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, TargetEncoder
from sklearn.tree import BaseDecisionTree

from skvarimp._data.base_table import column_names
from skvarimp._models.transformers import NotColumnwise, sources

ENCODERS = OneHotEncoder, OrdinalEncoder, TargetEncoder
# Where meta-estimators keep the fitted models that are given all columns of X.
INNER = ("best_estimator_", "estimator_", "regressor_", "classifier_", "estimators_")
INNER += ("calibrated_classifiers_", "estimator")


def declared_categories(estimator, n_columns, names=None):
    """The positions of the columns that a fitted model treats as categories.

    Parameters
    ----------
    estimator : object
        Fitted; any object that says nothing of its columns declares none.
    n_columns : int
        Of X.
    names : list of str, default=None
        Of X's columns.

    Returns
    -------
    frozenset of int
    """
    found = _declared(estimator, n_columns, names)
    return frozenset(int(j) for j in found if 0 <= j < n_columns)


def _declared(estimator, n_columns, names):
    if isinstance(estimator, type | BaseDecisionTree):  # trees split by numbers
        return set()
    if inspect.ismethod(estimator):  # such as model.predict
        return _declared(estimator.__self__, n_columns, names)
    if isinstance(estimator, ENCODERS):
        return set(range(n_columns))
    if isinstance(estimator, ColumnTransformer):
        return _of_column_transformer(estimator, n_columns, names)
    if isinstance(estimator, Pipeline):
        return _of_pipeline(estimator, n_columns, names)
    mask = getattr(estimator, "is_categorical_", None)
    if isinstance(mask, np.ndarray):  # of histogram gradient boosting
        return set(np.flatnonzero(mask).tolist())
    for library, columns_of in LIBRARIES.items():
        module = sys.modules.get(library)
        if module is not None and isinstance(estimator, _models(module)):
            return columns_of(estimator, names)
    return _of_inner_models(estimator, n_columns, names)


def _of_inner_models(estimator, n_columns, names):
    """What the models inside a meta-estimator declare."""
    declared, columns_of = set(), getattr(estimator, "estimators_features_", None)
    for attribute in INNER:
        if attribute == "estimator" and declared:
            break
        inner = vars(estimator).get(attribute) if hasattr(estimator, "__dict__") else ()
        several = isinstance(inner, list | tuple | np.ndarray)
        models = np.ravel(np.array(inner, dtype=object)) if several else [inner]
        for number, model in enumerate(models):
            if not hasattr(model, "__dict__"):
                continue
            if attribute == "estimators_" and columns_of is not None:
                own = np.asarray(columns_of[number])  # the columns drawn for a bag
                taken = None if names is None else [names[j] for j in own]
                declared |= set(own[sorted(_declared(model, len(own), taken))].tolist())
            elif isinstance(model, BaseEstimator) or attribute != "estimator":
                declared |= _declared(model, n_columns, names)
    return declared


def _of_pipeline(pipeline, n_columns, names):
    """What the first step declares, and the next ones of columns that are its input."""
    declared, source = set(), np.arange(n_columns)
    for _, step in pipeline.steps:
        if step is None or isinstance(step, str):
            continue
        declared |= {int(source[j]) for j in _within(step, len(source), names)}
        try:
            source = source[sources(step, len(source), names)]
        except NotColumnwise:
            break
        names = None
    return declared


def _within(step, n_columns, names):
    return [j for j in _declared(step, n_columns, names) if j < n_columns]


def _of_column_transformer(transformer, n_columns, names):
    """The columns of the parts that declare theirs."""
    declared = set()
    for _, part, columns in getattr(transformer, "transformers_", ()):
        if isinstance(part, str):
            continue
        positions = _positions(transformer, columns, n_columns, names)
        taken = None if names is None else [names[j] for j in positions]
        found = _within(part, len(positions), taken)
        declared |= {positions[k] for k in found}
    return declared


def _positions(transformer, columns, n_columns, names):
    """Positions in X of the columns that a part of a ColumnTransformer asks for."""
    known = getattr(transformer, "feature_names_in_", None)
    labels = names if names is not None else known
    labels = column_names(None if labels is None else list(labels), n_columns)
    if isinstance(columns, slice):
        start, stop = columns.start, columns.stop
        if isinstance(start, str) or isinstance(stop, str):  # the last one included
            first = 0 if start is None else labels.index(start)
            last = n_columns if stop is None else labels.index(stop) + 1
            return list(range(first, last))[:: columns.step or 1]
        return list(range(n_columns))[columns]
    columns = [columns] if np.ndim(columns) == 0 else list(columns)
    if columns and all(isinstance(c, bool | np.bool_) for c in columns):
        return np.flatnonzero(columns).tolist()
    return [
        labels.index(c) if isinstance(c, str) else int(c) % n_columns
        for c in columns
        if not isinstance(c, str) or c in labels
    ]


def _models(module):
    """The classes of a boosting library that hold a fitted model."""
    names = "LGBMModel", "Booster", "CatBoost", "XGBModel"
    return tuple(getattr(module, name) for name in names if hasattr(module, name))


def _of_lightgbm(estimator, names):
    """LightGBM lists the values of a category, and the range of a number."""
    booster = estimator
    if hasattr(estimator, "__sklearn_is_fitted__"):
        if not estimator.__sklearn_is_fitted__():
            return set()
        booster = estimator.booster_
    text = booster.model_to_string(num_iteration=1)
    infos = re.search(r"^feature_infos=(.*)$", text, re.MULTILINE)
    each = infos.group(1).split() if infos else []
    return {j for j, info in enumerate(each) if info[0] not in "[n"}


def _of_xgboost(estimator, names):
    """XGBoost keeps a letter for each column."""
    booster = estimator
    if hasattr(estimator, "get_booster"):
        if not estimator.__sklearn_is_fitted__():
            return set()
        booster = estimator.get_booster()
    return {j for j, kind in enumerate(booster.feature_types or ()) if kind == "c"}


def _of_catboost(estimator, names):
    """CatBoost finds a frame's columns by their names, in any order."""
    if not estimator.is_fitted():
        return set()
    known = list(estimator.feature_names_ or ())
    by_name = names is not None and set(known) <= set(names)
    places = [names.index(name) for name in known] if by_name else range(len(known))
    return {places[k] for k in estimator.get_cat_feature_indices()}


LIBRARIES = {"lightgbm": _of_lightgbm, "xgboost": _of_xgboost, "catboost": _of_catboost}
