# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""The training rows nearest to rows of which one value moves."""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp, memcpy

import numpy as np


def nearest(
    const double[:, ::1] squares,
    const double[::1] values,
    const double[::1] doubt,
    const double[::1] moved,
    Py_ssize_t k,
):
    """The k nearest training rows of each row wherever they change.

    Each row is looked at by halving. Differences of squared distances are linear in the
    moved value. So between two values only those training rows can be among the k + 1
    nearest that are, at each end, no farther than all k + 1 nearest of the other end.

    Parameters
    ----------
    squares : ndarray of shape (n_rows, n_training_rows)
        Squared distances by the other columns.
    values : ndarray of shape (n_training_rows,)
        The training rows' values of the moved column.
    doubt : ndarray of shape (n_rows,)
        Squared distances that differ by no more than this, or by a relative 1e-9, tie.
    moved : ndarray of shape (n_cells,)
        Ascending.
    k : int

    Returns
    -------
    rows, cells : ndarray of shape (n_found,)
    nearest : ndarray of shape (n_found, k), int64
    tied : ndarray of shape (n_found,), bool
        As `halved` returns them, but for cells whose state is that of the cell before.
    """
    cdef Py_ssize_t n_rows = squares.shape[0], n_training = squares.shape[1]
    cdef Py_ssize_t n_cells = moved.shape[0], kept = min(k + 1, n_training), n = 0
    cdef Py_ssize_t top, low, high, r, c, m, depth, size, before
    cdef Py_ssize_t deepest = n_cells.bit_length() + 2
    cdef int64_t[:, ::1] stack = np.empty((deepest + 1, 4), np.int64)
    # those that may be among the nearest, at each depth of halving
    cdef int64_t[:, ::1] among = np.empty((deepest, n_training), np.int64)
    # the k nearest in ascending order of their numbers, then the next one
    cdef int64_t[:, ::1] state = np.empty((n_cells, kept), np.int64)
    cdef uint8_t[::1] seen = np.empty(n_cells, np.uint8), tie = np.empty(n_cells, np.uint8)
    cdef double[::1] least = np.empty(kept)
    cdef int64_t[:, ::1] found = np.empty((32 * n_rows, k), np.int64)
    cdef int64_t[:, ::1] place = np.empty((32 * n_rows, 3), np.int64)
    cdef size_t width = k * sizeof(int64_t)
    cdef const double *D
    cdef const double *t = &values[0]
    cdef double at_low, at_high
    for m in range(n_training):
        among[0, m] = m
    with nogil:
        for r in range(n_rows):
            D = &squares[r, 0]
            for c in range(n_cells):
                seen[c] = False
            for m in range(2):
                c = m * (n_cells - 1)
                tie[c] = look(D, t, &among[0, 0], n_training, doubt[r], moved[c],
                              k, kept, &least[0], &state[c, 0])
                seen[c] = True
            stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, n_cells - 1, 0, n_training
            top = 1
            while top > 0:
                top -= 1
                low, high, depth = stack[top, 0], stack[top, 1], stack[top, 2]
                if high - low < 2 or not (
                    tie[low] or tie[high] or memcmp(&state[low, 0], &state[high, 0], width)
                ):
                    continue
                at_low = farthest(D, t, &state[high, 0], kept, moved[low])
                at_high = farthest(D, t, &state[low, 0], kept, moved[high])
                size = 0
                for c in range(stack[top, 3]):
                    m = among[depth, c]
                    among[depth + 1, size] = m
                    size += (distance(D, t, m, moved[low]) <= at_low) & (
                        distance(D, t, m, moved[high]) <= at_high
                    )
                c = (low + high) // 2
                tie[c] = look(D, t, &among[depth + 1, 0], size, doubt[r], moved[c],
                              k, kept, &least[0], &state[c, 0])
                seen[c] = True
                stack[top, 0], stack[top, 1] = low, c
                stack[top + 1, 0], stack[top + 1, 1] = c, high
                for m in range(top, top + 2):
                    stack[m, 2], stack[m, 3] = depth + 1, size
                top += 2
            if n + n_cells > found.shape[0]:
                with gil:
                    found = np.resize(found, (2 * (n + n_cells), k))
                    place = np.resize(place, (2 * (n + n_cells), 3))
            before = -1
            for c in range(n_cells):
                if not seen[c]:
                    continue
                if before < 0 or tie[c] or tie[before] or memcmp(
                    &state[before, 0], &state[c, 0], width
                ):
                    place[n, 0], place[n, 1], place[n, 2] = r, c, tie[c]
                    memcpy(&found[n, 0], &state[c, 0], width)
                    n += 1
                before = c
    rows, cells, tied = np.asarray(place)[:n].T
    return rows, cells, np.asarray(found)[:n], tied.astype(bool)


cdef inline double distance(
    const double* squares, const double* values, Py_ssize_t m, double v
) noexcept nogil:
    """The squared distance of a training row."""
    cdef double gap = v - values[m]
    return squares[m] + gap * gap


cdef double farthest(
    const double* squares, const double* values, const int64_t* state, Py_ssize_t n, double v
) noexcept nogil:
    """The largest squared distance of some training rows."""
    cdef double result = 0.0
    cdef Py_ssize_t i
    for i in range(n):
        result = max(result, distance(squares, values, state[i], v))
    return result


cdef bint look(
    const double* squares,
    const double* values,
    const int64_t* among,
    Py_ssize_t size,
    double doubt,
    double v,
    Py_ssize_t k,
    Py_ssize_t kept,
    double* least,
    int64_t* state,
) noexcept nogil:
    """Fill `state` with the nearest at a value; returns whether a tie decides."""
    cdef Py_ssize_t held = 0, c, i, j
    cdef double d
    cdef int64_t m
    for c in range(size):
        m = among[c]
        d = distance(squares, values, m, v)
        if held == kept and not d < least[kept - 1]:
            continue
        held += held < kept
        j = held - 1
        while j > 0 and least[j - 1] > d:
            least[j], state[j] = least[j - 1], state[j - 1]
            j -= 1
        least[j], state[j] = d, m
    for i in range(1, k):
        m, j = state[i], i
        while j > 0 and state[j - 1] > m:
            state[j] = state[j - 1]
            j -= 1
        state[j] = m
    d = least[k] if kept > k else INFINITY
    return d - least[k - 1] <= 1e-9 * least[k - 1] + doubt
