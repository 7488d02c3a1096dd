"""`Table`, what every container can do, and `ArrayTable`, the plainest one."""

from functools import cached_property

import numpy as np

from skvarimp._data.entries import column_names
from skvarimp._data.values import factorized, numbers_if_possible


class Table:
    """What every container can do.

    Attributes
    ----------
    native : object
        X as the user passed it (lists as arrays); never written to.
    names : list of str or None
        Column names, where they are all strings.
    """

    names = None

    def __init__(self, native):
        self.native = native
        self.n_samples, self.n_columns = native.shape

    def __getstate__(self):
        made_again = {
            name
            for kind in type(self).__mro__
            for name, value in vars(kind).items()
            if isinstance(value, cached_property)
        }
        return {k: v for k, v in self.__dict__.items() if k not in made_again}

    def column_names(self):
        """Names of the columns, `x0, x1, ...` where there are none."""
        return column_names(self.names, self.n_columns)

    def copy(self):
        """X as the user passed it, for code of theirs that may write into its input."""
        raise NotImplementedError

    def take(self, rows):
        """Table of the given rows, repetitions allowed."""
        raise NotImplementedError

    def select(self, columns):
        """Table of the given columns, an integer array of positions."""
        raise NotImplementedError

    def part(self, rows, columns):
        """Table of the given rows and columns, ascending positions."""
        share = len(columns) / self.n_columns
        if share == 1.0:
            return self.take(rows)
        if share < len(rows) / self.n_samples:  # the smaller cut first
            return self.select(columns).take(rows)
        return self.take(rows).select(columns)

    def column(self, j):
        """Values of column j as a 1-d array; object dtype for non-numbers."""
        raise NotImplementedError

    def moved(self, rows, columns, donors=None, values=None):
        """The rows with some columns replaced, in X's own container.

        result[m, columns] = X[donors[m], columns] or values[m, :]; every other
        column is X[rows[m], :].

        Parameters
        ----------
        rows : ndarray of shape (n,)
        columns : tuple of int
        donors : ndarray of shape (n,) or None
            Rows whose values are taken, jointly for all columns.
        values : ndarray of shape (n, len(columns)) or None
            Numbers to put instead.
        """
        raise NotImplementedError

    def moved_together(self, moves):
        """Several moved blocks of rows below each other, for one call of the model.

        Parameters
        ----------
        moves : list of (rows, columns, donors, values)
            Arguments of `moved`.
        """
        raise NotImplementedError

    def has_levels(self, j):
        """Whether column j holds no numbers, so that only its own values exist."""
        return self.column(j).dtype.kind not in "fiuc"

    def is_date(self, j):
        """Whether column j holds dates, times or durations: levels with an order."""
        return self.column(j).dtype.kind in "mM"

    def is_categorical(self, j):
        """Whether column j is boolean, categorical, or neither a number nor a date."""
        return self.has_levels(j) and not self.is_date(j)

    def has_order(self, j):
        """Whether the values of column j have an order: numbers, dates, booleans, or
        categories whose type declares one.
        """
        return self.column(j).dtype.kind in "fiubM"

    def takes_numbers(self, j):
        """Whether column j is stored as numbers, so that it can be set to any."""
        return self.native.dtype.kind in "fiu"

    def numeric(self):
        """X as float64, array or CSC of shape (n_samples, n_columns).

        None where a column holds anything but numbers.
        """
        columns = [self.column(j) for j in range(self.n_columns)]
        if any(column.dtype.kind not in "fbiu" for column in columns):
            return None
        return np.column_stack(columns).astype(np.float64, copy=False)

    def factorize(self, columns):
        """Distinct joint values of some columns.

        Returns
        -------
        codes : ndarray of shape (n_samples,)
            Number of each row's value; ascending for one numeric column, NaN last.
        donors : ndarray of shape (n_values,)
            The first row that holds each value.
        """
        codes, donors = self._factorized(columns[0])
        for j in columns[1:]:
            further, others = self._factorized(j)
            codes, donors = factorized(codes * len(others) + further)
        return codes, donors

    def _factorized(self, j):
        return factorized(self.column(j))


class ArrayTable(Table):
    """A NumPy array, numeric or of objects."""

    def copy(self):
        """See `Table.copy`; rows or columns first, as in X."""
        return self.native.copy(order="K")

    def take(self, rows):
        """See `Table.take`."""
        return ArrayTable(self.native[rows])

    def select(self, columns):
        """See `Table.select`."""
        X = self.native
        rows_first = X.flags.c_contiguous  # then so is the result; else `take` copies X
        return ArrayTable(X.take(columns, axis=1) if rows_first else X[:, columns])

    def column(self, j):
        """See `Table.column`."""
        return numbers_if_possible(self.native[:, j])

    def moved(self, rows, columns, donors=None, values=None):
        """See `Table.moved`."""
        X = self.native[rows]
        if donors is not None:
            X[:, columns] = self.native[np.ix_(donors, columns)]
            return X
        if X.dtype.kind in "biu":  # an integer column moved to 0.25 stays 0.25
            X = X.astype(np.float64)
        X[:, columns] = values
        return X

    def moved_together(self, moves):
        """See `Table.moved_together`."""
        return np.concatenate([self.moved(*move) for move in moves])

    def numeric(self):
        """See `Table.numeric`."""
        if self.native.dtype.kind in "fbiu":
            return np.asarray(self.native, dtype=np.float64)
        return super().numeric()
