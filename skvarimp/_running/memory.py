"""How much to work on at once, and what to keep: the one memory policy.

Work goes through the data in blocks. Three sizes of one array of a block are worth
having:

======= ==================================================================
CACHE   a few such arrays stay in the processor's cache
BLOCK   arrays that stream through memory; larger ones gain nothing
HELD    what one task gathers before it hands it on
======= ==================================================================

All arrays of a block together take at most a quarter of scikit-learn's
`working_memory`.
"""

import sys
from threading import Lock

import numpy as np
from sklearn import get_config

CACHE = 2**17  # numbers: 1 MB
BLOCK = 2**20  # numbers: 8 MB
HELD = 2**22  # numbers: 32 MB
CALL_ROWS = 16_384  # per call of a model; more cost networks a third, fewer forests
ARRAYS = 8  # of a block that are alive at the same time, at most
DEEPEST = 6  # levels of attributes whose bytes are counted


def working_bytes():
    """Memory for one block: a quarter of scikit-learn's `working_memory`, in bytes."""
    return get_config()["working_memory"] * 2**20 / 4


def numbers_at_once(most=BLOCK, arrays=ARRAYS):
    """Numbers in one array of a block: `most`, or what memory allows; at least 1.

    At the default `working_memory` there is room for 2**22 in each of 8 arrays.
    """
    return max(1, int(min(most, working_bytes() / (8 * arrays))))


def at_once(numbers_each, most=BLOCK, arrays=ARRAYS):
    """How many items to work on at once, at least 1.

    Parameters
    ----------
    numbers_each : int
        How many numbers of the largest array belong to one item.
    most : float, default=BLOCK
        Numbers in one array, where memory allows.
    arrays : int, default=ARRAYS
        How many such arrays there are; 1 where `numbers_each` counts them all.

    Returns
    -------
    int
    """
    return max(1, numbers_at_once(most, arrays) // max(1, int(numbers_each)))


def slices(n, numbers_each=1, most=BLOCK, arrays=ARRAYS):
    """Consecutive slices of range(n), `at_once` items each or one fewer.

    Their lengths differ by at most one, so that workers end together.

    Parameters
    ----------
    n : int
    numbers_each, most, arrays : see `at_once`

    Returns
    -------
    list of slice

    Examples
    --------
    >>> slices(10, numbers_each=2, most=8)
    [slice(0, 3, None), slice(3, 6, None), slice(6, 10, None)]
    """
    return even_slices(n, at_once(numbers_each, most, arrays))


def even_slices(n, at_most):
    """Consecutive slices of range(n), as few and as even as `at_most` items allow."""
    n_parts = max(1, -(-n // at_most)) if n else 0
    return [
        slice(part * n // n_parts, (part + 1) * n // n_parts) for part in range(n_parts)
    ]


def call_rows(n_columns, n_outputs=1):
    """Rows to hand to a model in one call."""
    room = working_bytes() / (16 * n_columns)
    return int(max(1, min(CALL_ROWS, room, at_once(n_outputs, np.inf))))


def call_slices(n, n_columns, n_outputs=1, rows_each=1):
    """Consecutive slices of n items of so many rows each, one call of a model each."""
    return slices(n, rows_each, call_rows(n_columns, n_outputs), arrays=1)


class Memo:
    """Results of a computation, by what they were computed from.

    Keys that define no equality of their own, such as tables and walks, are the same
    if they are the same object. Threads may share a memo.

    Parameters
    ----------
    most : int, default=1
        How many results are kept; then the oldest makes room.
    most_bytes : float, default=inf
        Memory that the results may take together. A result that does not fit is
        handed out and not kept.
    travels : bool, default=False
        Whether a copy, in another process say, starts with the same results. Else it
        starts empty.

    Examples
    --------
    >>> memo = Memo()
    >>> memo.get("x0", lambda: "computed")
    'computed'
    >>> memo.get("x0", lambda: "not asked for again")
    'computed'
    """

    def __init__(self, most=1, most_bytes=np.inf, travels=False):
        self._settings = most, most_bytes, travels
        self._kept, self._bytes, self._lock = {}, 0.0, Lock()

    def get(self, key, compute):
        """The result for a key: kept, or `compute()`."""
        try:
            return self._kept[key]
        except KeyError:
            result = compute()
        most, most_bytes, _ = self._settings
        size = bytes_of(result) if most_bytes < np.inf else 0.0
        with self._lock:
            if self._bytes + size <= most_bytes:
                while len(self._kept) >= most:
                    self._kept.pop(next(iter(self._kept)))
                self._kept[key] = result
                self._bytes += size
        return result

    def results(self):
        """All that is kept."""
        return list(self._kept.values())

    def __contains__(self, key):
        return key in self._kept

    def __reduce__(self):
        kept = {"_kept": dict(self._kept), "_bytes": self._bytes}
        return Memo, self._settings, kept if self._settings[2] else None


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
