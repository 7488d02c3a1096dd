"""Links of the outputs of several models: stacking, calibration, classes by parts.

As in `links.py`, a link takes scores of shape (n_scores, ...), here the members'
outputs one after another, and gives outputs and a mask of close calls.
"""

from dataclasses import dataclass
from functools import reduce

import numpy as np

from skvarimp._models.label_links import AboveThreshold, LargestScore
from skvarimp._models.links import (
    CLOSE,
    IDENTITY,
    SECOND,
    Link,
    Mixed,
    Softmax,
    Then,
    any_close,
    logistic,
)


@dataclass(frozen=True, eq=False)
class NearestCode(Link):
    """The label whose code is nearest to the scores.

    Parameters
    ----------
    codes : ndarray of shape (n_classes, n_scores)
    """

    codes: np.ndarray
    convex = True

    def n_outputs(self, n_scores):
        """One per class; of two classes only the second's."""
        return 1 if len(self.codes) == 2 else len(self.codes)

    def __call__(self, scores):
        """See the module; |s - c|^2 is least where s'c - |c|^2 / 2 is largest."""
        nearness = Mixed(self.codes, -0.5 * np.sum(self.codes**2, axis=1))
        labels, close = Then(nearness, LargestScore())(scores)
        return shown(labels), close


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


@dataclass(frozen=True, eq=False)
class Chain(Link):
    """Outputs of scores, to each of which the scores before it add something.

    t_k = scores_k + sum of weights_km h_m(t_m) over m < k, outputs links_k(t_k)

    Parameters
    ----------
    steps : list of (ndarray of shape (k,), Link)
        For each score its weights and h; the last h is the identity.
    links : list of Link
    order : ndarray of shape (n_scores,)
        The score of each output.
    """

    steps: list
    links: list
    order: np.ndarray

    @property
    def smooth(self):
        """See `Link`."""
        return all(link.smooth for link in [*self.links, *(h for _, h in self.steps)])

    def __call__(self, scores):
        """See the module."""
        outputs, handed_on, doubts = [], [], []
        for score, link, (weights, hand_on) in zip(scores, self.links, self.steps):
            score = score + sum(w * h for w, h in zip(weights, handed_on))
            for function, found in ((link, outputs), (hand_on, handed_on)):
                (output,), doubt = function(score[np.newaxis])
                found.append(output)
                doubts.append(doubt)
        return np.stack(outputs)[self.order], any_close(*doubts)

    def chain(self, scores, slopes):
        """See `links.py`."""
        outputs, handed_on, changes = [], [], []
        for k, (weights, hand_on) in enumerate(self.steps):
            score = scores[k] + sum(w * h for w, h in zip(weights, handed_on))
            slope = slopes[k] + sum(w * c for w, c in zip(weights, changes))
            score, slope = score[np.newaxis], slope[np.newaxis]
            outputs.append(self.links[k].chain(score, slope)[0])
            handed_on.append(hand_on(score)[0][0])
            changes.append(hand_on.chain(score, slope)[0])
        return np.stack(outputs)[self.order]


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
        """See `Link.n_outputs`."""
        return sum(1 if count == 2 else count for count in self.counts)

    @property
    def discrete(self):
        """See `Link`."""
        return self.label.discrete

    def __call__(self, scores):
        """See the module."""
        outputs, doubts = [], []
        for own in self._parts(scores):
            own, doubt = self.label(own)
            outputs.append(shown(own))
            doubts.append(doubt)
        return np.concatenate(outputs), any_close(*doubts)

    def _parts(self, scores):
        return np.split(scores, np.cumsum(self.counts)[:-1])

    def decided(self, scores):
        """See `Link`."""
        labels = [self.label.decided(part) for part in self._parts(scores)]
        return np.concatenate([shown(part) for part in labels])

    def lead(self, scores):
        """See `Link`."""
        return np.min([self.label.lead(part) for part in self._parts(scores)], axis=0)


def shown(of_classes):
    """The rows of the classes that are outputs: the second of two, or else all."""
    return of_classes[1:] if len(of_classes) == 2 else of_classes


def classifier_link(method, n_raw, link, zero_is_second=False):
    """From a boosted classifier's raw outputs to what one of its methods returns.

    Parameters
    ----------
    method : str
    n_raw : int
        1: of the second of two classes.
    link : Link
        To the probabilities of all classes, or of the second one where n_raw is 1.
    zero_is_second : bool, default=False
        Whether a raw output of 0 stands for the second of two classes.

    Returns
    -------
    Link or None
    """
    if method == "decision_function":
        return None
    if method != "predict":
        return Then(link, EachOutput((2,))) if n_raw == 2 else link
    if n_raw == 1:
        return AboveThreshold(-np.finfo(np.float64).tiny if zero_is_second else 0.0)
    return EachOutput((n_raw,), LargestScore())


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
