"""How the rows of a tree ensemble are spread over the leaves, counted in lists of rows.

For a leaf L and a set V of features let m(L, V) be the weight of the rows that violate
the conditions on exactly the features V on the way to L. One descent with lists of rows
counts the masses of every V at once. Another adds up what rows find at the leaves.

In small trees, rows that answer all questions alike go down as one. A split asks a row
one question. Trees that ask `QUESTIONS` of them together tell 2^QUESTIONS kinds of rows
apart, however many rows there are. So the answers of each row are put into the bits of
one number, one row of each kind goes down, and what it finds holds for all rows of its
kind. The compiled kernel does so below single nodes of large trees as well.
"""

from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np

ORDER = 3  # features that move at once, at most
BOTH_WAYS = -2  # the rank of a node that rows leave on both sides
QUESTIONS = 8  # of the trees that rows go down together, at most
KINDS = 2**QUESTIONS
ROWS_OF_KIND = 16  # from so many on kinds take less time than rows


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

    def n_sets(self, order):
        """How many sets of `order` features all leaves have."""
        number = np.bincount(self.n_ranks[self.table.feature < 0])
        return sum(int(m) * comb(n, order) for n, m in enumerate(number))

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


class CodedRows:
    """Rows by their codes, and in small trees by their kinds.

    Parameters
    ----------
    table : TreeTable
    codes : ndarray of shape (n_features, n_rows)
    """

    def __init__(self, table, codes):
        self.table, self.codes = table, codes

    @cached_property
    def kinds(self):
        """A list of roots of some trees, and the kinds that they tell apart.

        Each is (roots, kind of each row, codes of a row of each kind); kinds are None
        and codes those of all rows where rows do not go by kinds.
        """
        table, codes = self.table, self.codes
        few = codes.shape[1] < ROWS_OF_KIND * KINDS
        if few or not 1 < table.max_leaves <= QUESTIONS + 1:
            return [(table.roots, None, codes)]
        found, missing = [], some_missing(table, codes)
        for trees, nodes in _in_groups(table):
            kind = np.zeros(codes.shape[1], dtype=np.uint8)
            for question, node in enumerate(nodes):
                feature = table.feature[node]
                goes = goes_left(table, node, codes[feature], missing[feature])
                kind |= goes.view(np.uint8) << question
            row = np.zeros(KINDS, dtype=np.intp)  # any row where a kind has none
            row[kind] = np.arange(len(kind))
            found.append((table.roots[trees], kind, codes[:, row]))
        return found

    def going_down(self, roots):
        """`kinds`; or all rows themselves, down trees with some roots."""
        return self.kinds if roots is None else [(roots, None, self.codes)]


def count_masses(paths, rows, weights, masses, roots=None):
    """Add the masses m(L, V) of every leaf and set of moving features.

    Parameters
    ----------
    paths : Paths
    rows : CodedRows
    weights : ndarray of shape (n_rows,), or None
        None: all 1.
    masses : list of ndarray of shape (n_sets,)
        Of the sets of 0, 1, ... features, as `Paths.sets` has them; added to.
    roots : ndarray of shape (n_trees,), default=None
        Of the trees that the rows go down; None: of all.
    """
    for some, kind, codes in rows.going_down(roots):
        brought = weights
        if kind is not None:
            brought = np.bincount(kind, weights, KINDS)
        for leaf, violated, listed in lists_of_rows(
            paths, some, codes, len(masses) - 1
        ):
            number = paths.first(len(violated))[leaf] + set_number(violated)
            mass = len(listed) if brought is None else brought.take(listed).sum()
            masses[len(violated)][number] += mass


def add_found(paths, rows, amounts, sums, roots=None):
    """Add up what rows find at the leaves that they reach as one feature moves.

    Parameters
    ----------
    paths, rows, roots : see `count_masses`
    amounts : ndarray of shape (2, n_raw, n_sets)
        For each set of one feature what a row finds that violates none on the way to
        the leaf, and what one finds that violates this one.
    sums : ndarray of shape (n_features, n_raw, n_rows)
        Added to.
    """
    for some, kind, codes in rows.going_down(roots):
        found = sums if kind is None else np.zeros((*sums.shape[:2], KINDS))
        for leaf, violated, listed in lists_of_rows(paths, some, codes, 1):
            first, last = paths.first(1)[leaf : leaf + 2]
            of_leaf = amounts[len(violated)]
            for s in [first + violated[0]] if violated else range(first, last):
                found[paths.features[s]][:, listed] += of_leaf[:, [s]]
        if kind is not None:
            for of_feature in np.flatnonzero(found.any(axis=(1, 2))):
                sums[of_feature] += found[of_feature][:, kind]


def lists_of_rows(paths, roots, codes, order):
    """Yield leaves, the ranks of features violated on the way, and the rows that did.

    Parameters
    ----------
    paths : Paths
    roots : ndarray of shape (n_trees,)
    codes : ndarray of shape (n_features, n_rows)
    order : int
        Of how many features the conditions may be violated.
    """
    table = paths.table
    features, children = table.feature.tolist(), table.children.tolist()
    ranks, missing = paths.rank.tolist(), some_missing(table, codes)
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
        code = codes[feature].take(rows)
        goes = goes_left(table, node, code, missing[feature])
        to_left, to_right = rows[goes], rows[~goes]
        frames = [(left, violated, to_left), (right, violated, to_right)]
        if rank >= 0 and len(violated) < order:
            more = tuple(sorted((*violated, rank)))
            frames += [(left, more, to_right), (right, more, to_left)]
        stack += [frame for frame in frames if len(frame[2])]


def goes_left(table, node, codes, some_missing):
    """Whether rows of some codes go left at a node, (n_rows,) bool."""
    if table.left_set is not None and table.left_set[node] >= 0:
        return table.sets[table.left_set[node]].take(codes)
    goes = codes < int(table.cut[node])
    if some_missing and table.missing_left[node]:
        goes |= codes == int(table.missing_code[table.feature[node]])
    return goes


def some_missing(table, codes):
    """Whether a value of each feature is missing; codes (n_features, n_rows)."""
    return codes.max(axis=1) == table.missing_code


def _in_groups(table):
    """Yield lists of trees that ask `QUESTIONS` together, and their inner nodes."""
    inner = np.flatnonzero(table.feature >= 0)
    of_tree = np.searchsorted(table.tree[inner], np.arange(len(table.roots) + 1))
    trees, nodes = [], []
    # those that ask about the same features side by side
    for tree in np.argsort(table.feature[table.roots], kind="stable").tolist():
        more = inner[of_tree[tree] : of_tree[tree + 1]].tolist()
        if len(nodes) + len(more) > QUESTIONS:
            yield trees, nodes
            trees, nodes = [], []
        trees, nodes = [*trees, tree], nodes + more
    yield trees, nodes
