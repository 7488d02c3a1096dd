"""scikit-learn's brute-force partial dependence on the deciles."""

import numpy as np
from sklearn.inspection import partial_dependence

from rivals._checks import close, partial_dependence_deciles, positive_class

NAME, ESTIMAND = "sklearn partial_dependence (brute)", "sd of curve, deciles"
ours = partial_dependence_deciles


def load():
    """Always there."""


def run(model, X, y):
    """Standard deviation of each column's curve over the deciles."""
    positive_class(model)  # refuses several outputs
    result = []
    for j in range(X.shape[1]):
        grid = np.unique(np.quantile(np.unique(X[:, j]), np.linspace(0, 1, 11)))
        curve = partial_dependence(
            model, X, [j], method="brute", custom_values={j: grid}, kind="average"
        )["average"][0]
        result.append(curve.std(ddof=1))
    return np.array(result)


def same(theirs, ours):
    """The same numbers."""
    return close(theirs, ours, 1e-8)
