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
