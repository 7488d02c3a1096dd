"""Many single columns of a linear response at once, with their own values as grid.

A batch holds columns side by side. Each is one feature of `StraightLines`, whose cells
are the rows: rows of equal value need not be merged. The cells of a sparse column are
its stored values and a single zero with the weight of all rows that hold 0.
"""

from dataclasses import dataclass, replace

import numpy as np

from skvarimp._data.statistics import Units
from skvarimp._data.table import ArrayTable, SparseTable
from skvarimp._response.line import StraightLines
from skvarimp._response.mean_curves import FLAT, MeanCurve
from skvarimp._response.reductions import Range, Sample
from skvarimp._response.shape import Cells, reduced
from skvarimp._response.walk import Reduced
from skvarimp._running.memory import CACHE

IN_ORDER = slice(None)  # the cell of row i is i


def lines_serve(walk, reductions, grid):
    """Whether a request can be reduced for many columns together."""
    if not isinstance(grid, str):
        return False
    by_row = walk.keep_rows or not all(r.merges_rows for r in reductions)
    if by_row and isinstance(walk.rows.table, SparseTable):
        return False
    if _take_ends(reductions):
        return grid in {"all", "equidistant", "deciles"}  # from smallest to largest
    return grid == "all" and all(r.needs != "values" for r in reductions)


def _take_ends(reductions):
    """Whether the ends of each column's values are enough for lines."""
    # the direction of a line is the same on any grid
    return all(type(r) is Range or r == MeanCurve() for r in reductions)


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


def values_of(table, columns, weights, ascending=False):
    """Values of some columns, equally many of each.

    Of dense tables they are those of the rows, or `ascending` where all weigh the same.

    Returns
    -------
    values : ndarray of shape (n_columns, n_values)
    probabilities : ndarray of shape (n_columns or 1, n_values)
    """
    if isinstance(table, SparseTable):
        return _stored(table.csc, columns, weights)
    if ascending:
        values = np.array([table.ascending(j) for j in columns], dtype=np.float64)
    elif isinstance(table, ArrayTable):
        values = np.array(table.native[:, columns].T, dtype=np.float64, order="C")
    else:
        values = np.array([table.column(j) for j in columns], dtype=np.float64)
    return values, weights[np.newaxis]


def _stored(X, columns, weights):
    """Stored values and the zero of sparse columns, filled up to one length."""
    n_samples = X.shape[0]
    starts, sizes = X.indptr[columns], np.diff(X.indptr)[columns]
    at = np.arange(sizes.max())
    present = at < sizes[:, np.newaxis]
    where = (starts[:, np.newaxis] + at)[present]
    # if no row holds 0, the first value fills up
    filler = np.zeros(len(columns))
    full = np.flatnonzero(sizes == n_samples)
    filler[full] = X.data[starts[full]]
    values = np.repeat(filler[:, np.newaxis], len(at) + 1, axis=1)
    probabilities = np.zeros_like(values)
    values[:, 1:][present] = X.data[where]
    probabilities[:, 1:][present] = weights[X.indices[where]]
    rest = 1.0 - probabilities.sum(axis=1)
    probabilities[:, 0] = np.where(sizes < n_samples, rest, 0.0)
    return values, probabilities


def reduced_lines(walk, positions, columns, slopes):
    """The `Reduced` of a batch of columns.

    Parameters
    ----------
    walk : Walk
    positions : tuple of int
        Of one request.
    columns : ndarray of int
    slopes : ndarray of shape (n_columns_of_X, n_outputs)
    """
    reductions, rows = walk.reductions_of(positions[0]), walk.rows
    slopes, is_sparse = slopes[columns], isinstance(rows.table, SparseTable)
    by_row = walk.keep_rows or not all(r.merges_rows for r in reductions)
    by_row |= rows.units.groups is not None or is_sparse or _take_ends(reductions)
    # any order of the rows will do
    ascending = not by_row and bool(np.all(rows.weights == rows.weights[0]))
    values, probabilities = values_of(rows.table, columns, rows.weights, ascending)
    # the rows of sparse columns are the cells
    weights = probabilities if is_sparse else rows.weights
    cells = Cells(np.broadcast_to(probabilities, values.shape), None, IN_ORDER)
    units = rows.units
    if is_sparse and units.groups is not None:
        csc = rows.table.csc
        units = StoredUnits.of_columns(units, csc, columns, probabilities)
    elif is_sparse:
        norms = [_norms(units.weights, weights, power) for power in (2, 3)]
        units = Units(units.n, *norms)
    t, of_shape = values[:, np.newaxis], replace(rows, weights=weights)
    slope = slopes[:, :, np.newaxis]
    lines = StraightLines(of_shape, cells, None, t, t, slope, ascending)
    if any(reduction.statistic for reduction in reductions):
        new = lines.begins_value[:, np.newaxis]
        cells.multiplicity = lines.in_own_order(1.0 * new)[:, 0]
    rise = slopes * np.ptp(values, axis=1)[:, np.newaxis]
    directions = np.where(np.abs(rise) <= FLAT * rows.size, 0.0, np.sign(rise))
    directions[[not walk.moves.kind(p).ordered for p in positions]] = np.nan

    def over_values(curves):
        by_value = lines.by_value(curves)
        return [curve[:, new] for curve, new in zip(by_value, lines.begins_value)]

    scale, *_ = walk.scales_of(positions[0])
    sample = Sample(rows, cells, scale, walk.keep_rows, lambda _: directions)
    sample = replace(sample, over_values=over_values, weights=weights, units=units)
    return Reduced(positions, reduced(reductions, lines), sample)


@dataclass(frozen=True)
class StoredUnits(Units):
    """Groups of rows by the stored values of sparse columns, and a single zero.

    The term of a group stands at the first of its stored values. All groups without
    any have influences in proportion to their weights: their norm stands at the zero.

    Attributes
    ----------
    place : ndarray of shape (n_columns, n_values)
        Where, in a flattened array, the term of each value's group stands.
    rest : ndarray of shape (2, n_columns, n_values)
        What the zero weighs there, for sums of squares and for sums of cubes.
    """

    place: np.ndarray | None = None
    rest: np.ndarray | None = None

    cubed_apart = True

    @classmethod
    def of_columns(cls, units, X, columns, weights):
        """From the weights that `values_of` gives to the values of some columns."""
        starts, sizes = X.indptr[columns, np.newaxis], np.diff(X.indptr)[columns]
        at = np.arange(weights.shape[1])
        stored = (at > 0) & (at <= sizes[:, np.newaxis])
        groups = units.groups[X.indices[(starts + at - 1)[stored]]]
        column = np.repeat(np.arange(len(columns)), sizes)
        _, first, inverse = np.unique(
            column * units.n + groups, return_index=True, return_inverse=True
        )
        place, rest = np.zeros(weights.shape, np.intp), np.zeros((2, *weights.shape))
        places = np.flatnonzero(stored)[first]
        place[stored] = places[inverse]
        whole = units.sums(units.weights)
        seen = whole[groups[first]]
        held = np.bincount(inverse, weights[stored], len(first))
        for power, rest_of_power in zip((2, 3), rest):
            rest_of_power.ravel()[places] = np.maximum(seen - held, 0.0)
            seen_sums = np.bincount(column[first], seen**power, len(columns))
            unseen = np.maximum(np.sum(whole**power) - seen_sums, 0.0)
            rest_of_power[:, 0] = unseen ** (1.0 / power)
        weights = np.where(stored, weights, 0.0)
        return cls(units.n, weights, weights, place=place, rest=rest)

    def weighted_sums(self, influences, power=2):
        stored = (self.weights * influences).reshape(-1, self.place.size)
        where = self.place.ravel()
        sums = [np.bincount(where, values, len(where)) for values in stored]
        at_zero = self.rest[power - 2] * influences[..., :1]
        return np.reshape(sums, influences.shape) + at_zero


def _norms(numbers, sums, power):
    """`Units.weights` (2) or `Units.thirds` (3) of stored values, a row each.

    They stand after that of all other rows.
    """
    norms = sums.copy()
    rest = np.sum(numbers**power) - np.sum(sums[:, 1:] ** power, axis=1)
    rest = np.maximum(rest, 0.0) ** (1.0 / power)
    norms[:, 0] = np.where(sums[:, 0] > 0, rest, 0.0)
    return norms
