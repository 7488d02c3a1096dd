"""Tolerances that follow from the numbers that entered, not from trying."""

import numpy as np


def roundoff(n, *entered):
    """How far rounding may set two ways of computing the same number apart.

    Every operation rounds by at most half a unit in the last digit of the largest
    number that entered. Two chains of `n` operations, in any order and on any BLAS
    kernel, thus differ by at most n eps max |entered|, however small the result is.
    This holds for means over n rows, for differences of such means, and for norms of n
    influences, which differ by no more than the influences themselves. It does not hold
    for the root of a difference of squares, which may differ by the root of the
    `roundoff` of the squares.

    Parameters
    ----------
    n : int
        Length of the longest sum.
    *entered : array-like
        The numbers that are added, before anything cancels. NaN is ignored.

    Returns
    -------
    float
    """
    return n * np.finfo(float).eps * max(np.nanmax(np.abs(x)) for x in entered)
