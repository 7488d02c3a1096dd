"""What splits of trees earn on the rows of all partitions."""

from skvarimp._data.validation import check_target
from skvarimp._measures.impurity.readers import each_ensemble
from skvarimp._measures.impurity.rows import rows_in_trees


def sums_of_all(partitions, estimator, donors):
    """The sums over all rows that decreases of the loss follow from.

    Parameters
    ----------
    partitions : Partitions
    estimator : estimator
    donors : list of RowsInTrees
        In each of the model's ensembles.
    """
    if any(r.loss is not None and not r.loss.takes_single_rows for r in donors):
        what = f"The loss of {type(estimator).__name__}, which depends on all rows,"
        partitions.refuse(what, "use PermutationImportance")
    return partitions.passed(_sums, estimator)


def _sums(part, estimator):
    target, given = check_target(part.y, part.table.n_samples), part.weights
    every = each_ensemble(estimator, target)
    return [rows_in_trees(one, part.table, y, given).sums() for one, y in every]
