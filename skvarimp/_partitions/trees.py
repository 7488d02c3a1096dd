"""What splits of trees earn on the rows of all partitions."""

from skvarimp._data.statistics import Units, unit_of
from skvarimp._data.validation import check_rows, check_target
from skvarimp._measures.impurity.rows import rows_in_trees
from skvarimp._partitions.errors import whole_errors


def credit_of_all(measure, estimator, partitions):
    """Fit an `ImpurityImportance` with rows="unseen": sums of all, errors by donors.

    Parameters
    ----------
    measure : ImpurityImportance
    estimator : estimator
    partitions : Partitions
    """
    table, y = partitions.table, partitions.y
    measure._set_features(table, None, estimator)
    n_rows = table.n_samples
    of_rows = partitions.sample_weight, partitions.groups
    weights, _, labels = check_rows(*of_rows, n_rows)
    rows = rows_in_trees(estimator, table, check_target(y, n_rows), weights)
    if rows.loss is not None and not rows.loss.takes_single_rows:
        what = f"The loss of {type(estimator).__name__}, which depends on all rows,"
        partitions.refuse(what, "use PermutationImportance")
    partitions.sent.add(estimator)
    credit = rows.credit(partitions.passed(_sums, estimator))
    units, share = Units.of(weights / weights.sum(), labels), partitions.share
    size = unit_of(credit.totals)
    errors = size * whole_errors(credit.influences.T / size, units, share)
    measure._store_earned(credit.columns, credit.totals, errors, units, y)


def _sums(part, estimator):
    part = part.positive()
    if part is None:
        return None
    target = check_target(part.y, len(part.weights))
    return rows_in_trees(estimator, part.table, target, part.weights).sums()
