"""Links of calibrated classifiers: from the scores of several members to shares."""

from dataclasses import dataclass

import numpy as np

from skvarimp._models.links import CLOSE, Link, Shares, Softmax, any_close, logistic

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
    """Scores calibrated one by one, which are shares of several classes.

    Parameters
    ----------
    calibrators : list of (Sigmoid or Interpolated)
        One per score.
    """

    calibrators: list

    def __call__(self, scores):
        """See `links.py`."""
        shares = self._calibrated(scores)
        doubts = [c.close(score) for c, score in zip(self.calibrators, scores)]
        if len(shares) > 1:
            shares, none = Shares(uniform=True)(shares)
            doubts.append(none)
        return shares, any_close(*doubts)

    def chain(self, scores, slopes):
        """See `links.py`."""
        pairs = zip(self.calibrators, scores)
        steep = np.stack([c.steepness(score) for c, score in pairs])
        changes = slopes * steep[:, :, np.newaxis]
        if len(scores) == 1:
            return changes
        return Shares().chain(self._calibrated(scores), changes)

    def _calibrated(self, scores):
        return np.stack([c(score) for c, score in zip(self.calibrators, scores)])


@dataclass(frozen=True)
class Temperature(Link):
    """Softmax of scores times a number; for two classes the share of the second.

    Parameters
    ----------
    beta : float
        One over the temperature.
    of_probabilities : bool
        Whether the scores are probabilities, whose logarithms are taken.
    """

    beta: float
    of_probabilities: bool

    def _values(self, scores):
        """The scores of all classes."""
        if len(scores) > 1:
            return scores
        first = 1.0 - scores if self.of_probabilities else -scores
        return np.concatenate([first, scores])

    def _powers(self, scores):
        values = self._values(scores)
        return self.beta * (np.log(values + EPS) if self.of_probabilities else values)

    def __call__(self, scores):
        """See `links.py`."""
        shares, _ = Softmax()(self._powers(scores))
        close = None
        if self.of_probabilities:
            values = self._values(scores)
            close = np.any((values < SMALL) & (values != 0), axis=0)
        return shares[1:] if len(scores) == 1 else shares, close

    def chain(self, scores, slopes):
        """See `links.py`."""
        two = len(scores) == 1
        powers = self._powers(scores)
        if two:
            slopes = np.concatenate([-slopes, slopes])
        if self.of_probabilities:
            slopes = slopes / (self._values(scores) + EPS)[:, :, np.newaxis]
        changes = Softmax().chain(powers, self.beta * slopes)
        return changes[1:] if two else changes


@dataclass(frozen=True, eq=False)
class Calibrated(Link):
    """Mean over members of their calibrated scores.

    Parameters
    ----------
    members : list of (EachClass or Temperature)
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
