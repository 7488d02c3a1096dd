"""Frames: those that X came in, and tables of results in the same library."""

import sys
from contextlib import suppress
from decimal import Decimal
from functools import cached_property

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from skvarimp._data.base_table import (
    ArrayTable,
    LabelTexts,
    Table,
    are_booleans,
    factorized,
    is_missing,
    numbers_if_possible,
)


class FrameTable(Table):
    """A frame of named columns.

    A frame whose columns are numbers of one type is an array with names: it is
    converted once, and moved rows are put into a frame once per call of the model.
    """

    _given_labels = None

    def __init__(self, native):
        native = without_views(native)
        self.frame = _in_memory(native)
        self._labels, self._kinds = list(self.frame.columns), {}
        super().__init__(native)
        self.library = frame_library(native)
        if all(isinstance(label, str) for label in self._labels):
            self.names = self._labels
        else:  # pandas' other labels: texts inside, handed out as they came
            texts = LabelTexts(native.columns.tolist())
            self.names = texts if len(set(texts)) == len(texts) else None
            self._given_labels, self._labels = native.columns, self.column_names()
            self.frame = _in_memory(native.set_axis(self._labels, axis=1))

    @cached_property
    def _array(self):
        """X as one array, where its columns are numbers of one type; else None."""
        types = set(self.types())
        if len(types) != 1 or not self._dtypes[0].is_numeric():
            return None
        if self._dtypes[0] in WIDE_INTEGERS:
            return None
        if not self._labels[0]:  # narwhals makes no frame of an array then
            return None
        if isinstance(types.pop(), np.dtype):
            return self.frame.to_numpy()
        if self.frame.implementation.is_pandas_like():
            return None  # an array would not keep pandas' extension types
        if self.frame.select(nw.all().null_count()).to_numpy().any():
            return None  # nor nulls apart from NaN
        values = self.frame.to_numpy()
        return values if values.dtype.kind in "fiu" else None

    @cached_property
    def _numbers(self):
        """Position -> values of the columns of numbers, by one conversion per type."""
        if self._array is not None:
            return dict(enumerate(_double(self._array).T))
        of_type, numbers = {}, {}
        for j, dtype in enumerate(self._dtypes):
            if dtype.is_numeric():
                of_type.setdefault(dtype, []).append(j)
        for dtype, columns in of_type.items():
            if dtype in WIDE_INTEGERS:
                numbers.update((j, _numbers_of(self._series(j))) for j in columns)
                continue
            block = self.frame[:, columns].to_numpy()
            exact = block.dtype.kind in ("iu" if dtype.is_integer() else "f")
            if exact:
                numbers.update(zip(columns, _double(block).T))
            else:  # integers, some of them null, or decimals
                numbers.update((j, _numbers_of(self._series(j))) for j in columns)
        return numbers

    @cached_property
    def _dtypes(self):
        """Types of the columns, as narwhals calls them; it asks the frame each time."""
        return list(self.frame.schema.values())

    def types(self):
        native = self.frame.to_native()
        return native.dtypes if hasattr(native, "dtypes") else native.schema.types

    def _series(self, j):
        return self.frame[self._labels[j]]

    def handed_out(self, frame, columns=slice(None)):
        """A native frame with the labels X came with."""
        native = frame.to_native()
        if self._given_labels is None:
            return native
        return native.set_axis(self._given_labels[columns], axis=1)

    @staticmethod
    def _rows(frame, rows):
        rows = np.asarray(rows)
        return frame[np.flatnonzero(rows) if rows.dtype == bool else rows]

    def copy(self):
        """Polars and Arrow, which write to nothing, copy nothing."""
        return self.handed_out(self.frame.clone())

    def take(self, rows):
        return FrameTable(self.handed_out(self._rows(self.frame, rows)))

    def select(self, columns):
        frame = self.frame[:, np.asarray(columns).tolist()]
        return FrameTable(self.handed_out(frame, columns))

    def column(self, j):
        if j in self._numbers:
            return self._numbers[j]
        series = self._series(j)
        if series.dtype == nw.Boolean:
            return _numbers_of(series) if series.null_count() else series.to_numpy()
        if series.dtype == nw.Unknown:  # such as pandas' sparse columns
            values = np.asarray(series.to_numpy())
            if values.dtype.kind in "fbiu":
                return values
        values = np.fromiter(series.to_list(), dtype=object, count=self.n_samples)
        return numbers_if_possible(values)

    def _factorized(self, j):
        """Levels in the order that the column's type declares, where it does."""
        series = self._series(j)
        dtype = series.dtype
        if dtype.is_integer() and self._numbers[j].dtype.kind == "f":
            return _factorized_integers(series)
        if dtype.is_float() and self.has_nulls(j):
            return _factorized_floats(self.column(j), series.is_null().to_numpy())
        # Categories of pandas have an order of their own, others that of the rows.
        is_pandas = self.library == "pandas"
        is_pandas &= hasattr(getattr(series.to_native(), "dtype", None), "categories")
        levels = None
        if isinstance(dtype, (nw.Enum, nw.Categorical) if is_pandas else nw.Enum):
            levels = series.cat.get_categories().to_list()
        elif dtype == nw.Duration:  # the text of others is in their order
            levels = series.drop_nulls().unique().sort().to_list()
        return factorized(self.column(j), levels)

    def has_levels(self, j):
        if j in self._numbers:
            return False
        if self._dtypes[j] not in (nw.Object, nw.Unknown):
            return True
        return self._kind(j) not in "fiu"

    def _kind(self, j):
        """NumPy's letter for the values of column j, whose type does not say it.

        "b" where they are True, False and missing ones.
        """
        if j not in self._kinds:
            values = self.column(j)
            objects = np.asarray(self._series(j).to_numpy())
            self._kinds[j] = "b" if are_booleans(objects) else values.dtype.kind
        return self._kinds[j]

    def has_nulls(self, j):
        series = self._series(j)
        is_numpy = isinstance(getattr(series.to_native(), "dtype", None), np.dtype)
        return not is_numpy and series.null_count() > 0

    def is_date(self, j):
        return self._dtypes[j].is_temporal()

    def has_order(self, j):
        if j in self._numbers:
            return True
        if isinstance(self._dtypes[j], nw.Enum | nw.Categorical):
            native = self._series(j).to_native()
            arrow = getattr(getattr(native, "dtype", None), "pyarrow_dtype", None)
            if arrow is not None:  # a dictionary in a frame of pandas
                return arrow.ordered
            return nw.is_ordered_categorical(self._series(j))
        return self.is_date(j) or super().has_order(j)

    def takes_numbers(self, j):
        return not self.has_levels(j)

    def moved_together(self, moves):
        library = self.frame.implementation
        among_donors = all(values is None for *_, values in moves)
        if self._array is not None and (among_donors or self._array.dtype == float):
            array = ArrayTable(self._array).moved_together(moves)
            schema = self._labels
            if not schema[0]:  # narwhals takes no list that begins with an empty name
                schema = dict.fromkeys(schema, self._dtypes[0])
            return self.handed_out(nw.from_numpy(array, schema, backend=library))
        rows = np.concatenate([own for own, _, _, _ in moves])
        sources, given, start = {}, {}, 0
        for own, columns, donors, values in moves:
            part = slice(start, start + len(own))
            start = part.stop
            for member, j in enumerate(columns):
                source = sources.setdefault(j, rows.copy())
                of_column = donors if np.ndim(donors) < 2 else donors[:, member]
                if of_column is None:
                    of_column = np.full(len(own), -1)
                source[part] = np.where(of_column >= 0, of_column, source[part])
                if np.any(of_column < 0):
                    put = given.setdefault(j, (np.zeros(len(rows), dtype=bool), []))
                    put[0][part] = of_column < 0
                    put[1].append(values[of_column < 0, member])
        parts = []  # frames to be put side by side
        for j, source in sources.items():
            if j in given:
                is_given, values = given[j][0], np.concatenate(given[j][1])
                parts.append(self._with_values(j, source, is_given, values))
            else:
                own = self.frame.select(self._labels[j])
                parts.append(self._rows(own, source))
        if len(parts) < self.n_columns:
            others = self.frame.drop([self._labels[j] for j in sources])
            parts.append(self._rows(others, rows))
        # Pandas is slow at setting columns of a wide frame, and fast at putting frames
        # side by side: without its row labels, so that rows meet by position.
        parts = [nw.maybe_reset_index(part) for part in parts]
        frame = nw.concat(parts, how="horizontal")
        return self.handed_out(frame.select(self._labels))

    def _with_values(self, j, source, is_given, values):
        """Column j, as a frame, of some rows, and of values that are put instead.

        Parameters
        ----------
        j : int
        source : ndarray of shape (n,)
            Rows that the column is taken from.
        is_given : ndarray of shape (n,), bool
            Where a value takes the place of that of the row.
        values : ndarray of shape (n_given,)
            Numbers (objects where the column holds none), put in this order.
        """
        label, library = self._labels[j], self.frame.implementation
        if self.takes_numbers(j):  # beside levels they are objects
            values = values.astype(np.float64, copy=False)
            distinct, number, typed = values, slice(None), None
            if not self._is_double(j):
                if not is_given.all() or self._is_slow(j):
                    distinct, number = np.unique(values, return_inverse=True)
                typed = self._typed(j, distinct)
            if typed is not None and len(typed) == len(source) and distinct is values:
                return typed.to_frame()
            if typed is not None:
                frame, start = typed.to_frame(), 0
                if not is_given.all():
                    own = nw.maybe_reset_index(self.frame.select(label))
                    frame, start = nw.concat([own, frame], how="vertical"), len(own)
                place = source.copy()
                place[is_given] = start + number
                return self._rows(frame, place)
        if not is_given.all():  # the column stays in other moves
            kept = self.column(j)[source].astype(values.dtype)
            kept[is_given] = values
            values = kept
        values = np.ascontiguousarray(values)
        return nw.new_series(label, values, backend=library).to_frame()

    def _is_double(self, j):
        """Whether column j is float64 that needs no type of its own for nulls."""
        if self.frame.implementation.is_pandas_like():
            return self._series(j).to_native().dtype == np.float64
        return self._dtypes[j] == nw.Float64 and not self._series(j).null_count()

    def _typed(self, j, values):
        """Numbers as a series of column j's own type, or None where it has not them."""
        own = self._series(j)
        native, of_objects = own.to_native(), self._dtypes[j] == nw.Object
        if self._is_decimal(j):
            items = [None if v != v else Decimal(repr(float(v))) for v in values]
        elif of_objects or self.is_integer(j):
            if not np.all((values == np.rint(values)) | np.isnan(values)):
                return None
            if of_objects and not self.is_integer(j):
                return None
            one_by_one = of_objects or self._dtypes[j] in WIDE_INTEGERS
            one_by_one |= np.isnan(values).any()
            items = values if one_by_one else values.astype(np.int64)
            if one_by_one:  # of Python's own type, with nulls
                items = [None if v != v else int(v) for v in values]
        else:
            items = values
        library = self.library
        with suppress(TypeError, ValueError, OverflowError, ArithmeticError):
            if library == "pandas":
                module = require_pandas()
                typed = module.Series(items, dtype=native.dtype, name=self._labels[j])
            elif library == "polars":
                module = sys.modules["polars"]
                typed = module.Series(self._labels[j], items, dtype=native.dtype)
            else:
                module = sys.modules["pyarrow"]
                typed = module.chunked_array([module.array(items, native.type)])
            return nw.from_native(typed, series_only=True).alias(self._labels[j])
        return None

    def _is_slow(self, j):
        """Whether values of column j are made one by one."""
        return self._dtypes[j] == nw.Object or self._dtypes[j].is_decimal()

    def _is_decimal(self, j):
        """Whether column j holds decimals, in a type of theirs or as objects."""
        if self._dtypes[j] != nw.Object:
            return self._dtypes[j].is_decimal()
        values = self._series(j).to_list()
        return all(isinstance(v, Decimal) for v in values if not is_missing(v))

    def is_integer(self, j):
        unsaid = self._dtypes[j] in (nw.Object, nw.Unknown)
        return self._kind(j) in "iu" if unsaid else self._dtypes[j].is_integer()

    def storable(self, j, values):
        """Single precision rounds, and so do decimals of a fixed number of digits."""
        if self._dtypes[j] == nw.Float32:
            return values.astype(np.float32).astype(np.float64)
        if self._dtypes[j].is_decimal():
            native = self._series(j).to_native()
            kind = getattr(native, "dtype", None) or native.type
            scale = getattr(getattr(kind, "pyarrow_dtype", kind), "scale", None)
            return values if scale is None else np.round(values, scale)
        return values

    def beside_copies(self, orders):
        """See `Table.beside_copies`.

        Names of copies start with "shuffled"; numbered columns get further numbers.
        """
        frame = nw.maybe_reset_index(self.frame)
        names, copies = set(frame.columns), []
        for j, order in orders:
            name = f"shuffled {self._labels[j]}"
            while name in names:
                name += "'"
            names.add(name)
            source = frame.select(self._labels[j])[order]
            copies.append(nw.maybe_reset_index(source)[self._labels[j]].alias(name))
        wide = frame.with_columns(*copies).to_native()
        if self._given_labels is not None:  # labels that are no strings stay of a type
            wide = wide.set_axis(range(wide.shape[1]), axis=1)
        return FrameTable(wide)

    def held(self, donors, source):
        parts = [
            source._rows(
                source.frame.select(self._labels[j]), np.full(self.n_samples, row)
            )
            for j, row in donors.items()
        ]
        if len(parts) < self.n_columns:
            parts.append(self.frame.drop([self._labels[j] for j in donors]))
        parts = [nw.maybe_reset_index(part) for part in parts]
        frame = nw.concat(parts, how="horizontal").select(self._labels)
        return FrameTable(self.handed_out(frame))

    def numeric(self):
        if self._array is not None:
            return self._array.astype(np.float64, copy=False)
        return super().numeric()


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
    except DuplicateError as error:
        raise ValueError(f"Columns of X share a name. {error}") from None
    except TypeError:
        raise TypeError(
            f"X must be a frame in memory, got a {kind.__name__} of {library}. "
            f"{way_out}"
        ) from None


# NumPy has no integers of 128 bits.
WIDE_INTEGERS = nw.Int128, nw.UInt128


def narrowed(series):
    """Integers of 128 bits in 64 bits where they have room, else rounded."""
    for dtype in (nw.Int64, nw.UInt64):
        if dtype.is_integer() and series.min() is None:
            return series.cast(dtype)
        limits = np.iinfo(np.int64 if dtype == nw.Int64 else np.uint64)
        if limits.min <= series.min() and series.max() <= limits.max:
            return series.cast(dtype)
    return series.cast(nw.Float64)


def without_views(native):
    """A frame with Arrow's strings in place of views of strings, or as it is.

    Arrow can neither take rows of views nor compare them.
    """
    arrow = sys.modules.get("pyarrow")
    if arrow is None or not hasattr(arrow, "string_view"):
        return native
    plain = {arrow.string_view(): arrow.string(), arrow.binary_view(): arrow.binary()}
    if isinstance(native, arrow.Table):
        for j, kind in enumerate(native.schema.types):
            if kind in plain:
                column = native.column(j).cast(plain[kind])
                native = native.set_column(j, native.schema.names[j], column)
        return native
    if type(native).__module__.partition(".")[0] != "pandas":
        return native
    types = enumerate(native.dtypes)
    kinds = {j: getattr(kind, "pyarrow_dtype", None) for j, kind in types}
    views = {j: plain[kind] for j, kind in kinds.items() if kind in plain}
    if not views:
        return native
    native = native.copy(deep=False)
    for j, kind in views.items():
        column = arrow.array(native.iloc[:, j].array).cast(kind)
        native.isetitem(j, require_pandas().arrays.ArrowExtensionArray(column))
    return native


def _double(values):
    """Integers as they are, other numbers as float64."""
    if values.dtype.kind in "iu":
        return values
    return values.astype(np.float64, copy=False)


def _present(series):
    """Which values are not null, and these as an array."""
    present = ~series.is_null()
    known = series.filter(present)
    if series.dtype in WIDE_INTEGERS:
        known = narrowed(known)
    return present.to_numpy(), np.asarray(known.to_numpy())


def _numbers_of(series):
    """Integers without nulls as they are, other numbers as float64 with NaN."""
    present, values = _present(series)
    if present.all() and series.dtype.is_integer():
        return values
    numbers = np.full(len(present), np.nan)
    numbers[present] = values
    return numbers


def _factorized_integers(series):
    """`factorized` integers of which some are null: exact above 2**53 as well."""
    present, values = _present(series)
    codes = np.empty(len(present), dtype=np.intp)
    codes[present], first = factorized(values)
    codes[~present] = len(first)
    return codes, np.append(np.flatnonzero(present)[first], np.argmin(present))


def _factorized_floats(values, null):
    """`factorized` numbers of which some are null; NaN is another value than null."""
    codes, first = factorized(values)
    none = np.isnan(values) & ~null
    if none.any():  # else the last value is null
        codes, first = codes.copy(), np.append(first, np.argmax(null))
        codes[null] = len(first) - 1
        first[-2] = np.argmax(none)
    return codes, first


def frame_library(native):
    """Library of the frames made for data in a container; pandas for arrays."""
    module = type(native).__module__.partition(".")[0]
    return module if module in {"pandas", "polars", "pyarrow"} else "pandas"


def feature_frame(feature_names, ranks, columns, library):
    """Table of the features, most important first.

    Parameters
    ----------
    feature_names : list of str
    ranks : ndarray of shape (n_features,)
        1 = most important.
    columns : dict
        Name -> ndarray of shape (n_features,), in the order of the names.
    library : {"pandas", "polars", "pyarrow"}
    """
    order = np.argsort(ranks, kind="stable")
    columns = {name: values[order] for name, values in columns.items()}
    return frame_of({"feature": [feature_names[e] for e in order]} | columns, library)


def frame_of(columns, library):
    """A frame of columns in a library, "pandas", "polars" or "pyarrow"."""
    if library == "pandas":
        return require_pandas().DataFrame(columns)
    import narwhals.stable.v2 as nw

    return nw.from_dict(columns, backend=library).to_native()


def require_pandas():
    """The pandas module, or an ImportError that says what needs it."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(
            "A table of importances is a pandas DataFrame. Install it with "
            "`pip install pandas`, or read `importances_` and `features_`."
        ) from None
    return pd
