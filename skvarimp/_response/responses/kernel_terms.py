"""Kernels as sums of terms in which some columns move.

With J the moved columns, s a support vector, and x_-J the other columns, a separable
term is a sum of products of a function of (x_-J, s) and one of (v, s):

    Gaussian     exp(-d(x_-J, s)) exp(-d(v, s_J)) with d = sum_j gamma_j (x_j - s_j)^2
    polynomial   (gamma x's + c)^d = sum_r binomial(d, r) (gamma x_-J's + c)^(d - r)
                                                          (gamma v's_J)^r

so that the curves of all rows are matrix products. Other terms are evaluated value by
value.
"""

from dataclasses import dataclass
from math import comb

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from skvarimp._response.shapes.chebyshev import gaussian_nodes, tanh_nodes

FAR = 1e5  # squares above leave less than ten digits of a power of e near 0


class Vectors:
    """Rows of X or support vectors, dense or sparse.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n_rows, n_columns)
    """

    def __init__(self, X):
        self.X = X.tocsr() if sparse.issparse(X) else X

    def without(self, columns):
        """All other columns; sparse ones keep their places and are 0 there."""
        if not sparse.issparse(self.X):
            return np.delete(self.X, columns, axis=1)
        rest = self.X.copy()
        rest.data[np.isin(rest.indices, columns)] = 0.0
        return rest

    def columns(self, columns):
        """Some columns, dense."""
        part = self.X[:, columns]
        return part.toarray() if sparse.issparse(part) else part


def _products(A, B):
    product = A @ B.T
    return product.toarray() if sparse.issparse(product) else product


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
    """factor exp(-sum_j gammas[j] (x_j - s_j)^2).

    Attributes
    ----------
    factor : float
    gammas : ndarray of shape (n_columns,)
        Of sparse vectors all equal.
    origin : ndarray of shape (n_columns,)
        Amid the support vectors; distances do not depend on it, the rounding of
        their products does. Not used of sparse vectors.
    """

    factor: float
    gammas: np.ndarray
    origin: np.ndarray

    separable = True

    def whole(self, X, S):
        """The kernel itself, (n_rows, n_support)."""
        return self.factor * self.others(X, S, [])[0]

    def others(self, X, S, columns):
        """Functions of the unmoved columns, a list of (n_rows, n_support)."""
        X, S = X.without(columns), S.without(columns)
        if sparse.issparse(X):
            root = np.sqrt(self.gammas[0])
        else:
            root = np.sqrt(np.delete(self.gammas, columns))
            origin = np.delete(self.origin, columns)
            X, S = X - origin, S - origin
        # -|x - s|^2 = (sqrt(2) x, |x|^2, -1)' (sqrt(2) s, -1, |s|^2)
        X, S = X * (np.sqrt(2.0) * root), S * (np.sqrt(2.0) * root)
        x_squares, s_squares = _squares(X) / 2.0, _squares(S) / 2.0
        if not sparse.issparse(X) and max(x_squares.max(), s_squares.max()) > FAR:
            power = cdist(X, S, "sqeuclidean") / -2.0
        else:
            power = _products(_beside(X, x_squares, -1.0), _beside(S, -1.0, s_squares))
        return [np.exp(power, out=power)]

    def moved(self, values, S, columns):
        """Functions of the moved columns, a list of (n_support, n_cells)."""
        power = 0.0
        for own, moved, gamma in zip(
            S.columns(columns).T, values.T, self.gammas[columns]
        ):
            power = power - gamma * (own[:, np.newaxis] - moved) ** 2
        return [self.factor * np.exp(power)]

    def n_nodes(self, half_width, S, column):
        """Chebyshev nodes that are exact to rounding in one moved column."""
        return gaussian_nodes(self.gammas[column] * half_width**2)


@dataclass(frozen=True, eq=False)
class Polynomial:
    """factor (gamma x's + offset)^degree."""

    factor: float
    gamma: float
    offset: float
    degree: int

    separable = True

    def whole(self, X, S):
        """See `Gaussian.whole`."""
        return self.factor * self.others(X, S, [])[0]

    def others(self, X, S, columns):
        """See `Gaussian.others`."""
        inner = self.gamma * _products(X.without(columns), S.without(columns))
        inner += self.offset
        powers = [np.ones_like(inner)]
        for _ in range(self.degree):
            powers.append(powers[-1] * inner)
        return powers[::-1]

    def moved(self, values, S, columns):
        """See `Gaussian.moved`."""
        inner = self.gamma * (S.columns(columns) @ values.T)
        return [
            self.factor * comb(self.degree, r) * inner**r
            for r in range(self.degree + 1)
        ]

    def n_nodes(self, half_width, S, column):
        """See `Gaussian.n_nodes`."""
        return max(self.degree + 1, 2)


@dataclass(frozen=True, eq=False)
class Sigmoid:
    """tanh(gamma x's + offset)."""

    gamma: float
    offset: float

    separable = False

    def whole(self, X, S):
        """See `Gaussian.whole`."""
        return np.tanh(self.others(X, S, []))

    def others(self, X, S, columns):
        """The argument without the moved columns, (n_rows, n_support)."""
        inner = _products(X.without(columns), S.without(columns))
        return self.gamma * inner + self.offset

    def moved(self, values, S, columns):
        """The moved columns' part of the argument, (n_support, n_cells)."""
        return self.gamma * (S.columns(columns) @ values.T)

    def n_nodes(self, half_width, S, column):
        """See `Gaussian.n_nodes`."""
        steepest = np.abs(self.gamma * S.columns([column])).max(initial=0.0)
        return tanh_nodes(max(steepest * half_width, 1e-3))
