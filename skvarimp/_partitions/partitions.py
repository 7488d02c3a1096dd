"""`Partitions`: rows that stay where they are, and the donors drawn from them."""

from dataclasses import dataclass
from functools import partial
from itertools import zip_longest

import numpy as np

from skvarimp._data.base_table import Table
from skvarimp._data.table import as_table, in_partitions, rows_of_target, stacked
from skvarimp._data.validation import (
    check_labels,
    check_length,
    check_target,
    check_two_rows,
    check_weights,
)
from skvarimp._measures.firm.firm import FIRMImportance
from skvarimp._measures.impurity.impurity import ImpurityImportance
from skvarimp._measures.impurity.readers import each_ensemble
from skvarimp._measures.impurity.rows import rows_in_trees
from skvarimp._measures.problem import make_problem
from skvarimp._measures.response_importance import ResponseImportance
from skvarimp._partitions.errors import whole_errors
from skvarimp._partitions.passes import passed_over, sent
from skvarimp._partitions.problem import PartitionedProblem
from skvarimp._partitions.values import certain_rows, chosen_values, few_values
from skvarimp._response.losses import asks_for_groups

MOST_DONORS = 100_000
WEIGHTLESS = "scoring", "conditional"  # whose scorers and models need not take weights


@dataclass
class Partition:
    """The rows of one partition of X, or some of them.

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
        Labels of rows that depend on each other.
    """

    number: int
    table: Table
    y: object
    weights: np.ndarray
    groups: np.ndarray | None

    @classmethod
    def read(cls, number, X, y=None, sample_weight=None, groups=None):
        """Check what Dask hands over: X, and what was given for its rows."""
        table = as_table(X)
        check_length(y, table.n_samples)
        weights = check_weights(sample_weight, table.n_samples)
        if groups is not None:
            groups = check_labels(groups, table.n_samples, "groups")
        return cls(number, table, y, weights, groups)

    @property
    def target(self):
        """The targets as an array, or None; checked where they are asked for."""
        return check_target(self.y, len(self.weights), structured=True)

    def some(self, rows):
        """Some of the rows."""
        if len(rows) == len(self.weights):
            return self
        y = None if self.y is None else rows_of_target(self.y, rows)
        groups = None if self.groups is None else self.groups[rows]
        table, weights = self.table.take(rows), self.weights[rows]
        return Partition(self.number, table, y, weights, groups)


class Partitions:
    """X, y, weights and groups in partitions, fetched anew by each pass.

    Parameters
    ----------
    X : Dask DataFrame or Array of shape (n_samples, n_features)
    y : Dask DataFrame, Series or Array or None
        Partitioned as X.
    sample_weight, groups : Dask Series or Array or None
        Partitioned as X.
    feature_names : sequence of str, default=None
    with_ends : bool, default=True
        Whether rows of the ends are certain donors, which gives all donors weights.

    Attributes
    ----------
    n_rows : int
        Rows of positive weight.
    weight : float
        Of all rows.
    sampled : bool
        Whether the donors are not all rows.
    table : Table
        The donors: all rows, or about `MOST_DONORS` of positive weight, some of which
        are certain, the others as likely as each other.
    weighted : bool
        Whether the given weights differ.
    share : float
        Of the rows, that are donors.
    note : str
        What response paths say of the donors.
    certain : ndarray of shape (n_donors,), bool
        See `certain_rows`. Only of sampled donors.
    y, sample_weight, groups : object
        What was given for these rows. Sampled donors have weights, and certain ones
        less than others: they stand for no row but their own.
    """

    def __init__(self, X, y, sample_weight, groups, feature_names=None, with_ends=True):
        import dask

        given = {"X": X, "y": y, "sample_weight": sample_weight, "groups": groups}
        given = {name: values for name, values in given.items() if values is not None}
        parts = enumerate(_together(given))
        self.delayed = [dask.delayed((k, list(given), part)) for k, part in parts]
        # certain donors, such as the ends of columns, are at most a tenth of all
        most_columns = MOST_DONORS // 20 if with_ends else 0
        sizes = self.passed(_counted, most_columns, every=True)
        n_given, counts, weights, schemas, values = zip(*sizes)
        self.n_rows, self.weight = sum(counts), sum(weights)
        check_two_rows(sum(n_given), self.n_rows, sample_weight is not None)
        _check_alike(schemas)
        self.sampled, rows = sum(n_given) > MOST_DONORS, None
        starts = np.cumsum(counts) - counts
        if self.sampled:
            certain = certain_rows(values, starts)[: MOST_DONORS // 10]
            n_drawn = min(MOST_DONORS - len(certain), self.n_rows)
            # the same rows whatever the partitions; numbers must not vary between runs
            drawn = np.random.default_rng(0).choice(self.n_rows, n_drawn, replace=False)
            rows = np.union1d(certain, drawn)
        parts = self.passed(_donors, rows, starts, every=not self.sampled)
        self.table = as_table(stacked([part.table for part in parts]), feature_names)
        self.share = self.table.n_samples / self.n_rows
        self.note = f"; {self.table.n_samples} of {self.n_rows} rows as donors"
        of_rows = zip(*[(part.y, part.groups, part.weights) for part in parts])
        self.y, self.groups, weights = map(_joined, of_rows)
        self.sample_weight = None if sample_weight is None else weights
        self.weighted = bool(np.ptp(weights[weights > 0]) > 0)
        if self.sampled:
            self.certain, likelihood = np.isin(rows, certain), n_drawn / self.n_rows
            self.sample_weight = np.where(self.certain, likelihood, 1.0) * weights

    @classmethod
    def taken(cls, measures, X, y, sample_weight, groups, feature_names=None):
        """What measures take in place of X, y, weights and groups in partitions.

        All rows in memory, or where they are too many the partitions, with what was
        given for the donors.
        """
        for measure in measures:
            if not _serves(measure):
                raise TypeError(
                    f"{type(measure).__name__} needs all rows in one place, got X in "
                    "the partitions of a Dask collection. Pass X.compute()."
                )
        given = [measure.get_params(deep=False) for measure in measures]
        weightless = any(g.get(k) is not None for g in given for k in WEIGHTLESS)
        rows = cls(X, y, sample_weight, groups, feature_names, not weightless)
        for measure, asked in zip(measures, given):
            measure._n_samples, measure._weighted = rows.n_rows, rows.weighted
            if rows.sampled:
                rows.check(asked)
        X = rows if rows.sampled else rows.table
        return X, rows.y, rows.sample_weight, rows.groups

    def problem(self, estimator, response_method):
        """The `Problem` of a model."""
        rows = self.table, self.y, self.sample_weight
        donors = make_problem(estimator, *rows, response_method, self.groups)
        # it knows its outputs by now, and any clusters that it does not list itself
        model = sent(donors.model)
        return PartitionedProblem(**vars(donors), partitions=self, sent_model=model)

    def sums_in_trees(self, estimator, donors):
        """The sums over all rows that decreases of the loss follow from.

        Parameters
        ----------
        estimator : estimator
        donors : list of RowsInTrees
            In each of the model's ensembles.
        """
        if any(r.loss is not None and not r.loss.takes_single_rows for r in donors):
            what = f"The loss of {type(estimator).__name__}, which depends on all rows,"
            self.refuse(what, "use PermutationImportance")
        return self.passed(_sums_in_trees, estimator)

    def error_by(self, units):
        """What gives standard errors of all rows from influences of the donors."""
        return partial(whole_errors, units=units, share=self.share)

    def check(self, asked):
        """Raise where parameters ask for what single rows, or all of them, give."""
        if asked.get("keep_rows"):
            self.refuse("keep_rows=True", "leave it out")
        if asked.get("max_evaluations") is not None:
            self.refuse("`max_evaluations`", "leave it out")
        if asks_for_groups(asked.get("loss")):
            self.refuse("a loss with a parameter `groups`", "use another loss")
        if asked.get("rows") == "oob":
            self.refuse("rows='oob'", "use rows='all'")

    def refuse(self, what, way_out):
        """Raise ValueError, as `what` needs all rows."""
        raise ValueError(
            f"{what} needs all rows in one place, got {self.n_rows} rows in "
            f"partitions. Pass a sample of at most {MOST_DONORS} rows, such as "
            f"X.sample(frac={0.9 * MOST_DONORS / self.n_rows:.1g}), or {way_out}."
        )

    def passed(self, function, *arguments, every=False):
        """Merge function(part, *arguments) over all parts; an error names the part.

        The parts hold the rows of positive weight, or every row.
        """
        return passed_over(self.delayed, partial(_on_part, function, every), *arguments)


def _serves(measure):
    """Whether a measure takes rows in partitions."""
    if isinstance(measure, ImpurityImportance):
        return measure.rows == "unseen"
    return isinstance(measure, ResponseImportance | FIRMImportance)


def _on_part(function, every, gathered, *arguments):
    """function(part, *arguments) of what Dask hands over; None without such rows."""
    number, names, values = gathered
    try:
        part = Partition.read(number, **dict(zip(names, values)))
        part = part if every else part.some(np.flatnonzero(part.weights))
        return function(part, *arguments) if every or len(part.weights) else None
    except Exception as error:
        error.add_note(f"This comes from partition {number} of X.")
        raise


def _counted(part, most_columns):
    """Rows, those of positive weight, their weight; their columns, if there are any."""
    n_rows, rows = len(part.weights), np.flatnonzero(part.weights)
    schema, values = None, None
    if len(rows):
        table = part.some(rows).table
        schema = _schema_of(table)
        if 0 < table.n_columns <= most_columns:
            columns = range(table.n_columns)
            few = [few_values(table, j) for j in columns]
            values = chosen_values(table, columns, few)
    return [(n_rows, len(rows), part.weights.sum(), schema, values)]


def _donors(part, rows, starts):
    """The rows of a partition that are donors; without the rows' numbers, all.

    Parameters
    ----------
    part : Partition
    rows : ndarray of int or None
    starts : ndarray of int
        Number of the first row of each partition.
    """
    if rows is not None:
        own = rows - starts[part.number]
        part = part.some(own[(own >= 0) & (own < len(part.weights))])
    return [part] if len(part.weights) else None


def _sums_in_trees(part, estimator):
    every, weights = each_ensemble(estimator, part.target), part.weights
    return tuple(rows_in_trees(one, part.table, y, weights).sums() for one, y in every)


def _joined(values):
    """What was given for rows of several partitions, in one; None if nothing was."""
    if values[0] is None:
        return None
    if isinstance(values[0], np.ndarray):
        return np.concatenate(values)
    import pandas as pd

    return pd.concat(values, ignore_index=True)


def _together(collections):
    """The partitions: what the collections hold for each, in their order."""
    parts = {}
    for name, values in collections.items():
        if not in_partitions(values):
            raise TypeError(
                f"`{name}` must be a Dask collection with the partitions of X, got "
                f"{type(values).__name__}. Make it a column of X's source, or "
                "use dask.array.from_array with X's chunks."
            )
        own = parts[name] = _delayed(values, collections["X"])
        if len(own) != len(parts["X"]):
            raise ValueError(
                f"`{name}` has {len(own)} partitions, but X has {len(parts['X'])}. "
                "Repartition one of them, so that their rows belong together."
            )
    if any(hasattr(values, "rechunk") for values in collections.values()):
        return zip(*parts.values())
    import dask.dataframe as dd

    # one by one, Dask might join partitions of frames with few columns
    how = {"align_dataframes": False, "enforce_metadata": False, "meta": (None, object)}
    together = dd.map_partitions(lambda *values: values, *collections.values(), **how)
    return together.to_delayed()


def _delayed(values, X):
    """The partitions of one collection, each with all columns; arrays cut as X is."""
    if not hasattr(values, "rechunk"):
        return list(values.to_delayed(optimize_graph=False))
    own, rows = values.chunks[0], getattr(X, "chunks", values.chunks)[0]
    rows = rows if sum(rows) == sum(own) else own  # NaN where lengths are not known
    values = values.rechunk((rows, *[-1] * (values.ndim - 1)))
    return list(values.to_delayed().ravel())


def _schema_of(table):
    """Names and types of the columns in words; of categories the levels, too."""
    each = zip(table.column_names(), map(_type_name, table.types()))
    return [f"column {name!r} of type {one}" for name, one in each]


def _type_name(dtype):
    levels = getattr(dtype, "categories", None)
    return str(dtype) if levels is None else f"{dtype} with the levels {list(levels)}"


def _check_alike(schemas):
    """Raise where a partition has other columns than the first that has rows."""
    first = next(schema for schema in schemas if schema is not None)
    for number, schema in enumerate(schemas):
        for own, right in zip_longest(schema or first, first, fillvalue="no column"):
            if own != right:
                raise ValueError(
                    f"Partition {number} of X: it has {own}, where the first one has "
                    f"{right}. All partitions must have the same columns. Use X.astype "
                    "or, for levels, X.categorize() to give them the same types."
                )
