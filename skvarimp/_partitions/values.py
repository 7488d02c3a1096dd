"""Values of columns that all rows have: the ends, few ones, and those between donors.

Values stay in tables, so that all types of columns are served alike.
"""

import numpy as np

from skvarimp._data.table import Feature, as_table, stacked
from skvarimp._response.grid import make_move

MOST_VALUES = 100  # of a column, each of which has a row that is surely a donor


def chosen_values(table, columns, rows):
    """A table whose columns take their values from rows of their own, and these rows.

    Parameters
    ----------
    table : Table
    columns : list of int
    rows : list of ndarray of int
        For each column. Row 0 fills up those of columns that have fewer of them.

    Returns
    -------
    Table
    ndarray of shape (n_columns, n_chosen)
    """
    size = max([1, *map(len, rows)])
    rows = np.array([np.pad(one, (0, size - len(one))) for one in rows])
    return as_table(table.moved(0 * rows[0], tuple(columns), rows.T)), rows


def few_values(table, j):
    """Rows that hold the values of a column, ascending, one row for each.

    Of more than `MOST_VALUES`, so many of the least, and the greatest.
    """
    move = make_move(table, np.ones(table.n_samples), Feature("", (j,)), "all")
    rows = move.donors[move.known]
    return rows if len(rows) <= MOST_VALUES else np.append(rows[:MOST_VALUES], rows[-1])


def certain_rows(found, starts):
    """Numbers of the rows that are donors for certain.

    They hold all values of a column, or if these are many the least and the greatest.
    So order statistics of the donors end where those of all rows do, and where each
    value counts once, rare ones do, too.

    Parameters
    ----------
    found : list of (Table, ndarray of shape (n_columns, n_chosen)) or None
        `chosen_values` of each partition, by `few_values`; its rows.
    starts : ndarray of int
        Number of the first row of each partition.
    """
    parts = [(*one, start) for one, start in zip(found, starts) if one is not None]
    certain = [np.arange(0)]
    if parts:
        table = stacked([values for values, _, _ in parts])
        numbers = np.hstack([rows + start for _, rows, start in parts])
        for j, of_column in enumerate(numbers):
            rows = few_values(table, j)
            rows = rows if len(rows) <= MOST_VALUES else rows[[0, -1]]
            certain.append(of_column[rows])
    return np.unique(np.concatenate(certain))


def up_to_next(table, n, j, weights):
    """Weights of rows, each given to the first of n others with the next larger value.

    Parameters
    ----------
    table : Table
        Of these n rows, and then of those with the weights.
    n : int
    j : int
        The column.
    weights : ndarray of shape (n_rows - n,)

    Returns
    -------
    ndarray of shape (n,)
        A value that one of the n rows has is its own next one.
    """
    codes, first = table.factorize((j,))
    known = np.flatnonzero(first < n)
    following = known[np.searchsorted(known[:-1], codes[n:])]
    return np.bincount(first[following], weights, n)


def masses(part, table, columns):
    """Weights of a partition's rows up to each value of a table.

    (n_columns, n_table_rows), see `up_to_next`.
    """
    n, both = table.n_samples, stacked([table, part.table])
    return np.array([up_to_next(both, n, j, part.weights) for j in columns])


def between(part, table, columns, bounds):
    """Values of a partition's rows that lie strictly between bounds.

    Parameters
    ----------
    part : Partition
    table : Table
    columns : list of int
    bounds : list of ndarray of shape (2, n_intervals)
        Of each column rows of the table that hold the bounds, ascending.

    Returns
    -------
    list of (Table, ndarray of shape (n_columns, n_chosen))
        Of this partition: such values, as of `chosen_values`, and the rows' weights.
    """
    n, both = table.n_samples, stacked([table, part.table])
    weights, rows = np.append(np.zeros(n), part.weights), []
    for j, (lower, upper) in zip(columns, bounds):
        codes, _ = both.factorize((j,))
        n_begun = np.searchsorted(codes[lower], codes)
        n_ended = np.searchsorted(codes[upper], codes, side="right")
        rows.append(np.flatnonzero(n_begun > n_ended))
    values, rows = chosen_values(both, columns, rows)
    return [(values, weights[rows])]
