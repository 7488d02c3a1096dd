# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Curves that are lines between kinks: sums of their squares."""

from libc.math cimport fmax
from libc.stdint cimport int64_t, uint64_t

import numpy as np

from skvarimp._compiled.bits cimport lowest_bit


def kinked_squares(
    const double[:, ::1] others,
    const double[:] slopes,
    const double[:] outputs,
    const double[:] levels,
    const double[:] offsets,
    const double[:] weights,
    const double[:] values,
    const double[:] chances,
):
    """Squares of curves, over the cells and over the rows.

    With d[i, k] = sum_h outputs[h] max(0, others[i, h] + slopes[h] values[k]) - levels[i]
    and q[i, k] = d[i, k] (d[i, k] - 2 offsets[i]), a parabola between two kinks,

        rows[i] = sum_k chances[k] q[i, k],  cells[k] = sum_i weights[i] q[i, k].

    Parameters
    ----------
    others : ndarray of shape (n_rows, n_units)
    slopes, outputs : ndarray of shape (n_units,)
    levels, offsets, weights : ndarray of shape (n_rows,)
    values, chances : ndarray of shape (n_cells,)
        The values ascend. Few digits cancel if most of them are near 0.

    Returns
    -------
    rows : ndarray of shape (n_rows,)
    cells : ndarray of shape (n_cells,)
    """
    cdef Py_ssize_t n_rows = others.shape[0], n_units = others.shape[1]
    cdef Py_ssize_t n_cells = values.shape[0], n_parts = 4 * n_cells
    cdef Py_ssize_t n_words = n_cells // 64 + 1, i, h, c, m, low, high, start
    cdef double first = values[0], last = values[n_cells - 1], a, w, kink, sign
    cdef double scale = n_parts / (last - first)
    cdef double slope, height, e
    # the first cell of each of many equal parts of the range
    edges = np.linspace(first, last, n_parts + 1)
    cdef int64_t[::1] begins = np.searchsorted(values, edges)
    powers = np.vander(values, 3) * np.asarray(chances)[:, np.newaxis]
    cdef double[:, ::1] below = np.cumsum(np.pad(powers, ((1, 0), (0, 0))), axis=0)
    cdef double[:, ::1] jumps = np.zeros((n_cells, 2))  # of a row's slope and height
    cdef uint64_t[::1] kinked = np.zeros(n_words, np.uint64)  # a bit of each cell
    cdef uint64_t bits
    with np.errstate(divide="ignore", over="ignore"):
        inverses = -1.0 / np.asarray(slopes)
    cdef double[::1] turned = inverses
    cdef double[::1] rows = np.zeros(n_rows)
    cdef double[:, ::1] changes = np.zeros((n_cells, 3))  # of the rows' parabolas
    cdef double[3] parabola
    cdef double[3] before
    with nogil:
        for i in range(n_rows):
            slope, height, e = 0.0, -levels[i], offsets[i]
            for h in range(n_units):
                a, w = others[i, h], slopes[h]
                if w == 0.0:
                    height += outputs[h] * fmax(a, 0.0)
                    continue
                kink = a * turned[h]
                if (kink <= first) == (w > 0.0):  # active at the first cell
                    slope += outputs[h] * w
                    height += outputs[h] * a
                if not (kink > first and kink <= last):  # neither is a NaN
                    continue
                m = min(<Py_ssize_t>((kink - first) * scale), n_parts - 1)
                low, high = begins[m], begins[m + 1]
                while low < high:
                    c = (low + high) // 2
                    if values[c] < kink:
                        low = c + 1
                    else:
                        high = c
                sign = outputs[h] if w > 0.0 else -outputs[h]
                jumps[low, 0] += sign * w
                jumps[low, 1] += sign * a
                kinked[low >> 6] |= <uint64_t>1 << (low & 63)
            kinked[0] |= 1  # the curve begins
            start = 0
            before[0] = before[1] = before[2] = 0.0
            parabola[0] = parabola[1] = parabola[2] = 0.0
            for m in range(n_words):
                bits = kinked[m]
                kinked[m] = 0
                while bits:
                    c = 64 * m + lowest_bit(bits)
                    bits &= bits - 1
                    for h in range(3):
                        rows[i] += parabola[h] * (below[c, h] - below[start, h])
                        before[h] = parabola[h]
                    slope += jumps[c, 0]
                    height += jumps[c, 1]
                    jumps[c, 0] = jumps[c, 1] = 0.0
                    parabola[0] = slope * slope
                    parabola[1] = 2.0 * slope * (height - e)
                    parabola[2] = height * (height - 2.0 * e)
                    for h in range(3):
                        changes[c, h] += weights[i] * (parabola[h] - before[h])
                    start = c
            for h in range(3):
                rows[i] += parabola[h] * (below[n_cells, h] - below[start, h])
    cells = np.cumsum(changes, axis=0)
    cells *= np.vander(values, 3)
    return np.asarray(rows), cells.sum(axis=1)
