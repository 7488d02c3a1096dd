"""Class labels: the classes of y, outputs and indicators of them, and links to labels.

A link to labels gives indicators of classes from scores, and where rounding decides.
"""

from dataclasses import dataclass

import numpy as np

from skvarimp._data.base_table import factorized, numbers_if_possible
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
from skvarimp._running.guards import budget, users_code


def as_columns(y):
    """y as (n_samples, n_columns)."""
    y = np.asarray(y)
    return y[:, np.newaxis] if y.ndim == 1 else y


def class_lists(classes):
    """Classes of each column of y as a list of arrays, from `classes_`.

    Parameters
    ----------
    classes : array-like, or list of them
        Of one column, or one for each column.
    """
    if isinstance(classes, list) and np.ndim(classes[0]) > 0:
        return [np.asarray(c) for c in classes]
    return [np.asarray(classes)]


def encoded(y):
    """Classes of one column of labels, and the position of each label among them.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Numbers are sorted by value, and other labels by their text.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
    codes : ndarray of shape (n_samples,)
    """
    y = np.asarray(y)
    codes, first = factorized(numbers_if_possible(y))
    return y[first], codes


def positions(y, lists, strict=True):
    """Position of each label among the classes of its column.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_columns)
    lists : list of ndarray
        The classes of each column.
    strict : bool, default=True
        Whether to refuse labels that are no class; else they get -1.

    Returns
    -------
    ndarray of shape (n_samples, n_columns)
    """
    columns = as_columns(y)
    if columns.shape[1] != len(lists):
        raise ValueError(
            f"y has {columns.shape[1]} columns, but the model was fitted with "
            f"{len(lists)}. Pass the y the model was fitted with."
        )
    result = np.empty(columns.shape, dtype=np.intp)
    for c, classes in enumerate(lists):
        column = columns[:, c]
        if column.dtype == classes.dtype and column.dtype.kind in "biuf":  # no sort
            order = np.argsort(classes)
            at = np.searchsorted(classes, column, sorter=order)
            place = order[np.minimum(at, len(classes) - 1)]
            result[:, c] = np.where(classes[place] == column, place, -1)
        else:
            labels, codes = encoded(column)
            place = {label: k for k, label in enumerate(classes.tolist())}
            places = [place.get(label, -1) for label in labels.tolist()]
            result[:, c] = np.array(places, dtype=np.intp)[codes]
        unknown = result[:, c] < 0
        if strict and unknown.any():
            label = columns[unknown, c].tolist()[0]
            raise ValueError(
                f"y has the label {label!r}, which is not among the model's classes "
                f"{classes.tolist()}."
            )
    return result


def watched(classes):
    """Classes that get an output: the second of two, else all."""
    return classes[1:] if len(classes) == 2 else classes


def indicators(y, lists, strict=True):
    """One indicator for each class of each column, the first of two classes dropped.

    Parameters
    ----------
    y, lists, strict
        As for `positions`.

    Returns
    -------
    ndarray of shape (n_samples, n_outputs)
    """
    shown = [watched(np.arange(len(classes))) for classes in lists]
    return where_codes(positions(y, lists, strict), shown).astype(np.float64)


def where_codes(codes, shown):
    """Whether each row has each of some codes, side by side, (n_samples, n) bool.

    Parameters
    ----------
    codes : ndarray of shape (n_samples, n_columns)
    shown : iterable of ndarray
        Codes of each column.
    """
    return np.hstack([codes[:, [c]] == label for c, label in enumerate(shown)])


def classes_of(classifier):
    """`class_lists` of a fitted classifier."""
    classes = getattr(classifier, "classes_", None)
    if classes is None:
        raise ValueError(
            f"{type(classifier).__name__} is a classifier without `classes_`. "
            "Pass a callable that returns its scores instead."
        )
    return class_lists(classes)


def shown_names(lists, n_outputs):
    """Names of so many scores, of all classes or of those watched; None: of neither."""
    if len(lists) == 1:
        for shown in (watched(lists[0]), lists[0]):
            if n_outputs == len(shown):
                return [str(c) for c in shown]
    return None


def are_several(model, blocks, X):
    """Whether probabilities, which do not sum to 1, are those of several labels.

    Classifiers of several labels then predict several columns. Others, such as one
    against the rest, predict one class of one target, perhaps as one column.
    """
    block, predict = blocks[0], getattr(model.estimator, "predict", None)
    several = block.ndim == 2 and block.shape[1] > 1 and len(model.class_lists) == 1
    if len(blocks) > 1 or not several or np.allclose(block.sum(axis=1), 1.0, atol=1e-6):
        return False
    budget().spend(X.shape[0])
    with users_code():
        return predict is not None and as_columns(predict(X)).shape[1] > 1


def probabilities(estimator, blocks, lists):
    """Probabilities side by side, a two-class output's first class dropped."""
    for block, classes in zip(blocks, lists, strict=False):
        if block.ndim != 2 or block.shape[1] != len(classes):
            raise ValueError(
                f"`predict_proba` of {type(estimator).__name__} must have one column "
                f"for each of its {len(classes)} classes, got shape {block.shape}."
            )
    kept = [b[:, 1:] if b.shape[1] == 2 else b for b in blocks]
    return np.ascontiguousarray(np.hstack(kept))


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
