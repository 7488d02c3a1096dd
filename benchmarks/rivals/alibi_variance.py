"""alibi's partial dependence variance over the deciles."""

import numpy as np

from rivals._checks import close, partial_dependence_deciles, positive_class

PACKAGE = "alibi"
NAME, ESTIMAND = "alibi PartialDependenceVariance", "sd of curve, deciles"
ours = partial_dependence_deciles


def load():
    """The class; alibi 0.9 needs NumPy 1, on which the others do not run."""
    try:
        from alibi.explainers import PartialDependenceVariance
    except ImportError as missing:
        reason = "alibi needs NumPy 1, which cannot stand beside the others"
        raise ImportError(reason) from missing
    return PartialDependenceVariance


def run(model, X, y):
    """One number per column."""
    grid = {
        j: np.unique(np.quantile(np.unique(X[:, j]), np.linspace(0, 1, 11)))
        for j in range(X.shape[1])
    }
    explainer = load()(positive_class(model), verbose=False)
    explanation = explainer.explain(X, method="importance", grid_points=grid)
    return np.asarray(explanation.feature_importance).reshape(-1, X.shape[1])[-1]


def same(theirs, ours):
    """The same numbers."""
    return close(theirs, ours, 1e-8)
