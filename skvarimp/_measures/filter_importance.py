"""`FilterImportance`: the score of each column against y, without a model."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.feature_selection import f_classif, f_regression
from sklearn.utils.multiclass import type_of_target

from skvarimp._data.table import as_table, has_tags
from skvarimp._data.validation import (
    categories_of_numbers,
    check_sample_weight,
    check_target,
)
from skvarimp._measures.base import BaseImportance
from skvarimp._measures.f_statistics import target_between_levels
from skvarimp._results.words import score_in_words
from skvarimp._running.guards import users_code

LARGEST_REPEATED = 10**8  # rows


@dataclass(kw_only=True, eq=False, repr=False)
class FilterImportance(BaseImportance):
    """Importance of each column by itself for y, whatever the model.

    A filter ignores the model and is a simple baseline for measures that use it. It
    misses joint effects of columns (neither feature of an exclusive or stands out), and
    gives every copy of a useful column the same score.

    Parameters
    ----------
    score_func : callable, default=None
        (X, y) -> scores of shape (n_features,), or a pair (scores, p_values): those of
        :mod:`skvarimp.filters`, of :mod:`sklearn.feature_selection`, or your own. More
        important columns must score higher. None: the F statistic, of each column
        between the classes of y for a classification
        (:func:`sklearn.feature_selection.f_classif`), and of the regression of y on
        the column for numbers (:func:`sklearn.feature_selection.f_regression`). The
        estimator says which of them y is for; without one, numbers that are not whole
        are a regression.

    Attributes
    ----------
    importances_ : ndarray of shape (n_features,)
        The scores, in their own unit; negative where the scores are. A score that is
        NaN becomes 0, or the lowest of the others if that is negative: it ranks last,
        as in :class:`sklearn.feature_selection.SelectKBest`.
    importances_per_output_ : ndarray of shape (n_features, 1)
        The same as a column.
    scores_ : ndarray of shape (n_features,)
        As `score_func` returned them, NaN included.
    score_name_ : str
        Name of the score function.
    pvalues_ : ndarray of shape (n_features,) or None
        P-values, if `score_func` returned a pair.
    standard_errors_ : None
        Filters have no standard errors.
    ranking_ : ndarray of shape (n_features,)
        1 = most important; ties in the order of the columns.
    features_ : list of str
        Names of the columns.
    output_names_ : list of str
        Always ["y"].
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, when X had any.

    See Also
    --------
    skvarimp.filters : Score functions: LOWESS R², area under the ROC curve, F.

    Notes
    -----
    Sample weights are passed on to a `score_func` that takes `sample_weight`. For
    others, integer weights repeat the rows, rows with zero weight are ignored, and
    other fractions raise an error.

    References
    ----------
    Greenwell, McCarthy & Boehmke (2017), A general model-based variable importance
    metric for supervised learning, section 2.2.

    Examples
    --------
    >>> from skvarimp import FilterImportance
    >>> from skvarimp.filters import auc
    >>> X = [[1, 5], [3, 5], [2, 5], [4, 5]]
    >>> importance = FilterImportance(score_func=auc).fit(None, X, [0, 0, 1, 1])
    >>> importance.importances_
    array([0.75, 0.5 ])
    """

    _may_be_infinite = True

    _parameter_constraints = {"score_func": [callable, None]}  # noqa: RUF012

    score_func: Callable[..., Any] | None = None

    def _fit(self, estimator, X, y, sample_weight):
        # The estimator is only asked what kind of target it learns: it is there so
        # that all importances are called alike.
        table = as_table(X)
        y = check_target(y, table.n_samples)
        if y is None:
            raise ValueError("y is needed: a filter compares each column with it.")
        features = self._set_features(table, None)
        function = self.score_func
        if function is None:
            function = f_classif if _are_classes(estimator, y) else f_regression
        self.score_name_ = getattr(function, "__name__", type(function).__name__)
        scores, self.pvalues_ = self._score(function, table, y, sample_weight)
        named = categories_of_numbers(table)
        if named and function in (f_classif, f_regression):
            # the labels of categories are names: y is compared between them
            if function is f_classif:
                names = [table.column_names()[j] for j in named]
                raise ValueError(
                    f"f_classif compares the columns between classes, but {names} are "
                    "categories. Encode them, leave them out, or give another "
                    "`score_func`."
                )
            levels = table.select(np.array(named))
            found = self._score(target_between_levels, levels, y, sample_weight)
            scores[named], self.pvalues_[named] = found
        if scores.shape != (table.n_columns,):
            raise ValueError(
                f"`score_func` must return one score per column, shape "
                f"({table.n_columns},), got {scores.shape}."
            )
        self.scores_ = scores
        undefined = np.isnan(scores)
        lowest = scores[~undefined].min(initial=0.0)
        importances = np.where(undefined, lowest, scores)
        self._store(importances[:, np.newaxis], [e.name for e in features], ["y"])

    def _score(self, function, table, y, sample_weight):
        """Scores and p-values (or None) as float64 arrays."""
        extra = {}
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, table.n_samples)
            if _takes_sample_weight(function):
                rows = np.flatnonzero(weights)
                extra["sample_weight"] = weights[rows]
            else:
                rows = _repeated_rows(weights, self.score_name_)
            table, y = table.take(rows), y[rows]
        X = table  # the filters of this package name its columns in their errors
        if not _is_ours(function):
            numeric = table.numeric()
            X = table.native if numeric is None else numeric
        with users_code():
            result = function(X, y, **extra)
        if isinstance(result, tuple | list) and len(result) == 2:
            return tuple(np.asarray(part, dtype=np.float64) for part in result)
        return np.asarray(result, dtype=np.float64), None

    def _quantity(self):
        return f"{score_in_words(self.score_name_)[0]} by itself"

    def _in_words(self):
        score, unit = score_in_words(self.score_name_)
        return self._says(f"the {score} of a feature by itself for y", unit=unit)


def _are_classes(estimator, y):
    """Whether y holds classes: as its estimator says, else by its values."""
    if has_tags(estimator) and (is_classifier(estimator) or is_regressor(estimator)):
        return is_classifier(estimator)
    return type_of_target(y) in ("binary", "multiclass")


def _is_ours(function):
    function = getattr(function, "func", function)  # of a functools.partial
    return getattr(function, "__module__", "") == "skvarimp.filters"


def _takes_sample_weight(function):
    try:
        return "sample_weight" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # built-in functions may have no signature
        return False


def _repeated_rows(weights, name):
    counts = np.rint(weights)
    if counts.sum() > LARGEST_REPEATED:
        raise ValueError(
            f"`sample_weight` sums to {counts.sum():g}, but at most "
            f"{LARGEST_REPEATED:g} rows can be repeated. Use a score function that "
            "takes `sample_weight`, or smaller weights."
        )
    if np.any(counts != weights):
        bad = weights[counts != weights][0]
        raise ValueError(
            f"`sample_weight` must be whole numbers, got {bad:g}: {name} takes no "
            "weights, so the rows are repeated. Use a score function that takes "
            "`sample_weight`, or round the weights."
        )
    return np.repeat(np.arange(len(weights)), counts.astype(np.intp))
