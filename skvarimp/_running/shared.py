"""What all tasks of one run share, such as X: sent to a worker once, not per task."""

import io
import os
import pickle
import sys
import threading
import uuid
import warnings
from contextlib import contextmanager

import numpy as np
from joblib.externals.loky.backend.reduction import get_loky_pickler
from sklearn import config_context, get_config

DEEPEST = 6
LARGE = 2**20  # bytes; joblib maps arrays from this size on into the workers' memory
KEPT_SECONDS = 5.0  # that an idle worker keeps what it was sent


class Shared:
    """Objects that every task of a run is given.

    They are pickled once for all tasks. Arrays of at least a megabyte stay beside the
    pickle, where joblib finds them and maps them into the workers' memory. A worker
    unpickles once, so that what it computes and keeps serves its later tasks too.

    joblib's Dask backend sends an argument of every task once if it is large, and
    with each task if it is small. It asks `sys.getsizeof`, which by itself sees
    nothing of what an object's attributes hold.

    Parameters
    ----------
    *parts : tuple of object
        What the tasks share.
    apart : sequence of object, default=()
        What of them is sent by other ways: the pickle only tells where they belong.
    """

    def __init__(self, *parts, apart=()):
        self._apart, self._packed = apart, None
        self._held = parts, os.getpid(), get_config(), list(warnings.filters)

    def parts(self, apart=()):
        """What the tasks share; `apart` has come to this process by other ways."""
        return self._opened(apart)[0]

    def _opened(self, apart=()):
        with _opening:
            if self._held is None:
                _, pickled, arrays, _ = self._packed
                self._held = _Unpickler(io.BytesIO(pickled), arrays, apart).load()
        return self._held

    @contextmanager
    def settings(self):
        """The settings of the thread that made this, around a task.

        scikit-learn's in every worker, the filters of warnings in other processes.
        Threads share these: set around each task, as scikit-learn's own `delayed`
        does, they would be left changed, or empty, where tasks overlap.
        """
        _, home, config, filters = self._opened()
        with config_context(**config):
            if os.getpid() == home:
                yield
                return
            with warnings.catch_warnings():
                warnings.resetwarnings()
                warnings.filters.extend(filters)
                yield

    def __sizeof__(self):
        held = self._packed if self._held is None else self._held[0]
        return max(10_000, bytes_of(held))

    def __reduce__(self):
        if self._packed is None:
            pickler = _Pickler(io.BytesIO(), self._apart)
            pickler.dump(self._held)
            pickled = np.frombuffer(pickler.file.getvalue(), dtype=np.uint8)
            rest = pickler.arrays, bool(self._apart)
            self._packed = uuid.uuid4().hex, pickled, *rest
        return _received, self._packed


class _Pickler(get_loky_pickler()):  # as joblib pickles tasks, lambdas included
    """Leaves out large arrays, which it lists, and what is sent apart."""

    def __init__(self, file, apart):
        super().__init__(file)
        self.file, self.arrays, self._position = file, [], {}
        self._apart = {id(value): f"apart {k}" for k, value in enumerate(apart)}

    def persistent_id(self, value):
        """Position of what is left out; None: pickle the value."""
        if id(value) in self._apart:
            return self._apart[id(value)]
        if type(value) not in (np.ndarray, np.memmap):
            return None
        if value.nbytes < LARGE or value.dtype.hasobject:
            return None
        if id(value) not in self._position:
            self._position[id(value)] = len(self.arrays)
            self.arrays.append(value)
        return self._position[id(value)]


class _Unpickler(pickle.Unpickler):
    def __init__(self, file, arrays, apart):
        super().__init__(file)
        self._left_out = dict(enumerate(arrays))
        self._left_out |= {f"apart {k}": value for k, value in enumerate(apart)}

    def persistent_load(self, position):
        return self._left_out[position]


_latest = {}  # in a worker: name -> what it was sent last
_timer = None
_opening = threading.RLock()


def _received(name, pickled, arrays, waits):
    """In a worker: the `Shared` of that name, unpickled now unless parts are apart."""
    global _timer
    shared = _latest.get(name)
    if shared is None:
        shared = Shared.__new__(Shared)
        shared._held, shared._packed = None, (name, pickled, arrays, waits)
        if not waits:
            shared._opened()
        _latest.clear()
        _latest[name] = shared
    if _timer is not None:
        _timer.cancel()
    _timer = threading.Timer(KEPT_SECONDS, _latest.clear)
    _timer.daemon = True
    _timer.start()
    return shared


def bytes_of(value, depth=DEEPEST, seen=None):
    """Bytes that an object and what it refers to hold, near enough."""
    seen = set() if seen is None else seen
    if id(value) in seen or depth == 0:
        return 0
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        return value.nbytes + (64 * value.size if value.dtype.hasobject else 0)
    if type(value).__name__ == "DataFrame":
        values = getattr(value, "memory_usage", getattr(value, "estimated_size", None))
        if values is not None:
            return int(np.sum(values()))
    if isinstance(value, list | tuple):
        return sum(bytes_of(member, depth - 1, seen) for member in value)
    if isinstance(value, dict):
        return bytes_of(tuple(value.values()), depth, seen)
    if hasattr(value, "__dict__") and not isinstance(value, type):
        return bytes_of(tuple(vars(value).values()), depth, seen)
    return sys.getsizeof(value, 64)
