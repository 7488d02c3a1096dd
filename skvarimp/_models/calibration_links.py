"""Links of calibrated classifiers: from the scores of several members to shares."""

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
    logistic,
)

EPS = 1e-12  # what scikit-learn adds before it takes logarithms
SMALL = 1e-6  # probabilities below it show their rounding in a logarithm


@dataclass(frozen=True)
class Sigmoid:
    """1 / (1 + exp(slope score + intercept)): Platt's calibration."""

    slope: float
    intercept: float

    def __call__(self, score):
        """The calibrated probability."""
        return logistic(-(self.slope * score + self.intercept))

    def close(self, score):
        """See `Interpolated.close`."""
        return

    def steepness(self, score):
        """Its derivative by the score."""
        p = self(score)
        return -self.slope * p * (1.0 - p)


@dataclass(frozen=True, eq=False)
class Interpolated:
    """Linear between points and flat beyond them: isotonic calibration."""

    x: np.ndarray
    y: np.ndarray

    def __call__(self, score):
        """The calibrated probability."""
        return np.interp(score, self.x, self.y)

    def close(self, score):
        """Where rounding of the score shows, or None."""
        rounding = 1e-13 * np.abs(self.x).max()
        if np.all(np.diff(self.y) * rounding <= CLOSE * np.diff(self.x)):
            return None
        return self(score + rounding) - self(score - rounding) > CLOSE

    def steepness(self, score):
        """Its derivative by the score."""
        slopes = np.diff(self.y) / np.diff(self.x)
        slopes = np.concatenate([[0.0], slopes, [0.0]])
        return slopes[np.searchsorted(self.x, score)]


@dataclass(frozen=True, eq=False)
class EachClass(Link):
    """Scores calibrated one by one.

    Parameters
    ----------
    calibrators : list of (Sigmoid or Interpolated)
        One per score.
    """

    calibrators: list

    def __call__(self, scores):
        """See `links.py`."""
        pairs = list(zip(self.calibrators, scores))
        calibrated = np.stack([c(score) for c, score in pairs])
        return calibrated, any_close(*(c.close(score) for c, score in pairs))

    def chain(self, scores, slopes):
        """See `links.py`."""
        pairs = zip(self.calibrators, scores)
        steep = np.stack([c.steepness(score) for c, score in pairs])
        return slopes * steep[:, :, np.newaxis]


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
    links = [Logarithm(), Softmax(beta)] if of_probabilities else [Softmax(beta)]
    if two_classes:
        first = np.array([float(of_probabilities), 0.0])  # 1 - p, or -score
        links = [Mixed(np.array([[-1.0], [1.0]]), first), *links, SECOND]
    return reduce(Then, links)


@dataclass(frozen=True, eq=False)
class Calibrated(Link):
    """Mean over members of their calibrated scores.

    Parameters
    ----------
    members : list of Link
        Each takes as many scores.
    """

    members: list

    def n_outputs(self, n_scores):
        """See `Link.n_outputs`: those of one member."""
        return n_scores // len(self.members)

    def __call__(self, scores):
        """See `links.py`."""
        outputs, doubts = zip(
            *(m(own) for m, own in zip(self.members, self._blocks(scores)))
        )
        return sum(outputs) / len(self.members), any_close(*doubts)

    def chain(self, scores, slopes):
        """See `links.py`."""
        blocks = zip(self.members, self._blocks(scores), self._blocks(slopes))
        changes = [member.chain(own, changes) for member, own, changes in blocks]
        return sum(changes) / len(self.members)

    def _blocks(self, values):
        return values.reshape(len(self.members), -1, *values.shape[1:])
