"""The form of kernel machines."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from skvarimp._data.base_table import dense
from skvarimp._models.forms import LinkedForm, numbers
from skvarimp._models.kernels import Gaussian, Vectors


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelSum(LinkedForm):
    """Scores sum_m dual[q, m] k(x, s_m) + b_q.

    Attributes
    ----------
    kernel : Gaussian, Polynomial or Sigmoid
        k.
    support : ndarray or sparse array of shape (n_support, n_columns)
    dual : ndarray of shape (n_scores, n_support)
    intercept : ndarray of shape (n_scores,)
    by_products : bool
        Whether the model itself takes squared distances by products.
    """

    kernel: object
    support: object
    dual: np.ndarray
    intercept: np.ndarray
    by_products: bool = False

    def _kernel(self, X):
        return self.kernel.whole(Vectors(X), Vectors(self.support_like(X)))

    def support_like(self, X):
        """The support vectors in the kind of array that X is."""
        if sparse.issparse(X):
            return sparse.csr_array(self.support)
        return dense(self.support)

    def scores(self, X):
        """See `Form.scores`."""
        return (self._kernel(numbers(X)) @ self.dual.T + self.intercept).T

    def slopes(self, X):
        """See `LinkedForm.slopes`."""
        X = dense(numbers(X))
        S = self.support_like(X)
        pairs, shifted = self.kernel.slope(Vectors(X), Vectors(S))
        slopes = np.empty((len(self.dual), *X.shape))
        for of_score, alpha in zip(slopes, self.dual):
            weighted = pairs * alpha
            of_score[:] = weighted @ S
            if shifted:
                of_score -= weighted.sum(axis=1)[:, np.newaxis] * X
        return self.scores(X), slopes

    @property
    def smooth(self):
        """See `Form`."""
        return self.link.smooth

    def magnitude(self, X):
        """See `Form.magnitude`."""
        return (np.abs(self._kernel(numbers(X))) @ np.abs(self.dual).T).max()

    @property
    def elements_per_row(self):
        """See `Form`."""
        n_support, n_columns = self.support.shape
        return 6 * n_support + 3 * n_columns * len(self.dual)

    def after(self, steps):
        """See `Form.after`; kernels of inner products see x A + b through A s and b's.

        (x A + b)'s = x (A s) + b's
        """
        if isinstance(self.kernel, Gaussian):
            return None
        S = self.support_like(np.empty(0))
        offset = self.kernel.offset + self.kernel.gamma * (S @ steps.shift)
        kernel = replace(self.kernel, offset=offset)
        return replace(self, kernel=kernel, support=(steps.matrix @ S.T).T)
