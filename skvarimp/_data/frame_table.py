"""`FrameTable`: pandas, polars and Arrow tables, and whatever else narwhals knows."""

from functools import cached_property

import narwhals.stable.v2 as nw
import numpy as np

from skvarimp._data.base_table import ArrayTable, Table
from skvarimp._data.values import (
    factorized,
    is_categorical_dtype,
    numbers_if_possible,
)


class FrameTable(Table):
    """A frame of named columns.

    A frame whose columns are numbers of one type is an array with names: it is
    converted once, and moved rows are put into a frame once per call of the model.
    """

    def __init__(self, native):
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
        self.frame = _in_memory(native)
        self._labels = labels

    def __getstate__(self):
        made_again = {"_dtypes", "_array", "_numbers"}
        return {k: v for k, v in self.__dict__.items() if k not in made_again}

    @cached_property
    def _dtypes(self):
        return list(self.frame.schema.values())

    @cached_property
    def _array(self):
        """X as one array, where its columns are numbers of one type; else None."""
        dtypes = set(self._dtypes)
        if len(dtypes) > 1 or not all(dtype.is_numeric() for dtype in dtypes):
            return None
        values = self.frame.to_numpy()
        if self.frame.implementation.is_pandas_like():
            types = set(self.frame.to_native().dtypes)
            kept = all(isinstance(dtype, np.dtype) for dtype in types)
        else:  # an array does not keep nulls apart from NaN
            nulls = values.dtype.kind == "f" and np.isnan(values.sum())
            kept = not nulls or not self._null_counts().any()
        return values if kept and values.dtype.kind in "fiu" else None

    def _null_counts(self):
        return self.frame.select(nw.all().null_count()).to_numpy()

    @cached_property
    def _numbers(self):
        """Position -> values of the columns of numbers, by one conversion per type."""
        of_type, numbers = {}, {}
        for j, dtype in enumerate(self._dtypes):
            if dtype.is_numeric():
                of_type.setdefault(dtype, []).append(j)
        for dtype, columns in of_type.items():
            alone = len(columns) == self.n_columns
            block = (self.frame if alone else self.frame[:, columns]).to_numpy()
            if block.dtype.kind == "f" and not dtype.is_integer():
                numbers.update(zip(columns, block.astype(np.float64, copy=False).T))
            elif block.dtype.kind in "iu":
                numbers.update(zip(columns, block.T))
            else:  # integers, some of them null, or decimals
                numbers.update((j, _numbers_of(self._series(j))) for j in columns)
        return numbers

    def _series(self, j):
        return self.frame[self._labels[j]]

    def _handed_out(self, frame, columns=slice(None)):
        """A native frame with the labels X came with."""
        native = frame.to_native()
        if self._given_labels is None:
            return native
        return native.set_axis(self._given_labels[columns], axis=1)

    @staticmethod
    def _rows(frame, rows):
        rows = np.asarray(rows)
        return frame[np.flatnonzero(rows) if rows.dtype == bool else rows]

    def take(self, rows):
        """See `Table.take`."""
        return FrameTable(self._handed_out(self._rows(self.frame, rows)))

    def select(self, columns):
        """See `Table.select`."""
        frame = self.frame[:, np.asarray(columns).tolist()]
        return FrameTable(self._handed_out(frame, columns))

    def column(self, j):
        """See `Table.column`."""
        if self._dtypes[j].is_numeric():
            return self._numbers[j]
        series = self._series(j)
        if self._dtypes[j] == nw.Boolean:
            return _numbers_of(series) if series.null_count() else series.to_numpy()
        if self._dtypes[j] == nw.Unknown:  # such as pandas' sparse columns
            values = np.asarray(series.to_numpy())
            if not is_categorical_dtype(values) or values.dtype.kind == "b":
                return values
        values = np.fromiter(series.to_list(), dtype=object, count=self.n_samples)
        return numbers_if_possible(values)

    def _factorized(self, j):
        """Levels in the order that the column's type declares, where it does."""
        dtype, series = self._dtypes[j], self._series(j)
        if dtype.is_integer() and self._numbers[j].dtype.kind == "f":
            return _factorized_integers(series)
        # Categories of pandas have an order of their own, others that of the rows.
        is_pandas = self.frame.implementation.is_pandas_like()
        levels = None
        if isinstance(dtype, (nw.Enum, nw.Categorical) if is_pandas else nw.Enum):
            levels = series.cat.get_categories().to_list()
        return factorized(self.column(j), levels)

    def is_categorical(self, j):
        """See `Table.is_categorical`."""
        if self._dtypes[j] in (nw.Object, nw.Unknown):  # the type does not say
            return super().is_categorical(j)
        return not self._dtypes[j].is_numeric()

    def has_order(self, j):
        """See `Table.has_order`."""
        series = self._series(j)
        if isinstance(series.dtype, nw.Enum | nw.Categorical):
            return nw.is_ordered_categorical(series)
        return series.dtype.is_temporal() or super().has_order(j)

    def takes_numbers(self, j):
        """See `Table.takes_numbers`."""
        return not self.is_categorical(j)

    def moved(self, rows, columns, donors=None, values=None):
        """See `Table.moved`."""
        return self.moved_together([(rows, columns, donors, values)])

    def moved_together(self, moves):
        """See `Table.moved_together`."""
        among_donors = all(donors is not None for _, _, donors, _ in moves)
        if self._array is not None and (among_donors or self._array.dtype == float):
            return self._framed(ArrayTable(self._array).moved_together(moves))
        rows = np.concatenate([own for own, _, _, _ in moves])
        sources, given, start = {}, {}, 0
        for own, columns, donors, values in moves:
            part = slice(start, start + len(own))
            start = part.stop
            for member, j in enumerate(columns):
                source = sources.setdefault(j, rows.copy())
                if donors is not None:
                    source[part] = donors
                else:
                    given.setdefault(j, []).append((part, values[:, member]))
        moved = {}
        for j, source in sources.items():
            if j not in given:
                moved[j] = self._rows(self.frame.select(self._labels[j]), source)
                continue
            numbers = self.column(j)[source].astype(np.float64)
            for part, values in given[j]:
                numbers[part] = values
            moved[j] = nw.from_dict(
                {self._labels[j]: numbers}, backend=self.frame.implementation
            )
        return self._with_columns(rows, moved)

    def _framed(self, array):
        """An array as a frame of X's library with X's labels."""
        library = self.frame.implementation
        return self._handed_out(nw.from_numpy(array, self._labels, backend=library))

    def _with_columns(self, rows, moved):
        """The rows with some columns, position -> frame of one column, replaced.

        Pandas is slow at setting columns of a wide frame, and fast at putting frames
        side by side.
        """
        parts = list(moved.values())
        if len(moved) < self.n_columns:
            others = self.frame.drop([self._labels[j] for j in moved])
            parts.append(self._rows(others, rows))
        # without pandas' row labels, so that rows meet by position
        parts = [nw.maybe_reset_index(part) for part in parts]
        frame = nw.concat(parts, how="horizontal")
        return self._handed_out(frame.select(self._labels))

    def numeric(self):
        """See `Table.numeric`."""
        if self._array is not None:
            return self._array.astype(np.float64, copy=False)
        return super().numeric()


def _labels_of(native):
    """Names of a frame's columns; an Arrow table's `columns` are the data."""
    is_arrow = type(native).__module__.startswith("pyarrow")
    return list(native.column_names if is_arrow else native.columns)


def _in_memory(native):
    """The frame as narwhals sees it, or a TypeError with the way out."""
    kind = type(native)
    library, way_out = kind.__module__.partition(".")[0], "Pass a pandas frame of it."
    if hasattr(native, "collect"):
        way_out = "Pass X.collect()."
    elif hasattr(native, "compute"):
        way_out = "Pass X.compute()."
    elif kind.__name__ == "RecordBatch":
        way_out = "Pass pyarrow.Table.from_batches([X])."
    try:
        return nw.from_native(native, eager_only=True)
    except TypeError:
        raise TypeError(
            f"X must be a frame in memory, got a {kind.__name__} of {library}. "
            f"{way_out}"
        ) from None


def _numbers_of(series):
    """Integers without nulls as they are, other numbers as float64 with NaN."""
    if not series.dtype.is_integer() or series.null_count():
        series = series.cast(nw.Float64)
    return np.asarray(series.to_numpy())


def _factorized_integers(series):
    """`factorized` integers of which some are null: exact above 2**53 as well."""
    null = series.is_null().to_numpy()
    present = np.flatnonzero(~null)
    codes = np.empty(len(null), dtype=np.intp)
    values = series.filter(~series.is_null()).to_numpy()
    codes[present], first = factorized(np.asarray(values))
    codes[null] = len(first)
    return codes, np.append(present[first], np.flatnonzero(null)[0])
