"""`SurrogateTreePredictor`: missing values follow surrogate splits."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from skvarimp._compiled import use_compiled
from skvarimp._data.table import as_table, checked_frame
from skvarimp._data.validation import check_target, check_weights
from skvarimp._measures.impurity.grove import LEAF, SortedColumns
from skvarimp._measures.impurity.readers import READERS, Forest, SingleTree
from skvarimp._measures.impurity.search import (
    Rules,
    SplitRecords,
    batches,
    search_batch,
)
from skvarimp._measures.impurity.tree_reader import TREE_TYPES
from skvarimp._models.labels import class_lists
from skvarimp._running.guards import whole_fit
from skvarimp._types import AnyEstimator, Matrix

NUMBERS = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}  # of any rows


class SurrogateTreePredictor(MetaEstimatorMixin, BaseEstimator):
    """A tree or forest that sends rows with missing values along surrogate splits.

    At a node whose own column is missing, a row goes where the best surrogate split on
    an observed column sends it (Breiman et al. 1984, section 5.3); where no surrogate
    can tell, to the larger child. Rows without missing values get exactly the
    estimator's own predictions. This is not imputation: no value is put in, and every
    node uses the column that imitates it best.

    Parameters
    ----------
    estimator : object
        DecisionTree, ExtraTree, RandomForest or ExtraTrees, classifier or regressor. A
        fitted one is used as it is, and `fit` takes its training data; of an unfitted
        one, a clone is fitted. `clone` makes a fitted one unfitted; wrap it in
        `sklearn.frozen.FrozenEstimator` to keep it.

    Attributes
    ----------
    estimator_ : object
        The fitted tree or forest.
    surrogate_splits_ : structured ndarray of shape (n_surrogates,)
        As in `ImpurityImportance`.
    classes_ : ndarray of shape (n_classes,) or list of ndarray
        Classes of a classifier.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where they have names.

    See Also
    --------
    ImpurityImportance : Importances that let surrogate splits earn too.

    Notes
    -----
    The training data may hold missing values where the estimator takes them: it grows
    with its own rule for them, rows missing in either column leave the search for
    surrogates, and leaf values stay the estimator's. The primary split compares in
    float32 as scikit-learn does, surrogates in float64. The larger child is the one of
    more training weight, the left one of two equals.

    Cost: `fit` as `ImpurityImportance`, and some 20 bytes per surrogate to keep;
    `predict` the depth of each tree times the surrogates tried, for rows with missing
    values.

    References
    ----------
    .. [1] L. Breiman, J. Friedman, R. Olshen and C. Stone, Classification and
       Regression Trees, 1984, section 5.3.

    Examples
    --------
    The stump splits on x0. Where x0 is missing, x1 > 1.5 stands in for x0 > 0.5;
    where both are, the row goes to the larger child.

    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skvarimp import SurrogateTreePredictor
    >>> X = np.array([[0, 1], [0, 1], [1, 2], [1, 2], [1, 2.5]])
    >>> y = [0, 0, 1, 1, 1]
    >>> stump = DecisionTreeClassifier(max_depth=1, max_features=1, random_state=2)
    >>> predictor = SurrogateTreePredictor(stump).fit(X, y)
    >>> predictor.predict([[np.nan, 1], [np.nan, 2], [np.nan, np.nan]])
    array([0, 1, 1])
    """

    def __init__(self, estimator: AnyEstimator) -> None:
        self.estimator = estimator

    @whole_fit
    def fit(
        self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Find the surrogate splits; fits the estimator where it is not fitted.

        Parameters
        ----------
        X : {array-like, frame} of shape (n_samples, n_features)
            Training data of the estimator, in its order; NaN where missing.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Training target.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the training rows.

        Returns
        -------
        self : object
            The fitted instance.
        """
        self.estimator_, reader = _with_reader(self.estimator)
        apart = NUMBERS, {"ensure_2d": False, "dtype": None}
        matrix, target = validate_data(self, X, y, validate_separately=apart)
        if not hasattr(self.estimator_, "n_features_in_"):
            self.estimator_ = clone(self.estimator_)
            self.estimator_.fit(X, y, sample_weight=sample_weight)
        if matrix.shape[1] != self.estimator_.n_features_in_:
            raise ValueError(
                f"X has {matrix.shape[1]} columns, but the estimator was fitted on "
                f"{self.estimator_.n_features_in_}. Pass its training data."
            )
        weight = check_weights(sample_weight, len(matrix))
        trees = reader(self.estimator_)
        columns = SortedColumns(matrix)
        target = check_target(target, len(matrix))
        trainings = trees.trainings(as_table(matrix), target, weight)
        records = SplitRecords(trees.tables, len(columns))
        for batch in batches(trees.tables, trainings, len(columns)):
            for _, found in search_batch(batch, columns, None, Rules(), use_compiled()):
                records.add(found)
        self.surrogate_splits_ = records.records
        return self

    def apply(self, X: Matrix) -> NDArray[Any]:
        """Leaf that each row falls into, in each tree.

        Parameters
        ----------
        X : {array-like, frame} of shape (n_samples, n_features)
            Rows; NaN where missing.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_trees)
            Of a forest, one column per tree.
        """
        matrix = self._checked_rows(X)
        leaves = [leaf for _, leaf in self._leaves(matrix)]
        is_tree = type(self.estimator_) in TREE_TYPES
        return leaves[0] if is_tree else np.column_stack(leaves)

    def predict(self, X: Matrix) -> NDArray[Any]:
        """Class or value of each row.

        Parameters
        ----------
        X : {array-like, frame} of shape (n_samples, n_features)
            Rows; NaN where missing.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        values = self._values(X)
        columns = [of_output[:, 0] for of_output in values]
        if is_classifier(self.estimator_):
            pairs = zip(class_lists(self.estimator_.classes_), values)
            columns = [classes.take(np.argmax(v, axis=1)) for classes, v in pairs]
        return columns[0] if len(columns) == 1 else np.column_stack(columns)

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X: Matrix) -> Any:
        """Probability of each class: the share of its weight in the leaves reached.

        Parameters
        ----------
        X : {array-like, frame} of shape (n_samples, n_features)
            Rows; NaN where missing.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or list of them
            One array per output.
        """
        shares = self._values(X)
        return shares[0] if len(shares) == 1 else shares

    def score(
        self, X: Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Accuracy of a classifier, R² of a regressor.

        Parameters
        ----------
        X : {array-like, frame} of shape (n_samples, n_features)
            Rows; NaN where missing.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            True classes or values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
        """
        metric = accuracy_score if is_classifier(self.estimator_) else r2_score
        return metric(y, self.predict(X), sample_weight=sample_weight)

    @property
    def classes_(self) -> Any:
        """Classes of the fitted classifier."""
        return self.estimator_.classes_

    def _members(self):
        return getattr(self.estimator_, "estimators_", [self.estimator_])

    def _checked_rows(self, X):
        check_is_fitted(self)
        checked_frame(X)
        X = validate_data(self, X, reset=False, **NUMBERS)
        if np.nanmax(np.abs(X), initial=0.0) > np.finfo(np.float32).max:
            raise ValueError(
                "X holds numbers too large for float32, in which trees compare. "
                "Rescale or clip them."
            )
        return X

    def _values(self, X):
        """Leaf values averaged over the trees, (n_samples, n_classes) by output."""
        leaves = self._leaves(self._checked_rows(X))
        values = sum(tree.value.take(leaf, axis=0) for tree, leaf in leaves)
        widths = [1] * values.shape[1]
        if is_classifier(self.estimator_):
            widths = map(len, class_lists(self.estimator_.classes_))
        values /= len(self._members())
        return [values[:, o, :width] for o, width in enumerate(widths)]

    def _leaves(self, matrix):
        """Yield each `tree_` and the leaf of each row in it."""
        single = np.ascontiguousarray(matrix, dtype=np.float32)
        missing = np.isnan(matrix).any(axis=1)
        members = self._members()
        trees = self.surrogate_splits_["tree"]
        bounds = np.searchsorted(trees, np.arange(len(members) + 1))
        for t, member in enumerate(members):
            leaf = np.empty(len(matrix), dtype=np.intp)
            leaf[~missing] = member.tree_.apply(single[~missing])
            splits = self.surrogate_splits_[bounds[t] : bounds[t + 1]]
            leaf[missing] = _led_down(member.tree_, splits, matrix[missing])
            yield member.tree_, leaf

    def __sklearn_tags__(self):
        tags = get_tags(self.estimator)
        tags.input_tags.sparse = False
        return tags


def _led_down(tree, splits, matrix):
    """The leaf of each row with missing values in one tree.

    Parameters
    ----------
    tree : sklearn.tree._tree.Tree
    splits : structured ndarray
        The tree's surrogates by node and rank.
    matrix : ndarray of shape (n_rows, n_features)
        The rows.
    """
    # where each node's surrogates start
    bounds = np.searchsorted(splits["node"], np.arange(tree.node_count + 1))
    node = np.zeros(len(matrix), dtype=np.intp)
    moving = np.arange(len(matrix))
    while True:
        moving = moving[tree.children_left[node[moving]] != LEAF]
        if not len(moving):
            return node
        at = node[moving]
        value = matrix[moving, tree.feature[at]].astype(np.float32)  # as trees do
        left = value <= tree.threshold[at]
        absent = np.flatnonzero(np.isnan(value))
        rows = matrix[moving[absent]]
        left[absent] = _by_surrogates(tree, splits, bounds, at[absent], rows)
        node[moving] = np.where(left, tree.children_left[at], tree.children_right[at])


def _by_surrogates(tree, splits, bounds, node, X):
    """Whether rows at nodes whose column they lack go left."""
    weight = tree.weighted_n_node_samples
    # to the larger child, unless a surrogate tells
    left = weight[tree.children_left[node]] >= weight[tree.children_right[node]]
    place, end = bounds[node], bounds[node + 1]
    open_rows = np.flatnonzero(place < end)
    while len(open_rows):
        split = splits[place[open_rows]]
        value = X[open_rows, split["feature"]]
        low = value <= split["threshold"]
        observed = ~np.isnan(value)
        told = open_rows[observed]
        left[told] = (low == (split["direction"] == 1))[observed]
        open_rows = open_rows[~observed]
        place[open_rows] += 1
        open_rows = open_rows[place[open_rows] < end[open_rows]]
    return left


def _with_reader(estimator):
    """A tree or forest, not frozen, and its reader; TypeError for anything else."""
    if isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    reader = READERS.get(type(estimator))
    if reader not in (SingleTree, Forest):
        got, way_out = type(estimator).__name__, "Impute the missing values for others."
        if isinstance(estimator, type):
            got, way_out = f"the class {estimator.__name__}", "Make an instance."
        raise TypeError(
            "SurrogateTreePredictor needs a DecisionTree, ExtraTree, RandomForest or "
            f"ExtraTrees estimator, got {got}. {way_out}"
        )
    return estimator, reader
