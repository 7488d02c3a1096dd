"""shap's TreeExplainer: mean absolute Shapley value, path-dependent."""

import numpy as np

from rivals._checks import exact_permutation, ranks

PACKAGE = "shap"
NAME, ESTIMAND = "shap TreeExplainer", "mean absolute Shapley value"
ours = exact_permutation


def load():
    """The class."""
    from shap import TreeExplainer

    return TreeExplainer


def run(model, X, y):
    """Mean over the rows."""
    return np.abs(load()(model).shap_values(X)).mean(axis=0)


def same(theirs, ours):
    """Another measure: ranks only."""
    return ranks(theirs, ours)
