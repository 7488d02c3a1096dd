"""The forms of models that keep training rows: kernel sums and neighbours."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from skvarimp._data.base_table import dense
from skvarimp._models.forms import LinkedForm, numbers
from skvarimp._models.kernels import Polynomial, Sigmoid, Vectors
from skvarimp._models.links import Link, NoGradient


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelSum(LinkedForm):
    """Scores sum_m dual[q, m] k(x, s_m) + b_q.

    Attributes
    ----------
    terms : list
        k as a sum of terms, see `kernels.py`.
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
        return dense(self.support)

    def scores(self, X):
        """See `Form.scores`."""
        return (self._kernel(numbers(X)) @ self.dual.T + self.intercept).T

    def slopes(self, X):
        """See `LinkedForm.slopes`."""
        X = dense(numbers(X))
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


@dataclass(frozen=True, eq=False, kw_only=True)
class NearRows(LinkedForm):
    """Scores are means of the targets of near training rows.

    Attributes
    ----------
    rows : ndarray of shape (n_training_rows, n_columns)
    targets : ndarray of shape (n_training_rows, n_scores)
        Values, or class indicators.
    by_distance : bool
        Whether neighbours weigh one over their Euclidean distance; a training row at
        distance 0 then counts alone.
    by_products : bool
        Whether the model itself takes squared distances by products.
    """

    rows: np.ndarray
    targets: np.ndarray
    by_distance: bool = False
    by_products: bool = False

    @property
    def piecewise_constant(self):
        """See `Form`."""
        return not self.by_distance

    @staticmethod
    def _inverse(squared):
        """One over the distances, or 1 at distance 0 and 0 for others there."""
        exact = squared == 0
        hit = exact.any(axis=-1)
        with np.errstate(divide="ignore"):
            weights = 1.0 / np.sqrt(squared)
        weights[hit] = exact[hit]
        return weights

    def slopes(self, X):
        """See `LinkedForm.slopes`."""
        raise NoGradient("neighbours jump where another training row comes near")


@dataclass(frozen=True, eq=False, kw_only=True)
class Neighbours(NearRows):
    """The mean is over a given number of nearest rows.

    Attributes
    ----------
    n_neighbours : int
    """

    n_neighbours: int

    def scores(self, X):
        """See `Form.scores`."""
        squared = cdist(numbers(X), self.rows, "sqeuclidean")
        nearest = np.argpartition(squared, self.n_neighbours - 1, axis=1)
        nearest = nearest[:, : self.n_neighbours]
        return self.means(nearest, np.take_along_axis(squared, nearest, axis=1)).T

    def means(self, nearest, squared):
        """Means of the targets of given neighbours.

        Parameters
        ----------
        nearest : ndarray of shape (..., n_neighbours)
        squared : ndarray of shape (..., n_neighbours)
            Squared distances.

        Returns
        -------
        ndarray of shape (..., n_scores)
        """
        targets = self.targets[nearest]
        if not self.by_distance:
            return targets.mean(axis=-2)
        weights = self._inverse(squared)
        weights /= weights.sum(axis=-1, keepdims=True)
        return np.einsum("...m,...mq->...q", weights, targets)


@dataclass(frozen=True, eq=False, kw_only=True)
class WithinRadius(NearRows):
    """The mean is over the rows within a radius, and NaN where there are none.

    Attributes
    ----------
    radius : float
    """

    radius: float

    def scores(self, X):
        """See `Form.scores`."""
        return self.means(cdist(numbers(X), self.rows, "sqeuclidean"))

    def means(self, squared, which=slice(None)):
        """Means of the targets of the neighbours among some training rows.

        Parameters
        ----------
        squared : ndarray of shape (n, n_training_rows)
            Squared distances.
        which : slice or ndarray of int
            The training rows.

        Returns
        -------
        ndarray of shape (n_scores, n)
        """
        weights = (squared <= self.radius**2).astype(np.float64)
        if self.by_distance:
            weights *= self._inverse(squared)
        with np.errstate(invalid="ignore"):
            return self.targets[which].T @ weights.T / weights.sum(axis=1)


@dataclass(frozen=True, eq=False)
class Outliers(Link):
    """A link of scores that may be NaN, where the outputs are constants.

    Parameters
    ----------
    inner : Link
    outputs : ndarray of shape (n_outputs,)
        NaN where the model itself is to be asked.
    """

    inner: object
    outputs: np.ndarray

    def n_outputs(self, n_scores):
        """See `Link.n_outputs`."""
        return self.inner.n_outputs(n_scores)

    def __call__(self, scores):
        """See `links.py`."""
        none = np.isnan(scores[0])
        outputs, close = self.inner(np.where(none, 0.0, scores))
        outputs[:, none] = self.outputs[:, np.newaxis]
        return outputs, None if close is None else close & ~none
