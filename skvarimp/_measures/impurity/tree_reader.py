"""Trees, and the rows that each of them was grown on.

`TreeReader` is what the readers of all families have in common, and `Training` what
they say about each tree.
"""

from dataclasses import dataclass, replace

import numpy as np
from sklearn import tree
from sklearn.utils import compute_sample_weight

from skvarimp._data.validation import numeric_target
from skvarimp._models.labels import as_columns, class_lists, positions, where_codes
from skvarimp._models.readers.sklearn_trees import check_thresholds, grown_tree
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
    """

    leaf: np.ndarray
    weight: np.ndarray
    target: np.ndarray | None = None


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
        Classes of each output, whose shares the leaves hold; None for numbers.
    averaging : {"tree", "forest", "boosting", "weighted"}
        How scikit-learn's `feature_importances_` averages trees.
    knows_target : bool
        Whether the trees' own target can be rebuilt; gradients are not kept.
    nominal : ndarray of shape (n_features,) or None
        Columns of unordered categories.
    encoding : Encoding
    counted : ndarray of shape (n_samples,) or None
        Rows that enter `Tree.count`, of trees that keep no sums of weights; None for
        those of positive weight, of trees that do.
    held : {"mean", "median"} or None
        What the leaves hold of the targets; None where something else.
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
        check_thresholds(estimator)
        self.tables = list(map(grown_tree, self.members, self.features))
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
        nodes, target, shown = NodeTable(bare, self.encoding), None, None
        codes = nodes.codes_of(table)

        def leaf_in(t):
            return nodes.leaves(codes, np.array([t]))[0] - nodes.roots[t]

        if y is not None and self.knows_target:
            if self.classes is None:
                way_out = "Pass the training target."
                shown = target = numeric_target(as_columns(y), way_out)
            else:
                target = positions(y, self.classes)
                shown = where_codes(target, map(np.arange, self.n_classes))
        for t, in_bag in enumerate(self._in_bag(leaf_in, y, weight)):
            training = Training(leaf_in(t), in_bag, target)
            self._check_training(t, training, shown)
            yield training

    def _check_training(self, tree, training, shown):
        """Raise ValueError unless the rows fill the leaves as they did in training.

        By their number, their weight and, where the tree keeps it, the mean or median
        of what its leaves show of the targets. Every inner node is a sum of leaves, so
        the leaves tell about all nodes.
        """
        table = self.tables[tree]
        leaves = np.flatnonzero(table.is_leaf)

        def at_leaves(amounts):
            return np.bincount(training.leaf, amounts, len(table.left))[leaves]

        counted = training.weight != 0 if self.counted is None else self.counted
        count, weight = at_leaves(counted), at_leaves(training.weight)
        expected = table.weight[leaves] if self.counted is None else weight
        # Sums of the same numbers in another order agree to rounding.
        tolerance = 1e-8 * np.abs(expected)
        recorded = table.count[leaves]
        # A tree given a drawn row twice, and not once with weight 2, counts it twice.
        wrong = (count != recorded) & (weight != recorded)
        wrong |= np.abs(weight - expected) > tolerance
        if wrong.any():
            k = int(np.argmax(wrong))
            raise ValueError(
                f"X is not the training data: node {leaves[k]} of tree {tree} was "
                f"grown on {recorded[k]} rows of weight {expected[k]:.6g}, but X, y "
                f"and `sample_weight` put {count[k]:.0f} rows of weight "
                f"{weight[k]:.6g} there. Pass what the estimator was fitted with, rows "
                "in the same order."
            )
        if shown is None or self.held is None:
            return
        if shown.shape[1] != table.values.shape[1]:  # a tree has not seen all classes
            return
        for column, value in zip(shown.T, table.values.T):
            off = column - value[training.leaf]
            allowed = 1e-8 * np.abs(column).max(initial=0.0) * weight
            if self.held == "median":  # neither side outweighs the other and the ties
                allowed = at_leaves(training.weight * (off == 0)) + 1e-8 * weight
                off = np.sign(off)
            wrong = np.abs(at_leaves(training.weight * off)) > allowed
            if wrong.any():
                leaf = leaves[np.argmax(wrong)]
                raise ValueError(
                    f"y is not the training target: leaf {leaf} of tree {tree} holds "
                    f"{value[leaf]:.6g}, which is not the {self.held} of its rows. "
                    "Pass the X and y the estimator was fitted with, rows in the same "
                    "order."
                )

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
