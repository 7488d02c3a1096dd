"""Trees, and the rows that each of them was grown on.

`TreeReader` is what the readers of all families have in common, and `Training` what
they say about each tree.
"""

from dataclasses import dataclass, replace

import numpy as np
from sklearn import tree
from sklearn.utils import compute_sample_weight

from skvarimp._data.values import as_columns, class_lists, positions
from skvarimp._models.readers.sklearn_trees import grown_trees
from skvarimp._models.tree_table import NodeTable
from skvarimp._models.trees import Encoding

TREE_TYPES = (
    tree.DecisionTreeClassifier,
    tree.DecisionTreeRegressor,
    tree.ExtraTreeClassifier,
    tree.ExtraTreeRegressor,
)
OWN_CRITERIA = {
    "gini": "gini",
    "entropy": "deviance",
    "log_loss": "deviance",
    "squared_error": "mse",
    "friedman_mse": "mse",
    "absolute_error": "absolute_error",
    "poisson": "poisson",
}


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


def _check_training(table, training, tree):
    """Raise ValueError unless the rows fill the leaves as they did in training.

    By their number, their weight and, where the tree keeps it, the mean or median of
    their targets. Every inner node is a sum of leaves, so the leaves tell about all
    nodes.
    """
    leaves = np.flatnonzero(table.is_leaf)
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
    leaves, n_nodes = np.flatnonzero(table.is_leaf), len(table.left)
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


class TreeReader:
    """One family of trees or ensembles.

    Attributes
    ----------
    estimator : object
    members : list of estimator
        Single trees.
    features : list of (ndarray or None)
        Column of X behind each feature of each tree; None for all in order.
    tables : list of Tree
        One per tree.
    weights : ndarray of shape (n_trees,)
        The ensemble's own weights of its trees.
    criterion : str or None
        The trees' own criterion; None for one this library does not know.
    n_classes : tuple of int or None
        Classes of each output of classification trees.
    averaging : {"tree", "forest", "boosting", "weighted"}
        How scikit-learn's `feature_importances_` averages trees.
    knows_target : bool
        Whether the trees' own target can be rebuilt; gradients are not kept.
    nominal : ndarray of shape (n_features,) or None
        Columns of unordered categories.
    encoding : Encoding
    counted : ndarray of shape (n_samples,) or None
        See `Training`.
    held : {"mean", "median"} or None
        See `Training`.
    """

    averaging = "forest"
    knows_target = True
    nominal = criterion = classes = n_classes = counted = held = None
    encoding = Encoding()

    def __init__(self, estimator):
        members = getattr(estimator, "estimators_", [estimator])
        self.members = list(getattr(members, "flat", members))  # by stage and class
        self.estimator = estimator
        odd = next((m for m in self.members if type(m) not in TREE_TYPES), None)
        if odd is not None:
            raise not_trees(f"{type(estimator).__name__} of {type(odd).__name__}")
        n_trees, everything = len(self.members), np.arange(estimator.n_features_in_)
        columns = getattr(estimator, "estimators_features_", [everything] * n_trees)
        self.features = [None if np.array_equal(c, everything) else c for c in columns]
        self.tables = grown_trees(self.members, self.features)
        weights = getattr(estimator, "estimator_weights_", np.ones(n_trees))
        self.weights = weights[:n_trees]
        first = self.members[0]
        self.criterion = OWN_CRITERIA.get(first.criterion)
        if self.criterion and first.monotonic_cst is None:
            self.held = "median" if self.criterion == "absolute_error" else "mean"
        if hasattr(first, "classes_"):
            self.classes = class_lists(estimator.classes_)
            self.n_classes = tuple(len(c) for c in self.classes)

    def matrix(self, table):
        """Numbers that thresholds compare, of the training data, float64."""
        matrix = table.numeric()
        if matrix is None:
            raise ValueError(
                f"X must be numeric for {type(self.estimator).__name__}. Pass the "
                "numbers the estimator was fitted with."
            )
        return matrix

    def trainings(self, table, y, weight):
        """What each tree was trained on, in the order of `tables`, and checked.

        Parameters
        ----------
        table : Table
            The training rows.
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs), or None
        weight : ndarray of shape (n_samples,)

        Yields
        ------
        Training
            Without a target where y is None, or the trees' own target is not known.
        """
        # bagged trees may know different classes, whose values do not join
        bare = [replace(tree, values=tree.values[:, :0]) for tree in self.tables]
        nodes, target = NodeTable(bare, self.encoding), None
        codes = nodes.codes_of(table)

        def leaf_in(t):
            return nodes.leaves(codes, np.array([t]))[0] - nodes.roots[t]

        if y is not None and self.knows_target:
            known = self.classes is not None
            target = (
                positions(y, self.classes) if known else as_columns(y).astype(float)
            )
        for t, in_bag in enumerate(self._in_bag(leaf_in, y, weight)):
            rows = leaf_in(t), in_bag, target, self.counted
            training = Training(*rows, self.n_classes, self.held)
            _check_training(self.tables[t], training, t)
            yield training

    def _needed(self, y, what_for):
        if y is None:
            raise ValueError(
                f"y is needed for {what_for}, got None. Pass the y the estimator was "
                "fitted with."
            )
        return y

    def _in_bag(self, leaf_in, y, weight):
        """In-bag weights of each tree in turn, (n_samples,); leaf_in(t) has leaves."""
        raise NotImplementedError

    def _class_weight(self, member, y):
        """The factor that a member or the whole ensemble puts on the weights."""
        class_weight = getattr(member, "class_weight", None)
        if class_weight is None:
            return 1.0
        y = self._needed(y, f"class_weight={class_weight!r}")
        return compute_sample_weight(class_weight, y)


def declined(estimator, reason):
    """The error for a training that cannot be rebuilt."""
    return ValueError(
        f"The training of {type(estimator).__name__} cannot be rebuilt: {reason}. Use "
        "surrogates=False and criterion='auto', which read the fitted trees alone."
    )


def not_trees(what):
    """The error for a model that is neither a tree nor made of trees."""
    return TypeError(
        "ImpurityImportance needs a tree or an ensemble of trees of scikit-learn, and "
        "with rows='unseen' also takes those of XGBoost, LightGBM and CatBoost, got "
        f"{what}. Use SensitivityImportance for other models."
    )
