"""`Table`, what every container can do, and tables of arrays."""

from collections.abc import Hashable
from contextlib import suppress
from functools import cached_property

import numpy as np
from scipy import sparse

from skvarimp._running.memory import CACHE, HELD, Memo, slices


def column_names(names, n_columns):
    """The names of X's columns, `x0, x1, ...` where it has none."""
    return list(names) if names is not None else [f"x{j}" for j in range(n_columns)]


class LabelTexts(list):
    """Texts of column labels that are not all strings, which stand for names.

    Attributes
    ----------
    labels : list
        The labels.
    """

    def __init__(self, labels):
        super().__init__(map(str, labels))
        self.labels = list(labels)

    @property
    def are_positions(self):
        """Whether integers mean the same as labels and as positions."""
        return self.labels == list(range(len(self.labels)))


class Table:
    """What every container can do.

    Attributes
    ----------
    native : object
        X as the user passed it (lists as arrays); never written to.
    names : list of str or None
        Column names; `LabelTexts` of labels that are not all strings.
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

    def types(self):
        """Types of the columns, as the library of X calls them."""
        return [self.native.dtype] * self.n_columns

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

    def is_integer(self, j):
        """Whether column j is stored as whole numbers, so that it holds no others."""
        return self.column(j).dtype.kind in "iu"

    def has_nulls(self, j):
        """Whether column j misses values in a way that no number can stand for."""
        return False

    def storable(self, j, values):
        """Numbers as column j would hold them, float64: single precision rounds."""
        if self.native.dtype.kind != "f":
            return values
        return values.astype(self.native.dtype).astype(np.float64)

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

    def ascending(self, j):
        """The values of a numeric column in ascending order, missing ones last."""
        return self._ascending.get(j, lambda: np.sort(self.column(j)))

    @cached_property
    def _ascending(self):
        return Memo(most=np.inf, most_bytes=8 * HELD)


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
        X = self.native  # `take` is faster, but copies X where its rows lie apart
        X = X.take(rows, axis=0) if X.flags.c_contiguous else X[rows]
        if donors is not None:
            of_donors = self.native[donors.reshape(len(rows), -1), columns]
            if values is None:
                X[:, columns] = of_donors
                return X
            values = np.where(donors < 0, values, of_donors)
        if X.dtype.kind in "biu":
            values = stored_as(values, X.dtype)
            X = X.astype(values.dtype, copy=False)
        X[:, columns] = values
        return X

    def has_levels(self, j):
        return super().has_levels(j) or are_booleans(self.native[:, j])

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


def dense(array):
    """Numbers that may be sparse, as a float64 array."""
    array = array.toarray() if sparse.issparse(array) else array
    return np.asarray(array, dtype=np.float64)


def numbers_if_possible(values):
    """Object columns that hold only numbers, as numbers; missing values become NaN."""
    if values.dtype.kind != "O":
        return values
    types = set(map(type, values.flat))
    if types <= {bool, np.bool_}:
        return values.astype(bool)
    if types <= {int, np.int64, np.int32}:
        with suppress(OverflowError):  # as float64 those beyond 2**53 would collapse
            return values.astype(np.int64)
    if any(issubclass(t, str | bytes) for t in types):
        return values
    with suppress(TypeError, ValueError):
        return values.astype(np.float64)
    with suppress(TypeError, ValueError):  # missing values such as pandas.NA
        return np.array([np.nan if is_missing(v) else float(v) for v in values])
    return values


def are_booleans(values):
    """Whether values are objects: True and False, of which some may be missing."""
    if values.dtype.kind != "O":
        return False
    present = {type(value) for value in values.flat if not is_missing(value)}
    return bool(present) and present <= {bool, np.bool_}


def stored_as(values, dtype):
    """Numbers in a type; in float64 where a type of whole numbers cannot hold them."""
    if dtype.kind == "f":
        return values.astype(dtype)
    with np.errstate(invalid="ignore"):
        stored = values.astype(dtype)
    return stored if np.array_equal(stored, values) else values.astype(np.float64)


def is_missing(value):
    """Whether a value of any type is None or NaN (or a frame's own null)."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA refuses to be a truth value
        return True


def is_constant(column):
    """Whether all values of a column, (n_rows,), are equal, or all are missing."""
    if column.dtype.kind == "O":
        first = column[0]
        if is_missing(first):
            return all(map(is_missing, column))
        return not any(is_missing(value) or value != first for value in column)
    same = (column == column[0]) | ((column != column) & (column[0] != column[0]))
    return bool(same.all())


def begins_value(ordered):
    """Where sorted values begin a new one; missing values, the last, are one.

    Parameters
    ----------
    ordered : ndarray of shape (..., n_samples)

    Returns
    -------
    ndarray of shape (..., n_samples), bool
    """
    begins = np.ones(ordered.shape, dtype=bool)
    before, after = ordered[..., :-1], ordered[..., 1:]
    begins[..., 1:] = (after != before) & (before == before)  # NaN equals nothing
    return begins


def spread_over(n, at_most):
    """Some of n positions, the first and the last among them, as even as possible."""
    n_taken = min(n, at_most)
    return np.arange(n_taken) * (n - 1) // max(n_taken - 1, 1)


def side_by_side(columns, n_rows):
    """One column itself; others as one array, of objects unless all are numbers."""
    if len(columns) == 1:
        return columns[0]
    numeric = all(c.dtype.kind in "fbiu" for c in columns)
    values = np.empty((n_rows, len(columns)), dtype=np.float64 if numeric else object)
    for j, column in enumerate(columns):
        values[:, j] = column
    return values


def factorized(values, levels=None):
    """Codes and first positions of the distinct values; missing values are one.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
    levels : list or None
        The order of values that are not numbers. None sorts them by their text, so
        that results do not depend on the order of the rows.

    Returns
    -------
    codes : ndarray of shape (n_samples,)
        Number of each row's value; missing values come last.
    first : ndarray of shape (n_values,)
        The first row that holds each value.
    """
    if values.dtype.kind != "O":
        order = np.argsort(values)
        begins = begins_value(values[order])
        codes = np.empty(len(values), dtype=np.intp)
        codes[order] = np.cumsum(begins) - 1
        return codes, np.minimum.reduceat(order, np.flatnonzero(begins))
    keys = values.tolist()
    if bool in set(map(type, keys)):  # True equals 1 in Python, but is another level
        keys = [(type(value) is bool, value) for value in keys]
    try:
        number = {key: k for k, key in enumerate(dict.fromkeys(keys))}
    except TypeError:
        odd = next((v for v in values if not isinstance(v, Hashable)), values[0])
        raise TypeError(
            f"X has a column of values that cannot be compared, such as {odd!r:.40}. "
            "Make numbers, strings or tuples of them, or leave it out of `features`."
        ) from None
    codes = np.fromiter(map(number.__getitem__, keys), np.intp, len(keys))
    first = np.unique(codes, return_index=True)[1]
    missing = np.array([is_missing(v) for v in values[first]], dtype=bool)
    place = {level: k for k, level in enumerate(levels or ())}

    def position(k):
        value = values[first[k]]
        return place.get(value, len(place)), str(value)

    present = sorted(np.flatnonzero(~missing), key=position)
    rank = np.full(len(first), len(present))  # missing values are one, the last
    rank[present] = np.arange(len(present))
    return rank[codes], np.concatenate([first[present], first[missing][:1]])


def numbered(counts):
    """Say of counts[0] + counts[1] + ... items whose each is, and which of its own."""
    whose = np.arange(len(counts)).repeat(counts)
    return whose, np.arange(len(whose)) - (np.cumsum(counts) - counts).take(whose)


def is_single(*parameters):
    """Whether any of some arrays or sparse matrices is in single precision."""
    return any(p.dtype.kind == "f" and p.dtype.itemsize <= 4 for p in parameters)
