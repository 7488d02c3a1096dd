# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Rows by leaf and by the features whose conditions they violate."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

import numpy as np

from skvarimp._compiled.tree_walk cimport CUT, FEATURE, LEFT, RIGHT

cdef enum:
    ORDER = 3  # features violated, at most
    BOTH_WAYS = -2  # the rank of a node that rows leave on both sides

ctypedef fused Code:  # small ones are read faster
    uint8_t
    uint16_t
    int32_t

cdef struct Frame:
    # rows that reach a node having violated the conditions on features of these ranks
    int32_t node
    int32_t ranks[3]
    int32_t size
    int64_t start, stop, free  # its rows, and where rows may be listed


def lists_of_rows(
    trees,
    const int32_t[::1] roots,
    const int32_t[::1] rank,
    Py_ssize_t depth,
    const Code[:, ::1] codes,
    firsts,
    masses,
    const double[::1] weights,
    const int32_t[::1] features=None,
    const double[:, :, ::1] amounts=None,
    double[:, :, ::1] sums=None,
):
    """Send rows down trees in lists, and add up what they bring or find at the leaves.

    All rows of a list have violated the same features so far. Those that agree with a
    child's side go there, and the others, having violated one feature more, if it
    moves.

    Parameters
    ----------
    trees : tuple
        As of `Descent`.
    roots : ndarray of shape (n_trees,), int32
    rank : ndarray of shape (n_nodes,), int32
        How many moving features were split on before that of a node; -1 where it does
        not move, -2 where rows go both ways.
    depth : int
        Of the deepest leaf.
    codes : ndarray of shape (n_features, n_rows), uint8, uint16 or int32
    firsts : list of ndarray of shape (n_nodes + 1,), int64
        Where the sets of 0, 1, ... features of each leaf begin.
    masses : list of ndarray of shape (n_sets,)
        Of these sets; the weights of rows are added.
    weights : ndarray of shape (n_rows,), or None
        None: all 1.
    features : ndarray of shape (n_sets,), int32, or None
        The features of the sets of one; then `masses` and `weights` are not used. None:
        what is below is not used.
    amounts : ndarray of shape (2, n_raw, n_sets)
        For each set of one feature what a row finds that violates none on the way to
        the leaf, and what one finds that violates this one.
    sums : ndarray of shape (n_features, n_raw, n_rows)
        Added to.
    """
    cdef const int32_t[:, ::1] nodes = trees[0]
    cdef const uint8_t[::1] missing_left = trees[1]
    cdef const int32_t[::1] missing_code = trees[2]
    cdef const uint8_t[:, ::1] sets = trees[3]
    cdef Py_ssize_t n_rows = codes.shape[1], t, k, order = len(firsts) - 1
    cdef bint finds = features is not None, alike = weights is None
    cdef const int64_t *first_sets[ORDER + 1]
    cdef const int64_t[::1] first
    cdef double *masses_of[ORDER + 1]
    cdef double[::1] of_sets
    cdef double *mass
    for k in range(order + 1):
        first = firsts[k]
        first_sets[k] = &first[0]
        if not finds:
            of_sets = masses[k]
            masses_of[k] = &of_sets[0]
    cdef int32_t[::1] rows = np.empty((depth + 2) * n_rows, np.int32)
    frames = np.empty((4 * depth + 4) * sizeof(Frame), np.uint8)
    cdef uint8_t[::1] room = frames
    cdef Frame *stack = <Frame *>&room[0]
    cdef Frame here
    cdef int32_t feature, cut
    cdef const uint8_t *of_set
    cdef Py_ssize_t top, n_left, o, n_raw = amounts.shape[1] if finds else 0
    cdef int64_t s, last
    cdef double amount
    cdef double *found
    with nogil:
        for k in range(n_rows):
            rows[k] = <int32_t>k
        for t in range(roots.shape[0]):
            stack[0].node, stack[0].size = roots[t], 0
            stack[0].start, stack[0].stop, stack[0].free = 0, n_rows, n_rows
            top = 1
            while top > 0:
                top -= 1
                here = stack[top]
                feature = nodes[here.node, FEATURE]
                if feature < 0 and finds:
                    s, last = first_sets[1][here.node], first_sets[1][here.node + 1]
                    if here.size:
                        s += here.ranks[0]
                        last = s + 1
                    while s < last:
                        for o in range(n_raw):
                            amount = amounts[here.size, o, s]
                            found = &sums[features[s], o, 0]
                            for k in range(here.start, here.stop):
                                found[rows[k]] += amount
                        s += 1
                    continue
                if feature < 0:
                    mass = masses_of[here.size] + first_sets[here.size][here.node]
                    for k in range(here.size):
                        s = here.ranks[k]  # over k + 1: how many sets end below it
                        if k > 0:
                            s = s * (here.ranks[k] - 1) // 2
                        if k > 1:
                            s = s * (here.ranks[k] - 2) // 3
                        mass += s
                    if alike:
                        mass[0] += here.stop - here.start
                        continue
                    for k in range(here.start, here.stop):
                        mass[0] += weights[rows[k]]
                    continue
                if rank[here.node] == BOTH_WAYS or is_in(&here, rank[here.node]):
                    top = push(stack, top, &here, nodes[here.node, LEFT], -1,
                               here.start, here.stop, here.free)
                    top = push(stack, top, &here, nodes[here.node, RIGHT], -1,
                               here.start, here.stop, here.free)
                    continue
                cut = nodes[here.node, CUT]
                of_set = &sets[-1 - cut, 0] if cut < 0 else NULL
                n_left = split(&rows[0], &here, &codes[feature, 0], cut, of_set,
                               missing_code[feature], missing_left[here.node])
                k = here.free + here.stop - here.start
                top = push(stack, top, &here, nodes[here.node, LEFT], -1,
                           here.free, n_left, k)
                top = push(stack, top, &here, nodes[here.node, RIGHT], -1,
                           n_left, k, k)
                if rank[here.node] >= 0 and here.size < order:
                    top = push(stack, top, &here, nodes[here.node, LEFT],
                               rank[here.node], n_left, k, k)
                    top = push(stack, top, &here, nodes[here.node, RIGHT],
                               rank[here.node], here.free, n_left, k)


cdef inline bint is_in(const Frame *frame, int32_t rank) noexcept nogil:
    cdef int k
    for k in range(frame.size):  # none is -1
        if frame.ranks[k] == rank:
            return True
    return False


cdef inline int64_t split(
    int32_t *rows,
    const Frame *here,
    const Code *codes,
    int32_t cut,
    const uint8_t *of_set,
    int32_t missing,
    bint to_missing,
) noexcept nogil:
    """List a frame's rows: those that go left, then, from the end, the others.

    Where the first of the others stands. Rows go left with a code below the cut, or
    with one that `of_set` has, unless it is NULL.
    """
    cdef int64_t n_left = here.free, to_right = here.free + here.stop - here.start, k
    cdef int32_t row, code
    cdef bint goes
    for k in range(here.start, here.stop):
        row = rows[k]
        code = codes[row]
        if of_set != NULL:
            goes = of_set[code]
        else:
            goes = to_missing if code == missing else code < cut
        rows[n_left] = row
        rows[to_right - 1] = row
        n_left += goes
        to_right -= 1 - goes
    return n_left


cdef inline Py_ssize_t push(
    Frame *stack,
    Py_ssize_t top,
    const Frame *parent,
    int32_t node,
    int32_t rank,
    int64_t start,
    int64_t stop,
    int64_t free,
) noexcept nogil:
    """Add a frame unless it has no rows; ranks stay ascending, -1 is none."""
    cdef int k
    if start == stop:
        return top
    stack[top] = parent[0]
    stack[top].node, stack[top].start, stack[top].stop = node, start, stop
    stack[top].free = free
    if rank >= 0:
        k = stack[top].size
        while k > 0 and stack[top].ranks[k - 1] > rank:
            stack[top].ranks[k] = stack[top].ranks[k - 1]
            k -= 1
        stack[top].ranks[k] = rank
        stack[top].size += 1
    return top + 1
