"""The response of multilayer perceptrons."""

import numpy as np

from skvarimp._models.array_forms import ACTIVATIONS
from skvarimp._models.links import any_close
from skvarimp._response.responses.few_values import FewValuesTasks
from skvarimp._response.responses.projections import ProjectionResponse
from skvarimp._running.memory import CACHE, slices


class NetworkResponse(ProjectionResponse):
    """link(W_L a_(L-1) + b_L), a_l = activation(W_l a_(l-1) + b_l).

    Parameters
    ----------
    model : Model
    form : Layers
    """

    path = "network"

    reads_cells = True
    LEAST_CELLS = 16  # fewer are evaluated one by one

    def __init__(self, model, form):
        weights, biases = form.weights, form.biases
        super().__init__(model, form.link, len(biases[-1]), weights[0], biases[0])
        self.activation = form.activation
        self.layers = list(zip(weights[1:], biases[1:]))

    def head(self, sums):
        activate = ACTIVATIONS[self.activation]
        for W, b in self.layers:
            sums = activate(sums) @ W
            sums += b
        return np.moveaxis(sums, -1, 0)

    @property
    def kinked(self):
        """Whether curves of one column are known by their kinks."""
        return self.activation == "relu" and len(self.layers) == 1

    def moved_scores(self, others, columns, values):
        few = len(columns) > 1 or len(values) < self.LEAST_CELLS
        if few or not self.kinked:
            return super().moved_scores(others, columns, values)
        weights = self.weights[columns[0]]
        return kinked_curves(others, weights, values[:, 0], *self.layers[0])

    def curves_of_few_values(self, rows, few):
        """Curves of all rows for sparse columns that take few values.

        Parameters
        ----------
        rows : Rows
            All of the table.
        few : FewValues

        Returns
        -------
        ndarray of shape (n_columns, n_outputs, n_rows, n_cells) or None
            None: the link is in doubt somewhere.
        """
        base, sums, used = rows.base, self.sums(rows), self.used[few.columns]
        weights, values = self.weights[few.columns], few.values
        n_columns, n_cells = values.shape
        curves = np.empty((n_columns, *base.shape, n_cells))
        # rows that hold 0, one value after another
        for part in slices(n_columns, sums.size, CACHE):
            for k in range(n_cells):
                if np.all(few.zero[part] == k):
                    continue  # where they are
                added = values[part, k, np.newaxis] * weights[part]
                moved = self._linked_sums(sums + added[:, np.newaxis])
                if moved is None:
                    return None
                curves[part, :, :, k] = np.moveaxis(moved, 0, 1)
        # the others
        for part in slices(len(few.row), n_cells * sums.shape[1], CACHE):
            at, row = few.column[part], few.row[part]
            own = np.take_along_axis(values[at], few.codes[at, row, np.newaxis], 1)
            others = sums[row] - own * weights[at]
            added = values[at, :, np.newaxis] * weights[at, np.newaxis]
            moved = self._linked_sums(others[:, np.newaxis] + added)
            if moved is None:
                return None
            curves[at, :, row] = np.moveaxis(moved, 0, 1)
        own = few.codes[:, np.newaxis, :, np.newaxis]
        unmoved = np.broadcast_to(base[..., np.newaxis], (*curves.shape[:3], 1))
        np.put_along_axis(curves, np.broadcast_to(own, unmoved.shape), unmoved, axis=3)
        curves[~used] = base[..., np.newaxis]
        return curves

    def _linked_sums(self, sums):
        """Outputs (n_outputs, ...) of sums (..., n_units); None where in doubt."""
        with np.errstate(over="ignore"):
            outputs, close = self.link(self.head(sums))
            total = outputs.sum()
        doubtful = any_close(close)
        in_doubt = doubtful is not None and doubtful.any()
        return None if in_doubt or not np.isfinite(total) else outputs

    def tasks(self, walk):
        return FewValuesTasks(self, walk)

    @property
    def _head_cost(self):
        return sum(0.005 * W.size + 0.15 * len(W) for W, _ in self.layers)

    def call_cost(self):
        return 15.0 + 0.025 * self.weights.size + self._head_cost + self.outputs_cost

    def row_cost(self, n_cells, grouped=False):
        if self.kinked:  # a kink for each unit, not a pass for each value
            return len(self.intercept) + n_cells * (1.5 + self.outputs_cost)
        return n_cells * (self._head_cost + 1.0 + self.outputs_cost)


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
