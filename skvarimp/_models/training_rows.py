"""The form of kernel machines."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from skvarimp._data.base_table import dense
from skvarimp._models.forms import LinkedForm, numbers
from skvarimp._models.kernels import Polynomial, Sigmoid, Vectors


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelSum(LinkedForm):
    """Scores sum_m dual[q, m] k(x, s_m) + b_q.

    Attributes
    ----------
    terms : list
        k as a sum of terms, see `kernels.py`.
    support : ndarray or sparse array of shape (n_support, n_columns)
    dual : ndarray of shape (n_scores, n_support)
    intercept : ndarray of shape (n_scores,)
    by_products : bool
        Whether the model itself takes squared distances by products.
    """

    terms: list
    support: object
    dual: np.ndarray
    intercept: np.ndarray
    by_products: bool = False

    def _kernel(self, X):
        X, S = Vectors(X), Vectors(self.support_like(X))
        return sum(term.whole(X, S) for term in self.terms)

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
        slopes = np.zeros((len(self.dual), *X.shape))
        for term in self.terms:
            for slope in term.slopes(Vectors(X), Vectors(S)):
                for o, alpha in enumerate(self.dual):
                    pairs = slope.pairs * alpha
                    direction = pairs @ S
                    if slope.shifted:
                        direction = direction - pairs.sum(axis=1)[:, np.newaxis] * X
                    slopes[o] += direction * slope.factor
        return self.scores(X), slopes

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
        if not all(isinstance(term, Polynomial | Sigmoid) for term in self.terms):
            return None
        S = self.support_like(np.empty(0))
        shifted = S @ steps.shift
        terms = [
            replace(term, offset=term.offset + term.gamma * shifted)
            for term in self.terms
        ]
        return replace(self, terms=terms, support=(steps.matrix @ S.T).T)
