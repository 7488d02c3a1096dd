"""Estimators that put models together: stacking, calibration, classes by parts.

Their links stand here, too. As in `links.py`, a link takes scores of shape
(n_scores, ...), here the outputs of the members one after another, and gives outputs
and a mask of close calls.
"""

from dataclasses import dataclass
from functools import reduce

import numpy as np

from skvarimp._data.table import as_table
from skvarimp._models.array_forms import Additive, Layers
from skvarimp._models.forms import NotReadable, Read, combined, mixed
from skvarimp._models.kernels import KernelSum
from skvarimp._models.labels import AboveThreshold, LargestScore
from skvarimp._models.links import (
    CLOSE,
    IDENTITY,
    LOGISTIC,
    SECOND,
    Elementwise,
    Link,
    Mixed,
    Shares,
    Softmax,
    Then,
    any_close,
    scaled,
)
from skvarimp._models.model import Model
from skvarimp._models.registry import read, read_all, read_one


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
        return self.count

    def __call__(self, scores):
        columns = scores.reshape(len(scores), -1).T
        outputs, close = self.form.link(self.form.scores(columns))
        if close is not None:
            close = np.broadcast_to(close, outputs.shape[1:]).reshape(scores.shape[1:])
        return outputs.reshape(-1, *scores.shape[1:]), close

    def chain(self, scores, slopes):
        _, by_score = self.form.gradient(scores.T)
        return np.einsum("oim,mij->oij", by_score, slopes)


EPS = 1e-12  # what scikit-learn adds before it takes logarithms
SMALL = 1e-6  # probabilities below it show their rounding in a logarithm


@dataclass(frozen=True, eq=False)
class Interpolated(Link):
    """Linear between points and flat beyond them: isotonic calibration."""

    x: np.ndarray
    y: np.ndarray

    def __call__(self, scores):
        """Close where rounding of the score shows."""
        outputs = np.interp(scores, self.x, self.y)
        rounding = 1e-13 * np.abs(self.x).max()
        if np.all(np.diff(self.y) * rounding <= CLOSE * np.diff(self.x)):
            return outputs, None
        near = [np.interp(scores + r, self.x, self.y) for r in (rounding, -rounding)]
        return outputs, np.any(near[0] - near[1] > CLOSE, axis=0)

    def chain(self, scores, slopes):
        steepness = np.diff(self.y) / np.diff(self.x)
        steepness = np.concatenate([[0.0], steepness, [0.0]])
        return slopes * steepness[np.searchsorted(self.x, scores)][:, :, np.newaxis]


class Logarithm(Link):
    """The logarithm of probabilities as scikit-learn takes it."""

    def __call__(self, scores):
        close = np.any((scores < SMALL) & (scores != 0), axis=0)
        return np.log(scores + EPS), close

    def chain(self, scores, slopes):
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
        n_own = n_scores // len(self.links)
        return sum(link.n_outputs(n_own) for link in self.links)

    def __call__(self, scores):
        blocks = np.split(scores, len(self.links))
        outputs, doubts = zip(*(link(own) for link, own in zip(self.links, blocks)))
        return np.concatenate(outputs), any_close(*doubts)

    def chain(self, scores, slopes):
        n = len(self.links)
        blocks = zip(self.links, np.split(scores, n), np.split(slopes, n))
        return np.concatenate([link.chain(*of_block) for link, *of_block in blocks])


def read_stacking(model, table):
    """The final estimator's response of the members' outputs, and perhaps of X."""
    stack = model.estimator
    if isinstance(getattr(stack, "classes_", None), list):
        raise NotReadable("a stack for several labels at once")
    final = Model(stack.final_estimator_, model.method)
    kept = [e for e in stack.estimators_ if not isinstance(e, str)]
    members = [read_one(*member, table) for member in zip(kept, stack.stack_method_)]
    if any(model.classifier and model.method == "predict" for _, model in members):
        raise NotReadable("a member of the stack gives labels")
    n_own = sum(model(table.take([0]).native).shape[1] for _, model in members)
    width = n_own + (table.n_columns if stack.passthrough else 0)
    last = read(final, as_table(np.zeros((1, width))))
    if not isinstance(last, Additive | KernelSum | Layers):
        raise NotReadable("the final estimator is no smooth function of the members")
    if isinstance(last, Additive) and not last.parts:
        weights = last.weights
        if stack.passthrough:
            members.append(_linear(weights[n_own:]))
            weights = np.vstack([weights[:n_own], np.eye(weights.shape[1])])
        return mixed(members, weights.T, "stacking of", last.intercept, last.link)
    if stack.passthrough:
        members.append(_linear(np.eye(table.n_columns)))
    link = Through(last, len(last.outputs(np.zeros((1, width)))))
    return combined(members, link, "stacking of")


def _linear(weights, constant=0.0):
    """`Read` of X times weights plus a constant."""
    intercept = np.full(weights.shape[1], constant)
    form = Additive(weights=weights, intercept=intercept)
    return Read(form, Model(LinearPart(weights, constant), "predict"))


class LinearPart:
    """A model that predicts X times weights plus a constant."""

    def __init__(self, weights, constant=0.0):
        self.weights, self.constant = weights, constant

    def predict(self, X):
        """The product, (n_samples, n_outputs)."""
        return np.asarray(X @ self.weights, dtype=np.float64) + self.constant


def read_calibrated(model, table):
    """Mean of members whose scores are calibrated one by one."""
    calibrated = model.estimator
    if model.method not in ("predict_proba", "predict"):
        raise NotReadable(f"a calibrated classifier has no {model.method}")
    members, links, two = [], [], len(calibrated.classes_) == 2
    for member in calibrated.calibrated_classifiers_:
        if len(member.estimator.classes_) < len(calibrated.classes_):
            raise NotReadable("a calibrated member has not seen all classes")
        decides = hasattr(member.estimator, "decision_function")
        method = "decision_function" if decides else "predict_proba"
        members.append(read_one(member.estimator, method, table))
        if member.method == "temperature":
            beta = float(member.calibrators[0].beta_)
            links.append(temperature(beta, two, of_probabilities=not decides))
        else:
            link = Blocks([_calibrator(c) for c in member.calibrators])
            links.append(link if two else Then(link, Shares(uniform=True)))
    link = Then(Blocks(links), Mixed(np.full((1, len(links)), 1.0 / len(links))))
    if model.method == "predict":
        link = Then(link, AboveThreshold(0.5) if two else LargestScore())
    return combined(members, link, "calibration of")


def _calibrator(fitted):
    if hasattr(fitted, "a_"):
        # 1 / (1 + exp(a s + b)): Platt's calibration
        return Then(Mixed(np.array([[-fitted.a_]]), -fitted.b_), LOGISTIC)
    if fitted.out_of_bounds != "clip":
        raise NotReadable("isotonic calibration that does not clip")
    x, y = np.asarray(fitted.X_thresholds_), np.asarray(fitted.y_thresholds_)
    return Interpolated(x.astype(np.float64), y.astype(np.float64))


def read_one_versus_rest(model, table):
    """One binary model per class."""
    whole = model.estimator
    several = whole.multilabel_ or len(whole.estimators_) == 1
    if model.method == "predict":
        members, threshold = _confidences(whole.estimators_, table)
        link = AboveThreshold(threshold) if several else LargestScore()
    else:
        members = _members(whole.estimators_, model.method, table)
        shares = model.method == "predict_proba" and not several
        link = Shares() if shares else IDENTITY
    return side_by_side(members, link, "one versus rest of")


def _confidences(estimators, table):
    """`Read` of binary scores, and the threshold of the second class."""
    first = next((e for e in estimators if hasattr(e, "classes_")), estimators[0])
    if not hasattr(first, "classes_"):
        method, threshold = "predict", 0.5  # regressors of 0 and 1
    elif hasattr(first, "decision_function"):
        method, threshold = "decision_function", 0.0
    else:
        method, threshold = "predict_proba", 0.5
    return _members(estimators, method, table), threshold


def _members(estimators, method, table):
    """`Read` of binary estimators; those of one class are constants."""
    return [
        _linear(np.zeros((table.n_columns, 1)), float(np.ravel(estimator.y_)[0]))
        if hasattr(estimator, "y_") and not hasattr(estimator, "classes_")
        else read_one(estimator, method, table)
        for estimator in estimators
    ]


def read_multi_output(model, table):
    """One model per output."""
    members = read_all(model.estimator.estimators_, model.method, table)
    return side_by_side(members, IDENTITY, "outputs of")


def side_by_side(members, link, name):
    """The outputs of all members, one after another, behind a link."""
    forms = [member.form for member in members]
    inner = getattr(forms[0], "link", None)
    linear = isinstance(inner, Elementwise) and all(
        isinstance(form, Additive) and not form.parts and form.link is inner
        for form in forms
    )
    if not linear or IDENTITY not in (inner, link):
        return combined(members, link, name)
    return Additive(
        weights=np.hstack([form.weights for form in forms]),
        intercept=np.concatenate([form.intercept for form in forms]),
        link=inner if link is IDENTITY else link,
        single=any(form.single for form in forms),
    )
