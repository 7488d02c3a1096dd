"""Rows and a score for the tests of FIRM."""

import numpy as np

rng = np.random.default_rng(0)
N = 90
X = np.column_stack(
    [
        rng.normal(size=N),
        rng.integers(5, size=N),
        rng.normal(size=N) > 0.4,
        rng.exponential(size=N),
        np.full(N, 0.1),
    ]
).astype(float)


def score(X):
    """Two outputs, not linear in X."""
    X = np.asarray(X, dtype=float)
    first = np.sin(X[:, 0]) + X[:, 1] ** 2 / 8 + X[:, 2] * X[:, 3]
    return np.column_stack([first, X[:, 2] - X[:, 0] * X[:, 3]])


def literal_conditional_mean(codes, s):
    """Between-group variance minus sum_b p_b (1 - p_b) s_b^2 / n_b, at least 0."""
    n, mean = len(s), np.mean(s)
    between = correction = 0.0
    groups = [[s[i] for i in range(n) if codes[i] == c] for c in sorted(set(codes))]
    pooled = sum(np.sum((g - np.mean(g)) ** 2) for g in groups) / (n - len(groups))
    for g in groups:
        p = len(g) / n
        s2 = np.var(g, ddof=1) if len(g) > 1 else pooled
        between += p * (np.mean(g) - mean) ** 2
        correction += p * (1 - p) * s2 / len(g)
    return np.sqrt(max(0.0, between - correction))
