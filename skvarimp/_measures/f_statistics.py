"""F statistics of single columns: variance between groups over variance within."""

import numpy as np
from scipy import sparse, special

from skvarimp._data.table import as_table
from skvarimp._data.validation import check_target, numeric_target

COMPLETE = (
    "Filters, like all score functions of SelectKBest, take complete columns of "
    "numbers: impute missing values and encode others first, or use group_statistic "
    "with groups='X'."
)


def target_between_levels(X, y):
    """F of y between the distinct values of each column, and its p-values."""
    table = as_table(X)
    y = check_numeric_target(check_filter_rows(table, y))
    f, p = np.zeros(table.n_columns), np.ones(table.n_columns)
    for j, name in enumerate(table.column_names()):
        levels = table.column(j)
        if levels.dtype.kind == "f" and np.isnan(levels).any():
            raise ValueError(f"X contains NaN in {[name]}. {COMPLETE}")
        level = table.factorize([j])[0]
        if level.any():  # a constant column makes no groups
            ((f[j],), (p[j],)) = f_test(y[:, np.newaxis], level, f"column {name!r}")
    return f, p


def f_test(values, group, what):
    """F of columns between groups, (n_columns,), and its p-values."""
    n_in = np.bincount(group)
    n_samples, n_groups = len(values), len(n_in)
    if n_samples <= n_groups:
        raise ValueError(
            f"{what} makes {n_groups} groups of {n_samples} rows: nothing is left to "
            "measure the variance within groups. Each group but one may hold a single "
            "row, not all of them."
        )
    freedom, centred = (n_groups - 1, n_samples - n_groups), values - values.mean(0)
    members = sparse.csr_array((np.ones(n_samples), group, np.arange(n_samples + 1)))
    means = (members.T @ centred) / n_in[:, np.newaxis]  # (n_groups, n_columns)
    between = n_in @ means**2
    centred -= members @ means
    within = np.sum(centred**2, axis=0)
    # sums of squares below this are 0
    rounding = 1e-26 * n_samples * np.abs(values).max(axis=0) ** 2
    between = np.where(between > rounding, between, 0.0) / freedom[0]
    within = np.where(within > rounding, within, 0.0) / freedom[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        f = np.where(between > 0, between / within, 0.0)
    return f, special.fdtrc(*freedom, f)


def check_filter_rows(table, y):
    if y is None:
        raise ValueError("y is needed: a filter compares each column with it.")
    y = check_target(y, table.n_samples)
    if y.ndim == 2:
        raise ValueError(
            f"y must be 1-dimensional, got {y.shape[1]} outputs. Score each by itself."
        )
    if table.n_columns == 0:
        raise ValueError("X has no columns.")
    return y


def check_numeric_target(y):
    y = numeric_target(
        y, "Use auc or group_statistic to compare columns between classes."
    )
    if np.all(y == y[:1]):
        raise ValueError("y is constant: there is no variance to explain.")
    return y
