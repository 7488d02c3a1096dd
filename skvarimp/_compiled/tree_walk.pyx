# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""From the root of a tree to the leaves, by own values or with one feature moved.

Up to 512 rows go down a tree together, each node with a list of what reaches it: a row
by its own values, or a row of which one feature is moved.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

import numpy as np

cdef enum:
    MOVED = 10  # an item of a list: the row, from here on the feature plus 1,
    EDGE = 32  # from here on the last edge on that feature
    OF_ROW = 0x3FF

FEATURES = 2**(EDGE - MOVED) - 2  # there may be no more


@cython.final
cdef class TreeWalk:
    """Rows on their way down one tree after another.

    Parameters
    ----------
    trees : tuple
        nodes : ndarray of shape (n_nodes, 4), int32
            Feature (-1 at a leaf), cut (at a categorical split -1 minus the row of
            `sets`), right and left child.
        missing_left : ndarray of shape (n_nodes,), uint8
        missing_code : ndarray of shape (n_features,), int32
        sets : ndarray of shape (n_sets, n_codes), uint8
            Codes that go left.
    opens : ndarray of shape (n_nodes,), uint8
        Whether the edge to a node admits a cell that its feature moves through.
    depth : int
        Of the deepest leaf of all.
    size : int
        Rows at a time, at most.

    Attributes
    ----------
    codes : ndarray of shape (n_features, size)
        Of the rows.
    own : ndarray of shape (size,)
        The leaf that each row is in.
    visits : ndarray of shape (n, 3)
        Row, last edge on the moved feature, and leaf.
    """

    def __init__(self, trees, opens, depth, size):
        self.nodes, self.missing_left, self.missing_code, self.sets = trees[:4]
        self.opens = opens
        self.items = np.empty((2 * depth + 3) * size, np.int64)
        self.todo = np.empty((depth + 2, 3), np.int32)
        self.codes = np.zeros((len(self.missing_code), size), np.int32)
        self.own = np.empty(size, np.int32)
        self.visits = np.empty((4 * size, 3), np.int32)

    cdef void take(
        self, const int32_t[:, ::1] codes, Py_ssize_t first, Py_ssize_t n_rows
    ) noexcept nogil:
        """Take the codes of n_rows rows from `first` on."""
        cdef Py_ssize_t i, u
        for i in range(n_rows):
            for u in range(codes.shape[1]):
                self.codes[u, i] = codes[first + i, u]

    cdef Py_ssize_t go_down(self, int32_t root, Py_ssize_t n_rows) noexcept nogil:
        """Fill `own` and `visits` with the leaves of a tree that the rows reach.

        Returns the number of visits.
        """
        cdef const int32_t *nodes = &self.nodes[0, 0]
        cdef const uint8_t *opens = &self.opens[0]
        cdef const uint8_t *missing_left = &self.missing_left[0]
        cdef int64_t *items = &self.items[0]
        cdef int32_t *todo = &self.todo[0, 0]
        cdef int32_t *own = &self.own[0]
        cdef int32_t *visits = &self.visits[0, 0]
        cdef Py_ssize_t most = self.visits.shape[0], width = self.codes.shape[1]
        cdef const int32_t *codes_of_rows = &self.codes[0, 0] if width else NULL
        cdef const int32_t *codes
        cdef const int32_t *here
        cdef Py_ssize_t n = 0, top = 1, start, stop, k, to_right, to_left, first_left
        cdef int32_t node, feature, cut, missing_code, left, right, i, code
        cdef int64_t item, of_item, tag, tag_right, tag_left
        cdef int goes, free, same, follows, opens_right, opens_left, to_missing
        for k in range(n_rows):
            items[k] = k
        todo[0], todo[1], todo[2] = root, 0, <int32_t>n_rows
        while top > 0:
            top -= 1
            node, start, stop = todo[3 * top], todo[3 * top + 1], todo[3 * top + 2]
            here = &nodes[NODE * <Py_ssize_t>node]
            feature = here[FEATURE]
            if feature < 0:
                if n + stop - start > most:
                    self.more_visits(n, stop - start)
                    visits, most = &self.visits[0, 0], self.visits.shape[0]
                for k in range(start, stop):
                    item = items[k]
                    i = item & OF_ROW
                    visits[3 * n], visits[3 * n + 1] = i, <int32_t>(item >> EDGE)
                    visits[3 * n + 2] = node
                    if item <= OF_ROW:
                        own[i] = node
                    n += item > OF_ROW
                continue
            cut, right, left = here[CUT], here[RIGHT], here[LEFT]
            missing_code, to_missing = self.missing_code[feature], missing_left[node]
            codes = codes_of_rows + feature * width
            opens_right, opens_left = opens[right], opens[left]
            tag = <int64_t>(feature + 1) << MOVED
            tag_right = tag | <int64_t>right << EDGE
            tag_left = tag | <int64_t>left << EDGE
            # the left list behind the right one, which waits; no branches inside
            to_right, first_left = stop, 2 * stop - start
            to_left = first_left
            for k in range(start, stop):
                item = items[k]
                i, of_item = item & OF_ROW, item & (0xFFFFFFFFLL - OF_ROW)
                code = codes[i]
                if cut < 0:
                    goes = self.sets[-1 - cut, code]
                else:
                    goes = code < cut
                    goes = to_missing if code == missing_code else goes
                free, same = of_item == 0, of_item == tag
                follows = goes & (1 - same)
                items[to_left] = item if follows else i | tag_left
                to_left += follows | ((same | (free & (1 - goes))) & opens_left)
                follows = (1 - goes) & (1 - same)
                items[to_right] = item if follows else i | tag_right
                to_right += follows | ((same | (free & goes)) & opens_right)
            if to_right > stop:
                todo[3 * top], todo[3 * top + 1] = right, <int32_t>stop
                todo[3 * top + 2] = <int32_t>to_right
                top += 1
            if to_left > first_left:
                todo[3 * top], todo[3 * top + 1] = left, <int32_t>first_left
                todo[3 * top + 2] = <int32_t>to_left
                top += 1
        return n

    cdef void more_visits(self, Py_ssize_t n, Py_ssize_t more) noexcept nogil:
        """Make room for n visits and so many more, and as many again."""
        with gil:
            visits = np.empty((2 * (n + more), 3), np.int32)
            visits[:n] = self.visits[:n]
            self.visits = visits
