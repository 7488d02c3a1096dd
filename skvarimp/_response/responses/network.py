"""Multilayer perceptrons: only the first layer sees the moved columns."""

import numpy as np

from skvarimp._models.array_forms import ACTIVATIONS
from skvarimp._response.costs import Costs
from skvarimp._response.responses.projection import ProjectionResponse
from skvarimp._response.responses.scores import TYPICAL_NODES
from skvarimp._response.shapes.chebyshev import (
    cosine_nodes,
    interpolation,
    logistic_nodes,
    nodes,
    tanh_nodes,
)
from skvarimp._response.shapes.kinks import kinked_curves

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
