"""Columns that go before a refit: dropped, or held at one value."""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer

from skvarimp._data.base_table import Table, is_missing

# Parameters of scikit-learn's estimators that may list something for each column.
PER_COLUMN = {"cat_features", "categorical_features", "categories", "interaction_cst"}
PER_COLUMN |= {"monotonic_cst", "n_bins"}


@dataclass(frozen=True)
class Removal:
    """How columns are removed from X before a refit.

    Attributes
    ----------
    constants : Table or None
        One row, whose values the removed columns hold; None: they are dropped, from X
        and from the lists of every ColumnTransformer.
    """

    constants: Table | None

    @classmethod
    def of(cls, removal, estimator, table, features=None):
        """What the parameter `removal` asks for.

        Parameters
        ----------
        removal : {"auto", "drop", "constant"}
            "auto" drops, unless something speaks against it.
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
        reason = _against_dropping(estimator, table, features or ())
        if removal == "drop" and reason:
            raise ValueError(f"removal='drop' cannot serve: {reason}.")
        if removal == "auto":
            keeps_places = reason or _lists_per_column(estimator)
            removal = "constant" if keeps_places else "drop"
        if removal == "drop":
            return cls(None)
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
        if not _column_transformers(refits.estimator):
            return part
        names = refits.table.column_names()
        gone = np.setdiff1d(np.arange(len(names)), columns)
        estimator = with_lists(refits.estimator, {names[j]: [] for j in gone})
        return replace(part, estimator=estimator)


def with_lists(estimator, instead):
    """An estimator whose ColumnTransformers ask for other columns.

    Parameters
    ----------
    estimator : estimator
        Not modified.
    instead : dict
        Name of a column -> names to ask for in its place. A transformer without any
        column left goes.

    Returns
    -------
    estimator
        An edited clone; the estimator itself if there is nothing to edit.
    """
    asked = {column for _, columns in _listed_columns(estimator) for column in columns}
    if not asked.intersection(instead):
        return estimator
    estimator = clone(estimator)
    for inside in _column_transformers(estimator):
        inside.transformers = [
            part
            for name, transformer, columns in inside.transformers
            for part in _edited(name, transformer, columns, instead)
        ]
    return estimator


def _edited(name, transformer, columns, instead):
    """Parts of a ColumnTransformer in place of one of them."""
    if isinstance(columns, str):  # the transformer takes one column, as a vector
        for copy, column in enumerate(instead.get(columns, [columns])):
            yield (f"{name}-{copy}" if copy else name), transformer, column
        return
    if not callable(columns):
        given = list(columns)
        columns = [new for old in given for new in instead.get(old, [old])]
        if given and not columns:
            return
    yield name, transformer, columns


def check_copies_reach(estimator, table):
    """Raise where a ColumnTransformer would not see copies of columns."""
    reason = _other_lists(estimator, table)
    if reason:
        raise ValueError(
            f"Shuffled copies of the columns would not reach the model: {reason}."
        )


def _against_dropping(estimator, table, features):
    """Why columns cannot be dropped, with the way out; or None."""
    for feature in features:
        if len(feature.columns) == table.n_columns:
            return f"it would leave no column without {feature.name!r}. Use 'constant'"
    reason = _other_lists(estimator, table)
    return reason and f"{reason}, or use removal='constant'"


def _other_lists(estimator, table):
    """Why lists of columns cannot be edited, with the way out; or None."""
    names = set(table.column_names())
    for part, columns in _listed_columns(estimator):
        for column in columns:
            if isinstance(column, str) and column in names:
                continue
            what = "columns by position, which shifts when others go"
            if isinstance(column, str):
                what = f"{column!r}, which is no column of X"
            return (
                f"the ColumnTransformer inside the estimator asks for {what} (its part "
                f"{part!r}). Name columns of X, or select them by type with "
                "make_column_selector"
            )
    return None


def _listed_columns(estimator):
    """(name, list of columns) of the parts of ColumnTransformers in an estimator."""
    for inside in _column_transformers(estimator):
        for part, _, columns in inside.transformers:
            if not callable(columns):
                several = np.iterable(columns) and not isinstance(columns, str)
                yield part, list(columns) if several else [columns]


def _column_transformers(estimator):
    inside = [estimator, *_deep_params(estimator).values()]
    return [part for part in inside if isinstance(part, ColumnTransformer)]


def _deep_params(estimator):
    has_params = hasattr(estimator, "get_params")
    return estimator.get_params(deep=True) if has_params else {}


def _lists_per_column(estimator):
    """Whether a parameter inside the estimator lists something for each column."""
    return any(
        name.split("__")[-1] in PER_COLUMN
        and np.iterable(value)
        and not isinstance(value, str)
        for name, value in _deep_params(estimator).items()
    )


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
