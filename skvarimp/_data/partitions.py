"""`Partitions`: rows that stay where they are, in parts of a Dask collection."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from skvarimp._data.base_table import Table
from skvarimp._data.frame_table import FrameTable
from skvarimp._data.table import as_table, rows_of_target
from skvarimp._data.validation import check_length, check_target, check_weights
from skvarimp._running.in_partitions import binned_over, merged_over

HEAD_ROWS = 500  # that stand for the data where a few rows are enough


@dataclass
class Part:
    """The rows of one partition that have positive weight.

    Attributes
    ----------
    number : int
        Of the partition.
    table : Table
    y : object
        Their targets as given, or None.
    weights : ndarray of shape (n_rows,)
        As given, or ones.
    """

    number: int
    table: Table
    y: object
    weights: np.ndarray

    def target(self):
        """The targets as an array, validated; None where there are none."""
        return check_target(self.y, self.table.n_samples)


def as_rows(X, y=None, sample_weight=None, feature_names=None):
    """X as a `Table`, or `Partitions` of a Dask DataFrame or Array with y and weights.

    Parameters
    ----------
    X, y, sample_weight : object
        As the user passed them; `Partitions` have theirs.
    feature_names : sequence of str, default=None
        Names for the columns of an X that has none.
    """
    if isinstance(X, Partitions):
        return X
    if _is_dask(X) and hasattr(X, "to_delayed"):
        return Partitions(X, y, sample_weight, feature_names)
    return as_table(X, feature_names)


def _is_dask(value):
    return hasattr(value, "__dask_graph__")


class Partitions:
    """X, y and weights in partitions, fetched anew by each pass.

    Parameters
    ----------
    X : Dask DataFrame or Array of shape (n_samples, n_features)
    y : Dask DataFrame, Series or Array, default=None
        Partitioned as X.
    sample_weight : Dask Series or Array, default=None
        Partitioned as X.
    feature_names : sequence of str, default=None

    Attributes
    ----------
    head : Part
        A few rows of the first partition that has some.
    """

    def __init__(self, X, y=None, sample_weight=None, feature_names=None):
        self.feature_names = feature_names
        self._parts = _delayed(X, "X")
        self._chunks = getattr(X, "chunks", (None,))[0]
        aligned = [self._aligned(y, "y"), self._aligned(sample_weight, "sample_weight")]
        parts = zip(self._parts, *aligned)
        import dask

        gather = dask.delayed(_gathered, pure=False)
        self.delayed = [gather(p, *part) for p, part in enumerate(parts)]
        self.head, self._schema = self._first_rows()

    def _aligned(self, values, name):
        """The partitions of y or of the weights, as many as X has."""
        if values is None:
            return [None] * len(self._parts)
        if not _is_dask(values):
            raise TypeError(
                f"`{name}` must be a Dask collection with the partitions of X, got a "
                f"{type(values).__name__}. Make it a column of X's source, or use "
                "dask.array.from_array with X's chunks."
            )
        if self._chunks is not None and hasattr(values, "rechunk"):
            chunks = values.chunks[0]
            if sum(chunks) == sum(self._chunks):  # unknown lengths are NaN
                values = values.rechunk({0: self._chunks})
        parts = _delayed(values, name)
        if len(parts) != len(self._parts):
            raise ValueError(
                f"`{name}` has {len(parts)} partitions, but X has {len(self._parts)}. "
                "Repartition one of them, so that their rows belong together."
            )
        return parts

    def _first_rows(self):
        for gathered in self.delayed:
            read = _Read(None, self.feature_names)
            found = merged_over([gathered], _head, (read,), None)
            if found is not None:
                return found
        raise ValueError("X has no rows of positive weight.")

    def passed(self, function, arguments, merge):
        """Merge function(part, *arguments) over all parts that have rows.

        An error names the partition. Parameters as in `merged_over`.
        """
        read = _Read(self._schema, self.feature_names)
        arguments = read, function, arguments
        result = merged_over(self.delayed, _on_part, arguments, merge)
        if result is None:
            raise ValueError("X has no rows of positive weight.")
        return result

    def in_bins(self, values, edges, reduce):
        """Reduce the values of all rows bin by bin.

        Parameters
        ----------
        values : callable
            values(part) -> (n_rows,).
        edges : ndarray of shape (n_edges,)
            The first value of each bin but the first.
        reduce : callable
            reduce(values, weights), for each bin that is not empty.

        Returns
        -------
        list of length n_edges + 1
            None for an empty bin.
        """
        read = _Read(self._schema, self.feature_names)
        arguments = read, _split, (values, edges)
        n_bins = len(edges) + 1
        return binned_over(
            self.delayed, _on_part, arguments, n_bins, partial(_join, reduce=reduce)
        )


def _split(part, values, edges):
    """Values and weights of a part's rows in bins between edges."""
    values = values(part)
    number = np.searchsorted(edges, values, side="right")
    return [
        (values[number == b], part.weights[number == b]) for b in range(len(edges) + 1)
    ]


def _join(pieces, reduce):
    values, weights = map(np.concatenate, zip(*pieces))
    return reduce(values, weights) if len(values) else None


def _delayed(values, name):
    """The partitions of a Dask collection, each with all columns."""
    if hasattr(values, "rechunk"):
        if values.ndim > 1:
            values = values.rechunk({axis: -1 for axis in range(1, values.ndim)})
        if name == "X" and values.ndim != 2:
            raise ValueError(
                "X must be 2-dimensional, (n_samples, n_features), got "
                f"{values.ndim} dimensions."
            )
        return list(values.to_delayed().ravel())
    if name == "X" and values.ndim != 2:
        raise ValueError("X must be a Dask DataFrame, got a Series. Pass X.to_frame().")
    return list(values.to_delayed())


def _gathered(number, X, y, weights):
    return number, X, y, weights


class _Read:
    """Makes a `Part` of what Dask hands over, checked against the first one."""

    def __init__(self, schema, feature_names):
        self.schema, self.feature_names = schema, feature_names

    def __call__(self, gathered):
        """The part, or None where no row has positive weight."""
        number, X, y, given = gathered
        table = as_table(X, self.feature_names)
        check_length(y, table.n_samples)
        weights = check_weights(given, table.n_samples)
        if self.schema is not None:
            _check_alike(schema_of(table), self.schema)
        kept = weights > 0
        part = Part(number, table, y, weights)
        return part if kept.all() and len(kept) else _rows_of(part, kept)


def _rows_of(part, kept):
    rows = np.flatnonzero(kept)
    if len(rows) == 0:
        return None
    y = None if part.y is None else rows_of_target(part.y, rows)
    table = part.table.take(rows)
    table.names = part.table.names
    return replace(part, table=table, y=y, weights=part.weights[rows])


def _on_part(gathered, read, function, arguments):
    with _naming(gathered[0]):
        part = read(gathered)
        return None if part is None else function(part, *arguments)


def _head(gathered, read):
    with _naming(gathered[0]):
        part = read(gathered)
        if part is None:
            return None
        some = np.zeros(part.table.n_samples, dtype=bool)
        some[:HEAD_ROWS] = True
        return _rows_of(part, some), schema_of(part.table)


class _naming:
    """Names the partition in the message of an error."""

    def __init__(self, number):
        self.number = number

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if isinstance(error, Exception):
            message = error.args[0] if error.args else ""
            error.args = (f"Partition {self.number} of X: {message}", *error.args[1:])
        return False


def schema_of(table):
    """Names and types of the columns; of categories the levels, too."""
    if not isinstance(table, FrameTable):
        return [None] * table.n_columns, [str(table.native.dtype)] * table.n_columns
    types = [
        (str(dtype), *map(str, getattr(dtype, "categories", ())))
        for dtype in table.types()
    ]
    return table.column_names(), types


def _check_alike(found, first):
    names, types = found
    if len(names) != len(first[0]):
        raise ValueError(
            f"it has {len(names)} columns, but the first one has {len(first[0])}. All "
            "partitions must have the same columns."
        )
    if names != first[0]:
        j = next(j for j, name in enumerate(names) if name != first[0][j])
        raise ValueError(
            f"its column {j} is {names[j]!r}, but that of the first one is "
            f"{first[0][j]!r}. All partitions must have the same columns."
        )
    for j, (own, expected) in enumerate(zip(types, first[1])):
        if own == expected:
            continue
        name = f"x{j}" if names[j] is None else names[j]
        if isinstance(own, tuple) and own[0] == expected[0]:
            raise ValueError(
                f"column {name!r} has the levels {list(own[1:])}, but the first one "
                f"has {list(expected[1:])}. Use X.categorize(), or give the column the "
                "same levels everywhere."
            )
        own, expected = (t[0] if isinstance(t, tuple) else t for t in (own, expected))
        raise ValueError(
            f"column {name!r} has the type {own}, but that of the first one is "
            f"{expected}. Use X.astype to give all partitions one type."
        )


def summed(first, second):
    """Merge two results by addition, member by member of tuples."""
    if isinstance(first, tuple):
        return tuple(map(summed, first, second))
    return first + second
