"""`Partitions`: rows that stay where they are, and passes over them.

A pass has a task for each partition of a Dask collection; results merge in a tree.
"""

from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from skvarimp._data.base_table import Table
from skvarimp._data.frames import FrameTable
from skvarimp._data.statistics import Units
from skvarimp._data.table import as_table, is_dask, rows_of_target
from skvarimp._data.validation import (
    check_labels,
    check_length,
    check_number_of_groups,
    check_target,
    check_two_rows,
    check_weights,
)
from skvarimp._partitions.fits import fit_firm, fit_trees
from skvarimp._partitions.passes import Sent, binned_over, passed_over
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
    groups : ndarray of shape (n_rows,) or None
        The group of each row, numbers that all partitions share.
    """

    number: int
    table: Table
    y: object
    weights: np.ndarray
    groups: np.ndarray | None = None

    def target(self):
        """The targets as an array, validated; None where there are none."""
        return check_target(self.y, self.table.n_samples)

    def units_of(self, units, rows=slice(None)):
        """What of all units some rows are in; None where all are independent."""
        if self.groups is None:
            return None
        return replace(units, groups=self.groups[rows], labels=None)


class Partitions:
    """X, y, weights and groups in partitions, fetched anew by each pass.

    Parameters
    ----------
    X : Dask DataFrame or Array of shape (n_samples, n_features)
    y : Dask DataFrame, Series or Array, default=None
        Partitioned as X.
    sample_weight, groups : Dask Series or Array, default=None
        Partitioned as X.
    feature_names : sequence of str, default=None

    Attributes
    ----------
    head : Partition
        A few rows of the first partition that has some.
    sent : Sent
        What all passes share.
    labels : ndarray of shape (n_groups,) or None
        The labels of all groups, sorted.
    """

    def __init__(self, X, y=None, sample_weight=None, groups=None, feature_names=None):
        import dask

        self.sent, self.labels = Sent(), None
        given = {"y": y, "sample_weight": sample_weight, "groups": groups}
        for name, values in given.items():
            if values is not None and not is_dask(values):
                raise TypeError(
                    f"`{name}` must be a Dask collection with the partitions of X, got "
                    f"{type(values).__name__}. Make it a column of X's source, or "
                    "use dask.array.from_array with X's chunks."
                )
        gathered = enumerate(_together(X, given))
        self.delayed = [dask.delayed((number, *part)) for number, part in gathered]
        if groups is not None:
            self.labels = self._all_labels(groups, sample_weight)
        read = partial(_read_partition, feature_names=feature_names, labels=self.labels)
        self.head, schema = self._first_rows(read, sample_weight is not None)
        if groups is not None:
            check_number_of_groups(len(self.labels))
        self._read = partial(read, schema=schema)

    @staticmethod
    def takes(X):
        """Whether X is a Dask DataFrame or Array."""
        return is_dask(X) and hasattr(X, "to_delayed")

    def problem(self, estimator, features, response_method):
        """The `Problem` of a model, some of whose features are known."""
        return partitioned_problem(estimator, self, features, response_method)

    def fit_firm(self, measure, estimator):
        """Fit a `FIRMImportance`."""
        fit_firm(measure, estimator, self)

    def fit_trees(self, measure, estimator, y):
        """Fit an `ImpurityImportance` with rows="unseen"; y as given names outputs."""
        fit_trees(measure, estimator, self, y)

    def units(self, n_rows):
        """The `Units` of all rows; their weights and groups stay in the partitions."""
        if self.labels is None:
            return Units(n_rows)
        return Units(len(self.labels), labels=self.labels)

    def _all_labels(self, groups, sample_weight):
        """The labels of the rows of positive weight, by a pass that reads no X."""
        import dask

        gathered = enumerate(_together(groups, {"sample_weight": sample_weight}))
        delayed = [dask.delayed((number, *part)) for number, part in gathered]
        labels = passed_over(delayed, _labels, (), self.sent)
        return np.unique(list(labels))

    def _first_rows(self, read, weighted):
        """A few rows and the columns of the first partition that has some."""
        found, n_rows, n_positive = None, 0, 0
        for gathered in self.delayed:
            n_given, some, schema = passed_over([gathered], _head, (read,), self.sent)
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

    @staticmethod
    @contextmanager
    def naming(number):
        """Name the partition in the message of an error."""
        try:
            yield
        except Exception as error:
            message = error.args[0] if error.args else ""
            error.args = (f"Partition {number} of X: {message}", *error.args[1:])
            raise

    def passed(self, function, arguments):
        """Merge function(part, *arguments) over all parts that have rows.

        An error names the partition; see `passed_over`.
        """
        arguments = self._read, function, arguments
        return passed_over(self.delayed, _on_part, arguments, self.sent)

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
    with Partitions.naming(gathered[0]):
        part = read(gathered)
        return None if part is None else function(part, *arguments)


def _head(gathered, read):
    """How many rows a partition has, a few of positive weight, and its columns."""
    number, X, *_ = gathered
    with Partitions.naming(number):
        part = read(gathered)
        if part is None:
            return len(X), None, None
        some = np.arange(part.table.n_samples) < HEAD_ROWS
        return len(X), _some_rows(part, some), _schema_of(part.table)


def _labels(gathered):
    """The different labels of one partition's rows."""
    number, groups, given = gathered
    with Partitions.naming(number):
        kept = check_weights(given, len(groups)) > 0
        labels = check_labels(groups, len(groups), "groups")[kept]
        return dict.fromkeys(np.unique(labels))  # a merge keeps those of both


def _together(X, given):
    """The partitions of X with those of what is given for its rows, each a tuple."""
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
        parts = _read_as_one(present)
    nothing = [None] * n_of_X
    return list(zip(*(parts.get(name, nothing) for name in ("X", *given))))


def _read_as_one(frames):
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


def _read_partition(gathered, feature_names, labels, schema=None):
    """A `Partition` of what Dask hands over; None where no row has positive weight.

    Its columns are checked against those of the first one, `schema`.
    """
    number, X, y, given, groups = gathered
    table = as_table(X, feature_names)
    check_length(y, table.n_samples)
    weights = check_weights(given, table.n_samples)
    if schema is not None:
        _check_alike(_schema_of(table), schema)
    kept = weights > 0
    if groups is not None:
        groups = check_labels(groups, table.n_samples, "groups").astype(labels.dtype)
        groups = np.searchsorted(labels, groups)
    part = Partition(number, table, y, weights, groups)
    return part if kept.all() and len(kept) else _some_rows(part, kept)


def _some_rows(part, kept):
    rows = np.flatnonzero(kept)
    if len(rows) == 0:
        return None
    y = None if part.y is None else rows_of_target(part.y, rows)
    table = part.table.take(rows)
    table.names = part.table.names
    groups = None if part.groups is None else part.groups[rows]
    return replace(part, table=table, y=y, weights=part.weights[rows], groups=groups)


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
