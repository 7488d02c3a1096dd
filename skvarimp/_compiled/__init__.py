"""Kernels in Cython, built when the package is installed; and whether they are used.

Where no C compiler was found, the package is installed without them: NumPy computes
the same numbers.
"""

import os
from functools import cache
from importlib import import_module

KERNELS = (
    "descent",
    "masses",
    "pieces",
    "ranked",
    "tree_credit",
    "tree_walk",
)


def use_compiled():
    """Whether the compiled kernels run in place of NumPy.

    They do where they were built, unless the environment variable `SKVARIMP_COMPILED`
    is "0". The results agree to rounding. Asked anew at every fit.

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
    return os.environ.get("SKVARIMP_COMPILED", "1") != "0" and built()


def kernel(name):
    """A module of kernels; None where they were not built."""
    return import_module(f"{__name__}.{name}") if built() else None


@cache
def built():
    """Whether every kernel was built and can be loaded."""
    try:
        for name in KERNELS:
            import_module(f"{__name__}.{name}")
    except ImportError:
        return False
    return True
