"""Compiled kernels: rows go down trees, their curves are reduced while in the cache.

What `_tree_walk`, `_tree_curves`, `_steps` and `_reductions` do in NumPy, for one row
after the other, so that nothing larger than one row's curves is formed. No Python
objects are touched and the interpreter's lock is released. The arrays that go in and
out are made by `_compiled_trees`, which also sizes every buffer from the trees' true
depth and number of leaves and from the grids' true number of cells; they are all
contiguous. Numbers of cells are *flat*: those of all members of a walk in a row, each
member beginning at a multiple of 64.

All kernels stand in this one file: numba's cache on disk looks only at the file of the
kernel that is called, not at those whose kernels became a part of it.
"""

from typing import NamedTuple

import numpy as np

from skvarimp._running.compiled import inlined, kernel

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


class Forest(NamedTuple):
    """The trees that rows go down.

    Attributes
    ----------
    roots : ndarray of shape (n_trees,), int32
    questions : ndarray of shape (n_trees, n_questions), int32
        All inner nodes of each tree, then -1; no columns unless the trees are so small
        that the answers to all their questions are worth remembering.
    depth : int
        Of the deepest leaf of all.
    """

    roots: np.ndarray
    questions: np.ndarray
    depth: int


class Members(NamedTuple):
    """The moves of one walk, those of one feature next to each other.

    Attributes
    ----------
    of_feature : ndarray of shape (n_features + 1,), int64
        Feature u is moved by the members of_feature[u] to of_feature[u + 1].
    opens : ndarray of shape (n_nodes,), bool
        Whether the edge to a node admits a cell of any member.
    marks : ndarray of shape (n_marks,), int32
        Flat cells where what an edge admits begins; minus one less, where it ends.
    first_mark : ndarray of shape (n_nodes + 1,), int64
        The marks of the edge to a node, for all members of its feature, are
        first_mark[node] to first_mark[node + 1].
    first_cell, n_cells : ndarray of shape (n_members,), int64
    below : ndarray of shape (n_flat + n_members,)
        Probability of the cells before each cell and of all; a member's begins at
        its first cell plus its number.
    counted : ndarray of shape (n_flat + n_members,)
        Number of values, in the same way.
    n_flat : int
        Number of flat cells.
    most_cells : int
        Largest of `n_cells`.
    """

    of_feature: np.ndarray
    opens: np.ndarray
    marks: np.ndarray
    first_mark: np.ndarray
    first_cell: np.ndarray
    n_cells: np.ndarray
    below: np.ndarray
    counted: np.ndarray
    n_flat: int
    most_cells: int


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

MOVED, EDGE = 10, 32  # where the bits of a feature and of an edge begin in a list:
# so BLOCK is at most 1024, and features fewer than `_trees.COMPILED_FEATURES`
OF_ROW, OF_MOVED = 2**MOVED - 1, 2**EDGE - 2**MOVED


@inlined
def question(trees, node):
    """What `goes_left` asks at a node, read once for many rows."""
    missing_code = trees.missing_code[trees.nodes[node, FEATURE]]
    return trees.nodes[node, CUT], missing_code, trees.missing_left[node]


@inlined
def goes_left(trees, asked, code):
    """Whether rows of a code go left where this is asked."""
    cut, missing_code, missing_left = asked
    if cut < 0:
        return trees.sets[-1 - cut, code]
    return missing_left if code == missing_code else code < cut


@kernel
def go_down(trees, root, codes, first, last, opens, room, visits):
    """The leaves of a tree that rows reach as any one feature moves.

    All rows go down together. A list has what reaches a node: a row by its own values,
    or a row with one feature moved, and the last edge on that feature. That is one
    number: the row in the lowest bits, then the feature plus 1, then the edge; no
    feature is 0.

    Parameters
    ----------
    trees : Trees
    root : int
    codes : ndarray of shape (n_features, n_rows)
    first, last : int
        The rows from first on and before last.
    opens : ndarray of shape (n_nodes,)
        Whether the way to a node is of interest.
    room : tuple
        As from `room_to_go_down`; the last of it is filled with the leaf of each row.
    visits : (rows, edges, leaves)
        Arrays of one size. Filled with the leaves off the rows' own paths: the row,
        the last edge on the moved feature, and the leaf.

    Returns
    -------
    n : int
        Number of visits.
    visits : the same, or larger ones.
    """
    items, todo, own = room
    nodes, n, top = trees.nodes, 0, 1
    for i in range(first, last):
        items[i - first] = i
    todo[0, 0], todo[0, 1], todo[0, 2] = root, 0, last - first
    while top > 0:
        top -= 1
        node, start, stop = todo[top, 0], todo[top, 1], todo[top, 2]
        feature = nodes[node, FEATURE]
        if feature < 0:
            if n + stop - start > len(visits[0]):
                visits = more_visits(visits, stop - start)
            for k in range(start, stop):
                i, edge = items[k] & OF_ROW, items[k] >> EDGE
                visits[0][n], visits[1][n], visits[2][n] = i, edge, node
                if items[k] <= OF_ROW:
                    own[i] = node
                n += items[k] > OF_ROW
            continue
        asked, of_feature = question(trees, node), codes[feature]
        right, left = nodes[node, RIGHT], nodes[node, LEFT]
        opens_right, opens_left = opens[right], opens[left]
        tag = np.int64(feature + 1) << MOVED
        tag_right = tag | np.int64(right) << EDGE
        tag_left = tag | np.int64(left) << EDGE
        # the left list behind the right one, which waits; no branches inside
        to_right, first_left = stop, 2 * stop - start
        to_left = first_left
        for k in range(start, stop):
            item = items[k]
            i, of_item = item & OF_ROW, item & OF_MOVED
            goes = goes_left(trees, asked, of_feature[i])
            free, same = of_item == 0, of_item == tag
            follows = goes & (not same)
            items[to_left] = item if follows else i | tag_left
            to_left += follows | ((same | (free & (not goes))) & opens_left)
            follows = (not goes) & (not same)
            items[to_right] = item if follows else i | tag_right
            to_right += follows | ((same | (free & goes)) & opens_right)
        if to_right > stop:
            todo[top, 0], todo[top, 1], todo[top, 2] = right, stop, to_right
            top += 1
        if to_left > first_left:
            todo[top, 0], todo[top, 1], todo[top, 2] = left, first_left, to_left
            top += 1
    return n, visits


@kernel
def more_visits(visits, more):
    """The same with room for so many more, and as many again."""
    rows, edges, leaves = visits
    n = 2 * len(rows) + more
    more_rows, more_edges = np.empty(n, np.int32), np.empty(n, np.int32)
    more_leaves = np.empty(n, np.int32)
    for v in range(len(rows)):
        more_rows[v], more_edges[v], more_leaves[v] = rows[v], edges[v], leaves[v]
    return more_rows, more_edges, more_leaves


@inlined
def room_to_go_down(forest, n_rows):
    """Buffers of `go_down`: lists of two children a level, nodes to do, own leaves."""
    size = (2 * forest.depth + 3) * n_rows
    return (
        np.empty(size, np.int64),
        np.empty((forest.depth + 2, 3), np.int64),
        np.empty(n_rows, np.int32),
    )


@inlined
def no_visits():
    """Buffers of visits, as small as can be."""
    return np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int32)


# From leaves to pieces

BLOCK = 128  # rows that go down a tree together
NUMBERS = 2**20  # in the lists of rows on their way, at most, but those of one row
WORD = 64  # cells whose bits share a number
ONE, LAST = np.uint64(1), np.uint64(63)
# De Bruijn: the product of a power of two with it has another first six bits each
SEQUENCE, SHIFT = np.uint64(0x03F79D71B4CB0A89), np.uint64(58)
BIT_OF = np.empty(64, dtype=np.int64)
for _bit in range(64):
    BIT_OF[((1 << _bit) * int(SEQUENCE) % 2**64) >> 58] = _bit


@inlined
def rows_together(forest, n_rows):
    """How many rows go down together."""
    return max(1, min(n_rows, BLOCK, NUMBERS // (2 * forest.depth + 3)))


@inlined
def memory_of(trees, forest, n_rows):
    """What answers to a tree's questions lead to, as far as any row gave them.

    Returns
    -------
    given : ndarray of shape (n_rows,), uint8
        To work in: answers of rows, bit by bit.
    slots, bits : ndarray
        As from `answers_by_code`.
    first_slot : ndarray of shape (n_trees + 1,)
    known : ndarray of shape (n_trees, n_answers, 2)
        From where to where the events are.
    known_own : ndarray of shape (n_trees, n_answers)
        The row's own leaf; -1: not known.
    n_events : ndarray of shape (1,)
    """
    n_trees, n_questions = forest.questions.shape
    slots, first_slot, bits = answers_by_code(trees, forest)
    known = np.empty((n_trees, 1 << n_questions, 2), np.int64)
    known_own = np.full((n_trees, 1 << n_questions), np.int32(-1))
    given, n_events = np.empty(n_rows, np.uint8), np.zeros(1, np.int64)
    return given, slots, first_slot, bits, known, known_own, n_events


@kernel
def answers_by_code(trees, forest):
    """What each code of a feature answers to a tree's questions on that feature.

    Returns
    -------
    slots : ndarray of shape (n_slots, 2)
        A feature of a tree, and where the bits of its code 0 are.
    first_slot : ndarray of shape (n_trees + 1,)
        The slots of each tree.
    bits : ndarray of shape (n_bits,), uint8
    """
    n_trees, n_questions = forest.questions.shape
    slots = np.empty((n_trees * n_questions, 2), np.int64)
    first_slot, n_slots, n_bits = np.zeros(n_trees + 1, np.int64), 0, 0
    for t in range(n_trees):
        for q in range(n_questions):
            node = forest.questions[t, q]
            if node < 0:
                break
            feature, s = trees.nodes[node, FEATURE], first_slot[t]
            while s < n_slots and slots[s, 0] != feature:
                s += 1
            if s == n_slots:
                slots[s, 0], slots[s, 1] = feature, n_bits
                n_bits += trees.missing_code[feature] + 1
                n_slots += 1
        first_slot[t + 1] = n_slots
    bits = np.zeros(n_bits, np.uint8)
    for t in range(n_trees):
        for s in range(first_slot[t], first_slot[t + 1]):
            for q in range(n_questions):
                node = forest.questions[t, q]
                if node < 0 or trees.nodes[node, FEATURE] != slots[s, 0]:
                    continue
                asked = question(trees, node)
                for code in range(trees.missing_code[slots[s, 0]] + 1):
                    answer = np.uint8(goes_left(trees, asked, code))
                    bits[slots[s, 1] + code] |= answer << np.uint8(q)
    return slots, first_slot, bits


@kernel
def recall(trees, forest, members, t, codes, room, memory, visits, events, spans):
    """As `meet`, in one small tree; codes of shape (n_features, n_rows)."""
    given, slots, first_slot, bits, known, known_own, n_events = memory
    n_rows, own = codes.shape[1], room[-1]
    given[:n_rows] = 0
    for s in range(first_slot[t], first_slot[t + 1]):
        feature, start = slots[s, 0], slots[s, 1]
        for i in range(n_rows):
            given[i] |= bits[start + codes[feature, i]]
    for i in range(n_rows):
        answers = given[i]
        if known_own[t, answers] < 0:
            visits, events = list_steps(
                trees,
                forest.roots[t],
                members,
                codes,
                i,
                i + 1,
                room,
                visits,
                events,
                spans,
                n_events,
            )
            known_own[t, answers] = own[i]
            known[t, answers, 0], known[t, answers, 1] = spans[i, 0], spans[i, 1]
        own[i] = known_own[t, answers]
        spans[i, 0], spans[i, 1] = known[t, answers, 0], known[t, answers, 1]
    return visits, events


@kernel
def meet(trees, forest, members, codes, room, memory, visits, events, spans, raw):
    """What rows visit in each tree: tree by tree, so that each stays in the cache.

    Of small trees it is known from the answers to all of the tree's questions, as
    soon as any row gave them.

    Parameters
    ----------
    trees, forest, members
        As in `reduce_rows`.
    codes : ndarray of shape (n_rows, n_features)
    room, memory, visits : tuple
        As from `room_to_go_down`, `memory_of` and `no_visits`.
    events : (ndarray of shape (n,), ndarray of shape (n, n_raw))
        Flat cells, and by how much the curve steps there; filled.
    spans : ndarray of shape (n_trees, n_rows, 2)
        Filled with where the events of each row in each tree are.
    raw : ndarray of shape (n_rows, n_raw), or (n_rows, 0)
        The leaves that rows are in are added to it.

    Returns
    -------
    visits, events : the same, or larger ones.
    """
    n_rows, n_events, own = len(codes), memory[-1], room[-1]
    remembers = forest.questions.shape[1] > 0
    if not remembers:
        n_events[0] = 0
    by_feature = np.empty((codes.shape[1], n_rows), codes.dtype)
    for i in range(n_rows):
        for u in range(len(by_feature)):
            by_feature[u, i] = codes[i, u]
    for t in range(len(forest.roots)):
        if remembers:
            visits, events = recall(
                trees,
                forest,
                members,
                t,
                by_feature,
                room,
                memory,
                visits,
                events,
                spans[t],
            )
        else:
            visits, events = list_steps(
                trees,
                forest.roots[t],
                members,
                by_feature,
                0,
                n_rows,
                room,
                visits,
                events,
                spans[t],
                n_events,
            )
        for i in range(n_rows):
            for o in range(raw.shape[1]):
                raw[i, o] += trees.values[own[i], o]
    return visits, events


@kernel
def list_steps(
    trees, root, members, codes, first, last, room, visits, events, spans, n_events
):
    """As `meet`, in one tree, of the rows from first on and before last."""
    n, visits = go_down(trees, root, codes, first, last, members.opens, room, visits)
    n_more = count_steps(members, visits, n, first, last, spans, n_events[0])
    if n_events[0] + n_more > len(events[0]):
        events = more_events(events, n_more)
    add_steps(trees, members, visits, n, room[-1], events, spans)
    n_events[0] += n_more
    return visits, events


@inlined
def count_steps(members, visits, n, first, last, spans, start):
    """How many steps n visits make; sets where each row's begin, twice."""
    rows, edges, _ = visits
    for i in range(first, last):
        spans[i, 1] = 0
    for v in range(n):
        edge = edges[v]
        spans[rows[v], 1] += members.first_mark[edge + 1] - members.first_mark[edge]
    at = start
    for i in range(first, last):
        n_of_row = spans[i, 1]
        spans[i, 0] = spans[i, 1] = at
        at += n_of_row
    return at - start


@inlined
def add_steps(trees, members, visits, n, own, events, spans):
    """Note the steps of n visits, row by row; sets where each row's end."""
    rows, edges, leaves = visits
    cells, changes = events
    marks, first_mark = members.marks, members.first_mark
    for v in range(n):
        i, edge, leaf = rows[v], edges[v], leaves[v]
        at = spans[i, 1]
        for s in range(first_mark[edge], first_mark[edge + 1]):
            ends = marks[s] >> 31  # -1 or 0
            cells[at] = marks[s] ^ ends
            for o in range(changes.shape[1]):
                change = trees.values[leaf, o] - trees.values[own[i], o]
                changes[at, o] = (1.0 + 2.0 * ends) * change
            at += 1
        spans[i, 1] = at


@kernel
def more_events(events, more):
    """The same with room for so many more, and as many again."""
    cells, changes = events
    more_cells = np.empty(2 * len(cells) + more, cells.dtype)
    more_changes = np.empty((len(more_cells), changes.shape[1]))
    for e in range(len(cells)):
        more_cells[e] = cells[e]
        for o in range(changes.shape[1]):
            more_changes[e, o] = changes[e, o]
    return more_cells, more_changes


@inlined
def step_room(n_flat, n_raw):
    """Buffers for the steps of one row: jumps, and bits that say where."""
    return np.zeros((n_flat, n_raw)), np.zeros(n_flat // WORD, np.uint64)


@inlined
def curve_room(members, n_raw):
    """Buffers for one curve: positions of its pieces, and values."""
    most = members.most_cells
    return np.empty(most + 2, np.int64), np.empty((n_raw, most + 1))


@inlined
def event_room(n_raw):
    """Buffers of events, as small as can be."""
    return np.empty(0, np.int32), np.empty((0, n_raw))


@inlined
def add_up(i, events, spans, jumps, touched):
    """Add up the steps of one row in all trees."""
    cells, changes = events
    for t in range(len(spans)):
        for e in range(spans[t, i, 0], spans[t, i, 1]):
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


@inlined
def is_zero(moved):
    """Whether the first piece does not move."""
    n_moved = 0
    for o in range(len(moved)):
        n_moved += moved[o, 0] != 0.0
    return n_moved == 0


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


RANKED = 128  # values sorted by counting, at most
LANES = 16  # numbers that are compared at a time


@inlined
def sort(values, n, keys, order, spare_keys, spare_order, ends):
    """Sort blocks, merge them: keys, order become the sorted values and where.

    Parameters
    ----------
    values : ndarray of shape (at least n,)
    keys, order, spare_keys, spare_order : ndarray of shape (at least n + LANES,)
        Filled.
    ends : ndarray of shape (at least n,)
        To work in.

    Returns
    -------
    keys, order : ndarray
        Of the two pairs given the one that holds the result.
    """
    n_runs = (n + RANKED - 1) // RANKED
    for r in range(n_runs):
        start, ends[r] = r * n // n_runs, (r + 1) * n // n_runs
        rank(values, start, ends[r], keys, order, spare_keys)
    while n_runs > 1:
        start, merged = 0, 0
        for r in range(0, n_runs, 2):
            middle, end = ends[r], ends[min(r + 1, n_runs - 1)]
            a, b, k = start, middle, start
            while a < middle and b < end:  # no branch to be guessed wrong inside
                key_a, key_b = keys[a], keys[b]
                at_a, at_b = order[a], order[b]
                first = key_a <= key_b
                spare_keys[k] = key_a if first else key_b
                spare_order[k] = at_a if first else at_b
                a += first
                b += not first
                k += 1
            for rest in range(a, middle):
                spare_keys[k], spare_order[k] = keys[rest], order[rest]
                k += 1
            for rest in range(b, end):
                spare_keys[k], spare_order[k] = keys[rest], order[rest]
                k += 1
            ends[merged] = start = end
            merged += 1
        n_runs = merged
        keys, spare_keys = spare_keys, keys
        order, spare_order = spare_order, order
    return keys, order


@inlined
def rank(values, start, end, keys, order, spare_keys):
    """Sort values[start:end] into keys and order: count the smaller ones of each.

    That is quadratic, but without branches and many numbers at a time.
    """
    n = end - start
    padded = (n + LANES - 1) // LANES * LANES if n > LANES // 2 else n
    for k in range(n):
        spare_keys[k], order[start + k] = values[start + k], -1
    for k in range(n, padded):
        spare_keys[k] = np.inf
    for k in range(start, end):
        value, smaller = values[k], 0
        for other in range(padded):
            smaller += spare_keys[other] < value
        at = start + smaller
        while order[at] >= 0:  # equal values
            at += 1
        keys[at], order[at] = value, k


@inlined
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


@inlined
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
            sums = wanted.cells[wanted.kinds[OBSERVED], o]
            total = before = 0.0
            for k in range(n):
                change = abs(values[k])
                total += change * chances[k]
                sums[first + positions[k]] += weight * (change - before)
                before = change
            wanted.rows[slots[OBSERVED], o, i] = total
        if slots[RANGE] >= 0:
            largest = smallest = values[0]
            for k in range(1, n):
                largest, smallest = max(largest, values[k]), min(smallest, values[k])
            wanted.rows[slots[RANGE], o, i] = largest - smallest
        if slots[STD] >= 0:
            counted = members.counted[start : start + members.n_cells[m] + 1]
            wanted.rows[slots[STD], o, i] = spread(values, counted, positions, n)
        if slots[MEAN] >= 0:
            sums, sketch = wanted.cells[wanted.kinds[MEAN], o], wanted.sketch
            of_group, in_sketch = sketch[rows.groups[i], o], slots[SKETCH]
            sign, before = rows.signs[i], 0.0
            for k in range(n):
                step, before = values[k] - before, values[k]
                sums[first + positions[k]] += weight * step
                of_group[in_sketch + positions[k]] += sign * step
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
def reduce_rows(trees, forest, members, rows, link, factor, offset, wanted):
    """Add every reduction of some rows to what is wanted.

    Parameters
    ----------
    trees : Trees
    forest : Forest
        With a link all trees.
    members : Members
    rows : Rows
    link : int
    factor : float
        Of the raw outputs in the link.
    offset : ndarray of shape (n_raw,)
        Added to the raw outputs before the link.
    wanted : Wanted
    """
    n_raw, most = trees.values.shape[1], members.most_cells
    size = rows_together(forest, len(rows.codes))
    room, memory = room_to_go_down(forest, size), memory_of(trees, forest, size)
    visits, events = no_visits(), event_room(n_raw)
    spans = np.empty((len(forest.roots), size, 2), np.int64)
    jumps, touched = step_room(members.n_flat, n_raw)
    positions, moved = curve_room(members, n_raw)
    most += LANES
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
    for start in range(0, len(rows.codes), size):
        codes = rows.codes[start : start + size]
        raw = np.zeros((len(codes), n_raw if link != NO_LINK else 0))
        visits, events = meet(
            trees, forest, members, codes, room, memory, visits, events, spans, raw
        )
        for b in range(len(codes)):
            add_up(b, events, spans, jumps, touched)
            if link != NO_LINK:
                for o in range(n_raw):
                    raw[b, o] += offset[o]
                    unmoved[o, 0] = 0.0
                follow_link(link, factor, raw[b], no_offset, unmoved, 1)
            for m in range(members.of_feature[0], len(members.n_cells)):
                first, n_cells = members.first_cell[m], members.n_cells[m]
                n = take_pieces(first, n_cells, jumps, touched, positions, moved)
                if n == 1 and is_zero(moved):
                    continue  # nothing moves
                if link != NO_LINK:
                    follow_link(link, factor, raw[b], unmoved[:, 0], moved, n)
                reduce_curve(
                    start + b, m, members, rows, wanted, positions, moved, n, buffers
                )


@kernel
def add_means(trees, forest, members, rows, wanted):
    """Add the mean curves and their sketches alone; forms no row's curve.

    Parameters as in `reduce_rows`.
    """
    n_raw, n_trees = trees.values.shape[1], len(forest.roots)
    size = rows_together(forest, len(rows.codes))
    room, memory = room_to_go_down(forest, size), memory_of(trees, forest, size)
    visits, events = no_visits(), event_room(n_raw)
    spans, raw = np.empty((n_trees, size, 2), np.int64), np.zeros((size, n_raw))
    in_sketch = np.empty(members.n_flat // WORD, np.int64)
    for m in range(len(members.n_cells)):
        first, n_cells = members.first_cell[m], members.n_cells[m]
        in_sketch[first // WORD : (first + n_cells + WORD - 1) // WORD] = (
            wanted.slots[m, SKETCH] - first
        )
    for start in range(0, len(rows.codes), size):
        codes = rows.codes[start : start + size]
        visits, events = meet(
            trees, forest, members, codes, room, memory, visits, events, spans, raw
        )
        for b in range(len(codes)):
            for t in range(n_trees):
                add_mean(start + b, rows, spans[t, b], events, in_sketch, wanted)


@inlined
def add_mean(i, rows, span, events, in_sketch, wanted):
    """Add what one row contributes to the mean curves and their sketches."""
    cells, changes = events
    weight, sign, group = rows.weights[i], rows.signs[i], rows.groups[i]
    for e in range(span[0], span[1]):
        cell = cells[e]
        at = in_sketch[cell // WORD] + cell
        for o in range(changes.shape[1]):
            wanted.cells[0, o, cell] += weight * changes[e, o]
            wanted.sketch[group, o, at] += sign * changes[e, o]


@kernel
def steps_of_rows(trees, forest, members, codes, raw, starts, cells, changes):
    """The steps of rows' curves, until there may be no room for another row's.

    Parameters
    ----------
    trees, forest, members
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
    n_raw = trees.values.shape[1]
    size = rows_together(forest, len(codes))
    room, memory = room_to_go_down(forest, size), memory_of(trees, forest, size)
    visits, events = no_visits(), event_room(n_raw)
    spans = np.empty((len(forest.roots), size, 2), np.int64)
    jumps, touched = step_room(members.n_flat, n_raw)
    positions, moved = curve_room(members, n_raw)
    n_steps = 0
    for i in range(len(codes)):
        if n_steps + members.n_flat > len(cells):
            return i
        if i % size == 0:
            block, of_block = codes[i : i + size], raw[i : i + size]
            of_block[:] = 0.0
            visits, events = meet(
                trees,
                forest,
                members,
                block,
                room,
                memory,
                visits,
                events,
                spans,
                of_block,
            )
        add_up(i % size, events, spans, jumps, touched)
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
