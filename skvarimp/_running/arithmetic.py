"""Numbers too large for float64: an error of ours, never a warning or a silent NaN."""

from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

# NumPy's settings outside, which the user's own code keeps.
_settings_outside = ContextVar("settings_outside", default=None)


@contextmanager
def no_overflow():
    """Turn overflow and undefined operations of our own code into a ValueError.

    A context manager and a decorator. Code that expects infinity says so with an
    `np.errstate` of its own.
    """
    outside = _settings_outside.get() or np.geterr()
    token = _settings_outside.set(outside)
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            yield
    except FloatingPointError as error:
        if getattr(error, "of_users_code", False):
            raise
        raise ValueError(
            "X, y, `sample_weight` or the model's response hold numbers so large, or "
            f"so far apart, that float64 arithmetic fails ({error}). Rescale them."
        ) from None
    finally:
        _settings_outside.reset(token)


@contextmanager
def users_code():
    """Run a model, scorer or function of the user under the user's own settings."""
    try:
        with np.errstate(**(_settings_outside.get() or np.geterr())):
            yield
    except FloatingPointError as error:  # the user asked NumPy to raise it
        error.of_users_code = True
        raise
