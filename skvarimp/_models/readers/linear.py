"""Linear predictors and multilayer perceptrons: forms, and views of their weights.

Estimators without a reader, such as subclasses, give their public `coef_` and `coefs_`.
"""

import numpy as np

from skvarimp._data.base_table import dense
from skvarimp._data.table import as_table
from skvarimp._models.array_forms import Additive, Layers, is_single
from skvarimp._models.forms import NotReadable
from skvarimp._models.label_links import AboveThreshold, LargestScore, Sign, class_link
from skvarimp._models.links import (
    EXPONENTIAL,
    IDENTITY,
    LOGISTIC,
    ClippedLine,
    Shares,
    Softmax,
    Then,
)
from skvarimp._models.model import Model
from skvarimp._models.registry import read, reader_of, reads_trees
from skvarimp._running.private_sklearn import private


def read_linear(model, table):
    """The form of a model with `coef_`."""
    estimator = model.estimator
    coef = coefficients(estimator)
    return Additive(
        weights=coef.T,
        intercept=intercept(estimator),
        link=_link(model, table, len(coef)),
        # partial least squares centres X in place: single precision stays single
        single=is_single(estimator.coef_) or hasattr(estimator, "x_rotations_"),
    )


def coefficients(estimator):
    """`coef_` as an array of shape (n_scores, n_columns)."""
    return np.atleast_2d(dense(estimator.coef_))


def intercept(estimator):
    """The intercepts, (n_scores,), as far as they are kept."""
    coef = coefficients(estimator)
    if hasattr(estimator, "x_rotations_"):
        # No public attribute holds the mean of X that partial least squares takes off.
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
    if model.method == "predict" and max(n_scores, 2) != len(estimator.classes_):
        raise NotReadable("all training rows of one of its classes have weight 0")
    return class_link(model.method, n_scores)


def read_perceptron(model, table):
    """The form of MLPRegressor and MLPClassifier."""
    estimator = model.estimator
    biases = [dense(b) for b in estimator.intercepts_]
    return Layers(
        weights=layers(estimator),
        biases=biases,
        activation=estimator.activation,
        link=_output_link(model, estimator, len(biases[-1])),
        single=is_single(estimator.coefs_[0]),
    )


def layers(estimator):
    """`coefs_` as float64 arrays, (n_in, n_out) each."""
    return [dense(W) for W in estimator.coefs_]


def _output_link(model, estimator, n_scores):
    output = estimator.out_activation_
    if model.method == "predict" and model.classifier:
        return LargestScore() if output == "softmax" else AboveThreshold()
    if output == "logistic" and n_scores == 2:
        raise NotReadable("two labels look like the probabilities of two classes")
    if output == "softmax":
        return Softmax()
    return {"identity": IDENTITY, "exp": EXPONENTIAL, "logistic": LOGISTIC}[output]


SCORES_FIRST = ("decision_function", "predict_proba", "predict")


def linear_form(estimator):
    """The `Additive` form of a linear score, or NotReadable."""
    if reader_of(estimator) is None:
        if not hasattr(estimator, "coef_"):
            raise NotReadable("it has no `coef_`")
        return Additive(
            weights=coefficients(estimator).T, intercept=intercept(estimator)
        )
    form = _form(estimator)
    if not isinstance(form, Additive) or form.parts:
        raise NotReadable("its score is not linear in the columns")
    return form


def layer_weights(estimator):
    """Weights of a network's layers, each (n_in, n_out), or NotReadable."""
    if reader_of(estimator) is None:
        if not hasattr(estimator, "coefs_"):
            raise NotReadable("it has no `coefs_`")
        return layers(estimator)
    form = _form(estimator)
    if not isinstance(form, Layers):
        raise NotReadable("it is no multilayer perceptron")
    return form.weights


def _form(estimator):
    """The form of an estimator's score; None for trees, which are not read for it."""
    if reads_trees(estimator):
        return None
    n_columns = getattr(estimator, "n_features_in_", None)
    if n_columns is None:
        raise NotReadable("it has no `n_features_in_`")
    row = as_table(np.zeros((1, n_columns)))  # weights do not depend on the rows
    return read(Model(estimator, prefer=SCORES_FIRST), row)
