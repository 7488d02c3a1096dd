"""Values of one column: as numbers where they are numbers, and the distinct ones."""

from collections.abc import Hashable

import numpy as np


def numbers_if_possible(values):
    """Object columns that hold only numbers, as numbers."""
    if values.dtype.kind != "O":
        return values
    if all(isinstance(v, bool | np.bool_) for v in values):
        return values.astype(bool)
    try:
        return np.array([np.nan if is_missing(v) else _number(v) for v in values])
    except (TypeError, ValueError):
        return values


def _number(value):
    if isinstance(value, str | bytes):
        raise TypeError
    return float(value)


def is_categorical_dtype(values):
    """Whether values are boolean or not numbers."""
    return values.dtype.kind not in "fiuc"


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
    ordered : ndarray of shape (n_samples,)

    Returns
    -------
    ndarray of shape (n_samples,), bool
    """
    begins = np.ones(len(ordered), dtype=bool)
    before, after = ordered[:-1], ordered[1:]
    begins[1:] = (after != before) & (before == before)  # NaN equals nothing
    return begins


def factorized(values, levels=None):
    """Codes and first positions of the distinct values; missing values are one.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
    levels : list or None
        The order of values that are not numbers; None: that of their text, so that
        results do not depend on the rows' order.
    """
    if values.dtype.kind != "O":
        order = np.argsort(values)
        begins = begins_value(values[order])
        codes = np.empty(len(values), dtype=np.intp)
        codes[order] = np.cumsum(begins) - 1
        return codes, np.minimum.reduceat(order, np.flatnonzero(begins))
    odd = next((v for v in values if not isinstance(v, Hashable)), None)
    if odd is not None:
        raise TypeError(
            f"X has a column of values that cannot be compared, such as {odd!r:.40}. "
            "Make numbers, strings or tuples of them, or leave it out of `features`."
        )
    numbers = {}
    donors = []
    codes = np.empty(len(values), dtype=np.intp)
    for i, value in enumerate(values):
        key = None if is_missing(value) else (type(value) is bool, value)
        if key not in numbers:
            numbers[key] = len(donors)
            donors.append(i)
        codes[i] = numbers[key]
    place = {level: k for k, level in enumerate(levels or ())}
    keys = [
        (is_missing(v), place.get(v, len(place)), str(v))
        for v in (values[d] for d in donors)
    ]
    order = sorted(range(len(donors)), key=keys.__getitem__)
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    return rank[codes], np.array(donors, dtype=np.intp)[order]
