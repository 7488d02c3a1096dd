"""Models with a linear predictor: link(W' x + b)."""

import numpy as np

from skvarimp._models.array_forms import Additive
from skvarimp._models.label_links import AboveThreshold, LargestScore, Sign
from skvarimp._models.links import (
    EXPONENTIAL,
    IDENTITY,
    LOGISTIC,
    ClippedLine,
    Shares,
    Softmax,
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
    if model.method == "decision_function":
        return IDENTITY
    if model.method == "predict_proba":
        return _probability_link(estimator, name, n_scores)
    if model.classifier:
        return label_link(model, table, n_scores)
    if name == "SGDOneClassSVM":
        return Sign()
    return EXPONENTIAL if _has_log_link(estimator, name) else IDENTITY


def _has_log_link(estimator, name):
    if name == "TweedieRegressor":
        # link="auto": the identity for power <= 0, else the logarithm
        by_power = estimator.link == "auto" and estimator.power > 0
        return estimator.link == "log" or by_power
    return name in ("PoissonRegressor", "GammaRegressor")


def _probability_link(estimator, name, n_scores):
    if name == "SGDClassifier":
        if estimator.loss == "modified_huber":
            return ClippedLine()
        return LOGISTIC if n_scores == 1 else Then(LOGISTIC, Shares())
    return LOGISTIC if n_scores == 1 else Softmax()


def label_link(model, table, n_scores):
    """The link of a classifier's labels: classes, or several labels of yes or no."""
    if n_scores == 1:
        return AboveThreshold()
    labels = model.raw(table.take(np.zeros(1, dtype=np.intp)).native)
    return AboveThreshold() if np.ndim(labels) == 2 else LargestScore()  # 2: multilabel
