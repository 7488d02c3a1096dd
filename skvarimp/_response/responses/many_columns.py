"""Many single columns at once, with their own values as grid.

Linear responses: a batch holds columns side by side. Each is one entry of
`StraightLines`, whose cells are the rows: rows of equal value need not be merged. The
cells of a sparse column are its stored values and a single zero with the weight of all
rows that hold 0.

Any head(X W + b) of sparse columns of few distinct values: in a column with the values
0, v_1, ..., v_m nearly all rows hold 0. They are moved to the other values together,
from the sums X W + b. The few rows that hold another value are then moved one by one.
"""

from dataclasses import dataclass

import numpy as np

from skvarimp._data.table import ArrayTable, SparseTable
from skvarimp._data.units import Units
from skvarimp._data.values import begins_value
from skvarimp._response.reductions import Range
from skvarimp._response.shapes.line import StraightLines
from skvarimp._response.shapes.shape import Margins, reduced
from skvarimp._response.states import Sample
from skvarimp._running.memory import CACHE, at_once

FEW = 16  # columns with up to so many values go together, whatever the rows


IN_ORDER = slice(None)  # the cell of row i is i


def lines_serve(table, reductions, grid, keep_rows=False):
    """Whether a request can be reduced for many columns together."""
    if not isinstance(grid, str):
        return False
    by_row = keep_rows or not all(r.merges_rows for r in reductions)
    if by_row and isinstance(table, SparseTable):
        return False
    if all(type(reduction) is Range for reduction in reductions):
        return grid in {"all", "equidistant", "deciles"}  # from smallest to largest
    return grid == "all" and all(r.needs != "values" for r in reductions)


def line_batches(table, columns):
    """Split columns into batches of bounded size.

    Parameters
    ----------
    table : Table
    columns : ndarray of int

    Yields
    ------
    which : ndarray of int
        Positions in `columns`. For sparse X, columns with about as many stored values
        go together.
    """
    if not isinstance(table, SparseTable):
        step = max(1, CACHE // table.n_samples)
        for start in range(0, len(columns), step):
            yield np.arange(start, min(start + step, len(columns)))
        return
    X = table.csc
    sizes = np.diff(X.indptr)[columns] + 1
    order = np.argsort(sizes, kind="stable")
    start = 0
    while start < len(order):
        # the last of a batch is its longest
        totals = sizes[order[start:]] * np.arange(1, len(order) - start + 1)
        stop = start + max(1, int(np.searchsorted(totals, CACHE)))
        yield order[start:stop]
        start = stop


def values_of(table, columns, weights):
    """Values of some columns, equally many of each.

    Returns
    -------
    values : ndarray of shape (n_columns, n_values)
    probabilities : ndarray of shape (n_columns or 1, n_values)
    """
    if isinstance(table, SparseTable):
        return _stored(table.csc, columns, weights)
    if isinstance(table, ArrayTable):
        values = np.array(table.native[:, columns].T, dtype=np.float64, order="C")
    else:
        values = np.array([table.column(j) for j in columns], dtype=np.float64)
    return values, weights[np.newaxis]


def _stored(X, columns, weights):
    """Stored values and the zero of sparse columns, filled up to one length."""
    n_samples = X.shape[0]
    starts, sizes = X.indptr[columns], np.diff(X.indptr)[columns]
    at = np.arange(sizes.max(initial=0))
    present = at < sizes[:, np.newaxis]
    where = (starts[:, np.newaxis] + at)[present]
    # if no row holds 0, the first value fills up
    filler = np.zeros(len(columns))
    full = np.flatnonzero((sizes == n_samples) & (sizes > 0))
    filler[full] = X.data[starts[full]]
    values = np.repeat(filler[:, np.newaxis], len(at) + 1, axis=1)
    probabilities = np.zeros_like(values)
    values[:, 1:][present] = X.data[where]
    probabilities[:, 1:][present] = weights[X.indices[where]]
    rest = 1.0 - probabilities.sum(axis=1)
    probabilities[:, 0] = np.where(sizes < n_samples, rest, 0.0)
    return values, probabilities


def finish_lines(walk, positions, columns, slopes):
    """The finished reductions of a batch.

    Parameters
    ----------
    walk : Walk
    positions : tuple of int
        Of one request.
    columns : ndarray of int
    slopes : ndarray of shape (n_columns, n_outputs)

    Returns
    -------
    list of Finished
    """
    reductions = walk.reductions_of(positions[0])
    values, probabilities = values_of(walk.table, columns, walk.weights)
    # the rows of sparse columns are the cells
    weights = probabilities if isinstance(walk.table, SparseTable) else walk.weights
    by_row = walk.keep_rows or not all(r.merges_rows for r in reductions)
    ascending = not by_row and bool(np.all(weights == walk.weights[0]))
    if ascending:  # any order of the rows will do
        values.sort(axis=1)
    probabilities = np.broadcast_to(probabilities, values.shape)
    rows = slice(0, values.shape[1])
    margins = Margins(walk.base[np.newaxis], weights, rows, probabilities, None, walk.y)
    units = walk.units
    if weights is not walk.weights:
        norms = [_norms(units.weights, weights, power) for power in (2, 3)]
        units = Units(units.n, *norms)
    t = values[:, np.newaxis]
    lines = StraightLines(margins, None, t, t, slopes[:, :, np.newaxis], ascending)
    if any(hasattr(reduction, "statistic") for reduction in reductions):
        new = begins_value(lines.ascending[:, 0])
        margins.multiplicity = lines.in_own_order(new[:, np.newaxis] * 1.0)[:, 0]
    result = finish_shape(walk, positions, lines, IN_ORDER, units)
    for finished in result:
        if finished.curves is not None:
            curves = lines.by_value(finished.curves)
            finished.curves = [curve[:, of_one] for curve, of_one in zip(curves, new)]
    return result


def _norms(of_rows, of_cells, power):
    """`Units.weights` (2) or `Units.thirds` (3) of stored values, a row each.

    They stand after that of all other rows.
    """
    norms = of_cells.copy()
    rest = np.sum(of_rows**power) - np.sum(of_cells[:, 1:] ** power, axis=1)
    rest = np.maximum(rest, 0.0) ** (1.0 / power)
    norms[:, 0] = np.where(of_cells[:, 0] > 0, rest, 0.0)
    return norms


def finish_shape(walk, positions, shape, codes, units):
    """The finished reductions of some positions of one request.

    Parameters
    ----------
    walk : Walk
    positions : tuple of int
    shape : Shape
        The curves of all rows, with one leading entry per position.
    codes : ndarray of shape (n_positions, n_rows) or slice
    units : Units
        See `Sample`.

    Returns
    -------
    list of Finished
    """
    reductions, margins = walk.reductions_of(positions[0]), shape.margins
    scales = walk.scales[positions[0] // walk.n_entries]
    result = []
    for reduction, state, scale in zip(reductions, reduced(reductions, shape), scales):
        sample = Sample(
            margins.weights,
            units,
            walk.base,
            codes,
            margins.probabilities,
            margins.multiplicity,
            scale,
            walk.base @ walk.weights,
            walk.keep_rows,
        )
        result.append(reduction.finish(state, sample))
    return result


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
    column, _, order, begins = _in_order(X)
    return np.bincount(column[order][begins], minlength=X.shape[1])


def _in_order(X):
    """The numbers of a CSC array column by column, a single zero for those not stored.

    Returns
    -------
    column, values : ndarray of shape (n,)
        Those stored come first, then the zeros.
    order : ndarray of shape (n,)
        By column and then by value.
    begins : ndarray of shape (n,)
        Where another value begins in this order.
    """
    sizes = np.diff(X.indptr)
    zeros = np.flatnonzero(sizes < X.shape[0])
    column = np.concatenate([np.repeat(np.arange(X.shape[1]), sizes), zeros])
    values = np.concatenate([X.data.astype(np.float64), np.zeros(len(zeros))])
    order = np.lexsort((values, column))
    begins = begins_value(column[order]) | begins_value(values[order])
    return column, values, order, begins


def few_values(X, columns, weights):
    """`FewValues` of some columns of a CSC array."""
    part, n_columns = X[:, columns], len(columns)
    column, values, order, begins = _in_order(part)
    code = np.empty(len(order), dtype=np.intp)
    code[order] = np.cumsum(begins) - 1
    values = values[order][begins].reshape(n_columns, -1)
    n_cells = values.shape[1]
    code -= n_cells * column
    stored, zeros = slice(0, part.nnz), slice(part.nnz, None)
    zero = np.zeros(n_columns, dtype=np.intp)
    zero[column[zeros]] = code[zeros]
    codes = np.repeat(zero[:, np.newaxis], X.shape[0], axis=1)
    codes[column[stored], part.indices] = code[stored]
    at = codes + n_cells * np.arange(n_columns)[:, np.newaxis]
    masses = np.broadcast_to(weights, codes.shape)
    probabilities = np.bincount(at.ravel(), masses.ravel(), n_columns * n_cells)
    return FewValues(values, codes, probabilities.reshape(values.shape), zero)


def few_value_batches(X, columns, n_units, n_outputs):
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


def few_value_curves(response, sums, few, weights, base):
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
