"""The table of a regression by the normal equations, and data for it."""

import numpy as np


def regression_data(n=60, seed=0):
    """Columns of different scales and offsets, and a noisy linear target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1, 100, 0.01] + [0, 1000, 5]
    return X, X @ [2.0, 0.01, 0.0] + rng.normal(size=n)


def glm_data(n=150, seed=0):
    """Columns, and a linear predictor of moderate size."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1, 2, 0.5] + [0, 1, 0]
    return rng, X, X @ [0.5, -0.3, 0.4]


def textbook_t(X, y, weights=None, fit_intercept=True):
    """t by the normal equations, and the rest of the table."""
    weights = np.ones(len(y)) if weights is None else weights
    A = np.column_stack([np.ones(len(y)), X]) if fit_intercept else X
    inverse = np.linalg.inv(A.T @ (weights[:, None] * A))
    beta = inverse @ A.T @ (weights * y)
    variance = np.sum(weights * (y - A @ beta) ** 2) / (len(y) - A.shape[1])
    errors = np.sqrt(variance * np.diag(inverse))
    return (beta / errors)[int(fit_intercept) :], errors[int(fit_intercept) :], variance
