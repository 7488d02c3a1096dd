"""How close a rival's numbers must come to ours."""

import numpy as np
from scipy.stats import spearmanr

from skvarimp import PartialDependenceImportance, PermutationImportance


def close(theirs, ours, tolerance):
    """Largest difference as a share of the largest importance."""
    gap = float(np.max(np.abs(theirs - ours)) / np.max(np.abs(ours)))
    return gap <= tolerance, f"differs by {gap:.1e} of the largest"


def ranks(theirs, ours):
    """Another estimand: only the ranks are compared."""
    rho = float(spearmanr(theirs, ours).statistic)
    return True, f"another estimand, rank correlation {rho:.2f}"


def positive_class(model):
    """X -> probability of the second of two classes, or the prediction of numbers."""
    if not hasattr(model, "predict_proba"):
        return model.predict
    if len(model.classes_) > 2:
        raise ValueError("adapter for two classes or numbers only")
    return lambda X: model.predict_proba(X)[:, 1]


def loss_of(model):
    """The loss permutation importance is measured with."""
    return "log_loss" if hasattr(model, "predict_proba") else "squared_error"


def exact_permutation(model, X, y):
    """Ours, over all donors."""
    imp = PermutationImportance(loss=loss_of(model), estimation="exact")
    return imp.fit(model, X, y).importances_


def drawn_permutation(model, X, y):
    """Ours, over ten donors of each row: as many predictions as ten shuffles."""
    how = {"estimation": "sampled", "n_draws": 10, "tol": None, "random_state": 0}
    imp = PermutationImportance(loss=loss_of(model), **how)
    return imp.fit(model, X, y).importances_


# What a rival that draws is compared with where ours of all donors takes longer.
OF_TEN_DRAWS = {exact_permutation: drawn_permutation}


def partial_dependence_deciles(model, X, y):
    """Ours, standard deviation of the curve over the deciles."""
    return PartialDependenceImportance(grid="deciles").fit(model, X).importances_
