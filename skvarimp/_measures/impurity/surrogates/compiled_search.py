"""Surrogate splits by compiled kernels.

`numpy_search` says what is computed; the kernels do the same work in another order.
The slots of a node follow each other, those of its left child first, so that one
comparison of a slot's number tells where its row goes.
"""

import numpy as np

from skvarimp._compiled.surrogate_ranks import by_rank
from skvarimp._compiled.surrogates import Search
from skvarimp._measures.impurity.surrogates.levels import MISSING
from skvarimp._measures.impurity.surrogates.splits import (
    TOLERANCE,
    Surrogates,
    class_codes,
    midpoint,
    sums_exactly,
)
from skvarimp._measures.impurity.tables import LEAF
from skvarimp._running.memory import HELD, at_once


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
    slots, branches = _slots_of(grove, rules), _branches_of(grove)
    search = Search(
        _columns_of(grove, columns),
        slots,
        branches,
        sums_exactly(grove),
        rules.min_rows,
        TOLERANCE,
    )
    n_branches, n_statistics = len(branches[1]), len(slots[-1])
    width = at_once(n_branches * (5 + 2 * n_statistics), HELD)
    parts = []
    for first in range(0, len(columns), width):
        last = min(first + width, len(columns))
        room = (last - first) * n_branches
        node, feature = np.empty((2, room), dtype=np.int32)
        number, sums = np.empty((room, 5)), np.empty((2, n_statistics, room))
        n_found = search.on_columns(first, last, node, feature, number, sums)
        node, feature, number = node[:n_found], feature[:n_found], number[:n_found]
        number[:, 4] = np.nan
        if rules.criterion is not None:
            number[:, 4] = rules.criterion.decrease_of_sums(*sums[:, :, :n_found])
        if last - first < len(columns):  # the room is not held for what is found
            node, feature, number = node.copy(), feature.copy(), number.copy()
        parts.append((node, feature, number))
    node, feature, number = parts[0]
    if len(parts) > 1:
        node, feature, number = (np.concatenate(fields) for fields in zip(*parts))
    n_kept = len(columns) if rules.n_kept is None else rules.n_kept
    association = number[:, 0].copy()
    order, rank = by_rank(
        node, feature, association, len(grove.left), n_kept, TOLERANCE
    )
    association, below, above, running, decrease = number[order].T
    return Surrogates(
        node[order],
        feature[order],
        association,
        midpoint(below, above),
        np.where(running > 0, 1, -1).astype(np.int8),
        decrease,
        rank,
    )


def _columns_of(grove, columns):
    """As `Search` reads columns."""
    own = np.ones((len(grove.root), len(columns)), dtype=np.uint8)
    for tree, of_tree in enumerate(grove.columns):
        if of_tree is not None:
            own[tree] = np.isin(np.arange(len(columns)), of_tree)
    return (
        columns.values,
        columns.order,
        columns.rank,
        np.asarray(columns.nominal, dtype=np.uint8),
        np.any(columns.rank[:, -1:] == MISSING, axis=1).view(np.uint8),
        own,
    )


def _slots_of(grove, rules):
    """As `Search` reads slots; labels where cuts inside a class are left out."""
    label = np.empty(0, dtype=np.intp)
    if rules.class_boundary:
        label = class_codes(grove)
    statistics = np.empty((0, grove.n_slots))
    if rules.criterion is not None:
        statistics = np.array(
            list(rules.criterion.statistics(grove.target, grove.weight))
        )
    bounds = np.searchsorted(grove.tree, np.arange(len(grove.root) + 1))
    return bounds, grove.row, grove.weight, label, statistics


def _branches_of(grove):
    """As `Search` reads branch nodes: in preorder, trees in turn."""
    node = np.flatnonzero(grove.left != LEAF)
    node = node[np.argsort(grove.preorder[node])]
    trees = np.arange(len(grove.root) + 1)
    left, right = grove.left[node], grove.right[node]
    weight = grove.node_sums(grove.weight).astype(np.float64)  # also of no slots
    return (
        np.searchsorted(grove.tree_of_node[node], trees),
        node,
        grove.feature[node].astype(np.intp),
        grove.start[node],
        grove.start[right],
        grove.stop[node],
        ((grove.left[left] != LEAF) | (grove.left[right] != LEAF)).view(np.uint8),
        (grove.left[right] != LEAF).view(np.uint8),
        weight[left],
        weight[right],
    )
