"""`Memo`: the one way to keep a result for the next time it is asked for."""

from threading import Lock

import numpy as np

from skvarimp._running.shared import bytes_of


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
        self._keep(key, result)
        return result

    def _keep(self, key, result):
        most, most_bytes, _ = self._settings
        size = bytes_of(result) if most_bytes < np.inf else 0.0
        with self._lock:
            if self._bytes + size > most_bytes:
                return
            while len(self._kept) >= most:
                self._kept.pop(next(iter(self._kept)))
            self._kept[key] = result
            self._bytes += size

    def __contains__(self, key):
        return key in self._kept

    def __reduce__(self):
        kept = (self._kept, self._bytes) if self._settings[2] else ({}, 0.0)
        return _memo, (self._settings, *kept)


def _memo(settings, kept, n_bytes):
    memo = Memo(*settings)
    memo._kept, memo._bytes = dict(kept), n_bytes
    return memo
