"""FIRM from the slope of the score on a feature, and for binary data (eqs. 10, 11).

For a feature of two values the slope times the feature's standard deviation equals
(q_b - q_a) sqrt(p_a p_b) (section 2.3), so that both are the same computation here:

    Q = cov(f, s) / sd(f) = sum_i w_i z_i s_i,    z = (f - mean f) / sd(f)

With the score centred, this is the matrix form Q = M's of the paper (eq. 11 with the
sign of D_0 corrected): D_0 multiplies the sum of the scores, which is 0.

Influence of row i on Q: z_i s_i - Q (z_i^2 + 1) / 2; where the score is standardised,
minus Q (s_i^2 - 1) / 2.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from skvarimp._data.base_table import dense


@dataclass
class Slopes:
    """Results for a block of features.

    Attributes
    ----------
    signed : ndarray of shape (n_entries, n_outputs)
        Q with its sign.
    errors : ndarray of shape (n_entries,)
        Standard errors of the mean of |Q| over the outputs.
    ends : ndarray of shape (n_entries, 2)
        Smallest and largest value of each feature.
    lines : ndarray of shape (n_entries, 2, n_outputs)
        Conditional expected scores at the ends.
    influences : ndarray of shape (n_samples, n_entries) or None
        Of the rows on the mean of |Q| over the outputs, where they are kept.
    """

    signed: np.ndarray
    errors: np.ndarray
    ends: np.ndarray
    lines: np.ndarray
    influences: np.ndarray | None = None


def slopes(F, scores):
    """FIRM of the columns of a dense block.

    Parameters
    ----------
    F : ndarray of shape (n_samples, n_entries)
        Feature values, finite; not written to.
    scores : Scores

    Returns
    -------
    Slopes
    """
    w = scores.weights
    ends = ends_of(F)
    Z = F - ends[:, 0]  # first, so that a large shift costs no digits
    mean = w @ Z
    Z -= mean
    sd = np.sqrt(w @ Z**2)
    varies = (ends[:, 0] < ends[:, 1]) & (sd > 0)
    Z[:, ~varies] = 0.0
    divisor = np.where(varies, sd, 1.0)
    Z /= divisor
    signed = Z.T @ (w[:, np.newaxis] * scores.values)
    influence = Z * (scores.values @ signs_of(signed).T)
    Z *= Z
    Z += 1.0
    influence -= 0.5 * Z * np.abs(signed).mean(axis=1)
    if scores.standardized:
        halves = 0.5 * np.abs(signed) / scores.n_outputs
        influence -= (scores.values**2 - ~scores.constant) @ halves.T
    kept = influence.copy() if scores.keep_rows else None
    errors = scores.units.error_of_columns(influence)
    steps = ends - ends[:, :1] - mean[:, np.newaxis]
    lines = lines_of(signed, steps, divisor, scores)
    return Slopes(signed, errors, ends, lines, kept)


def sparse_slopes(X, scores):
    """FIRM of the columns of a sparse matrix, from its stored elements only.

    Rows that hold no element of a column all have the same z, so that their sums are
    those over all rows minus those over the stored ones.

    Parameters
    ----------
    X : CSC of shape (n_samples, n_entries)
        Finite values, no duplicates; not written to.
    scores : Scores

    Returns
    -------
    Slopes

    Notes
    -----
    Cost O(n_stored n_outputs + n_entries n_outputs^2).
    """
    w, S = scores.weights, scores.values
    rows, columns = X.indices, np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
    stored = column_sums(X, w[rows])  # weight of the stored rows
    mean = column_sums(X, w[rows] * X.data)
    deviation = X.data - mean[columns]
    rest = np.where(np.diff(X.indptr) < X.shape[0], 1.0 - stored, 0.0)
    variance = column_sums(X, w[rows] * deviation**2) + rest * mean**2
    ends = ends_of(X)
    varies = (ends[:, 0] < ends[:, 1]) & (variance > 0)
    sd = np.where(varies, np.sqrt(variance), 1.0)
    z = np.where(varies[columns], deviation / sd[columns], 0.0)
    z0 = np.where(varies, -mean / sd, 0.0)  # of the rows without an element
    by_column = sparse.csc_array((w[rows] * X.data, rows, X.indptr), shape=X.shape)
    signed = (by_column.T @ S) / sd[:, np.newaxis]
    signed[~varies] = 0.0

    # influence of a row: a * z s + b (s^2 - 1) - c (z^2 + 1), sums over outputs
    a = signs_of(signed)
    c = 0.5 * np.abs(signed).mean(axis=1)
    b = -0.5 * np.abs(signed) / scores.n_outputs * scores.standardized
    everywhere = _of_all(z0[:, np.newaxis] * a, b, c * (z0**2 + 1.0), scores)
    u = np.zeros(len(z))
    v = np.zeros(len(z))
    for o in range(scores.n_outputs):
        u += a[columns, o] * S[rows, o]
        if scores.standardized:
            v += b[columns, o] * (S[rows, o] ** 2 - ~scores.constant[o])
    zero = z0[columns]
    here = u * z + v - c[columns] * (z**2 + 1.0)
    elsewhere = u * zero + v - c[columns] * (zero**2 + 1.0)
    if scores.units.groups is None:
        squares = _squares(*everywhere)
        squares += column_sums(X, w[rows] ** 2 * (here**2 - elsewhere**2))
    else:
        more = w[rows] * (here - elsewhere)
        squares = _squares_of_groups(X, more, *everywhere, scores.units)
    errors = scores.units.error_of_squares(np.maximum(squares, 0.0))
    steps = ends - mean[:, np.newaxis]
    return Slopes(signed, errors, ends, lines_of(signed, steps, sd, scores))


def signs_of(signed):
    """Weights of the outputs in the mean of |Q|, with Q's sign."""
    return np.where(signed < 0, -1.0, 1.0) / signed.shape[1]


def _of_all(a, b, constant, scores):
    """w_i (sum_o a_o s_io + b_o (s_io^2 - 1) - constant) of each row and entry.

    Returns
    -------
    basis : ndarray of shape (n_rows, n_numbers)
    coefficients : ndarray of shape (n_entries, n_numbers)
        Their product is meant.
    """
    S = scores.values
    ones = np.ones((len(S), 1))
    parts = [(S, a), (ones, -constant[:, np.newaxis])]
    if scores.standardized:
        parts.append((S**2 - ~scores.constant, b))
    basis = np.hstack([part for part, _ in parts])
    coefficients = np.hstack([coefficient for _, coefficient in parts])
    basis *= scores.weights[:, np.newaxis]
    return basis, coefficients


def _squares(basis, coefficients):
    """Sums over the rows of the squares of basis @ coefficients.T."""
    moments = basis.T @ basis
    return np.einsum("eo,eo->e", coefficients @ moments, coefficients)


def _squares_of_groups(X, more, basis, coefficients, units):
    """The same of sums within groups, where some rows of X hold `more`.

    Only the groups of rows with stored elements differ from the basis.
    """
    basis = units.sums(basis.T).T
    stored = more, units.groups[X.indices], X.indptr.copy()
    sums = sparse.csc_array(stored, shape=(units.n, X.shape[1]))
    sums.sum_duplicates()
    columns = np.repeat(np.arange(X.shape[1]), np.diff(sums.indptr))
    of_all = np.einsum("so,so->s", basis[sums.indices], coefficients[columns])
    more = sums.data * (sums.data + 2.0 * of_all)
    return _squares(basis, coefficients) + column_sums(sums, more)


def column_sums(X, values):
    """Sums of one value per stored element over each column."""
    result = np.zeros(X.shape[1])
    filled = np.flatnonzero(np.diff(X.indptr))
    if len(filled):
        result[filled] = np.add.reduceat(values, X.indptr[filled])
    return result


def ends_of(X):
    """Smallest and largest value of each column of any matrix, (n_columns, 2)."""
    ends = dense(X.min(axis=0)), dense(X.max(axis=0))
    return np.column_stack([of_columns.ravel() for of_columns in ends])


def two_valued(X):
    """Which columns of a CSC matrix hold 0 and at most one other value."""
    count = np.diff(X.indptr)
    first = np.append(X.data, 0.0)[X.indptr[:-1]]
    several = column_sums(X, X.data != np.repeat(first, count)) > 0
    return (count == 0) | ((first != 0) & (count < X.shape[0]) & ~several)


def lines_of(signed, steps, sd, scores):
    """q at both ends, which lie `steps` from the mean: mean score + Q / sd step."""
    steps = steps / sd[:, np.newaxis]
    return scores.in_units(steps[:, :, np.newaxis] * signed[:, np.newaxis, :])
