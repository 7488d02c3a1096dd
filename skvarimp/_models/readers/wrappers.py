"""Estimators around others, and estimators that put others together.

Searches, votes, bagging, transformed targets, stacking, calibration, classes and
outputs by parts. Links that only these need stand here, too. Their scores are the
outputs of the members one after another.
"""

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from skvarimp._data.table import as_table
from skvarimp._models.array_forms import Additive
from skvarimp._models.forms import BehindSteps, NotReadable, Read, combined, mixed
from skvarimp._models.labels import AboveThreshold, LargestScore
from skvarimp._models.links import (
    CLOSE,
    IDENTITY,
    LOGISTIC,
    InverseTransform,
    Link,
    Mixed,
    Shares,
    Then,
    any_close,
)
from skvarimp._models.model import Model
from skvarimp._models.registry import answering, read, read_all, read_one
from skvarimp._models.transformers import NotAffine, NotColumnwise, affine, sources


def read_inside(model, table):
    """The refitted model of a search, or the only model inside another estimator."""
    inside = answering(model.estimator)
    if inside is None:
        raise NotReadable("the search was not refitted")
    return read(Model(inside, model.method), table)


def read_threshold(model, table):
    """Labels by a threshold on one class's score; other outputs are those inside."""
    estimator = model.estimator
    if model.method != "predict":
        return read_inside(model, table)
    method = estimator.response_method
    if method == "auto":
        has_it = hasattr(estimator.estimator_, "predict_proba")
        method = "predict_proba" if has_it else "decision_function"
    inner = read_one(estimator.estimator_, method, table)
    pos_label, threshold = _rule_of(estimator, method)
    if pos_label is not None and pos_label == estimator.classes_[0]:
        # its score is 1 or 0 less that of the second class
        threshold = (1.0 if method == "predict_proba" else 0.0) - threshold
    return combined([inner], AboveThreshold(threshold), "threshold on")


def _rule_of(estimator, method):
    """The label that a high score stands for (None: the second), and the threshold."""
    if hasattr(estimator, "best_threshold_"):
        # no public attribute holds the scorer's label
        return estimator._curve_scorer._get_pos_label(), estimator.best_threshold_
    if estimator.threshold == "auto":
        return estimator.pos_label, 0.5 if method == "predict_proba" else 0.0
    return estimator.pos_label, estimator.threshold


def read_vote(model, table):
    """Weighted mean of the members' outputs, or the label with the most votes."""
    vote = model.estimator
    soft = model.classifier and vote.voting == "soft"
    members = read_all(vote.estimators_, "predict_proba" if soft else "predict", table)
    weights = np.ones(len(members))
    if vote.weights is not None:
        kept = [not isinstance(e, str) for _, e in vote.estimators]  # "drop"
        weights = np.asarray(vote.weights, dtype=np.float64)[kept]
    if not model.classifier or model.method == "predict_proba":
        return mixed(members, weights / weights.sum(), "vote of")
    return labels_of_sum(members, weights, len(vote.classes_))


def read_bagging(model, table):
    """Mean of the members' outputs, each on its own columns."""
    bagging, method = model.estimator, model.method
    members, member_method = [], method
    if model.classifier and method != "decision_function":
        asked = hasattr(bagging.estimators_[0], "predict_proba")
        member_method = "predict_proba" if asked else "predict"
    for member, columns in zip(bagging.estimators_, bagging.estimators_features_):
        if model.classifier and len(member.classes_) < len(bagging.classes_):
            raise NotReadable("a member of BaggingClassifier has not seen all classes")
        members.append(_on_columns(Model(member, member_method), columns, table))
    weights = np.ones(len(members))
    if model.classifier and method == "predict":
        return labels_of_sum(members, weights, len(bagging.classes_))
    return mixed(members, weights / len(members), "bagging of")


def _on_columns(model, columns, table):
    """`Read` of a wider table, of which a model sees some columns."""
    columns = np.asarray(columns)
    if np.array_equal(columns, np.arange(table.n_columns)):
        return Read(read(model, table), model)
    step = FunctionTransformer(_select, kw_args={"columns": columns})
    # whatever scikit-learn's configuration says of outputs
    steps = Pipeline([("columns", step.set_output(transform="default"))])
    whole = Model(Pipeline([*steps.steps, ("model", model.estimator)]), model.method)
    form = read(model, table.select(columns))
    wider = form.on(columns, table.n_columns)
    if wider is None:
        wider = BehindSteps(steps=steps, source=columns, form=form, model=model)
    return Read(wider, whole)


def _select(X, columns):
    """Some columns, in any order and more than once, in X's own container."""
    return as_table(X).select(columns).native


def labels_of_sum(members, weights, n_classes):
    """The label with the largest weighted sum of outputs, the first of equal ones."""
    # sums of whole numbers, such as votes and the shares of pure leaves, are exact
    whole = np.array_equal(weights, np.rint(weights))
    exact = whole and all(member.model.method == "predict" for member in members)
    weights = weights if whole else weights / weights.sum()
    if n_classes == 2:  # more than half is the second's
        label = AboveThreshold(0.5 * weights.sum(), exact)
    else:
        label = LargestScore(exact=exact)
    return mixed(members, weights, "vote of", link=label)


def read_transformed_target(model, table):
    """An element-wise inverse of the target's transformation as a link."""
    wrapper = model.estimator
    inner = read_one(wrapper.regressor_, "predict", table)
    n_targets = inner.model(table.take([0]).native).shape[1]
    if n_targets == 1:
        with suppress(NotAffine):
            scaling = affine(wrapper.transformer_, 1)
            factor = 1.0 / scaling.matrix.toarray().item()
            shift = -scaling.shift * factor
            return mixed([inner], [factor], "transformed target,", shift)
    try:
        columns = sources(wrapper.transformer_, 1)
    except NotColumnwise:
        raise NotReadable("the target's transformation is not element-wise") from None
    if len(columns) != 1:
        raise NotReadable("the target's transformation changes its columns")
    inverse = InverseTransform(wrapper.transformer_)
    return combined([inner], inverse, "transformed target,")


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
        return np.concatenate([link.chain(own, slope) for link, own, slope in blocks])


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
    if not isinstance(last, Additive) or last.parts:
        raise NotReadable("the final estimator is not linear in the members' outputs")
    weights = last.weights
    if stack.passthrough:
        members.append(_linear(weights[n_own:]))
        weights = np.vstack([weights[:n_own], np.eye(weights.shape[1])])
    return mixed(members, weights.T, "stacking of", last.intercept, last.link)


def _linear(weights):
    """`Read` of X times weights."""
    form = Additive(weights=weights, intercept=np.zeros(weights.shape[1]))
    return Read(form, Model(LinearPart(weights), "predict"))


class LinearPart:
    """A model that predicts X times weights."""

    def __init__(self, weights):
        self.weights = weights

    def predict(self, X):
        """The product, (n_samples, n_outputs)."""
        return np.asarray(X @ self.weights, dtype=np.float64)


def read_calibrated(model, table):
    """Mean of members whose scores are calibrated one by one."""
    calibrated = model.estimator
    members, links, two = [], [], len(calibrated.classes_) == 2
    for member in calibrated.calibrated_classifiers_:
        if len(member.estimator.classes_) < len(calibrated.classes_):
            raise NotReadable("a calibrated member has not seen all classes")
        if member.method == "temperature":
            raise NotReadable("calibration by a temperature")
        decides = hasattr(member.estimator, "decision_function")
        method = "decision_function" if decides else "predict_proba"
        members.append(read_one(member.estimator, method, table))
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
    x, y = np.asarray(fitted.X_thresholds_), np.asarray(fitted.y_thresholds_)
    return Interpolated(x.astype(np.float64), y.astype(np.float64))


def read_one_versus_rest(model, table):
    """One binary model per class."""
    whole, method = model.estimator, model.method
    several = whole.multilabel_ or len(whole.estimators_) == 1
    link = Shares() if method == "predict_proba" and not several else IDENTITY
    if method == "predict":
        method, threshold = _confidence(whole.estimators_[0])
        link = AboveThreshold(threshold) if several else LargestScore()
    members = read_all(whole.estimators_, method, table)
    return side_by_side(members, link, "one versus rest of")


def _confidence(estimator):
    """The method that gives a binary score, and its threshold."""
    if not hasattr(estimator, "classes_"):
        return "predict", 0.5  # a regressor of 0 and 1
    if hasattr(estimator, "decision_function"):
        return "decision_function", 0.0
    return "predict_proba", 0.5


def read_multi_output(model, table):
    """One model per output."""
    members = read_all(model.estimator.estimators_, model.method, table)
    return side_by_side(members, IDENTITY, "outputs of")


def side_by_side(members, link, name):
    """The outputs of all members, one after another, behind a link."""
    forms = [member.form for member in members]
    if all(isinstance(form, Additive) for form in forms):
        joined = Additive.mixed(forms, Mixed(np.eye(len(forms))))
        if joined is not None:
            return replace(joined, link=link)
    return combined(members, link, name)
