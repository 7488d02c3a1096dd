"""Gradients of multilayer perceptrons by backward accumulation."""

import numpy as np
from scipy.special import expit

from skvarimp._models.gradients.formulas import (
    Formula,
    NoFormula,
    exponential,
    logistic,
    multinomial,
)

# Activation and its derivative as a function of the activation's own value.
ACTIVATIONS = {
    "identity": (lambda z: z, np.ones_like),
    "logistic": (expit, lambda a: a * (1.0 - a)),
    "tanh": (np.tanh, lambda a: 1.0 - a * a),
    "relu": (lambda z: np.maximum(z, 0.0), lambda a: (a > 0.0).astype(np.float64)),
}
OUTPUT_LINKS = {
    "identity": lambda eta, slopes: (eta, slopes),
    "logistic": logistic,
    "softmax": multinomial,
    "exp": exponential,
}


class Perceptron(Formula):
    """link(W_L a_(L-1) + b_L), a_l = activation(W_l a_(l-1) + b_l), a_0 = x.

    Parameters
    ----------
    weights : list of ndarray of shape (n_in, n_out)
    biases : list of ndarray of shape (n_out,)
    activation, output : str
        Names in `ACTIVATIONS` and `OUTPUT_LINKS`.
    """

    def __init__(self, weights, biases, activation, output):
        self.single_precision = weights[0].dtype == np.float32
        self.weights = [np.asarray(W, dtype=np.float64) for W in weights]
        self.biases = [np.asarray(b, dtype=np.float64) for b in biases]
        self.activate, self.derivative = ACTIVATIONS[activation]
        self.link = OUTPUT_LINKS[output]
        n_outputs = self.weights[-1].shape[1]
        units = [len(W) for W in self.weights]
        # values of all layers, the two widest slopes, a link's temporaries
        self.elements_per_row = sum(units) + n_outputs * (2 * max(units) + 3 * units[0])

    def score_and_gradient(self, X):
        """See `Formula.score_and_gradient`."""
        layers = [X]
        for W, b in zip(self.weights[:-1], self.biases[:-1]):
            layers.append(self.activate(layers[-1] @ W + b))
        eta = layers[-1] @ self.weights[-1] + self.biases[-1]
        self.magnitude = (
            np.abs(layers[-1]).max(axis=0) @ np.abs(self.weights[-1])
        ).max()
        # slopes[i, u, o]: derivative of eta_o by the u-th value of the layer
        slopes = np.broadcast_to(self.weights[-1], (len(X), *self.weights[-1].shape))
        for W, values in zip(self.weights[-2::-1], layers[:0:-1]):
            # (n_in, n_out) @ (n_rows, n_out, n_outputs)
            slopes = W @ (slopes * self.derivative(values)[:, :, np.newaxis])
        return self.link(eta, slopes)


def perceptron(estimator, method):
    """The formula of an MLPRegressor or of an MLPClassifier's probabilities."""
    if hasattr(estimator, "classes_") and method != "predict_proba":
        raise NoFormula("predict of MLPClassifier gives labels")
    return Perceptron(
        estimator.coefs_,
        estimator.intercepts_,
        estimator.activation,
        estimator.out_activation_,
    )
