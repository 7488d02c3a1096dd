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
    """FIRM of two-valued columns of a sparse matrix, from its stored elements only.

    The rows that hold an element of a column all have the same z, and so have the other
    rows. Given z a row's influence is linear in a few numbers. Sums of their products
    over the rows of one z give the errors.

    Parameters
    ----------
    X : CSC of shape (n_samples, n_entries)
        Columns of 0 and at most one other, finite value; not written to.
    scores : Scores
        Of rows that do not depend on each other.

    Returns
    -------
    Slopes
    """
    w, S = scores.weights, scores.values
    ends = ends_of(X)
    value = ends.sum(axis=1)  # beside 0
    holds = sparse.csc_array((np.ones(X.nnz), X.indices, X.indptr), shape=X.shape).T
    p = holds @ w
    sd = np.abs(value) * np.sqrt(np.maximum(p * (1.0 - p), 0.0))
    divisor = np.where(sd > 0, sd, 1.0)
    unit = np.where(sd > 0, value / divisor, 0.0)
    z0, z1 = -p * unit, (1.0 - p) * unit  # of the other rows, and of those that hold it
    signed = unit[:, np.newaxis] * (holds @ (w[:, np.newaxis] * S))

    # influence of a row: a * z s - b (s^2 - 1) - c (z^2 + 1), sums over outputs
    a, size = signs_of(signed), np.abs(signed)
    b = 0.5 * size / scores.n_outputs * scores.standardized
    c = 0.5 * size.mean(axis=1, keepdims=True)
    numbers = np.hstack([S, S**2 - ~scores.constant, np.ones((len(S), 1))])
    numbers *= w[:, np.newaxis]
    products = numbers[:, :, np.newaxis] * numbers[:, np.newaxis]
    shape = X.shape[1], *products.shape[1:]
    stored = (holds @ products.reshape(len(S), -1)).reshape(shape)
    squares = 0.0
    for moments, z in ((products.sum(axis=0) - stored, z0), (stored, z1)):
        z = z[:, np.newaxis]
        factors = np.hstack([a * z, -b, -c * (z**2 + 1.0)])
        squares += np.einsum("ej,ejk,ek->e", factors, moments, factors, optimize=True)
    errors = scores.units.error_of_squares(np.maximum(squares, 0.0))
    steps = ends - (p * value)[:, np.newaxis]
    return Slopes(signed, errors, ends, lines_of(signed, steps, divisor, scores))


def signs_of(signed):
    """Weights of the outputs in the mean of |Q|, with Q's sign."""
    return np.where(signed < 0, -1.0, 1.0) / signed.shape[1]


def ends_of(X):
    """Smallest and largest value of each column of any matrix, (n_columns, 2)."""
    ends = dense(X.min(axis=0)), dense(X.max(axis=0))
    return np.column_stack([of_columns.ravel() for of_columns in ends])


def two_valued(X):
    """Which columns of a CSC matrix hold 0 and at most one other, finite value."""
    count = np.diff(X.indptr)
    first = np.append(X.data, 0.0)[X.indptr[:-1]]
    columns = np.repeat(np.arange(X.shape[1]), count)
    n_others = np.bincount(columns, X.data != first[columns], X.shape[1])
    one = (n_others == 0) & (first != 0) & np.isfinite(first) & (count < X.shape[0])
    return one | (count == 0)


def lines_of(signed, steps, sd, scores):
    """q at both ends, which lie `steps` from the mean: mean score + Q / sd step."""
    steps = steps / sd[:, np.newaxis]
    return scores.in_units(steps[:, :, np.newaxis] * signed[:, np.newaxis, :])
