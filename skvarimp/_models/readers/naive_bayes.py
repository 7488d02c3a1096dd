"""Classifiers whose scores are sums over the columns: naive Bayes, nearest centroid.

A part of an `Additive` form is called with X, which holds some columns only, and with
the numbers of these columns. It gives the sum of what each of them adds, (n_rows,
n_scores). Scores are contrasts of K raw sums, one for each class: `contrast` has shape
(K, n_scores).
"""

from dataclasses import dataclass, replace

import numpy as np

from skvarimp._data.base_table import dense
from skvarimp._models.array_forms import Additive, is_single
from skvarimp._models.forms import NotReadable
from skvarimp._models.label_links import class_link
from skvarimp._models.links import NoGradient, Softmax


@dataclass(frozen=True, eq=False, kw_only=True)
class Part:
    """Base of parts; see the module. Each has `raw(X, columns)`, its raw sums.

    Attributes
    ----------
    smooth : bool
        Whether it is an analytic function of each column.
    piecewise_constant : bool
        Whether it jumps between constants.
    """

    contrast: np.ndarray
    smooth = False
    piecewise_constant = False

    def __call__(self, X, columns):
        """See the module."""
        return self.raw(dense(X), columns) @ self.contrast

    def slopes(self, X):
        """Derivatives by all columns of an array X, (n_scores, n_rows, n_columns)."""
        raise NoGradient("its parts jump")

    def times(self, factor):
        """This part multiplied by a number."""
        return replace(self, contrast=factor * self.contrast)


@dataclass(frozen=True, eq=False, kw_only=True)
class Squares(Part):
    """Raw sums -sum_j ((x_j - centres[c, j]) / widths[c, j])^2 / 2.

    Attributes
    ----------
    centres, widths : ndarray of shape (K, n_columns)
    """

    centres: np.ndarray
    widths: np.ndarray
    smooth = True

    def raw(self, X, columns):
        """The raw sums, (n_rows, K)."""
        of_classes = zip(self.centres[:, columns], self.widths[:, columns])
        sums = [(((X - m) / s) ** 2).sum(axis=1) for m, s in of_classes]
        return -0.5 * np.column_stack(sums)

    def slopes(self, X):
        """See `Part.slopes`."""
        gaps = (self.centres[:, np.newaxis] - X) / self.widths[:, np.newaxis] ** 2
        return np.tensordot(self.contrast.T, gaps, 1)


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
    piecewise_constant = True

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
    piecewise_constant = True

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


def read_gaussian_naive_bayes(model, table):
    """Normal densities of the columns, each with its own variance in each class."""
    estimator = model.estimator
    variances = dense(estimator.var_)
    constant = np.log(dense(estimator.class_prior_))
    constant = constant - 0.5 * np.log(2.0 * np.pi * variances).sum(axis=1)
    part = {"centres": dense(estimator.theta_), "widths": np.sqrt(variances)}
    single = is_single(estimator.var_)
    return _of_classes(model, constant, (Squares, part), single=single)


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


def read_nearest_centroid(model, table):
    """Squared distances from the centroids, in the columns' spread within classes."""
    estimator = model.estimator
    if estimator.metric != "euclidean":
        raise NotReadable(f"the metric {estimator.metric!r} is no sum over the columns")
    prior = dense(estimator.class_prior_)
    if model.method == "predict" and np.allclose(prior, 1.0 / len(prior)):
        # labels by plain distances where the classes are equally likely
        spread, constant = np.ones(estimator.centroids_.shape[1]), np.zeros(len(prior))
    else:
        spread = dense(estimator.within_class_std_dev_)
        spread, constant = np.where(spread != 0, spread, 1.0), 2.0 * np.log(prior)
    centres = dense(estimator.centroids_)
    # -d^2 = 2 (-d^2 / 2)
    widths = np.broadcast_to(spread / np.sqrt(2.0), centres.shape)
    part = {"centres": centres, "widths": widths}
    return _of_classes(model, constant, (Squares, part))


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
