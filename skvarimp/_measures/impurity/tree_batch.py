"""The rows that trees were grown on, node by node, with every column sorted.

Each column is sorted once for all trees. Descending one level is a stable partition:
the rows of all left children in turn, then those of all right children, so that every
node stays one run and every run stays sorted.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from skvarimp._data.base_table import dense
from skvarimp._models.trees import Upwards

LEAF = -1  # in `left`, `right` and `column`
MISSING = np.iinfo(np.int32).max  # rank of NaN


class TreeBatch:
    """A few trees in one table, with their in-bag rows; what the search works on.

    A slot is one in-bag row of one tree. Node numbers run on from tree to tree. Slots
    are numbered leaf by leaf from left to right, so that those of a node follow each
    other, its left child's before its right child's.

    Parameters
    ----------
    tables : list of Tree
    trainings : list of Training

    Attributes
    ----------
    left, right, feature : ndarray of shape (n_nodes,)
    roots : ndarray of shape (n_trees,)
    children : ndarray of shape (2 * n_nodes,)
        As in `NodeTable`.
    upwards : Upwards
    preorder : ndarray of shape (n_nodes,)
        Number of each node such that it comes before its left subtree, that before its
        right subtree, and trees come in turn.
    start, stop : ndarray of shape (n_nodes,)
        First slot of each node, and the one behind its last.
    row, weight, leaf : ndarray of shape (n_slots,)
        Row of X, in-bag weight and leaf of each slot.
    target : ndarray of shape (n_slots, n_outputs) or None
    tree : ndarray of shape (n_slots,)
    n_slots : int
    """

    def __init__(self, tables, trainings):
        sizes = [len(t.left) for t in tables]
        self.roots = np.cumsum([0, *sizes[:-1]])
        self.tree_of_node = np.repeat(np.arange(len(tables)), sizes)
        self.feature = np.concatenate([t.column for t in tables])
        self.decrease = np.concatenate([t.decrease for t in tables])
        children = np.concatenate([np.stack([t.right, t.left], axis=1) for t in tables])
        first = self.roots[self.tree_of_node, np.newaxis]
        children = np.where(children == LEAF, LEAF, children + first)
        self.right, self.left = children.T
        self.children = children.ravel()
        self.columns = [t.columns for t in tables]
        self.upwards = Upwards(self)
        self.preorder, size = self._preorder()

        rows = [np.flatnonzero(training.weight) for training in trainings]
        self.row = np.concatenate(rows)
        self.n_slots = len(self.row)
        self.tree = np.repeat(np.arange(len(tables)), [len(r) for r in rows])
        self.weight = np.concatenate([t.weight[r] for t, r in zip(trainings, rows)])
        leaf = np.concatenate([t.leaf[r] for t, r in zip(trainings, rows)])
        leaf = leaf + self.roots[self.tree]
        by_leaf = np.argsort(self.preorder[leaf], kind="stable")
        self.leaf = leaf[by_leaf]
        self.row, self.weight = self.row[by_leaf], self.weight[by_leaf]
        ascending = self.preorder[self.leaf]
        self.start = np.searchsorted(ascending, self.preorder)
        self.stop = np.searchsorted(ascending, self.preorder + size)
        self.target = None
        if trainings[0].target is not None:
            targets = [t.target[r] for t, r in zip(trainings, rows)]
            self.target = np.concatenate(targets)[by_leaf]

    def _preorder(self):
        """Number of each node, and the number of nodes below it with itself."""
        size = self.upwards.sums(self.left == LEAF).astype(np.intp)
        size = 2 * size - 1  # a node of n leaves has n - 1 branch nodes
        number = np.zeros(len(self.left), dtype=np.intp)
        number[self.roots] = self.roots
        for branch, right, left in self.upwards.levels:
            number[left] = number[branch] + 1
            number[right] = number[branch] + 1 + size[left]
        return number, size

    def node_sums(self, values):
        """Sum of a value of each slot over the slots of each node.

        Parameters
        ----------
        values : ndarray of shape (n_slots,)

        Returns
        -------
        ndarray of shape (n_nodes,)
        """
        at_leaves = np.bincount(self.leaf, values, minlength=len(self.left))
        return self.upwards.sums(at_leaves)

    def grown_on(self, n_columns):
        """Whether each tree was grown on each column, (n_trees, n_columns)."""
        own = np.ones((len(self.roots), n_columns), dtype=bool)
        for tree, columns in enumerate(self.columns):
            if columns is not None:
                own[tree] = np.isin(np.arange(n_columns), columns)
        return own

    def sums_exactly(self):
        """Whether sums of the weights are exact: distinct ones are not tied then.

        True for whole weights; eight times a tree's sum must fit in 32 bits.
        """
        largest = np.bincount(self.tree, self.weight).max(initial=0.0)
        return bool(largest < 2**28 and np.all(self.weight == np.rint(self.weight)))

    def class_codes(self):
        """One code for the classes of all outputs together, (n_slots,)."""
        _, codes = np.unique(self.target, axis=0, return_inverse=True)
        return codes.ravel()


class SortedColumns:
    """X by columns, sorted once for all trees.

    Parameters
    ----------
    X : ndarray or CSC matrix of shape (n_samples, n_features)
    nominal : ndarray of shape (n_features,), default=None
        Columns of unordered categories, coded 0, 1, ...

    Attributes
    ----------
    values : ndarray of shape (n_features, n_samples)
    order : ndarray of shape (n_features, n_samples)
        Rows in ascending order of each column, NaN last.
    rank : ndarray of shape (n_features, n_samples)
        Number of the distinct value at each place of `order`; `MISSING` for NaN.
    missing : bool
        Whether any value is NaN.
    distinct : bool
        Whether no column holds a value twice, so that no ranks are needed.
    nominal : ndarray of shape (n_features,)
    """

    def __init__(self, X, nominal=None):
        n_samples, n_features = X.shape
        self.values = np.ascontiguousarray(dense(X).T)
        self.order = np.empty((n_features, n_samples), dtype=np.int32)
        self.rank = np.zeros((n_features, n_samples), dtype=np.int32)
        for j, column in enumerate(self.values):
            self.order[j] = np.argsort(column, kind="stable")
            ascending = column[self.order[j]]
            self.rank[j, 1:] = np.cumsum(ascending[1:] != ascending[:-1])
            self.rank[j, np.isnan(ascending)] = MISSING
        self.missing = bool(np.any(self.rank == MISSING))
        self.distinct = bool(np.all(self.rank[:, -1] == n_samples - 1))
        self.nominal = np.zeros(n_features, bool) if nominal is None else nominal

    def __len__(self):
        return len(self.values)

    def in_bag(self, trees, columns):
        """The slots of a trees sorted by tree, then by each of some columns.

        Parameters
        ----------
        trees : TreeBatch
        columns : ndarray of shape (n_columns,)

        Returns
        -------
        order : ndarray of shape (1 + n_columns, n_slots)
            Slots; the first row holds them in their own order.
        rank : ndarray of shape (1 + n_columns, n_slots) or None
        """
        order = np.empty((1 + len(columns), trees.n_slots), dtype=np.intp)
        rank = None if self.distinct else np.zeros(order.shape, dtype=np.int32)
        order[0] = np.arange(trees.n_slots)
        bounds = np.searchsorted(trees.tree, np.arange(len(trees.roots) + 1))
        slot = np.full(self.values.shape[1], -1, dtype=np.intp)
        for start, stop in pairwise(bounds):
            slot[trees.row[start:stop]] = np.arange(start, stop)
            for j, column in enumerate(columns, start=1):
                slots = slot.take(self.order[column])
                used = np.flatnonzero(slots >= 0)
                order[j, start:stop] = slots.take(used)
                if rank is not None:
                    rank[j, start:stop] = self.rank[column].take(used)
            slot[trees.row[start:stop]] = -1
        return order, rank


@dataclass
class TreeLevel:
    """The branch nodes of one depth, each a run of positions.

    Attributes
    ----------
    nodes : ndarray of shape (n_nodes,)
    starts, lengths : ndarray of shape (n_nodes,)
        Run of each node, the same in every row of `order`.
    order, rank : ndarray of shape (1 + n_columns, n_positions); the rank may be None
        As in `SortedColumns.in_bag`, by node first.
    segment : ndarray of shape (n_positions,)
        Index into `nodes`.
    left : ndarray of shape (n_positions,)
        Whether the slot at `order[0]` goes to the left child.
    """

    nodes: np.ndarray
    lengths: np.ndarray
    order: np.ndarray
    rank: np.ndarray | None
    left: np.ndarray

    def __post_init__(self):
        self.starts = np.cumsum(self.lengths) - self.lengths
        self.segment = np.repeat(np.arange(len(self.nodes)), self.lengths)

    def restricted(self, kept):
        """The level without some slots, and without the nodes this empties.

        Parameters
        ----------
        kept : ndarray of shape (n_positions,)
            Mask along `order[0]`.
        """
        slots = self.order[0]
        destination = np.zeros(slots.max(initial=0) + 1, dtype=np.int8)
        destination[slots] = kept
        order, rank = _runs(self.order, self.rank, destination, (1,))
        lengths = np.bincount(self.segment[kept], minlength=len(self.nodes))
        alive = lengths > 0
        return TreeLevel(
            self.nodes[alive], lengths[alive], order, rank, self.left[kept]
        )


def levels(trees, order, rank):
    """Walk down all trees of a trees, one depth at a time.

    Parameters
    ----------
    trees : TreeBatch
    order, rank : ndarray of shape (1 + n_columns, n_slots)
        From `SortedColumns.in_bag`.

    Yields
    ------
    TreeLevel
    """
    branches = trees.left != LEAF
    destination = branches[trees.roots][trees.tree].astype(np.int8)
    order, rank = _runs(order, rank, destination, (1,))
    for below in trees.upwards.levels:
        lengths = trees.stop[below[0]] - trees.start[below[0]]
        nodes, right, left = (each[lengths > 0] for each in below)
        lengths, slots = lengths[lengths > 0], order[0]
        goes_left = slots < trees.start[np.repeat(right, lengths)]
        level = TreeLevel(nodes, lengths, order, rank, goes_left)
        yield level

        left_run, right_run = (branches[c][level.segment] for c in (left, right))
        destination[slots] = np.where(goes_left, left_run, 2 * right_run)
        order, rank = _runs(order, rank, destination, (1, 2))


def _runs(order, rank, destination, which):
    """Slots of each destination in turn, otherwise in the order they had."""
    where = destination.take(order, mode="clip")  # all are within: the fastest mode
    runs = [np.flatnonzero(where == k).reshape(len(order), -1) for k in which]
    picked = np.concatenate(runs, axis=1)
    ranks = None if rank is None else rank.ravel().take(picked, mode="clip")
    return order.ravel().take(picked, mode="clip"), ranks
