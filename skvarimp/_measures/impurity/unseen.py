"""Trees, and the target as they take it, for rows that they were not grown on."""

from dataclasses import dataclass

import numpy as np

from skvarimp._data.labels import as_columns, class_lists, positions
from skvarimp._data.validation import check_sample_weight, check_target
from skvarimp._measures.impurity.checks import check_training_data
from skvarimp._measures.impurity.readers import (
    Bagging,
    Forest,
)
from skvarimp._measures.impurity.registry import READERS, read_trees
from skvarimp._measures.impurity.row_credit import RowsInTrees
from skvarimp._measures.impurity.tables import check_training
from skvarimp._models.forms import NotReadable
from skvarimp._models.model import Model, is_classifier
from skvarimp._models.readers import sklearn_trees
from skvarimp._models.registry import entry_of, read
from skvarimp._models.trees import Trees
from skvarimp._models.trees.losses import TreeLoss

# Which method's trees earn, by what scikit-learn calls the model.
METHODS = {
    "AdaBoostClassifier": "decision_function",
    "AdaBoostRegressor": sklearn_trees.MEAN,
}
AVERAGED_CLASSIFIERS = (
    "DecisionTreeClassifier",
    "ExtraTreeClassifier",
    "RandomForestClassifier",
    "ExtraTreesClassifier",
    "BaggingClassifier",
)


@dataclass
class GivenRows:
    """Rows of positive weight, as `RowsInTrees` takes them.

    Attributes
    ----------
    form : Trees
    table : Table
    y : ndarray of shape (n_raw, n_rows)
    outputs : list of ndarray
        Raw outputs that belong to each output.
    weights : ndarray of shape (n_rows,)
        Sum to 1.
    total_weight : float
    kept : ndarray of shape (n_samples,)
        Which rows given these are.
    outside : list of ndarray or None
        Of these, the rows that each tree was not grown on; None: all of them.
    """

    form: Trees
    table: object
    y: np.ndarray
    outputs: list
    weights: np.ndarray
    total_weight: float
    kept: np.ndarray
    outside: list | None = None

    def in_trees(self):
        """What earns, see there."""
        return RowsInTrees(
            self.form, self.table, self.y, self.outputs, self.weights, self.outside
        )


LIBRARIES = ("xgboost", "lightgbm", "catboost")


def earns(estimator):
    """Whether the splits of an (unfitted) estimator can earn on other rows."""
    entry = entry_of(estimator)
    if entry is None:
        return False
    return type(estimator) in READERS or entry.module.endswith(LIBRARIES)


def read_rows(estimator, table, y, sample_weight):
    """Trees and rows, or an error that says what is wrong with either."""
    check_has_target(y)
    y = check_target(y, table.n_samples)
    weights = check_sample_weight(sample_weight, table.n_samples)
    kept = weights > 0
    if not kept.all():
        table, y, weights = table.take(np.flatnonzero(kept)), y[kept], weights[kept]
    return given_rows(estimator, table, y, weights, kept)


def check_has_target(y):
    """Raise where there is no y."""
    if y is None:
        raise ValueError(
            "y is needed for impurity on other rows than the trees' own, got None. "
            "Pass the target of the rows of X."
        )


def given_rows(estimator, table, y, weights, kept):
    """`GivenRows` of rows with positive weights, not normalised."""
    name = type(estimator).__name__
    try:
        form = _read(estimator, table)
    except NotReadable as reason:
        raise ValueError(
            f"The trees of {name} cannot be read: {reason}. Use PermutationImportance, "
            "which asks the model itself."
        ) from None
    if any(tree.weight is None for tree in form.trees):
        raise ValueError(
            f"This {name} does not say how many rows its leaves were grown on. Use "
            "PermutationImportance."
        )
    if form.stages is not None:
        _check_loss(name, form)
    target, outputs = _target(estimator, form, as_columns(y))
    total = weights.sum()
    return GivenRows(form, table, target, outputs, weights / total, total, kept)


def _check_loss(name, form):
    """Raise unless boosting's loss is known, and is one of single rows."""
    try:
        TreeLoss(*form.loss)
    except NotReadable as reason:
        raise ValueError(
            f"The splits of this {name} cannot earn: {reason}. Use "
            "PermutationImportance."
        ) from None


def _read(estimator, table):
    name = type(estimator).__name__
    if READERS.get(type(estimator)) is Bagging:
        read_trees(estimator)  # refuses other members than trees
    if name in AVERAGED_CLASSIFIERS:
        return sklearn_trees.read_trees(estimator, sklearn_trees.VOTES, table)
    if name in METHODS:
        return sklearn_trees.read_trees(estimator, METHODS[name], table)
    return read(Model(estimator), table)


def _target(estimator, form, y):
    """y as the loss takes it, (n_raw, n_rows), and the raw outputs of each output."""
    n_columns, n_raw = y.shape[1], form.n_raw
    codes = None
    if form.loss is not None and TreeLoss(*form.loss).of_shares:
        sizes = [1] * n_columns
        _check_shares(y)
    elif is_classifier(estimator):
        classes = class_lists(estimator.classes_)
        if len(classes) == n_columns:
            codes = positions(y, classes)
            sizes = [len(labels) for labels in classes]
    elif n_columns == 1 < n_raw:  # a library's own model of several classes
        codes, sizes = y.astype(np.intp), [n_raw]
    if codes is not None and sum(sizes) == n_raw:
        y = np.hstack([codes[:, [o]] == np.arange(k) for o, k in enumerate(sizes)])
    elif codes is not None:  # one score of two classes each
        y, sizes = codes, [1] * n_columns
    else:
        sizes = [1] * n_columns
    if sum(sizes) != n_raw:
        raise ValueError(
            f"y has {n_columns} columns, but {type(estimator).__name__} was fitted "
            f"with another number: it has {n_raw} raw outputs."
        )
    bounds = np.cumsum(sizes)[:-1]
    return np.ascontiguousarray(y.T, dtype=np.float64), np.split(
        np.arange(n_raw), bounds
    )


def _check_shares(y):
    if y.dtype.kind in "fiub" and np.all((y >= 0) & (y <= 1)):
        return
    raise ValueError(
        "y must hold shares between 0 and 1 for a model that was fitted by "
        "cross-entropy. Pass the shares of the rows of X."
    )


def out_of_bag_rows(estimator, given, table, y, sample_weight):
    """Rows that each tree of a forest or bagging was not grown on.

    Parameters
    ----------
    estimator : estimator
    given : GivenRows
    table, y, sample_weight
        As they were given.

    Returns
    -------
    list of ndarray of shape (n,)
        Positions among the rows of positive weight.
    """
    check_is_bagged(estimator)
    trees = read_trees(estimator)
    rows, y, sample_weight = check_training_data(trees, table, y, sample_weight)
    trainings = trees.trainings(rows, y, sample_weight)
    position = np.cumsum(given.kept) - 1
    outside = []
    for t, (tree, training) in enumerate(zip(trees.tables, trainings)):
        check_training(tree, training, t)
        out = np.flatnonzero((training.weight == 0) & given.kept)
        outside.append(position[out])
    if not any(len(out) for out in outside):
        raise ValueError(
            "rows='oob' needs trees with out-of-bag rows; no tree has. Grow the "
            "ensemble with a smaller max_samples."
        )
    return outside


def check_is_bagged(estimator):
    """Raise where no tree was grown on a part of the rows that was recorded."""
    reason = not_bagged(estimator)
    if reason:
        raise ValueError(f"{reason}. Use rows='unseen' with rows that were held out.")


def not_bagged(estimator):
    """Why an (unfitted) estimator has no out-of-bag rows, or None."""
    name = type(estimator).__name__
    if READERS.get(type(estimator)) not in (Forest, Bagging):
        return f"rows='oob' needs a forest or bagging of trees, got {name}"
    bagging = READERS[type(estimator)] is Bagging
    draws_parts = bagging and estimator.max_samples not in (None, 1.0)
    if not estimator.bootstrap and not draws_parts:
        return (
            f"rows='oob' needs bootstrap=True, but every tree of this {name} saw all "
            "rows"
        )
    return None
