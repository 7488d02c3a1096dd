"""The training rows in the leaves of trees, checked, and put together for a search."""

from dataclasses import dataclass

import numpy as np

from skvarimp._models.trees.sums import Upwards

LEAF = -1  # in `left`, `right` and `column`


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
        Rows that enter `Tree.count`, of a tree that keeps no sums of weights; None for
        those of positive weight, of a tree that does.
    n_classes : tuple of int or None
        Classes of each output, whose shares the leaves hold; None for numbers.
    held : {"mean", "median"} or None
        What the leaves hold of the targets; None where something else.
    """

    leaf: np.ndarray
    weight: np.ndarray
    target: np.ndarray | None = None
    counted: np.ndarray | None = None
    n_classes: tuple | None = None
    held: str | None = None


def check_training(table, training, tree):
    """Raise ValueError unless the rows fill the leaves as they did in training.

    By their number, their weight and, where the tree keeps it, the mean or median of
    their targets. Every inner node is a sum of leaves, so the leaves tell about all
    nodes.
    """
    leaves = np.flatnonzero(table.left == LEAF)
    counted = training.weight != 0 if training.counted is None else training.counted
    n_nodes = len(table.left)
    count = np.bincount(training.leaf[counted], minlength=n_nodes)[leaves]
    weight = np.bincount(training.leaf, training.weight, minlength=n_nodes)[leaves]
    expected = table.weight[leaves] if training.counted is None else weight
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
    if training.target is not None and training.held:
        _check_target(table, training, tree, weight)


def _check_target(table, training, tree, weight):
    """Raise ValueError unless the leaves hold what they should of their targets."""
    target = training.target
    if training.n_classes is not None:
        target = np.hstack(
            [target[:, [o]] == np.arange(k) for o, k in enumerate(training.n_classes)]
        ).astype(np.float64)
    if target.shape[1] != table.values.shape[1]:  # the tree has not seen all classes
        return
    leaves, n_nodes = np.flatnonzero(table.left == LEAF), len(table.left)
    for column, value in zip(target.T, table.values.T):
        off, allowed = column - value[training.leaf], np.abs(column).max(initial=0.0)
        allowed = 1e-8 * allowed * weight
        if training.held == "median":  # neither side outweighs the other and the ties
            tied = training.weight * (off == 0)
            tied = np.bincount(training.leaf, tied, minlength=n_nodes)[leaves]
            off, allowed = np.sign(off), tied + 1e-8 * weight
        sums = np.bincount(training.leaf, training.weight * off, minlength=n_nodes)
        wrong = np.abs(sums[leaves]) > allowed
        if wrong.any():
            leaf = leaves[np.argmax(wrong)]
            raise ValueError(
                f"y is not the training target: leaf {leaf} of tree {tree} holds "
                f"{value[leaf]:.6g}, which is not the {training.held} of its rows. "
                "Pass the X and y the estimator was fitted with, rows in the same "
                "order."
            )


class Grove:
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

    @property
    def n_slots(self):
        """Number of (tree, in-bag row) pairs."""
        return len(self.row)

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

    def goes_left(self, slots, nodes):
        """Whether the rows in `slots`, which lie in `nodes`, go to the left child."""
        return slots < self.start[self.right[nodes]]
