"""The form of nearest neighbours: training rows, their targets, and their weights."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from skvarimp._models.forms import LinkedForm, numbers
from skvarimp._models.links import IDENTITY, NoGradient


@dataclass(frozen=True, eq=False, kw_only=True)
class Neighbours(LinkedForm):
    """Scores are means of the targets of the nearest training rows.

    Attributes
    ----------
    rows : ndarray of shape (n_training_rows, n_columns)
    targets : ndarray of shape (n_training_rows, n_scores)
        Values, or class indicators.
    n_neighbours : int
    by_distance : bool
        Whether neighbours weigh one over their Euclidean distance; a training row at
        distance 0 then counts alone.
    """

    rows: np.ndarray
    targets: np.ndarray
    n_neighbours: int
    by_distance: bool = False
    link: object = IDENTITY

    def scores(self, X):
        """See `Form.scores`."""
        squared = cdist(numbers(X), self.rows, "sqeuclidean")
        nearest = np.argpartition(squared, self.n_neighbours - 1, axis=1)
        nearest = nearest[:, : self.n_neighbours]
        return self.means(nearest, np.take_along_axis(squared, nearest, axis=1)).T

    def slopes(self, X):
        """See `LinkedForm.slopes`."""
        raise NoGradient("nearest neighbours jump where the nearest rows change")

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
