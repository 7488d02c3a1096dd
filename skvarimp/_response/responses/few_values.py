"""Many sparse columns of a few values at once, for models that see X through sums.

Most rows hold the same value of such a column, 0. Their sums without the column are
their sums, so that one product of the column's weights and its other values moves all
of them. The rows that hold another value are moved by themselves.
"""

from dataclasses import dataclass

import numpy as np

from skvarimp._data.table import SparseTable
from skvarimp._response.mean_curves import directions_of
from skvarimp._response.reductions import Sample
from skvarimp._response.responses.scores import ColumnsTasks
from skvarimp._response.shape import Cells, Dense, reduced
from skvarimp._response.walk import Reduced
from skvarimp._running.memory import CACHE, slices

MOST_VALUES = 8  # of a column that goes with others


@dataclass
class FewValues:
    """Columns with equally many distinct values.

    Attributes
    ----------
    columns : ndarray of shape (n_columns,)
    values : ndarray of shape (n_columns, n_cells)
        Ascending.
    codes : ndarray of shape (n_columns, n_rows)
        The cell of each row's own value.
    zero : ndarray of shape (n_columns,)
        The cell of the value 0; -1 where all rows have a stored value.
    column, row : ndarray of shape (n_stored,)
        Where stored values stand: which of `columns`, and which row.
    """

    columns: np.ndarray
    values: np.ndarray
    codes: np.ndarray
    zero: np.ndarray
    column: np.ndarray
    row: np.ndarray

    @classmethod
    def of(cls, X, columns):
        """Those of columns of a CSC matrix."""
        n, part = X.shape[0], X[:, columns]
        held = np.diff(part.indptr)
        column = np.repeat(np.arange(len(columns)), held)
        partly = np.flatnonzero(held < n)  # where some rows hold the 0 of no entry
        columns_of_entries = np.concatenate([column, partly])
        data = np.append(part.data.astype(np.float64), np.zeros(len(partly)))
        cell, n_cells, order = _cells(columns_of_entries, data, len(columns))
        values = np.empty((len(columns), n_cells.max(initial=1)))
        values[columns_of_entries[order], cell[order]] = data[order]
        zero = np.full(len(columns), -1)
        zero[partly] = cell[len(column) :]
        codes = np.repeat(zero[:, np.newaxis], n, axis=1)
        codes[column, part.indices] = cell[: len(column)]
        return cls(columns, values, codes, zero, column, part.indices)

    def probabilities(self, weights):
        """Those of the values, (n_columns, n_cells)."""
        n_columns, n_cells = self.values.shape
        place = self.codes + n_cells * np.arange(n_columns)[:, np.newaxis]
        heavy = np.broadcast_to(weights, place.shape).ravel()
        return np.bincount(place.ravel(), heavy, self.values.size).reshape(
            n_columns, n_cells
        )


def _cells(column, data, n_columns):
    """The cell of each value among the distinct ones of its column, and their number.

    Returns
    -------
    cell : ndarray of shape (n,)
    n_cells : ndarray of shape (n_columns,)
    order : ndarray of shape (n,)
        By column and value.
    """
    order = np.lexsort((data, column))
    sorted_column, sorted_data = column[order], data[order]
    first = np.diff(sorted_column, prepend=-1) != 0
    # not equal: each NaN is a value of its own, so that such columns have too many
    new = first | ~np.equal(sorted_data, np.roll(sorted_data, 1))
    number = np.cumsum(new)
    start = np.zeros(n_columns, dtype=np.intp)
    start[sorted_column[first]] = number[first]
    cell = np.empty(len(data), dtype=np.intp)
    cell[order] = number - start[sorted_column]
    return cell, np.bincount(sorted_column[new], minlength=n_columns), order


def numbers_of_values(X):
    """How many distinct values each column of a CSC matrix has, 0 included."""
    result = np.ones(X.shape[1], dtype=np.intp)
    held = np.diff(X.indptr)
    step = max(1, CACHE * X.shape[1] // max(X.nnz, 1))
    for start in range(0, X.shape[1], step):
        some = slice(start, start + step)
        column = np.repeat(np.arange(len(held[some])), held[some])
        partly = np.flatnonzero(held[some] < X.shape[0])
        data = X.data[X.indptr[start] : X.indptr[start] + len(column)]
        columns_of_entries = np.concatenate([column, partly])
        data = np.append(data, np.zeros(len(partly)))
        result[some] = _cells(columns_of_entries, data, len(held[some]))[1]
    return np.maximum(result, 1)


class FewValuesTasks(ColumnsTasks):
    """Single columns of few values together, where X is sparse; others one by one."""

    def batches(self, request, features):
        walk, columns = self.walk, self.columns_of(features)
        every_value = isinstance(walk.moves.grids[request], str)
        every_value = every_value and walk.moves.grids[request] == "all"
        if not every_value or not isinstance(walk.rows.table, SparseTable):
            return
        counts = numbers_of_values(walk.rows.table.csc)[columns]
        for n_cells in np.unique(counts[counts <= MOST_VALUES]):
            alike = features[counts == n_cells]
            each = self.response.n_outputs * len(walk.rows) * n_cells
            for part in slices(len(alike), each, CACHE):
                yield alike[part]

    def reduced_columns(self, positions, columns):
        walk, rows = self.walk, self.walk.rows
        few = FewValues.of(rows.table.csc, columns)
        curves = self.response.curves_of_few_values(rows, few)
        if curves is None:  # the link is in doubt: the model is asked, move by move
            for position in positions:
                states = self.states(position, slice(0, len(rows)))
                yield Reduced((position,), states)
            return
        cells = Cells(few.probabilities(rows.weights), None, few.codes)
        ordered = np.array([walk.moves.kind(p).ordered for p in positions])

        def directions(mean_curves):
            chances = cells.probabilities[:, np.newaxis]
            found = directions_of(mean_curves, chances, rows.size)
            return np.where(ordered[:, np.newaxis], found, np.nan)

        scale, *_ = walk.scales_of(positions[0])
        sample = Sample(rows, cells, scale, walk.keep_rows, directions)
        reductions = walk.reductions_of(positions[0])
        yield Reduced(
            positions, reduced(reductions, Dense(rows, cells, curves)), sample
        )
