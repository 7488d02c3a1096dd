"""Models that are arrays of weights: linear ones, perceptrons, kernel machines.

Estimators without a reader, such as subclasses, give their public `coef_` and `coefs_`.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from skvarimp._data.base_table import dense, is_single
from skvarimp._data.table import as_table
from skvarimp._models.array_forms import (
    Additive,
    Gaussian,
    KernelSum,
    Layers,
    Polynomial,
    Sigmoid,
)
from skvarimp._models.forms import NotReadable
from skvarimp._models.labels import (
    AboveThreshold,
    LargestScore,
    PairwiseVotes,
    Sign,
    class_link,
)
from skvarimp._models.links import (
    EXPONENTIAL,
    IDENTITY,
    LOGISTIC,
    Shares,
    Softmax,
    Then,
)
from skvarimp._models.model import Model
from skvarimp._models.registry import read, reader_of
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
    form = _score(estimator)
    if not isinstance(form, Additive) or form.parts:
        raise NotReadable("its score is not linear in the columns")
    return form


def layer_weights(estimator):
    """Weights of a network's layers, each (n_in, n_out), or NotReadable."""
    if reader_of(estimator) is None:
        if not hasattr(estimator, "coefs_"):
            raise NotReadable("it has no `coefs_`")
        return layers(estimator)
    form = _score(estimator)
    if not isinstance(form, Layers):
        raise NotReadable("it is no multilayer perceptron")
    return form.weights


def _score(estimator):
    """The form of an estimator's score."""
    n_columns = getattr(estimator, "n_features_in_", None)
    if n_columns is None:
        raise NotReadable("it has no `n_features_in_`")
    row = as_table(np.zeros((1, n_columns)))  # weights do not depend on the rows
    return read(Model(estimator, prefer=SCORES_FIRST), row)


def read_support_vectors(model, table):
    """The form of a support vector machine."""
    estimator = model.estimator
    support = estimator.support_vectors_
    n_classes = len(getattr(estimator, "classes_", ()))
    link = _support_link(model, estimator, n_classes)
    dual, intercept = estimator.dual_coef_, estimator.intercept_
    if n_classes > 2:
        dual = _pairwise_weights(dense(dual), estimator.n_support_).T
    return _machine(estimator, support, dual, intercept, {"link": link})


def _pairwise_weights(dual, n_support):
    """Weights (n_support, n_pairs) of the decisions between classes k < l.

    Row l - 1 of `dual_coef_` holds, for the support vectors of class k, their weight
    against class l; row k, for those of class l, their weight against class k.
    """
    stops = np.cumsum(n_support)
    of_class = [slice(stop - n, stop) for stop, n in zip(stops, n_support)]
    pairs = list(zip(*np.triu_indices(len(n_support), 1)))
    weights = np.zeros((dual.shape[1], len(pairs)))
    for column, (k, l) in enumerate(pairs):
        weights[of_class[k], column] = dual[l - 1, of_class[k]]
        weights[of_class[l], column] = dual[k, of_class[l]]
    return weights


def _support_link(model, estimator, n_classes):
    if model.method == "predict_proba":
        raise NotReadable("LIBSVM couples the probabilities of pairs of classes")
    if n_classes == 0:  # regressors and the one-class machine
        outlier = model.method == "predict" and hasattr(estimator, "offset_")
        return Sign() if outlier else IDENTITY
    if n_classes == 2:
        return IDENTITY if model.method == "decision_function" else AboveThreshold()
    by_class = estimator.decision_function_shape == "ovr"
    if model.method == "decision_function" and not by_class:
        return IDENTITY
    if len(estimator.n_support_) < n_classes:
        raise NotReadable("all training rows of one of its classes have weight 0")
    if model.method == "decision_function":
        return PairwiseVotes(n_classes)
    if estimator.break_ties and by_class:
        return Then(PairwiseVotes(n_classes), LargestScore())
    return Then(PairwiseVotes(n_classes, confident=False), LargestScore(exact=True))


def read_kernel_ridge(model, table):
    """The form of KernelRidge."""
    estimator = model.estimator
    support = estimator.X_fit_
    dual = dense(estimator.dual_coef_)
    dual = dual.reshape(len(dual), -1).T
    # the model takes squared distances by products
    return _machine(estimator, support, dual, 0.0, {"by_products": True})


def _machine(estimator, support, dual, intercept, how):
    """A kernel sum, or the linear form where the kernel is linear."""
    kernel, gamma = estimator.kernel, estimator.gamma
    if isinstance(gamma, str):  # what it became depends on the training data
        gamma = private(estimator, "_gamma")
    elif gamma is None:  # the default of scikit-learn's kernels
        gamma = 1.0 / support.shape[1]
    how["single"], dual = is_single(support), dense(dual)
    if kernel == "linear":
        kernel = Polynomial(1.0, 0.0, 1)
    elif kernel == "rbf":
        if support.shape[0] == 0:  # of a constant target
            raise NotReadable("it has no support vectors")
        kernel = Gaussian(float(gamma), np.asarray(support.mean(axis=0)).reshape(-1))
    elif kernel == "sigmoid":
        kernel = Sigmoid(gamma, estimator.coef0)
    elif kernel in ("poly", "polynomial"):
        if estimator.degree != int(estimator.degree):
            raise NotReadable("the degree of its polynomial kernel is not whole")
        kernel = Polynomial(gamma, estimator.coef0, int(estimator.degree))
    else:
        raise NotReadable(f"the kernel {kernel!r} has no fast response")
    intercept = np.broadcast_to(dense(intercept), len(dual))
    if isinstance(kernel, Polynomial) and kernel.degree == 1:
        weights = kernel.gamma * dense(support.T @ dual.T)
        intercept = intercept + kernel.offset * dual.sum(axis=1)
        how.pop("by_products", None)
        return Additive(weights=weights, intercept=intercept, **how)
    return KernelSum(
        kernel=kernel, support=support, dual=dual, intercept=intercept, **how
    )


# Naive Bayes: sums of logarithms, one for each class, of two classes their difference


def above(threshold, weights, X, columns):
    """A part of an `Additive` form: the weights of columns that are above a threshold.

    Parameters
    ----------
    threshold : float
    weights : ndarray of shape (n_columns, n_scores)
    X, columns : see `Additive`
    """
    return (threshold < dense(X)) @ weights[columns]


def of_categories(tables, X, columns):
    """A part of an `Additive` form: what columns' categories, cut to integers, have.

    Parameters
    ----------
    tables : list of ndarray of shape (n_categories, n_scores)
        One for each column.
    X, columns : see `Additive`
    """
    places = np.arange(len(tables))[columns]
    of_columns = zip(places, dense(X).astype(np.intp).T)
    return sum(tables[j][column] for j, column in of_columns)


def read_linear_naive_bayes(model, table):
    """Naive Bayes whose joint log-likelihood is linear in X."""
    estimator = model.estimator
    coef = dense(estimator.feature_log_prob_)
    prior = np.zeros(len(coef))
    if type(estimator).__name__ == "MultinomialNB" or len(coef) == 1:
        prior = dense(estimator.class_log_prior_)
    single = is_single(estimator.feature_log_prob_)
    return _of_classes(model, prior, coef, single)


def read_bernoulli_naive_bayes(model, table):
    """Log-odds of the columns that are above a threshold."""
    estimator = model.estimator
    log_prob = dense(estimator.feature_log_prob_)
    log_not = np.log(1.0 - np.exp(log_prob))
    constant = dense(estimator.class_log_prior_) + log_not.sum(axis=1)
    linear = estimator.binarize is None
    single = linear and is_single(estimator.feature_log_prob_)
    form = _of_classes(model, constant, log_prob - log_not, single)
    if linear:
        return form
    part = partial(above, float(estimator.binarize), form.weights)
    return replace(form, weights=np.zeros_like(form.weights), parts=(part,))


def read_categorical_naive_bayes(model, table):
    """A table of log-probabilities for each column."""
    estimator, constant = model.estimator, dense(model.estimator.class_log_prior_)
    form = _of_classes(model, constant, np.zeros((len(constant), table.n_columns)))
    contrast = _contrast(len(constant))
    tables = [dense(own).T @ contrast for own in estimator.feature_log_prob_]
    return replace(form, parts=(partial(of_categories, tables),))


def _contrast(n_classes):
    """How the sums of classes become scores, (n_classes, n_scores)."""
    return np.array([[-1.0], [1.0]]) if n_classes == 2 else np.eye(n_classes)


def _of_classes(model, constant, weights, single=False):
    """The linear form of one sum for each class, constant + weights @ x."""
    n_classes = len(constant)
    if n_classes == 1 and model.method == "predict":
        raise NotReadable("it has seen one class")
    contrast, chances = _contrast(n_classes), Softmax() if n_classes == 1 else None
    return Additive(
        weights=weights.T @ contrast,
        intercept=constant @ contrast,
        link=class_link(model.method, contrast.shape[1], chances),
        single=single,
    )


def read_constant(model, table):
    """Dummies, whose response does not depend on X."""
    estimator = model.estimator
    strategy = getattr(estimator, "strategy", "")
    if strategy == "stratified" or (strategy, model.method) == ("uniform", "predict"):
        raise NotReadable("its predictions are random")
    outputs = model(table.take(np.zeros(1, dtype=np.intp)).native)[0]
    weights = np.zeros((table.n_columns, len(outputs)))
    return Additive(weights=weights, intercept=outputs)


def read_componentwise(model, table):
    """scikit-survival's boosting by single columns, whose steps add up."""
    coef = model.estimator.coef_  # of the intercept first
    link = IDENTITY if model.estimator.loss == "coxph" else EXPONENTIAL
    return Additive(weights=coef[1:, np.newaxis], intercept=coef[:1], link=link)


def read_coxnet(model, table):
    """The form of the last model on the path of penalties, which `predict` uses."""
    estimator = model.estimator
    return Additive(
        weights=dense(estimator.coef_)[:, -1:],
        intercept=-dense(estimator.offset_)[-1:],
        single=is_single(estimator.coef_),
    )
