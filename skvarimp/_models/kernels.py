"""Kernels k(x, s) as sums of terms: their values, gradients and moved columns.

With J the moved columns, s a support vector, and x_-J the other columns, a separable
term is a sum of products of a function of (x_-J, s) and one of (v, s):

    Gaussian     exp(-d(x_-J, s)) exp(-d(v, s_J)) with d = sum_j gamma_j (x_j - s_j)^2
    polynomial   (gamma x's + c)^d = sum_r binomial(d, r) (gamma x_-J's + c)^(d - r)
                                                          (gamma v's_J)^r

so that the curves of all rows are matrix products. Other terms are evaluated value by
value.

Every gradient by x is a sum of terms A(x, s) * factor * s and A(x, s) * factor *
(s - x), with one number A for each pair and one factor for each column: the gradient
of a sum over support vectors is a matrix product as well.

In a radial term a moved column gives no factor: with D the squared distance by the
other columns, in units of the length scales, the term is

    factor profile(D + gamma_J (v - s_J)^2).
"""

from dataclasses import dataclass
from math import comb

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from skvarimp._data.base_table import dense
from skvarimp._models.links import NoGradient

FAR = 1e5  # larger squares leave fewer than ten digits of a power of e near 0


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
        return dense(self.X[:, columns])


@dataclass
class Slope:
    """One term of a kernel's gradient by x.

    Attributes
    ----------
    pairs : ndarray of shape (n_rows, n_support)
    factor : float or ndarray of shape (n_columns,)
    shifted : bool
        Whether the term points to s - x, not to s.
    """

    pairs: np.ndarray
    factor: object
    shifted: bool

    def times(self, pairs):
        """This term multiplied by one number for each pair."""
        return Slope(self.pairs * pairs, self.factor, self.shifted)


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


class Separable:
    """Base of terms that are sums of products, `factor` times; see the module."""

    separable = True
    smooth = True

    def whole(self, X, S):
        """The kernel itself, (n_rows, n_support)."""
        return self.factor * self.others(X, S, [])[0]


class Inseparable:
    """Base of other terms: functions `of_sum` of what `others` and `moved` give."""

    separable = False
    smooth = True

    def whole(self, X, S):
        """The kernel itself, (n_rows, n_support)."""
        return self.of_sum(self.others(X, S, []))


@dataclass(frozen=True, eq=False)
class Gaussian(Separable):
    """factor exp(-sum_j gammas[j] (x_j - s_j)^2).

    Attributes
    ----------
    factor : float
    gammas : ndarray of shape (n_columns,)
        All equal if vectors are sparse.
    origin : ndarray of shape (n_columns,)
        The middle of the support vectors. Distances do not depend on it, but the
        rounding of their products does. Not used for sparse vectors.
    """

    factor: float
    gammas: np.ndarray
    origin: np.ndarray

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

    def slopes(self, X, S):
        """The terms of the gradient by x, a list of `Slope`."""
        return [Slope(2.0 * self.whole(X, S), self.gammas, shifted=True)]

    def variation(self, half_width, S, column):
        """How the term varies as one column moves over an interval.

        Returns
        -------
        list of (kind, float)
            One for each factor of a product: kind is "gaussian", for exp(-c u^2) with
            u in [-1, 1], "polynomial" of a degree, or "tanh" of a slope.
        """
        return [("gaussian", self.gammas[column] * half_width**2)]


@dataclass(frozen=True, eq=False)
class Polynomial(Separable):
    """factor (gamma x's + offset)^degree; the offset may be one for each s."""

    factor: float
    gamma: float
    offset: float | np.ndarray
    degree: int

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

    def slopes(self, X, S):
        """See `Gaussian.slopes`."""
        inner = self.gamma * _products(X.X, S.X) + self.offset
        factor = self.factor * self.degree * self.gamma
        return [Slope(factor * inner ** (self.degree - 1), 1.0, shifted=False)]

    def variation(self, half_width, S, column):
        """See `Gaussian.variation`."""
        return [("polynomial", self.degree)]


@dataclass(frozen=True, eq=False)
class Sigmoid(Inseparable):
    """tanh(gamma x's + offset); the offset may be one for each s."""

    gamma: float
    offset: float | np.ndarray

    def of_sum(self, argument):
        """The term from the sum of `others` and `moved`."""
        return np.tanh(argument)

    def others(self, X, S, columns):
        """The argument without the moved columns, (n_rows, n_support)."""
        inner = _products(X.without(columns), S.without(columns))
        return self.gamma * inner + self.offset

    def moved(self, values, S, columns):
        """The moved columns' part of the argument, (n_support, n_cells)."""
        return self.gamma * (S.columns(columns) @ values.T)

    def slopes(self, X, S):
        """See `Gaussian.slopes`."""
        pairs = self.gamma * (1.0 - self.whole(X, S) ** 2)
        return [Slope(pairs, 1.0, shifted=False)]

    def variation(self, half_width, S, column):
        """See `Gaussian.variation`."""
        steepest = np.abs(self.gamma * S.columns([column])).max(initial=0.0)
        return [("tanh", max(steepest * half_width, 1e-3))]


@dataclass(frozen=True, eq=False)
class TermProduct(Separable):
    """Product of two separable terms."""

    first: object
    second: object

    def whole(self, X, S):
        """See `Separable.whole`."""
        return self.first.whole(X, S) * self.second.whole(X, S)

    def others(self, X, S, columns):
        """See `Gaussian.others`."""
        first, second = self.first.others(X, S, columns), self.second
        return [a * b for b in second.others(X, S, columns) for a in first]

    def moved(self, values, S, columns):
        """See `Gaussian.moved`."""
        first, second = self.first.moved(values, S, columns), self.second
        return [a * b for b in second.moved(values, S, columns) for a in first]

    def slopes(self, X, S):
        """See `Gaussian.slopes`."""
        by_second, by_first = self.second.whole(X, S), self.first.whole(X, S)
        return [slope.times(by_second) for slope in self.first.slopes(X, S)] + [
            slope.times(by_first) for slope in self.second.slopes(X, S)
        ]

    def variation(self, half_width, S, column):
        """See `Gaussian.variation`."""
        first = self.first.variation(half_width, S, column)
        return first + self.second.variation(half_width, S, column)


@dataclass(frozen=True, eq=False)
class Radial(Inseparable):
    """factor profile(sum_j gammas[j] (x_j - s_j)^2).

    Attributes
    ----------
    factor : float
    gammas : ndarray of shape (n_columns,)
    profile : Matern or RationalQuadratic
    """

    factor: float
    gammas: np.ndarray
    profile: object

    @property
    def smooth(self):
        """Whether it is an analytic function of a moved value."""
        return not isinstance(self.profile, Matern)

    def of_sum(self, squares):
        """The term from the sum of `others` and `moved`."""
        return self.factor * self.profile(squares)

    def others(self, X, S, columns):
        """The squared distances without the moved columns, (n_rows, n_support)."""
        root = np.sqrt(np.delete(self.gammas, columns))
        X, S = X.without(columns) * root, S.without(columns) * root
        return cdist(X, S, "sqeuclidean")

    def moved(self, values, S, columns):
        """The moved columns' part of them, (n_support, n_cells)."""
        root = np.sqrt(self.gammas[columns])
        return cdist(S.columns(columns) * root, values * root, "sqeuclidean")

    def slopes(self, X, S):
        """See `Gaussian.slopes`."""
        pairs = -2.0 * self.factor * self.profile.slope(self.others(X, S, []))
        return [Slope(pairs, self.gammas, shifted=True)]

    def variation(self, half_width, S, column):
        """See `Gaussian.variation`."""
        reach = np.sqrt(self.gammas[column]) * half_width
        return [self.profile.variation(reach)]


@dataclass(frozen=True)
class Matern:
    """The Matern kernel of nu 0.5, 1.5 or 2.5 of a squared distance.

    With t = sqrt(2 nu) d it is exp(-t) times 1, 1 + t, or 1 + t + t^2 / 3.
    """

    nu: float

    def __call__(self, squares):
        """The kernel."""
        t = np.sqrt(2.0 * self.nu * squares)
        factor = {0.5: 1.0, 1.5: 1.0 + t, 2.5: 1.0 + t + t * t / 3.0}[self.nu]
        return factor * np.exp(-t)

    def slope(self, squares):
        """Its derivative by the squared distance."""
        t = np.sqrt(2.0 * self.nu * squares)
        if self.nu == 0.5:
            raise NoGradient("the Matern kernel of nu=0.5 has a kink at training rows")
        factor = -1.5 if self.nu == 1.5 else -(1.0 + t) * 5.0 / 6.0
        return factor * np.exp(-t)

    def variation(self, reach):
        """See `Gaussian.variation`; it has no series at distance 0."""
        return "rough", reach


@dataclass(frozen=True)
class RationalQuadratic:
    """(1 + squared distance / (2 alpha))^-alpha."""

    alpha: float

    def __call__(self, squares):
        """The kernel."""
        return (1.0 + squares / (2.0 * self.alpha)) ** -self.alpha

    def slope(self, squares):
        """Its derivative by the squared distance."""
        return -0.5 * (1.0 + squares / (2.0 * self.alpha)) ** (-self.alpha - 1.0)

    def variation(self, reach):
        """See `Gaussian.variation`."""
        return "rational", (self.alpha, reach)
