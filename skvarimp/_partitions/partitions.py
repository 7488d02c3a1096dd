"""`Partitions`: rows that stay where they are, in parts of a Dask collection."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from skvarimp._data.base_table import Table
from skvarimp._data.merging import merged
from skvarimp._data.table import FrameTable, as_table, rows_of_target
from skvarimp._data.validation import (
    check_length,
    check_target,
    check_two_rows,
    check_weights,
    is_dask,
)
from skvarimp._partitions.firm import fit_firm
from skvarimp._partitions.impurity import fit_trees
from skvarimp._partitions.passes import Sent, binned_over, merged_over, naming
from skvarimp._partitions.problem import partitioned_problem

HEAD_ROWS = 500  # that stand for the data where a few rows are enough


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
    head : Partition
        A few rows of the first partition that has some.
    sent : Sent
        What all passes share.
    """

    def __init__(self, X, y=None, sample_weight=None, feature_names=None):
        import dask

        self.sent = Sent()
        given = {"y": y, "sample_weight": sample_weight}
        for name, values in given.items():
            if values is not None and not is_dask(values):
                raise TypeError(
                    f"`{name}` must be a Dask collection with the partitions of X, got "
                    f"{type(values).__name__}. Make it a column of X's source, or "
                    "use dask.array.from_array with X's chunks."
                )
        gathered = enumerate(_together(X, given))
        self.delayed = [dask.delayed((number, *part)) for number, part in gathered]
        read = partial(_read_partition, feature_names=feature_names)
        self.head, schema = self._first_rows(read, sample_weight is not None)
        self._read = partial(read, schema=schema)

    @staticmethod
    def takes(X):
        """Whether X is a Dask DataFrame or Array."""
        return is_dask(X) and hasattr(X, "to_delayed")

    def problem(self, estimator, entries, response_method):
        """The `Problem` of a model, some of whose entries are known."""
        return partitioned_problem(estimator, self, entries, response_method)

    def fit_firm(self, measure, estimator):
        """Fit a `FIRMImportance`."""
        fit_firm(measure, estimator, self)

    def fit_trees(self, measure, estimator, y):
        """Fit an `ImpurityImportance` with rows="unseen"; y as given names outputs."""
        fit_trees(measure, estimator, self, y)

    def _first_rows(self, read, weighted):
        """A few rows and the columns of the first partition that has some."""
        found, n_rows, n_positive = None, 0, 0
        for gathered in self.delayed:
            n_given, some, schema = merged_over(
                [gathered], _head, (read,), None, self.sent
            )
            n_rows += n_given
            if some is not None:
                n_positive += some.table.n_samples
                found = found or (some, schema)
            if n_positive > 1:
                break
        check_two_rows(n_rows, n_positive, weighted)
        return found

    def refuse(self, what, way_out=""):
        """Raise ValueError, as `what` cannot be merged; `way_out` is another one."""
        raise ValueError(
            f"{what} needs all rows in one place, got X in partitions. Pass "
            f"X.compute(){way_out}."
        )

    def passed(self, function, arguments):
        """Merge function(part, *arguments) over all parts that have rows.

        By `merged`. An error names the partition. Parameters as in `merged_over`.
        """
        arguments = self._read, function, arguments
        return merged_over(self.delayed, _on_part, arguments, merged, self.sent)

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
        arguments = self._read, _split, (values, edges)
        n_bins, join = len(edges) + 1, partial(_join, reduce=reduce)
        return binned_over(self.delayed, _on_part, arguments, n_bins, join, self.sent)


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


def _on_part(gathered, read, function, arguments):
    with naming(gathered[0]):
        part = read(gathered)
        return None if part is None else function(part, *arguments)


def _head(gathered, read):
    """How many rows a partition has, a few of positive weight, and its columns."""
    number, X, *_ = gathered
    with naming(number):
        part = read(gathered)
        if part is None:
            return len(X), None, None
        some = np.arange(part.table.n_samples) < HEAD_ROWS
        return len(X), _some_rows(part, some), _schema_of(part.table)


def _together(X, given):
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


def _read_partition(gathered, feature_names, schema=None):
    """A `Partition` of what Dask hands over; None where no row has positive weight.

    Its columns are checked against those of the first one, `schema`.
    """
    number, X, y, given = gathered
    table = as_table(X, feature_names)
    check_length(y, table.n_samples)
    weights = check_weights(given, table.n_samples)
    if schema is not None:
        _check_alike(_schema_of(table), schema)
    kept = weights > 0
    part = Partition(number, table, y, weights)
    return part if kept.all() and len(kept) else _some_rows(part, kept)


def _some_rows(part, kept):
    rows = np.flatnonzero(kept)
    if len(rows) == 0:
        return None
    y = None if part.y is None else rows_of_target(part.y, rows)
    table = part.table.take(rows)
    table.names = part.table.names
    return replace(part, table=table, y=y, weights=part.weights[rows])


def _schema_of(table):
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
