"""`Table`, what every container can do; tables of arrays and of sparse matrices."""

from functools import cached_property

import numpy as np
from scipy import sparse

from skvarimp._data.values import factorized, numbers_if_possible
from skvarimp._running.memory import CACHE, slices


def column_names(names, n_columns):
    """The names of X's columns, `x0, x1, ...` where it has none."""
    return list(names) if names is not None else [f"x{j}" for j in range(n_columns)]


class Table:
    """What every container can do.

    Attributes
    ----------
    native : object
        X as the user passed it (lists as arrays); never written to.
    names : list of str or None
        Column names, where they are all strings.
    library : {"pandas", "polars", "pyarrow"}
        Of the frames made for the user; pandas for arrays.
    """

    names, library = None, "pandas"

    def __init__(self, native):
        self.native = native
        self.n_samples, self.n_columns = native.shape

    def __getstate__(self):
        def is_made_again(name):
            return isinstance(getattr(type(self), name, None), cached_property)

        return {k: v for k, v in vars(self).items() if not is_made_again(k)}

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

    def missing(self, j):
        """Which rows miss the value of column j, one of numbers, (n_samples,) bool."""
        return np.isnan(self.column(j).astype(np.float64))

    def moved(self, rows, columns, donors=None, values=None):
        """The rows with some columns replaced, in X's own container.

        result[m, columns] = X[donors[m], columns] or values[m, :]; every other
        column is X[rows[m], :].

        Parameters
        ----------
        rows : ndarray of shape (n,)
        columns : tuple of int
        donors : ndarray of shape (n,) or (n, len(columns)), or None
            Rows whose values are taken, jointly for all columns or for each its own.
            -1 throughout a column: its `values` are taken.
        values : ndarray of shape (n, len(columns)) or None
            Numbers to put instead.
        """
        return self.moved_together([(rows, columns, donors, values)])

    def moved_together(self, moves):
        """Several moved blocks of rows below each other, for one call of the model.

        Parameters
        ----------
        moves : list of (rows, columns, donors, values)
            Arguments of `moved`.
        """
        raise NotImplementedError

    def beside_copies(self, orders):
        """The table with copies of its columns on the right, each in another order.

        Parameters
        ----------
        orders : list of (int, ndarray of shape (n_samples,))
            For each copy the column and the rows its values come from.

        Returns
        -------
        Table of n_columns + len(orders) columns
        """
        raise NotImplementedError

    def held(self, donors, source):
        """The table with some columns held at one value each.

        Parameters
        ----------
        donors : dict
            Column -> the row of `source` whose value it holds.
        source : Table
            With the same columns.
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

    def stored(self):
        """The values but for zeros, the same for the same rows in any container.

        Yields
        ------
        counts : ndarray of int64
            How many numbers each of some columns holds that are not 0; -1 for other
            values.
        rows : ndarray of int64
            Where these are, column by column.
        values : ndarray
            They as float64, or the text of all other values as bytes.
        """
        for j in range(self.n_columns):
            column = self.column(j)
            if column.dtype.kind in "fiub":
                rows = np.flatnonzero(column)
                yield np.array([len(rows)]), rows, column[rows].astype(np.float64)
            else:
                text = repr(column.tolist()).encode()
                yield np.array([-1]), np.arange(0), np.frombuffer(text, np.uint8)

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
        """Rows or columns first, as in X."""
        return self.native.copy(order="K")

    def take(self, rows):
        return ArrayTable(self.native[rows])

    def select(self, columns):
        X = self.native
        rows_first = X.flags.c_contiguous  # then so is the result; else `take` copies X
        return ArrayTable(X.take(columns, axis=1) if rows_first else X[:, columns])

    def column(self, j):
        return numbers_if_possible(self.native[:, j])

    @cached_property
    def _misses(self):
        """Whether each column of floats misses a value: X is read once, by rows."""
        misses = np.zeros(self.n_columns, dtype=bool)
        for rows in slices(self.n_samples, self.n_columns, CACHE):
            misses |= np.isnan(self.native[rows]).any(axis=0)
        return misses

    def missing(self, j):
        if self.native.dtype.kind == "f" and not self._misses[j]:
            return np.zeros(self.n_samples, dtype=bool)
        return super().missing(j)

    def moved(self, rows, columns, donors=None, values=None):
        X = self.native[rows]
        if donors is not None:
            of_donors = self.native[donors.reshape(len(rows), -1), columns]
            if values is None:
                X[:, columns] = of_donors
                return X
            values = np.where(donors < 0, values, of_donors)
        if X.dtype.kind in "biu":  # an integer column moved to 0.25 stays 0.25
            X = X.astype(np.float64)
        X[:, columns] = values
        return X

    def moved_together(self, moves):
        return np.concatenate([self.moved(*move) for move in moves])

    def beside_copies(self, orders):
        copies = [self.native[order, j] for j, order in orders]
        return ArrayTable(np.column_stack([self.native, *copies]))

    def held(self, donors, source):
        columns, rows = list(donors), list(donors.values())
        constants = source.native[rows, columns]
        X = self.native.astype(np.result_type(self.native, constants))
        X[:, columns] = constants
        return ArrayTable(X)

    def numeric(self):
        if self.native.dtype.kind in "fbiu":
            return np.asarray(self.native, dtype=np.float64)
        return super().numeric()


class SparseTable(Table):
    """A SciPy sparse matrix or array; rows are handed out in the format given."""

    @cached_property
    def _csr(self):
        """X by rows; X itself if it is CSR."""
        return self.native.tocsr()

    def _sliced(self):
        """X in a format that can be sliced, without a copy if there is one."""
        return self.native if self.native.format == "csc" else self._csr

    @cached_property
    def csc(self):
        """X by columns; X itself if it is CSC without duplicates."""
        if self.native.format == "csc" and self.native.has_canonical_format:
            return self.native
        csc = self._csr.tocsc()
        csc.sum_duplicates()
        return csc

    def copy(self):
        return self.native.copy()

    def take(self, rows):
        return SparseTable(self._like(self._sliced()[rows]))

    def select(self, columns):
        return SparseTable(self._like(self._sliced()[:, columns]))

    def column(self, j):
        csc = self.csc
        start, stop = csc.indptr[j], csc.indptr[j + 1]
        column = np.zeros(self.n_samples, dtype=csc.dtype)
        column[csc.indices[start:stop]] = csc.data[start:stop]
        return column

    def moved(self, rows, columns, donors=None, values=None):
        columns = np.asarray(columns)
        if donors is not None:
            each = np.broadcast_to(donors.T, (len(columns), len(rows)))
            found = np.stack([self.column(j)[d] for j, d in zip(columns, each)], axis=1)
            values = found if values is None else np.where(donors < 0, values, found)
        X = self._csr[rows]
        keep = ~np.isin(X.indices, columns)
        kept = np.concatenate([[0], np.cumsum(keep)])[X.indptr]
        m, member = np.nonzero(values)
        new = type(X)((values[m, member], (m, columns[member])), shape=X.shape)
        X = type(X)((X.data[keep], X.indices[keep], kept), shape=X.shape)
        return self._like(X + new)

    def moved_together(self, moves):
        return self._like(sparse.vstack([self.moved(*move) for move in moves]))

    def beside_copies(self, orders):
        copies = self.csc[:, [j for j, _ in orders]]
        place = np.empty(self.n_samples, dtype=np.intp)
        for (_, order), start, end in zip(orders, copies.indptr, copies.indptr[1:]):
            place[order] = np.arange(len(order))
            copies.indices[start:end] = place[copies.indices[start:end]]
        copies.has_sorted_indices = False
        copies.sort_indices()
        return SparseTable(self._like(sparse.hstack([self.csc, copies], format="csc")))

    def held(self, donors, source):
        others = np.setdiff1d(np.arange(self.n_columns), list(donors))
        ones = np.ones(len(others), dtype=self.native.dtype)
        square = self.n_columns, self.n_columns
        row = np.zeros((1, self.n_columns), dtype=source.native.dtype)
        for j, donor in donors.items():
            row[0, j] = source.column(j)[donor]
        constants = sparse.csr_array(row)[np.zeros(self.n_samples, dtype=np.intp)]
        keep = sparse.csr_array((ones, (others, others)), shape=square)
        kept = sparse.csr_array(self._csr) @ keep
        return SparseTable(self._like(type(self._csr)(kept + constants)))

    def _like(self, X):
        """Give a matrix the format of X, index type included (some models insist).

        Diagonals (DIA) become CSR: rows taken here and there have as many diagonals
        as entries, each as long as a row.
        """
        form = self.native.format
        X = X.asformat("csr" if form == "dia" else form)
        index_type = self._sliced().indices.dtype
        if X.format == "coo":
            X.coords = tuple(c.astype(index_type, copy=False) for c in X.coords)
        for part in ("indices", "indptr"):
            if hasattr(X, part):
                setattr(X, part, getattr(X, part).astype(index_type, copy=False))
        return X

    def numeric(self):
        return self.csc.astype(np.float64, copy=False)

    def stored(self):
        X = self.csc
        if np.any(X.data == 0):
            X = X.copy()
            X.eliminate_zeros()
        counts, rows = np.diff(X.indptr).astype(np.int64), X.indices.astype(np.int64)
        yield counts, rows, X.data.astype(np.float64)


def column_blocks(X):
    """Pairs of a slice of columns and X[:, columns] as a dense array."""
    n_samples, n_features = X.shape
    for columns in slices(n_features, n_samples):
        yield columns, dense(X[:, columns])


def row_blocks(X, elements_per_row=None):
    """Pairs of a slice of rows and X[rows] as a dense array.

    Parameters
    ----------
    X : {ndarray, CSR} of shape (n_samples, n_features)
    elements_per_row : int, default=None
        What each row costs in the caller's own arrays. None: n_features.
    """
    n_samples, n_features = X.shape
    for rows in slices(n_samples, elements_per_row or n_features):
        yield rows, dense(X[rows])


def dense(array):
    """Numbers that may be sparse, as a float64 array."""
    array = array.toarray() if sparse.issparse(array) else array
    return np.asarray(array, dtype=np.float64)
