# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Rows go down trees: the pieces of each row's curve of each feature that moves.

Each leaf that `TreeWalk` reaches off a row's own path is a step up and a step down in
one curve. Tree by tree, so that a tree's nodes stay in the cache, the steps are listed
by row; row by row they are added up in one array over all cells, whose touched places
are kept as bits, and read off as pieces.

Cells are *flat*: those of all members of a walk in a row, each member's from a multiple
of 64 on.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint64_t

import numpy as np

from skvarimp._compiled.tree_walk cimport lowest_bit, TreeWalk, Visit, WORD

cdef enum:
    BLOCK = 128  # rows that go down one tree after the other


@cython.final
cdef class Descent:
    """Rows on their way down the trees of an ensemble.

    Parameters
    ----------
    trees : tuple
        See `TreeWalk`; then leaf values of shape (n_nodes, n_raw).
    forest : tuple
        roots : ndarray of shape (n_trees,), int32
            Of the trees that rows go down.
        depth : int
            Of the deepest leaf of all.
    members : tuple
        opens : ndarray of shape (n_nodes,), uint8
            See `TreeWalk`.
        marks : ndarray of shape (n_marks,), int32
            Flat cells where what an edge admits begins; minus one less, where it ends.
        spans : ndarray of shape (n_nodes, 2), int64
            The marks of the edge to a node, for all members of its feature, are
            spans[node, 0] to spans[node, 1].
        first_cell, n_cells : ndarray of shape (n_members,), int64
        n_flat : int
            Number of flat cells.
    """

    cdef TreeWalk walk
    cdef const int32_t[::1] roots, marks
    cdef const double[:, ::1] leaf_values
    cdef const int64_t[:, ::1] spans_of_marks
    cdef const int64_t[::1] first_cell, n_cells
    cdef Py_ssize_t n_raw, n_trees, n_members, size, room, n_pieces
    # each row's steps in all trees, from a multiple of `room` on
    cdef int64_t[::1] n_steps
    cdef int32_t[::1] step_cells
    cdef double[:, ::1] step_changes
    # one row's steps, added up
    cdef double[:, ::1] jumps
    cdef uint64_t[::1] touched
    # pieces of all rows
    cdef int32_t[::1] cells
    cdef double[:, ::1] moved

    def __init__(self, trees, forest, members):
        self.roots, depth = forest
        self.size = BLOCK
        self.walk = TreeWalk(trees, members[0], depth, self.size)
        self.leaf_values = trees[4]
        self.marks, self.spans_of_marks = members[1:3]
        self.first_cell, self.n_cells, n_flat = members[3:]
        self.n_raw, self.n_trees = self.leaf_values.shape[1], len(self.roots)
        self.n_members = len(self.n_cells)
        self.room, self.n_steps = 8 * self.n_trees, np.empty(self.size, np.int64)
        self.step_cells = np.empty(self.size * self.room, np.int32)
        self.step_changes = np.empty((self.size * self.room, self.n_raw))
        self.jumps = np.zeros((n_flat, self.n_raw))
        self.touched = np.zeros(n_flat // WORD, np.uint64)
        self.cells, self.moved = np.empty(0, np.int32), np.empty((0, self.n_raw))

    def pieces(self, const int32_t[:, ::1] codes):
        """The pieces of some rows' curves.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, n_features), int32

        Returns
        -------
        starts : ndarray of shape (n_rows, n_members + 1)
            Row i has the pieces starts[i, m] to starts[i, m + 1] of member m.
        cells : ndarray of shape (n_pieces,), int32
            The first cell of each piece, counted from the member's first.
        moved : ndarray of shape (n_raw, n_pieces)
            By how much the raw outputs differ from the row's own there. This and
            `cells` are overwritten by the next call.
        raw : ndarray of shape (n_raw, n_rows)
            Sums of the rows' own leaves, in the trees that rows go down.
        """
        cdef Py_ssize_t n_rows = codes.shape[0], first, n, i, m, room
        starts_of_rows = np.empty((n_rows, self.n_members + 1), np.int64)
        raw_of_rows = np.zeros((n_rows, self.n_raw))
        cdef int64_t[:, ::1] starts = starts_of_rows
        cdef double[:, ::1] raw = raw_of_rows
        self.n_pieces = 0
        with nogil:
            first = 0
            while first < n_rows:
                n = min(self.size, n_rows - first)
                self.meet(codes, first, n, raw)
                room = n * self.n_members
                for i in range(n):
                    room += self.n_steps[i]
                if self.n_pieces + room > self.cells.shape[0]:
                    with gil:
                        self.cells, self.moved = larger(
                            self.cells, self.moved, self.n_pieces, room
                        )
                for i in range(n):
                    self.add_up(i)
                    starts[first + i, 0] = self.n_pieces
                    for m in range(self.n_members):
                        self.take_pieces(m)
                        starts[first + i, m + 1] = self.n_pieces
                first += n
        cells, moved = np.asarray(self.cells), np.asarray(self.moved)
        n = self.n_pieces
        return starts_of_rows, cells[:n], moved[:n].T, raw_of_rows.T

    # From the root of a tree to the leaves

    cdef void meet(
        self,
        const int32_t[:, ::1] codes,
        Py_ssize_t first,
        Py_ssize_t n_rows,
        double[:, ::1] raw,
    ) noexcept nogil:
        """List the steps of n_rows rows in all trees; add their own leaves to raw."""
        cdef Py_ssize_t i, t, o, word
        self.walk.take(codes, first, n_rows)
        self.n_steps[:n_rows] = 0
        for t in range(self.n_trees):
            for word in range((n_rows + WORD - 1) // WORD):
                self.list_steps(t, word, min(WORD, n_rows - word * WORD))
            for i in range(n_rows):
                for o in range(self.n_raw):
                    raw[first + i, o] += self.leaf_values[self.walk.own[i], o]

    # From the leaves to steps, listed by row

    cdef void list_steps(
        self, Py_ssize_t t, Py_ssize_t word, Py_ssize_t n_rows
    ) noexcept nogil:
        """List the steps of the rows of a word in one tree."""
        cdef Py_ssize_t n = self.walk.go_down(self.roots[t], word, n_rows)
        cdef Py_ssize_t v, i, s, o, at, n_raw = self.n_raw
        cdef const int64_t *marks = &self.spans_of_marks[0, 0]
        cdef const double *values = &self.leaf_values[0, 0]
        cdef const double *value
        cdef const double *own
        cdef const Visit *visit
        cdef int32_t cell, ends
        cdef uint64_t rows
        cdef double sign
        for v in range(n):
            visit = &self.walk.visits[v]
            value = values + visit.leaf * n_raw
            for s in range(marks[2 * visit.edge], marks[2 * visit.edge + 1]):
                ends = self.marks[s] >> 31  # -1 or 0
                sign, cell, rows = 1.0 + 2.0 * ends, self.marks[s] ^ ends, visit.rows
                while rows:
                    i = word * WORD + lowest_bit(rows)
                    rows &= rows - 1
                    if self.n_steps[i] == self.room:
                        self.more_steps()
                    at = i * self.room + self.n_steps[i]
                    own = values + self.walk.own[i] * n_raw
                    self.n_steps[i] += 1
                    self.step_cells[at] = cell
                    for o in range(n_raw):
                        self.step_changes[at, o] = sign * (value[o] - own[o])

    cdef void more_steps(self) noexcept nogil:
        """Make room for as many steps again of each row."""
        with gil:
            cells = np.empty((self.size, 2 * self.room), np.int32)
            changes = np.empty((self.size, 2 * self.room, self.n_raw))
            cells[:, : self.room] = np.reshape(self.step_cells, (self.size, -1))
            changes[:, : self.room] = np.reshape(
                self.step_changes, (self.size, self.room, self.n_raw)
            )
            self.step_cells = cells.ravel()
            self.step_changes = changes.reshape(-1, self.n_raw)
        self.room *= 2

    # From steps to pieces

    cdef void add_up(self, Py_ssize_t i) noexcept nogil:
        """Add up the steps of one row in all trees."""
        cdef Py_ssize_t e, o, n_raw = self.n_raw
        cdef const int32_t *cells = &self.step_cells[i * self.room]
        cdef const double *changes = &self.step_changes[i * self.room, 0]
        cdef double *jumps = &self.jumps[0, 0]
        cdef uint64_t *touched = &self.touched[0]
        cdef int32_t cell
        for e in range(self.n_steps[i]):
            cell = cells[e]
            touched[cell // WORD] |= <uint64_t>1 << (cell % WORD)
            if n_raw == 1:
                jumps[cell] += changes[e]
            else:
                for o in range(n_raw):
                    jumps[cell * n_raw + o] += changes[e * n_raw + o]

    cdef void take_pieces(self, Py_ssize_t m) noexcept nogil:
        """Read off the pieces of one member's curve; its steps are forgotten."""
        cdef Py_ssize_t n_raw = self.n_raw, first = self.first_cell[m], o, word
        cdef Py_ssize_t n = self.n_pieces, cell
        cdef double *jumps = &self.jumps[0, 0]
        cdef double *moved = &self.moved[0, 0]
        cdef int32_t *cells = &self.cells[0]
        cdef uint64_t bits
        cdef bint steps
        cells[n] = 0
        for o in range(n_raw):
            moved[n * n_raw + o] = jumps[first * n_raw + o]
            jumps[first * n_raw + o] = 0.0
        for word in range(first // WORD, (first + self.n_cells[m] + WORD - 1) // WORD):
            bits = self.touched[word]
            self.touched[word] = 0
            while bits:
                cell = word * WORD + lowest_bit(bits)
                bits &= bits - 1
                steps = False
                for o in range(n_raw):
                    steps |= jumps[cell * n_raw + o] != 0.0
                if steps:  # those that cancel are none
                    n += 1
                    cells[n] = <int32_t>(cell - first)
                    for o in range(n_raw):
                        moved[n * n_raw + o] = (
                            moved[(n - 1) * n_raw + o] + jumps[cell * n_raw + o]
                        )
                        jumps[cell * n_raw + o] = 0.0
        self.n_pieces = n + 1


def larger(cells, numbers, Py_ssize_t used, Py_ssize_t more):
    """Copies with room for so many more, and as many again."""
    shape = 2 * (used + more), numbers.shape[1]
    new_cells, new_numbers = np.empty(shape[0], np.int32), np.empty(shape)
    new_cells[:used], new_numbers[:used] = cells[:used], numbers[:used]
    return new_cells, new_numbers
