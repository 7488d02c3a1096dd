# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""The training rows nearest to rows of which one value moves."""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp, memcpy

import numpy as np

cdef enum:
    DEPTH = 64  # of halving


def nearest(
    const double[:, ::1] squares,
    const double[:, ::1] values,
    const int64_t[:, ::1] ids,
    const double[::1] beyond,
    Py_ssize_t among,
    const double[::1] doubt,
    const double[::1] moved,
    Py_ssize_t k,
):
    """The k nearest training rows of each row wherever they change.

    Each row is looked at by halving. A look begins with the nearest of the last one,
    so that few others displace them.

    Parameters
    ----------
    squares : ndarray of shape (n_rows, n_training_rows)
        Squared distances by the other columns; the smallest `among` stand first,
        ascending.
    values : ndarray of shape (n_rows, n_training_rows)
        The training rows' values of the moved column, in the same order.
    ids : ndarray of shape (n_rows, n_training_rows), int64
        Which training rows these are.
    beyond : ndarray of shape (n_rows,)
        The smallest of `squares` behind the first `among`.
    among : int
        More than k, or all.
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
    cdef Py_ssize_t n_rows = ids.shape[0], n_cells = moved.shape[0], n_training = ids.shape[1]
    cdef Py_ssize_t kept = min(k + 1, n_training), n = 0, top, low, high, r, c, m, j, before
    cdef int64_t[:, ::1] stack = np.empty((DEPTH + 2, 2), np.int64)
    cdef int64_t[:, ::1] state = np.empty((n_cells, k), np.int64)
    cdef uint8_t[::1] seen = np.empty(n_cells, np.uint8), tie = np.empty(n_cells, np.uint8)
    cdef double[::1] least = np.empty(kept)  # ascending
    cdef int64_t[::1] which = np.empty(kept, np.int64)
    cdef int64_t[:, ::1] found = np.empty((4 * n_rows, k), np.int64)
    cdef int64_t[:, ::1] place = np.empty((4 * n_rows, 3), np.int64)
    cdef size_t width = k * sizeof(int64_t)
    with nogil:
        for r in range(n_rows):
            for c in range(n_cells):
                seen[c] = False
            for m in range(kept):
                which[m] = m
            stack[0, 0], stack[0, 1], top = 0, n_cells - 1, 1
            for j in range(2):
                c = j * (n_cells - 1)
                tie[c] = look(squares[r], values[r], ids[r], beyond[r], among, doubt[r],
                              moved[c], least, which, state[c])
                seen[c] = True
            while top > 0:
                top -= 1
                low, high = stack[top, 0], stack[top, 1]
                if high - low < 2 or not (
                    tie[low] or tie[high] or memcmp(&state[low, 0], &state[high, 0], width)
                ):
                    continue
                c = (low + high) // 2
                tie[c] = look(squares[r], values[r], ids[r], beyond[r], among, doubt[r],
                              moved[c], least, which, state[c])
                seen[c] = True
                stack[top, 0], stack[top, 1] = low, c
                stack[top + 1, 0], stack[top + 1, 1] = c, high
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


cdef bint look(
    const double[::1] squares,
    const double[::1] values,
    const int64_t[::1] ids,
    double beyond,
    Py_ssize_t among,
    double doubt,
    double v,
    double[::1] least,
    int64_t[::1] which,
    int64_t[::1] state,
) noexcept nogil:
    """Fill `state` with the nearest at a value; returns whether a tie decides."""
    cdef Py_ssize_t kept = which.shape[0], k = state.shape[0], m, i, j
    cdef double gap, d
    cdef int64_t number
    cdef bint known
    for i in range(kept):  # those of the last look, sorted anew
        m = which[i]
        gap = v - values[m]
        d = squares[m] + gap * gap
        j = i
        while j > 0 and least[j - 1] > d:
            least[j], which[j] = least[j - 1], which[j - 1]
            j -= 1
        least[j], which[j] = d, m
    for m in range(squares.shape[0]):
        if least[kept - 1] < (squares[m] if m < among else beyond) and m <= among:
            break
        gap = v - values[m]
        d = squares[m] + gap * gap
        if not d < least[kept - 1]:
            continue
        known = False
        for i in range(kept):
            known |= which[i] == m
        if known:
            continue
        j = kept - 1
        while j > 0 and least[j - 1] > d:
            least[j], which[j] = least[j - 1], which[j - 1]
            j -= 1
        least[j], which[j] = d, m
    for i in range(k):
        number, j = ids[which[i]], i
        while j > 0 and state[j - 1] > number:
            state[j] = state[j - 1]
            j -= 1
        state[j] = number
    d = least[k] if kept > k else INFINITY
    return d - least[k - 1] <= 1e-9 * least[k - 1] + doubt
