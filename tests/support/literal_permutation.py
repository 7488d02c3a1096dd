"""Permutation importance by plain loops; data and models to try it on."""

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge

X, Y = make_friedman1(40, n_features=5, noise=1.0, random_state=0)
X[:, 3] = np.round(3 * X[:, 3])  # ties
TWO = np.where(np.median(Y) < Y, "yes", "no")
THREE = np.digitize(Y, [11, 17])
WEIGHTS = np.random.RandomState(1).uniform(0.3, 2, len(X))


def double_loop(losses, X, y, columns, weights=None, relative=False):
    """Mean over rows and donors; losses(X, y) -> (n,), asked once for all donors."""
    n = len(X)
    w = np.ones(n) if weights is None else weights
    w = w / w.sum()
    base = w @ losses(X, y)
    moved = []
    for k in range(n):
        Z = X.copy()
        Z[:, columns] = X[k, columns]
        moved.append(Z)
    total = w @ losses(np.vstack(moved), np.concatenate([y] * n)).reshape(n, n) @ w
    return total / base if relative else total - base


FOREST = RandomForestRegressor(6, random_state=0).fit(X, Y)
RIDGE = Ridge(0.1).fit(X, Y)
LOGISTIC = LogisticRegression().fit(X, TWO)
TREES = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, THREE)
