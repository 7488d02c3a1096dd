# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Reductions of curves that are constant but for a few steps, piece by piece.

Row i's curve m of output o has the values moved[o, s], the response moved minus
unmoved, on the pieces s of begins[i, m] ... ends[i, m]. Piece s begins at cell cells[s]
and ends at the next one, the last piece at cell last[i, m]. Each function adds to arrays
that are given: `rows` (n_curves, n_outputs, n_rows) takes each row's mean over its cells,
`sums` (n_outputs, n) the weighted sum over the rows, as differences from one cell to
the next. Of curve m it has the n_cells + 1 numbers from places[m] on.
"""

cimport cython
from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, int64_t

import numpy as np

cdef extern from *:
    """
    #if defined(__x86_64__) && defined(__gnu_linux__) && defined(__has_attribute)
    #include <features.h>
    #if defined(__GLIBC__) && __has_attribute(target_clones)
    __attribute__((target_clones("avx512f", "avx2", "default")))
    #endif
    #endif
    /* How many of `padded` keys are smaller than each of the first n: quadratic, but
       without branches and many numbers at a time. */
    static void count_smaller(
        const double *keys, int n, int padded, int *restrict smaller
    ) {
        for (int k = 0; k < n; k++) {
            const double key = keys[k];
            long long count = 0;
            for (int other = 0; other < padded; other++) count += keys[other] < key;
            smaller[k] = (int)count;
        }
    }
    """
    void count_smaller(
        const double *keys, int n, int padded, int *smaller
    ) noexcept nogil

cdef extern from "math.h":
    const double INFINITY

cdef enum:
    RANKED = 128  # values sorted by counting, at most
    LANES = 16  # numbers that are compared at a time
    ROUND = 16  # rows of one curve after the other, so that its cells stay in the cache


cdef class Room:
    """Buffers to sort one curve in.

    Parameters
    ----------
    most : int
        Pieces, at most.
    """

    cdef double[::1] keys, spare_keys, chances, values
    cdef int32_t[::1] order, spare_order, ends
    cdef int[::1] smaller

    def __init__(self, Py_ssize_t most):
        most += LANES
        self.keys, self.spare_keys = np.empty(most), np.empty(most)
        self.chances, self.values = np.empty(most), np.empty(most)
        self.order, self.spare_order = np.empty((2, most), np.int32)
        self.ends, self.smaller = np.empty(most, np.int32), np.empty(RANKED, np.intc)


KINDS = (
    "pairs", "distances", "squares", "drifts", "variances", "deviations", "extents"
)

cdef enum:
    PAIRS, DISTANCES, SQUARES, DRIFTS, VARIANCES, DEVIATIONS, EXTENTS


def reduce(
    kind,
    curves,
    const int64_t[::1] places,
    const double[::1] below,
    const double[::1] weights,
    const double[:, :] points,
    double[:, :, :] rows,
    double[:, ::1] sums,
):
    """Reduce the curves of some rows.

    Parameters
    ----------
    kind : str
        "pairs" is the Gini mean difference of a curve, and E|v - V| of each cell;
        "distances" the gain in distance from a point, |v - point| - |point|, and
        "squares" that in squared distance; "drifts" the curve itself; "variances" the
        squared distance of a curve from its own mean. Two kinds have nothing for the
        cells: "deviations", the standard deviation (ddof=1) over the values that the
        cells stand for, and "extents", the largest value minus the smallest.
    curves : tuple
        begins, ends, last, cells, moved; see the module.
    places, rows, sums
        See the module. If `rows` and `sums` have one output, they take the mean over
        all outputs.
    below : ndarray of shape (n,)
        As `sums`, the probability of the cells before each, and of all; for
        "deviations" the number of values that they stand for.
    weights : ndarray of shape (n_rows,)
    points : ndarray of shape (n_outputs, n_rows)
    """
    cdef const int64_t[:, :] begins = curves[0], ends = curves[1], last = curves[2]
    cdef const int32_t[::1] cells = curves[3]
    cdef const double[:, :] moved = curves[4]
    cdef Room room = Room(int(np.subtract(curves[1], curves[0]).max(initial=1)))
    cdef int which = KINDS.index(kind)
    cdef bint of_cells = which < DEVIATIONS
    cdef bint moves = which == PAIRS or which > DRIFTS  # one piece: nothing
    cdef Py_ssize_t n_rounds = (begins.shape[0] + ROUND - 1) // ROUND, place, first
    cdef Py_ssize_t n_outputs = moved.shape[0], i, m, o, k, start, n, into
    cdef Py_ssize_t step = moved.strides[1] // <Py_ssize_t>sizeof(double)
    cdef double share = 1.0 / n_outputs if rows.shape[1] < n_outputs else 1.0
    cdef double before, weight
    cdef const double *curve
    cdef const double *chance
    cdef const int32_t *at
    cdef double *values = &room.values[0]
    cdef double *chances = &room.chances[0]
    cdef double *into_sums
    with nogil:
        for place in range(begins.shape[1] * n_rounds):
            m, first = place % begins.shape[1], place // begins.shape[1] * ROUND
            for i in range(first, min(first + ROUND, begins.shape[0])):
                start, n = begins[i, m], ends[i, m] - begins[i, m]
                if n == 1 and moves:
                    continue
                at, chance = &cells[start], &below[places[m]]
                if DISTANCES <= which <= DRIFTS:
                    for o in range(n_outputs):
                        into, curve = min(o, rows.shape[1] - 1), &moved[o, start]
                        if n == 1 and curve[0] == 0.0:
                            continue
                        rows[m, into, i] += share * by_piece(
                            which, curve, step, n, points[o, i], at, last[i, m],
                            chance, share * weights[i], &sums[into, places[m]],
                        )
                    continue
                for k in range(n - 1):
                    chances[k] = chance[at[k + 1]] - chance[at[k]]
                chances[n - 1] = chance[last[i, m]] - chance[at[n - 1]]
                for o in range(n_outputs):
                    into, curve = min(o, rows.shape[1] - 1), &moved[o, start]
                    rows[m, into, i] += share * of_curve(
                        room, which, curve, step, n
                    )
                    if not of_cells:
                        continue
                    weight, before = share * weights[i], 0.0
                    into_sums = &sums[into, places[m]]
                    for k in range(n):
                        into_sums[at[k]] += weight * (values[k] - before)
                        before = values[k]
                    into_sums[last[i, m]] -= weight * before


def means(
    curves,
    const int64_t[::1] places,
    const double[::1] weights,
    const double[::1] signs,
    const int64_t[::1] groups,
    double[:, ::1] sums,
    double[:, :, ::1] sketch,
):
    """Weighted sums of the curves, and signed ones over the rows of each group.

    Parameters
    ----------
    curves, places, sums
        See `reduce`.
    weights, signs : ndarray of shape (n_rows,)
    groups : ndarray of shape (n_rows,)
    sketch : ndarray of shape (n_outputs, n_groups, n)
        As `sums`, of each group.
    """
    cdef const int64_t[:, :] begins = curves[0], ends = curves[1]
    cdef const int32_t[::1] cells = curves[3]
    cdef const double[:, :] moved = curves[4]
    cdef Py_ssize_t i, m, o, s, at
    cdef double before, step
    with nogil:
        for m in range(begins.shape[1]):
            for i in range(begins.shape[0]):
                for o in range(moved.shape[0]):
                    before = 0.0
                    for s in range(begins[i, m], ends[i, m]):
                        step, before = moved[o, s] - before, moved[o, s]
                        at = places[m] + cells[s]
                        sums[o, at] += weights[i] * step
                        sketch[o, groups[i], at] += signs[i] * step


cdef inline double by_piece(
    int which,
    const double *curve,
    Py_ssize_t step,
    Py_ssize_t n,
    double point,
    const int32_t *at,
    int64_t last,
    const double *below,
    double weight,
    double *sums,
) noexcept nogil:
    """A mean of what each piece gives by itself, which is added to the sums."""
    cdef double total = 0.0, before = 0.0, value
    cdef Py_ssize_t k
    cdef int64_t end
    for k in range(n):
        value = curve[k * step]
        if which == DISTANCES:
            value = fabs(value - point) - fabs(point)
        elif which == SQUARES:
            value = value * (value - 2.0 * point)
        end = at[k + 1] if k < n - 1 else last
        total += value * (below[end] - below[at[k]])
        sums[at[k]] += weight * (value - before)
        before = value
    sums[last] -= weight * before
    return total


cdef inline double of_curve(
    Room room,
    int which,
    const double *curve,
    Py_ssize_t step,
    Py_ssize_t n,
) noexcept nogil:
    """One kind of one curve; fills `room.values` with what is meant of each piece."""
    cdef double *values = &room.values[0]
    cdef double *chances = &room.chances[0]
    cdef double low = curve[0], high = curve[0], value, count, mean
    cdef Py_ssize_t k
    if which == PAIRS:
        return pairs_of_curve(room, curve, step, n)
    if which == EXTENTS:
        for k in range(1, n):
            value = curve[k * step]
            low, high = value if value < low else low, value if value > high else high
        return high - low
    count = 0.0
    for k in range(n):
        values[k] = curve[k * step] - low
        count += chances[k]
    mean = mean_of(values, chances, n) / count
    for k in range(n):
        values[k] = (values[k] - mean) * (values[k] - mean)
    value = mean_of(values, chances, n)
    if which == VARIANCES:
        return value
    return sqrt(value / (count - 1.0 if count > 2.0 else 1.0))


cdef inline double mean_of(
    const double *values, const double *chances, Py_ssize_t n
) noexcept nogil:
    cdef double total = 0.0
    cdef Py_ssize_t k
    for k in range(n):
        total += values[k] * chances[k]
    return total


cdef double pairs_of_curve(
    Room room, const double *moved, Py_ssize_t step, Py_ssize_t n
) noexcept nogil:
    """E|V' - V''|; fills `room.values` with E|v_k - V| of each piece k."""
    cdef double *keys = NULL
    cdef int32_t *order = NULL
    cdef double *chances = &room.chances[0]
    cdef double *distances = &room.values[0]
    cdef double below = 0.0, total = 0.0, at_first = 0.0, gap, apart
    cdef Py_ssize_t k
    sort(room, moved, step, n, &keys, &order)
    for k in range(n - 1):
        below += chances[order[k]]
        gap = keys[k + 1] - keys[k]
        total += gap * below * (1.0 - below)
        at_first += gap * (1.0 - below)
    apart, below = at_first, 0.0
    distances[order[0]] = apart
    for k in range(n - 1):
        below += chances[order[k]]
        apart += (keys[k + 1] - keys[k]) * (2.0 * below - 1.0)
        distances[order[k + 1]] = apart
    return 2.0 * total


cdef void sort(
    Room room,
    const double *values,
    Py_ssize_t step,
    Py_ssize_t n,
    double **sorted_keys,
    int32_t **sorted_order,
) noexcept nogil:
    """Sort blocks and merge them; points at the sorted values and where they were."""
    cdef double *keys = &room.keys[0]
    cdef double *spare_keys = &room.spare_keys[0]
    cdef int32_t *order = &room.order[0]
    cdef int32_t *spare_order = &room.spare_order[0]
    cdef int32_t *ends = &room.ends[0]
    cdef Py_ssize_t n_runs = (n + RANKED - 1) // RANKED, r, start, middle, end, merged
    cdef Py_ssize_t a, b, k
    cdef bint first
    start = 0
    for r in range(n_runs):
        ends[r] = <int32_t>((r + 1) * n // n_runs)
        rank(room, values, step, start, ends[r])
        start = ends[r]
    while n_runs > 1:
        start = merged = 0
        for r in range(0, n_runs, 2):
            middle, end = ends[r], ends[min(r + 1, n_runs - 1)]
            a, b, k = start, middle, start
            while a < middle and b < end:  # no branch to be guessed wrong inside
                first = keys[a] <= keys[b]
                spare_keys[k] = keys[a] if first else keys[b]
                spare_order[k] = order[a] if first else order[b]
                a += first
                b += 1 - first
                k += 1
            while a < middle:
                spare_keys[k], spare_order[k] = keys[a], order[a]
                a, k = a + 1, k + 1
            while b < end:
                spare_keys[k], spare_order[k] = keys[b], order[b]
                b, k = b + 1, k + 1
            ends[merged] = <int32_t>end
            start, merged = end, merged + 1
        n_runs = merged
        keys, spare_keys = spare_keys, keys
        order, spare_order = spare_order, order
    sorted_keys[0], sorted_order[0] = keys, order


cdef void rank(
    Room room, const double *values, Py_ssize_t step, Py_ssize_t start, Py_ssize_t end
) noexcept nogil:
    """Sort values[start:end] into `room`: count the smaller ones of each."""
    cdef double *near = &room.spare_keys[0]
    cdef int *smaller = &room.smaller[0]
    cdef int32_t *order = &room.order[start]
    cdef double *keys = &room.keys[start]
    cdef Py_ssize_t n = end - start, padded = n, k, at
    if n > LANES // 2:
        padded = (n + LANES - 1) // LANES * LANES
    for k in range(n):
        near[k], order[k] = values[(start + k) * step], -1
    for k in range(n, padded):
        near[k] = INFINITY
    count_smaller(near, <int>n, <int>padded, smaller)
    for k in range(n):
        at = smaller[k]
        while order[at] >= 0:  # equal values
            at += 1
        keys[at], order[at] = near[k], <int32_t>(start + k)
