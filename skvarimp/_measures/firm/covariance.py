"""Covariances of X as products, never as p x p matrices.

Each class has `mean` and `variances` (n_features,), `product(G)` = Sigma G, and
`influence(G)`: a function of centred rows that gives the derivatives of Sigma G and
of the variances by the rows' weights (influence functions), shrinkage intensities
held fixed.
"""

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

from skvarimp._data.blocks import column_blocks
from skvarimp._running.arithmetic import users_code

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
    EmpiricalCovariance, LedoitWolf, SchaeferStrimmer or FittedCovariance
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
        return LedoitWolf(X) if kind == "ledoit_wolf" else SchaeferStrimmer(X)
    return FittedCovariance(kind, X)


class EmpiricalCovariance:
    """S = sum_i w_i (x_i - mean)(x_i - mean)', weights summing to 1 (divisor n)."""

    influence_needs_products = False  # a product with S for each row

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
        self.sample_variances = self.variances

    def scores(self, G):
        """(X - mean) G, (n_samples, n_columns)."""
        if sparse.issparse(self.X):
            return self.X @ G - self.mean @ G
        result = np.zeros((self.X.shape[0], G.shape[1]))
        for columns, block in column_blocks(self.X):
            result += (block - self.mean[columns]) @ G[columns]
        return result

    def transposed(self, C):
        """(X - mean)' C, (n_features, n_columns)."""
        if sparse.issparse(self.X):
            return self.X.T @ C - np.outer(self.mean, C.sum(axis=0))
        result = np.empty((self.X.shape[1], C.shape[1]))
        for columns, block in column_blocks(self.X):
            result[columns] = (block - self.mean[columns]).T @ C
        return result

    def product(self, G):
        """S G = (X - mean)' W (X - mean) G."""
        return self.transposed(self.weights[:, np.newaxis] * self.scores(G))

    def influence(self, G):
        """Influence functions of S G and of the variances.

        Parameters
        ----------
        G : ndarray of shape (n_features, n_columns)

        Returns
        -------
        callable
            Of rows (n_rows, n_features) minus the mean, gives
            x x' G - S G (n_rows, n_features, n_columns) and
            x^2 - diag(S) (n_rows, n_features).
        """
        product = EmpiricalCovariance.product(self, G)
        variances = self.sample_variances

        def changes(rows):
            moved = rows[:, :, np.newaxis] * (rows @ G)[:, np.newaxis, :] - product
            return moved, rows**2 - variances

        return changes

    def squared_norm(self, columns_scale=None):
        """Sums that shrinkage needs, with rows z_k = (x_k - mean) * columns_scale.

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
        rows = np.zeros(n_samples)
        fourth = np.empty(n_features)
        gram = np.zeros((n_samples, n_samples)) if wide else None
        norm = 0.0
        for columns, block in column_blocks(self.X):
            Z = self._scaled(block, columns, columns_scale)
            rows += np.einsum("ki,ki->k", Z, Z)
            fourth[columns] = np.einsum("ki,ki->i", Z**2, Z**2)
            if wide:
                gram += Z @ Z.T
            else:
                for others, other in column_blocks(self.X):
                    norm += np.sum(
                        (Z.T @ self._scaled(other, others, columns_scale)) ** 2
                    )
        return rows, np.sum(gram**2) if wide else norm, fourth

    def _scaled(self, block, columns, columns_scale):
        Z = block - self.mean[columns]
        return Z if columns_scale is None else Z * columns_scale[columns]


class LedoitWolf(EmpiricalCovariance):
    """(1 - d) S + d m I, m the mean variance, d the intensity of Ledoit & Wolf (2004).

    Equal to `sklearn.covariance.LedoitWolf`, without a p x p matrix.

    Parameters
    ----------
    X : {ndarray, CSC} of shape (n_samples, n_features)
    shrinkage : float, default=None
        Intensity; None: estimated.
    """

    def __init__(self, X, shrinkage=None):
        super().__init__(X)
        self.level = self.variances.mean()
        self.shrinkage = self._intensity() if shrinkage is None else shrinkage
        self.variances = self._shrunk(self.sample_variances)

    def _intensity(self):
        n_samples, n_features = self.X.shape
        if n_features == 1:
            return 0.0
        rows, norm, _ = self.squared_norm()
        squared = norm / n_samples**2  # |S|^2
        distance = squared - n_features * self.level**2  # |S - m I|^2
        spread = (np.sum(rows**2) / n_samples - squared) / n_samples
        if distance <= 0:
            return 0.0
        return min(max(spread, 0.0), distance) / distance

    def _shrunk(self, variances):
        return (1.0 - self.shrinkage) * variances + self.shrinkage * self.level

    def product(self, G):
        """((1 - d) S + d m I) G."""
        S_G = super().product(G)
        return (1.0 - self.shrinkage) * S_G + self.shrinkage * self.level * G

    def influence(self, G):
        """See `EmpiricalCovariance.influence`; m moves with the rows' lengths."""
        of_sample = super().influence(G)
        kept, d = 1.0 - self.shrinkage, self.shrinkage

        def changes(rows):
            moved, variances = of_sample(rows)
            level = d * (np.mean(rows**2, axis=1) - self.level)[:, np.newaxis]
            return kept * moved + level[:, :, np.newaxis] * G, kept * variances + level

        return changes


class SchaeferStrimmer(EmpiricalCovariance):
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
    shrinkage, variance_shrinkage : float, default=None
        a and b; None: estimated.
    """

    influence_needs_products = True

    def __init__(self, X, shrinkage=None, variance_shrinkage=None):
        super().__init__(X)
        n = X.shape[0]
        self.unbiased = self.variances * (n / (n - 1.0))
        varies = self.unbiased > 0
        self.inverse_sd = np.where(
            varies, 1.0 / np.sqrt(np.where(varies, self.unbiased, 1.0)), 0.0
        )
        rows, norm, fourth = self.squared_norm(self.inverse_sd)
        if shrinkage is None:
            shrinkage = _intensity_of_correlations(n, rows, norm, fourth, varies.sum())
        if variance_shrinkage is None:
            # fourth moments of the columns themselves, not of the standardised ones
            moments = fourth[varies] * self.unbiased[varies] ** 2
            variance_shrinkage = _intensity_of_variances(
                n, self.unbiased[varies], moments
            )
        self.shrinkage, self.variance_shrinkage = shrinkage, variance_shrinkage
        self.middle = _median_positions(self.unbiased, varies)
        shrunk = (1.0 - variance_shrinkage) * self.unbiased
        shrunk += variance_shrinkage * self.unbiased[self.middle].mean()
        self.variances = np.where(varies, shrunk, 0.0)
        self.sd = np.sqrt(self.variances)

    def correlate(self, U):
        """R U, R the unshrunk correlations."""
        inverse_sd = self.inverse_sd[:, np.newaxis]
        centred = self.scores(inverse_sd * U) / (self.X.shape[0] - 1.0)
        return inverse_sd * self.transposed(centred)

    def product(self, G):
        """diag(sd) ((1 - a) R + a I) diag(sd) G."""
        sd = self.sd[:, np.newaxis]
        U = sd * G
        return sd * ((1.0 - self.shrinkage) * self.correlate(U) + self.shrinkage * U)

    def influence(self, G):
        """See `EmpiricalCovariance.influence`; the median moves with its column."""
        a, sd = self.shrinkage, self.sd[:, np.newaxis]
        U = sd * G
        R_U = self.correlate(U)
        inner = (1.0 - a) * R_U + a * U
        # With the divisor n of an influence function, z has variance 1.
        n_samples = self.X.shape[0]
        to_unit = self.inverse_sd * np.sqrt(n_samples / (n_samples - 1.0))
        b, varies = self.variance_shrinkage, self.unbiased > 0

        def changes(rows):
            z = rows * to_unit
            d_variances = (z**2 - 1.0) * self.unbiased
            d_median = d_variances[:, self.middle].mean(axis=1)[:, np.newaxis]
            d_variances = ((1.0 - b) * d_variances + b * d_median) * varies
            d_sd = d_variances / (2.0 * np.where(self.sd > 0, self.sd, 1.0))
            d_U = d_sd[:, :, np.newaxis] * G
            # d r_jk = z_j z_k - r_jk (z_j^2 + z_k^2) / 2
            half = 0.5 * z[:, :, np.newaxis] ** 2
            d_R_U = z[:, :, np.newaxis] * (z @ U)[:, np.newaxis, :] - half * R_U
            d_R_U += self._correlate_rows(d_U - half * U)
            d_inner = (1.0 - a) * d_R_U + a * d_U
            return d_sd[:, :, np.newaxis] * inner + sd * d_inner, d_variances

        return changes

    def _correlate_rows(self, U):
        """R U[i] for each row i, all in one product."""
        n_rows, n_features, n_columns = U.shape
        stacked = U.transpose(1, 0, 2).reshape(n_features, -1)
        result = self.correlate(stacked).reshape(n_features, n_rows, n_columns)
        return result.transpose(1, 0, 2)


def _median_positions(variances, varies):
    """The column, or the two columns, whose variance is the median of the varying."""
    kept = np.flatnonzero(varies)
    if len(kept) == 0:
        return np.array([0])
    order = kept[np.argsort(variances[kept], kind="stable")]
    half = len(order) // 2
    return order[half : half + 1] if len(order) % 2 else order[half - 1 : half + 1]


def _intensity_of_correlations(n, rows, norm, fourth, n_varying):
    """Sum of Var(r_ij) over sum of r_ij^2, i != j, from row lengths and the norm."""
    # sums over i != j of sum_k w_kij^2 and of mean_k(w_kij)^2, w_kij = z_ki z_kj
    squares = np.sum(rows**2) - np.sum(fourth)
    means = norm / n**2 - n_varying * ((n - 1.0) / n) ** 2
    correlations = means * (n / (n - 1.0)) ** 2
    if correlations <= 1e-12 * max(n_varying, 1):  # one column, or none correlated
        return 1.0
    variances = n / (n - 1.0) ** 3 * (squares - n * means)
    return float(np.clip(variances / correlations, 0.0, 1.0))


def _intensity_of_variances(n, variances, fourth):
    """Sum of Var(v_i) over sum of (v_i - median)^2."""
    means = variances * (n - 1.0) / n
    spread = n / (n - 1.0) ** 3 * np.sum(fourth - n * means**2)
    distance = np.sum((variances - np.median(variances)) ** 2) if len(variances) else 0
    if distance <= 0:
        return 1.0
    return float(np.clip(spread / distance, 0.0, 1.0))


class FittedCovariance:
    """What a scikit-learn covariance estimator found; it forms the p x p matrix."""

    influence = None  # unknown: no standard errors

    def __init__(self, estimator, X):
        X = X.toarray() if sparse.issparse(X) else X
        fitted = None
        if not get_tags(estimator).target_tags.required:
            with users_code():
                fitted = clone(estimator).fit(X)
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
