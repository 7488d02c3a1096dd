"""Whether a model has been fitted, and on such columns.

The model's attributes answer first. Where they say no, the model itself decides: some
keep what they learned where scikit-learn does not look, and some take more columns than
they were fitted on.
"""

import numbers
from contextlib import suppress

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from skvarimp._data.base_table import Table
from skvarimp._data.rows_apart import as_rows
from skvarimp._data.validation import RESPONSE_METHODS, has_tags
from skvarimp._running.guards import users_code


def check_fitted(estimator, X=None):
    """Raise for a class, and for an estimator that has not been fitted.

    Parameters
    ----------
    estimator : object
    X : object, default=None
        Rows, one of which an estimator is asked for that seems to be unfitted.
    """
    if isinstance(estimator, type):
        raise TypeError(
            f"`estimator` must be a fitted model, got the class {estimator.__name__}. "
            "Make an instance and fit it first."
        )
    if has_tags(estimator) and hasattr(estimator, "fit"):
        try:
            check_is_fitted(estimator)
        except NotFittedError:
            if X is None or not _responds(estimator, X):
                raise


def check_features_seen(estimator, table):
    """Raise ValueError where X has another width than the estimator was fitted on.

    More columns are fine if the estimator takes them: those that ask for columns by
    name do not mind others.
    """
    expected = getattr(estimator, "n_features_in_", None)
    if isinstance(expected, numbers.Integral) and expected == 0:
        # a model that CatBoost's `load_model` has read knows only its columns' names
        expected = len(getattr(estimator, "feature_names_", ())) or None
    if not isinstance(expected, numbers.Integral) or expected == table.n_columns:
        return
    if table.n_columns < expected or not _responds(estimator, table):
        raise ValueError(
            f"X has {table.n_columns} columns, but {type(estimator).__name__} was "
            f"fitted with {expected}. Pass the columns the estimator was fitted with."
        )


def _responds(estimator, X):
    """Whether a model has a response for the first row of X."""
    rows = as_rows(X)
    table = rows if isinstance(rows, Table) else rows.head.table
    row = table.take(np.arange(min(1, table.n_samples))).native
    for method in RESPONSE_METHODS:
        with users_code(), suppress(Exception):  # a model may raise anything
            getattr(estimator, method)(row)
            return True
    return False
