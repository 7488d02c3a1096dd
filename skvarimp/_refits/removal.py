"""Columns that go before a refit: dropped, or held at one value."""

from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from skvarimp._data.base_table import Table, is_missing
from skvarimp._data.table import resolve_columns
from skvarimp._measures.base import BaseImportance
from skvarimp._refits.columns import (
    Seen,
    Unknown,
    is_elementwise,
    rearranged,
)
from skvarimp._running.guards import users_code, warn

CONSTANT = "use removal='constant'"
MOST_NAMED = 3  # columns in a message


class RefitFailed(Exception):
    """A refit without some columns failed; says which, and how."""


@dataclass(frozen=True)
class Removal:
    """How columns are removed from X before a refit.

    Attributes
    ----------
    constants : Table or None
        One row, whose values the removed columns hold; None: they are dropped, from X
        and from the parameters that refer to columns.
    """

    constants: Table | None

    @classmethod
    def of(cls, removal, estimator, table, features=None):
        """What the parameter `removal` asks for.

        Parameters
        ----------
        removal : {"auto", "drop", "constant"}
            "auto" drops, unless something speaks against it, and then says what.
        estimator : estimator
        table : Table
            All columns.
        features : list of Feature, default=None
            What may be removed together; None: any columns but not all.

        Raises
        ------
        ValueError
            Where "drop" cannot serve.
        """
        if removal == "constant":
            return cls.holding(table, features)
        whole = [f for f in features or () if len(f.columns) == table.n_columns]
        if whole:
            reason = f"it would leave no column without {whole[0].name!r}"
        else:
            reason = _against_dropping(estimator, table)
        if reason is None:
            return cls(None)
        if removal == "drop":
            raise ValueError(f"removal='drop' cannot serve: {reason}. Use 'constant'.")
        _say_constant(reason)
        return cls.holding(table, features)

    @classmethod
    def holding(cls, table, features=None):
        """Constants: the median of numbers, or the most frequent of other values."""
        columns = range(table.n_columns)
        if features is not None:
            columns = {j for feature in features for j in feature.columns}
        donors = {j: _typical_row(table, j) for j in columns}
        return cls(table.take(np.array([0])).held(donors, table))

    def rest(self, table, columns):
        """The table of which some columns are left, ascending positions."""
        if self.constants is None:
            return table.select(columns)
        gone = np.setdiff1d(np.arange(table.n_columns), columns)
        return table.held(dict.fromkeys(gone.tolist(), 0), self.constants)

    def places(self, columns):
        """Where the columns that are left stand in `rest`."""
        return np.arange(len(columns)) if self.constants is None else columns

    def part(self, refits, columns, rows=None):
        """Some rows (None: all) of `Refits`, of which some columns are left."""
        if self.constants is not None:
            part = refits.part(rows)
            return replace(part, table=self.rest(part.table, columns))
        part = refits.part(rows, columns)
        try:
            return _for_columns(part, refits.table, columns)
        except Unknown as error:
            raise RefitFailed(str(error)) from error

    @contextmanager
    def refitting(self, table, columns):
        """Turn an error of a model without some of its columns into `RefitFailed`."""
        if self.constants is not None or len(columns) == table.n_columns:
            yield
            return
        try:
            yield
        except (Warning, MemoryError):
            raise
        except Exception as error:
            names, kept = table.column_names(), set(columns)
            gone = [repr(name) for j, name in enumerate(names) if j not in kept]
            more = len(gone) - MOST_NAMED
            also = f" and {more} more" if more > 0 else ""
            raise RefitFailed(
                f"without {', '.join(gone[:MOST_NAMED])}{also} the estimator raises "
                f"{type(error).__name__}: {str(error).rstrip('.')}"
            ) from error


def with_removal(removal, work, estimator, table, features=None, way_out=CONSTANT):
    """work(Removal); again with constants where "auto" drops and a refit then fails.

    Parameters
    ----------
    removal : {"auto", "drop", "constant"}
    work : callable
        Fits inside `Removal.refitting`.
    estimator, table, features
        As in `Removal.of`.
    way_out : str
        What to do where "drop" fails.
    """
    try:
        return work(Removal.of(removal, estimator, table, features))
    except RefitFailed as failure:
        reason = str(failure)
        if removal == "drop":
            raise ValueError(
                f"removal='drop' cannot serve: {reason}. To go on, {way_out}."
            ) from failure.__cause__
    _say_constant(reason)
    return work(Removal.holding(table, features))


def with_copies(refits, table, sources):
    """`Refits` for a table in which copies of columns stand beside them.

    Parameters
    ----------
    refits : Refits
        Without copies.
    table : Table
    sources : list of int
        For each column of it, that of `refits` which it is or is a copy of.
    """
    return _for_columns(replace(refits, table=table), refits.table, sources)


def check_copies_reach(refits):
    """Raise where an estimator would not treat copies of columns as the columns."""
    estimator, table = refits.estimator, refits.table
    places = list(range(table.n_columns))
    names = table.names and [*table.names, *(f"copy of {name}" for name in table.names)]
    try:
        rearranged(estimator, Seen(len(places), places + places, table.names, names))
    except Unknown as error:
        raise ValueError(
            f"Shuffled copies of the columns would not reach the model: {error}. Name "
            "columns of X, or select them by type with make_column_selector."
        ) from None
    first = estimator.steps[0][1] if isinstance(estimator, Pipeline) else estimator
    if isinstance(first, FunctionTransformer) and not is_elementwise(first):
        few = table.take(np.arange(min(table.n_samples, 10)))
        wide = few.beside_copies([(j, np.arange(few.n_samples)) for j in places])
        with users_code():
            shapes = {
                np.shape(clone(first).fit_transform(t.copy())) for t in (few, wide)
            }
        if len(shapes) == 1:
            raise ValueError(
                "Shuffled copies of the columns would not reach the model: the "
                "function of a FunctionTransformer selects those that it needs. Select "
                "them by a ColumnTransformer."
            )


def _for_columns(refits, before, sources):
    """`Refits` whose parameters that refer to columns are those of its table."""
    if list(sources) == list(range(before.n_columns)):
        return refits
    names = before.names, refits.table.names
    seen = Seen(before.n_columns, [int(s) for s in sources], *names)
    estimator, measure = rearranged(refits.estimator, seen), refits.measure
    if isinstance(measure, BaseImportance):
        name = "categorical_features"
        value = measure.get_params(deep=False).get(name)
        if value is not None:
            old = sorted(resolve_columns(value, before.names, before.n_columns))
            now = [place for position in old for place in seen.now(position)]
            measure = clone(measure).set_params(**{name: now})
    passed = refits.passed.for_columns(seen)
    return replace(refits, estimator=estimator, measure=measure, passed=passed)


def _against_dropping(estimator, table):
    """Why columns cannot be dropped, or None."""
    for part in _deep_params(estimator).values():
        if isinstance(part, FunctionTransformer) and not is_elementwise(part):
            return "the function of a FunctionTransformer may need its columns"
    for gone in range(min(table.n_columns, 2)):  # as a trial
        left = [j for j in range(table.n_columns) if j != gone]
        names = table.names and [table.names[j] for j in left]
        try:
            rearranged(estimator, Seen(table.n_columns, left, table.names, names))
        except Unknown as error:
            return str(error)
    return None


def _say_constant(reason):
    warn(f"Columns that go hold a constant instead (removal='auto'): {reason}.")


def _deep_params(estimator):
    has_params = hasattr(estimator, "get_params")
    return estimator.get_params(deep=True) if has_params else {}


def _typical_row(table, j):
    """A row that holds the (lower) median of a column, or its most frequent value."""
    codes, donors = table.factorize((j,))
    counts = np.bincount(codes, minlength=len(donors)).astype(np.float64)
    missing = [is_missing(value) for value in table.column(j)[donors]]
    if not all(missing):
        counts[missing] = 0.0
    if table.is_categorical(j):
        return donors[counts.argmax()]
    return donors[np.searchsorted(np.cumsum(counts), counts.sum() / 2)]
