"""model-diagnostics' permutation importance, ten repeats."""

import numpy as np

from rivals._checks import close, exact_permutation, loss_of, positive_class

PACKAGE = "model-diagnostics"
NAME, ESTIMAND = "model-diagnostics", "permutation, 10 draws"
ours = exact_permutation


def load():
    """Import the package of the same name, not this module."""
    from model_diagnostics.xai import compute_permutation_importance

    return compute_permutation_importance


def run(model, X, y):
    """In the order of the columns."""
    from model_diagnostics.scoring import LogLoss, SquaredError

    probability = loss_of(model) == "log_loss"
    table = load()(
        pred_fun=positive_class(model),
        X=X,
        y=y,
        scoring_function=LogLoss() if probability else SquaredError(),
        n_repeats=10,
        n_max=None,
        rng=0,
    )
    result = np.empty(X.shape[1])
    result[table["feature"].cast(int).to_numpy()] = table["difference_mean"].to_numpy()
    return result


def same(theirs, ours):
    """Drawing error of ten repeats."""
    return close(theirs, ours, 0.1)
