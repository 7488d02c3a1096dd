"""Links of the outputs of several models: stacking, calibration, classes by parts.

As in `links.py`, a link takes scores of shape (n_scores, ...), here the members'
outputs one after another, and gives outputs and a mask of close calls.
"""

from dataclasses import dataclass
from functools import reduce

import numpy as np

from skvarimp._models.links import (
    CLOSE,
    SECOND,
    Link,
    Mixed,
    Softmax,
    Then,
    any_close,
    scaled,
)


@dataclass(frozen=True, eq=False)
class Through(Link):
    """The response of a form that takes the scores as its columns: stacking.

    Parameters
    ----------
    form : LinkedForm
        Fitted to the members' outputs.
    count : int
        How many outputs it has.
    """

    form: object
    count: int

    def n_outputs(self, n_scores):
        """See `Link.n_outputs`."""
        return self.count

    def __call__(self, scores):
        """See the module."""
        columns = scores.reshape(len(scores), -1).T
        outputs, close = self.form.link(self.form.scores(columns))
        if close is not None:
            close = np.broadcast_to(close, outputs.shape[1:]).reshape(scores.shape[1:])
        return outputs.reshape(-1, *scores.shape[1:]), close

    def chain(self, scores, slopes):
        """See `links.py`."""
        _, by_score = self.form.gradient(scores.T)
        return np.einsum("oim,mij->oij", by_score, slopes)


@dataclass(frozen=True, eq=False)
class WeightedMedian(Link):
    """The weighted median of the scores.

    Parameters
    ----------
    weights : ndarray of shape (n_scores,)
    """

    weights: np.ndarray

    def n_outputs(self, n_scores):
        """See `Link.n_outputs`."""
        return 1

    def __call__(self, scores):
        """See the module."""
        return np.take_along_axis(scores, self._which(scores), axis=0), None

    def _which(self, scores):
        """Which score it is, (1, ...): the first that half the weight reaches."""
        order = np.argsort(scores, axis=0)
        mass = np.cumsum(self.weights[order], axis=0)
        rank = (mass >= 0.5 * mass[-1]).argmax(axis=0)[np.newaxis]
        return np.take_along_axis(order, rank, axis=0)

    def chain(self, scores, slopes):
        """See `links.py`; that of the member in the middle."""
        which = self._which(scores)
        return np.take_along_axis(slopes, which[:, :, np.newaxis], axis=0)


EPS = 1e-12  # what scikit-learn adds before it takes logarithms
SMALL = 1e-6  # probabilities below it show their rounding in a logarithm


@dataclass(frozen=True, eq=False)
class Interpolated(Link):
    """Linear between points and flat beyond them: isotonic calibration."""

    x: np.ndarray
    y: np.ndarray

    def __call__(self, scores):
        """See `links.py`; close where rounding of the score shows."""
        outputs = np.interp(scores, self.x, self.y)
        rounding = 1e-13 * np.abs(self.x).max()
        if np.all(np.diff(self.y) * rounding <= CLOSE * np.diff(self.x)):
            return outputs, None
        near = [np.interp(scores + r, self.x, self.y) for r in (rounding, -rounding)]
        return outputs, np.any(near[0] - near[1] > CLOSE, axis=0)

    def chain(self, scores, slopes):
        """See `links.py`."""
        steepness = np.diff(self.y) / np.diff(self.x)
        steepness = np.concatenate([[0.0], steepness, [0.0]])
        return slopes * steepness[np.searchsorted(self.x, scores)][:, :, np.newaxis]


class Logarithm(Link):
    """The logarithm of probabilities as scikit-learn takes it."""

    def __call__(self, scores):
        """See `links.py`."""
        close = np.any((scores < SMALL) & (scores != 0), axis=0)
        return np.log(scores + EPS), close

    def chain(self, scores, slopes):
        """See `links.py`."""
        return slopes / (scores + EPS)[:, :, np.newaxis]


def temperature(beta, two_classes, of_probabilities):
    """Softmax of scores times a number; for two classes the share of the second.

    Parameters
    ----------
    beta : float
        One over the temperature.
    two_classes : bool
        Whether there is one score, that of the second class.
    of_probabilities : bool
        Whether the scores are probabilities, whose logarithms are taken.

    Returns
    -------
    Link
    """
    links = [Logarithm()] if of_probabilities else []
    links += [scaled(beta, Softmax())]
    if two_classes:
        first = np.array([float(of_probabilities), 0.0])  # 1 - p, or -score
        links = [Mixed(np.array([[-1.0], [1.0]]), first), *links, SECOND]
    return reduce(Then, links)


@dataclass(frozen=True, eq=False)
class Blocks(Link):
    """Links of equal blocks of scores, their outputs one after another.

    Parameters
    ----------
    links : list of Link
    """

    links: list

    def n_outputs(self, n_scores):
        """See `Link.n_outputs`."""
        n_own = n_scores // len(self.links)
        return sum(link.n_outputs(n_own) for link in self.links)

    def __call__(self, scores):
        """See `links.py`."""
        blocks = np.split(scores, len(self.links))
        outputs, doubts = zip(*(link(own) for link, own in zip(self.links, blocks)))
        return np.concatenate(outputs), any_close(*doubts)

    def chain(self, scores, slopes):
        """See `links.py`."""
        n = len(self.links)
        blocks = zip(self.links, np.split(scores, n), np.split(slopes, n))
        return np.concatenate([link.chain(*of_block) for link, *of_block in blocks])
