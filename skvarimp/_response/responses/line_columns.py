"""Linear responses of many single columns at once, with their own values as grid.

A batch holds columns side by side. Each is one entry of `StraightLines`, whose cells
are the rows: rows of equal value need not be merged. The cells of a sparse column are
its stored values and a single zero with the weight of all rows that hold 0.
"""

import numpy as np

from skvarimp._data.table import ArrayTable, SparseTable
from skvarimp._data.values import begins_value
from skvarimp._response.reductions.reductions import Range
from skvarimp._response.reductions.states import Sample
from skvarimp._response.shapes.line import StraightLines
from skvarimp._response.shapes.shape import Margins, reduced
from skvarimp._running.memory import CACHE

IN_ORDER = slice(None)  # the cell of row i is i


def serves(table, reductions, grid, keep_rows=False):
    """Whether a request can be reduced for many columns together."""
    if not isinstance(grid, str):
        return False
    by_row = keep_rows or not all(r.merges_rows for r in reductions)
    if by_row and isinstance(table, SparseTable):
        return False
    if all(type(reduction) is Range for reduction in reductions):
        return grid in {"all", "equidistant", "deciles"}  # from smallest to largest
    return grid == "all" and all(r.needs != "values" for r in reductions)


def batches(table, columns):
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


def finish(walk, positions, columns, slopes):
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
    t = values[:, np.newaxis]
    lines = StraightLines(margins, None, t, t, slopes[:, :, np.newaxis], ascending)
    if any(hasattr(reduction, "statistic") for reduction in reductions):
        new = begins_value(lines.ascending[:, 0])
        margins.multiplicity = lines.in_own_order(new[:, np.newaxis] * 1.0)[:, 0]
    result = finish_shape(walk, positions, lines, IN_ORDER)
    for finished in result:
        if finished.curves is not None:
            curves = lines.by_value(finished.curves)
            finished.curves = [curve[:, of_one] for curve, of_one in zip(curves, new)]
    return result


def finish_shape(walk, positions, shape, codes):
    """The finished reductions of some positions of one request.

    Parameters
    ----------
    walk : Walk
    positions : tuple of int
    shape : Shape
        The curves of all rows, with one leading entry per position.
    codes : ndarray of shape (n_positions, n_rows) or slice
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
            walk.total_weight,
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
