"""Models that are analytic functions of each column: asked at a few nodes, no more.

As one column moves from its smallest to its largest value, the output is a series of
Chebyshev polynomials whose coefficients fall exponentially. The model itself is asked
at n Chebyshev nodes; if the last coefficients have vanished, what it says at every
other value follows by interpolation, exact to rounding. Nothing of the model is read.

Columns of fewer values than nodes, groups of columns, and columns along which the
series does not end within 129 nodes are moved value by value.
"""

import numpy as np

from skvarimp._data.entries import Entry
from skvarimp._data.values import spread_over
from skvarimp._models.forms import NotReadable
from skvarimp._models.links import IDENTITY
from skvarimp._response.contract import Costs, Response
from skvarimp._response.grid import Move
from skvarimp._response.responses.black_box import all_cells
from skvarimp._response.responses.scores import (
    KeptNodes,
    ScoreResponse,
    numeric_values,
)
from skvarimp._response.shapes.basis import coefficients, interpolation, nodes, tail

SIZES = (5, 9, 17, 33, 65, 129)  # numbers of nodes
ROWS, VALUES = 6, 8  # that tell how many nodes a column takes
# How large the last coefficients may be: relative to the largest but the first, on
# average over the rows and in any row; and relative to the output.
VANISHED, VANISHED_ANYWHERE, ROUNDED = 1e-11, 1e-10, 1e-14
EXACT = 1e-11  # difference at observed values, relative to the output
CALL = 50.0  # an interpolated number takes a fiftieth of a prediction, or less


class InterpolatedResponse(ScoreResponse):
    """See the module.

    Parameters
    ----------
    model : Model
    table : Table
        Whose columns tell how many nodes they take.
    """

    path = "interpolated"
    smooth = True

    def __init__(self, model, table):
        few = table.take(spread_over(table.n_samples, ROWS))
        super().__init__(model, IDENTITY, model(few.copy()).shape[1])
        self._kept_nodes = KeptNodes(self)
        columns = range(table.n_columns)
        self.sizes = {j: self._size(table, few, j) for j in columns}
        self._name_rough(table)

    def _size(self, table, few, column):
        """How many nodes a column takes: as many as it has values where they are few,
        and infinitely many where the series does not end.
        """
        values = table.column(column)
        if table.has_levels(column) or not np.isfinite(values).all():
            return np.inf
        values = np.unique(values.astype(np.float64))
        rows, low, high = np.arange(few.n_samples), values[0], values[-1]
        observed = values[spread_over(len(values), VALUES)]
        for n in SIZES:
            if n >= len(values):
                return max(len(values), SIZES[0])
            at = np.concatenate([nodes(low, high, n), observed])
            scores = self._asked(few, rows, [column], at[:, np.newaxis])
            if scores is None:
                return np.inf
            own, scores = scores[..., n:], scores[..., :n]
            gap = own - scores @ interpolation(observed, low, high, n).T
            if has_vanished(scores) and np.abs(gap).max() <= EXACT * np.abs(own).max():
                return n
        return np.inf

    def _asked(self, few, rows, columns, values):
        """Scores, or None where the model refuses a value between the observed ones."""
        try:
            return self.scores_one_by_one(few, rows, columns, values)
        except ValueError:
            return None

    def _name_rough(self, table):
        """Raise NotReadable if no column of many values is interpolated."""
        rough = [j for j, n in self.sizes.items() if n == np.inf]
        if rough:
            self.path += f" ({len(rough)} of {len(self.sizes)} columns by values)"
        if rough and not any(n in SIZES for n in self.sizes.values()):
            name = table.column_names()[rough[0]]
            raise NotReadable(
                f"{SIZES[-1]} Chebyshev nodes of {name!r} are not enough: the response "
                "is not smooth, or an outlier lies far away"
            )

    def serves(self, move):
        """Whether the curves of a move are interpolated."""
        (first, *more) = move.entry.columns
        return not more and self.sizes[first] < move.n_cells

    def scores(self, table, rows, move):
        """See `ScoreResponse.scores`."""
        scores = self.scores_at if self.serves(move) else self.scores_one_by_one
        return scores(table, rows, list(move.entry.columns), numeric_values(move))

    def scores_at(self, table, rows, columns, values):
        """See `ScoreResponse.scores_at`; of a move that is served."""
        (column,), low, high = columns, values.min(), values.max()
        while (n := self.sizes[column]) <= SIZES[-1]:
            at = nodes(low, high, n)[:, np.newaxis]
            scores = self._kept_nodes.scores(table, rows, columns, at)
            if has_vanished(scores):
                basis = interpolation(values[:, 0], low, high, n)
                return np.matmul(scores, basis.T)
            self.sizes[column] = 2 * n - 1
        self.sizes[column] = np.inf
        return self.scores_one_by_one(table, rows, columns, values)

    def scores_one_by_one(self, table, rows, columns, values):
        """As `scores_at`, at each of the values; the model itself says."""
        name = "+".join(np.take(table.column_names(), columns))
        chances, entry = np.ones(len(values)), Entry(name, tuple(columns))
        move = Move(entry, values, None, chances, None, categorical=False)
        each, cells = all_cells(rows, move)
        scores = self.black_box.at(table, each, move, cells)
        return scores.reshape(self.n_scores, len(rows), len(values))

    def shapes(self, table, rows, move, margins):
        """See `Response.shapes`."""
        kind = ScoreResponse if self.serves(move) else Response
        yield from kind.shapes(self, table, rows, move, margins)

    def costs(self):
        """See `Response.costs`; nodes x rows predictions for each column."""
        sizes = np.array(list(self.sizes.values()))
        rough = np.mean(sizes == np.inf)
        n_nodes = sizes[sizes < np.inf].mean() if rough < 1 else 0.0
        row, cell = (1.0 - rough) * n_nodes, rough + (1.0 - rough) / CALL
        return Costs(CALL, CALL * row, CALL * cell, CALL)


def has_vanished(scores):
    """Whether the last Chebyshev coefficients of each output are rounding.

    Parameters
    ----------
    scores : ndarray of shape (n_scores, n_rows, n_nodes)
    """
    n = scores.shape[-1]
    series = np.abs(scores @ coefficients(n))
    last, largest = series[..., tail(n)].max(axis=2), series[..., 1:].max(axis=2)
    rounding = ROUNDED * np.abs(scores).max()
    on_average = last.mean(axis=1) <= VANISHED * largest.mean(axis=1) + rounding
    anywhere = last.max(axis=1) <= VANISHED_ANYWHERE * largest.max(axis=1) + rounding
    return bool(np.all(on_average & anywhere))
