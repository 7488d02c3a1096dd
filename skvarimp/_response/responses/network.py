"""Multilayer perceptrons: only the first layer sees the moved columns."""

import numpy as np

from skvarimp._models.links import (
    EXPONENTIAL,
    IDENTITY,
    LOGISTIC,
    LargestScore,
    PositiveScore,
    Softmax,
    logistic,
)
from skvarimp._response.lowering import NotLowerable
from skvarimp._response.responses.linear import LinearResponse
from skvarimp._response.responses.projection import ProjectionResponse
from skvarimp._response.responses.scores import dense, refuse_unless_double
from skvarimp._response.shapes.chebyshev import (
    interpolation,
    logistic_nodes,
    nodes,
    tanh_nodes,
)
from skvarimp._response.shapes.kinks import kinked_curves


def lower_perceptron(model, table):
    """The response of MLPRegressor and MLPClassifier."""
    estimator = model.estimator
    refuse_unless_double(table, estimator.coefs_[0])
    weights = [dense(W) for W in estimator.coefs_]
    biases = [dense(b) for b in estimator.intercepts_]
    link = _link(model, estimator, len(biases[-1]))
    if estimator.activation == "identity" or len(weights) == 1:
        W, b = weights[0], biases[0]
        for V, c in zip(weights[1:], biases[1:]):
            W, b = W @ V, b @ V + c
        return LinearResponse(model, link, W, b)
    return NetworkResponse(model, link, weights, biases, estimator.activation)


def _link(model, estimator, n_scores):
    output = estimator.out_activation_
    if model.method == "predict" and model.classifier:
        return LargestScore() if output == "softmax" else PositiveScore()
    if output == "logistic" and n_scores == 2:
        raise NotLowerable("two labels look like the probabilities of two classes")
    links = {
        "identity": IDENTITY,
        "exp": EXPONENTIAL,
        "logistic": LOGISTIC,
        "softmax": Softmax(),
    }
    return links[output]


def _rectify(x):
    return np.maximum(x, 0.0, out=x)


def _tanh(x):
    return np.tanh(x, out=x)


ACTIVATIONS = {"relu": _rectify, "tanh": _tanh, "logistic": logistic}
NODES = {"tanh": tanh_nodes, "logistic": logistic_nodes}


class NetworkResponse(ProjectionResponse):
    """link(W_L a_(L-1) + b_L), a_l = activation(W_l a_(l-1) + b_l).

    Parameters
    ----------
    model, link : see `ScoreResponse`
    weights : list of ndarray of shape (n_in, n_out)
    biases : list of ndarray of shape (n_out,)
    activation : {"relu", "tanh", "logistic"}
    """

    path = "network"

    LEAST_CELLS = 16  # fewer are evaluated one by one

    def __init__(self, model, link, weights, biases, activation):
        super().__init__(model, link, len(biases[-1]), weights[0], biases[0])
        self.activation = activation
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

    def evaluations(self, n_rows, n_cells):
        """See `Response.evaluations`; measured times in microseconds, roughly."""
        n_columns, n_units = self.weights.shape
        rest = sum(0.0001 * W.size + 0.003 * len(W) for W, _ in self.layers)
        of_model = 0.3 + 0.0005 * n_columns * n_units + rest
        curve = n_cells * rest
        if len(self.layers) == 1 and n_cells >= self.LEAST_CELLS:
            if self.activation == "relu":
                curve = 0.02 * n_units + 0.01 * n_cells
            else:
                curve = min(n_cells, 60) * rest + 0.005 * n_cells
        return n_rows * (curve + 0.02 * n_cells) / of_model
