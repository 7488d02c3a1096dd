"""Classifiers whose scores are sums over the columns: naive Bayes, nearest centroid."""

import numpy as np

from skvarimp._models.array_forms import Additive
from skvarimp._models.forms import NotReadable
from skvarimp._models.label_links import score_link
from skvarimp._models.parts import Above, Categories, Squares
from skvarimp._models.readers.arrays import dense, is_single


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
    return contrast, score_link(model.method, n_classes == 2)


def read_constant(model, table):
    """Dummies, whose response does not depend on X."""
    estimator = model.estimator
    strategy = getattr(estimator, "strategy", "")
    draws = strategy == "stratified" or (
        strategy == "uniform" and model.method == "predict"
    )
    if draws:
        raise NotReadable("its predictions are random")
    outputs = model(table.take(np.zeros(1, dtype=np.intp)).native)[0]
    weights = np.zeros((table.n_columns, len(outputs)))
    return Additive(weights=weights, intercept=outputs)
