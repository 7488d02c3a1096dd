"""Models whose scores are sums over the columns, and multilayer perceptrons.

Estimators without a reader, such as subclasses, give their public `coef_` and `coefs_`.

A part of an `Additive` form is called with X, which holds some columns only, and with
the numbers of these columns. It gives the sum of what each of them adds, (n_rows,
n_scores). Scores of naive Bayes are contrasts of K raw sums, one for each class:
`contrast` has shape (K, n_scores).
"""

from dataclasses import dataclass

import numpy as np

from skvarimp._data.base_table import dense, is_single
from skvarimp._data.table import as_table
from skvarimp._models.array_forms import Additive, Layers
from skvarimp._models.forms import NotReadable
from skvarimp._models.labels import AboveThreshold, LargestScore, Sign, class_link
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
    logarithmic = ("PoissonRegressor", "GammaRegressor", "IPCRidge")
    return EXPONENTIAL if name in logarithmic else IDENTITY


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


@dataclass(frozen=True, eq=False, kw_only=True)
class Part:
    """Base of parts; see the module. Each has `raw(X, columns)`, its raw sums."""

    contrast: np.ndarray

    def __call__(self, X, columns):
        return self.raw(dense(X), columns) @ self.contrast


@dataclass(frozen=True, eq=False, kw_only=True)
class Above(Part):
    """Raw sums sum_j weights[c, j] [x_j > threshold].

    Attributes
    ----------
    threshold : float
    weights : ndarray of shape (K, n_columns)
    """

    threshold: float
    weights: np.ndarray

    def raw(self, X, columns):
        """The raw sums, (n_rows, K)."""
        return (self.threshold < X) @ self.weights[:, columns].T


@dataclass(frozen=True, eq=False, kw_only=True)
class Categories(Part):
    """Raw sums sum_j tables[j][c, x_j], x_j cut to an integer.

    Attributes
    ----------
    tables : list of ndarray of shape (K, n_categories_of_column)
    """

    tables: list

    def raw(self, X, columns):
        """The raw sums, (n_rows, K)."""
        X = X.astype(np.intp)
        sums = np.zeros((len(X), len(self.contrast)))
        for column, j in zip(X.T, np.arange(len(self.tables))[columns]):
            sums += self.tables[j][:, column].T
        return sums


def read_linear_naive_bayes(model, table):
    """Naive Bayes whose joint log-likelihood is linear in X."""
    estimator = model.estimator
    coef = dense(estimator.feature_log_prob_)
    prior = np.zeros(len(coef))
    if type(estimator).__name__ == "MultinomialNB" or len(coef) == 1:
        prior = dense(estimator.class_log_prior_)
    single = is_single(estimator.feature_log_prob_)
    return _of_classes(model, prior, weights=coef.T, single=single)


def read_bernoulli_naive_bayes(model, table):
    """Log-odds of the columns that are above a threshold."""
    estimator = model.estimator
    log_prob = dense(estimator.feature_log_prob_)
    log_not = np.log(1.0 - np.exp(log_prob))
    constant = dense(estimator.class_log_prior_) + log_not.sum(axis=1)
    weights = log_prob - log_not
    if estimator.binarize is None:
        single = is_single(estimator.feature_log_prob_)
        return _of_classes(model, constant, weights=weights.T, single=single)
    part = {"threshold": float(estimator.binarize), "weights": weights}
    return _of_classes(model, constant, (Above, part))


def read_categorical_naive_bayes(model, table):
    """A table of log-probabilities for each column."""
    estimator = model.estimator
    tables = [dense(of_column) for of_column in estimator.feature_log_prob_]
    constant = dense(estimator.class_log_prior_)
    return _of_classes(model, constant, (Categories, {"tables": tables}))


def _of_classes(model, constant, part=None, weights=None, single=False):
    """The form of one raw sum for each class.

    Parameters
    ----------
    model : Model
    constant : ndarray of shape (n_classes,)
    part : (type, dict) or None
        A kind of part, and its attributes but for the contrast.
    weights : ndarray of shape (n_columns, n_classes) or None
    single : bool
    """
    n_classes = len(constant)
    if n_classes == 1 and model.method == "predict":
        raise NotReadable("it has seen one class")
    contrast, link = contrast_and_link(model, n_classes)
    if weights is None:
        weights = np.zeros((model.estimator.n_features_in_, n_classes))
    parts = () if part is None else (part[0](contrast=contrast, **part[1]),)
    return Additive(
        weights=weights @ contrast,
        intercept=constant @ contrast,
        parts=parts,
        link=link,
        single=single,
    )


def contrast_and_link(model, n_classes):
    """How the log-likelihoods of the classes become scores, and the link.

    Returns
    -------
    contrast : ndarray of shape (n_classes, n_scores)
    link : Link
    """
    contrast = np.eye(n_classes)
    if n_classes == 2:  # one score, as other classifiers have
        contrast = np.array([[-1.0], [1.0]])
    chances = Softmax() if n_classes == 1 else None
    return contrast, class_link(model.method, contrast.shape[1], chances)


def read_constant(model, table):
    """Dummies, whose response does not depend on X."""
    estimator = model.estimator
    strategy = getattr(estimator, "strategy", "")
    if strategy == "stratified" or (strategy, model.method) == ("uniform", "predict"):
        raise NotReadable("its predictions are random")
    outputs = model(table.take(np.zeros(1, dtype=np.intp)).native)[0]
    weights = np.zeros((table.n_columns, len(outputs)))
    return Additive(weights=weights, intercept=outputs)
