"""Support vector machines and kernel ridge regression."""

import numpy as np

from skvarimp._data.base_table import dense, is_single
from skvarimp._models.array_forms import (
    Additive,
    Gaussian,
    KernelSum,
    Polynomial,
    Sigmoid,
)
from skvarimp._models.forms import NotReadable
from skvarimp._models.labels import AboveThreshold, LargestScore, PairwiseVotes, Sign
from skvarimp._models.links import IDENTITY, Then
from skvarimp._running.private_sklearn import private


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
    vectors = [slice(stop - n, stop) for stop, n in zip(stops, n_support)]
    pairs = list(zip(*np.triu_indices(len(n_support), 1)))
    weights = np.zeros((dual.shape[1], len(pairs)))
    for column, (k, l) in enumerate(pairs):
        weights[vectors[k], column] = dual[l - 1, vectors[k]]
        weights[vectors[l], column] = dual[k, vectors[l]]
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
