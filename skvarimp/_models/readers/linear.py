"""Linear models: everything with `coef_`, and dummies.

Estimators without a reader, such as subclasses, give their public `coef_`.
"""

import numpy as np

from skvarimp._data.base_table import dense, is_single
from skvarimp._models.array_forms import Additive
from skvarimp._models.forms import NotReadable
from skvarimp._models.labels import AboveThreshold, Sign, class_link
from skvarimp._models.links import EXPONENTIAL, IDENTITY, LOGISTIC, Shares, Then
from skvarimp._models.registry import reader_of, score_form
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
    logarithmic = ("PoissonRegressor", "GammaRegressor", "IPCRidge")
    return EXPONENTIAL if name in logarithmic else IDENTITY


def _class_link(model, table, n_scores):
    estimator = model.estimator
    if model.method == "predict_proba" and type(estimator).__name__ == "SGDClassifier":
        if estimator.loss == "modified_huber":
            raise NotReadable("probabilities of the modified Huber loss are not read")
        return LOGISTIC if n_scores == 1 else Then(LOGISTIC, Shares())
    if model.method == "predict" and n_scores > 1:
        labels = model.raw(table.take([0]).native)
        if np.ndim(labels) == 2:  # several labels of yes or no
            return AboveThreshold()
    if model.method == "predict" and max(n_scores, 2) != len(estimator.classes_):
        raise NotReadable("all training rows of one of its classes have weight 0")
    return class_link(model.method, n_scores)


def linear_form(estimator):
    """The `Additive` form of a linear score, or NotReadable."""
    if reader_of(estimator) is None:
        if not hasattr(estimator, "coef_"):
            raise NotReadable("it has no `coef_`")
        return Additive(
            weights=coefficients(estimator).T, intercept=intercept(estimator)
        )
    form = score_form(estimator)
    if not isinstance(form, Additive) or form.parts:
        raise NotReadable("its score is not linear in the columns")
    return form


def read_constant(model, table):
    """Dummies, whose response does not depend on X."""
    estimator = model.estimator
    strategy = getattr(estimator, "strategy", "")
    if strategy == "stratified" or (strategy, model.method) == ("uniform", "predict"):
        raise NotReadable("its predictions are random")
    outputs = model(table.take(np.zeros(1, dtype=np.intp)).native)[0]
    weights = np.zeros((table.n_columns, len(outputs)))
    return Additive(weights=weights, intercept=outputs)
