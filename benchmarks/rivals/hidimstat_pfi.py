"""hidimstat's permutation feature importance, ten permutations."""

import numpy as np

from rivals._checks import close, exact_permutation, loss_of

PACKAGE = "hidimstat"
NAME, ESTIMAND = "hidimstat PFI", "permutation, 10 draws"
ours = exact_permutation


def load():
    """The class."""
    from hidimstat import PFI

    return PFI


def run(model, X, y):
    """Loss gained by permuting each column."""
    from sklearn.metrics import log_loss, mean_squared_error

    probability = loss_of(model) == "log_loss"
    measure = load()(
        estimator=model,
        method="predict_proba" if probability else "predict",
        loss=log_loss if probability else mean_squared_error,
        n_permutations=10,
        n_jobs=1,
        random_state=0,
    )
    measure.fit(X, y)
    result = measure.importance(X, y)
    result = result if result is not None else measure.importances_
    return np.asarray(result, dtype=float)


def same(theirs, ours):
    """Drawing error of ten permutations."""
    return close(theirs, ours, 0.1)
