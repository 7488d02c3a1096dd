# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""From the root of a tree to the leaves, by own values or with one feature moved.

64 rows go down a tree together, each a bit of a number. Every node has the rows that
reach it by their own values, and of each feature on the way those that reach it with
this feature moved. Which rows go left at a split is one number, too.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

import numpy as np

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #if defined(__x86_64__) && defined(__gnu_linux__) && defined(__has_attribute)
    #include <features.h>
    #if defined(__GLIBC__) && __has_attribute(target_clones)
    __attribute__((target_clones("avx2", "default")))
    #endif
    #endif
    /* The bits of those of 64 codes that are below a cut: compared many at a time to
       bytes of 0 or 1, of which a product brings eight together in its highest byte. */
    static uint64_t codes_below(const int32_t *codes, int32_t cut) {
        uint8_t bytes[64];
        uint64_t eight, bits = 0;
        for (int i = 0; i < 64; i++) bytes[i] = codes[i] < cut;
        for (int k = 0; k < 8; k++) {
            memcpy(&eight, bytes + 8 * k, 8);
            bits |= eight * 0x0102040810204080ULL >> 56 << 8 * k;
        }
        return bits;
    }
    """
    uint64_t codes_below(const int32_t *codes, int32_t cut) noexcept nogil


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
    codes : ndarray of shape (n_words, n_features, 64)
        Of the rows.
    missing : ndarray of shape (n_words, n_features)
        The rows with the missing code.
    own : ndarray of shape (size,)
        The leaf that each row is in.
    visits : array of Visit
    """

    def __init__(self, trees, opens, depth, size):
        self.nodes, self.missing_left, self.missing_code, self.sets = trees[:4]
        self.opens = opens
        n_words, n_features = -(-size // WORD), len(trees[2])
        self.codes = np.zeros((n_words, n_features, WORD), np.int32)
        self.missing = np.empty((n_words, n_features), np.uint64)
        self.own = np.empty(size, np.int32)
        # a node has as many lists as features on the way, and its parent waits
        n_lists = 2 * (depth + 2) * (min(depth, n_features) + 2)
        self.room_for_moved = np.empty(n_lists * sizeof(Moved), np.uint8)
        self.room_for_frames = np.empty((depth + 2) * sizeof(Frame), np.uint8)
        self.more_visits(0, 4 * size)

    cdef void take(
        self, const int32_t[:, ::1] codes, Py_ssize_t first, Py_ssize_t n_rows
    ) noexcept nogil:
        """Take the codes of n_rows rows from `first` on."""
        cdef Py_ssize_t word, start, n, i, u
        cdef int32_t code
        for word in range((n_rows + WORD - 1) // WORD):
            start = first + word * WORD
            n = min(WORD, first + n_rows - start)
            self.missing[word, :] = 0
            for i in range(n):
                for u in range(codes.shape[1]):
                    code = codes[start + i, u]
                    self.codes[word, u, i] = code
                    self.missing[word, u] |= (
                        <uint64_t>(code == self.missing_code[u]) << i
                    )

    cdef uint64_t goes_left(
        self, Py_ssize_t word, int32_t node
    ) noexcept nogil:
        """The rows of a word that go left at a node."""
        cdef const int32_t *here = &self.nodes[node, 0]
        cdef const int32_t *codes = &self.codes[word, here[FEATURE], 0]
        cdef uint64_t rows = 0
        cdef Py_ssize_t i
        if here[CUT] < 0:
            for i in range(WORD):
                rows |= <uint64_t>self.sets[-1 - here[CUT], codes[i]] << i
            return rows
        rows = codes_below(codes, here[CUT])
        return rows | self.missing[word, here[FEATURE]] if self.missing_left[node] else rows

    cdef Py_ssize_t go_down(
        self, int32_t root, Py_ssize_t word, Py_ssize_t n_rows
    ) noexcept nogil:
        """Fill `own` and `visits` with the leaves of a tree that the rows reach.

        These are the first n_rows rows of a word. Returns the number of visits.
        """
        cdef Moved *moved = <Moved *>&self.room_for_moved[0]
        cdef Frame *frames = <Frame *>&self.room_for_frames[0]
        cdef int32_t *own = &self.own[word * WORD]
        cdef const int32_t *here
        cdef Py_ssize_t n = 0, top = 1, start, stop, k, to_right, to_left, first_left
        cdef int32_t node, feature
        cdef uint64_t rows, goes, left, right, own_left, own_right
        frames[0].own = <uint64_t>-1 >> (WORD - n_rows)
        frames[0].node, frames[0].start, frames[0].stop = root, 0, 0
        while top > 0:
            top -= 1
            rows, node = frames[top].own, frames[top].node
            start, stop = frames[top].start, frames[top].stop
            here = &self.nodes[node, 0]
            feature = here[FEATURE]
            if feature < 0:
                while rows:
                    own[lowest_bit(rows)] = node
                    rows &= rows - 1
                if n + stop - start > self.most_visits:
                    self.more_visits(n, stop - start)
                for k in range(start, stop):
                    self.visits[n].rows, self.visits[n].leaf = moved[k].rows, node
                    self.visits[n].edge = moved[k].edge
                    n += 1
                continue
            goes = self.goes_left(word, node)
            own_left, own_right = rows & goes, rows & ~goes
            # moved here: those that their own values take to the other side
            left, right = own_right, own_left
            # the left list behind the right one, which waits
            to_right, first_left = stop, 2 * stop - start + 1
            to_left = first_left
            for k in range(start, stop):
                rows = moved[k].rows
                if moved[k].feature == feature:  # both ways
                    left, right = left | rows, right | rows
                    continue
                moved[to_right] = moved[to_left] = moved[k]
                moved[to_right].rows, moved[to_left].rows = rows & ~goes, rows & goes
                to_right += (rows & ~goes) != 0
                to_left += (rows & goes) != 0
            if right and self.opens[here[RIGHT]]:
                moved[to_right].rows, moved[to_right].feature = right, feature
                moved[to_right].edge = here[RIGHT]
                to_right += 1
            if left and self.opens[here[LEFT]]:
                moved[to_left].rows, moved[to_left].feature = left, feature
                moved[to_left].edge = here[LEFT]
                to_left += 1
            if own_right or to_right > stop:
                frames[top].own, frames[top].node = own_right, here[RIGHT]
                frames[top].start, frames[top].stop = <int32_t>stop, <int32_t>to_right
                top += 1
            if own_left or to_left > first_left:
                frames[top].own, frames[top].node = own_left, here[LEFT]
                frames[top].start = <int32_t>first_left
                frames[top].stop = <int32_t>to_left
                top += 1
        return n

    cdef void more_visits(self, Py_ssize_t n, Py_ssize_t more) noexcept nogil:
        """Make room for n visits and so many more, and as many again."""
        with gil:
            room = np.empty(2 * (n + more) * sizeof(Visit), np.uint8)
            if n:
                room[: n * sizeof(Visit)] = self.room_for_visits[: n * sizeof(Visit)]
            self.room_for_visits, self.most_visits = room, 2 * (n + more)
            self.visits = <Visit *>&self.room_for_visits[0]
