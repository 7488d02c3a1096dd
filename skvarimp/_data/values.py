"""Values of one column: numbers where they are, the distinct ones, and class labels."""

from collections.abc import Hashable
from contextlib import suppress

import numpy as np


def numbers_if_possible(values):
    """Object columns that hold only numbers, as numbers; missing values become NaN."""
    if values.dtype.kind != "O":
        return values
    types = set(map(type, values.flat))
    if types <= {bool, np.bool_}:
        return values.astype(bool)
    if any(issubclass(t, str | bytes) for t in types):
        return values
    with suppress(TypeError, ValueError):
        return values.astype(np.float64)
    with suppress(TypeError, ValueError):  # missing values such as pandas.NA
        return np.array([np.nan if is_missing(v) else float(v) for v in values])
    return values


def is_missing(value):
    """Whether a value of any type is None or NaN (or a frame's own null)."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA refuses to be a truth value
        return True


def begins_value(ordered):
    """Where sorted values begin a new one; missing values, the last, are one.

    Parameters
    ----------
    ordered : ndarray of shape (..., n_samples)

    Returns
    -------
    ndarray of shape (..., n_samples), bool
    """
    begins = np.ones(ordered.shape, dtype=bool)
    before, after = ordered[..., :-1], ordered[..., 1:]
    begins[..., 1:] = (after != before) & (before == before)  # NaN equals nothing
    return begins


def spread_over(n, at_most):
    """Some of n positions, the first and the last among them, as even as possible."""
    return np.unique(np.linspace(0, n - 1, min(n, at_most)).astype(np.intp))


def side_by_side(columns, n_rows):
    """One column itself; others as one array, of objects unless all are numbers."""
    if len(columns) == 1:
        return columns[0]
    numeric = all(c.dtype.kind in "fbiu" for c in columns)
    values = np.empty((n_rows, len(columns)), dtype=np.float64 if numeric else object)
    for j, column in enumerate(columns):
        values[:, j] = column
    return values


def factorized(values, levels=None):
    """Codes and first positions of the distinct values; missing values are one.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
    levels : list or None
        The order of values that are not numbers. None sorts them by their text, so
        that results do not depend on the order of the rows.

    Returns
    -------
    codes : ndarray of shape (n_samples,)
        Number of each row's value; missing values come last.
    first : ndarray of shape (n_values,)
        The first row that holds each value.
    """
    if values.dtype.kind != "O":
        order = np.argsort(values)
        begins = begins_value(values[order])
        codes = np.empty(len(values), dtype=np.intp)
        codes[order] = np.cumsum(begins) - 1
        return codes, np.minimum.reduceat(order, np.flatnonzero(begins))
    keys = values.tolist()
    if bool in set(map(type, keys)):  # True equals 1 in Python, but is another level
        keys = [(type(value) is bool, value) for value in keys]
    try:
        number = {key: k for k, key in enumerate(dict.fromkeys(keys))}
    except TypeError:
        odd = next((v for v in values if not isinstance(v, Hashable)), values[0])
        raise TypeError(
            f"X has a column of values that cannot be compared, such as {odd!r:.40}. "
            "Make numbers, strings or tuples of them, or leave it out of `features`."
        ) from None
    codes = np.fromiter(map(number.__getitem__, keys), np.intp, len(keys))
    first = np.unique(codes, return_index=True)[1]
    missing = np.array([is_missing(v) for v in values[first]], dtype=bool)
    place = {level: k for k, level in enumerate(levels or ())}

    def position(k):
        value = values[first[k]]
        return place.get(value, len(place)), str(value)

    present = sorted(np.flatnonzero(~missing), key=position)
    rank = np.full(len(first), len(present))  # missing values are one, the last
    rank[present] = np.arange(len(present))
    return rank[codes], np.concatenate([first[present], first[missing][:1]])


def as_columns(y):
    """y as (n_samples, n_columns)."""
    y = np.asarray(y)
    return y[:, np.newaxis] if y.ndim == 1 else y


def class_lists(classes):
    """Classes of each column of y as a list of arrays, from `classes_`.

    Parameters
    ----------
    classes : array-like, or list of them
        Of one column, or one for each column.
    """
    if isinstance(classes, list) and np.ndim(classes[0]) > 0:
        return [np.asarray(c) for c in classes]
    return [np.asarray(classes)]


def encoded(y):
    """Classes of one column of labels, and the position of each label among them.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Numbers are sorted by value, and other labels by their text.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
    codes : ndarray of shape (n_samples,)
    """
    y = np.asarray(y)
    codes, first = factorized(numbers_if_possible(y))
    return y[first], codes


def positions(y, lists, strict=True):
    """Position of each label among the classes of its column.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_columns)
    lists : list of ndarray
        The classes of each column.
    strict : bool, default=True
        Whether to refuse labels that are no class; else they get -1.

    Returns
    -------
    ndarray of shape (n_samples, n_columns)
    """
    columns = as_columns(y)
    if columns.shape[1] != len(lists):
        raise ValueError(
            f"y has {columns.shape[1]} columns, but the model was fitted with "
            f"{len(lists)}. Pass the y the model was fitted with."
        )
    result = np.empty(columns.shape, dtype=np.intp)
    for c, classes in enumerate(lists):
        labels, codes = encoded(columns[:, c])
        place = {label: k for k, label in enumerate(classes.tolist())}
        places = [place.get(label, -1) for label in labels.tolist()]
        result[:, c] = np.array(places, dtype=np.intp)[codes]
        unknown = result[:, c] < 0
        if strict and unknown.any():
            label = columns[unknown, c].tolist()[0]
            raise ValueError(
                f"y has the label {label!r}, which is not among the model's classes "
                f"{classes.tolist()}."
            )
    return result


def watched(classes):
    """Classes that get an output: the second of two, else all."""
    return classes[1:] if len(classes) == 2 else classes


def indicators(y, lists, strict=True):
    """One indicator for each class of each column, the first of two classes dropped.

    Parameters
    ----------
    y, lists, strict
        As for `positions`.

    Returns
    -------
    ndarray of shape (n_samples, n_outputs)
    """
    shown = [watched(np.arange(len(classes))) for classes in lists]
    return where_codes(positions(y, lists, strict), shown).astype(np.float64)


def where_codes(codes, shown):
    """Whether each row has each of some codes, side by side, (n_samples, n) bool.

    Parameters
    ----------
    codes : ndarray of shape (n_samples, n_columns)
    shown : iterable of ndarray
        Codes of each column.
    """
    return np.hstack([codes[:, [c]] == of_one for c, of_one in enumerate(shown)])


def names_in(y):
    """Names of the columns of y, a list of str; empty if it is no frame."""
    return [str(name) for name in getattr(y, "columns", ())]


def target_names(n_columns, names=()):
    """The names in y if there are so many, else "y" of one column and y0, y1, ..."""
    if len(names) == n_columns:
        return list(names)
    return ["y"] if n_columns == 1 else [f"y{o}" for o in range(n_columns)]


def output_names(lists, names=()):
    """Names of the indicators: classes, of several columns of y after the column."""
    if len(lists) == 1:
        return [str(c) for c in watched(lists[0])]
    names = target_names(len(lists), names)
    return [f"{n}: {c}" for n, classes in zip(names, lists) for c in watched(classes)]


def numbered(counts):
    """Say of counts[0] + counts[1] + ... items whose each is, and which of its own."""
    whose = np.arange(len(counts)).repeat(counts)
    return whose, np.arange(len(whose)) - (np.cumsum(counts) - counts).take(whose)
