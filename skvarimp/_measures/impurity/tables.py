"""Flat node tables of fitted trees, and the training rows in their leaves.

A table is plain arrays, whatever class the tree comes from, so that one search
(and any compiled kernel) serves all of them.
"""

from dataclasses import dataclass

import numpy as np

LEAF = -1  # in `left`, `right` and `feature`


@dataclass(frozen=True)
class TreeTable:
    """One fitted tree.

    Attributes
    ----------
    left, right : ndarray of shape (n_nodes,)
        Children; -1 at a leaf. Node 0 is the root.
    feature : ndarray of shape (n_nodes,)
        Column of X that a node splits on; -1 at a leaf.
    count : ndarray of shape (n_nodes,)
        Training rows of a node.
    weight : ndarray of shape (n_nodes,)
        Their total weight, as the tree recorded it.
    decrease : ndarray of shape (n_nodes,)
        Weight times impurity, minus the same of both children: the decrease of the
        risk in units of weight; 0 at a leaf.
    columns : ndarray or None
        Columns of X the tree was grown on; None for all.
    """

    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    count: np.ndarray
    weight: np.ndarray
    decrease: np.ndarray
    columns: np.ndarray | None = None

    @property
    def n_branches(self):
        """Number of nodes that split."""
        return int(np.count_nonzero(self.left != LEAF))


@dataclass(frozen=True)
class Training:
    """The rows one tree was grown on, as that tree saw them.

    Attributes
    ----------
    leaf : ndarray of shape (n_samples,)
        Leaf that each row falls into.
    weight : ndarray of shape (n_samples,)
        In-bag weight of each row; 0 for rows that were not used.
    target : ndarray of shape (n_samples, n_outputs) or None
        Class codes, numbers, or negative gradients of a boosting stage.
    counted : ndarray of shape (n_samples,) or None
        Rows that enter `TreeTable.count`; None for those of positive weight.
    weighs_nodes : bool
        Whether `TreeTable.weight` is the sum of `weight`.
    """

    leaf: np.ndarray
    weight: np.ndarray
    target: np.ndarray | None = None
    counted: np.ndarray | None = None
    weighs_nodes: bool = True


def table_of_tree(tree, columns=None):
    """Table of a scikit-learn `tree_`.

    Parameters
    ----------
    tree : sklearn.tree._tree.Tree
    columns : ndarray or None
        Column of X behind each feature of the tree.
    """
    left, right = tree.children_left, tree.children_right
    weight = tree.weighted_n_node_samples
    risk = weight * tree.impurity
    branch = left != LEAF
    feature = np.where(branch, tree.feature, LEAF).astype(np.int32)
    if columns is not None:
        feature[branch] = columns[feature[branch]]
    decrease = np.zeros(len(left))
    decrease[branch] = risk[branch] - risk[left[branch]] - risk[right[branch]]
    return TreeTable(
        left,
        right,
        feature,
        tree.n_node_samples,
        weight,
        decrease,
        None if columns is None else np.unique(columns),
    )


def table_of_histogram_tree(nodes, columns):
    """Table of one predictor of histogram gradient boosting.

    The gain G_L²/H_L + G_R²/H_R - G²/H of a split takes the place of the decrease:
    for a loss of constant hessian it is the decrease of the sum of squares.

    Parameters
    ----------
    nodes : structured ndarray of shape (n_nodes,)
    columns : ndarray
        Column of X behind each feature of the tree.
    """
    branch = nodes["is_leaf"] == 0
    count = nodes["count"].astype(np.intp)
    return TreeTable(
        np.where(branch, nodes["left"].astype(np.intp), LEAF),
        np.where(branch, nodes["right"].astype(np.intp), LEAF),
        np.where(branch, columns[nodes["feature_idx"]], LEAF),
        count,
        count.astype(np.float64),
        np.where(branch, nodes["gain"], 0.0),
    )


def check_training(table, training, tree):
    """Raise ValueError unless the rows fill the leaves as they did in training.

    Every inner node is a sum of leaves, so the leaves tell about all nodes.
    """
    leaves = np.flatnonzero(table.left == LEAF)
    counted = training.weight != 0 if training.counted is None else training.counted
    n_nodes = len(table.left)
    count = np.bincount(training.leaf[counted], minlength=n_nodes)[leaves]
    weight = np.bincount(training.leaf, training.weight, minlength=n_nodes)[leaves]
    expected = table.weight[leaves] if training.weighs_nodes else weight
    # Sums of the same numbers in another order agree to rounding.
    tolerance = 1e-8 * np.abs(expected) + 1e-13 * np.abs(table.weight[0])
    recorded = table.count[leaves]
    # A tree given a drawn row twice, and not once with weight 2, counts it twice.
    wrong = (count != recorded) & (weight != recorded)
    wrong |= np.abs(weight - expected) > tolerance
    if wrong.any():
        k = int(np.argmax(wrong))
        raise ValueError(
            f"X is not the training data: node {leaves[k]} of tree {tree} was grown on "
            f"{table.count[leaves[k]]} rows of weight {expected[k]:.6g}, but X, y and "
            f"`sample_weight` put {count[k]} rows of weight {weight[k]:.6g} there. "
            "Pass what the estimator was fitted with, rows in the same order."
        )


class Grove:
    """A few trees in one table, with their in-bag rows; what the search works on.

    A slot is one in-bag row of one tree. Node numbers run on from tree to tree. Slots
    are numbered leaf by leaf from left to right, so that those of a node follow each
    other, its left child's before its right child's.

    Parameters
    ----------
    tables : list of TreeTable
    trainings : list of Training

    Attributes
    ----------
    left, right, feature : ndarray of shape (n_nodes,)
    root : ndarray of shape (n_trees,)
    preorder : ndarray of shape (n_nodes,)
        Number of each node such that it comes before its left subtree, that before its
        right subtree, and trees come in turn.
    start, stop : ndarray of shape (n_nodes,)
        First slot of each node, and the one behind its last.
    row, weight, leaf : ndarray of shape (n_slots,)
        Row of X, in-bag weight and leaf of each slot.
    target : ndarray of shape (n_slots, n_outputs) or None
    tree : ndarray of shape (n_slots,)
    """

    def __init__(self, tables, trainings):
        sizes = [len(t.left) for t in tables]
        self.root = np.cumsum([0, *sizes[:-1]])
        self.left = _shifted([t.left for t in tables], self.root)
        self.right = _shifted([t.right for t in tables], self.root)
        self.feature = np.concatenate([t.feature for t in tables])
        self.decrease = np.concatenate([t.decrease for t in tables])
        self.tree_of_node = np.repeat(np.arange(len(tables)), sizes)
        self.columns = [t.columns for t in tables]
        self._branches = self._branches_by_depth()
        self.preorder, size = self._preorder()

        rows = [np.flatnonzero(training.weight) for training in trainings]
        self.row = np.concatenate(rows)
        self.tree = np.repeat(np.arange(len(tables)), [len(r) for r in rows])
        self.weight = np.concatenate([t.weight[r] for t, r in zip(trainings, rows)])
        leaf = np.concatenate([t.leaf[r] for t, r in zip(trainings, rows)])
        leaf = leaf + self.root[self.tree]
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

    @property
    def n_slots(self):
        """Number of (tree, in-bag row) pairs."""
        return len(self.row)

    def _preorder(self):
        """Number of each node, and the number of nodes below it with itself."""
        size = self._summed_upwards(np.ones(len(self.left), dtype=np.intp))
        number = np.zeros(len(self.left), dtype=np.intp)
        number[self.root] = self.root
        for branch in self._branches:
            number[self.left[branch]] = number[branch] + 1
            number[self.right[branch]] = number[branch] + 1 + size[self.left[branch]]
        return number, size

    def _branches_by_depth(self):
        """The branch nodes of every depth, from the roots down."""
        by_depth, nodes = [], self.root
        while len(nodes):
            branch = nodes[self.left[nodes] != LEAF]
            by_depth.append(branch)
            nodes = np.concatenate([self.left[branch], self.right[branch]])
        return by_depth

    def _summed_upwards(self, values):
        """Add both children to each node, from the leaves up; in place."""
        for branch in reversed(self._branches):
            values[branch] += values[self.left[branch]] + values[self.right[branch]]
        return values

    def node_sums(self, values):
        """Sum of a value of each slot over the slots of each node.

        Parameters
        ----------
        values : ndarray of shape (n_slots,)

        Returns
        -------
        ndarray of shape (n_nodes,)
        """
        return self._summed_upwards(
            np.bincount(self.leaf, values, minlength=len(self.left))
        )

    def goes_left(self, slots, nodes):
        """Whether the rows in `slots`, which lie in `nodes`, go to the left child."""
        return slots < self.start[self.right[nodes]]


def _shifted(children, offsets):
    return np.concatenate(
        [np.where(c == LEAF, LEAF, c + offset) for c, offset in zip(children, offsets)]
    )
