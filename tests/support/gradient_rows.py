"""Rows and targets for the tests of gradients."""

import numpy as np

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4)) * [1.0, 2.0, 0.5, 1.0] + [0.0, 1.0, 0.0, -1.0]
Y = np.column_stack([X[:, 0] + np.sin(X[:, 1]), X[:, 2] - X[:, 3] ** 2])
y = Y[:, 0]
TWO = (y > 0.5).astype(int)


def central(model, X, step=1e-5):
    """Plain loop: one column at a time."""
    columns = []
    for j in range(X.shape[1]):
        h = step * X[:, j].std()
        up, down = X.copy(), X.copy()
        up[:, j] += h
        down[:, j] -= h
        columns.append((model(up) - model(down)) / (2 * h))
    return np.stack(columns, axis=1)


SCORE_FIRST = ("decision_function", "predict_proba", "predict")
