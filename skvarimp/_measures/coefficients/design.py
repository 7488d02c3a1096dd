"""Columns of X as the design of a linear model: rank, aliased columns, information.

Everything is computed on centred and scaled columns by orthogonal factors, never from
X'X, so that ill-conditioned designs keep their digits; block by block of rows, so that
memory stays bounded for sparse X too.
"""

import numpy as np
from scipy import sparse

from skvarimp._data.sparse_table import row_blocks
from skvarimp._data.statistics import divided

# Scaled columns nearer than this to a combination of the others are aliased.
_RANK_TOLERANCE = 1e-10


class Design:
    """The design of a linear predictor a + X b, in the coordinates a~ + Z b~.

    Parameters
    ----------
    X : {ndarray, sparse} of shape (n_samples, n_features)
    fit_intercept : bool

    Attributes
    ----------
    n_parameters : int
        Columns of Z: the ones of the intercept, if there is one, and n_features.
    rank : int
        Rank of Z.
    aliased : ndarray of int
        Columns that are a linear combination of others (and of the intercept), whose
        coefficients the data do not determine.
    """

    def __init__(self, X, fit_intercept):
        self.X = X.tocsr() if sparse.issparse(X) else X
        self.n_samples, self.n_features = X.shape
        self.fit_intercept = fit_intercept
        self.n_parameters = self.n_features + fit_intercept
        self._centre_and_scale()
        self._find_rank()

    def _centre_and_scale(self):
        """Set the mean and 1 / scale of each column; 0 for a constant's scale."""
        mean = sum(x.sum(axis=0) for _, x in row_blocks(self.X)) / self.n_samples
        self._mean = mean if self.fit_intercept else np.zeros(self.n_features)
        square = sum(
            np.sum((x - self._mean) ** 2, axis=0) for _, x in row_blocks(self.X)
        )
        rounding = 16 * np.finfo(np.float64).eps * np.abs(self._mean)
        self._per_scale = divided(1.0, np.sqrt(square / self.n_samples), rounding)

    def _find_rank(self):
        """Set the rank and the directions of b that no row of X sees."""
        first = int(self.fit_intercept)
        varying = np.flatnonzero(self._per_scale)
        used = np.r_[:first, varying + first]
        triangle = self.triangle(np.ones((self.n_samples, 1, 1)))[:, used]
        _, singular, directions = np.linalg.svd(triangle)
        self.rank = int(np.sum(singular > _RANK_TOLERANCE * singular.max(initial=0.0)))
        null = directions[self.rank :, first:]  # (n_null, n_varying), in Z's units
        constant = np.flatnonzero(self._per_scale == 0)
        seen_twice = varying[np.linalg.norm(null, axis=0) > 1e-8]
        self.aliased = np.union1d(constant, seen_twice)
        basis = np.zeros((self.n_features, len(null) + len(constant)))
        basis[varying, : len(null)] = (null * self._per_scale[varying]).T
        basis[constant, len(null) + np.arange(len(constant))] = 1.0
        self._null = np.linalg.qr(basis / np.linalg.norm(basis, axis=0))[0]

    def blocks(self, n_copies=1):
        """Pairs of a slice of rows and the rows of Z, (n, n_parameters)."""
        elements = n_copies**2 * self.n_parameters
        for rows, x in row_blocks(self.X, elements):
            z = (x - self._mean) * self._per_scale
            if self.fit_intercept:
                z = np.column_stack([np.ones(len(z)), z])
            yield rows, z

    def triangle(self, roots):
        """R of the orthogonal factorisation of the stacked rows root_i' (x) z_i.

        R'R = sum_i (M_i M_i') (x) (z_i z_i'): the information, without forming it.

        Parameters
        ----------
        roots : ndarray of shape (n_samples, n_classes, n_classes)
            Roots M_i of each row's information on its n_classes linear predictors.

        Returns
        -------
        ndarray of shape (., n_classes * n_parameters)
        """
        n_classes = roots.shape[1]
        width = n_classes * self.n_parameters
        triangle = np.empty((0, width))
        for rows, z in self.blocks(n_classes):
            stacked = np.einsum("ilk,ij->iklj", roots[rows], z).reshape(-1, width)
            triangle = np.linalg.qr(np.vstack([triangle, stacked]), mode="r")
        return triangle

    def inverse_information(self, roots):
        """Pseudo-inverse of the information, (width, width); None where singular."""
        n_classes = roots.shape[1]
        # The linear predictors of all classes may move together: nothing changes.
        rank = self.rank * max(n_classes - 1, 1)
        if rank == 0:
            return np.zeros((n_classes * self.n_parameters,) * 2)
        _, singular, directions = np.linalg.svd(self.triangle(roots))
        if not singular[rank - 1] > _RANK_TOLERANCE * singular[0]:
            return None
        half = directions[:rank] / singular[:rank, np.newaxis]
        return half.T @ half

    def score(self, residuals):
        """Z' residuals, (n_parameters, n_outputs)."""
        return sum(z.T @ residuals[rows] for rows, z in self.blocks())

    def shortest(self, coefficients):
        """The coefficients of least norm that predict the same, (n_features, .)."""
        return coefficients - self._null @ (self._null.T @ coefficients)

    def slope_variances(self, inverse, n_classes):
        """Variances of the shortest coefficients, in the units of X.

        Parameters
        ----------
        inverse : ndarray of shape (n_classes * n_parameters,) * 2
            A generalised inverse of the information.

        Returns
        -------
        ndarray of shape (n_features, n_classes)
        """
        shape = (n_classes, self.n_parameters) * 2
        slopes = slice(int(self.fit_intercept), None)
        cov = inverse.reshape(shape)[:, slopes, :, slopes]
        cov = cov * self._per_scale[:, np.newaxis, np.newaxis] * self._per_scale
        if n_classes > 1:  # coefficients that sum to 0 over the classes
            cov = cov - cov.mean(axis=0)
            cov = cov - cov.mean(axis=2, keepdims=True)
        if self._null.shape[1]:
            keep = np.eye(self.n_features) - self._null @ self._null.T
            cov = np.einsum("ab,kblc,cd->kald", keep, cov, keep, optimize=True)
        variances = np.einsum("kjkj->jk", cov)
        return np.maximum(variances, 0.0)
