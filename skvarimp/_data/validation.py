"""Errors about y, weights and parameters."""

import numbers
from functools import cache
from typing import get_args, get_type_hints

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, check_scalar
from sklearn.utils.multiclass import check_classification_targets

from skvarimp._data.base_table import is_missing
from skvarimp._data.frames import FrameTable
from skvarimp._data.table import RESPONSE_METHODS, as_array, check_in_memory
from skvarimp._running.guards import warn
from skvarimp._running.private_sklearn import (
    Interval,
    StrOptions,
    validate_parameter_constraints,
)


class NumberOfBins(Interval):
    """A whole number from 1 on; True is none, though Python counts it as 1."""

    def __init__(self):
        super().__init__(numbers.Integral, 1, None, closed="left")

    def is_satisfied_by(self, value):
        """See scikit-learn's constraints."""
        return not isinstance(value, bool) and super().is_satisfied_by(value)


class NumberOfDraws(Interval):
    """An even number from 4 on: some strata have two donors each."""

    def __init__(self):
        super().__init__(numbers.Integral, 4, 2**16, closed="both")

    def is_satisfied_by(self, value):
        """See scikit-learn's constraints."""
        return super().is_satisfied_by(value) and value % 2 == 0

    def __str__(self):
        return "an even int of at least 4"


def grid_constraint(*names):
    """Constrain a parameter that takes named grids, a number of bins, or values."""
    return [StrOptions(set(names)), NumberOfBins(), "array-like", dict]


# Of parameters that mean the same wherever they occur.
CONSTRAINTS = {
    "categorical_features": ["array-like", str, None],
    "features": ["array-like", dict, None],
    "grid": grid_constraint("all", "equidistant", "deciles"),
    "keep_rows": ["boolean"],
    "max_evaluations": [Interval(numbers.Integral, 1, None, closed="left"), None],
    "n_jobs": [
        Interval(numbers.Integral, 1, 2**16, closed="both"),
        Interval(numbers.Integral, None, -1, closed="right"),
        None,
    ],
    "n_draws": [StrOptions({"auto"}), NumberOfDraws()],
    "n_repeats": [Interval(numbers.Integral, 1, 2**31, closed="both")],
    "random_state": ["random_state", np.random.Generator],
    "response_method": [StrOptions({"auto", *RESPONSE_METHODS})],
    "tol": [Interval(numbers.Real, 0, None, closed="neither"), None],
}


def check_sample_weight(sample_weight, n_samples):
    """Return weights as float array of shape (n_samples,), not normalised.

    At least two rows must have positive weight: one row cannot be perturbed.
    """
    weight = check_weights(sample_weight, n_samples)
    check_two_rows(n_samples, np.count_nonzero(weight), sample_weight is not None)
    return weight


def check_two_rows(n_samples, n_positive, weighted):
    """Raise where fewer than two rows have positive weight."""
    if n_positive == 0:
        raise ValueError(
            "X has no rows." if n_samples == 0 else "`sample_weight` is 0 everywhere."
        )
    if n_positive == 1:
        where = "has positive `sample_weight`" if weighted else "in X"
        raise ValueError(
            f"Only one row {where}; at least two are needed to see a prediction change."
        )


def check_weights(given, n, name="sample_weight", each="row of X"):
    """Return weights as float array of shape (n,), 1 for None; all may be 0."""
    if given is None:
        return np.ones(n)
    check_in_memory(given, f"`{name}`")
    try:
        weight = check_array(
            given,
            dtype=np.float64,
            ensure_2d=False,
            ensure_min_samples=0,
            input_name=f"`{name}`",
        )
    except (TypeError, ValueError) as error:
        raise ValueError(f"`{name}` must be finite numbers: {error}") from None
    if weight.shape != (n,):
        raise ValueError(
            f"`{name}` must have shape ({n},), one weight per {each}, got "
            f"{weight.shape}."
        )
    if np.any(weight < 0):
        raise ValueError(
            f"`{name}` must be non-negative, got {weight.min():g}. Use weight 0 to "
            f"leave a {each.partition(' ')[0]} out."
        )
    if weight.max(initial=0.0) > np.finfo(np.float64).max / max(n, 1):
        raise ValueError(
            f"`{name}` is too large to be summed, got {weight.max():g}. Divide the "
            "weights by their maximum."
        )
    # A weight that is lost in the division by the sum is 0.
    return np.where(weight < 1e-290 * weight.max(initial=0.0), 0.0, weight)


def check_labels(labels, n_samples, name):
    """Return labels of the rows as an array that can be sorted.

    Parameters
    ----------
    labels : array-like of shape (n_samples,)
        Strings, numbers or any other labels.
    n_samples : int
    name : str
        Of the parameter.
    """
    labels = as_array(labels, f"`{name}`")
    if labels.shape != (n_samples,):
        raise ValueError(
            f"`{name}` must have one label per row of X, shape ({n_samples},), got "
            f"shape {labels.shape}."
        )
    mixed = labels.dtype.kind == "O"
    if np.any([*map(is_missing, labels)] if mixed else labels != labels):
        raise ValueError(
            f"`{name}` holds missing values. Give these rows a label of their own, "
            "such as 'unknown'."
        )
    kinds = {isinstance(label, str) for label in labels} if mixed else ()
    return labels.astype(str) if len(kinds) == 2 else labels


FEW_UNITS = 10  # fewer rows or groups do not tell how much they differ


def check_rows(sample_weight, groups, n_samples):
    """Validate what `fit` was given of each row.

    Returns
    -------
    weights : ndarray of shape (n_samples,)
        See `check_sample_weight`.
    kept : ndarray of shape (n_samples,), bool
        Which of them are positive.
    labels : ndarray of shape (n_kept,) or None
        The group labels of these rows.

    Warns
    -----
    ImportanceWarning
        If there are few groups, or weights let few rows or groups count.
    """
    weights = check_sample_weight(sample_weight, n_samples)
    kept, labels = weights > 0, None
    units, what = weights[kept], "rows"
    if groups is not None:
        labels = check_labels(groups, n_samples, "groups")[kept]
        _, of_row = np.unique(labels, return_inverse=True)
        units, what = np.bincount(of_row, weights[kept]), "groups"
        check_number_of_groups(len(units))
    if sample_weight is not None or groups is not None:
        check_effective_number(units, what)
    return weights, kept, labels


def check_effective_number(weights, what):
    """Warn where few of many rows or groups count by their weights.

    Parameters
    ----------
    weights : ndarray of shape (n_units,)
    what : {"rows", "groups"}
    """
    if len(weights) < FEW_UNITS:  # which is said of groups, and seen of rows
        return
    shares = weights / weights.sum()
    effective = 1.0 / (shares @ shares)
    if effective < FEW_UNITS * (1.0 - 1e-9):  # rounding of even weights
        warn(
            f"The {len(weights)} {what} count for no more than {effective:.1f} with "
            "equal weights, from which standard errors are hardly known: intervals "
            "may be too narrow or very wide. Use more data, or weights that differ "
            "less."
        )


def check_number_of_groups(n_groups):
    """Raise for one group, and warn of few."""
    if n_groups < 2:
        raise ValueError(
            "`groups` puts all rows into one group: nothing tells how much another "
            "group would differ. Leave `groups` out, or give labels of smaller groups."
        )
    if n_groups < FEW_UNITS:
        warn(
            f"`groups` has only {n_groups} groups, from which standard errors are "
            "hardly known: intervals may be too narrow. Use labels of smaller groups "
            "if these are independent, or more data."
        )


def finite_numbers(table, way_out):
    """X as float64, array or CSC; raises where columns hold anything else."""
    numeric = table.numeric()
    if numeric is None:
        names = _columns(table, lambda values: values.dtype.kind not in "fbiu")
        raise ValueError(f"X must hold numbers, but columns {names} do not. {way_out}")
    values = numeric.data if sparse.issparse(numeric) else numeric
    if not np.isfinite(values).all():
        names = _columns(table, lambda values: not np.isfinite(values).all())
        raise ValueError(f"X contains NaN or infinity in {names}. {way_out}")
    return numeric


def categories_of_numbers(table):
    """Positions of the columns of categories whose labels are numbers."""
    if not isinstance(table, FrameTable):
        return []
    return [
        j
        for j in range(table.n_columns)
        if table.is_categorical(j) and table.column(j).dtype.kind in "fiu"
    ]


def numeric_target(y, way_out=""):
    """y as float64."""
    try:
        return y.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"y must hold numbers, got labels. {way_out}") from None


def _columns(table, is_bad):
    """Names of the columns whose values are bad."""
    names = enumerate(table.column_names())
    return [name for j, name in names if is_bad(table.column(j))]


def check_confidence(confidence):
    """Raise unless a confidence lies strictly between 0 and 1."""
    check_scalar(
        confidence,
        "confidence",
        numbers.Real,
        min_val=0,
        max_val=1,
        include_boundaries="neither",
    )
    if np.isnan(confidence):  # which no comparison with the limits refuses
        raise ValueError("confidence == nan, must be between 0 and 1.")


def check_class_labels(y):
    """Raise ValueError unless y can be the classes of a classifier."""
    try:
        with np.errstate(invalid="ignore"):  # of numbers beyond the integers
            check_classification_targets(y)
    except TypeError:
        raise ValueError(
            "y must hold class labels of one type, got a mixture that has no order."
        ) from None


def is_structured(y):
    """Whether y is an array of records, as of survival models."""
    return isinstance(y, np.ndarray) and y.dtype.names is not None


def check_length(y, n_samples):
    """Raise ValueError if y has a length, and another one than X.

    This is the only check of a y that only a scorer uses.
    """
    check_in_memory(y, "y")
    listed = isinstance(y, list | tuple)  # maybe with rows of different lengths
    shape = (len(y),) if listed else getattr(y, "shape", ())
    if len(shape) > 0 and shape[0] != n_samples:
        raise ValueError(
            f"y has {shape[0]} rows, but X has {n_samples} rows. Pass the y that "
            "belongs to X."
        )


def check_target(y, n_samples, structured=False):
    """Return y as an array with one value (or row of outputs) per row of X, or None.

    Parameters
    ----------
    y : array-like or None
    n_samples : int
    structured : bool, default=False
        Whether y may be a structured array, as of survival models: where only the
        estimator and a scorer look at it.
    """
    if y is None:
        return None
    y = y if structured and is_structured(y) else as_array(y, "y")
    if y.ndim == 0 or y.ndim > 2:
        raise ValueError(f"y must be 1- or 2-dimensional, got {y.ndim} dimensions.")
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    check_length(y, n_samples)
    if y.dtype.kind in "mM":
        raise ValueError(
            f"y must hold numbers or labels, got dates or times of dtype {y.dtype}. "
            "Make them numbers, such as days since the first one."
        )
    if y.dtype.kind in "fc" and not np.all(np.isfinite(y)):
        raise ValueError("y contains NaN or infinity. Leave those rows out.")
    if y.dtype.kind == "O" and any(map(is_missing, y.flat)):
        raise ValueError("y has missing labels or numbers. Leave those rows out.")
    return y


def validate_params(estimator):
    """Check an estimator's parameters against its `_parameter_constraints`.

    And against `_shared_constraints`, which it may have in common with others, and
    against the type hint of a parameter that is one of some words.
    """
    shared = getattr(estimator, "_shared_constraints", {})
    validate_parameter_constraints(
        _words(type(estimator)) | shared | estimator._parameter_constraints,
        vars(estimator),
        caller_name=type(estimator).__name__,
    )


@cache
def _words(kind):
    """Constraints of the parameters whose type hint is a `Literal` of strings, or None.

    Hints of users' classes are for type checkers and are not read.
    """
    ours = (c for c in kind.__mro__ if c.__module__.partition(".")[0] == "skvarimp")
    constraints = {}
    for name, hint in get_type_hints(next(ours, object).__init__).items():
        options = [o for part in get_args(hint) for o in get_args(part) or [part]]
        words = {option for option in options if isinstance(option, str)}
        or_none = [None] if type(None) in options else []
        if words and len(words) + len(or_none) == len(options):
            constraints[name] = [StrOptions(words), *or_none]
    return constraints


def check_no_data(estimator, order="fit(estimator, X, y)"):
    """Raise TypeError where X stands in the estimator's place: `fit(X, y)`."""
    if hasattr(estimator, "shape") and not callable(estimator):
        raise TypeError(
            f"`estimator` must be a fitted model, got a {type(estimator).__name__} of "
            f"shape {estimator.shape}. The order is {order}."
        )
