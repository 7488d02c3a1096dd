"""Kernels of the distance alone: Matern and rational quadratic.

See `kernels/terms.py`. Here a moved column gives no factor: with D the squared distance
by the other columns, in units of the length scales, the term is

    factor profile(D + gamma_J (v - s_J)^2).
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from skvarimp._models.kernels.terms import Slope
from skvarimp._models.links import NoGradient


@dataclass(frozen=True, eq=False)
class Radial:
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

    separable = False

    @property
    def smooth(self):
        """Whether it is an analytic function of a moved value."""
        return not isinstance(self.profile, Matern)

    def of_sum(self, squares):
        """The term from the sum of `others` and `moved`."""
        return self.factor * self.profile(squares)

    def whole(self, X, S):
        """See `Gaussian.whole`."""
        return self.of_sum(self.others(X, S, []))

    def others(self, X, S, columns):
        """The squared distances without the moved columns, (n_rows, n_support)."""
        root = np.sqrt(np.delete(self.gammas, columns))
        X, S = X.without(columns) * root, S.without(columns) * root
        if X.shape[1] == 0:
            return np.zeros((len(X), len(S)))
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
