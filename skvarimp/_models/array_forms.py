"""The forms of models that are arrays: additive, kernel sums, layers."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from skvarimp._models.affine import NotAffine, affine
from skvarimp._models.forms import BehindSteps, LinkedForm, numbers
from skvarimp._models.kernels.terms import Polynomial, Sigmoid, Vectors
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
        each adds; X holds these columns only. `part.slopes(X)` gives
        (n_scores, n_rows, n_columns).
    """

    intercept: np.ndarray
    weights: np.ndarray
    parts: tuple = ()

    def scores(self, X):
        """See `Form.scores`."""
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
        """See `LinkedForm.slopes`; for linear scores a read-only view of one row."""
        scores = self.scores(X)
        shape = (*scores.shape, len(self.weights))
        slopes = np.broadcast_to(self.weights.T[:, np.newaxis], shape)
        for part in self.parts:
            slopes = slopes + part.slopes(_dense(X))
        return scores, slopes

    def magnitude(self, X):
        """See `Form.magnitude`."""
        largest = abs(numbers(X)).max(axis=0)
        largest = largest.toarray() if sparse.issparse(largest) else largest
        return (largest @ np.abs(self.weights) + np.abs(self.intercept)).max()

    @property
    def elements_per_row(self):
        """See `Form`."""
        return self.weights.size * (1 if self.link is IDENTITY else 4)

    @property
    def piecewise_constant(self):
        """See `Form`."""
        steps = all(part.piecewise_constant for part in self.parts)
        return steps and not self.weights.any()

    @property
    def is_linear(self):
        """Whether the response is linear in X."""
        return self.link is IDENTITY and not self.parts

    def after(self, steps):
        """See `Form.after`."""
        if self.parts:
            return None
        return replace(
            self,
            weights=steps.matrix @ self.weights,
            intercept=self.intercept + steps.shift @ self.weights,
        )

    @staticmethod
    def summed(members, weights, shift):
        """See `Form.summed`."""
        if any(member.link is not IDENTITY for member in members):
            return None
        pairs = list(zip(members, weights))
        return replace(
            members[0],
            intercept=sum(w * m.intercept for m, w in pairs) + shift,
            weights=sum(w * m.weights for m, w in pairs),
            parts=tuple(part.times(w) for m, w in pairs for part in m.parts),
            single=any(member.single for member in members),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelSum(LinkedForm):
    """Scores sum_m dual[q, m] k(x, s_m) + b_q.

    Attributes
    ----------
    terms : list
        k as a sum of terms, see `kernels/terms.py`.
    support : ndarray or sparse array of shape (n_support, n_columns)
    dual : ndarray of shape (n_scores, n_support)
    intercept : ndarray of shape (n_scores,)
    by_products : bool
        Whether the model itself takes squared distances by products.
    """

    terms: list
    support: object
    dual: np.ndarray
    intercept: np.ndarray
    by_products: bool = False

    def _kernel(self, X):
        X, S = Vectors(X), Vectors(self.support_like(X))
        return sum(term.whole(X, S) for term in self.terms)

    def support_like(self, X):
        """The support vectors in the kind of array that X is."""
        if sparse.issparse(X):
            return sparse.csr_array(self.support)
        support = self.support
        support = support.toarray() if sparse.issparse(support) else support
        return np.asarray(support, dtype=np.float64)

    def scores(self, X):
        """See `Form.scores`."""
        return (self._kernel(numbers(X)) @ self.dual.T + self.intercept).T

    def slopes(self, X):
        """See `LinkedForm.slopes`."""
        X = _dense(X)
        S = self.support_like(X)
        slopes = np.zeros((len(self.dual), *X.shape))
        for term in self.terms:
            for slope in term.slopes(Vectors(X), Vectors(S)):
                for o, alpha in enumerate(self.dual):
                    pairs = slope.pairs * alpha
                    direction = pairs @ S
                    if slope.shifted:
                        direction = direction - pairs.sum(axis=1)[:, np.newaxis] * X
                    slopes[o] += direction * slope.factor
        return self.scores(X), slopes

    def magnitude(self, X):
        """See `Form.magnitude`."""
        return (np.abs(self._kernel(numbers(X))) @ np.abs(self.dual).T).max()

    @property
    def elements_per_row(self):
        """See `Form`."""
        n_support, n_columns = self.support.shape
        return 6 * n_support + 3 * n_columns * len(self.dual)

    def after(self, steps):
        """See `Form.after`; kernels of inner products see x A + b through A s and b's.

        (x A + b)'s = x (A s) + b's
        """
        if not all(isinstance(term, Polynomial | Sigmoid) for term in self.terms):
            return None
        S = self.support_like(np.empty(0))
        shifted = S @ steps.shift
        terms = [
            replace(term, offset=term.offset + term.gamma * shifted)
            for term in self.terms
        ]
        return replace(self, terms=terms, support=(steps.matrix @ S.T).T)


ACTIVATIONS = {
    "identity": lambda z: z,
    "relu": lambda z: np.maximum(z, 0.0, out=z),
    "tanh": lambda z: np.tanh(z, out=z),
    "logistic": logistic,
    "cosine": lambda z: np.cos(z, out=z),
}
# Their derivatives, as functions of the activation's own value.
DERIVATIVES = {
    "identity": np.ones_like,
    "relu": lambda a: (a > 0.0).astype(np.float64),
    "tanh": lambda a: 1.0 - a * a,
    "logistic": lambda a: a * (1.0 - a),
}  # The cosine has none: its value does not tell whether it rises or falls.


@dataclass(frozen=True, eq=False, kw_only=True)
class Layers(LinkedForm):
    """Scores W_L a_(L-1) + b_L with a_l = activation(W_l a_(l-1) + b_l), a_0 = x.

    Attributes
    ----------
    weights : list of ndarray of shape (n_in, n_out)
    biases : list of ndarray of shape (n_out,)
    activation : {"identity", "relu", "tanh", "logistic", "cosine"}
    """

    weights: list
    biases: list
    activation: str

    def _values(self, X):
        """The values of all layers but the last."""
        activate = ACTIVATIONS[self.activation]
        layers = [numbers(X)]
        for W, b in zip(self.weights[:-1], self.biases[:-1]):
            layers.append(activate(layers[-1] @ W + b))
        return layers

    def scores(self, X):
        """See `Form.scores`."""
        return (self._values(X)[-1] @ self.weights[-1] + self.biases[-1]).T

    def slopes(self, X):
        """See `LinkedForm.slopes`; by backward accumulation."""
        if self.activation not in DERIVATIVES:
            raise NoGradient(f"a layer of {self.activation}s is not differentiated")
        layers = self._values(X)
        scores = (layers[-1] @ self.weights[-1] + self.biases[-1]).T
        derivative = DERIVATIVES[self.activation]
        W = self.weights[-1]
        slopes = np.broadcast_to(W.T[:, np.newaxis], (*scores.shape, len(W)))
        for W, values in zip(self.weights[-2::-1], layers[:0:-1]):
            # (n_scores, n_rows, n_out) @ (n_out, n_in)
            slopes = (slopes * derivative(values)) @ W.T
        return scores, slopes

    def magnitude(self, X):
        """See `Form.magnitude`."""
        last = abs(self._values(X)[-1])
        return (last @ np.abs(self.weights[-1])).max()

    @property
    def elements_per_row(self):
        """See `Form`: all layers, the two widest slopes, a link's temporaries."""
        units = [len(W) for W in self.weights]
        return sum(units) + self.weights[-1].shape[1] * (2 * max(units) + 3 * units[0])

    def after(self, steps):
        """See `Form.after`."""
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


def _dense(X):
    X = numbers(X)
    return X.toarray() if sparse.issparse(X) else X


def linear_part(form, n_columns):
    """The linear `Additive` form that a form of n_columns columns is, or None.

    Affine steps in front are multiplied in. Layers are never linear here, even without
    a bend: their coefficients are products of weights.
    """
    if isinstance(form, BehindSteps):
        try:
            steps = affine(form.steps, n_columns)
        except NotAffine:
            return None
        inner = linear_part(form.form, steps.matrix.shape[1])
        return None if inner is None else inner.after(steps)
    return form if isinstance(form, Additive) and not form.parts else None
