# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Rows by leaf and by the features whose conditions they violate.

Rows go down a tree in lists. All rows of a list have violated the same features so far.
Those that agree with a child's side go there, and the others, having violated one
feature more, if it moves.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

import numpy as np

from skvarimp._compiled.tree_walk cimport CUT, Code, FEATURE, LEFT, RIGHT

cdef enum:
    ORDER = 3  # features violated, at most
    BOTH_WAYS = -2  # the rank of a node that rows leave on both sides

cdef struct Frame:
    # rows that reach a node having violated the conditions on features of these ranks
    int32_t node
    int32_t ranks[3]
    int32_t size
    int64_t start, stop, free  # its rows, and where rows may be listed


@cython.final
cdef class Lists:
    """Lists of rows on their way down trees.

    Parameters
    ----------
    trees : tuple
        As of `Descent`.
    rank : ndarray of shape (n_nodes,), int32
        How many moving features were split on before that of a node; -1 where it does
        not move, -2 where rows go both ways.
    depth : int
        Of the deepest leaf.
    firsts : list of ndarray of shape (n_nodes + 1,), int64
        Where the sets of 0, 1, ... features of each leaf begin.
    n_rows : int
    """

    cdef const int32_t[:, ::1] nodes
    cdef const uint8_t[::1] missing_left
    cdef const int32_t[::1] missing_code, rank
    cdef const uint8_t[:, ::1] sets
    cdef list firsts
    cdef const int64_t *first[ORDER + 1]
    cdef Py_ssize_t n_rows, order
    cdef uint8_t[::1] room
    cdef Frame *stack
    cdef Py_ssize_t top
    cdef int32_t[::1] rows
    # what rows bring
    cdef double *masses[ORDER + 1]
    cdef const double[::1] weights
    # what they find
    cdef const int32_t[::1] features
    cdef const double[:, :, ::1] amounts
    cdef double[:, :, :] sums
    cdef bint finds
    cdef Py_ssize_t n_raw

    def __init__(self, trees, rank, Py_ssize_t depth, firsts, Py_ssize_t n_rows):
        cdef const int64_t[::1] first
        cdef Py_ssize_t k
        self.nodes, self.missing_left, self.missing_code, self.sets = trees[:4]
        self.rank, self.firsts, self.order = rank, firsts, len(firsts) - 1
        for k in range(self.order + 1):
            first = firsts[k]
            self.first[k] = &first[0]
        self.n_rows = n_rows
        self.room = np.empty((4 * depth + 6) * sizeof(Frame), np.uint8)
        self.stack = <Frame *>&self.room[0]
        self.rows = np.arange((depth + 2) * n_rows, dtype=np.int32)

    # At the ends of the ways

    cdef void at_leaf(self, const Frame *here) noexcept nogil:
        """Add what rows bring to the masses of a leaf, or what they find there."""
        cdef int64_t first, s, last, k
        cdef Py_ssize_t o
        cdef double amount
        cdef double *into
        if not self.finds:
            into = self.masses[here.size] + self.set_of(here)
            if self.weights is None:
                into[0] += here.stop - here.start
            else:
                for k in range(here.start, here.stop):
                    into[0] += self.weights[self.rows[k]]
            return
        first, last = self.first[1][here.node], self.first[1][here.node + 1]
        s = first
        if here.size:
            s += here.ranks[0]
            last = s + 1
        while s < last:
            for o in range(self.n_raw):
                amount = self.amounts[here.size, o, s]
                if amount == 0.0:
                    continue
                into = &self.sums[self.features[s], o, 0]
                for k in range(here.start, here.stop):
                    into[self.rows[k]] += amount
            s += 1

    cdef int64_t set_of(self, const Frame *here) noexcept nogil:
        """Number of the set of violated features of a leaf."""
        cdef int64_t number = self.first[here.size][here.node], s
        cdef int k
        for k in range(here.size):
            s = here.ranks[k]  # over k + 1: how many sets end below it
            if k > 0:
                s = s * (here.ranks[k] - 1) // 2
            if k > 1:
                s = s * (here.ranks[k] - 2) // 3
            number += s
        return number

    # The lists

    cdef void split(
        self, const Frame *here, const Code *codes, int32_t cut, int32_t missing
    ) noexcept nogil:
        """List a frame's rows by their sides, and send them where they go.

        Rows go left with a code below the cut, or with one that `sets` has, or with
        the missing code, which is -1 if they do not.
        """
        cdef int64_t n_left = here.free, stop = here.free + here.stop - here.start
        cdef int64_t to_right = stop, k
        cdef int32_t rank = self.rank[here.node], row, code
        cdef int32_t left = self.nodes[here.node, LEFT]
        cdef int32_t right = self.nodes[here.node, RIGHT]
        cdef const uint8_t *of_set = &self.sets[-1 - cut, 0] if cut < 0 else NULL
        cdef int32_t *rows = &self.rows[0]
        cdef bint goes
        for k in range(here.start, here.stop):
            row = rows[k]
            code = codes[row]
            goes = of_set[code] if of_set != NULL else (code < cut) | (code == missing)
            rows[n_left] = row
            rows[to_right - 1] = row
            n_left += goes
            to_right -= 1 - goes
        self.push(here, left, -1, here.free, n_left, stop)
        self.push(here, right, -1, n_left, stop, stop)
        if rank >= 0 and here.size < self.order:
            self.push(here, left, rank, n_left, stop, stop)
            self.push(here, right, rank, here.free, n_left, stop)

    cdef void push(
        self,
        const Frame *parent,
        int32_t node,
        int32_t rank,
        int64_t start,
        int64_t stop,
        int64_t free,
    ) noexcept nogil:
        """Add a frame unless it has no rows; ranks stay ascending, -1 is none."""
        cdef Frame *frame = self.stack + self.top
        cdef int k
        if start == stop:
            return
        frame[0] = parent[0]
        frame.node, frame.start, frame.stop, frame.free = node, start, stop, free
        if rank >= 0:
            k = frame.size
            while k > 0 and frame.ranks[k - 1] > rank:
                frame.ranks[k] = frame.ranks[k - 1]
                k -= 1
            frame.ranks[k] = rank
            frame.size += 1
        self.top += 1


cdef inline bint is_in(const Frame *frame, int32_t rank) noexcept nogil:
    cdef int k
    for k in range(frame.size):  # none is -1
        if frame.ranks[k] == rank:
            return True
    return False


cdef void go_down(Lists lists, int32_t root, const Code[:, ::1] codes) noexcept nogil:
    """Send all rows down one tree."""
    cdef Frame here
    cdef int32_t node, feature, cut, missing
    here.node, here.size = root, 0
    here.start, here.stop, here.free = 0, lists.n_rows, lists.n_rows
    lists.top = 0
    lists.push(&here, root, -1, 0, lists.n_rows, lists.n_rows)
    while lists.top > 0:
        lists.top -= 1
        here = lists.stack[lists.top]
        node = here.node
        feature = lists.nodes[node, FEATURE]
        if feature < 0:
            lists.at_leaf(&here)
        elif lists.rank[node] == BOTH_WAYS or is_in(&here, lists.rank[node]):
            lists.push(&here, lists.nodes[node, LEFT], -1, here.start, here.stop, here.free)
            lists.push(&here, lists.nodes[node, RIGHT], -1, here.start, here.stop, here.free)
        else:
            cut = lists.nodes[node, CUT]
            missing = lists.missing_code[feature] if lists.missing_left[node] else -1
            lists.split(&here, &codes[feature, 0], cut, missing)


def count_masses(
    Lists lists,
    const int32_t[::1] roots,
    const Code[:, ::1] codes,
    masses,
    const double[::1] weights,
):
    """Add up what rows bring to the leaves.

    Parameters
    ----------
    lists : Lists
    roots : ndarray of shape (n_trees,), int32
    codes : ndarray of shape (n_features, n_rows), uint8, uint16 or int32
    masses : list of ndarray of shape (n_sets,)
        Of the sets of 0, 1, ... features; the weights of rows are added.
    weights : ndarray of shape (n_rows,), or None
        None: all 1.
    """
    cdef Py_ssize_t t, k
    cdef double[::1] of_sets
    for k in range(lists.order + 1):
        of_sets = masses[k]
        lists.masses[k] = &of_sets[0]
    lists.weights, lists.finds = weights, False
    with nogil:
        for t in range(roots.shape[0]):
            go_down(lists, roots[t], codes)


def add_found(
    Lists lists,
    const int32_t[::1] roots,
    const Code[:, ::1] codes,
    features,
    amounts,
    sums,
):
    """Add up what rows find at the leaves.

    Parameters
    ----------
    lists : Lists
    roots, codes : see `count_masses`
    features : ndarray of shape (n_sets,), int32
        Of the sets of one.
    amounts : ndarray of shape (2, n_raw, n_sets)
        For each set of one feature what a row finds that violates none on the way to
        the leaf, and what one finds that violates this one.
    sums : ndarray of shape (n_features, n_raw, n_rows)
        Added to; row follows row.
    """
    cdef Py_ssize_t t
    lists.features, lists.amounts, lists.sums, lists.finds = features, amounts, sums, True
    lists.n_raw = lists.amounts.shape[1]
    with nogil:
        for t in range(roots.shape[0]):
            go_down(lists, roots[t], codes)
