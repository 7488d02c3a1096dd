"""What columns earned from all rows of partitions, and the variance between these."""

import numpy as np

from skvarimp._measures.impurity.row_credit import Sums
from skvarimp._measures.impurity.unseen import given_rows
from skvarimp._models.trees.losses import TreeLoss


def earned_over(measure, estimator, partitions):
    """What each column earned from the rows of all partitions, in two passes.

    Returns
    -------
    columns : ndarray of shape (n_features,)
        Columns that any tree splits on.
    totals : ndarray of shape (n_features, n_outputs)
    variance : ndarray of shape (n_features,)
        Weighted variance over the rows of the mean over the outputs.
    weight : float
    """
    if measure.keep_rows:
        raise ValueError(
            "keep_rows=True needs all rows in one place, got X in partitions. Pass "
            "X.compute(), or leave it out."
        )
    partitions.sent.add(estimator)
    sums = partitions.passed(_sums, (estimator,), Sums.merged)
    return partitions.passed(_earned, (estimator, sums), _joined)


def _sums(part, estimator):
    return _in_trees(part, estimator).sums()


def _earned(part, estimator, sums):
    rows = _in_trees(part, estimator)
    credit = rows.credit(sums)
    variance = rows.weights @ credit.influences**2 / sums.weight
    return credit.columns, credit.totals, variance, sums.weight


def _joined(one, other):
    columns, totals, variance, weight = one
    return columns, totals, variance + other[2], weight


def _in_trees(part, estimator):
    kept = np.ones(part.table.n_samples, dtype=bool)
    given = given_rows(estimator, part.table, part.target(), part.weights, kept)
    if given.form.stages is not None and not TreeLoss(*given.form.loss).of_single_rows:
        raise ValueError(
            f"The loss of {type(estimator).__name__} depends on all rows together, "
            "which need to be in one place. Pass X.compute()."
        )
    given.weights = part.weights  # not normalised, so that sums can be merged
    return given.in_trees()
