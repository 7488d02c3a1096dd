"""Values of one column: as numbers where they are numbers, and the distinct ones."""

from collections.abc import Hashable

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
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        pass
    try:  # missing values of a type of their own, such as pandas.NA
        return np.array([np.nan if is_missing(v) else float(v) for v in values])
    except (TypeError, ValueError):
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
    first = np.empty(len(number), dtype=np.intp)
    first[codes[::-1]] = np.arange(len(keys))[::-1]
    missing = np.array([is_missing(v) for v in values[first]], dtype=bool)
    place = {level: k for k, level in enumerate(levels or ())}

    def position(k):
        value = values[first[k]]
        return place.get(value, len(place)), str(value)

    present = sorted(np.flatnonzero(~missing), key=position)
    rank = np.full(len(first), len(present))  # missing values are one, the last
    rank[present] = np.arange(len(present))
    return rank[codes], np.concatenate([first[present], first[missing][:1]])
