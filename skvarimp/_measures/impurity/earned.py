"""What columns earned from all rows of partitions, and the variance of that."""

from skvarimp._measures.impurity.unseen import rows_in_trees
from skvarimp._models.trees.losses import TreeLoss


def earned_over(measure, estimator, partitions):
    """What each column earned from the rows of all partitions, in two passes.

    Returns
    -------
    columns, totals, variance
        See `Credit`.
    """
    if measure.keep_rows:
        raise ValueError(
            "keep_rows=True needs all rows in one place, got X in partitions. Pass "
            "X.compute(), or leave it out."
        )
    partitions.sent.add(estimator)
    sums = partitions.passed(_sums, (estimator,))
    return partitions.passed(_earned, (estimator, sums), _joined)


def _sums(part, estimator):
    return _in_trees(part, estimator).sums()


def _earned(part, estimator, sums):
    credit = _in_trees(part, estimator).credit(sums)
    return credit.columns, credit.totals, credit.variance


def _joined(one, other):
    columns, totals, variance = one
    return columns, totals, variance + other[2]


def _in_trees(part, estimator):
    rows = rows_in_trees(estimator, part.table, part.target(), part.weights)
    if rows.boosts and not TreeLoss(*rows.form.loss).of_single_rows:
        raise ValueError(
            f"The loss of {type(estimator).__name__} depends on all rows together, "
            "which need to be in one place. Pass X.compute()."
        )
    return rows
