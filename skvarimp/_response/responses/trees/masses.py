"""How the rows of a tree ensemble are spread over the leaves, counted in lists of rows.

For a leaf L and a set V of features let m(L, V) be the weight of the rows that violate
the conditions on exactly the features V on the way to L. One descent with lists of rows
counts the masses of every V at once. Another adds up what rows find at the leaves.

Compiled kernels send the lists down where they were built, and plain NumPy elsewhere.
The kernels let rows that answer all questions of a small subtree alike go on as one.
"""

from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np

from skvarimp._compiled import kernel, use_compiled
from skvarimp._running.memory import BLOCK, CACHE, at_once, even_slices
from skvarimp._running.tasks import in_threads

MASSES = kernel("masses")
ORDER = 3  # features that move at once, at most
BOTH_WAYS = -2  # the rank of a node that rows leave on both sides


class Paths:
    """Which moving features stand on the way to each leaf.

    The *rank* of a feature at a node tells how many others were split on before it.

    Parameters
    ----------
    table : TreeTable
    moving : ndarray of shape (n_features,)
        Which features move.

    Attributes
    ----------
    rank : ndarray of shape (n_nodes,)
        Of the feature that a node splits on; -1 where it does not move.
    n_ranks : ndarray of shape (n_nodes,)
        Number of features on the way to a node.
    """

    def __init__(self, table, moving):
        self.table = table
        self.rank = np.full(len(table.feature), -1, dtype=np.int32)
        self.n_ranks = np.zeros(len(table.feature), dtype=np.int32)
        self._first, level = {}, table.roots
        while len(level := level[table.feature[level] >= 0]):
            above = table.last_edge(level, table.feature[level])
            moves, new = moving[table.feature[level]], above < 0
            rank = np.where(new, self.n_ranks[level], self.rank[table.parent[above]])
            self.rank[level] = np.where(moves, rank, -1)
            children = np.stack([table.children[2 * level + side] for side in (0, 1)])
            self.n_ranks[children] = self.n_ranks[level] + (new & moves)
            level = children.ravel()

    def first(self, order):
        """Where the sets of `order` features of each leaf begin, (n_nodes + 1,)."""
        if order not in self._first:
            n_sets = np.array(
                [comb(n, order) for n in range(self.n_ranks.max() + 1)], dtype=np.int64
            )
            n_sets = np.where(self.table.feature < 0, n_sets[self.n_ranks], 0)
            self._first[order] = np.concatenate([[0], np.cumsum(n_sets)])
        return self._first[order]

    @cached_property
    def edges(self):
        """The last edge on each feature on the way to each leaf, ranks in turn."""
        table, first = self.table, self.first(1)
        edges = np.full(first[-1], -1, dtype=np.int32)
        leaf = at = np.flatnonzero(table.feature < 0)
        while len(at):
            parent = table.parent[at]
            below = parent >= 0
            leaf, at, parent = leaf[below], at[below], parent[below]
            moves = self.rank[parent] >= 0
            place = first[leaf[moves]] + self.rank[parent[moves]]
            edges[place] = np.where(edges[place] < 0, at[moves], edges[place])
            at = parent
        return edges

    @cached_property
    def features(self):
        """The features of the sets of one, (n_sets,)."""
        return self.table.edge_feature[self.edges].astype(np.int32)

    @cached_property
    def values(self):
        """The leaves' values from each tree's first on: constant trees move by 0."""
        table = self.table
        leaves = np.flatnonzero(table.feature < 0)
        first = leaves[np.searchsorted(leaves, table.roots)]
        return table.values - table.values[:, first[table.tree]]

    def sets(self, order):
        """All sets of `order` features of all leaves, in the order of the masses.

        Returns
        -------
        leaf : ndarray of shape (n_sets,)
        ranks : ndarray of shape (order, n_sets)
            Ascending.
        """
        first = self.first(order)
        leaf = np.repeat(np.arange(len(self.n_ranks)), np.diff(first))
        most = int(self.n_ranks.max())
        every = sorted(combinations(range(most), order), key=lambda ranks: ranks[::-1])
        every = np.array(every, dtype=np.int32).reshape(-1, order)
        return leaf, every[np.arange(len(leaf)) - first[leaf]].T


class FreePaths:
    """Ways to the leaves on which the conditions on some features do not count.

    Used as `Paths` of order 0: each leaf has one set.

    Parameters
    ----------
    table : TreeTable
    free : ndarray of shape (n_features,), bool
        Rows go both ways at splits on these.
    """

    def __init__(self, table, free):
        self.table, n_nodes = table, len(table.feature)
        free = np.append(free, False)[table.feature]  # leaves have feature -1
        self.rank = np.where(free, BOTH_WAYS, -1).astype(np.int32)
        self.features = np.zeros(n_nodes, dtype=np.int32)
        self._first = np.arange(n_nodes + 1)

    def first(self, order):
        """Where the set of each leaf is, (n_nodes + 1,)."""
        return self._first


def set_number(ranks):
    """Number of a set of ascending ranks among those of its size."""
    number = 0
    for k, rank in enumerate(ranks):  # rank over k + 1
        number += (rank, rank * (rank - 1) // 2, rank * (rank - 1) * (rank - 2) // 6)[k]
    return number


def count_masses(paths, codes, weights, masses, roots=None):
    """Add the masses m(L, V) of every leaf and set of moving features.

    Threads may share the rows.

    Parameters
    ----------
    paths : Paths or FreePaths
    codes : ndarray of shape (n_features, n_rows)
    weights : ndarray of shape (n_rows,), or None
        None: all 1.
    masses : list of ndarray of shape (n_sets,)
        Of the sets of 0, 1, ... features, as `Paths.sets` has them; added to.
    roots : ndarray of shape (n_trees,), default=None
        Of the trees that the rows go down; None: of all.
    """
    if not use_compiled():
        for leaf, violated, rows in _lists(paths, codes, len(masses) - 1, roots):
            number = paths.first(len(violated))[leaf] + set_number(violated)
            mass = len(rows) if weights is None else weights.take(rows).sum()
            masses[len(violated)][number] += mass
        return

    def counted(some):
        own = [np.zeros_like(mass) for mass in masses]
        lists = _kernel_lists(paths, codes, some, len(masses), roots)
        MASSES.count_masses(*lists, own, None if weights is None else weights[some])
        return own

    for own in in_threads(counted, _slices(paths.table, codes)):
        for mass, more in zip(masses, own):
            mass += more


def add_found(paths, codes, amounts, sums, roots=None):
    """Add up what rows find at the leaves that they reach as one feature moves.

    Parameters
    ----------
    paths, codes, roots : see `count_masses`
    amounts : ndarray of shape (2, n_raw, n_sets)
        For each set of one feature what a row finds that violates none on the way to
        the leaf, and what one finds that violates this one.
    sums : ndarray of shape (n_features, n_raw, n_rows)
        Added to.
    """
    if use_compiled():
        most = at_once(sums.shape[0] * sums.shape[1])
        for some in _slices(paths.table, codes, most):
            lists = _kernel_lists(paths, codes, some, 2, roots)
            MASSES.add_found(*lists, paths.features, amounts, sums[..., some])
        return
    for leaf, violated, rows in _lists(paths, codes, 1, roots):
        first, last = paths.first(1)[leaf : leaf + 2]
        amount = amounts[len(violated)]
        for s in [first + violated[0]] if violated else range(first, last):
            sums[paths.features[s]][:, rows] += amount[:, [s]]


def pass_on(table, free, brought, found, roots=None):
    """What rows find at the leaves that other rows bring something to.

    Parameters
    ----------
    table : TreeTable
    free : ndarray of shape (n_features,), bool
        Rows that bring something need not meet the conditions on these features; rows
        that find it need not meet those on the others.
    brought : (codes, amounts)
        Codes (n_features, n_rows) of the rows that bring something, and how much of
        it, (n_raw, n_rows) or (1, n_rows).
    found : (codes, sums)
        Codes of the rows that find it, and the sums (n_raw, n_rows) that it is added
        to.
    roots : ndarray of shape (n_trees,), default=None
        See `count_masses`.
    """
    (codes, amounts), (codes_of_others, sums) = brought, found
    masses = np.zeros((len(amounts), len(table.feature)))
    for leaf_masses, own_amounts in zip(masses, np.ascontiguousarray(amounts)):
        count_masses(FreePaths(table, free), codes, own_amounts, [leaf_masses], roots)
    held = (masses * table.values)[np.newaxis]
    add_found(FreePaths(table, ~free), codes_of_others, held, sums[np.newaxis], roots)


def _slices(table, codes, most=np.inf):
    """Slices of at most some rows that kernels send down together."""
    # all nodes are read once per slice: many of them are worth many rows
    numbers = max(CACHE, min(4 * BLOCK, 4 * len(table.feature)))
    step = min(most, at_once(table.max_depth + 2, numbers))
    return even_slices(codes.shape[1], step)


def _kernel_lists(paths, codes, some, n_sizes, roots):
    """What the kernels are given for some rows: `Lists`, roots and codes."""
    table, n_rows = paths.table, some.stop - some.start
    firsts = [paths.first(size) for size in range(n_sizes)]
    how = table.flat, paths.rank, table.max_depth, firsts
    lists = MASSES.Lists(*how, n_rows)
    roots = table.roots if roots is None else roots
    return lists, roots, np.ascontiguousarray(codes[:, some])


def _lists(paths, codes, order, roots=None):
    """Yield leaves, the ranks of features violated on the way, and the rows that did.

    Parameters
    ----------
    paths, codes, roots : see `count_masses`
    order : int
        Of how many features the conditions may be violated.
    """
    table, ranks = paths.table, paths.rank.tolist()
    features, children = table.feature.tolist(), table.children.tolist()
    some_missing = bool(np.any(table.missing_code == codes.T))
    roots = table.roots if roots is None else roots
    stack = [(root, (), np.arange(codes.shape[1])) for root in roots.tolist()]
    while stack:
        node, violated, rows = stack.pop()
        feature, rank = features[node], ranks[node]
        if feature < 0:
            yield node, violated, rows
            continue
        right, left = children[2 * node], children[2 * node + 1]
        if rank == BOTH_WAYS or rank in violated:
            stack += [(left, violated, rows), (right, violated, rows)]
            continue
        nodes = np.full(len(rows), node)
        goes = table.goes_left(nodes, feature, codes[feature, rows], some_missing)
        to_left, to_right = rows[goes], rows[~goes]
        frames = [(left, violated, to_left), (right, violated, to_right)]
        if rank >= 0 and len(violated) < order:
            more = tuple(sorted((*violated, rank)))
            frames += [(left, more, to_right), (right, more, to_left)]
        stack += [frame for frame in frames if len(frame[2])]
