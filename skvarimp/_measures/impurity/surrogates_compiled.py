"""Surrogate splits by compiled kernels: column by column, from the root down.

What is computed is said in `_surrogates_numpy`; here is only another order of the work.
The slots of a node follow each other, those of its left child first, so that one
comparison of a slot's number tells where its row goes. A column's slots are sorted once
a tree; every branch node, parents first, is a stretch of them: one pass finds its best
cut, and a stable partition leaves the stretches of both children, sorted, in its place.

Nothing but this module imports numba, and it is imported at the first search.
"""

from typing import NamedTuple

import numpy as np

from skvarimp._measures.impurity.surrogate_levels import MISSING
from skvarimp._measures.impurity.surrogate_splits import (
    TOLERANCE,
    Surrogates,
    class_codes,
    midpoint,
    sums_exactly,
)
from skvarimp._measures.impurity.tables import LEAF
from skvarimp._running.compiled import inlined, kernel

CAPACITY = 2**22  # numbers about surrogates that are held until they are judged
SLOT = 2**32 - 1  # bits of a key that hold the slot; those above hold the rank


class _Columns(NamedTuple):
    """See `SortedColumns`; `own[t, j]`: whether tree t was grown on column j."""

    values: np.ndarray
    order: np.ndarray
    rank: np.ndarray
    nominal: np.ndarray
    missing: np.ndarray
    own: np.ndarray


class _Slots(NamedTuple):
    """Rows of all trees; `bounds[t]` is the first slot of tree t.

    `label` is the joint class where cuts inside a class are left out, else empty;
    `statistics` are the criterion's, none where no decrease is asked for.
    """

    bounds: np.ndarray
    row: np.ndarray
    weight: np.ndarray
    label: np.ndarray
    statistics: np.ndarray  # (n_statistics, n_slots)


class _Branches(NamedTuple):
    """Branch nodes of all trees in preorder; `bounds[t]` is the first of tree t.

    The left child's slots are `start ... middle`, of weight `left`, the right one's
    `middle ... stop`, of weight `right`; `splits_on`: whether a child is a branch node,
    `right_splits`: whether the right one is.
    """

    bounds: np.ndarray
    node: np.ndarray
    feature: np.ndarray
    start: np.ndarray
    middle: np.ndarray
    stop: np.ndarray
    splits_on: np.ndarray
    right_splits: np.ndarray
    left: np.ndarray
    right: np.ndarray


class _Found(NamedTuple):
    """Room for surrogates, in the order they are found.

    `number` holds the association, the values below and above the cut, E and the
    decrease; `left` and `right` the statistics of both sides.
    """

    node: np.ndarray  # (capacity,)
    feature: np.ndarray
    number: np.ndarray  # (capacity, 5)
    sums: np.ndarray  # (2, n_statistics, capacity)


def search_trees(grove, columns, rules):
    """All surrogate splits of a few trees, by compiled kernels.

    Parameters
    ----------
    grove : Grove
    columns : SortedColumns
    rules : Rules

    Returns
    -------
    Surrogates
    """
    table = _columns_of(grove, columns)
    slots = _slots_of(grove, rules)
    n_statistics = len(slots.statistics)
    branches = _branches_of(grove)
    exact = sums_exactly(grove)
    n_branches = len(branches.node)
    width = max(1, CAPACITY // max(n_branches * (5 + 2 * n_statistics), 1))
    parts = []
    for first in range(0, len(columns), width):
        last = min(first + width, len(columns))
        room = (last - first) * n_branches
        found = _Found(
            np.empty(room, dtype=np.int32),
            np.empty(room, dtype=np.int32),
            np.empty((room, 5)),
            np.empty((2, n_statistics, room)),
        )
        n_found = _search_columns(
            first, last, table, slots, branches, exact, rules.min_rows, found
        )
        node, feature, number = (field[:n_found] for field in found[:3])
        number[:, 4] = np.nan
        if rules.criterion is not None:
            number[:, 4] = rules.criterion.decrease_of_sums(*found.sums[:, :, :n_found])
        if last - first < len(columns):  # the room is not held for what is found
            node, feature, number = node.copy(), feature.copy(), number.copy()
        parts.append((node, feature, number))
    node, feature, number = parts[0]
    if len(parts) > 1:
        node, feature, number = (np.concatenate(fields) for fields in zip(*parts))
    n_kept = len(columns) if rules.n_kept is None else rules.n_kept
    node, feature, rank, direction, *numbers = _by_rank(
        node, feature, number, len(grove.left), n_kept
    )
    association, below, above, decrease = numbers
    return Surrogates(
        node, feature, association, midpoint(below, above), direction, decrease, rank
    )


def _columns_of(grove, columns):
    own = np.ones((len(grove.root), len(columns)), dtype=np.bool_)
    for tree, of_tree in enumerate(grove.columns):
        if of_tree is not None:
            own[tree] = np.isin(np.arange(len(columns)), of_tree)
    return _Columns(
        columns.values,
        columns.order,
        columns.rank,
        np.asarray(columns.nominal, dtype=np.bool_),
        np.any(columns.rank[:, -1:] == MISSING, axis=1),
        own,
    )


def _slots_of(grove, rules):
    label = np.empty(0, dtype=np.intp)
    if rules.class_boundary:
        label = class_codes(grove)
    statistics = np.empty((0, grove.n_slots))
    if rules.criterion is not None:
        statistics = np.array(
            list(rules.criterion.statistics(grove.target, grove.weight))
        )
    bounds = np.searchsorted(grove.tree, np.arange(len(grove.root) + 1))
    return _Slots(bounds, grove.row, grove.weight, label, statistics)


def _branches_of(grove):
    node = np.flatnonzero(grove.left != LEAF)
    node = node[np.argsort(grove.preorder[node])]
    trees = np.arange(len(grove.root) + 1)
    left, right = grove.left[node], grove.right[node]
    weight = grove.node_sums(grove.weight)
    return _Branches(
        np.searchsorted(grove.tree_of_node[node], trees),
        node,
        grove.feature[node].astype(np.intp),
        grove.start[node],
        grove.start[right],
        grove.stop[node],
        (grove.left[left] != LEAF) | (grove.left[right] != LEAF),
        grove.left[right] != LEAF,
        weight[left],
        weight[right],
    )


@kernel
def _search_columns(first, last, columns, slots, branches, exact, min_rows, found):
    """Surrogates on the columns `first ... last` of all trees; returns their number."""
    largest = np.max(np.diff(slots.bounds))
    keys, spare = np.empty(largest + 1, np.int64), np.empty(largest, np.int64)
    slot_of_row = np.full(columns.values.shape[1], -1, np.int32)
    twice, n_found = 2 * slots.weight, 0
    for tree in range(len(slots.bounds) - 1):
        offset, end = slots.bounds[tree], slots.bounds[tree + 1]
        for slot in range(offset, end):
            slot_of_row[slots.row[slot]] = slot
        for j in range(first, last):
            if not columns.own[tree, j]:
                continue
            value = columns.values[j]
            _sort_slots(columns.order[j], columns.rank[j], slot_of_row, keys)
            for b in range(branches.bounds[tree], branches.bounds[tree + 1]):
                run = keys[branches.start[b] - offset : branches.stop[b] - offset]
                middle = branches.middle[b]
                if branches.feature[b] != j and _varies(run):
                    seen, left, right = run, branches.left[b], branches.right[b]
                    primary = branches.feature[b]
                    if columns.missing[j] or columns.missing[primary]:
                        seen = _observed(run, slots.row, columns.values[primary], spare)
                        left, right = _weights(seen, middle, slots.weight)
                    lighter = min(left, right)
                    place, running, association = -1, 1.0, 0.0
                    if not lighter > 0:
                        pass
                    elif columns.nominal[j]:
                        association = _category_sets(
                            seen, middle, slots.weight, lighter, min_rows
                        )
                    else:
                        if len(slots.label):
                            seen = _merge_class_insides(seen, slots.label, spare)
                        place, running = _best_cut(
                            seen, middle, twice, left, right, exact, min_rows
                        )
                        if place >= 0:
                            excess = abs(running) - abs(left - right)
                            association = min(excess / (2 * lighter), 1.0)
                    if association > TOLERANCE:
                        found.node[n_found] = branches.node[b]
                        found.feature[n_found] = j
                        number = found.number[n_found]
                        number[0], number[3] = association, running
                        number[1] = number[2] = np.nan
                        if place >= 0:
                            number[1] = value[slots.row[seen[place] & SLOT]]
                            number[2] = value[slots.row[seen[place + 1] & SLOT]]
                            _add_up(seen, place, slots.statistics, found.sums, n_found)
                        n_found += 1
                if branches.splits_on[b]:
                    _partition(run, middle, spare, branches.right_splits[b])
        for slot in range(offset, end):
            slot_of_row[slots.row[slot]] = -1
    return n_found


@kernel
def _sort_slots(order, rank, slot_of_row, keys):
    """Fill `keys` with a tree's slots in the order of a column, and their ranks."""
    n = 0
    for p in range(len(order)):
        slot = slot_of_row[order[p]]
        keys[n] = (np.int64(rank[p]) << 32) | slot  # kept if in the bag
        n += slot >= 0


@inlined
def _partition(run, middle, spare, keeps_right):
    """Slots below `middle` first, the others, if kept, as the second run; in place."""
    n_left = n_right = 0
    for p in range(len(run)):
        key = run[p]
        goes_left = (key & SLOT) < middle
        run[n_left] = key
        spare[n_right] = key
        n_left += goes_left
        n_right += not goes_left
    if keeps_right:
        for p in range(n_right):
            run[n_left + p] = spare[p]


@inlined
def _varies(run):
    """Whether a sorted run holds two values."""
    return len(run) > 1 and run[0] >> 32 != run[-1] >> 32


@inlined
def _observed(run, rows, primary, spare):
    """Copy the keys with a value in both columns into `spare`, as a view of it."""
    n = 0
    for key in run:
        if key >> 32 != MISSING and not np.isnan(primary[rows[key & SLOT]]):
            spare[n] = key
            n += 1
    return spare[:n]


@inlined
def _weights(run, middle, weight):
    """W_left and W_right."""
    left, right = 0.0, 0.0
    for key in run:
        slot = key & SLOT
        if slot < middle:
            left += weight[slot]
        else:
            right += weight[slot]
    return left, right


@inlined
def _best_cut(run, middle, twice, left, right, exact, min_rows):
    """Last place below the lowest of the tied best cuts, and its E; -1 if none."""
    begin, running = min_rows - 1, right - left
    for key in run[:begin]:
        slot = key & SLOT
        running += twice[slot] if slot < middle else -twice[slot]
    before, best, place, signed = running, abs(left - right), -1, 0.0
    for p in range(begin, len(run) - min_rows):
        slot = run[p] & SLOT
        running += twice[slot] if slot < middle else -twice[slot]
        if abs(running) > best and run[p] >> 32 != run[p + 1] >> 32:
            best, place, signed = abs(running), p, running
    if exact:
        return place, signed
    running, bound = before, best - 2 * TOLERANCE * min(left, right)
    for p in range(begin, place):
        slot = run[p] & SLOT
        running += twice[slot] if slot < middle else -twice[slot]
        if abs(running) >= bound and run[p] >> 32 != run[p + 1] >> 32:
            return p, running
    return place, signed


@kernel
def _merge_class_insides(run, label, spare):
    """Give adjacent values of only one and the same class one rank; in `spare`."""
    before, rank = -1, np.int64(0)  # class of the value before; -1 where mixed
    p = 0
    while p < len(run):
        own, code = run[p] >> 32, label[run[p] & SLOT]
        q = p + 1
        while q < len(run) and run[q] >> 32 == own:
            if label[run[q] & SLOT] != code:
                code = -1
            q += 1
        if code < 0 or code != before:
            rank = own
        for k in range(p, q):
            spare[k] = (rank << 32) | (run[k] & SLOT)
        before, p = code, q
    return spare[: len(run)]


@kernel
def _category_sets(run, middle, weight, lighter, min_rows):
    """Association where each category goes where most of its weight goes."""
    disagree = 0.0
    n_left = n_right = p = 0
    while p < len(run):
        q = p + 1
        while q < len(run) and run[q] >> 32 == run[p] >> 32:
            q += 1
        to_left, to_right = _weights(run[p:q], middle, weight)
        if to_left >= to_right:
            n_left += q - p
        else:
            n_right += q - p
        disagree += min(to_left, to_right)
        p = q
    return 1.0 - disagree / lighter if min(n_left, n_right) >= min_rows else 0.0


@inlined
def _add_up(run, place, statistics, sums, n_found):
    """Sums of the statistics of the rows up to a place, and of those behind it."""
    last = len(statistics) - 1
    for k in range(0, last + 1, 2):  # two at a time, an odd one twice
        m = min(k + 1, last)
        one, other = statistics[k], statistics[m]
        low, high = run[: place + 1], run[place + 1 :]
        sums[0, k, n_found], sums[0, m, n_found] = _two_sums(low, one, other)
        sums[1, k, n_found], sums[1, m, n_found] = _two_sums(high, one, other)


@inlined
def _two_sums(run, one, other):
    first = second = 0.0
    for key in run:
        slot = key & SLOT
        first += one[slot]
        second += other[slot]
    return first, second


@kernel
def _by_rank(node, feature, number, n_nodes, n_kept):
    """Sort by node, then association, ties by column; keep the first of each node.

    Returns
    -------
    node, feature, rank, direction, association, below, above, decrease : ndarray
    """
    bounds = np.zeros(n_nodes + 1, np.int64)
    for n in node:
        bounds[n + 1] += 1
    most = bounds.max()
    bounds = np.cumsum(bounds)
    order, place = np.empty(len(node), np.int64), bounds.copy()
    for i in range(len(node)):
        order[place[node[i]]] = i
        place[node[i]] += 1
    room = 0
    for n in range(n_nodes):
        room += min(n_kept, bounds[n + 1] - bounds[n])
    whole, real = np.empty((3, room), np.int32), np.empty((4, room))
    direction = np.empty(room, np.int8)
    key, m = np.empty(most), 0
    for n in range(n_nodes):
        run = order[bounds[n] : bounds[n + 1]]
        _sort_by_rank(run, key, number, feature)
        for k in range(min(len(run), n_kept)):
            i = run[k]
            whole[0, m], whole[1, m], whole[2, m] = n, feature[i], k + 1
            real[0, m], real[1, m] = number[i, 0], number[i, 1]
            real[2, m], real[3, m] = number[i, 2], number[i, 4]
            direction[m] = 1 if number[i, 3] > 0 else -1
            m += 1
    return (
        whole[0],
        whole[1],
        whole[2],
        direction,
        real[0],
        real[1],
        real[2],
        real[3],
    )


@kernel
def _sort_by_rank(run, key, number, feature):
    """Sort the surrogates of one node; associations in turn this close are tied."""
    for k in range(len(run)):
        key[k] = -number[run[k], 0]
    _sort(run, key, feature)
    group, previous, mixed = 0.0, -np.inf, False
    for k in range(len(run)):
        tied = key[k] - previous <= TOLERANCE
        mixed |= tied and key[k] != previous
        group += not tied
        previous, key[k] = key[k], group
    if mixed:
        _sort(run, key, feature)


@inlined
def _sort(run, key, feature):
    """Shell's sort of a run and its keys by key, then feature; in place."""
    gap = 1
    while 3 * gap + 1 < len(run):
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, len(run)):
            i, value, q = run[k], key[k], k
            while q >= gap and (
                key[q - gap] > value
                or (key[q - gap] == value and feature[run[q - gap]] > feature[i])
            ):
                run[q], key[q] = run[q - gap], key[q - gap]
                q -= gap
            run[q], key[q] = i, value
        gap //= 3
