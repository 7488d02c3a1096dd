"""Responses that are smooth in a column: of networks, and of models that are asked.

Multilayer perceptrons see X through a few weighted sums of its columns, head(X W + b).
With W (n_columns, n_units), moving the columns J of row i from x_iJ to v changes its
sums by (v - x_iJ) W_J and nothing else. Linear models are of this form, too.

As one column moves from its smallest to its largest value, a smooth output is a series
of Chebyshev polynomials whose coefficients fall exponentially. It is evaluated at n
Chebyshev nodes, and its other values follow by interpolation, exact to rounding.

Of kernel machines (see `scores`) the kernel tells n, and of networks the activation.
Of other models nothing is read: the model itself is asked at the nodes, and n is enough
once the last coefficients have vanished. Columns of fewer values than nodes, groups of
columns, and columns along which the series does not end within 129 nodes are moved
value by value.
"""

import numpy as np

from skvarimp._data.base_table import spread_over
from skvarimp._data.table import Feature
from skvarimp._models.array_forms import ACTIVATIONS
from skvarimp._models.forms import NotReadable
from skvarimp._models.links import IDENTITY
from skvarimp._response.basis import (
    coefficients,
    interpolation,
    logistic_nodes,
    nodes,
    tail,
    tanh_nodes,
)
from skvarimp._response.coalitions import SmoothCoalitions
from skvarimp._response.contract import Costs, Response, all_cells
from skvarimp._response.grid import Move
from skvarimp._response.responses.scores import (
    TYPICAL_NODES,
    KeptNodes,
    ScoreResponse,
    numeric_values,
    own_values,
)
from skvarimp._running.guards import OverBudget
from skvarimp._running.memory import CACHE, Memo, slices, working_bytes

NODES = {"tanh": tanh_nodes, "logistic": logistic_nodes}


class ProjectionResponse(ScoreResponse):
    """link(head(X W + b)); a subclass implements `head`.

    Parameters
    ----------
    model, link, n_scores : see `ScoreResponse`
    weights : ndarray of shape (n_columns, n_units)
    intercept : ndarray of shape (n_units,)
    """

    def __init__(self, model, link, n_scores, weights, intercept):
        super().__init__(model, link, n_scores)
        self.weights, self.intercept = weights, intercept
        self.used = weights.any(axis=1)
        self._sums = Memo(travels=True)

    def sums(self, table, rows):
        """X W + b of some rows, (n_rows, n_units); computed once per table."""
        if 8 * table.n_samples * len(self.intercept) > working_bytes() / 2:
            return table.take(rows).numeric() @ self.weights + self.intercept

        def make():
            return table.numeric() @ self.weights + self.intercept

        return self._sums.get(table, make)[rows]

    def scores_at(self, table, rows, columns, values):
        others = self.others(table, rows, columns)
        return self.moved_scores(others, columns, values)

    def added(self, values, columns):
        """What some columns add to the units' sums, (n_values, n_units)."""
        return values @ self.weights[columns]

    def others(self, table, rows, columns):
        """The units' sums but for what some columns add, (n_rows, n_units)."""
        own = self.added(own_values(table, rows, columns), columns)
        return self.sums(table, rows) - own

    def moved_scores(self, others, columns, values):
        """Scores of moved rows.

        result[q, i, k] = head_q(others[i] + added(values[k]))

        Parameters
        ----------
        others : ndarray of shape (n_rows, n_units)
            The rows' sums without the moved columns.
        columns : list of int
        values : ndarray of shape (n_cells, len(columns))

        Returns
        -------
        ndarray of shape (n_scores, n_rows, n_cells)
        """
        added = self.added(values, columns)
        scores = np.empty((self.n_scores, len(others), len(values)))
        for part in slices(len(others), added.size, CACHE):
            scores[:, part] = self.head(others[part, np.newaxis] + added)
        return scores

    def head(self, sums):
        """Scores (n_scores, ...) of sums (..., n_units), which may be overwritten."""
        raise NotImplementedError


class NetworkResponse(ProjectionResponse):
    """link(W_L a_(L-1) + b_L), a_l = activation(W_l a_(l-1) + b_l).

    Parameters
    ----------
    model : Model
    form : Layers
    """

    path = "network"

    LEAST_CELLS = 16  # fewer are evaluated one by one

    def __init__(self, model, form):
        weights, biases = form.weights, form.biases
        super().__init__(model, form.link, len(biases[-1]), weights[0], biases[0])
        self.activation = form.activation
        self.smooth = form.activation in NODES
        self.layers = list(zip(weights[1:], biases[1:]))

    def head(self, sums):
        activate = ACTIVATIONS[self.activation]
        for W, b in self.layers:
            sums = activate(sums) @ W
            sums += b
        return np.moveaxis(sums, -1, 0)

    def moved_scores(self, others, columns, values):
        """One hidden layer is interpolated."""
        one_column = len(columns) == 1 and len(self.layers) == 1
        if not one_column or len(values) < self.LEAST_CELLS:
            return super().moved_scores(others, columns, values)
        weights = self.weights[columns[0]]
        if self.activation == "relu":
            return kinked_curves(others, weights, values[:, 0], *self.layers[0])
        low, high = values.min(), values.max()
        steepest = np.abs(weights).max() * (high - low) / 2.0
        n = max(NODES[self.activation](max(steepest, 1e-3)), 2)
        if n >= len(values):
            return super().moved_scores(others, columns, values)
        at = nodes(low, high, n)[:, np.newaxis]
        scores = super().moved_scores(others, columns, at)
        return np.matmul(scores, interpolation(values[:, 0], low, high, n).T)

    def costs(self):
        n_columns, n_units = self.weights.shape
        head = sum(0.005 * W.size + 0.15 * len(W) for W, _ in self.layers)
        call = 15.0 + 0.025 * n_columns * n_units + head
        if len(self.layers) > 1:
            return Costs(call, 0.0, head + 1.0)
        if self.activation == "relu":  # a kink for each unit, not a pass for each value
            return Costs(call, n_units, 1.5)
        return Costs(call, TYPICAL_NODES * head, 1.25)


def kinked_curves(others, slopes, values, output, bias):
    """bias[q] + sum_h output[h, q] max(0, others[i, h] + slopes[h] values[k]).

    Unit h of a row is 0 on one side of its kink and a line on the other. Between sorted
    kinks the sum is one line, whose slope and intercept are running sums: a row's curve
    takes O(h log h + n_cells) and not O(h n_cells).

    Parameters
    ----------
    others : ndarray of shape (n_rows, n_units)
    slopes : ndarray of shape (n_units,)
    values : ndarray of shape (n_cells,)
        In any order.
    output : ndarray of shape (n_units, n_scores)
    bias : ndarray of shape (n_scores,)

    Returns
    -------
    ndarray of shape (n_scores, n_rows, n_cells)
    """
    moves = slopes != 0
    fixed = np.maximum(others[:, ~moves], 0.0) @ output[~moves] + bias
    others, slopes, output = others[:, moves], slopes[moves], output[moves]
    order = np.argsort(values)
    middle = (values[order[0]] + values[order[-1]]) / 2.0
    ascending = values[order] - middle  # around 0: large terms would cancel
    others = others + slopes * middle
    kinks = -others / slopes
    by_kink = np.argsort(kinks, axis=1)
    at = by_kink + len(slopes) * np.arange(len(others))[:, np.newaxis]
    cells = np.searchsorted(ascending, kinks.ravel().take(at))
    n_rows, n_cells = len(others), len(values)
    ends = np.full((n_rows, 1), n_cells)
    counts = np.diff(np.concatenate([0 * ends, cells, ends], axis=1), axis=1).ravel()
    curves = np.empty((len(bias), n_rows, n_cells))
    for curve, weight, level in zip(curves, output.T, fixed.T):
        # rising units start at their kink, falling ones end there
        rising = weight * np.sign(slopes)
        falling = np.where(slopes < 0, weight, 0.0)
        turns, jumps = (rising * slopes)[by_kink], (others * rising).ravel().take(at)
        slope = np.insert(turns, 0, (falling * slopes).sum(), axis=1).cumsum(axis=1)
        level = np.insert(jumps, 0, level + others @ falling, axis=1).cumsum(axis=1)
        curve.ravel()[:] = np.repeat(slope.ravel(), counts)
        curve *= ascending
        curve.ravel()[:] += np.repeat(level.ravel(), counts)
    in_order = np.array_equal(order, np.arange(n_cells))
    return curves if in_order else curves[:, :, np.argsort(order)]


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
        (first, *more) = move.feature.columns
        return not more and self.sizes[first] < move.n_cells

    def scores(self, table, rows, move):
        scores = self.scores_at if self.serves(move) else self.scores_one_by_one
        return scores(table, rows, list(move.feature.columns), numeric_values(move))

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
        chances, feature = np.ones(len(values)), Feature(name, tuple(columns))
        move = Move(feature, values, None, chances, None, categorical=False)
        each, cells = all_cells(rows, move)
        scores = self.black_box.at(table, each, move, cells)
        return scores.reshape(self.n_scores, len(rows), len(values))

    def shapes(self, table, rows, move, margins):
        kind = ScoreResponse if self.serves(move) else Response
        yield from kind.shapes(self, table, rows, move, margins)

    def mean_curves(self, table, rows, weights, move, base):
        """Of several columns from the means at all combinations of their nodes."""
        columns, values = list(move.feature.columns), numeric_values(move)
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

    def n_nodes(self, feature):
        """At how many joint nodes of its columns a mean curve is asked for."""
        sizes = [int(min(self.sizes[j], 1e6)) for j in feature.columns]
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
