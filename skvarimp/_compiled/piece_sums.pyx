# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Sums and cuts of curves that are constant but for a few steps.

`bounds`, `cells`, `moved` and `sums` are those of `pieces`. `within_parts` cuts curves down to the cells of each row's part.
"""

from libc.stdint cimport int32_t, int64_t


def means(
    const int64_t[:, :] bounds,
    const int32_t[::1] cells,
    const double[:, :] moved,
    const double[::1] weights,
    const double[::1] signs,
    const int64_t[::1] groups,
    double[:, ::1] sums,
    double[:, :, ::1] sketch,
):
    """Weighted sums of the curves, and signed ones over the rows of each group.

    Parameters
    ----------
    bounds, cells, moved, sums
        See `pieces`.
    weights, signs : ndarray of shape (n_rows,)
    groups : ndarray of shape (n_rows,)
    sketch : ndarray of shape (n_outputs, n_groups, n_cells)
        As `sums`, of each group.
    """
    cdef Py_ssize_t i, o, s
    cdef double before, step
    with nogil:
        for i in range(bounds.shape[1]):
            for o in range(moved.shape[0]):
                before = 0.0
                for s in range(bounds[0, i], bounds[1, i]):
                    step, before = moved[o, s] - before, moved[o, s]
                    sums[o, cells[s]] += weights[i] * step
                    sketch[o, groups[i], cells[s]] += signs[i] * step


def within_parts(
    const int64_t[:, :] bounds,
    const int32_t[::1] cells,
    const double[:, :] moved,
    const int64_t[:, :] spans,
    const int32_t[::1] cell_of,
    const int64_t[::1] own,
    int64_t[:, :] new_bounds,
    int32_t[::1] new_cells,
    double[:, ::1] new_moved,
):
    """Curves over the cells of each row's own part.

    Parameters
    ----------
    bounds, cells, moved
        See `pieces`; row i's first piece begins at cell 0.
    spans : ndarray of shape (2, n_rows)
        The first cell of each row's part and the one behind its last.
    cell_of : ndarray of shape (n_cells_of_parts,)
        The cell that `cells` means of each cell of the parts, ascending in each part.
    own : ndarray of shape (n_rows,) or (0,)
        The cell of each row's own value, on whose piece nothing moves.
    new_bounds : ndarray of shape (3, n_rows)
    new_cells : ndarray of shape (n_pieces,)
    new_moved : ndarray of shape (n_outputs, n_pieces)
        Filled; with room for all pieces.
    """
    cdef Py_ssize_t i, o, free = 0
    cdef int64_t s, stop, at, end, unmoved, still
    with nogil:
        for i in range(bounds.shape[1]):
            s, stop, at, end = bounds[0, i], bounds[1, i], spans[0, i], spans[1, i]
            still, unmoved = -1, -1 if own.shape[0] == 0 else own[i]
            new_bounds[0, i], new_bounds[2, i] = free, end
            while at < end:
                s = first_behind(&cells[0], s, stop, cell_of[at] + 1) - 1
                new_cells[free] = <int32_t>at
                for o in range(moved.shape[0]):
                    new_moved[o, free] = moved[o, s]
                if at <= unmoved:
                    still = free
                free, s = free + 1, s + 1
                at = end if s == stop else first_behind(&cell_of[0], at, end, cells[s])
            if still >= 0:
                for o in range(moved.shape[0]):
                    new_moved[o, still] = 0.0
            new_bounds[1, i] = free


cdef inline int64_t first_behind(
    const int32_t *cells, int64_t first, int64_t end, int32_t cell
) noexcept nogil:
    """The first position from `first` on that is at least `cell`, or `end`."""
    cdef int64_t step = 1, high, middle
    if first == end or cells[first] >= cell:
        return first
    while first + step < end and cells[first + step] < cell:
        first += step
        step *= 2
    high = min(first + step, end)
    while high - first > 1:
        middle = (first + high) // 2
        if cells[middle] < cell:
            first = middle
        else:
            high = middle
    return high
