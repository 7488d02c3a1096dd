"""Columns of every kind, and fits of models that warn while they learn."""

import warnings

import numpy as np
from sklearn.base import clone


def mixed_columns(n, scale, shift):
    """Continuous, few values, constant, binary, scaled and shifted, continuous.

    Returns
    -------
    X : ndarray of shape (n, 6)
    noise : ndarray of shape (n,)
        Standard normal, for a target.
    weights : ndarray of shape (n,)
        Whole numbers from 1 to 3.
    """
    random = np.random.RandomState(0)
    X = np.column_stack(
        [
            random.randn(n),
            random.randint(0, 3, n),
            np.full(n, 2.5),
            random.randint(0, 2, n),
            scale * random.randn(n) + shift,
            random.randn(n),
        ]
    )
    return X, random.randn(n), random.randint(1, 4, n).astype(float)


def curved_target(X, noise):
    """With an interaction, a wave and a binary effect."""
    return X[:, 0] * X[:, 1] - X[:, 3] + np.sin(X[:, 5]) + 0.1 * noise


def fitted_quietly(model, X, y):
    """A fitted clone; any parameters will do, so nothing is said of convergence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).fit(X, y)
