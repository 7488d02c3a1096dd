"""Entries of FIRM and their values: columns, groups of columns, feature functions."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from skvarimp._measures.firm.feature_function import FeatureFunction
from skvarimp._running.guards import users_code
from skvarimp.feature_functions import Linear


@dataclass(frozen=True)
class FunctionEntry:
    """A feature function that gets one importance; stands beside `Entry`.

    Attributes
    ----------
    name : str
    function : callable
        X -> (n_samples,).
    """

    name: str
    function: object
    columns: tuple = ()
    is_group: bool = False


def is_linear(entry):
    """Whether an entry is a linear function of X."""
    return bool(entry.columns) or isinstance(entry.function, Linear)


def resolve_entries(entries, feature_functions, table):
    """Entries from the `features` and `feature_functions` parameters.

    Parameters
    ----------
    entries : list of Entry
        Columns and groups; those of the `features` parameter.
    feature_functions : None, sequence or dict of callable
    table : Table

    Returns
    -------
    list of Entry and FunctionEntry
    """
    if feature_functions is None:
        return entries
    if callable(feature_functions) or isinstance(feature_functions, str):
        raise TypeError(
            "`feature_functions` must be a sequence or a dict label -> function, got "
            f"{feature_functions!r}. Use feature_functions=[...] for one."
        )
    if isinstance(feature_functions, Mapping):
        given = list(feature_functions.items())
    else:
        given = [(None, function) for function in feature_functions]
    entries = list(entries)
    for label, function in given:
        if not callable(function) or isinstance(function, type):
            is_class = isinstance(function, type)
            way_out = "Make an instance." if is_class else "Columns go into `features`."
            raise TypeError(
                "`feature_functions` takes callables X -> (n_samples,), got "
                f"{function!r}. {way_out}"
            )
        name = _label(function, table) if label is None else str(label)
        entries.append(FunctionEntry(name, function))
    if not entries:
        raise ValueError(
            "`feature_functions` is empty. Use feature_functions=None for each column."
        )
    name, count = Counter(entry.name for entry in entries).most_common(1)[0]
    if count > 1:
        raise ValueError(
            f"Two entries are called {name!r}. Use a dict label -> function for "
            "`feature_functions`."
        )
    return entries


def _label(function, table):
    if isinstance(function, FeatureFunction):
        return function.label(table.names, table.n_columns)
    return getattr(function, "__name__", type(function).__name__)


class Values:
    """Values of features at the rows, block by block.

    Parameters
    ----------
    table : Table
    """

    def __init__(self, table):
        self.table = table
        self.matrix = table.numeric()  # None where some columns are not numbers

    def block(self, features):
        """Numeric values of single columns and functions.

        Parameters
        ----------
        features : list of Entry and FunctionEntry

        Returns
        -------
        F : ndarray of shape (n_samples, n_entries)
            Codes of the categories where the values are not numbers.
        levels : dict
            Position in the block -> the categories in the order of their codes.
        """
        if self.matrix is not None and all(f.columns for f in features):
            F = self.matrix[:, [f.columns[0] for f in features]]
            return (F.toarray() if sparse.issparse(F) else F), {}
        F = np.empty((self.table.n_samples, len(features)))
        levels = {}
        for e, feature in enumerate(features):
            if feature.columns:
                values = self.table.column(feature.columns[0])
            else:
                values = self._of_function(feature)
            if values.dtype.kind not in "fbiu":
                codes, donors = self.table.factorize(feature.columns)
                levels[e], values = values[donors], codes
            F[:, e] = values
        return F, levels

    def _of_function(self, feature):
        known = isinstance(feature.function, FeatureFunction)
        with users_code():
            raw = feature.function(self.table if known else self.table.copy())
        try:
            values = np.asarray(raw, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(
                f"The feature function {feature.name!r} returned values that are not "
                "numbers. Return one number per row, such as 1 where a condition holds."
            ) from None
        if values.shape == (self.table.n_samples, 1):
            values = values[:, 0]
        if values.shape != (self.table.n_samples,):
            raise ValueError(
                f"The feature function {feature.name!r} returned shape {values.shape} "
                f"for {self.table.n_samples} rows. Return one number per row."
            )
        if not np.all(np.isfinite(values)):
            raise ValueError(
                f"The feature function {feature.name!r} returned NaN or infinity. "
                "Return finite numbers."
            )
        return values

    def group(self, feature):
        """Numeric columns of a group, (n_samples, n_members), or None."""
        values = self.group_values(feature, slice(None))
        return values.astype(np.float64) if values.dtype.kind in "fbiu" else None

    def group_values(self, feature, donors):
        """Joint values of the given rows, (n_donors, n_members)."""
        columns = [self.table.column(j)[donors] for j in feature.columns]
        kinds = {column.dtype.kind in "fbiu" for column in columns}
        if kinds != {True}:
            columns = [column.astype(object) for column in columns]
        return np.column_stack(columns)
