"""Whether compiled kernels are used: the one place that decides it."""

import os
from importlib.util import find_spec


def use_compiled():
    """Whether the compiled kernels run in place of NumPy.

    They do where numba (the extra `fast`) can be imported, unless the environment
    variable `SKVARIMP_COMPILED` is "0". The results agree to rounding. Asked anew at
    every fit, and without importing numba.

    Returns
    -------
    bool

    Examples
    --------
    >>> import os
    >>> os.environ["SKVARIMP_COMPILED"] = "0"
    >>> use_compiled()
    False
    >>> del os.environ["SKVARIMP_COMPILED"]
    """
    if os.environ.get("SKVARIMP_COMPILED", "1") == "0":
        return False
    return find_spec("numba") is not None


def kernel(function, inline=False):
    """A function compiled when it is first called, without the interpreter's lock.

    What was compiled is kept on disk where numba finds a directory it may write to:
    next to the file, in the user's cache, or in NUMBA_CACHE_DIR. Nowhere: compiled
    anew by every process.

    Parameters
    ----------
    function : callable
        Numbers and contiguous arrays in, numbers and arrays out.
    inline : bool, default=False
        Whether it becomes a part of every kernel that calls it.

    Returns
    -------
    callable
    """
    import numba

    options = {"nogil": True, "error_model": "numpy", "forceinline": inline}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no directory that can be written to
        return numba.njit(**options)(function)


def inlined(function):
    """A `kernel` that becomes a part of those that call it."""
    return kernel(function, inline=True)
