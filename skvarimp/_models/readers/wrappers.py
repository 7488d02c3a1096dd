"""Estimators around others: searches, votes, bagging, pipelines, scaled targets."""

from contextlib import suppress
from copy import copy
from dataclasses import replace

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from skvarimp._data.base_table import spread_over
from skvarimp._data.table import as_table
from skvarimp._models.affine import NotAffine, affine
from skvarimp._models.array_forms import Additive
from skvarimp._models.column_sources import NotColumnwise, replaced, sources
from skvarimp._models.forms import (
    BehindSteps,
    LinkedForm,
    NotReadable,
    Read,
    Smooth,
    combined,
    mixed,
)
from skvarimp._models.labels import AboveThreshold, LargestScore
from skvarimp._models.links import (
    EXPONENTIAL,
    IDENTITY,
    InverseTransform,
    Mixed,
    Then,
    WeightedMedian,
)
from skvarimp._models.model import Model, rule_of
from skvarimp._models.readers.sklearn_trees import SINGLE_TREES, read_trees
from skvarimp._models.readers.smooth import smooth_scores
from skvarimp._models.registry import answering, read, read_all, read_one
from skvarimp._running.guards import users_code


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
    sums = model.classifier and method != "decision_function"
    of_member = method
    if sums:
        try:
            return read_trees(bagging, method, table)
        except NotReadable:  # other members than trees, or trees behind links
            asked = hasattr(bagging.estimators_[0], "predict_proba")
            of_member = "predict_proba" if asked else "predict"
    members = []
    for member, columns in zip(bagging.estimators_, bagging.estimators_features_):
        if model.classifier and len(member.classes_) < len(bagging.classes_):
            raise NotReadable("a member of BaggingClassifier has not seen all classes")
        members.append(_on_columns(Model(member, of_member), columns, table))
    weights = np.ones(len(members))
    if model.classifier and method == "predict":
        return labels_of_sum(members, weights, len(bagging.classes_))
    return mixed(members, weights / len(members), "bagging of")


def read_weighted_median(model, table):
    """AdaBoost's weighted median of the members' outputs."""
    boosting = model.estimator
    if all(type(member).__name__ in SINGLE_TREES for member in boosting.estimators_):
        return read_trees(boosting, model.method, table)
    members = read_all(boosting.estimators_, model.method, table)
    weights = np.asarray(boosting.estimator_weights_, dtype=np.float64)
    link = WeightedMedian(weights[: len(members)])
    return combined(members, link, "weighted median of")


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
    whole = np.array_equal(weights, np.rint(weights))
    exact = whole and all(member.model.method == "predict" for member in members)
    weights = weights if exact else weights / weights.sum()
    if n_classes == 2:  # more than half is the second's
        label = AboveThreshold(0.5 * weights.sum(), exact)
    else:
        label = LargestScore(exact=exact)
    return combined(members, Then(Mixed(weights[np.newaxis]), label), "vote of")


def _exponential(form, wrapper):
    """A smooth form with an exponential link; None: another form."""
    if isinstance(form, BehindSteps):
        inside, behind = _exponential(form.form, wrapper), copy(wrapper)
        behind.regressor_ = form.model.estimator
        return inside and replace(form, form=inside, model=Model(behind, "predict"))
    smooth = getattr(form, "link", None) is IDENTITY and not form.piecewise_constant
    return replace(form, link=EXPONENTIAL) if smooth else None


def read_transformed_target(model, table):
    """An element-wise inverse of the target's transformation as a link."""
    wrapper = model.estimator
    form, regressor = inner = read_one(wrapper.regressor_, "predict", table)
    is_exp = getattr(wrapper.transformer_, "inverse_func", None) is np.exp
    if is_exp and not wrapper.transformer_.inv_kw_args:
        exponential = _exponential(form, wrapper)
        if exponential is not None:
            return exponential
    n_targets = regressor(table.take([0]).native).shape[1]
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


READ_ROWS = 100  # transformed for the readers of what comes behind the steps


def read_pipeline(model, table):
    """Column-wise steps, then affine ones, then a model that is read."""
    pipeline = model.estimator
    if len(pipeline.steps) == 1:
        return read(Model(pipeline.steps[0][1], model.method), table)
    n_before, source, reason = _columnwise(pipeline, table)
    table = table.take(spread_over(table.n_samples, READ_ROWS))
    steps, behind = pipeline[:n_before], pipeline[n_before:]
    if not n_before:
        return _behind(model, table, reason)
    model = Model(behind, model.method)
    moved = _transformed(steps, table)
    if moved.n_columns != len(source):
        raise NotReadable("the columns behind the Pipeline's steps are not known")
    form = _behind(model, moved, reason)
    return BehindSteps(steps=steps, source=source, form=form, model=model)


def _columnwise(pipeline, table):
    """How many first steps work column by column, their sources, and why no more do."""
    reason = None
    for n_before in range(len(pipeline.steps) - 1, 0, -1):
        try:
            source = sources(pipeline[:n_before], table.n_columns, table.names)
            return n_before, source, reason
        except NotColumnwise as mixing:
            reason = str(mixing)
    return 0, None, reason


def _transformed(steps, table):
    with users_code():
        return as_table(steps.transform(table.copy()))


def _behind(model, table, reason):
    """The form of steps that mix columns and a model, or NotReadable with the reason.

    Affine steps are multiplied into models of weighted sums. Models that are smooth
    behind smooth steps are asked as a whole.
    """
    steps, last = model.estimator[:-1], model.estimator[-1]
    moved = _transformed(steps, table) if len(steps) else table
    form = read(Model(last, model.method), moved)
    if len(steps) == 0:
        return form
    try:
        wider = form.after(affine(steps, table.n_columns))
    except NotAffine:
        wider = None
    if wider is not None:
        return replace(wider, single=True)  # single precision of X stays single
    if all(_is_smooth(step) for _, step in steps.steps):
        scores = _scores_of(last, model.method, moved)
        if scores is not None and scores.smooth and isinstance(form, LinkedForm):
            return smooth_scores(Model(model.estimator, "decision_function"), form.link)
        if form.smooth:
            return Smooth(model=model)
    raise NotReadable(reason)


def _scores_of(estimator, method, table):
    """The form of a linear classifier's scores, or None."""
    if method == "decision_function" or not hasattr(estimator, "decision_function"):
        return None
    scores = read(Model(estimator, "decision_function"), table)
    return scores if isinstance(scores, Additive) else None


# Transformers besides affine ones whose outputs are analytic functions of each column.
SMOOTH = {
    "sklearn.preprocessing": {"PolynomialFeatures": True},
    "sklearn.kernel_approximation": {"Nystroem": True, "RBFSampler": True},
}


def _is_smooth(step):
    """Whether the outputs of a fitted transformer are analytic in each column."""
    if rule_of(step, SMOOTH):
        return not replaced(step)
    try:
        affine(step, getattr(step, "n_features_in_", 0))
    except NotAffine:
        return False
    return True
