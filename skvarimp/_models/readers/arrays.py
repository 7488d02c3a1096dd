"""What readers of arrays of parameters have in common."""

import numpy as np


def dense(array):
    """A fitted attribute that may be sparse, as a float64 array."""
    array = array.toarray() if hasattr(array, "toarray") else array
    return np.asarray(array, dtype=np.float64)


def is_single(*parameters):
    """Whether any of some arrays or sparse matrices is in single precision."""
    return any(p.dtype.kind == "f" and p.dtype.itemsize <= 4 for p in parameters)
