"""Rows and targets for the tests of gradients."""

import numpy as np

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4)) * [1.0, 2.0, 0.5, 1.0] + [0.0, 1.0, 0.0, -1.0]
Y = np.column_stack([X[:, 0] + np.sin(X[:, 1]), X[:, 2] - X[:, 3] ** 2])
y = Y[:, 0]
TWO = (y > 0.5).astype(int)


def central(model, X, step=1e-5):
    """Plain double loop: one row and one column at a time."""
    n, p = X.shape
    rows = []
    for i in range(n):
        columns = []
        for j in range(p):
            h = step * X[:, j].std()
            up, down = X[i : i + 1].copy(), X[i : i + 1].copy()
            up[0, j] += h
            down[0, j] -= h
            columns.append((model(up)[0] - model(down)[0]) / (2 * h))
        rows.append(columns)
    return np.array(rows)


SCORE_FIRST = ("decision_function", "predict_proba", "predict")
