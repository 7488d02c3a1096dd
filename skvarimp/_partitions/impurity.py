"""What splits of trees earn from the rows of all partitions."""

from skvarimp._data.units import Units, unit_of
from skvarimp._measures.impurity.unseen import rows_in_trees


def fit_trees(measure, estimator, partitions, y):
    """Fit an `ImpurityImportance` with rows="unseen", in two passes.

    Parameters
    ----------
    measure : ImpurityImportance
    estimator : estimator
    partitions : Partitions
    y : object
        As given, which names the outputs.
    """
    measure._set_entries(partitions.head.table, None, estimator)
    if measure.keep_rows:
        partitions.refuse("keep_rows=True", ", or leave it out")
    partitions.sent.add(estimator)
    n_rows, sums = partitions.passed(_sums, (estimator,))
    # totals follow from the sums alone
    credit = _in_trees(partitions.head, estimator).credit(sums)
    size = unit_of(credit.totals)
    squares = partitions.passed(_squares, (estimator, sums, size))
    units = Units(n_rows)
    errors = size * units.error_of_squares(squares)
    measure._store_earned(credit.columns, credit.totals, errors, units, y)


def _sums(part, estimator):
    return len(part.weights), _in_trees(part, estimator).sums()


def _squares(part, estimator, sums, size):
    """Sums over the rows of what each adds to the sampling errors, squared."""
    influences = _in_trees(part, estimator).credit(sums).influences
    return (part.weights / sums[0]) ** 2 @ (influences / size) ** 2


def _in_trees(part, estimator):
    rows = rows_in_trees(estimator, part.table, part.target(), part.weights)
    if rows.loss is not None and not rows.loss.of_single_rows:
        raise ValueError(
            f"The loss of {type(estimator).__name__} depends on all rows together, "
            "which need to be in one place. Pass X.compute()."
        )
    return rows
