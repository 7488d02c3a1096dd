"""scikit-learn's permutation importance, ten repeats."""

from sklearn.inspection import permutation_importance

from rivals._checks import close, exact_permutation, loss_of

NAME, ESTIMAND, SLOW = "sklearn permutation_importance", "permutation, 10 draws", False
ours = exact_permutation


def load():
    """Always there."""


def run(model, X, y):
    """Mean over the repeats."""
    loss = {"log_loss": "neg_log_loss", "squared_error": "neg_mean_squared_error"}
    return permutation_importance(
        model,
        X,
        y,
        scoring=loss[loss_of(model)],
        n_repeats=10,
        n_jobs=1,
        random_state=0,
    ).importances_mean


def same(theirs, ours):
    """Drawing error of ten repeats."""
    return close(theirs, ours, 0.1)
