"""Compiled kernels: rows go down trees, their curves are reduced while in the cache.

What `_tree_walk`, `_tree_curves`, `_steps` and `_reductions` do in NumPy, for one row
after the other, so that nothing larger than one row's curves is formed. No Python
objects are touched and the interpreter's lock is released. The arrays that go in and
out are made by `_compiled_trees`, which also sizes every buffer from the trees' true
depth and number of leaves and from the grids' true number of cells; they are all
contiguous. Numbers of cells are *flat*: those of all members of a walk in a row, each
member beginning at a multiple of 64.
"""

from typing import NamedTuple

import numpy as np

from skvarimp._compiled import inlined, kernel

FEATURE, CUT, RIGHT, LEFT = range(4)  # columns of `Trees.nodes`
NO_LINK, EXPONENTIAL, LOGISTIC, SOFTMAX = range(4)
PAIRS, OBSERVED, RANGE, STD, SQUARED, ABSOLUTE, MEAN, SKETCH = range(8)


class Trees(NamedTuple):
    """A `TreeTable` as the kernels read it.

    Attributes
    ----------
    nodes : ndarray of shape (n_nodes, 4), int32
        Feature (-1 at a leaf), cut (at a categorical split -1 minus the row of
        `sets`), right and left child.
    missing_left : ndarray of shape (n_nodes,), bool
    missing_code : ndarray of shape (n_features,), int32
    sets : ndarray of shape (n_sets, n_codes), bool
    values : ndarray of shape (n_nodes, n_raw)
    edges : ndarray of shape (n_nodes, 2), int32
        Of the edge to each node: its feature, and its number among those on it.
    """

    nodes: np.ndarray
    missing_left: np.ndarray
    missing_code: np.ndarray
    sets: np.ndarray
    values: np.ndarray
    edges: np.ndarray


class Members(NamedTuple):
    """The moves of one walk, those of one feature next to each other.

    Attributes
    ----------
    of_feature : ndarray of shape (n_features + 1,), int64
        Feature u is moved by the members of_feature[u] to of_feature[u + 1].
    opens : ndarray of shape (n_nodes,), bool
        Whether the edge to a node admits a cell of any member.
    marks : ndarray of shape (n_marks,), int32
        Flat cells where what an edge admits begins, ends, begins again ..., then -1.
    first_mark, n_marks : ndarray of shape (n_members,), int64
        Where a member's marks begin, and how many each edge has.
    first_cell, n_cells : ndarray of shape (n_members,), int64
    below : ndarray of shape (n_flat + n_members,)
        Probability of the cells before each cell and of all; a member's begins at
        its first cell plus its number.
    counted : ndarray of shape (n_flat + n_members,)
        Number of values, in the same way.
    """

    of_feature: np.ndarray
    opens: np.ndarray
    marks: np.ndarray
    first_mark: np.ndarray
    n_marks: np.ndarray
    first_cell: np.ndarray
    n_cells: np.ndarray
    below: np.ndarray
    counted: np.ndarray


class Rows(NamedTuple):
    """The rows that go down.

    Attributes
    ----------
    codes : ndarray of shape (n_rows, n_features), int32
    weights : ndarray of shape (n_rows,)
    errors : ndarray of shape (n_rows, n_outputs)
        Target minus response, for losses.
    groups : ndarray of shape (n_rows,), int64
        Group of the sketch of partial dependence,
    signs : ndarray of shape (n_rows,)
        and the factor a row has in it.
    """

    codes: np.ndarray
    weights: np.ndarray
    errors: np.ndarray
    groups: np.ndarray
    signs: np.ndarray


class Wanted(NamedTuple):
    """Where the results go.

    Attributes
    ----------
    slots : ndarray of shape (n_members, 8), int64
        For each reduction the first index of `rows`; of MEAN and SKETCH anything
        from 0 on; -1: not wanted.
    rows : ndarray of shape (n_slots, n_outputs, n_rows)
        Each row's own contributions; of losses only output 0.
    kinds : ndarray of shape (8,), int64
        For each reduction the first index of `cells`; -1: none.
    cells : ndarray of shape (n_kinds, n_outputs, n_flat)
        Weighted sums over the rows, from one cell to the next.
    sketch : ndarray of shape (n_groups, n_outputs, n_flat)
        Signed sums over the rows of each group, from one cell to the next.
    """

    slots: np.ndarray
    rows: np.ndarray
    kinds: np.ndarray
    cells: np.ndarray
    sketch: np.ndarray


# The way down


@inlined
def goes_left(trees, node, code):
    """Whether rows of a code go left at a node."""
    cut = trees.nodes[node, CUT]
    if cut < 0:
        return trees.sets[-1 - cut, code]
    if code == trees.missing_code[trees.nodes[node, FEATURE]]:
        return trees.missing_left[node]
    return code < cut


@inlined
def children(trees, node, code):
    """The child gone to, and the other."""
    left = int(goes_left(trees, node, code))  # no branch to be guessed wrong
    return trees.nodes[node, RIGHT + left], trees.nodes[node, LEFT - left]


@inlined
def visit(trees, root, codes, opens, stack, leaves, edges):
    """The leaves of a tree that a row reaches as any one feature moves.

    Parameters
    ----------
    trees : Trees
    root : int
    codes : ndarray of shape (n_features,)
        Of the row.
    opens : ndarray of shape (n_nodes,)
        Whether the way to a node is of interest.
    stack : ndarray of shape (depth + 1,)
        To work in: children not gone to, each at the end of an edge on what moves.
    leaves, edges : ndarray of shape (n_leaves,)
        Filled with the leaves off the row's own path, and the last edge on the moved
        feature above each.

    Returns
    -------
    own, n_visited : int
    """
    nodes = trees.nodes
    top, n_visited, node = 0, 0, root
    feature = nodes[node, FEATURE]
    while feature >= 0:
        node, other = children(trees, node, codes[feature])
        feature = nodes[node, FEATURE]
        if opens[other]:
            stack[top] = other
            top += 1
    own = node
    while top > 0:
        top -= 1
        node = edge = stack[top]
        moved = trees.edges[edge, 0]
        feature = nodes[node, FEATURE]
        while feature >= 0:
            node, other = children(trees, node, codes[feature])
            if feature == moved:
                if opens[other]:
                    stack[top] = other
                    top += 1
                if not opens[node]:
                    break
                edge = node
            feature = nodes[node, FEATURE]
        if feature < 0:
            leaves[n_visited], edges[n_visited] = node, edge
            n_visited += 1
    return own, n_visited


@inlined
def room(sizes):
    """Buffers for `visit`."""
    depth, n_leaves, _ = sizes
    return (
        np.empty(depth + 1, np.int32),
        np.empty(n_leaves, np.int32),
        np.empty(n_leaves, np.int32),
    )


# From leaves to pieces

BLOCK = 64  # rows that go down a tree one after the other
WORD = 64  # cells whose bits share a number
ONE, LAST = np.uint64(1), np.uint64(63)
# De Bruijn: the product of a power of two with it has another first six bits each
SEQUENCE, SHIFT = np.uint64(0x03F79D71B4CB0A89), np.uint64(58)
BIT_OF = np.empty(64, dtype=np.int64)
for _bit in range(64):
    BIT_OF[((1 << _bit) * int(SEQUENCE) % 2**64) >> 58] = _bit


@inlined
def meet(trees, roots, members, codes, room, events, bounds, raw):
    """The steps that rows' visits make, tree by tree, so that each stays in the cache.

    Parameters
    ----------
    trees, roots, members
        As in `reduce_rows`.
    codes : ndarray of shape (n_rows, n_features)
    room : tuple
        Buffers for `visit`.
    events : (ndarray of shape (n,), ndarray of shape (n, n_raw))
        To be filled with flat cells and by how much the curve steps there.
    bounds : ndarray of shape (n_trees * n_rows + 1,)
        Filled: the events of row i in tree t are from bounds[t * n_rows + i] to the
        next.
    raw : ndarray of shape (n_rows, n_raw)
        The leaves that rows are in are added to it.

    Returns
    -------
    events : the same, or larger ones if these were too small.
    """
    stack, leaves, edges = room
    cells, changes = events
    values, marks = trees.values, members.marks
    most = 2 * members.n_marks.sum()
    used = 0
    for t in range(len(roots)):
        for i in range(len(codes)):
            bounds[t * len(codes) + i] = used
            own, n = visit(
                trees, roots[t], codes[i], members.opens, stack, leaves, edges
            )
            if used + n * most > len(cells):
                cells, changes = larger(cells, changes, used + n * most)
            for v in range(n):
                feature, rank = trees.edges[edges[v]]
                leaf = leaves[v]
                for m in range(
                    members.of_feature[feature], members.of_feature[feature + 1]
                ):
                    first = members.first_mark[m] + rank * members.n_marks[m]
                    sign = 1.0
                    for s in range(first, first + members.n_marks[m]):
                        if marks[s] < 0:
                            break
                        cells[used] = marks[s]
                        for o in range(changes.shape[1]):
                            change = values[leaf, o] - values[own, o]
                            changes[used, o] = sign * change
                        used += 1
                        sign = -sign
            for o in range(changes.shape[1]):
                raw[i, o] += values[own, o]
    bounds[-1] = used
    return cells, changes


@kernel
def larger(cells, changes, needed):
    """The same with more room."""
    size = 2 * max(needed, len(cells))
    more_cells = np.empty(size, cells.dtype)
    more_changes = np.empty((size, changes.shape[1]))
    more_cells[: len(cells)] = cells
    more_changes[: len(changes)] = changes
    return more_cells, more_changes


@inlined
def curve_room(sizes, n_raw):
    """Buffers for the steps of one row: jumps, and bits that say where."""
    return np.zeros((sizes[2], n_raw)), np.zeros(sizes[2] // WORD, np.uint64)


@inlined
def add_steps(i, n_rows, n_trees, events, bounds, jumps, touched):
    """Add up the steps of one row in all trees."""
    cells, changes = events
    for t in range(n_trees):
        at = t * n_rows + i
        for e in range(bounds[at], bounds[at + 1]):
            cell = cells[e]
            for o in range(jumps.shape[1]):
                jumps[cell, o] += changes[e, o]
            touched[cell // WORD] |= ONE << (np.uint64(cell) & LAST)


@inlined
def take_pieces(first, n_cells, jumps, touched, positions, moved):
    """The pieces of one curve from its steps, which are forgotten.

    Parameters
    ----------
    first, n_cells : int
        Of the member.
    jumps : ndarray of shape (n_flat, n_raw)
    touched : ndarray of shape (n_flat // 64,), uint64
        Bits say where jumps are.
    positions : ndarray of shape (n_cells + 2,)
        Filled with the first cell of each piece, and the number of cells.
    moved : ndarray of shape (n_raw, n_cells + 1)
        Filled with the moved minus the unmoved raw outputs.

    Returns
    -------
    n_pieces : int
    """
    n, n_raw = 1, jumps.shape[1]
    positions[0] = 0
    for o in range(n_raw):
        moved[o, 0] = jumps[first, o]
        jumps[first, o] = 0.0
    for word in range(first // WORD, (first + n_cells + WORD - 1) // WORD):
        bits = touched[word]
        touched[word] = 0
        while bits:
            rest = bits & (bits - ONE)
            cell = word * WORD + BIT_OF[((bits ^ rest) * SEQUENCE) >> SHIFT]
            bits = rest
            positions[n] = cell - first
            steps = False
            for o in range(n_raw):
                moved[o, n] = moved[o, n - 1] + jumps[cell, o]
                steps |= jumps[cell, o] != 0.0
                jumps[cell, o] = 0.0
            n += steps  # steps that cancel are none
    positions[n] = n_cells
    return n


@kernel
def follow_link(link, factor, raw, unmoved, moved, n):
    """Turn moved minus unmoved raw outputs into the same of the response."""
    for k in range(n):
        if link == EXPONENTIAL:
            for o in range(len(raw)):
                moved[o, k] = np.exp(raw[o] + moved[o, k]) - unmoved[o]
        elif link == LOGISTIC:
            for o in range(len(raw)):
                moved[o, k] = logistic(factor * (raw[o] + moved[o, k])) - unmoved[o]
        else:
            largest = -np.inf
            for o in range(len(raw)):
                largest = max(largest, factor * (raw[o] + moved[o, k]))
            total = 0.0
            for o in range(len(raw)):
                moved[o, k] = np.exp(factor * (raw[o] + moved[o, k]) - largest)
                total += moved[o, k]
            for o in range(len(raw)):
                moved[o, k] = moved[o, k] / total - unmoved[o]


@kernel
def logistic(x):
    """1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + np.exp(-x))


# Reductions of one curve


@kernel
def sort(values, n, keys, order, spare_keys, spare_order, ends):
    """Merge runs that rise or fall: keys, order become the sorted values and where.

    Parameters
    ----------
    values : ndarray of shape (at least n,)
    keys, order, spare_keys, spare_order : ndarray of shape (at least n,)
        Filled.
    ends : ndarray of shape (at least n,)
        To work in.

    Returns
    -------
    keys, order : ndarray
        Of the two pairs given the one that holds the result.
    """
    n_runs, start = 0, 0
    while start < n:
        end = start + 1
        if end < n and values[end] < values[start]:
            while end < n and values[end] <= values[end - 1]:
                end += 1
            for k in range(start, end):
                order[k] = start + end - 1 - k
        else:
            while end < n and values[end] >= values[end - 1]:
                end += 1
            for k in range(start, end):
                order[k] = k
        ends[n_runs] = end
        n_runs += 1
        start = end
    for k in range(n):
        keys[k] = values[order[k]]
    while n_runs > 1:
        start, merged = 0, 0
        for r in range(0, n_runs, 2):
            middle, end = ends[r], ends[min(r + 1, n_runs - 1)]
            a, b = start, middle
            for k in range(start, end):
                first = b == end or (a < middle and keys[a] <= keys[b])
                at = a if first else b
                spare_keys[k], spare_order[k] = keys[at], order[at]
                a += first
                b += not first
            ends[merged] = start = end
            merged += 1
        n_runs = merged
        keys, spare_keys = spare_keys, keys
        order, spare_order = spare_order, order
    return keys, order


@kernel
def pairs(keys, order, chances, n, distances):
    """E|V' - V''|; fills with E|v_k - V| of each piece k."""
    below, total, at_first = 0.0, 0.0, 0.0
    for k in range(n - 1):
        below += chances[order[k]]
        gap = keys[k + 1] - keys[k]
        total += gap * below * (1.0 - below)
        at_first += gap * (1.0 - below)
    distance, below = at_first, 0.0
    distances[order[0]] = distance
    for k in range(n - 1):
        below += chances[order[k]]
        distance += (keys[k + 1] - keys[k]) * (2.0 * below - 1.0)
        distances[order[k + 1]] = distance
    return 2.0 * total


@inlined
def add_to_cells(sums, first, positions, values, weight, n):
    """Add weighted values of pieces, from one cell to the next."""
    before = 0.0
    for k in range(n):
        sums[first + positions[k]] += weight * (values[k] - before)
        before = values[k]


@inlined
def mean_of(values, chances, n):
    """Expected value."""
    total = 0.0
    for k in range(n):
        total += values[k] * chances[k]
    return total


@kernel
def spread(values, counted, positions, n):
    """Standard deviation (ddof=1) over the values that the cells stand for."""
    count = counted[positions[n]] - counted[0]
    mean = total = 0.0
    for k in range(n):
        multiplicity = counted[positions[k + 1]] - counted[positions[k]]
        mean += multiplicity * (values[k] - values[0]) / count
    for k in range(n):
        multiplicity = counted[positions[k + 1]] - counted[positions[k]]
        total += multiplicity * (values[k] - values[0] - mean) ** 2
    return np.sqrt(total / max(count - 1.0, 1.0))


@kernel
def reduce_curve(i, m, members, rows, wanted, positions, moved, n, buffers):
    """All reductions of the curve of row i as member m moves."""
    chances, changed, keys, order, spare_keys, spare_order, ends = buffers
    first, slots, weight = members.first_cell[m], wanted.slots[m], rows.weights[i]
    start = first + m
    below = members.below[start : start + members.n_cells[m] + 1]
    for k in range(n):
        chances[k] = below[positions[k + 1]] - below[positions[k]]
    for o in range(len(moved)):
        values = moved[o]
        if slots[PAIRS] >= 0:
            low, at = sort(values, n, keys, order, spare_keys, spare_order, ends)
            wanted.rows[slots[PAIRS], o, i] = pairs(low, at, chances, n, changed)
            sums = wanted.cells[wanted.kinds[PAIRS], o]
            add_to_cells(sums, first, positions, changed, weight, n)
        if slots[OBSERVED] >= 0:
            for k in range(n):
                changed[k] = abs(values[k])
            wanted.rows[slots[OBSERVED], o, i] = mean_of(changed, chances, n)
            sums = wanted.cells[wanted.kinds[OBSERVED], o]
            add_to_cells(sums, first, positions, changed, weight, n)
        if slots[RANGE] >= 0:
            largest = smallest = values[0]
            for k in range(1, n):
                largest, smallest = max(largest, values[k]), min(smallest, values[k])
            wanted.rows[slots[RANGE], o, i] = largest - smallest
        if slots[STD] >= 0:
            counted = members.counted[start : start + members.n_cells[m] + 1]
            wanted.rows[slots[STD], o, i] = spread(values, counted, positions, n)
        if slots[MEAN] >= 0:
            sums = wanted.cells[wanted.kinds[MEAN], o]
            add_to_cells(sums, first, positions, values, weight, n)
        if slots[SKETCH] >= 0:
            sums = wanted.sketch[rows.groups[i], o]
            sign = rows.signs[i]
            add_to_cells(sums, slots[SKETCH], positions, values, sign, n)
        if slots[SQUARED] >= 0:
            for k in range(n):
                changed[k] = values[k] * (values[k] - 2.0 * rows.errors[i, o])
            add_loss(i, m, SQUARED, first, rows, wanted, positions, changed, buffers, n)
        if slots[ABSOLUTE] >= 0:
            error = rows.errors[i, o]
            for k in range(n):
                changed[k] = abs(error - values[k]) - abs(error)
            add_loss(
                i, m, ABSOLUTE, first, rows, wanted, positions, changed, buffers, n
            )


@kernel
def add_loss(i, m, kind, first, rows, wanted, positions, gained, buffers, n):
    """Add one output's share of the loss gained."""
    share = 1.0 / wanted.rows.shape[1]
    wanted.rows[wanted.slots[m, kind], 0, i] += share * mean_of(gained, buffers[0], n)
    sums, weight = wanted.cells[wanted.kinds[kind], 0], share * rows.weights[i]
    add_to_cells(sums, first, positions, gained, weight, n)


# Walks of many rows


@kernel
def reduce_rows(trees, roots, sizes, members, rows, link, factor, offset, wanted):
    """Add every reduction of some rows to what is wanted.

    Parameters
    ----------
    trees : Trees
    roots : ndarray of shape (n_trees,)
        The trees to go down; all of them with a link.
    sizes : (int, int, int)
        Depth of the deepest tree, leaves of the largest, and n_flat.
    members : Members
    rows : Rows
    link : int
    factor : float
        Of the raw outputs in the link.
    offset : ndarray of shape (n_raw,)
        Added to the raw outputs before the link.
    wanted : Wanted
    """
    n_trees, n_raw, most = len(roots), trees.values.shape[1], members.n_cells.max()
    visiting, events = room(sizes), (np.empty(0, np.int32), np.empty((0, n_raw)))
    jumps, touched = curve_room(sizes, n_raw)
    positions, moved = np.empty(most + 2, np.int64), np.empty((n_raw, most + 1))
    buffers = (
        np.empty(most),
        np.empty(most),
        np.empty(most),
        np.empty(most, np.int32),
        np.empty(most),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
    )
    no_offset, unmoved = np.zeros(n_raw), np.empty((n_raw, 1))
    for start in range(0, len(rows.codes), BLOCK):
        codes = rows.codes[start : start + BLOCK]
        raw = np.zeros((len(codes), n_raw))
        bounds = np.empty(n_trees * len(codes) + 1, np.int64)
        events = meet(trees, roots, members, codes, visiting, events, bounds, raw)
        for b in range(len(codes)):
            add_steps(b, len(codes), n_trees, events, bounds, jumps, touched)
            if link != NO_LINK:
                raw[b] += offset
                unmoved[:] = 0.0
                follow_link(link, factor, raw[b], no_offset, unmoved, 1)
            for m in range(len(members.n_cells)):
                first, n_cells = members.first_cell[m], members.n_cells[m]
                n = take_pieces(first, n_cells, jumps, touched, positions, moved)
                if n == 1 and not moved[:, 0].any():
                    continue  # nothing moves
                if link != NO_LINK:
                    follow_link(link, factor, raw[b], unmoved[:, 0], moved, n)
                reduce_curve(
                    start + b, m, members, rows, wanted, positions, moved, n, buffers
                )


@kernel
def add_means(trees, roots, sizes, members, rows, wanted):
    """Add the mean curves and their sketches alone; forms no row's curve.

    Parameters as in `reduce_rows`; tree by tree, so that each stays in the cache.
    """
    stack, leaves, edges = room(sizes)
    n_raw, of_feature = trees.values.shape[1], members.of_feature
    for root in roots:
        for i in range(len(rows.codes)):
            codes = rows.codes[i]
            own, n = visit(trees, root, codes, members.opens, stack, leaves, edges)
            for v in range(n):
                feature, rank = trees.edges[edges[v], 0], trees.edges[edges[v], 1]
                for m in range(of_feature[feature], of_feature[feature + 1]):
                    first = members.first_mark[m] + rank * members.n_marks[m]
                    in_sketch = wanted.slots[m, SKETCH] - members.first_cell[m]
                    for o in range(n_raw):
                        change = trees.values[leaves[v], o] - trees.values[own, o]
                        weighted = rows.weights[i] * change
                        signed = rows.signs[i] * change
                        for s in range(first, first + members.n_marks[m]):
                            cell = members.marks[s]
                            if cell < 0:
                                break
                            wanted.cells[0, o, cell] += weighted
                            weighted = -weighted
                            wanted.sketch[rows.groups[i], o, in_sketch + cell] += signed
                            signed = -signed


@kernel
def steps_of_rows(trees, roots, sizes, members, codes, raw, starts, cells, changes):
    """The steps of rows' curves, until there may be no room for another row's.

    Parameters
    ----------
    trees, roots, sizes, members
        As in `reduce_rows`.
    codes : ndarray of shape (n_rows, n_features), int32
    raw : ndarray of shape (n_rows, n_raw)
        Filled with the sums of the leaves that rows are in.
    starts : ndarray of shape (n_rows, n_members + 1), int64
        Filled: row i's steps of member m are starts[i, m] to starts[i, m + 1], the
        first of them where the curve begins.
    cells : ndarray of shape (room,), int32
        Filled with the cells of the steps; room for at least n_flat.
    changes : ndarray of shape (n_raw, room)
        Filled with the steps.

    Returns
    -------
    n_done : int
        Rows.
    """
    n_trees, n_raw, most = len(roots), trees.values.shape[1], members.n_cells.max()
    visiting, events = room(sizes), (np.empty(0, np.int32), np.empty((0, n_raw)))
    jumps, touched = curve_room(sizes, n_raw)
    positions, moved = np.empty(most + 2, np.int64), np.empty((n_raw, most + 1))
    n_steps, n_block = 0, 0
    for i in range(len(codes)):
        if n_steps + sizes[2] > len(cells):
            return i
        b = i % BLOCK
        if b == 0:
            block = codes[i : i + BLOCK]
            n_block = len(block)
            bounds = np.empty(n_trees * n_block + 1, np.int64)
            of_block = raw[i : i + BLOCK]
            of_block[:] = 0.0
            events = meet(
                trees, roots, members, block, visiting, events, bounds, of_block
            )
        add_steps(b, n_block, n_trees, events, bounds, jumps, touched)
        starts[i, 0] = n_steps
        for m in range(len(members.n_cells)):
            first, n_cells = members.first_cell[m], members.n_cells[m]
            n = take_pieces(first, n_cells, jumps, touched, positions, moved)
            for k in range(n):
                cells[n_steps] = positions[k]
                for o in range(n_raw):
                    before = moved[o, k - 1] if k > 0 else 0.0
                    changes[o, n_steps] = moved[o, k] - before
                n_steps += 1
            starts[i, m + 1] = n_steps
    return len(codes)
