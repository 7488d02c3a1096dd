"""X in the user's own container, seen as rows to take and columns to move.

The only place that knows about frames and sparse formats. Frames go through
narwhals, which scikit-learn brings along.
"""

import numpy as np
from scipy import sparse

from skvarimp._data.entries import column_names
from skvarimp._data.validation import as_array
from skvarimp._data.values import (
    factorized,
    is_categorical_dtype,
    is_missing,
    numbers_if_possible,
)
from skvarimp._models.native_boosters import check_no_container


def as_table(X):
    """Wrap X: array, pandas or polars frame, SciPy sparse matrix or array."""
    if isinstance(X, Table):
        return X
    if sparse.issparse(X):
        return SparseTable(X)
    if hasattr(X, "collect_schema") and hasattr(X, "collect"):
        raise TypeError(
            f"X must be a frame in memory, got a {type(X).__name__}. Pass X.collect()."
        )
    if hasattr(X, "columns") and (hasattr(X, "dtypes") or hasattr(X, "schema")):
        return FrameTable(X)
    check_no_container(X)
    values = as_array(X, "X")
    if values.ndim != 2:
        what, way_out = f"{values.ndim} dimension(s)", "Pass an array or a frame."
        if values.ndim == 0:
            what = f"{X!r:.40} of type {type(X).__name__}"
        elif hasattr(X, "to_frame"):
            what, way_out = f"a {type(X).__name__}", "Pass X.to_frame(), or X[[name]]."
        elif values.ndim == 1:
            way_out = "Reshape one column with X.reshape(-1, 1)."
        raise ValueError(
            f"X must be 2-dimensional, (n_samples, n_features), got {what}. {way_out}"
        )
    return ArrayTable(values)


def checked_frame(X):
    """Whether X is a frame; raises as `as_table` does where one cannot be used."""
    is_frame = hasattr(X, "collect") or hasattr(X, "columns")
    if is_frame:
        as_table(X)
    return is_frame


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

    def column_names(self):
        """Names of the columns, `x0, x1, ...` where there are none."""
        return column_names(self.names, self.n_columns)

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

    def is_categorical(self, j):
        """Whether column j is boolean, categorical or not a number."""
        return is_categorical_dtype(self.column(j))

    def has_order(self, j):
        """Whether the values of column j have an order: numbers, dates, booleans, or
        categories whose type declares one.
        """
        return self.column(j).dtype.kind in "fiubM"

    def takes_numbers(self, j):
        """Whether column j is stored as numbers, so that it can be set to any."""
        return self.native.dtype.kind in "fiu"

    def numeric(self):
        """X as float64, array or CSC of shape (n_samples, n_columns); None if not."""

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

    def take(self, rows):
        """See `Table.take`."""
        return ArrayTable(self.native[rows])

    def select(self, columns):
        """See `Table.select`."""
        X = self.native
        rows_first = X.flags.c_contiguous  # then so is the result; else `take` copies X
        return ArrayTable(X.take(columns, axis=1) if rows_first else X[:, columns])

    def part(self, rows, columns):
        """See `Table.part`: one copy, of no more than is asked for."""
        if len(columns) == self.n_columns:
            return self.take(rows)
        return ArrayTable(self.native[np.ix_(rows, columns)])

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

    def numeric(self):
        """See `Table.numeric`."""
        if self.native.dtype.kind in "fbiu":
            return np.asarray(self.native, dtype=np.float64)
        return None


class SparseTable(Table):
    """A SciPy sparse matrix or array; rows are handed out in the format given."""

    def __init__(self, native):
        if native.ndim != 2:
            raise ValueError(
                f"X must be 2-dimensional, got {native.ndim} dimension(s)."
            )
        super().__init__(native)
        self._rows = self._csc = None

    def __getstate__(self):
        return {**self.__dict__, "_rows": None, "_csc": None}

    @property
    def _csr(self):
        """X by rows, made once; X itself if it is CSR."""
        if self._rows is None:
            self._rows = self.native.tocsr()
        return self._rows

    def _sliced(self):
        """X in a format that can be sliced, without a copy if there is one."""
        return self.native if self.native.format == "csc" else self._csr

    def csc(self):
        """X by columns, made once; X itself if it is CSC without duplicates."""
        if self._csc is None:
            native = self.native
            if native.format == "csc" and native.has_canonical_format:
                return native
            self._csc = self._csr.tocsc()
            self._csc.sum_duplicates()
        return self._csc

    def take(self, rows):
        """See `Table.take`."""
        return SparseTable(self._like(self._sliced()[rows]))

    def select(self, columns):
        """See `Table.select`."""
        return SparseTable(self._like(self._sliced()[:, columns]))

    def column(self, j):
        """See `Table.column`."""
        csc = self.csc()
        start, stop = csc.indptr[j], csc.indptr[j + 1]
        column = np.zeros(self.n_samples, dtype=csc.dtype)
        column[csc.indices[start:stop]] = csc.data[start:stop]
        return column

    def moved(self, rows, columns, donors=None, values=None):
        """See `Table.moved`."""
        columns = np.asarray(columns)
        if donors is not None:
            values = np.column_stack([self.column(j)[donors] for j in columns])
        X = self._csr[rows]
        keep = ~np.isin(X.indices, columns)
        kept = np.concatenate([[0], np.cumsum(keep)])[X.indptr]
        m, member = np.nonzero(values)
        new = type(X)((values[m, member], (m, columns[member])), shape=X.shape)
        X = type(X)((X.data[keep], X.indices[keep], kept), shape=X.shape)
        return self._like(X + new)

    def _like(self, X):
        """In the format of X as given, index type included (some models insist).

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
        """See `Table.numeric`."""
        return self.csc().astype(np.float64, copy=False)


class FrameTable(Table):
    """A pandas, polars or other frame that narwhals knows."""

    def __init__(self, native):
        import narwhals.stable.v2 as nw

        labels = _labels_of(native)
        if len(set(labels)) < len(labels):
            twice = next(c for c in labels if labels.count(c) > 1)
            raise ValueError(
                f"X has the column name {twice!r} more than once. Rename the columns "
                "so that each name is unique."
            )
        super().__init__(native)
        self._given_labels = None
        if all(isinstance(label, str) for label in labels):
            self.names = labels
        else:  # pandas' numbered columns: named inside, handed out as they came
            self._given_labels, labels = native.columns, self.column_names()
            native = native.set_axis(labels, axis=1)
        self.frame = nw.from_native(native, eager_only=True)
        self._labels = labels

    def _handed_out(self, frame, columns=slice(None)):
        """A native frame with the labels X came with."""
        native = frame.to_native()
        if self._given_labels is None:
            return native
        return native.set_axis(self._given_labels[columns], axis=1)

    def take(self, rows):
        """See `Table.take`."""
        return FrameTable(self._handed_out(self._rows(self.frame, np.asarray(rows))))

    def select(self, columns):
        """See `Table.select`."""
        frame = self.frame[:, np.asarray(columns).tolist()]
        return FrameTable(self._handed_out(frame, columns))

    @staticmethod
    def _rows(frame, rows):
        if rows.dtype == bool:
            rows = np.flatnonzero(rows)
        return frame[rows]

    def column(self, j):
        """See `Table.column`."""
        series = self.frame[self._labels[j]]
        if series.dtype.is_numeric():
            if series.dtype.is_integer() and not series.null_count():
                return np.asarray(series.to_numpy())
            return _as_float(series)
        if str(series.dtype) == "Boolean" and not series.null_count():
            return np.asarray(series.to_numpy())
        return numbers_if_possible(np.array(series.to_list(), dtype=object))

    def _factorized(self, j):
        """Levels in the order that the column's type declares, where it does."""
        import narwhals.stable.v2 as nw

        series = self.frame[self._labels[j]]
        declares = (nw.Enum, nw.Categorical) if _is_pandas(self.frame) else nw.Enum
        levels = None
        if isinstance(series.dtype, declares):
            levels = series.cat.get_categories().to_list()
        return factorized(self.column(j), levels)

    def has_order(self, j):
        """See `Table.has_order`."""
        import narwhals.stable.v2 as nw

        series = self.frame[self._labels[j]]
        kind = series.dtype
        if isinstance(kind, nw.Enum | nw.Categorical):
            return nw.is_ordered_categorical(series)
        return kind.is_numeric() or kind.is_temporal() or kind == nw.Boolean

    def takes_numbers(self, j):
        """See `Table.takes_numbers`."""
        return self.frame[self._labels[j]].dtype.is_numeric()

    def is_categorical(self, j):
        """See `Table.is_categorical`."""
        return not self.frame[self._labels[j]].dtype.is_numeric()

    def moved(self, rows, columns, donors=None, values=None):
        """See `Table.moved`."""
        import narwhals.stable.v2 as nw

        frame = _fresh_index(self._rows(self.frame, rows))
        replaced = []
        for member, j in enumerate(columns):
            label = self._labels[j]
            if donors is not None:
                source = self._rows(self.frame.select(label), donors)
                replaced.append(_fresh_index(source)[label])
            else:
                numbers = np.ascontiguousarray(values[:, member])
                replaced.append(
                    nw.new_series(label, numbers, backend=self.frame.implementation)
                )
        return self._handed_out(frame.with_columns(*replaced))

    def numeric(self):
        """See `Table.numeric`."""
        columns = [self.column(j) for j in range(self.n_columns)]
        if any(c.dtype.kind not in "fbiu" for c in columns):
            return None
        return np.column_stack(columns).astype(np.float64, copy=False)


def _labels_of(native):
    """Names of a frame's columns; an Arrow table's `columns` are the data."""
    is_arrow = type(native).__module__.startswith("pyarrow")
    return list(native.column_names if is_arrow else native.columns)


def _is_pandas(frame):
    """Categories of pandas have an order of their own; others that of the rows."""
    return frame.implementation.is_pandas()


def _fresh_index(frame):
    """Forget pandas' row labels, so that columns are put together by position."""
    import narwhals.stable.v2 as nw

    return nw.maybe_reset_index(frame)


def _as_float(series):
    """Numbers as float64 with nulls as NaN."""
    if series.null_count():
        values = series.to_list()
        return np.array([np.nan if is_missing(v) else float(v) for v in values])
    return np.asarray(series.to_numpy(), dtype=np.float64)
