"""The forms of neighbours: training rows, their targets, and how neighbours weigh."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from skvarimp._models.forms import LinkedForm, numbers
from skvarimp._models.links import Link, NoGradient


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
        exact = squared == 0
        with np.errstate(divide="ignore"):
            weights = 1.0 / np.sqrt(squared)
        hit = exact.any(axis=-1)
        weights[hit] = exact[hit]
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
            exact = squared == 0
            hit = exact.any(axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                weights /= np.sqrt(squared)
            weights[hit] = exact[hit]
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
