# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""What edges of trees admit, as marks: the cells where that begins and ends."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

import numpy as np


@cython.final
cdef class Edges:
    """The edges of an ensemble, and strips of cells that features move through.

    Parameters
    ----------
    edges : tuple
        feature : ndarray of shape (n_nodes,), int32
            Of the edge to each node; -1 at a root.
        low, high : ndarray of shape (n_nodes,), int32
        admits_missing : ndarray of shape (n_nodes,), bool
            The codes that an edge on a numerical feature admits.
        which_set : ndarray of shape (n_nodes,), int32
            Row of `sets` for an edge on a categorical feature, else -1.
        sets : ndarray of shape (n_sets, n_codes), bool
    first_strip : ndarray of shape (n_features + 1,), int64
        Feature u has the strips strips[first_strip[u]:first_strip[u + 1]].
    strips : ndarray of shape (n_strips,), int64
    first_cell : ndarray of shape (n_strips,), int64
    before : list of ndarray of shape (n_codes + 1,), int32
        Of each strip, how many of its cells are before each code of the feature, of
        which that of missing values is the last, and all.
    """

    cdef const int32_t[::1] feature, low, high, which_set, before
    cdef const uint8_t[::1] admits_missing
    cdef const uint8_t[:, ::1] sets
    cdef const int64_t[::1] first_strip, strips, first_cell, first_code

    def __init__(self, edges, first_strip, strips, first_cell, before):
        self.feature, self.low, self.high, admits_missing = edges[:4]
        self.which_set, sets = edges[4:]
        self.admits_missing, self.sets = admits_missing.view("u1"), sets.view("u1")
        self.first_strip, self.strips, self.first_cell = first_strip, strips, first_cell
        self.first_code = np.cumsum([0] + [len(of_strip) for of_strip in before])
        self.before = np.concatenate(before)

    def marks(self, const int32_t[::1] nodes):
        """The marks of the edges to some nodes, edge after edge.

        Returns
        -------
        marks : ndarray of shape (n_marks,), int32
            Cells where what an edge admits begins; minus one less, where it ends. An
            end behind a strip's last cell is left out.
        spans : ndarray of shape (n_nodes, 2), int64
            The edge to a node has marks[spans[node, 0]:spans[node, 1]], any other none.
        """
        cdef Py_ssize_t k, n = 0
        all_spans = np.zeros((self.feature.shape[0], 2), np.int64)
        cdef int64_t[:, ::1] spans = all_spans
        with nogil:
            for k in range(nodes.shape[0]):
                spans[nodes[k], 0] = n
                n += self.mark(nodes[k], NULL)
                spans[nodes[k], 1] = n
        all_marks = np.empty(n, np.int32)
        cdef int32_t[::1] marks = all_marks
        with nogil:
            for k in range(nodes.shape[0] if n else 0):
                self.mark(nodes[k], &marks[0] + spans[nodes[k], 0])
        return all_marks, all_spans

    cdef Py_ssize_t mark(self, Py_ssize_t node, int32_t *marks) noexcept nogil:
        """The number of an edge's marks, which are written unless `marks` is NULL."""
        cdef int32_t feature = self.feature[node], which = self.which_set[node]
        cdef int32_t begin, end, numbers
        cdef const int32_t *before
        cdef Py_ssize_t n = 0, k, s, code, missing, at
        cdef bint inside, changes
        for k in range(self.first_strip[feature], self.first_strip[feature + 1]):
            s = self.strips[k]
            at, before = self.first_cell[s], &self.before[self.first_code[s]]
            missing = self.first_code[s + 1] - self.first_code[s] - 2
            if which >= 0:
                inside = False
                for code in range(missing + 1):
                    changes = self.sets[which, code] != inside
                    if changes and before[code] < before[code + 1]:
                        n += put(marks, n, at + before[code], inside)
                        inside = not inside
                continue
            begin, end = before[self.low[node]], before[self.high[node]]
            numbers = before[missing]
            inside = self.admits_missing[node] and numbers < before[missing + 1]
            if begin < end:
                n += put(marks, n, at + begin, False)
                if inside and end == numbers:  # on into the cell of missing values
                    continue
                if end < before[missing + 1]:
                    n += put(marks, n, at + end, True)
            if inside:
                n += put(marks, n, at + numbers, False)
        return n


cdef inline Py_ssize_t put(
    int32_t *marks, Py_ssize_t n, Py_ssize_t cell, bint ends
) noexcept nogil:
    """Write one mark, unless `marks` is NULL."""
    if marks != NULL:
        marks[n] = <int32_t>(~cell if ends else cell)
    return 1
