"""The forms of models that are arrays: additive ones, layers, kernel machines.

With J the moved columns, s a support vector, and x_-J the other columns, a separable
kernel k(x, s) is a sum of products of a function of (x_-J, s) and one of (v, s):

    Gaussian     exp(-d(x_-J, s)) exp(-d(v, s_J)) with d = gamma sum_j (x_j - s_j)^2
    polynomial   (gamma x's + c)^d = sum_r binomial(d, r) (gamma x_-J's + c)^(d - r)
                                                          (gamma v's_J)^r

so that the curves of all rows are matrix products. The sigmoid kernel is evaluated
value by value.

Every gradient by x is A(x, s) s or A(x, s) (s - x), with one number A for each pair:
the gradient of a sum over support vectors is a matrix product as well.
"""

from dataclasses import dataclass, replace
from math import comb

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from skvarimp._data.base_table import dense
from skvarimp._models.forms import LinkedForm, numbers
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

    @property
    def elements_per_row(self):
        return self.weights.size * (1 if self.link is IDENTITY else 4)

    @property
    def piecewise_constant(self):
        return not self.weights.any()

    @property
    def constant(self):
        return self.piecewise_constant and not self.parts

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


FAR = 1e5  # larger squares leave fewer than ten digits of a power of e near 0


def _without(X, columns):
    """All other columns; sparse ones keep their places and are 0 there."""
    if not sparse.issparse(X):
        return np.delete(X, columns, axis=1)
    rest = X.tocsr(copy=True)
    rest.data[np.isin(rest.indices, columns)] = 0.0
    return rest


def _products(A, B):
    return dense(A @ B.T)


def _squares(A):
    if sparse.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).reshape(-1)
    return np.einsum("ij,ij->i", A, A)


def is_far(gamma, *vectors):
    """Whether |x|^2 - 2 x's + |s|^2 loses digits that the Gaussian kernel shows."""
    return any(gamma * _squares(A).max(initial=0.0) > FAR for A in vectors)


def _beside(A, *columns):
    """A with two more columns."""
    more = np.column_stack([np.broadcast_to(c, A.shape[0]) for c in columns])
    stack = sparse.hstack if sparse.issparse(A) else np.hstack
    return stack([A, more])


@dataclass(frozen=True, eq=False)
class Gaussian:
    """exp(-gamma |x - s|^2).

    Attributes
    ----------
    gamma : float
    origin : ndarray of shape (n_columns,)
        The middle of the support vectors. Distances do not depend on it, but the
        rounding of their products does. Not used for sparse vectors.
    """

    gamma: float
    origin: np.ndarray
    separable = True

    def whole(self, X, S):
        """The kernel itself, (n_rows, n_support)."""
        return self.others(X, S, [])[0]

    def others(self, X, S, columns):
        """Functions of the unmoved columns, a list of (n_rows, n_support)."""
        X, S = _without(X, columns), _without(S, columns)
        if not sparse.issparse(X):
            origin = np.delete(self.origin, columns)
            X, S = X - origin, S - origin
        # -|x - s|^2 = (sqrt(2) x, |x|^2, -1)' (sqrt(2) s, -1, |s|^2)
        root = np.sqrt(2.0 * self.gamma)
        X, S = X * root, S * root
        x_squares, s_squares = _squares(X) / 2.0, _squares(S) / 2.0
        if not sparse.issparse(X) and max(x_squares.max(), s_squares.max()) > FAR:
            power = cdist(X, S, "sqeuclidean") / -2.0
        else:
            power = _products(_beside(X, x_squares, -1.0), _beside(S, -1.0, s_squares))
        return [np.exp(power, out=power)]

    def moved(self, values, S, columns):
        """Functions of the moved columns, a list of (n_support, n_cells)."""
        power = 0.0
        for own, moved in zip(dense(S[:, columns]).T, values.T):
            power = power - self.gamma * (own[:, np.newaxis] - moved) ** 2
        return [np.exp(power)]

    def slope(self, X, S):
        """The gradient's A, (n_rows, n_support), and whether it points to s - x."""
        return 2.0 * self.gamma * self.whole(X, S), True


@dataclass(frozen=True, eq=False)
class Polynomial:
    """(gamma x's + offset)^degree; the offset may be one for each s."""

    gamma: float
    offset: float | np.ndarray
    degree: int
    separable = True

    def whole(self, X, S):
        return self._inner(X, S) ** self.degree

    def _inner(self, X, S):
        return self.gamma * _products(X, S) + self.offset

    def others(self, X, S, columns):
        inner = self._inner(_without(X, columns), _without(S, columns))
        powers = [np.ones_like(inner)]
        for _ in range(self.degree):
            powers.append(powers[-1] * inner)
        return powers[::-1]

    def moved(self, values, S, columns):
        inner = self.gamma * (dense(S[:, columns]) @ values.T)
        return [comb(self.degree, r) * inner**r for r in range(self.degree + 1)]

    def slope(self, X, S):
        factor = self.degree * self.gamma
        return factor * self._inner(X, S) ** (self.degree - 1), False


@dataclass(frozen=True, eq=False)
class Sigmoid:
    """tanh(gamma x's + offset); the offset may be one for each s."""

    gamma: float
    offset: float | np.ndarray
    separable = False

    def whole(self, X, S):
        return np.tanh(self.others(X, S, []))

    def others(self, X, S, columns):
        """The argument without the moved columns, (n_rows, n_support)."""
        inner = _products(_without(X, columns), _without(S, columns))
        return self.gamma * inner + self.offset

    def moved(self, values, S, columns):
        """The moved columns' part of the argument, (n_support, n_cells)."""
        return self.gamma * (dense(S[:, columns]) @ values.T)

    def slope(self, X, S):
        return self.gamma * (1.0 - self.whole(X, S) ** 2), False


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelSum(LinkedForm):
    """Scores sum_m dual[q, m] k(x, s_m) + b_q.

    Attributes
    ----------
    kernel : Gaussian, Polynomial or Sigmoid
        k.
    support : ndarray or sparse array of shape (n_support, n_columns)
    dual : ndarray of shape (n_scores, n_support)
    intercept : ndarray of shape (n_scores,)
    by_products : bool
        Whether the model itself takes squared distances by products.
    """

    kernel: object
    support: object
    dual: np.ndarray
    intercept: np.ndarray
    by_products: bool = False

    def _kernel(self, X):
        return self.kernel.whole(X, self.support_like(X))

    def support_like(self, X):
        """The support vectors in the kind of array that X is."""
        if sparse.issparse(X):
            return sparse.csr_array(self.support)
        return dense(self.support)

    def scores(self, X):
        return (self._kernel(numbers(X)) @ self.dual.T + self.intercept).T

    def cancels(self, X):
        """Whether the terms of the scores of numbers X cancel but for rounding."""
        kernel = self._kernel(X)
        terms = np.abs(kernel) @ np.abs(self.dual).T
        return terms.max() > 1e6 * np.abs(kernel @ self.dual.T + self.intercept).max()

    def slopes(self, X):
        X = dense(numbers(X))
        S = self.support_like(X)
        pairs, shifted = self.kernel.slope(X, S)
        slopes = np.empty((len(self.dual), *X.shape))
        for slope, alpha in zip(slopes, self.dual):
            weighted = pairs * alpha
            slope[:] = weighted @ S
            if shifted:
                slope -= weighted.sum(axis=1)[:, np.newaxis] * X
        return self.scores(X), slopes

    @property
    def elements_per_row(self):
        n_support, n_columns = self.support.shape
        return 6 * n_support + 3 * n_columns * len(self.dual)

    def after(self, steps):
        """Kernels of inner products see x A + b through A s and b's.

        (x A + b)'s = x (A s) + b's
        """
        if isinstance(self.kernel, Gaussian):
            return None
        S = self.support_like(np.empty(0))
        offset = self.kernel.offset + self.kernel.gamma * (S @ steps.shift)
        kernel = replace(self.kernel, offset=offset)
        return replace(self, kernel=kernel, support=(steps.matrix @ S.T).T)
