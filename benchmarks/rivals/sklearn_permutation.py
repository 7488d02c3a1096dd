"""scikit-learn's permutation importance: the time of ten repeats.

Large data is permuted twice, and the time taken five times: each repeat asks the model
for as many rows.
"""

from sklearn.inspection import permutation_importance

from rivals._checks import close, exact_permutation, loss_of

NAME, ESTIMAND = "sklearn permutation_importance", "permutation, 10 draws"
ours = exact_permutation
MOST_NUMBERS = 500_000  # of X that is permuted ten times


def work_left(X):
    """How many times the work of `run` ten repeats are."""
    return 1 if X.size <= MOST_NUMBERS else 5


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
        n_repeats=10 // work_left(X),
        n_jobs=1,
        random_state=0,
    ).importances_mean


def same(theirs, ours):
    """Drawing error of the repeats."""
    return close(theirs, ours, 0.1)
