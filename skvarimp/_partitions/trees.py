"""What splits of trees earn on the rows of all partitions."""

from skvarimp._data.statistics import Units, unit_of
from skvarimp._data.validation import check_rows, check_target
from skvarimp._measures.impurity.loss_decrease import over_outputs
from skvarimp._measures.impurity.readers import each_ensemble
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
    of_rows = partitions.sample_weight, partitions.groups
    weights, _, labels = check_rows(*of_rows, table.n_samples)
    donors = _rows_in(estimator, table, y, weights)
    if any(r.loss is not None and not r.loss.takes_single_rows for r in donors):
        what = f"The loss of {type(estimator).__name__}, which depends on all rows,"
        partitions.refuse(what, "use PermutationImportance")
    sums = partitions.passed(_sums, estimator)
    credit = over_outputs([rows.decrease(of_all) for rows, of_all in zip(donors, sums)])
    units, share = Units.of(weights / weights.sum(), labels), partitions.share
    size = unit_of(credit.totals)
    errors = size * whole_errors(credit.influences.T / size, units, share)
    measure._store_earned(credit.columns, credit.totals, errors, units, y)


def _sums(part, estimator):
    rows = _rows_in(estimator, part.table, part.y, part.weights)
    return [of_one.sums() for of_one in rows]


def _rows_in(estimator, table, y, weights):
    """The rows in each of a model's ensembles."""
    target = check_target(y, table.n_samples)
    ensembles = each_ensemble(estimator, target)
    return [rows_in_trees(one, table, of_one, weights) for one, of_one in ensembles]
