"""Estimators around others: searches, frozen models, votes, transformed targets."""

import numpy as np

from skvarimp._models.column_sources import NotColumnwise, sources
from skvarimp._models.forms import Combined, NotReadable, weighted_sum
from skvarimp._models.links import InverseTransform
from skvarimp._models.model import Model
from skvarimp._models.registry import read


def read_best_estimator(model, table):
    """A search answers with the estimator it refitted."""
    best = getattr(model.estimator, "best_estimator_", None)
    if best is None:
        raise NotReadable("the search was not refitted")
    return read(Model(best, model.method), table)


def read_frozen(model, table):
    """A frozen estimator answers as the one inside."""
    return read(Model(model.estimator.estimator, model.method), table)


def read_ransac(model, table):
    """RANSAC predicts by the estimator it fitted to the inliers."""
    return read(Model(model.estimator.estimator_, model.method), table)


def read_threshold(model, table):
    """A threshold moves labels; probabilities and scores are those inside."""
    if model.method == "predict":
        raise NotReadable("its labels depend on a threshold of its own")
    return read(Model(model.estimator.estimator_, model.method), table)


def read_vote(model, table):
    """Weighted mean of the members' outputs."""
    vote = model.estimator
    if model.classifier and (vote.voting != "soft" or model.method != "predict_proba"):
        raise NotReadable("a vote of labels is no sum of its members")
    members = vote.estimators_
    weights = np.ones(len(members))
    if vote.weights is not None:
        kept = [not isinstance(e, str) for _, e in vote.estimators]  # "drop"
        weights = np.asarray(vote.weights, dtype=np.float64)[kept]
    method = "predict_proba" if model.classifier else "predict"
    models = [Model(member, method) for member in members]
    forms = [read(member, table) for member in models]
    return weighted_sum(forms, models, weights / weights.sum())


def read_transformed_target(model, table):
    """An element-wise inverse of the target's transformation as a link."""
    wrapper = model.estimator
    try:
        columns = sources(wrapper.transformer_, 1)
    except NotColumnwise:
        raise NotReadable("the target's transformation is not element-wise") from None
    if len(columns) != 1:
        raise NotReadable("the target's transformation changes its columns")
    regressor = Model(wrapper.regressor_, "predict")
    form = read(regressor, table)
    return Combined(
        members=[form],
        models=[regressor],
        link=InverseTransform(wrapper.transformer_),
        single=form.single,
        name="transformed target,",
    )
