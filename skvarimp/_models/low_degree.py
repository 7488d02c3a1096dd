"""The form of models that are sums of products: polynomials, quadratics, splines."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from skvarimp._models.forms import LinkedForm, numbers


@dataclass(frozen=True, eq=False, kw_only=True)
class LowDegree(LinkedForm):
    """Scores b + sum_t coef[t] prod_(u in factors[t]) z_u, with z = x A + c.

    A unit z_u is a line, or a hinge: max(0, line). A polynomial is a sum of products of
    columns, a quadratic discriminant a sum of squares of lines, and a multivariate
    adaptive regression spline a sum of products of hinges. As one column moves, every
    score is a polynomial of low degree, between the kinks of hinges if there are any.

    Attributes
    ----------
    intercept : ndarray of shape (n_scores,)
        b.
    coef : ndarray of shape (n_terms, n_scores)
    factors : ndarray of int of shape (n_terms, degree)
        The units of each product; n_units stands for the number 1.
    matrix : ndarray of shape (n_columns, n_units)
        A.
    shift : ndarray of shape (n_units,)
        c.
    hinges : ndarray of bool of shape (n_units,)
    """

    intercept: np.ndarray
    coef: np.ndarray
    factors: np.ndarray
    matrix: np.ndarray
    shift: np.ndarray
    hinges: np.ndarray

    def scores(self, X):
        """See `Form.scores`."""
        return self.head(numbers(X) @ self.matrix + self.shift).T

    def products(self, X):
        """The products themselves at rows, (n_rows, n_terms)."""
        return self._products(numbers(X) @ self.matrix + self.shift, self.factors)

    def head(self, lines):
        """Scores (..., n_scores) of the units' lines (..., n_units)."""
        return self._products(lines, self.factors) @ self.coef + self.intercept

    def _products(self, lines, factors):
        """The products of some units each, (..., n_terms)."""
        result = np.ones((*lines.shape[:-1], len(factors)))
        if result.size == 0:
            return result
        units = self._with_one(lines)
        for of_terms in factors.T:
            result *= units[..., of_terms]
        return result

    def _with_one(self, lines):
        ones = np.ones((*lines.shape[:-1], 1))
        return np.concatenate(
            [np.where(self.hinges, np.maximum(lines, 0.0), lines), ones], axis=-1
        )

    def split(self, units):
        """The sum of the products with some units, and that of the others.

        Parameters
        ----------
        units : ndarray of bool of shape (n_units,)

        Returns
        -------
        moving, still : LowDegree
            `still` has the intercept.
        """
        has = np.append(units, False)[self.factors].any(axis=1)
        moving = replace(
            self,
            intercept=np.zeros_like(self.intercept),
            coef=self.coef[has],
            factors=self.factors[has],
        )
        return moving, replace(self, coef=self.coef[~has], factors=self.factors[~has])

    def degree(self, units):
        """How many of some units a product has, at most."""
        counts = np.append(units, False)[self.factors].sum(axis=1)
        return int(counts.max(initial=0))

    def slopes(self, X):
        """See `LinkedForm.slopes`; at a kink the slope on its flat side."""
        lines = numbers(X) @ self.matrix + self.shift
        n_terms, n_units = len(self.factors), len(self.shift)
        by_unit = np.zeros((len(self.intercept), len(lines), n_units + 1))
        for position in range(self.factors.shape[1]):
            others = np.delete(self.factors, position, axis=1)
            products = self._products(lines, others)
            where = (np.arange(n_terms), self.factors[:, position])
            for of_score, coef in zip(by_unit, self.coef.T):
                add = sparse.csr_array((coef, where), shape=(n_terms, n_units + 1))
                of_score += products @ add
        by_unit = by_unit[..., :-1] * np.where(self.hinges, lines > 0.0, True)
        return self.head(lines).T, by_unit @ self.matrix.T

    def magnitude(self, X):
        """See `Form.magnitude`."""
        terms = np.abs(self.products(X)) @ np.abs(self.coef)
        return (terms + np.abs(self.intercept)).max()

    @property
    def elements_per_row(self):
        """See `Form`."""
        n_columns, n_units = self.matrix.shape
        per_score = 2 * n_units + n_columns
        return 3 * len(self.factors) + per_score * len(self.intercept)

    def after(self, steps):
        """See `Form.after`."""
        return replace(
            self,
            matrix=steps.matrix @ self.matrix,
            shift=self.shift + steps.shift @ self.matrix,
        )
