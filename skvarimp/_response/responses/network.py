"""Multilayer perceptrons: only the first layer sees the moved columns."""

from functools import partial

import numpy as np

from skvarimp._compiled import use_compiled
from skvarimp._models.array_forms import ACTIVATIONS
from skvarimp._models.links import IDENTITY
from skvarimp._response.costs import Costs
from skvarimp._response.reductions.reductions import SquaredError
from skvarimp._response.responses.projection import ProjectionResponse
from skvarimp._response.responses.scores import TYPICAL_NODES, numeric_values
from skvarimp._response.shapes.basis import (
    cosine_nodes,
    interpolation,
    logistic_nodes,
    nodes,
    tanh_nodes,
)
from skvarimp._response.shapes.line import KinkedCurves, kinked_curves
from skvarimp._running.memory import at_once

NODES = {"tanh": tanh_nodes, "logistic": logistic_nodes, "cosine": cosine_nodes}


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
        """See `ProjectionResponse.head`."""
        activate = ACTIVATIONS[self.activation]
        for W, b in self.layers:
            sums = activate(sums) @ W
            sums += b
        return np.moveaxis(sums, -1, 0)

    def moved_scores(self, others, weights, values):
        """See `ProjectionResponse.moved_scores`."""
        one_column = len(weights) == 1 and len(self.layers) == 1
        if not one_column or len(values) < self.LEAST_CELLS:
            return super().moved_scores(others, weights, values)
        if self.activation == "relu":
            W, b = self.layers[0]
            return kinked_curves(others, weights[0], values[:, 0], W, b)
        return self._smooth_scores(others, weights, values)

    def offers(self, n_cells):
        """See `ScoreResponse.offers`; squares between kinks are compiled."""
        kinked = self.activation == "relu" and len(self.layers) == 1
        if kinked and self.link is IDENTITY and n_cells >= self.LEAST_CELLS:
            return {"moments"} if use_compiled() else set()
        return super().offers(n_cells)

    def evaluations_for(self, reduction, n_rows, n_cells):
        """See `Response.evaluations_for`; with kinks, squares alone need no values."""
        if self.smooth or isinstance(reduction, SquaredError):
            return super().evaluations_for(reduction, n_rows, n_cells)
        return self.evaluations(n_rows, n_cells)

    def shapes(self, table, rows, move, margins):
        """See `Response.shapes`; lines between kinks of one rectified layer."""
        columns = list(move.entry.columns)
        kinked = not self.smooth and self.offers(move.n_cells)
        if not (kinked and len(columns) == 1 and self.changes(move)):
            yield from super().shapes(table, rows, move, margins)
            return
        slopes, values = self.weights[columns[0]], numeric_values(move)[:, 0]
        for part, of_part in margins.parts(at_once(len(slopes))):
            others = self.others(table, rows[part], columns)
            parts = partial(self.dense, table, rows[part], move, of_part)
            yield KinkedCurves(of_part, parts, others, slopes, values, *self.layers[0])

    def _smooth_scores(self, others, weights, values):
        """A smooth hidden layer: Chebyshev nodes where they are fewer than cells."""
        low, high = values.min(), values.max()
        steepest = np.abs(weights).max() * (high - low) / 2.0
        n = max(NODES[self.activation](max(steepest, 1e-3)), 2)
        if n >= len(values):
            return super().moved_scores(others, weights, values)
        at = nodes(low, high, n)[:, np.newaxis]
        scores = super().moved_scores(others, weights, at)
        return np.matmul(scores, interpolation(values[:, 0], low, high, n).T)

    def mean_curves(self, table, rows, weights, move, base):
        """See `Response.mean_curves`."""
        mean = self.mean_of_pair(table, rows, weights, move, base)
        if mean is not None:
            return mean
        return super().mean_curves(table, rows, weights, move, base)

    def costs(self):
        """See `Response.costs`."""
        n_columns, n_units = self.weights.shape
        head = sum(0.005 * W.size + 0.15 * len(W) for W, _ in self.layers)
        call = 15.0 + 0.025 * n_columns * n_units + head
        if len(self.layers) > 1:
            return Costs(call, 0.0, head + 1.0)
        if self.activation == "relu":  # a kink for each unit, not a pass for each value
            return Costs(call, n_units, 1.5)
        return Costs(call, TYPICAL_NODES * head, 1.25)
