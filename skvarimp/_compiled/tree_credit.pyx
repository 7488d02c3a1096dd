# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Rows going down trees, and what every split on their way earns.

`skvarimp._measures.impurity.loss_decrease` says what is computed.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

ctypedef fused code_t:
    uint8_t
    uint16_t
    int32_t

def go_down(const code_t[:, ::1] codes, nodes, const int32_t[::1] roots, leaves):
    """See `NodeTable.leaves`."""
    cdef const int32_t[:, ::1] packed = nodes.packed
    cdef bint has_sets = nodes.left_set is not None
    cdef const int32_t[::1] left_set = nodes.left_set if has_sets else nodes.cut
    cdef const uint8_t[:, ::1] sets
    if has_sets:
        sets = nodes.sets.view("u1")
    cdef int32_t[:, ::1] at_end = leaves
    cdef int32_t[64] node  # rows that go down a tree side by side
    cdef Py_ssize_t t, i, start, size, n_rows = codes.shape[0]
    cdef int32_t code, below, at, moved
    cdef bint left
    with nogil:
        for start in range(0, n_rows, 64):
            size = min(64, n_rows - start)
            for t in range(roots.shape[0]):
                for i in range(size):
                    node[i] = roots[t]
                moved = 1
                while moved:  # a leaf is its own child
                    moved = 0
                    for i in range(size):
                        at = node[i]
                        code = <int32_t>codes[start + i, packed[at, 0]]
                        left = (code < packed[at, 1]) | (code == packed[at, 4])
                        if has_sets and left_set[at] >= 0:
                            left = sets[left_set[at], code]
                        below = packed[at, 2 + left]
                        moved |= below ^ at
                        node[i] = below
                for i in range(size):
                    at_end[t, start + i] = node[i]


cdef struct Climb:  # up the trees
    Py_ssize_t n_trees, n_rows, n_raw, n_nodes, n_features, n_samples
    const int32_t *leaves
    const int32_t *roots
    const int64_t *rows
    const int32_t *parent
    const int32_t *feature
    const uint8_t *first
    const int32_t *slot
    const double *sizes
    const double *y
    const double *up
    const double *down
    const double *weights
    double scale
    double *state
    double *without
    double *one
    double *each
    double *earned


cdef inline void go_up(
    Climb way, Py_ssize_t n_raw, bint given, bint logistic, bint uses, bint adds,
    bint earns,
) noexcept nogil:
    cdef Py_ssize_t i, k, t, row, at_row, at_nodes
    cdef int32_t at, above, leaf, root, f
    cdef double z, size, sum_of, weight, y = 0.0, begun = 0.0, grown = 0.0
    cdef double *without
    for t in range(way.n_trees):
        root = way.roots[t]
        for i in range(way.n_rows):
            row, leaf = way.rows[i], way.leaves[t * way.n_rows + i]
            at, weight = leaf, way.weights[row]
            if uses and not earns:
                way.one[leaf] += weight
            while at != root:
                above = way.parent[at]
                f = way.feature[above]
                sum_of = 0.0
                for k in range(n_raw):
                    at_row, at_nodes = k * way.n_rows + i, k * way.n_nodes
                    if (uses and not given or adds) and (n_raw > 1 or at == leaf):
                        y, begun = way.y[at_row], way.state[at_row]
                        z, grown = way.down[at_nodes + root], way.up[at_nodes + leaf]
                        begun = begun * z if logistic else begun + z
                    if uses and not given or adds:
                        without = way.without + at_row * way.n_features + f
                        z = without[0]
                    if uses:
                        if given:
                            at_row += way.slot[f] * n_raw * way.n_rows
                            size = way.sizes[at_row]
                        elif logistic:
                            size = way.scale * (y - 1.0 / (1.0 + begun * z))
                        else:
                            size = y + (begun + z)
                        if earns:
                            sum_of += size * way.each[at_nodes + at]
                        else:
                            way.each[at_nodes + at] += weight * size
                    if adds and way.first[above]:
                        if logistic:
                            without[0] = z * (grown * way.down[at_nodes + above])
                        else:
                            without[0] = z + (grown + way.down[at_nodes + above])
                if earns and uses:
                    way.earned[row * way.n_features + f] += sum_of - way.one[at]
                at = above
            if adds:
                for k in range(n_raw):
                    z = way.down[k * way.n_nodes + leaf]
                    if logistic:
                        way.state[k * way.n_rows + i] *= z
                    else:
                        way.state[k * way.n_rows + i] += z


def climb(
    const int32_t[:, ::1] leaves,
    const int32_t[::1] roots,
    const int64_t[::1] rows,
    nodes,
    residuals,
    bint uses,
    bint adds,
    const double[::1] weights,
    double[::1] one,
    double[:, ::1] each,
    double[:, ::1] earned,
):
    """See `loss_decrease.climb`."""
    cdef const int32_t[::1] parent = nodes.parent, feature = nodes.feature, slot
    cdef const double[:, :, ::1] sizes
    cdef const double[:, ::1] y, up, down
    cdef const uint8_t[::1] first
    cdef double[:, ::1] state
    cdef double[:, :, ::1] without
    cdef bint earns = earned is not None, given = residuals.given
    cdef bint logistic = not given and residuals.logistic
    cdef Climb way
    if rows.shape[0] == 0:
        return
    way.n_trees, way.n_rows = leaves.shape[0], leaves.shape[1]
    way.n_raw, way.n_nodes = each.shape[0], each.shape[1]
    way.n_features = len(nodes.columns)
    way.leaves, way.roots, way.rows = &leaves[0, 0], &roots[0], &rows[0]
    way.parent, way.feature = &parent[0], &feature[0]
    way.weights, way.one, way.each = &weights[0], &one[0], &each[0, 0]
    if way.n_features == 0:
        return
    if earns:
        way.earned = &earned[0, 0]
    if given:
        sizes, slot = residuals.sizes, residuals.slot
        if sizes.shape[0] == 0:
            return
        way.sizes, way.slot = &sizes[0, 0, 0], &slot[0]
    else:
        up, down, first = residuals.up, residuals.down, residuals.first.view("u1")
        y, state, without = residuals.y, residuals.state, residuals.without
        way.up, way.down, way.first = &up[0, 0], &down[0, 0], &first[0]
        way.y, way.state, way.without = &y[0, 0], &state[0, 0], &without[0, 0, 0]
        way.scale = residuals.scale if logistic else 1.0
    with nogil:  # with constants where most time is spent
        if given or way.n_raw > 1 or not (uses and adds):
            go_up(way, way.n_raw, given, logistic, uses, adds, earns)
        elif logistic and earns:
            go_up(way, 1, False, True, True, True, True)
        elif logistic:
            go_up(way, 1, False, True, True, True, False)
        elif earns:
            go_up(way, 1, False, False, True, True, True)
        else:
            go_up(way, 1, False, False, True, True, False)


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
