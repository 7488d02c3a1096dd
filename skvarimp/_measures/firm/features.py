"""Features of FIRM and their values: columns, groups of columns, feature functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skvarimp._data.base_table import column_names, dense
from skvarimp._data.frames import FrameTable
from skvarimp._data.table import as_table, column_position
from skvarimp._running.guards import users_code
from skvarimp._types import Floats, Matrix

EXACT = 2.0**53  # beyond it float64 has no whole number of its own for each


class FeatureFunction:
    """A function of the columns of X with a label.

    A subclass keeps its arguments in `arguments` and implements `_values(table)`, the
    values at the rows, and `_text(names, n_columns)`, the label.

    Attributes
    ----------
    arguments : tuple
        As passed; equality, hash and repr follow from them.
    is_atom : bool
        Whether the label stands in another one without parentheses.
    """

    is_atom = False
    _is_linear = False  # a'x, with `coefficients`

    def __init__(self, *arguments: Any) -> None:
        self.arguments = arguments

    def __call__(self, X: Matrix) -> Floats:
        """Values at the rows of X.

        Parameters
        ----------
        X : {array, frame, sparse} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._values(as_table(X))

    def label(
        self, names: Sequence[str] | None = None, n_columns: int | None = None
    ) -> str:
        """Readable formula.

        Parameters
        ----------
        names : sequence of str, default=None
            Names of X's columns; None: `x0`, `x1`, ...
        n_columns : int, default=None
            Number of columns of X; not needed with names.

        Returns
        -------
        str
        """
        if n_columns is None and names is not None:
            n_columns = len(names)
        return self._text(names, n_columns)

    def __eq__(self, other):
        return type(self) is type(other) and self.arguments == other.arguments

    def __hash__(self):
        return hash((type(self), self.arguments))

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(map(repr, self.arguments))})"


def numbers_of(operand, table, function):
    """Values of a column or feature function as finite float64."""
    if isinstance(operand, FeatureFunction):
        return operand(table)
    j = column_position(operand, table.names, table.n_columns)
    values, name = table.column(j), table.column_names()[j]
    kind = type(function).__name__
    if values.dtype.kind not in "fbiu":
        raise TypeError(
            f"{kind} needs numbers, but feature {name!r} has other values, such as "
            f"{values[0]!r}. Use Level({operand!r}, {values[0]!r}) as the operand."
        )
    values = values.astype(np.float64, copy=False)
    if not np.all(np.isfinite(values)):
        raise ValueError(
            f"{kind} needs finite numbers, but feature {name!r} has missing or "
            "infinite values. Fill them in or leave the rows out."
        )
    return values


def operand_text(operand, names, n_columns):
    """The operand's label inside another one."""
    if isinstance(operand, FeatureFunction):
        text = operand._text(names, n_columns)
        return text if operand.is_atom else f"({text})"
    if n_columns is None:  # a label before X is known
        return operand if isinstance(operand, str) else f"x{operand}"
    return column_names(names, n_columns)[column_position(operand, names, n_columns)]


@dataclass(frozen=True)
class FunctionFeature:
    """A feature function that gets one importance; stands beside `Feature`.

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


def is_linear(feature):
    """Whether a feature is a linear function of X."""
    return bool(feature.columns) or getattr(feature.function, "_is_linear", False)


def with_functions(features, feature_functions, table):
    """Features from the `features` and `feature_functions` parameters.

    Parameters
    ----------
    features : list of Feature
        Columns and groups; those of the `features` parameter.
    feature_functions : None, sequence or dict of callable
    table : Table

    Returns
    -------
    list of Feature and FunctionFeature
    """
    if feature_functions is None:
        return features
    if isinstance(feature_functions, Mapping):
        given = feature_functions.items()
    else:
        given = [(None, function) for function in feature_functions]
    features = list(features)
    for label, function in given:
        if not callable(function) or isinstance(function, type):
            is_class = isinstance(function, type)
            way_out = "Make an instance." if is_class else "Columns go into `features`."
            raise TypeError(
                "`feature_functions` takes callables X -> (n_samples,), got "
                f"{function!r}. {way_out}"
            )
        name = _label(function, table) if label is None else str(label)
        features.append(FunctionFeature(name, function))
    if not features:
        raise ValueError(
            "`feature_functions` is empty. Use feature_functions=None for each column."
        )
    name, count = Counter(feature.name for feature in features).most_common(1)[0]
    if count > 1:
        raise ValueError(
            f"Two features are called {name!r}. Use a dict label -> function for "
            "`feature_functions`."
        )
    return features


def _label(function, table):
    if isinstance(function, FeatureFunction):
        return function.label(table.names, table.n_columns)
    return getattr(function, "__name__", type(function).__name__)


class Values:
    """Values of features at the rows, block by block.

    Parameters
    ----------
    table : Table
    categorical : frozenset of int, default=frozenset()
        Columns of numbers that are names of categories, besides those by type.
    """

    def __init__(self, table, categorical=frozenset()):
        self.table, self.categorical = table, categorical
        self.matrix = table.numeric()  # None where some columns are not numbers
        self._are_plain = self.matrix is not None and not categorical
        if self._are_plain and isinstance(table, FrameTable):
            columns = map(table.column, range(table.n_columns))
            kinds = [column.dtype.kind for column in columns]
            self._are_plain = not any(
                kind != "b" and table.is_categorical(j) for j, kind in enumerate(kinds)
            )
        if self._are_plain and self.matrix.size:
            largest = max(abs(self.matrix.max()), abs(self.matrix.min()))
            self._are_plain = not largest > EXACT

    def block(self, features):
        """Numeric values of features.

        Parameters
        ----------
        features : list of Feature and FunctionFeature

        Returns
        -------
        F : ndarray of shape (n_samples, n_features)
            Codes of the values of a group, and of values that are not numbers.
        levels : dict
            Position in the block -> those values in the order of their codes.
        """
        if self._are_plain and all(len(f.columns) == 1 for f in features):
            return dense(self.matrix[:, [f.columns[0] for f in features]]), {}
        F = np.empty((self.table.n_samples, len(features)))
        levels = {}
        for e, feature in enumerate(features):
            if feature.is_group:
                values = self.group(feature)
            elif feature.columns:
                values = self.table.column(feature.columns[0])
            else:
                values = self._function_values(feature)
            if feature.is_group or self._are_levels(feature, values):
                codes, donors = self.table.factorize(feature.columns)
                levels[e], values = values[donors], codes
            F[:, e] = values - self.offset(feature)
        return F, levels

    def _are_levels(self, feature, values):
        """Whether values are not numbers, or are numbers that name categories."""
        if values.dtype.kind not in "fbiu":
            return True
        if values.dtype.kind == "b" or not feature.columns:
            return False
        (j,) = feature.columns
        return j in self.categorical or self.table.is_categorical(j)

    def offset(self, feature):
        """What is subtracted from whole numbers that float64 cannot tell apart."""
        if feature.is_group or not feature.columns:
            return 0
        values = self.table.column(feature.columns[0])
        if values.dtype.kind not in "iu" or self._are_levels(feature, values):
            return 0
        return values.min() if np.abs(values.astype(float)).max() > EXACT else 0

    def _function_values(self, feature):
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
        """Columns of a group, (n_samples, n_members): objects, if not all numbers."""
        columns = [self.table.column(j) for j in feature.columns]
        kinds = {column.dtype.kind in "fbiu" for column in columns}
        if kinds != {True}:
            columns = [column.astype(object) for column in columns]
        return np.column_stack(columns)
