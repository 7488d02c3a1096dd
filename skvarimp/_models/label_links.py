"""Links to labels: indicators of classes from scores, and where rounding decides."""

from dataclasses import dataclass

import numpy as np

from skvarimp._models.links import IDENTITY, LOGISTIC, Link, Softmax, tolerance


class LabelLink(Link):
    """Base of links to labels that are decided by the scores; see `Link`.

    Attributes
    ----------
    threshold : float
        What scores are compared with, besides each other.
    """

    discrete = True
    convex = True
    threshold = 0.0

    def __call__(self, scores):
        """See `links.py`."""
        close = self.lead(scores) <= tolerance(scores, self.threshold)
        return self.decided(scores), close


@dataclass(frozen=True)
class AboveThreshold(LabelLink):
    """Label indicators of scores that stand for one yes or no each.

    Parameters
    ----------
    threshold : float
    """

    threshold: float = 0.0

    def decided(self, scores):
        """See `Link`."""
        return (scores > self.threshold).astype(np.float64)

    def lead(self, scores):
        """See `Link`."""
        return np.abs(scores - self.threshold).min(axis=0)


class Sign(AboveThreshold):
    """1 for a score above a threshold and -1 for others (outlier detectors' labels)."""

    def decided(self, scores):
        """See `Link`."""
        return 2.0 * super().decided(scores) - 1.0


class LargestScore(LabelLink):
    """Label indicators: 1 for the largest score, the first of equal ones."""

    def decided(self, scores):
        """See `Link`."""
        return _indicators(scores)

    def lead(self, scores):
        """See `Link`."""
        if len(scores) == 1:
            return np.full(scores.shape[1:], np.inf)
        return np.subtract(*np.partition(scores, (-2, -1), axis=0)[[-1, -2]])


class LargestNumber(LargestScore):
    """The number of the largest score, of the first of equal ones."""

    def n_outputs(self, n_scores):
        """See `Link.n_outputs`."""
        return 1

    def decided(self, scores):
        """See `Link`."""
        return scores.argmax(axis=0)[np.newaxis].astype(np.float64)


def score_link(method, two_classes):
    """The link of a classifier by log-odds, or by the logarithms of likelihoods.

    Parameters
    ----------
    method : {"decision_function", "predict", "predict_proba"}
    two_classes : bool
        Whether there is one score, that of the second class.
    """
    if method == "decision_function":
        return IDENTITY
    if method == "predict":
        return AboveThreshold() if two_classes else LargestScore()
    return LOGISTIC if two_classes else Softmax()


def _indicators(scores):
    which = np.arange(len(scores)).reshape(-1, *[1] * (scores.ndim - 1))
    return (scores.argmax(axis=0) == which).astype(np.float64)


@dataclass(frozen=True)
class PairwiseVotes(Link):
    """Classes from the scores of all pairs of classes, larger for the first.

    Parameters
    ----------
    n_classes : int
    what : {"votes", "decision"}
        Label indicators of the most votes (the first of equal ones); votes plus
        c / (3 (\\|c\\| + 1)) with c the sum of a class's scores.
    threshold : float
        Above it a pair's score votes for the first class.
    sign : float
        1; -1 for scores that are larger for the second class, which get its vote.
    """

    n_classes: int
    what: str
    threshold: float = 0.0
    sign: float = 1.0

    def n_outputs(self, n_scores):
        """One per class."""
        return self.n_classes

    def __call__(self, scores):
        """See the module."""
        votes = np.zeros((self.n_classes, *scores.shape[1:]))
        confidence = np.zeros_like(votes)
        for score, k, l in zip(scores, *np.triu_indices(self.n_classes, 1)):
            score = self.sign * score
            won = score > self.sign * self.threshold
            votes[k] += won
            votes[l] += ~won
            confidence[k] += score
            confidence[l] -= score
        near = tolerance(scores, self.threshold)
        close = np.any(np.abs(scores - self.threshold) <= near, axis=0)
        if self.what == "votes":
            return _indicators(votes), close
        votes += confidence / (3.0 * (np.abs(confidence) + 1.0))
        return votes, close

    def chain(self, scores, slopes):
        """See the module; votes are piecewise constant."""
        if self.what == "votes":
            return super().chain(scores, slopes)
        sides = np.zeros((self.n_classes, len(scores)))
        first, second = np.triu_indices(self.n_classes, 1)
        pairs = np.arange(len(scores))
        sides[first, pairs], sides[second, pairs] = self.sign, -self.sign
        confidence = sides @ scores
        # d c / (3 (|c| + 1)) = 1 / (3 (|c| + 1)^2)
        steepness = 1.0 / (3.0 * (np.abs(confidence) + 1.0) ** 2)
        changes = np.tensordot(sides, slopes, 1)
        return changes * steepness[:, :, np.newaxis]


@dataclass(frozen=True)
class MostVotes(Link):
    """Label indicators of the class with most votes, the first of equal ones.

    Parameters
    ----------
    n_votes : float or None
        How many votes there are, for two classes: the scores then count the votes for
        the second one. None: the scores count the votes for each class.
    """

    n_votes: float | None = None

    def __call__(self, scores):
        """See the module; sums of whole numbers are exact, and so are their ties."""
        if self.n_votes is not None:
            return (2.0 * scores > self.n_votes).astype(np.float64), None
        return _indicators(scores), None
