"""The rows of one partition: gathered, checked, and named in errors."""

from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from skvarimp._data.base_table import Table
from skvarimp._data.table import FrameTable, as_table, rows_of_target
from skvarimp._data.validation import check_length, check_target, check_weights


@dataclass
class Partition:
    """The rows of one partition of X that have positive weight.

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


def together(X, given):
    """The partitions of X with those of y and of the weights, each a tuple."""
    present = {"X": X} | {k: v for k, v in given.items() if v is not None}
    parts = {name: _delayed(values, X) for name, values in present.items()}
    n_of_X = len(parts["X"])
    for name, of_name in parts.items():
        if len(of_name) != n_of_X:
            raise ValueError(
                f"`{name}` has {len(of_name)} partitions, but X has {n_of_X}. "
                "Repartition one of them, so that their rows belong together."
            )
    if not any(hasattr(values, "rechunk") for values in present.values()):
        parts = _of_frames(present)
    nothing = [None] * n_of_X
    return list(zip(*(parts.get(name, nothing) for name in ("X", *given))))


def _of_frames(frames):
    """Name -> partitions, of frames that Dask reads together as one.

    One by one, it might join partitions of those with few columns.
    """
    import dask.dataframe as dd

    how = {"align_dataframes": False, "enforce_metadata": False}
    how["meta"] = None, object
    both = dd.map_partitions(lambda *parts: parts, *frames.values(), **how)
    parts = both.to_delayed()
    return {name: [part[m] for part in parts] for m, name in enumerate(frames)}


def _delayed(values, X):
    """The partitions of one collection, each with all columns; arrays cut as X is."""
    if not hasattr(values, "rechunk"):
        return list(values.to_delayed(optimize_graph=False))
    values = values.rechunk({axis: -1 for axis in range(1, values.ndim)})
    rows = X.chunks[0] if hasattr(X, "chunks") else values.chunks[0]
    if sum(rows) == sum(values.chunks[0]):  # NaN where lengths are not known
        values = values.rechunk({0: rows})
    return list(values.to_delayed().ravel())


def read_partition(gathered, feature_names, schema=None):
    """A `Partition` of what Dask hands over; None where no row has positive weight.

    Its columns are checked against those of the first one, `schema`.
    """
    number, X, y, given = gathered
    table = as_table(X, feature_names)
    check_length(y, table.n_samples)
    weights = check_weights(given, table.n_samples)
    if schema is not None:
        _check_alike(schema_of(table), schema)
    kept = weights > 0
    part = Partition(number, table, y, weights)
    return part if kept.all() and len(kept) else some_rows(part, kept)


def some_rows(part, kept):
    rows = np.flatnonzero(kept)
    if len(rows) == 0:
        return None
    y = None if part.y is None else rows_of_target(part.y, rows)
    table = part.table.take(rows)
    table.names = part.table.names
    return replace(part, table=table, y=y, weights=part.weights[rows])


@contextmanager
def naming(number):
    """Name the partition in the message of an error."""
    try:
        yield
    except Exception as error:
        message = error.args[0] if error.args else ""
        error.args = (f"Partition {number} of X: {message}", *error.args[1:])
        raise


def schema_of(table):
    """Names and types of the columns; of categories the levels, too."""
    if not isinstance(table, FrameTable):
        return table.column_names(), [str(table.native.dtype)] * table.n_columns
    return table.column_names(), [_type_name(dtype) for dtype in table.types()]


def _type_name(dtype):
    levels = getattr(dtype, "categories", None)
    return str(dtype) if levels is None else f"{dtype} with the levels {list(levels)}"


def _check_alike(found, first):
    if found[0] != first[0]:
        raise ValueError(
            f"it has the columns {found[0]!r:.200}, but the first one has "
            f"{first[0]!r:.200}. All partitions must have the same columns."
        )
    for name, own, expected in zip(found[0], found[1], first[1]):
        if own != expected:
            raise ValueError(
                f"column {name!r} has the type {own}, but that of the first one is "
                f"{expected}. Use X.astype or, for levels, X.categorize() to give all "
                "partitions one type."
            )
