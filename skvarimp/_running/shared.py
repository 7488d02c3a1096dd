"""What all tasks of one run share, such as X: sent to a worker once, not per task."""

import os
import sys
import warnings
from contextlib import contextmanager

import numpy as np
from scipy import sparse
from sklearn import config_context, get_config

DEEPEST = 6


class Shared:
    """Objects that every task of a run is given.

    joblib's Dask backend sends an argument of every task once if it is large, and
    with each task if it is small. It asks `sys.getsizeof`, which by itself sees
    nothing of what an object's attributes hold.

    Parameters
    ----------
    *parts : tuple of object
        What the tasks share.
    """

    def __init__(self, *parts):
        self.parts = parts
        self._home, self._config = os.getpid(), get_config()
        self._filters = list(warnings.filters)

    @contextmanager
    def settings(self):
        """The settings of the thread that made this, around a task.

        scikit-learn's in every worker, the filters of warnings in other processes.
        Threads share these: set around each task, as scikit-learn's own `delayed`
        does, they would be left changed, or empty, where tasks overlap.
        """
        with config_context(**self._config):
            if os.getpid() == self._home:
                yield
                return
            with warnings.catch_warnings():
                warnings.resetwarnings()
                warnings.filters.extend(self._filters)
                yield

    def __sizeof__(self):
        return max(10_000, _bytes_of(self.parts, DEEPEST, set()))


def _bytes_of(value, depth, seen):
    """Bytes that an object and what it refers to hold, near enough."""
    if id(value) in seen or depth == 0:
        return 0
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        return value.nbytes
    if sparse.issparse(value) or type(value).__name__ == "DataFrame":
        values = getattr(value, "memory_usage", getattr(value, "estimated_size", None))
        if values is not None:
            return int(np.sum(values()))
    if isinstance(value, list | tuple):
        return sum(_bytes_of(member, depth - 1, seen) for member in value)
    if isinstance(value, dict):
        return _bytes_of(tuple(value.values()), depth, seen)
    if hasattr(value, "__dict__") and not isinstance(value, type):
        return _bytes_of(tuple(vars(value).values()), depth, seen)
    return sys.getsizeof(value, 64)
