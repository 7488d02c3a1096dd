"""Classifiers whose scores are sums over the columns: naive Bayes, and constants.

A part of an `Additive` form is called with X, which holds some columns only, and with
the numbers of these columns. It gives the sum of what each of them adds, (n_rows,
n_scores). Scores are contrasts of K raw sums, one for each class: `contrast` has shape
(K, n_scores).
"""

from dataclasses import dataclass

import numpy as np

from skvarimp._data.base_table import dense
from skvarimp._models.array_forms import Additive, is_single
from skvarimp._models.forms import NotReadable
from skvarimp._models.label_links import class_link
from skvarimp._models.links import Softmax


@dataclass(frozen=True, eq=False, kw_only=True)
class Part:
    """Base of parts; see the module. Each has `raw(X, columns)`, its raw sums."""

    contrast: np.ndarray

    def __call__(self, X, columns):
        """See the module."""
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
