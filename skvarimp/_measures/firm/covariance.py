"""FIRM from covariances with the score (eqs. 10, 11), and covariances of X.

For a feature of two values the slope times the feature's standard deviation equals
(q_b - q_a) sqrt(p_a p_b) (section 2.3), so that both are the same computation here:

    Q = cov(f, s) / sd(f) = sum_i w_i z_i s_i,    z = (f - mean f) / sd(f)

With the score centred, this is the matrix form Q = M's of the paper (eq. 11 with the
sign of D_0 corrected): D_0 multiplies the sum of the scores, which is 0.

Influence of row i on Q: z_i s_i - Q (z_i^2 + 1) / 2; where the score is standardised,
minus Q (s_i^2 - 1) / 2.

Covariances of X come as products, never as p x p matrices: each class has `mean` and
`variances` (n_features,), and `product(G)` = Sigma G. How the rows influence it is
known of the empirical covariance alone.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

from skvarimp._data.base_table import dense
from skvarimp._data.sparse_table import column_blocks
from skvarimp._data.statistics import divided
from skvarimp._running.guards import users_code


@dataclass
class Slopes:
    """Results for a block of features.

    Attributes
    ----------
    signed : ndarray of shape (n_features, n_outputs)
        Q with its sign.
    errors : ndarray of shape (n_features,)
        Standard errors of the mean of |Q| over the outputs.
    ends : ndarray of shape (n_features, 2)
        Smallest and largest value of each feature.
    lines : ndarray of shape (n_features, 2, n_outputs)
        Conditional expected scores at the ends.
    influences : ndarray of shape (n_samples, n_features) or None
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
    F : ndarray of shape (n_samples, n_features)
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
    divisor = np.where(varies, sd, np.inf)  # z of a constant is 0
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
    X : CSC of shape (n_samples, n_features)
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
    divisor = np.where(sd > 0, sd, np.inf)  # z of a constant is 0
    unit = value / divisor
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


NAMED = ("empirical", "ledoit_wolf", "schaefer_strimmer")


def make_covariance(kind, X, weights):
    """The covariance of the rows of X.

    Parameters
    ----------
    kind : str or estimator
        One of `NAMED`, or a scikit-learn covariance estimator.
    X : {ndarray, CSC} of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,)
        Positive, not normalised; whole numbers unless kind is "empirical".

    Returns
    -------
    EmpiricalCovariance, ShrunkCovariance or FittedCovariance
    """
    if isinstance(kind, str) and kind == "empirical":
        return EmpiricalCovariance(X, weights)
    if not np.all(weights == 1.0):
        if np.any(weights != np.round(weights)):
            raise ValueError(
                f"covariance={kind!r} takes whole-number sample weights only (repeated "
                "rows). Use covariance='empirical'."
            )
        rows = np.repeat(np.arange(len(weights)), weights.astype(int))
        X = X.tocsr()[rows].tocsc() if sparse.issparse(X) else X[rows]
    if isinstance(kind, str):
        return ledoit_wolf(X) if kind == "ledoit_wolf" else schaefer_strimmer(X)
    return FittedCovariance(kind, X)


class EmpiricalCovariance:
    """S = sum_i w_i (x_i - mean)(x_i - mean)', weights summing to 1 (divisor n)."""

    def __init__(self, X, weights=None):
        self.X = X
        n_samples = X.shape[0]
        weights = np.ones(n_samples) if weights is None else weights
        self.weights = weights / weights.sum()
        self.mean = np.asarray(X.T @ self.weights).ravel()
        self.variances = np.empty(X.shape[1])
        for columns, block in column_blocks(X):
            centred = block - self.mean[columns]
            centred[:, block.min(axis=0) == block.max(axis=0)] = 0.0  # exactly
            self.variances[columns] = self.weights @ centred**2

    def product(self, G):
        """S G = (X - mean)' W (X - mean) G."""
        X, mean, weights = self.X, self.mean, self.weights[:, np.newaxis]
        if sparse.issparse(X):
            projected = weights * (X @ G - mean @ G)
            return X.T @ projected - np.outer(mean, projected.sum(axis=0))
        projected, result = np.zeros((len(X), G.shape[1])), np.empty(G.shape)
        for columns, block in column_blocks(X):
            projected += (block - mean[columns]) @ G[columns]
        projected *= weights
        for columns, block in column_blocks(X):
            result[columns] = (block - mean[columns]).T @ projected
        return result

    def squared_norm(self, scale):
        """Sums that shrinkage needs, with rows z_k = (x_k - mean) * scale.

        Returns
        -------
        rows : ndarray of shape (n_samples,)
            |z_k|^2.
        norm : float
            Sum over all i, j of (sum_k z_ki z_kj)^2, from the smaller of the Gram
            matrices Z'Z and ZZ', which have the same norm.
        fourth : ndarray of shape (n_features,)
            Sum over k of z_ki^4.
        """
        n_samples, n_features = self.X.shape
        wide = n_features > n_samples
        rows, fourth = np.zeros(n_samples), np.empty(n_features)
        norm = gram = 0.0
        for columns, Z in self._scaled(scale):
            rows += np.einsum("ki,ki->k", Z, Z)
            fourth[columns] = np.einsum("ki,ki->i", Z**2, Z**2)
            if wide:
                gram = gram + Z @ Z.T
            else:
                norm += sum(
                    np.sum((Z.T @ other) ** 2) for _, other in self._scaled(scale)
                )
        return rows, np.sum(gram**2) if wide else norm, fourth

    def _scaled(self, scale):
        for columns, block in column_blocks(self.X):
            yield columns, (block - self.mean[columns]) * scale[columns]


class ShrunkCovariance:
    """kept * diag(scale) S diag(scale) + diag(diagonal), S the empirical covariance.

    Parameters
    ----------
    sample : EmpiricalCovariance
    kept : float
        1 minus the shrinkage intensity.
    scale, diagonal : ndarray of shape (n_features,)
    """

    def __init__(self, sample, kept, scale, diagonal):
        self.sample, self.kept = sample, kept
        self.scale, self.diagonal = scale, diagonal
        self.mean = sample.mean
        self.variances = kept * scale**2 * sample.variances + diagonal

    def product(self, G):
        """Sigma G."""
        scale = self.scale[:, np.newaxis]
        product = self.kept * scale * self.sample.product(scale * G)
        return product + self.diagonal[:, np.newaxis] * G


def ledoit_wolf(X):
    """(1 - d) S + d m I, m the mean variance, d the intensity of Ledoit & Wolf (2004).

    Equal to `sklearn.covariance.LedoitWolf`, without a p x p matrix.

    Parameters
    ----------
    X : {ndarray, CSC} of shape (n_samples, n_features)

    Returns
    -------
    ShrunkCovariance
    """
    n_samples, n_features = X.shape
    sample = EmpiricalCovariance(X)
    level, ones = sample.variances.mean(), np.ones(n_features)
    rows, norm, _ = sample.squared_norm(ones)
    squared = norm / n_samples**2  # |S|^2
    distance = squared - n_features * level**2  # |S - m I|^2
    spread = (np.sum(rows**2) / n_samples - squared) / n_samples
    differs = n_features > 1 and distance > 0
    shrinkage = _intensity(spread, distance) if differs else 0.0
    return ShrunkCovariance(sample, 1.0 - shrinkage, ones, shrinkage * level * ones)


def schaefer_strimmer(X):
    """Correlations shrunk towards 0, variances towards their median.

    Sigma_ij = r*_ij (v*_i v*_j)^(1/2), r*_ij = (1 - a) r_ij for i != j,
    v*_i = b median(v) + (1 - b) v_i,

    with v and r the unbiased variances and the correlations and the intensities

        a = sum_(i != j) Var(r_ij) / sum_(i != j) r_ij^2
        b = sum_i Var(v_i) / sum_i (v_i - median(v))^2,    both at most 1,

    Var estimated from the n products of each pair of standardised columns (Schäfer &
    Strimmer 2005). Constant columns take no part and have variance 0.

    Parameters
    ----------
    X : {ndarray, CSC} of shape (n_samples, n_features)

    Returns
    -------
    ShrunkCovariance
    """
    n = X.shape[0]
    sample = EmpiricalCovariance(X)
    unbiased = sample.variances * (n / (n - 1.0))
    varies = unbiased > 0
    inverse_sd = divided(1.0, np.sqrt(unbiased))
    rows, norm, fourth = sample.squared_norm(inverse_sd)
    a = _intensity_of_correlations(n, rows, norm, fourth, varies.sum())
    # fourth moments of the columns themselves, not of the standardised ones
    moments = fourth[varies] * unbiased[varies] ** 2
    middle = np.median(unbiased[varies]) if varies.any() else 0.0
    b = _intensity_of_variances(n, unbiased[varies], moments, middle)
    variances = np.where(varies, (1.0 - b) * unbiased + b * middle, 0.0)
    # r is S with the divisor n - 1 between standardised columns.
    scale = np.sqrt(variances * (n / (n - 1.0))) * inverse_sd
    return ShrunkCovariance(sample, 1.0 - a, scale, a * variances)


def _intensity_of_correlations(n, rows, norm, fourth, n_varying):
    """Sum of Var(r_ij) over sum of r_ij^2, i != j, from row lengths and the norm."""
    # sums over i != j of sum_k w_kij^2 and of mean_k(w_kij)^2, w_kij = z_ki z_kj
    squares = np.sum(rows**2) - np.sum(fourth)
    means = norm / n**2 - n_varying * ((n - 1.0) / n) ** 2
    correlations = means * (n / (n - 1.0)) ** 2
    variances = n / (n - 1.0) ** 3 * (squares - n * means)
    # not above: one column, or none correlated
    return _intensity(variances, correlations, 1e-12 * n_varying)


def _intensity_of_variances(n, variances, fourth, middle):
    """Sum of Var(v_i) over sum of (v_i - middle)^2."""
    means = variances * (n - 1.0) / n
    spread = n / (n - 1.0) ** 3 * np.sum(fourth - n * means**2)
    return _intensity(spread, np.sum((variances - middle) ** 2))


def _intensity(spread, distance, least=0.0):
    """How far to shrink: all the way where there is no distance."""
    return float(np.clip(spread / distance, 0.0, 1.0)) if distance > least else 1.0


class FittedCovariance:
    """What a scikit-learn covariance estimator found; it forms the p x p matrix."""

    def __init__(self, estimator, X):
        fitted = None
        if not get_tags(estimator).target_tags.required:
            with users_code():
                fitted = clone(estimator).fit(dense(X))
        if not hasattr(fitted, "covariance_"):
            raise ValueError(
                f"`covariance`={estimator!r} is no covariance estimator: it has no "
                "`covariance_` after fit(X). Use one of sklearn.covariance."
            )
        self.matrix = fitted.covariance_
        self.mean = getattr(fitted, "location_", X.mean(axis=0))
        self.variances = np.diag(self.matrix).copy()

    def product(self, G):
        """Sigma G."""
        return self.matrix @ G
