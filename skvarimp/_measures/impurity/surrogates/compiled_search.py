"""Surrogate splits by compiled kernels.

`numpy_search` says what is computed; the kernels do the same work in another order.
The slots of a node follow each other, those of its left child first, so that one
comparison of a slot's number tells where its row goes.
"""

import numpy as np

from skvarimp._compiled.surrogates import Search
from skvarimp._measures.impurity.surrogates.levels import MISSING
from skvarimp._measures.impurity.surrogates.splits import TOLERANCE
from skvarimp._measures.impurity.tables import LEAF
from skvarimp._running.memory import HELD, at_once


def best_cuts(grove, columns, rules):
    """See `numpy_search.best_cuts`; all branch nodes of some columns at a time."""
    slots, branches = _slots_of(grove, rules), _branches_of(grove)
    search = Search(
        _columns_of(grove, columns),
        slots,
        branches,
        grove.sums_exactly(),
        rules.min_rows,
        TOLERANCE,
    )
    n_branches, n_statistics = len(branches[1]), len(slots[-1])
    width = at_once(n_branches * (5 + 2 * n_statistics), HELD)
    for first in range(0, len(columns), width):
        last = min(first + width, len(columns))
        room = (last - first) * n_branches
        node, feature = np.empty((2, room), dtype=np.int32)
        number, sums = np.empty((room, 5)), np.empty((2, n_statistics, room))
        n_found = search.on_columns(first, last, node, feature, number, sums)
        number = number[:n_found]
        number[:, 4] = np.nan
        if rules.criterion is not None:
            number[:, 4] = rules.criterion.decrease_of_sums(*sums[:, :, :n_found])
        # copies: the room is not held for what is found
        yield node[:n_found].copy(), feature[:n_found].copy(), number.copy()


def _columns_of(grove, columns):
    """As `Search` reads columns."""
    return (
        columns.values,
        columns.order,
        columns.rank,
        np.asarray(columns.nominal, dtype=np.uint8),
        np.any(columns.rank[:, -1:] == MISSING, axis=1).view(np.uint8),
        grove.grown_on(len(columns)).view(np.uint8),
    )


def _slots_of(grove, rules):
    """As `Search` reads slots; labels where cuts inside a class are left out."""
    label = np.empty(0, dtype=np.intp)
    if rules.class_boundary:
        label = grove.class_codes()
    statistics = np.empty((0, grove.n_slots))
    if rules.criterion is not None:
        statistics = np.array(
            list(rules.criterion.statistics(grove.target, grove.weight))
        )
    bounds = np.searchsorted(grove.tree, np.arange(len(grove.roots) + 1))
    return bounds, grove.row, grove.weight, label, statistics


def _branches_of(grove):
    """As `Search` reads branch nodes: in preorder, trees in turn."""
    node = np.flatnonzero(grove.left != LEAF)
    node = node[np.argsort(grove.preorder[node])]
    trees = np.arange(len(grove.roots) + 1)
    left, right = grove.left[node], grove.right[node]
    weight = grove.node_sums(grove.weight)
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
