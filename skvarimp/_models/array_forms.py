"""The forms of models that are arrays of weights: additive ones and layers."""

from dataclasses import dataclass, replace

import numpy as np

from skvarimp._data.base_table import dense
from skvarimp._models.affine import affine
from skvarimp._models.forms import BehindSteps, LinkedForm, numbers
from skvarimp._models.links import IDENTITY, NoGradient, logistic


@dataclass(frozen=True, eq=False, kw_only=True)
class Additive(LinkedForm):
    """Scores b + x W + sum_m g_m(x), each g_m a sum over the columns.

    Attributes
    ----------
    intercept : ndarray of shape (n_scores,)
    weights : ndarray of shape (n_columns, n_scores)
        W; 0 for columns that have other parts.
    parts : tuple of callable
        part(X, columns) gives (n_rows, n_scores), the sum over some columns of what
        each adds, which jumps; X holds these columns only.
    """

    intercept: np.ndarray
    weights: np.ndarray
    parts: tuple = ()

    def scores(self, X):
        return self.sums(numbers(X)).T

    def sums(self, X):
        """Scores of numeric rows, (n_rows, n_scores)."""
        return self.steps(X, slice(None)) + self.intercept

    def steps(self, X, columns):
        """What some columns add to the scores; X holds these columns only."""
        result = X @ self.weights[columns]
        for part in self.parts:
            result = result + part(X, columns)
        return result

    def slopes(self, X):
        """For linear scores a read-only view of one row."""
        if self.parts:
            raise NoGradient("its parts jump")
        scores = self.scores(X)
        shape = (*scores.shape, len(self.weights))
        return scores, np.broadcast_to(self.weights.T[:, np.newaxis], shape)

    def magnitude(self, X):
        largest = dense(abs(numbers(X)).max(axis=0))
        return (largest @ np.abs(self.weights) + np.abs(self.intercept)).max()

    @property
    def elements_per_row(self):
        return self.weights.size * (1 if self.link is IDENTITY else 4)

    @property
    def piecewise_constant(self):
        return not self.weights.any()

    @property
    def smooth(self):
        return self.link.smooth and not self.parts

    def after(self, steps):
        if self.parts:
            return None
        return replace(
            self,
            weights=steps.matrix @ self.weights,
            intercept=self.intercept + steps.shift @ self.weights,
        )

    @staticmethod
    def mixed(members, mix):
        if any(form.link is not IDENTITY or form.parts for form in members):
            return None
        weights = np.hstack([form.weights for form in members])
        intercept = np.concatenate([form.intercept for form in members])
        return replace(
            members[0],
            intercept=mix(intercept[:, np.newaxis])[0][:, 0],
            weights=mix.chain(None, weights.T).T,
            single=any(form.single for form in members),
        )


ACTIVATIONS = {
    "identity": lambda z: z,
    "relu": lambda z: np.maximum(z, 0.0, out=z),
    "tanh": lambda z: np.tanh(z, out=z),
    "logistic": logistic,
}
# Their derivatives, as functions of the activation's own value.
DERIVATIVES = {
    "identity": np.ones_like,
    "relu": lambda a: (a > 0.0).astype(np.float64),
    "tanh": lambda a: 1.0 - a * a,
    "logistic": lambda a: a * (1.0 - a),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Layers(LinkedForm):
    """Scores W_L a_(L-1) + b_L with a_l = activation(W_l a_(l-1) + b_l), a_0 = x.

    Attributes
    ----------
    weights : list of ndarray of shape (n_in, n_out)
    biases : list of ndarray of shape (n_out,)
    activation : {"identity", "relu", "tanh", "logistic"}
    """

    weights: list
    biases: list
    activation: str

    def _values(self, X):
        """The values of all layers but the last, and the scores."""
        activate = ACTIVATIONS[self.activation]
        layers = [numbers(X)]
        for W, b in zip(self.weights[:-1], self.biases[:-1]):
            layers.append(activate(layers[-1] @ W + b))
        return layers, (layers[-1] @ self.weights[-1] + self.biases[-1]).T

    def scores(self, X):
        return self._values(X)[1]

    def slopes(self, X):
        """By backward accumulation."""
        layers, scores = self._values(X)
        derivative = DERIVATIVES[self.activation]
        W = self.weights[-1]
        slopes = np.broadcast_to(W.T[:, np.newaxis], (*scores.shape, len(W)))
        for W, values in zip(self.weights[-2::-1], layers[:0:-1]):
            # (n_scores, n_rows, n_out) @ (n_out, n_in)
            slopes = (slopes * derivative(values)) @ W.T
        return scores, slopes

    @property
    def smooth(self):
        return self.link.smooth and self.activation != "relu"

    def magnitude(self, X):
        layers, _ = self._values(X)
        return (abs(layers[-1]) @ np.abs(self.weights[-1])).max()

    @property
    def elements_per_row(self):
        """All layers, the two widest slopes, a link's temporaries."""
        units = [len(W) for W in self.weights]
        return sum(units) + self.weights[-1].shape[1] * (2 * max(units) + 3 * units[0])

    def after(self, steps):
        W, b = self.weights[0], self.biases[0]
        return replace(
            self,
            weights=[steps.matrix @ W, *self.weights[1:]],
            biases=[b + steps.shift @ W, *self.biases[1:]],
        )

    def collapsed(self):
        """The linear form of layers without a bend; None if they have one."""
        if self.activation != "identity" and len(self.weights) > 1:
            return None
        W, b = self.weights[0], self.biases[0]
        for V, c in zip(self.weights[1:], self.biases[1:]):
            W, b = W @ V, b @ V + c
        return Additive(weights=W, intercept=b, link=self.link, single=self.single)


def linear_part(form, n_columns):
    """The linear `Additive` form that a form of n_columns columns is, or None.

    Affine steps in front are multiplied in. Layers are never linear here, even without
    a bend: their coefficients are products of weights. Other steps raise NotAffine.
    """
    if isinstance(form, BehindSteps):
        steps = affine(form.steps, n_columns)
        inner = linear_part(form.form, steps.matrix.shape[1])
        return None if inner is None else inner.after(steps)
    return form if isinstance(form, Additive) and not form.parts else None
