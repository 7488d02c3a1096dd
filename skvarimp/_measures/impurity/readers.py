"""Readers: from each scikit-learn tree or ensemble of trees to flat tables.

A reader also says what each tree was trained on: the in-bag weights and the target as
that tree saw them, rebuilt from public attributes. What an ensemble drew at random and
did not record is declined with the reason.
"""

from dataclasses import dataclass

import numpy as np
from sklearn import ensemble, tree
from sklearn.utils import compute_class_weight, compute_sample_weight

from skvarimp._data.labels import as_columns, class_lists, positions
from skvarimp._measures.impurity.tables import Training
from skvarimp._models.readers.sklearn_trees import grown_trees, n_training_rows

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


@dataclass
class Rows:
    """Training data in the forms that trees and the surrogate search read.

    Attributes
    ----------
    single : ndarray or CSR matrix of shape (n_samples, n_features)
        float32, the precision in which scikit-learn's trees compare with thresholds.
    matrix : ndarray or CSC matrix of shape (n_samples, n_features)
        float64, for the surrogates' own thresholds.
    nominal : ndarray of shape (n_features,) or None
        Columns of unordered categories.
    table : Table or None
        The rows as they were given, where trees are not scikit-learn's `tree_`.
    """

    single: object
    matrix: object
    nominal: np.ndarray | None = None
    table: object = None

    def __len__(self):
        return self.matrix.shape[0]


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
    """

    averaging = "forest"
    knows_target = True

    def __init__(self, estimator):
        self.estimator, self.members = estimator, self._members(estimator)
        odd = next((m for m in self.members if type(m) not in TREE_TYPES), None)
        if odd is not None:
            raise not_trees(f"{type(estimator).__name__} of {type(odd).__name__}")
        n_trees, everything = len(self.members), np.arange(estimator.n_features_in_)
        columns = getattr(estimator, "estimators_features_", [everything] * n_trees)
        self.features = [None if np.array_equal(c, everything) else c for c in columns]
        self.tables = grown_trees(self.members, self.features)
        weights = getattr(estimator, "estimator_weights_", np.ones(n_trees))
        self.weights = weights[:n_trees]
        self.criterion = OWN_CRITERIA.get(self.members[0].criterion)
        self.classes = self.n_classes = None
        if hasattr(self.members[0], "classes_"):
            self.classes = class_lists(estimator.classes_)
            self.n_classes = tuple(len(c) for c in self.classes)

    @staticmethod
    def _members(estimator):
        return list(estimator.estimators_)

    def rows(self, table):
        """Training data from a `Table` of X."""
        matrix = table.numeric()
        if matrix is None:
            raise ValueError(
                f"X must be numeric for {type(self.estimator).__name__}. Pass the "
                "numbers the estimator was fitted with."
            )
        with np.errstate(over="ignore"):
            if hasattr(matrix, "tocsr"):
                single = matrix.tocsr().astype(np.float32)
                single.indices = single.indices.astype(np.intc, copy=False)
                single.indptr = single.indptr.astype(np.intc, copy=False)
            else:
                single = np.ascontiguousarray(matrix, dtype=np.float32)
        return Rows(single, matrix)

    def trainings(self, rows, y, sample_weight):
        """What each tree was trained on, in the order of `tables`.

        Parameters
        ----------
        rows : Rows
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs), or None
        sample_weight : ndarray of shape (n_samples,) or None

        Yields
        ------
        Training
            Without a target where y is None, or the trees' own target is not known.
        """
        target = None
        if y is not None and self.knows_target:
            known = self.classes is not None
            target = (
                positions(y, self.classes) if known else as_columns(y).astype(float)
            )
        for t, weight in enumerate(self._in_bag(rows, y, sample_weight)):
            leaf, held = self._leaf(rows, t), self._held(self.members[t])
            yield Training(leaf, weight, target, n_classes=self.n_classes, held=held)

    @staticmethod
    def _held(member):
        """What leaves hold of the targets, see `Training`."""
        if member.monotonic_cst is not None or member.criterion not in OWN_CRITERIA:
            return None
        return "median" if member.criterion == "absolute_error" else "mean"

    def _leaf(self, rows, t):
        columns = self.features[t]
        single = rows.single if columns is None else rows.single[:, columns]
        return self.members[t].tree_.apply(single)

    def _needed(self, y, what_for):
        if y is None:
            raise ValueError(
                f"y is needed for {what_for}, got None. Pass the y the estimator was "
                "fitted with."
            )
        return y

    def _in_bag(self, rows, y, sample_weight):
        """In-bag weights of each tree in turn, (n_samples,)."""
        raise NotImplementedError

    def _weight(self, rows, sample_weight):
        """The weight of each row before any class weights, (n_samples,)."""
        return np.ones(len(rows)) if sample_weight is None else sample_weight

    def _class_weight(self, member, y):
        """The factor that a member or the whole ensemble puts on the weights."""
        class_weight = getattr(member, "class_weight", None)
        if class_weight is None:
            return 1.0
        y = self._needed(y, f"class_weight={class_weight!r}")
        return compute_sample_weight(class_weight, y)


class SingleTree(TreeReader):
    """DecisionTree and ExtraTree."""

    averaging = "tree"

    @staticmethod
    def _members(estimator):
        return [estimator]

    def _in_bag(self, rows, y, sample_weight):
        yield self._weight(rows, sample_weight) * self._class_weight(self.estimator, y)


class Forest(TreeReader):
    """RandomForest, ExtraTrees, and RandomTreesEmbedding."""

    @property
    def knows_target(self):
        """The targets of random embeddings were drawn and not kept."""
        return type(self.estimator) is not ensemble.RandomTreesEmbedding

    def _in_bag(self, rows, y, sample_weight):
        forest = self.estimator
        if not forest.bootstrap:
            weight = self._weight(rows, sample_weight)
            weight = weight * self._forest_class_weight(y, sample_weight)
            yield from [weight] * len(self.members)
            return
        for drawn in _samples(forest, rows):
            weight = np.bincount(drawn, minlength=len(rows)).astype(np.float64)
            # Other class weights are in the probabilities of the draw.
            if getattr(forest, "class_weight", None) == "balanced_subsample":
                y = self._needed(y, "class_weight='balanced_subsample'")
                weight *= compute_sample_weight("balanced", y, indices=drawn)
            yield weight

    def _forest_class_weight(self, y, sample_weight):
        class_weight = getattr(self.estimator, "class_weight", None)
        if class_weight not in ("balanced", "balanced_subsample"):
            return self._class_weight(self.estimator, y)
        y, factor = self._needed(y, f"class_weight={class_weight!r}"), 1.0
        for classes, column in zip(self.classes, as_columns(y).T):
            of_class = compute_class_weight(
                "balanced", classes=classes, y=column, sample_weight=sample_weight
            )
            factor = factor * of_class[np.searchsorted(classes, column)]
        return factor


class Bagging(TreeReader):
    """Bagging of trees, on drawn rows and drawn columns."""

    def _in_bag(self, rows, y, sample_weight):
        if y is not None and self.classes is not None:
            y = positions(y, self.classes)[:, 0]  # what the trees were given
        for member, drawn in zip(self.members, _samples(self.estimator, rows)):
            weight = np.bincount(drawn, minlength=len(rows)).astype(np.float64)
            yield weight * self._class_weight(member, y)


class AdaBoost(TreeReader):
    """AdaBoost, whose weights are replayed stage by stage (classification only)."""

    averaging = "weighted"

    def _in_bag(self, rows, y, sample_weight):
        booster = self.estimator
        if type(booster) is ensemble.AdaBoostRegressor:
            raise declined(
                booster, "it draws every tree's rows at random and keeps no record"
            )
        y = self._needed(y, "replaying the weights of AdaBoostClassifier")
        weight = self._weight(rows, sample_weight)
        weight = weight / weight.sum()
        absent = weight == 0.0
        for stage, member in enumerate(self.members):
            weight = np.clip(weight, np.finfo(np.float64).eps, None)
            weight[absent] = 0.0
            yield weight * self._class_weight(member, y)
            # SAMME (Zhu et al. 2009): exp(alpha) for the rows this tree gets wrong.
            wrong = member.predict(rows.single, check_input=False) != y
            grown = np.exp(booster.estimator_weights_[stage] * (wrong & ~absent))
            weight = weight * grown
            weight /= weight.sum()


def _samples(estimator, rows):
    """Drawn rows of each tree, or a ValueError where they are of other data."""
    drawn = estimator.estimators_samples_
    if len(drawn) != len(estimator.estimators_):
        raise declined(
            estimator, "it kept the draws of its last fit only (warm_start=True)"
        )
    n_trained = n_training_rows(estimator) or len(rows)
    if n_trained != len(rows):
        raise ValueError(
            f"X is not the training data: it has {len(rows)} rows, but "
            f"{type(estimator).__name__} was fitted with {n_trained}. Pass what the "
            "estimator was fitted with."
        )
    return drawn


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
