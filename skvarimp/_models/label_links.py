"""Links to labels: indicators of classes from scores, and where rounding decides."""

from dataclasses import dataclass

import numpy as np

from skvarimp._models.links import (
    IDENTITY,
    LOGISTIC,
    SECOND,
    Link,
    Softmax,
    Then,
    any_close,
    scaled,
    tolerance,
)


@dataclass(frozen=True)
class LabelLink(Link):
    """Base of links to labels that are decided by the scores; see `Link`.

    Parameters
    ----------
    threshold : float
        What scores are compared with, besides each other.
    exact : bool
        Whether scores are whole numbers: rounding decides nothing, also in ties.
    """

    threshold: float = 0.0
    exact: bool = False
    discrete = True
    convex = True

    def __call__(self, scores):
        if self.exact:
            return self.decided(scores), None
        close = self.lead(scores) <= tolerance(scores, self.threshold)
        return self.decided(scores), close


class AboveThreshold(LabelLink):
    """Label indicators of scores that stand for one yes or no each."""

    def decided(self, scores):
        """The labels of scores, (n_outputs, ...)."""
        return (scores > self.threshold).astype(np.float64)

    def lead(self, scores):
        """How far scores are from those that another label is decided by."""
        return np.abs(scores - self.threshold).min(axis=0)


class Sign(AboveThreshold):
    """1 for a score above a threshold and -1 for others (outlier detectors' labels)."""

    def decided(self, scores):
        return 2.0 * super().decided(scores) - 1.0


class LargestScore(LabelLink):
    """Label indicators: 1 for the largest score, the first of equal ones."""

    def decided(self, scores):
        which = np.arange(len(scores)).reshape(-1, *[1] * (scores.ndim - 1))
        return (scores.argmax(axis=0) == which).astype(np.float64)

    def lead(self, scores):
        if len(scores) == 1:
            return np.full(scores.shape[1:], np.inf)
        return np.subtract(*np.partition(scores, (-2, -1), axis=0)[[-1, -2]])


class LargestNumber(LargestScore):
    """The number of the largest score, of the first of equal ones."""

    def n_outputs(self, n_scores):
        return 1

    def decided(self, scores):
        return scores.argmax(axis=0)[np.newaxis].astype(np.float64)


@dataclass(frozen=True)
class EachOutput(Link):
    """Scores of all classes of several outputs; the first of two classes is dropped.

    Parameters
    ----------
    counts : tuple of int
        Classes of each output.
    label : Link
        From the scores of one output to its label indicators.
    """

    counts: tuple
    label: object = IDENTITY

    def n_outputs(self, n_scores):
        return sum(1 if count == 2 else count for count in self.counts)

    @property
    def discrete(self):
        return self.label.discrete

    def __call__(self, scores):
        outputs, doubts = zip(*map(self.label, self._parts(scores)))
        return self._shown(outputs), any_close(*doubts)

    @staticmethod
    def _shown(parts):
        """The classes that are outputs: the second of two, or else all."""
        return np.concatenate([own[1:] if len(own) == 2 else own for own in parts])

    def _parts(self, scores):
        return np.split(scores, np.cumsum(self.counts)[:-1])

    def decided(self, scores):
        return self._shown(map(self.label.decided, self._parts(scores)))

    def lead(self, scores):
        return np.min([self.label.lead(part) for part in self._parts(scores)], axis=0)


def class_link(method, n_scores, chances=None, factor=1.0, threshold=0.0):
    """The link of a classifier by log-odds, or by the logarithms of likelihoods.

    Parameters
    ----------
    method : {"decision_function", "predict", "predict_proba"}
    n_scores : int
        1: of the second of two classes.
    chances : Link, default=None
        To the probabilities of all classes, or of the second one where n_scores is 1.
        None: a logistic function, or a softmax.
    factor : float, default=1.0
        What the scores are multiplied by first.
    threshold : float, default=0.0
        Above it one score stands for the second class.
    """
    if method == "decision_function":
        return IDENTITY
    if method == "predict":
        if n_scores == 1:
            return AboveThreshold(threshold)
        largest = LargestScore()
        return EachOutput((2,), largest) if n_scores == 2 else largest
    chances = scaled(factor, chances or (LOGISTIC if n_scores == 1 else Softmax()))
    return Then(chances, SECOND) if n_scores == 2 else chances


@dataclass(frozen=True)
class PairwiseVotes(Link):
    """Votes of all pairs of classes, whose scores are larger for the first.

    Parameters
    ----------
    n_classes : int
    confident : bool
        Whether c / (3 (\\|c\\| + 1)) is added, with c the sum of a class's scores.
        Votes alone have no gradient and are for labels.
    """

    n_classes: int
    confident: bool = True

    def n_outputs(self, n_scores):
        """One per class."""
        return self.n_classes

    def __call__(self, scores):
        sides, won = self._sides(), scores > 0
        votes = np.tensordot(sides > 0, won.astype(np.float64), 1)
        votes += np.tensordot(sides < 0, 1.0 - won, 1)
        if self.confident:
            confidence = np.tensordot(sides, scores, 1)
            votes += confidence / (3.0 * (np.abs(confidence) + 1.0))
        return votes, np.any(np.abs(scores) <= tolerance(scores), axis=0)

    def _sides(self):
        """1 and -1 for the first and the second of each pair, (n_classes, n_pairs)."""
        first, second = np.triu_indices(self.n_classes, 1)
        return (np.eye(self.n_classes)[first] - np.eye(self.n_classes)[second]).T

    def chain(self, scores, slopes):
        """Votes are piecewise constant and have no gradient."""
        sides = self._sides()
        confidence = sides @ scores
        # d c / (3 (|c| + 1)) = 1 / (3 (|c| + 1)^2)
        steepness = 1.0 / (3.0 * (np.abs(confidence) + 1.0) ** 2)
        changes = np.tensordot(sides, slopes, 1)
        return changes * steepness[:, :, np.newaxis]
