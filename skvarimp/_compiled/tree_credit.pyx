# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Rows going down one tree, and what every split on their way earns.

`skvarimp._measures.impurity.row_credit` says what is computed.
"""

from libc.math cimport exp
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

import numpy as np

ctypedef fused code_t:
    uint8_t
    uint16_t
    int32_t


def go_down(
    const code_t[:, ::1] codes,
    const int64_t[::1] rows,
    nodes,
    Py_ssize_t root,
    const double[:, ::1] changes,
    step,
    double[:, :, ::1] added,
    bint adds,
    double[:, ::1] earned,
    int32_t[::1] leaves,
):
    """See `row_credit.go_down`."""
    cdef const int32_t[::1] feature = nodes.feature
    cdef const int32_t[::1] cut = nodes.cut
    cdef const int32_t[::1] children = nodes.children
    cdef const uint8_t[::1] missing_left = nodes.missing_left.view("u1")
    cdef const int32_t[::1] missing_code = nodes.missing_code
    cdef bint has_sets = nodes.left_set is not None
    cdef const int32_t[::1] left_set = nodes.left_set if has_sets else nodes.cut
    cdef const uint8_t[:, ::1] sets
    if has_sets:
        sets = nodes.sets.view("u1")
    cdef bint earns = step is not None
    cdef bint logistic = earns and step.logistic
    cdef double scale = step.scale if earns else 0.0
    cdef const int32_t[::1] slot = step.slot if earns else nodes.cut
    cdef const double[:, :, ::1] sizes
    cdef const double[:, ::1] y, raw
    if earns:
        sizes, y, raw = step.sizes, step.y, step.raw
    cdef int32_t[::1] path = np.empty(len(nodes.feature), dtype=np.int32)
    cdef Py_ssize_t i, k, m, row, node, depth, n_raw = changes.shape[0]
    cdef int64_t code
    cdef int32_t f
    cdef bint left
    cdef double size, sum_of
    with nogil:
        for i in range(rows.shape[0]):
            row, node, depth = rows[i], root, 0
            f = feature[node]
            while f >= 0:
                code = codes[row, f]
                if has_sets and left_set[node] >= 0:
                    left = sets[left_set[node], code]
                else:
                    left = code < cut[node]
                    if code == missing_code[f]:
                        left = missing_left[node]
                path[depth] = <int32_t>node
                depth += 1
                node = children[2 * node + left]
                if earns:
                    sum_of = 0.0
                    for k in range(n_raw):
                        if logistic:
                            size = raw[k, i] - added[k, i, f]
                            size = scale * (y[k, i] - 1.0 / (1.0 + exp(-scale * size)))
                        else:
                            size = sizes[slot[f], k, i]
                            if scale != 0.0:
                                size += scale * added[k, i, f]
                        sum_of += size * changes[k, node]
                    earned[row, f] += sum_of
                f = feature[node]
            leaves[i] = <int32_t>node
            if adds:
                for m in range(depth - 1, -1, -1):
                    f = feature[path[m]]
                    for k in range(n_raw):
                        added[k, i, f] += changes[k, node]
                    node = path[m]


def count_below(const double[::1] cuts, const double[::1] numbers, code_t[::1] codes):
    """How many cuts lie below each number; all of them below NaN."""
    cdef Py_ssize_t i, low, half, size, n_cuts = cuts.shape[0]
    cdef double number
    if n_cuts == 0:
        codes[:] = 0
        return
    with nogil:
        for i in range(numbers.shape[0]):
            number, low, size = numbers[i], 0, n_cuts
            while size > 1:  # without a branch that could be guessed wrong
                half = size >> 1
                low += half if not cuts[low + half - 1] >= number else 0
                size -= half
            codes[i] = <code_t>(low + (not cuts[low] >= number))
