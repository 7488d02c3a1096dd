"""Many sparse columns of few distinct values at once, for any head(X W + b).

In a column with the values 0, v_1, ..., v_m nearly all rows hold 0. They are moved to
the other values together, from the sums X W + b. The few rows that hold another value
are then moved one by one. All columns of a batch are handled together.
"""

from dataclasses import dataclass

import numpy as np

from skvarimp._data.values import begins_value
from skvarimp._running.memory import CACHE, at_once

FEW = 16  # columns with up to so many values go together, whatever the rows


@dataclass
class FewValues:
    """Columns with equally many distinct values.

    Attributes
    ----------
    values : ndarray of shape (n_columns, n_cells)
        Ascending.
    codes : ndarray of shape (n_columns, n_samples)
        The cell of each row's own value.
    probabilities : ndarray of shape (n_columns, n_cells)
    zero : ndarray of shape (n_columns,)
        The cell of 0, or of the first value where no row holds 0.
    """

    values: np.ndarray
    codes: np.ndarray
    probabilities: np.ndarray
    zero: np.ndarray


def n_distinct(X):
    """Number of distinct values of each column of a CSC array, zeros included."""
    sizes = np.diff(X.indptr)
    has_zero = sizes < X.shape[0]
    used = np.flatnonzero(sizes)
    starts = X.indptr[used]
    smallest, largest = np.zeros((2, len(sizes)))
    if len(used):
        smallest[used] = np.minimum.reduceat(X.data, starts)
        largest[used] = np.maximum.reduceat(X.data, starts)
    counts = np.where(has_zero, 1, 0)
    counts += (sizes > 0) & ((smallest != 0) | ~has_zero)
    several = np.flatnonzero(smallest != largest)
    if len(several):
        part = X[:, several]
        column = np.repeat(np.arange(len(several)), np.diff(part.indptr))
        order = np.lexsort((part.data, column))
        column, values = column[order], part.data[order]
        new = begins_value(column) | begins_value(values)
        new &= (values != 0) | ~has_zero[several][column]
        counts[several] = np.bincount(column[new], minlength=len(several))
        counts[several] += has_zero[several]
    return counts


def few_values(X, columns, weights):
    """`FewValues` of some columns of a CSC array."""
    n_samples, n_columns = X.shape[0], len(columns)
    part = X[:, columns]
    sizes = np.diff(part.indptr)
    column = np.repeat(np.arange(n_columns), sizes)
    zeros = np.flatnonzero(sizes < n_samples)  # columns that hold 0
    all_columns = np.concatenate([column, zeros])
    all_values = np.concatenate([part.data.astype(np.float64), np.zeros(len(zeros))])
    order = np.lexsort((all_values, all_columns))
    new = begins_value(all_columns[order]) | begins_value(all_values[order])
    code = np.empty(len(order), dtype=np.intp)
    code[order] = np.cumsum(new) - 1
    values = all_values[order][new].reshape(n_columns, -1)
    n_cells = values.shape[1]
    code -= n_cells * all_columns
    zero = np.zeros(n_columns, dtype=np.intp)
    zero[zeros] = code[len(column) :]
    codes = np.repeat(zero[:, np.newaxis], n_samples, axis=1)
    codes[column, part.indices] = code[: len(column)]
    at = codes + n_cells * np.arange(n_columns)[:, np.newaxis]
    masses = np.broadcast_to(weights, codes.shape)
    probabilities = np.bincount(at.ravel(), masses.ravel(), n_columns * n_cells)
    return FewValues(values, codes, probabilities.reshape(values.shape), zero)


def batches(X, columns, n_units, n_outputs):
    """Split the columns of few values into batches with equally many.

    Parameters
    ----------
    X : CSC array of shape (n_samples, n_columns)
    columns : ndarray of int
    n_units, n_outputs : int

    Yields
    ------
    ndarray of int
        Positions in `columns`. Those of many values are in no batch.
    """
    counts, n_samples = n_distinct(X)[columns], X.shape[0]
    most = max(CACHE, FEW * n_samples * max(n_units, n_outputs))
    for n_cells in np.unique(counts):
        each = n_samples * max(n_units * (n_cells - 1), n_outputs * n_cells)
        if 2 * each <= most:
            size = at_once(each, most)
            which = np.flatnonzero(counts == n_cells)
            yield from np.split(which, np.arange(size, len(which), size))


def curves(response, sums, few, weights, base):
    """ICE values of all rows, (n_columns, n_outputs, n_rows, n_cells), or None.

    Parameters
    ----------
    response : ProjectionResponse
    sums : ndarray of shape (n_rows, n_units)
    few : FewValues
    weights : ndarray of shape (n_columns, n_units)
    base : ndarray of shape (n_outputs, n_rows)

    Returns
    -------
    ndarray, or None where the link jumps within rounding
    """
    n_columns, n_cells = few.values.shape
    b = np.arange(n_columns)
    start = few.values[b, few.zero]
    # as if every row held the value at `zero`, moved to each of the other cells
    others = np.arange(n_cells - 1) + (
        np.arange(n_cells - 1) >= few.zero[:, np.newaxis]
    )
    steps = np.take_along_axis(few.values, others, axis=1) - start[:, np.newaxis]
    steps = steps[:, :, np.newaxis] * weights[:, np.newaxis]
    moved = sums[:, np.newaxis] + steps[:, np.newaxis]
    outputs, doubtful = response.link(response.head(moved))
    if doubtful is not None and doubtful.any():
        return None
    ice = np.empty((n_columns, len(base), len(sums), n_cells))
    ice[b, :, :, few.zero] = base
    for c in range(n_cells - 1):
        ice[b, :, :, others[:, c]] = outputs[..., c].swapaxes(0, 1)
    # the rows that hold another value, moved to every cell
    column, row = np.nonzero(few.codes != few.zero[:, np.newaxis])
    own = few.values[column, few.codes[column, row]]
    gaps = few.values[column] - own[:, np.newaxis]
    moved = sums[row, np.newaxis] + gaps[:, :, np.newaxis] * weights[column, np.newaxis]
    outputs, doubtful = response.link(response.head(moved))
    if doubtful is not None and doubtful.any():
        return None
    ice[column, :, row] = outputs.swapaxes(0, 1)
    ice[column, :, row, few.codes[column, row]] = base[:, row].T
    ice[~weights.any(axis=1)] = base[:, :, np.newaxis]
    return ice
