"""dalex's model_parts, ten permutations of all rows, root mean squared error."""

import numpy as np

from rivals._checks import exact_permutation, positive_class, ranks

PACKAGE = "dalex"
NAME, ESTIMAND = "dalex model_parts", "permutation, 10 draws, RMSE"
ours = exact_permutation


def load():
    """The package."""
    import dalex

    return dalex


def run(model, X, y):
    """Drop-out loss minus the full model's."""
    import pandas as pd

    predicted = positive_class(model)
    names = [f"x{j}" for j in range(X.shape[1])]
    explainer = load().Explainer(
        model,
        pd.DataFrame(X, columns=names),
        y,
        predict_function=lambda _, X: predicted(X.to_numpy()),
        verbose=False,
    )
    parts = explainer.model_parts(
        loss_function="rmse", N=None, B=10, processes=1, random_state=0
    ).result.set_index("variable")["dropout_loss"]
    full = parts["_full_model_"]
    return np.array([parts[name] - full for name in names])


def same(theirs, ours):
    """Root of a mean, not a mean: ranks only."""
    return ranks(theirs, ours)
