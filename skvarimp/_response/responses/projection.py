"""Models that see X through a few weighted sums of its columns: head(X W + b).

With W (n_columns, n_units), moving the columns J of row i from x_iJ to v changes its
sums by (v - x_iJ) W_J and nothing else. Such models are linear ones, and multilayer
perceptrons, whose first layer alone sees the moved columns.
"""

import numpy as np

from skvarimp._models.array_forms import ACTIVATIONS
from skvarimp._response.basis import (
    interpolation,
    logistic_nodes,
    nodes,
    tanh_nodes,
)
from skvarimp._response.contract import Costs
from skvarimp._response.responses.scores import (
    TYPICAL_NODES,
    ScoreResponse,
    own_values,
)
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
