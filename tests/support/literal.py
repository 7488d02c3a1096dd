"""The definitions written as plain loops over rows and donors: the tests' oracle."""

import numpy as np


def curve(f, X, i, columns, donor_values):
    """Responses of row i as its columns take each donor's values: (k, n_outputs)."""
    rows = np.repeat(X[i : i + 1], len(donor_values), axis=0)
    for row, value in zip(rows, donor_values):
        for member, j in enumerate(columns):
            row[j] = value[member]
    return np.array(f(rows), dtype=float)


def sensitivity(f, X, columns, contrast, weights=None, values=None, chances=None):
    """(n_outputs,) by the definition; f maps (m, p) to (m, n_outputs)."""
    n = len(X)
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    w = w / w.sum()
    if values is None:  # every row is a donor
        values, chances = [tuple(X[k, j] for j in columns) for k in range(n)], w
    total = 0.0
    for i, own in enumerate(f(X)):
        ice = curve(f, X, i, columns, values)
        if contrast == "pairs":
            row = sum(p * (chances @ np.abs(a - ice)) for a, p in zip(ice, chances))
        elif contrast == "observed":
            row = sum(p * np.abs(own - a) for a, p in zip(ice, chances))
        else:
            row = ice.max(axis=0) - ice.min(axis=0)
        total = total + w[i] * row
    return total


def mean_curve(f, X, columns, values, weights=None):
    """Weighted mean of the rows' curves, (k, n_outputs)."""
    n = len(X)
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    w = w / w.sum()
    return sum(w[i] * curve(f, X, i, columns, values) for i in range(n))


def standard_error(psi, weights=None):
    """Of estimates whose rows have influences psi, (n_rows,) or (n_rows, n_features).

    (n / (n - 1) sum_i (w_i psi_i)^2)^(1/2), n rows of positive weight; w sums to 1.
    """
    w = np.ones(len(psi)) if weights is None else np.asarray(weights, dtype=float)
    terms = [w_i / w.sum() * psi_i for w_i, psi_i in zip(w, psi) if w_i > 0]
    return np.sqrt(len(terms) / (len(terms) - 1) * sum(t**2 for t in terms))


def skewness(psi, error, weights=None):
    """Of such estimates: the sum of the cubes of their terms over the error's."""
    w = np.ones(len(psi)) if weights is None else np.asarray(weights, dtype=float)
    n = np.count_nonzero(w)
    terms = [w_i / w.sum() * psi_i for w_i, psi_i in zip(w, psi) if w_i > 0]
    return (n / (n - 1)) ** 1.5 * sum(t**3 for t in terms) / error**3
