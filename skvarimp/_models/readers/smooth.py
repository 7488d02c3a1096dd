"""Kernel machines, and other models that are analytic functions of each column.

Kernel machines, link(sum_m dual[q, m] k(x, s_m) + b_q), are read. The others are asked
themselves: for scores where they have some, which take fewer nodes than what follows.
"""

import numpy as np

from skvarimp._data.base_table import dense, is_single
from skvarimp._models.array_forms import Additive
from skvarimp._models.forms import NotReadable, Read, Smooth, combined
from skvarimp._models.kernels import Gaussian, KernelSum, Polynomial, Sigmoid
from skvarimp._models.labels import (
    AboveThreshold,
    LargestScore,
    PairwiseVotes,
    Sign,
    class_link,
)
from skvarimp._models.links import IDENTITY, Then
from skvarimp._models.model import Model
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
    elif gamma is None:  # here and below: the defaults of scikit-learn's kernels
        gamma = 1.0 / support.shape[1]
    how["single"], dual = is_single(support), dense(dual)
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
    intercept = np.broadcast_to(dense(intercept), len(dual))
    if isinstance(kernel, Polynomial) and kernel.degree == 1:
        weights = kernel.gamma * dense(support.T @ dual.T)
        intercept = intercept + kernel.offset * dual.sum(axis=1)
        how.pop("by_products", None)
        return Additive(weights=weights, intercept=intercept, **how)
    return KernelSum(
        kernel=kernel, support=support, dual=dual, intercept=intercept, **how
    )


def read_smooth(model, table):
    """Values or scores of a model that has no others."""
    return Smooth(model=model)


def read_elliptic_envelope(model, table):
    """Squared distances, and labels by their sign."""
    if model.method == "decision_function":
        return Smooth(model=model)
    return smooth_scores(Model(model.estimator, "decision_function"), Sign())


def read_discriminant(model, table):
    """Scores of classes, which are quadratic, and what follows from them."""
    if model.method == "decision_function":
        return Smooth(model=model)
    estimator = model.estimator
    if type(estimator).__name__ == "NearestCentroid" and model.method == "predict":
        raise NotReadable("labels by distances that are not those of its scores")
    return smooth_classes(model, Model(estimator, "decision_function"))


def read_gaussian_naive_bayes(model, table):
    """Joint log-probabilities, which are quadratic, and what follows from them."""
    if len(model.class_lists[0]) == 1:
        raise NotReadable("it has seen one class")
    return smooth_classes(
        model, Model(JointLogProbabilities(model.estimator), "predict")
    )


def read_gaussian_process_classifier(model, table):
    """Probabilities, and labels by the largest."""
    if model.method == "predict_proba":
        return Smooth(model=model)
    return smooth_classes(model, Model(model.estimator, "predict_proba"), threshold=0.5)


def smooth_classes(model, scores, threshold=0.0):
    """What a classifier gives by the scores of its classes, one score for two."""
    (classes,) = model.class_lists
    n_scores = 1 if len(classes) == 2 else len(classes)
    return smooth_scores(
        scores, class_link(model.method, n_scores, threshold=threshold)
    )


def smooth_scores(model, link):
    """The form of a link of a smooth model's outputs."""
    return combined([Read(Smooth(model=model), model)], link, "link of")


class JointLogProbabilities:
    """A model that predicts joint log-probabilities of a naive Bayes classifier.

    Of two classes their difference, the logarithm of the odds.
    """

    def __init__(self, classifier):
        self.classifier = classifier

    def predict(self, X):
        """One for each class, or for the second of two, (n_samples, n_scores)."""
        logs = self.classifier.predict_joint_log_proba(X)
        return logs[:, 1:] - logs[:, :1] if logs.shape[1] == 2 else logs
