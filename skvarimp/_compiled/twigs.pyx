# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Kinds of rows in the small subtrees that large trees end with.

A *twig* is a largest subtree that asks at most 8 questions. A row's answers to them are
the bits of one number, its *kind*, which is found for many rows at a time.
"""

cimport cython
from libc.stdint cimport int32_t, uint8_t, uint16_t

import numpy as np

from skvarimp._compiled.tree_walk cimport CUT, FEATURE

cdef extern from *:
    """
    #include <stdint.h>
    #if defined(__x86_64__) && defined(__gnu_linux__) && defined(__has_attribute)
    #include <features.h>
    #if defined(__GLIBC__) && __has_attribute(target_clones)
    #define CLONED __attribute__((target_clones("avx2", "default")))
    #endif
    #endif
    #ifndef CLONED
    #define CLONED
    #endif
    /* Put the answers of rows to one question into a bit of their kinds. */
    #define ANSWER(T) \\
    CLONED static void answer_##T(const T *codes, T cut, T missing, int to_missing, \\
                                  int bit, long n, uint8_t *restrict kinds) { \\
        const uint8_t left = (uint8_t)(1 << bit); \\
        if (to_missing) \\
            for (long i = 0; i < n; i++) \\
                kinds[i] |= codes[i] < cut || codes[i] == missing ? left : 0; \\
        else \\
            for (long i = 0; i < n; i++) kinds[i] |= codes[i] < cut ? left : 0; \\
    }
    ANSWER(uint8_t)
    ANSWER(uint16_t)
    ANSWER(int32_t)
    """
    void answer_uint8_t(
        const uint8_t *, uint8_t, uint8_t, int, int, long, uint8_t *
    ) noexcept nogil
    void answer_uint16_t(
        const uint16_t *, uint16_t, uint16_t, int, int, long, uint8_t *
    ) noexcept nogil
    void answer_int32_t(
        const int32_t *, int32_t, int32_t, int, int, long, uint8_t *
    ) noexcept nogil


@cython.final
cdef class Twigs:
    """The kinds of some rows in the twigs of one tree after another.

    Parameters
    ----------
    trees : tuple
        As of `Descent`.
    twigs : tuple
        twig : ndarray of shape (n_nodes,), int32
            That a branch node is in, -1 above all twigs; those of one tree follow each
            other.
        bit : ndarray of shape (n_nodes,), int32
            Of the answer to a node's question in the kinds; 0 at the root of a twig.
        questions : ndarray of shape (n_twigs, 8), int32
            The nodes of each twig, then -1.
        most : int
            Twigs of one tree.
    n_rows : int
    """

    def __init__(self, trees, twigs, Py_ssize_t n_rows):
        self.nodes, self.missing_left, self.missing_code, self.sets = trees[:4]
        self.twig, self.bit, self.questions, most = twigs
        self.kinds = np.empty((most, n_rows), np.uint8)
        self.known = np.full(most, -1, np.int32)

    cdef void forget(self) noexcept nogil:
        """Other rows come: none of their kinds are known."""
        self.known[:] = -1

    cdef bint begin(self, int32_t node) noexcept nogil:
        """Whether a node is the root of a twig."""
        return self.twig[node] >= 0 and self.bit[node] == 0

    cdef Py_ssize_t n_kinds(self, int32_t root) noexcept nogil:
        """How many kinds a twig tells apart."""
        cdef int q = 0
        while q < QUESTIONS and self.questions[self.twig[root], q] >= 0:
            q += 1
        return 1 << q

    cdef uint8_t *kinds_in(self, int32_t root) noexcept nogil:
        """The kinds of all rows in a twig, once they are found."""
        return &self.kinds[self.twig[root] % self.kinds.shape[0], 0]


cdef void find_kinds(Twigs twigs, int32_t root, const Code[:, ::1] codes) noexcept nogil:
    """Find the kinds of all rows in a twig, unless they are known."""
    cdef int32_t twig = twigs.twig[root], node, feature, cut
    cdef Py_ssize_t i, slot = twig % twigs.kinds.shape[0], n_rows = twigs.kinds.shape[1]
    cdef uint8_t *kinds = twigs.kinds_in(root)
    cdef int q
    if twigs.known[slot] == twig:
        return
    twigs.known[slot] = twig
    twigs.kinds[slot] = 0
    for q in range(QUESTIONS):
        node = twigs.questions[twig, q]
        if node < 0:
            break
        feature, cut = twigs.nodes[node, FEATURE], twigs.nodes[node, CUT]
        if cut < 0:
            for i in range(n_rows):
                kinds[i] |= twigs.sets[-1 - cut, codes[feature, i]] << q
        elif Code is uint8_t:
            answer_uint8_t(&codes[feature, 0], cut, twigs.missing_code[feature],
                           twigs.missing_left[node], q, n_rows, kinds)
        elif Code is uint16_t:
            answer_uint16_t(&codes[feature, 0], cut, twigs.missing_code[feature],
                            twigs.missing_left[node], q, n_rows, kinds)
        else:
            answer_int32_t(&codes[feature, 0], cut, twigs.missing_code[feature],
                           twigs.missing_left[node], q, n_rows, kinds)
