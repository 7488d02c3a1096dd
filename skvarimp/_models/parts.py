"""Functions of single columns that `Additive` forms add up.

A part is called with X, which holds some columns only, and with the numbers of these
columns. It gives the sum of what each of them adds, (n_rows, n_scores). Scores are
contrasts of K raw sums, one for each class: `contrast` has shape (K, n_scores).
"""

from dataclasses import dataclass, replace

import numpy as np

from skvarimp._models.links import NoGradient


@dataclass(frozen=True, eq=False, kw_only=True)
class Part:
    """Base of parts; see the module. Each has `raw(X, columns)`, its raw sums.

    Attributes
    ----------
    smooth : bool
        Whether it is an analytic function of each column.
    piecewise_constant : bool
        Whether it jumps between constants.
    """

    contrast: np.ndarray
    smooth = False
    piecewise_constant = False

    def __call__(self, X, columns):
        """See the module."""
        X = X.toarray() if hasattr(X, "toarray") else X
        return self.raw(X, columns) @ self.contrast

    def slopes(self, X):
        """Derivatives by all columns of an array X, (n_scores, n_rows, n_columns)."""
        raise NoGradient("its parts jump")

    def times(self, factor):
        """This part multiplied by a number."""
        return replace(self, contrast=factor * self.contrast)


@dataclass(frozen=True, eq=False, kw_only=True)
class Squares(Part):
    """Raw sums -sum_j ((x_j - centres[c, j]) / widths[c, j])^2 / 2.

    Attributes
    ----------
    centres, widths : ndarray of shape (K, n_columns)
    """

    centres: np.ndarray
    widths: np.ndarray
    smooth = True

    def raw(self, X, columns):
        """The raw sums, (n_rows, K)."""
        of_classes = zip(self.centres[:, columns], self.widths[:, columns])
        sums = [(((X - m) / s) ** 2).sum(axis=1) for m, s in of_classes]
        return -0.5 * np.column_stack(sums)

    def slopes(self, X):
        """See `Part.slopes`."""
        gaps = (self.centres[:, np.newaxis] - X) / self.widths[:, np.newaxis] ** 2
        return np.tensordot(self.contrast.T, gaps, 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class Above(Part):
    """Raw sums sum_j weights[c, j] [x_j > threshold].

    Attributes
    ----------
    threshold : float
    weights : ndarray of shape (K, n_columns)
    """

    threshold: float
    weights: np.ndarray
    piecewise_constant = True

    def raw(self, X, columns):
        """The raw sums, (n_rows, K)."""
        return (self.threshold < X) @ self.weights[:, columns].T


@dataclass(frozen=True, eq=False, kw_only=True)
class Categories(Part):
    """Raw sums sum_j tables[j][c, x_j], x_j cut to an integer.

    Attributes
    ----------
    tables : list of ndarray of shape (K, n_categories_of_column)
    """

    tables: list
    piecewise_constant = True

    def raw(self, X, columns):
        """The raw sums, (n_rows, K)."""
        X = X.astype(np.intp)
        sums = np.zeros((len(X), len(self.contrast)))
        for column, j in zip(X.T, np.arange(len(self.tables))[columns]):
            sums += self.tables[j][:, column].T
        return sums
