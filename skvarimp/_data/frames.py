"""Frames: those that X came in, and tables of results in the same library."""

from functools import cached_property

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from skvarimp._data.base_table import ArrayTable, Table, factorized, numbers_if_possible


class FrameTable(Table):
    """A frame of named columns.

    A frame whose columns are numbers of one type is an array with names: it is
    converted once, and moved rows are put into a frame once per call of the model.
    """

    _given_labels = None

    def __init__(self, native):
        self.frame = _in_memory(native)
        self._labels = list(self.frame.columns)
        super().__init__(native)
        self.library = frame_library(native)
        if all(isinstance(label, str) for label in self._labels):
            self.names = self._labels
        else:  # pandas' numbered columns: named inside, handed out as they came
            self._given_labels, self._labels = native.columns, self.column_names()
            self.frame = _in_memory(native.set_axis(self._labels, axis=1))

    @cached_property
    def _array(self):
        """X as one array, where its columns are numbers of one type; else None."""
        types = set(self.types())
        if len(types) != 1 or not self._dtypes[0].is_numeric():
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
        """Types of the columns, as the frame's library calls them."""
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
        # Categories of pandas have an order of their own, others that of the rows.
        is_pandas = self.frame.implementation.is_pandas_like()
        levels = None
        if isinstance(dtype, (nw.Enum, nw.Categorical) if is_pandas else nw.Enum):
            levels = series.cat.get_categories().to_list()
        elif dtype == nw.Duration:  # the text of others is in their order
            levels = series.drop_nulls().unique().sort().to_list()
        return factorized(self.column(j), levels)

    def has_levels(self, j):
        if j in self._numbers:
            return False
        unsaid = self._dtypes[j] in (nw.Object, nw.Unknown)
        return super().has_levels(j) if unsaid else True

    def is_date(self, j):
        return self._dtypes[j].is_temporal()

    def has_order(self, j):
        if j in self._numbers:
            return True
        if isinstance(self._dtypes[j], nw.Enum | nw.Categorical):
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
                if of_column is not None and np.all(of_column >= 0):
                    source[part] = of_column
                else:
                    own = values[:, member]
                    if self.takes_numbers(j):  # beside levels they are objects
                        own = own.astype(np.float64, copy=False)
                    given.setdefault(j, []).append((part, own))
        parts = []  # frames to be put side by side
        for j, source in sources.items():
            label = self._labels[j]
            if j not in given:
                parts.append(self._rows(self.frame.select(label), source))
                continue
            numbers = np.ascontiguousarray(given[j][0][1])
            if len(numbers) < len(rows):  # the column stays in other moves
                numbers = self.column(j)[source].astype(np.float64)
                for part, values in given[j]:
                    numbers[part] = values
            parts.append(nw.new_series(label, numbers, backend=library).to_frame())
        if len(parts) < self.n_columns:
            others = self.frame.drop([self._labels[j] for j in sources])
            parts.append(self._rows(others, rows))
        # Pandas is slow at setting columns of a wide frame, and fast at putting frames
        # side by side: without its row labels, so that rows meet by position.
        parts = [nw.maybe_reset_index(part) for part in parts]
        frame = nw.concat(parts, how="horizontal")
        return self.handed_out(frame.select(self._labels))

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
        if self.names is None:  # labels that are no strings stay of one type
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


def _double(values):
    """Integers as they are, other numbers as float64."""
    if values.dtype.kind in "iu":
        return values
    return values.astype(np.float64, copy=False)


def _present(series):
    """Which values are not null, and these as an array."""
    present = ~series.is_null()
    return present.to_numpy(), np.asarray(series.filter(present).to_numpy())


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
