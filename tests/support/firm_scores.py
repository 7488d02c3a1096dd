"""A linear score and correlated columns, for the tests of FIRM."""

import numpy as np

W = np.array([0.7, -1.2, 0.4, 2.0])


def linear_score(X):
    """s(x) = w'x + b with the weights W."""
    return np.asarray(X) @ W[: np.shape(X)[1]] + 0.3


def correlated(n, rho, seed=0, n_noise=1):
    """Normal columns, the first two with correlation rho."""
    Z = np.random.default_rng(seed).normal(size=(n, 2 + n_noise))
    Z[:, 1] = rho * Z[:, 0] + np.sqrt(1 - rho**2) * Z[:, 1]
    return Z


def eq_10(x, s):
    """(q_b - q_a) sqrt(p_a p_b), by loops."""
    a, b = min(x), max(x)
    rows_a = [i for i in range(len(x)) if x[i] == a]
    rows_b = [i for i in range(len(x)) if x[i] == b]
    q_a = sum(s[i] for i in rows_a) / len(rows_a)
    q_b = sum(s[i] for i in rows_b) / len(rows_b)
    p_a, p_b = len(rows_a) / len(x), len(rows_b) / len(x)
    return (q_b - q_a) * np.sqrt(p_a * p_b)
