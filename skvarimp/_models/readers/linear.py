"""Models with a linear predictor: link(W' x + b)."""

import numpy as np

from skvarimp._models.array_forms import Additive
from skvarimp._models.label_links import AboveThreshold, Sign, score_link
from skvarimp._models.links import (
    EXPONENTIAL,
    IDENTITY,
    LOGISTIC,
    ClippedLine,
    Shares,
    Then,
)
from skvarimp._models.readers.arrays import dense, is_single
from skvarimp._running.private_sklearn import private


def read_linear(model, table):
    """The form of a model with `coef_`."""
    estimator = model.estimator
    coef = coefficients(estimator)
    centres = _centres_in_place(estimator)
    return Additive(
        weights=coef.T,
        intercept=intercept(estimator),
        link=_link(model, table, len(coef)),
        # where X is centred in place, its single precision stays single
        single=is_single(estimator.coef_) or centres,
    )


def coefficients(estimator):
    """`coef_` as an array of shape (n_scores, n_columns)."""
    return np.atleast_2d(dense(estimator.coef_))


def _centres_in_place(estimator):
    return hasattr(estimator, "x_rotations_")  # partial least squares


def intercept(estimator):
    """The intercepts, (n_scores,), as far as they are kept."""
    coef = coefficients(estimator)
    if _centres_in_place(estimator):
        # No public attribute holds the mean of X.
        return dense(estimator.intercept_) - coef @ dense(private(estimator, "_x_mean"))
    if hasattr(estimator, "offset_"):  # SGDOneClassSVM
        return -dense(estimator.offset_).reshape(-1)
    own = dense(getattr(estimator, "intercept_", 0.0))
    return np.broadcast_to(own, len(coef))


def _link(model, table, n_scores):
    estimator, name = model.estimator, type(model.estimator).__name__
    if model.classifier or model.method == "decision_function":
        return _class_link(model, table, n_scores)
    if name == "SGDOneClassSVM":
        return Sign()
    if name == "TweedieRegressor":
        # link="auto": the identity for power <= 0, else the logarithm
        by_power = estimator.link == "auto" and estimator.power > 0
        return EXPONENTIAL if estimator.link == "log" or by_power else IDENTITY
    return EXPONENTIAL if name in ("PoissonRegressor", "GammaRegressor") else IDENTITY


def _class_link(model, table, n_scores):
    estimator = model.estimator
    if model.method == "predict_proba" and type(estimator).__name__ == "SGDClassifier":
        if estimator.loss == "modified_huber":
            return ClippedLine()
        return LOGISTIC if n_scores == 1 else Then(LOGISTIC, Shares())
    if model.method == "predict" and n_scores > 1:
        labels = model.raw(table.take([0]).native)
        if np.ndim(labels) == 2:  # several labels of yes or no
            return AboveThreshold()
    return score_link(model.method, n_scores == 1)
