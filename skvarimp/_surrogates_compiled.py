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
from numba import njit

from skvarimp._impurity_tables import LEAF
from skvarimp._surrogate_levels import MISSING
from skvarimp._surrogate_splits import (
    TOLERANCE,
    Surrogates,
    class_codes,
    midpoint,
    sums_exactly,
)

CAPACITY = 2**20  # (column, branch node) pairs whose surrogates are held at once
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

    A row adds `addend[i, k]` to statistic `statistic[i, k]`. `label` is the joint class
    where cuts inside a class are left out, and empty otherwise.
    """

    bounds: np.ndarray
    row: np.ndarray
    weight: np.ndarray
    label: np.ndarray
    statistic: np.ndarray
    addend: np.ndarray


class _Branches(NamedTuple):
    """Branch nodes of all trees in preorder; `bounds[t]` is the first of tree t.

    The left child's slots are `start ... middle`, the right one's `middle ... stop`.
    """

    bounds: np.ndarray
    node: np.ndarray
    feature: np.ndarray
    start: np.ndarray
    middle: np.ndarray
    stop: np.ndarray
    left_splits: np.ndarray
    right_splits: np.ndarray


class _Totals(NamedTuple):
    """W_left and W_right of each branch node, and whether the primary's value lacks."""

    left: np.ndarray
    right: np.ndarray
    lacking: np.ndarray


class _Found(NamedTuple):
    """Room for surrogates: as in `Surrogates`, with what they are computed from."""

    node: np.ndarray
    feature: np.ndarray
    association: np.ndarray
    below: np.ndarray
    above: np.ndarray
    direction: np.ndarray
    left: np.ndarray  # (n_statistics, capacity)
    right: np.ndarray

    @classmethod
    def room(cls, capacity, n_statistics):
        """Room for so many."""
        whole = (np.empty(capacity, dtype=np.int32) for _ in range(2))
        real = (np.empty(capacity) for _ in range(3))
        sums = (np.zeros((n_statistics, capacity)) for _ in range(2))
        return cls(*whole, *real, np.empty(capacity, dtype=np.int8), *sums)


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
    slots, n_statistics = _slots_of(grove, rules)
    branches = _branches_of(grove)
    totals = _Totals(*_totals(table, slots, branches))
    n_branches = len(branches.node)
    n_columns = max(1, CAPACITY // max(n_branches, 1))
    parts = []
    for first in range(0, len(columns), n_columns):
        last = min(first + n_columns, len(columns))
        room = _Found.room((last - first) * n_branches, n_statistics)
        n_found = _search_columns(
            first,
            last,
            table,
            slots,
            branches,
            totals,
            sums_exactly(grove),
            rules.min_rows,
            room,
        )
        parts.append([field[..., :n_found] for field in room])
    found = parts[0]
    if len(parts) > 1:
        found = [np.concatenate(fields, axis=-1) for fields in zip(*parts)]
    parts.clear()
    return _ranked(_Found(*found), len(grove.left), rules)


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
    statistic, addend = np.empty((0, 0), dtype=np.intp), np.empty((0, 0))
    n_statistics = 0
    if rules.criterion is not None:
        statistic, addend, n_statistics = rules.criterion.addends(
            grove.target, grove.weight
        )
    bounds = np.searchsorted(grove.tree, np.arange(len(grove.root) + 1))
    return (
        _Slots(bounds, grove.row, grove.weight, label, statistic, addend),
        n_statistics,
    )


def _branches_of(grove):
    node = np.flatnonzero(grove.left != LEAF)
    node = node[np.argsort(grove.preorder[node])]
    trees = np.arange(len(grove.root) + 1)
    left, right = grove.left[node], grove.right[node]
    return _Branches(
        np.searchsorted(grove.tree_of_node[node], trees),
        node,
        grove.feature[node].astype(np.intp),
        grove.start[node],
        grove.start[right],
        grove.stop[node],
        grove.left[left] != LEAF,
        grove.left[right] != LEAF,
    )


def _ranked(found, n_nodes, rules):
    """As `Surrogates`, by node and rank."""
    n_kept = len(found.node) if rules.n_kept is None else rules.n_kept
    order, rank = _by_rank(
        found.node, found.feature, found.association, n_nodes, n_kept
    )
    if rules.criterion is None:
        decrease = np.full(len(order), np.nan)
    else:
        left, right = (side.take(order, axis=1) for side in (found.left, found.right))
        decrease = rules.criterion.decrease_of_sums(left, right)
    return Surrogates(
        found.node.take(order),
        found.feature.take(order),
        found.association.take(order),
        midpoint(found.below.take(order), found.above.take(order)),
        found.direction.take(order),
        decrease,
        rank,
    )


@njit(nogil=True, cache=True)
def _totals(columns, slots, branches):
    """Weights of the children, and whether a row lacks the primary's value."""
    n_branches = len(branches.node)
    left, right = np.zeros(n_branches), np.zeros(n_branches)
    lacking = np.zeros(n_branches, np.bool_)
    for b in range(n_branches):
        for slot in range(branches.start[b], branches.middle[b]):
            left[b] += slots.weight[slot]
        for slot in range(branches.middle[b], branches.stop[b]):
            right[b] += slots.weight[slot]
        j = branches.feature[b]
        if columns.missing[j]:
            for slot in range(branches.start[b], branches.stop[b]):
                lacking[b] |= np.isnan(columns.values[j, slots.row[slot]])
    return left, right, lacking


@njit(nogil=True, cache=True)
def _search_columns(
    first, last, columns, slots, branches, totals, exact, min_rows, found
):
    """Surrogates on the columns `first ... last` of all trees; returns their number."""
    largest = np.max(np.diff(slots.bounds))
    keys, spare = np.empty(largest, np.int64), np.empty(largest, np.int64)
    inside = np.zeros(largest if len(slots.label) else 0, np.bool_)
    slot_of_row = np.full(columns.values.shape[1], -1, np.int64)
    n_found = 0
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
                start, stop = branches.start[b] - offset, branches.stop[b] - offset
                middle = branches.middle[b]
                if branches.feature[b] != j and _varies(keys, start, stop):
                    stretch, p, q = keys, start, stop
                    left, right = totals.left[b], totals.right[b]
                    if totals.lacking[b]:
                        primary = columns.values[branches.feature[b]]
                        stretch, p = spare, 0
                        q = _observed(keys, start, stop, slots.row, primary, spare)
                    if columns.missing[j]:
                        while q > p and stretch[q - 1] >> 32 == MISSING:
                            q -= 1
                    if columns.missing[j] or totals.lacking[b]:
                        left, right = _weights(stretch, p, q, middle, slots.weight)
                    lighter = min(left, right)
                    if columns.nominal[j]:
                        place, running = -1, 1.0
                        association = _category_sets(
                            stretch, p, q, middle, slots.weight, lighter, min_rows
                        )
                    else:
                        if len(inside):
                            _mark_class_insides(stretch, p, q, slots.label, inside)
                        place, running = _best_cut(
                            stretch,
                            p,
                            q,
                            middle,
                            slots.weight,
                            left,
                            right,
                            exact,
                            min_rows,
                            inside,
                        )
                        excess = abs(running) - abs(left - right)
                        association = 0.0
                        if place >= 0:
                            association = min(excess / (2 * lighter), 1.0)
                    if association > TOLERANCE:
                        found.node[n_found] = branches.node[b]
                        found.feature[n_found] = j
                        found.association[n_found] = association
                        found.direction[n_found] = 1 if running > 0 else -1
                        found.below[n_found] = found.above[n_found] = np.nan
                        if place >= 0:
                            row = slots.row[stretch[place] & SLOT]
                            found.below[n_found] = value[row]
                            row = slots.row[stretch[place + 1] & SLOT]
                            found.above[n_found] = value[row]
                            _add_up(
                                stretch,
                                p,
                                place + 1,
                                slots.statistic,
                                slots.addend,
                                found.left,
                                n_found,
                            )
                            _add_up(
                                stretch,
                                place + 1,
                                q,
                                slots.statistic,
                                slots.addend,
                                found.right,
                                n_found,
                            )
                        n_found += 1
                if branches.left_splits[b] or branches.right_splits[b]:
                    _partition(keys, start, stop, middle, spare)
        for slot in range(offset, end):
            slot_of_row[slots.row[slot]] = -1
    return n_found


@njit(nogil=True, cache=True)
def _sort_slots(order, rank, slot_of_row, keys):
    """Fill `keys` with a tree's slots in the order of a column, and their ranks."""
    n = 0
    for p in range(len(order)):
        slot = slot_of_row[order[p]]
        if slot >= 0:
            keys[n] = (np.int64(rank[p]) << 32) | slot
            n += 1


@njit(nogil=True, cache=True)
def _partition(keys, start, stop, middle, spare):
    """Slots below `middle` first, otherwise in the order they had."""
    n_left, n_right = start, 0
    for p in range(start, stop):
        key = keys[p]
        goes_left = (key & SLOT) < middle
        keys[n_left] = key
        spare[n_right] = key
        n_left += goes_left
        n_right += 1 - goes_left
    for p in range(n_right):
        keys[n_left + p] = spare[p]


@njit(nogil=True, cache=True)
def _varies(keys, start, stop):
    return stop - start > 1 and keys[start] >> 32 != keys[stop - 1] >> 32


@njit(nogil=True, cache=True)
def _observed(keys, start, stop, rows, primary, spare):
    """Put the keys with a value in the primary's column into `spare`; their number."""
    n = 0
    for p in range(start, stop):
        if not np.isnan(primary[rows[keys[p] & SLOT]]):
            spare[n] = keys[p]
            n += 1
    return n


@njit(nogil=True, cache=True)
def _weights(keys, start, stop, middle, weight):
    """W_left and W_right."""
    left, right = 0.0, 0.0
    for p in range(start, stop):
        slot = keys[p] & SLOT
        if slot < middle:
            left += weight[slot]
        else:
            right += weight[slot]
    return left, right


@njit(nogil=True, cache=True)
def _best_cut(keys, start, stop, middle, weight, left, right, exact, min_rows, inside):
    """Last place below the lowest of the tied best cuts, and its E; -1 if none."""
    lighter = min(left, right)
    if not lighter > 0:
        return -1, 0.0
    slack = 0.0 if exact else 2 * TOLERANCE * lighter
    best, place, signed = abs(left - right), -1, 0.0
    near = False
    running = right - left
    for p in range(start, stop - min_rows):
        slot = keys[p] & SLOT
        running += 2 * weight[slot] if slot < middle else -2 * weight[slot]
        if abs(running) > best and _is_cut(keys, p, start, min_rows, inside):
            near |= place >= 0 and abs(running) - best <= slack
            best, place, signed = abs(running), p, running
    if not near:
        return place, signed
    running = right - left
    for p in range(start, place):
        slot = keys[p] & SLOT
        running += 2 * weight[slot] if slot < middle else -2 * weight[slot]
        if abs(running) >= best - slack and _is_cut(keys, p, start, min_rows, inside):
            return p, running
    return place, signed


@njit(nogil=True, cache=True)
def _is_cut(keys, p, start, min_rows, inside):
    """Whether a cut may lie behind place p."""
    return (
        keys[p] >> 32 != keys[p + 1] >> 32
        and p - start + 1 >= min_rows
        and not (len(inside) and inside[p])
    )


@njit(nogil=True, cache=True)
def _mark_class_insides(keys, start, stop, label, inside):
    """Mark the cuts between two values that hold only one and the same class."""
    before = -1  # class of the value before, -1 where it holds several
    p = start
    while p < stop:
        code = label[keys[p] & SLOT]
        q = p + 1
        while q < stop and keys[q] >> 32 == keys[p] >> 32:
            if label[keys[q] & SLOT] != code:
                code = -1
            q += 1
        if p > start:
            inside[p - 1] = code >= 0 and code == before
        before = code
        p = q


@njit(nogil=True, cache=True)
def _category_sets(keys, start, stop, middle, weight, lighter, min_rows):
    """Association where each category goes where most of its weight goes."""
    if not lighter > 0:
        return 0.0
    disagree = 0.0
    n_left = n_right = 0
    p = start
    while p < stop:
        q = p + 1
        while q < stop and keys[q] >> 32 == keys[p] >> 32:
            q += 1
        to_left, to_right = _weights(keys, p, q, middle, weight)
        if to_left >= to_right:
            n_left += q - p
        else:
            n_right += q - p
        disagree += min(to_left, to_right)
        p = q
    return 1.0 - disagree / lighter if min(n_left, n_right) >= min_rows else 0.0


@njit(nogil=True, cache=True)
def _add_up(keys, start, stop, statistic, addend, sums, column):
    """Add what some rows add to one column of `sums`."""
    for p in range(start, stop):
        slot = keys[p] & SLOT
        for k in range(statistic.shape[1]):
            sums[statistic[slot, k], column] += addend[slot, k]


@njit(nogil=True, cache=True)
def _by_rank(node, feature, association, n_nodes, n_kept):
    """Order by node, then association, ties by column; kept ones and their ranks.

    Returns
    -------
    order, rank : ndarray of shape (n_surrogates_kept,)
    """
    bounds = np.zeros(n_nodes + 1, np.int64)
    for n in node:
        bounds[n + 1] += 1
    bounds = np.cumsum(bounds)
    place = bounds[:-1].copy()
    order = np.empty(len(node), np.int64)
    for i in range(len(node)):
        order[place[node[i]]] = i
        place[node[i]] += 1
    key = -association
    rank = np.empty(len(node), np.int32)
    n_all = 0
    for n in range(n_nodes):
        start, stop = bounds[n], bounds[n + 1]
        _sort(order, start, stop, key, feature)
        group, previous = 0.0, -np.inf
        for p in range(start, stop):  # associations in turn this close are tied
            i = order[p]
            if key[i] - previous > TOLERANCE:
                group += 1.0
            previous, key[i] = key[i], group
        _sort(order, start, stop, key, feature)
        for p in range(start, min(stop, start + n_kept)):
            order[n_all] = order[p]
            rank[n_all] = p - start + 1
            n_all += 1
    return order[:n_all], rank[:n_all]


@njit(nogil=True, cache=True)
def _sort(order, start, stop, key, feature):
    """Shell's sort of a stretch of `order` by key, then feature; in place."""
    gap = 1
    while 3 * gap + 1 < stop - start:
        gap = 3 * gap + 1
    while gap > 0:
        for p in range(start + gap, stop):
            i, q = order[p], p
            while q - gap >= start:
                k = order[q - gap]
                if key[k] < key[i] or (key[k] == key[i] and feature[k] < feature[i]):
                    break
                order[q] = k
                q -= gap
            order[q] = i
        gap //= 3
