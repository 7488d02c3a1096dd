"""The sampling error of an estimate, from the influences of its rows.

An influence psi_i says how much row i moves an estimate; with weights w that sum to 1,
its weighted mean is 0. The n rows of positive weight are independent, and the sampling
error is to first order the sum of the terms

    t_i = (n / (n - 1))^(1/2) w_i psi_i

so that its variance is the sum of their squares, and its third central moment the sum
of their cubes. What the weights summed to before does not matter: a row of weight 3 is
one row, not three.
"""

from dataclasses import dataclass

import numpy as np

from skvarimp._data.statistics import divided


@dataclass(frozen=True)
class Units:
    """The independent rows that an estimate is made of.

    Attributes
    ----------
    n : int
        Number of rows of positive weight.
    weights : ndarray of shape (n_rows,) or (n_entries, n_rows), or None
        They sum to 1. Of a row that stands for several of equal influence, the root of
        the sum of their squared weights. None where others weigh the influences.
    thirds : ndarray of the shape of `weights`, or None
        The same for third moments: the cube root of the sum of their cubed weights.
        None where it is not known.
    """

    n: int
    weights: np.ndarray | None = None
    thirds: np.ndarray | None = None

    @classmethod
    def of(cls, weights):
        """Each row by itself; `weights` are positive and sum to 1."""
        return cls(len(weights), weights, weights)

    @property
    def inflation(self):
        """What sums of squares are multiplied by; NaN for one row."""
        return self.n / (self.n - 1) if self.n > 1 else np.nan

    @property
    def freedom(self):
        """Degrees of freedom of Student's distribution.

        Those of a sum of squares with unequal weights (Satterthwaite 1946): with equal
        weights n - 1, and fewer where some rows weigh much more than others.
        """
        if self.weights is None:
            return max(self.n - 1, 1)
        squares = (self.weights / self.weights.max()) ** 2
        return max(squares.sum() ** 2 / (squares @ squares) - 1, 1)

    def terms(self, influences):
        """What each row adds to the sampling error, (..., n_rows) as the influences."""
        return np.sqrt(self.inflation) * (self.weights * influences)

    def error(self, influences):
        """Standard errors of estimates, from influences (..., n_rows)."""
        return root_of_squares(self.terms(influences))

    def skewness(self, influences, errors):
        """Skewness of estimates with these standard errors; None where not known."""
        if self.thirds is None:
            return None
        terms = np.sqrt(self.inflation) * (self.thirds * influences)
        return sum_of_cubes(divided(terms, errors[..., np.newaxis]))

    def error_of_sums(self, sums):
        """The same from w_i psi_i, (..., n_rows), perhaps summed over some rows."""
        return np.sqrt(self.inflation) * root_of_squares(sums)

    def error_of_squares(self, squares):
        """The same from sums of (w_i psi_i)^2 over all rows."""
        return np.sqrt(self.inflation * squares)


def root_of_squares(values):
    """The root of the sum of squares along the last axis.

    Values are scaled before they are squared, so that no square vanishes or overflows.
    """
    size = np.abs(values).max(axis=-1, initial=0.0)
    scaled = divided(values, size[..., np.newaxis])
    return size * np.sqrt(np.einsum("...i,...i->...", scaled, scaled))


def sum_of_cubes(values):
    """The sum of cubes along the last axis."""
    return np.einsum("...i,...i,...i->...", values, values, values)


def unit_of(values):
    """The power of two next to the largest size of the values; 1 where all are 0.

    Numbers divided by it keep all their digits, and their squares neither vanish nor
    overflow.
    """
    size = np.abs(values).max(initial=0.0)
    return float(np.exp2(np.frexp(size)[1])) if 0 < size < np.inf else 1.0
