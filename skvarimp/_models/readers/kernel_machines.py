"""Kernel machines: link(sum_m dual[q, m] k(x, s_m) + b_q)."""

import numpy as np

from skvarimp._data.base_table import dense
from skvarimp._models.array_forms import Additive, is_single
from skvarimp._models.forms import NotReadable
from skvarimp._models.kernels import Gaussian, KernelSum, Polynomial, Sigmoid
from skvarimp._models.label_links import (
    AboveThreshold,
    LargestScore,
    PairwiseVotes,
    Sign,
)
from skvarimp._models.links import IDENTITY, Then
from skvarimp._running.private_sklearn import private


def read_support_vectors(model, table):
    """The form of a support vector machine."""
    estimator = model.estimator
    support = estimator.support_vectors_
    n_classes = len(getattr(estimator, "classes_", ()))
    link = _support_link(model, estimator, n_classes)
    # what gamma="scale" became depends on the training data
    gamma = private(estimator, "_gamma")
    dual, intercept = dense(estimator.dual_coef_), dense(estimator.intercept_)
    if n_classes > 2:
        dual = _pairwise_weights(dual, estimator.n_support_).T
    return _machine(estimator, gamma, support, dual, link, intercept)


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
    return _machine(estimator, estimator.gamma, support, dual, by_products=True)


def _machine(estimator, gamma, support, dual, link=IDENTITY, intercept=0.0, **own):
    """A kernel sum, or the linear form where the kernel is linear."""
    # None: the defaults of scikit-learn's kernels
    kernel, gamma = estimator.kernel, 1.0 / support.shape[1] if gamma is None else gamma
    coef0 = 1.0 if estimator.coef0 is None else estimator.coef0
    degree = 3 if estimator.degree is None else estimator.degree
    if not isinstance(kernel, str):
        raise NotReadable("its kernel is a function")
    if kernel == "linear":
        kernel = Polynomial(1.0, 0.0, 1)
    elif kernel == "rbf":
        if support.shape[0] == 0:  # of a constant target
            raise NotReadable("it has no support vectors")
        kernel = Gaussian(float(gamma), np.asarray(support.mean(axis=0)).reshape(-1))
    elif kernel == "sigmoid":
        kernel = Sigmoid(gamma, coef0)
    elif kernel in ("poly", "polynomial"):
        if degree != int(degree):
            raise NotReadable("the degree of its polynomial kernel is not whole")
        kernel = Polynomial(gamma, coef0, int(degree))
    else:
        raise NotReadable(f"the kernel {kernel!r} has no fast response")
    common = {"link": link, "single": is_single(support)}
    intercept = np.broadcast_to(intercept, len(dual))
    if isinstance(kernel, Polynomial) and kernel.degree == 1:
        weights = kernel.gamma * dense(support.T @ dual.T)
        intercept = intercept + kernel.offset * dual.sum(axis=1)
        return Additive(weights=weights, intercept=intercept, **common)
    arrays = {"support": support, "dual": dual, "intercept": intercept}
    return KernelSum(kernel=kernel, **arrays, **common, **own)
