"""Naive Bayes: sums of logarithms, one per class, of two classes their difference."""

from dataclasses import replace
from functools import partial

import numpy as np

from skvarimp._data.base_table import dense, is_single
from skvarimp._models.array_forms import Additive
from skvarimp._models.forms import NotReadable
from skvarimp._models.labels import class_link
from skvarimp._models.links import Softmax


def above(threshold, weights, X, columns):
    """A part of an `Additive` form: the weights of columns that are above a threshold.

    Parameters
    ----------
    threshold : float
    weights : ndarray of shape (n_columns, n_scores)
    X, columns : see `Additive`
    """
    return (threshold < dense(X)) @ weights[columns]


def table_sums(tables, X, columns):
    """A part of an `Additive` form: what columns' categories, cut to integers, have.

    Parameters
    ----------
    tables : list of ndarray of shape (n_categories, n_scores)
        One for each column.
    X, columns : see `Additive`
    """
    places = np.arange(len(tables))[columns]
    tables_and_codes = zip(places, dense(X).astype(np.intp).T)
    return sum(tables[j][column] for j, column in tables_and_codes)


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
    return replace(form, parts=(partial(table_sums, tables),))


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
