"""Responses at Chebyshev nodes: kernel machines, and smooth models that are asked.

As one column moves from its smallest to its largest value, a smooth output is a series
of Chebyshev polynomials whose coefficients fall exponentially. It is evaluated at n
Chebyshev nodes, and its other values follow by interpolation, exact to rounding.

Kernel machines are link(sum_m dual[q, m] k(x, s_m) + b_q): the kernel tells n, and the
form gives the scores at the nodes. Of other models nothing is read: the model itself is
asked at the nodes, and n is enough once the last coefficients have vanished. Columns of
fewer values than nodes, groups of columns, and columns along which the series does not
end within 129 nodes are moved value by value.
"""

import numpy as np

from skvarimp._data.base_table import spread_over
from skvarimp._data.table import Entry
from skvarimp._models.forms import NotReadable
from skvarimp._models.links import IDENTITY
from skvarimp._response.basis import (
    coefficients,
    interpolation,
    nodes,
    tail,
)
from skvarimp._response.coalitions import SmoothCoalitions
from skvarimp._response.contract import Costs, Response, all_cells
from skvarimp._response.grid import Move
from skvarimp._response.responses.scores import KeptNodes, ScoreResponse, numeric_values
from skvarimp._running.guards import OverBudget
from skvarimp._running.memory import slices

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
    smooth = asks_model = True
    known_coalitions = SmoothCoalitions

    def __init__(self, model, table):
        few = table.take(spread_over(table.n_samples, ROWS))
        super().__init__(model, IDENTITY, model(few.copy()).shape[1])
        self._kept_nodes = KeptNodes(self)
        columns = range(table.n_columns)
        self.sizes = {j: self._size(table, few, j) for j in columns}
        rough = [j for j, n in self.sizes.items() if n == np.inf]
        if rough:
            self.path += f" ({len(rough)} of {len(self.sizes)} columns by values)"
        if rough and not any(n in SIZES for n in self.sizes.values()):
            name = table.column_names()[rough[0]]
            raise NotReadable(
                f"{SIZES[-1]} Chebyshev nodes of {name!r} are not enough: the response "
                "is not smooth, or an outlier lies far away"
            )

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
        except OverBudget:
            raise
        except ValueError:
            return None

    def serves(self, move):
        """Whether the curves of a move are interpolated."""
        (first, *more) = move.entry.columns
        return not more and self.sizes[first] < move.n_cells

    def scores(self, table, rows, move):
        scores = self.scores_at if self.serves(move) else self.scores_one_by_one
        return scores(table, rows, list(move.entry.columns), numeric_values(move))

    def scores_at(self, table, rows, columns, values):
        """Ask at the nodes; the move must be one that is served."""
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
        """Ask the model itself at each of the values."""
        name = "+".join(np.take(table.column_names(), columns))
        chances, entry = np.ones(len(values)), Entry(name, tuple(columns))
        move = Move(entry, values, None, chances, None, categorical=False)
        each, cells = all_cells(rows, move)
        scores = self.black_box.at(table, each, move, cells)
        return scores.reshape(self.n_scores, len(rows), len(values))

    def shapes(self, table, rows, move, margins):
        kind = ScoreResponse if self.serves(move) else Response
        yield from kind.shapes(self, table, rows, move, margins)

    def mean_curves(self, table, rows, weights, move, base):
        """Of several columns from the means at all combinations of their nodes."""
        columns, values = list(move.entry.columns), numeric_values(move)
        each = [self._nodes(*pair) for pair in zip(columns, values.T)]
        shape = [len(at) for at, _ in each]
        if len(columns) < 2 or np.prod(shape, dtype=float) >= move.n_cells:
            return super().mean_curves(table, rows, weights, move, base)
        at = np.stack(np.meshgrid(*(at for at, _ in each), indexing="ij"), axis=-1)
        at, seen = at.reshape(-1, len(columns)), spread_over(move.n_cells, VALUES)

        def over_cells(scores):
            (_, basis), *others = each
            found = np.tensordot(scores.reshape(-1, *shape), basis, [1, 1])
            for _, basis in others:
                found = np.einsum("on...k,kn->o...k", found, basis)
            return found

        for row in rows[spread_over(len(rows), ROWS)]:
            both = np.concatenate([at, values[seen]])
            scores = self.scores_one_by_one(table, np.array([row]), columns, both)
            found = over_cells(scores[:, 0, : len(at)])[:, seen]
            gap = np.abs(found - scores[:, 0, len(at) :]).max()
            if gap > EXACT * np.abs(scores).max():
                return super().mean_curves(table, rows, weights, move, base)
        means = np.zeros((self.n_scores, len(at)))
        for part in slices(len(rows), len(at) * self.n_scores):
            scores = self.scores_one_by_one(table, rows[part], columns, at)
            means += np.einsum("oik,i->ok", scores, weights[part])
        return over_cells(means) - (base @ weights)[:, np.newaxis]

    def _nodes(self, column, values):
        """Nodes of a column's values, and the basis (n_values, n_nodes) from them."""
        distinct, size = np.unique(values), self.sizes[column]
        if len(distinct) <= size:
            return distinct, (values[:, np.newaxis] == distinct).astype(np.float64)
        n, low, high = tail(size).start, distinct[0], distinct[-1]
        return nodes(low, high, n), interpolation(values, low, high, n)

    def n_nodes(self, entry):
        """At how many joint nodes of its columns an entry's mean curve is asked for."""
        sizes = [int(min(self.sizes[j], 1e6)) for j in entry.columns]
        return np.prod([tail(size).start for size in sizes], dtype=float)

    def costs(self):
        """Nodes x rows predictions for each column."""
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
