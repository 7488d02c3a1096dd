"""The training rows in the leaves of trees, checked, and put together for a search."""

from dataclasses import dataclass

import numpy as np

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
        Rows that enter `Tree.count`; None for those of positive weight.
    weighs_nodes : bool
        Whether `Tree.weight` is the sum of `weight`.
    n_classes : tuple of int or None
        Classes of each output, whose shares the leaves hold; None for numbers.
    means_kept : bool
        Whether the leaves hold the means of the targets.
    """

    leaf: np.ndarray
    weight: np.ndarray
    target: np.ndarray | None = None
    counted: np.ndarray | None = None
    weighs_nodes: bool = True
    n_classes: tuple | None = None
    means_kept: bool = False


def check_training(table, training, tree):
    """Raise ValueError unless the rows fill the leaves as they did in training.

    By their number, their weight and, where the tree keeps it, their mean target. Every
    inner node is a sum of leaves, so the leaves tell about all nodes.
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
    if training.target is not None and training.means_kept:
        _check_means(table, training, tree, leaves)


def _check_means(table, training, tree, leaves):
    """Raise ValueError unless the leaves hold the means of their rows' targets."""
    target = training.target
    if training.n_classes is not None:
        target = np.hstack(
            [target[:, [o]] == np.arange(k) for o, k in enumerate(training.n_classes)]
        ).astype(np.float64)
    n_nodes = len(table.left)
    weight = np.bincount(training.leaf, training.weight, minlength=n_nodes)[leaves]
    scale = np.abs(target).max(axis=0, initial=0.0)
    for o, column in enumerate(target.T):
        sums = np.bincount(training.leaf, training.weight * column, minlength=n_nodes)
        means = np.divide(
            sums[leaves], weight, where=weight > 0, out=np.zeros(len(leaves))
        )
        wrong = np.abs(means - table.values[leaves, o]) > 1e-8 * scale[o]
        wrong &= weight > 0
        if wrong.any():
            k = int(np.argmax(wrong))
            raise ValueError(
                f"y is not the training target: leaf {leaves[k]} of tree {tree} holds "
                f"{table.values[leaves[k], o]:.6g}, but the mean of its rows is "
                f"{means[k]:.6g}. Pass the X and y the estimator was fitted with, rows "
                "in the same order."
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
        self.feature = np.concatenate([t.column for t in tables])
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
