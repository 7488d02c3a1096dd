"""Fill features in from the other columns: a model that does without them.

A fitted model f becomes one that does not look at the columns S: their values are
predicted from the other columns before f is asked. The predictions are linear in
numbers and in indicators of levels, of all sets S from one matrix. With P the inverse
covariance of the columns, the residuals of S given the others are P[S, S]^-1 P[S] x.
"""

import numpy as np

from skvarimp._data.base_table import factorized
from skvarimp._data.sparse_table import SparseTable
from skvarimp._data.statistics import divided
from skvarimp._measures.residuals import missing_in

PENALTY = 1e-6  # on columns of variance 1: copies of a column have no inverse else
INDICATORS = 20  # levels of a column that are told apart, the most frequent
MOST_COLUMNS = 1000  # numbers and indicators; their matrix is inverted


class FilledColumns:
    """Predicts columns of a table from the others, as values that occur in it.

    Parameters
    ----------
    table : Table
    weights : ndarray of shape (n_samples,)
        Rows without weight are filled in but teach nothing.

    Attributes
    ----------
    reason : str or None
        Why nothing can be filled in.
    """

    def __init__(self, table, weights):
        self.table, self.reason = table, None
        if isinstance(table, SparseTable):
            self.reason = "X is sparse"
            return
        columns = [_Column(table, j, weights) for j in range(table.n_columns)]
        sizes = [column.seen.shape[1] for column in columns]
        if sum(sizes) > MOST_COLUMNS:
            self.reason = f"X has more than {MOST_COLUMNS} columns and levels"
            return
        self.columns, ends = columns, np.cumsum(sizes)
        self.places = [np.arange(end - n, end) for end, n in zip(ends, sizes)]
        shares = weights / weights.sum()
        seen = np.hstack([column.seen for column in columns])
        self.center = shares @ seen
        centred = seen - self.center
        largest = np.abs(centred).max(axis=0)
        centred = divided(centred, largest)  # squares of 1e200 are infinite
        spread = np.sqrt(shares @ centred**2)
        self.standard = divided(centred, spread)
        self.spread = largest * spread
        covariance = (self.standard * shares[:, np.newaxis]).T @ self.standard
        covariance[np.diag_indices_from(covariance)] += PENALTY
        self.inverse = np.linalg.inv(covariance)
        self.projected = self.standard @ self.inverse

    def donors(self, columns):
        """The rows whose values are closest to the predictions of some columns.

        Parameters
        ----------
        columns : sequence of int

        Returns
        -------
        ndarray of shape (n_samples, len(columns))
        """
        S = np.concatenate([self.places[j] for j in columns])
        residuals = np.linalg.solve(self.inverse[np.ix_(S, S)], self.projected[:, S].T)
        predicted = self.standard[:, S] - residuals.T
        predicted = predicted * self.spread[S] + self.center[S]
        ends = np.cumsum([len(self.places[j]) for j in columns])
        parts = np.split(predicted, ends[:-1], axis=1)
        donors = [self.columns[j].closest(part) for j, part in zip(columns, parts)]
        return np.column_stack(donors)

    def filled(self, rows, columns):
        """Some rows with some columns filled in, in X's own container."""
        columns = tuple(columns)
        return self.table.moved(rows, columns, self.donors(columns)[rows])


class _Column:
    """A column as numbers, and the rows that hold its values.

    Attributes
    ----------
    seen : ndarray of shape (n_samples, 1) or (n_samples, n_levels)
        Numbers, the mean where they are missing, or indicators of levels.
    values : ndarray or None
        Distinct numbers, ascending; None for levels.
    rows : ndarray of int
        The first row that holds each value or level.
    """

    def __init__(self, table, j, weights):
        column = table.column(j)
        if table.is_categorical(j):
            codes, first = table.factorize((j,))
            masses = np.bincount(codes, weights, len(first))
            kept = np.argsort(-masses, kind="stable")[:INDICATORS]
            self.seen = (codes[:, np.newaxis] == kept).astype(np.float64)
            self.values, self.rows = None, first[kept]
            return
        missing = missing_in(column)
        if column.dtype.kind not in "fbiu":  # dates: their places in time
            column, _ = factorized(column)
        values = column.astype(np.float64)
        missing |= ~np.isfinite(values)
        learnt = weights * ~missing
        mean = learnt @ np.where(missing, 0.0, values) / max(learnt.sum(), 1e-300)
        self.seen = np.where(missing, mean, values)[:, np.newaxis]
        known = np.flatnonzero(~missing)
        if len(known) == 0:
            known = np.array([0])
        self.values, at = np.unique(self.seen[known, 0], return_index=True)
        self.rows = known[at]

    def closest(self, predicted):
        """The row that holds the value closest to each prediction."""
        if self.values is None:
            return self.rows[predicted.argmax(axis=1)]
        middles = (self.values[1:] + self.values[:-1]) / 2.0
        return self.rows[np.searchsorted(middles, predicted[:, 0])]
