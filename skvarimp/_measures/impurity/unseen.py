"""`ImpurityImportance` on rows that the trees were not grown on.

Trees, the target as they take it, and the rows outside each tree's bag.
"""

import numpy as np

from skvarimp._data.values import as_columns, class_lists, positions, where_codes
from skvarimp._measures.impurity.readers import (
    READERS,
    AdaBoost,
    Bagging,
    Forest,
    SingleTree,
    read_trees,
)
from skvarimp._measures.impurity.row_credit import RowsInTrees
from skvarimp._measures.impurity.training import check_training_data
from skvarimp._models.forms import NotReadable
from skvarimp._models.model import Model, is_classifier
from skvarimp._models.readers import sklearn_trees
from skvarimp._models.registry import read, reader_of
from skvarimp._models.tree_losses import TreeLoss

LIBRARIES = ("xgboost", "lightgbm", "catboost")


def earns(estimator):
    """Whether the splits of an (unfitted) estimator can earn on other rows."""
    reader = reader_of(estimator)
    known = type(estimator) in READERS
    return reader is not None and (known or reader.startswith(LIBRARIES))


def rows_in_trees(estimator, table, y, weights):
    """`RowsInTrees` of rows with positive weights, or an error that says what is wrong.

    Parameters
    ----------
    estimator : estimator
    table : Table
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs)
    weights : ndarray of shape (n_rows,)
    """
    try:
        form = _read(estimator, table)
        if any(tree.weight is None for tree in form.trees):
            raise NotReadable("it does not say how many rows its leaves were grown on")
        loss = None if form.stages is None else TreeLoss(*form.loss)
    except NotReadable as reason:
        raise ValueError(
            f"The splits of this {type(estimator).__name__} cannot earn: {reason}. Use "
            "PermutationImportance, which asks the model itself."
        ) from None
    of_shares = loss is not None and loss.of_shares
    target, outputs = _target(estimator, form, as_columns(y), of_shares)
    return RowsInTrees(form, loss, table, target, outputs, weights)


def _read(estimator, table):
    reader, method = READERS.get(type(estimator)), None
    if reader is Bagging:
        read_trees(estimator)  # refuses other members than trees
    if reader is AdaBoost:
        classifier = is_classifier(estimator)
        method = "decision_function" if classifier else sklearn_trees.MEAN
    elif reader in (SingleTree, Forest, Bagging) and is_classifier(estimator):
        method = sklearn_trees.VOTES
    if method is not None:
        return sklearn_trees.read_trees(estimator, method, table)
    return read(Model(estimator), table)


def _target(estimator, form, y, of_shares):
    """y as the loss takes it, (n_raw, n_rows), and the raw outputs of each output."""
    n_columns, n_raw = y.shape[1], form.n_raw
    sizes = [1] * n_columns
    if of_shares:
        if y.dtype.kind not in "fiub" or not np.all((y >= 0) & (y <= 1)):
            raise ValueError(
                "y must hold shares between 0 and 1 for a model that was fitted by "
                "cross-entropy. Pass the shares of the rows of X."
            )
    elif is_classifier(estimator):
        classes = class_lists(estimator.classes_)
        if len(classes) == n_columns:
            y, sizes = positions(y, classes), [len(labels) for labels in classes]
    elif n_columns == 1 < n_raw:  # a library's own model of several classes
        y, sizes = y.astype(np.intp), [n_raw]
    if sum(sizes) != n_raw:  # one score of two classes each
        sizes = [1] * n_columns
    elif sum(sizes) > n_columns:
        y = where_codes(y, map(np.arange, sizes))
    if sum(sizes) != n_raw:
        raise ValueError(
            f"y has {n_columns} columns, but {type(estimator).__name__} was fitted "
            f"with another number: it has {n_raw} raw outputs."
        )
    outputs = np.split(np.arange(n_raw), np.cumsum(sizes)[:-1])
    return np.ascontiguousarray(y.T, dtype=np.float64), outputs


def out_of_bag_rows(estimator, table, y, sample_weight, kept):
    """Rows that each tree of a forest or bagging was not grown on.

    Parameters
    ----------
    estimator : estimator
    table, y, sample_weight
        As they were given.
    kept : ndarray of shape (n_samples,)
        Which rows have positive weight.

    Returns
    -------
    list of ndarray of shape (n,)
        Positions among the rows of positive weight.
    """
    if reason := not_bagged(estimator):
        raise ValueError(f"{reason}. Use rows='unseen' with rows that were held out.")
    trees = read_trees(estimator)
    trainings = trees.trainings(*check_training_data(trees, table, y, sample_weight))
    position = np.cumsum(kept) - 1
    outside = [position[(training.weight == 0) & kept] for training in trainings]
    if not any(len(out) for out in outside):
        raise ValueError(
            "rows='oob' needs trees with out-of-bag rows; no tree has. Grow the "
            "ensemble with a smaller max_samples."
        )
    return outside


def not_bagged(estimator):
    """Why an (unfitted) estimator has no out-of-bag rows, or None."""
    name, reader = type(estimator).__name__, READERS.get(type(estimator))
    if reader not in (Forest, Bagging):
        return f"rows='oob' needs a forest or bagging of trees, got {name}"
    draws_parts = reader is Bagging and estimator.max_samples not in (None, 1.0)
    if not estimator.bootstrap and not draws_parts:
        return (
            f"rows='oob' needs bootstrap=True, but every tree of this {name} saw all "
            "rows"
        )
    return None
