"""Naive Bayes: a joint log-likelihood that is a sum over the columns."""

import numpy as np

from skvarimp._models.forms import Additive, NotReadable
from skvarimp._models.links import LOGISTIC, Softmax
from skvarimp._models.readers.arrays import dense, is_single
from skvarimp._models.readers.linear import label_link


def read_linear_naive_bayes(model, table):
    """Naive Bayes whose joint log-likelihood is linear in X."""
    estimator = model.estimator
    coef = dense(estimator.feature_log_prob_)
    n_classes = len(coef)
    if n_classes == 1 and model.method == "predict":
        raise NotReadable("it has seen one class")
    prior = np.zeros(n_classes)
    if type(estimator).__name__ == "MultinomialNB" or n_classes == 1:
        prior = dense(estimator.class_log_prior_)
    if n_classes == 2:  # of two classes one score, like other classifiers
        coef, prior = coef[1:] - coef[:1], prior[1:] - prior[:1]
    if model.method == "predict":
        link = label_link(model, table, len(coef))
    else:
        link = LOGISTIC if n_classes == 2 else Softmax()
    single = is_single(estimator.feature_log_prob_)
    return Additive(weights=coef.T, intercept=prior, link=link, single=single)
