"""Dates and durations as scales, not as categories."""

from datetime import UTC, date, datetime, timedelta

import numpy as np

# seconds of a unit of durations, the largest first
UNITS = {"days": 86400.0, "hours": 3600.0, "minutes": 60.0, "seconds": 1.0}
KINDS = [(date | np.datetime64, "M8[us]"), (timedelta | np.timedelta64, "m8[us]")]


def as_times(values):
    """Dates and durations as numbers of microseconds.

    Parameters
    ----------
    values : array-like of shape (n,)
        None of them missing.

    Returns
    -------
    ndarray of datetime64 or timedelta64, or None
        None: they are neither dates nor durations.
    """
    values = np.asarray(values)
    if values.dtype.kind in "mM":
        return values.astype(f"{values.dtype.kind}8[us]")
    if values.dtype.kind != "O" or not len(values):
        return None
    for kind, dtype in KINDS:
        if all(isinstance(value, kind) for value in values):
            return np.array([_without_zone(value) for value in values], dtype=dtype)
    return None


def _without_zone(value):
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def on_axis(axis, times, most):
    """Places on an axis of matplotlib, whose ticks are then dates or durations.

    Parameters
    ----------
    axis : matplotlib Axis
    times : ndarray of datetime64 or timedelta64
    most : int
        Dates written, at most.

    Returns
    -------
    places : callable
        Other such times -> their places, an ndarray.
    unit : str
        Of durations, or what all dates have in common, such as the year.
    """
    from matplotlib.dates import ConciseDateFormatter, date2num

    from skvarimp._display.artists import FewDates

    if times.dtype.kind == "M":
        locator = FewDates(most)
        axis.set_major_locator(locator)
        axis.set_major_formatter(ConciseDateFormatter(locator, show_offset=False))
        in_common = _in_common(times.min().item(), times.max().item())
        return lambda some: np.asarray(date2num(as_times(some))), in_common
    seconds = _seconds(times)
    largest = np.abs(seconds).max(initial=0.0)
    fitting = (u for u, size in UNITS.items() if largest >= 2.0 * size)
    unit = next(fitting, "seconds")
    return lambda some: _seconds(as_times(some)) / UNITS[unit], unit


def _in_common(first, last):
    """The day, month or year of two dates that both have, which ticks do not say."""
    for form in ("%Y-%b-%d", "%Y-%b", "%Y"):
        if first.strftime(form) == last.strftime(form):
            return first.strftime(form)
    return ""


def _seconds(durations):
    return durations.astype("m8[us]").astype(np.float64) / 1e6
