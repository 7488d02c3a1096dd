"""The base of feature functions, and their operands: columns or other functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skvarimp._data.entries import column_names, column_position
from skvarimp._data.table import as_table
from skvarimp._types import Floats, Matrix


class FeatureFunction:
    """A function of the columns of X with a label.

    A subclass keeps its arguments in `arguments` and implements `_values` and `_text`.

    Attributes
    ----------
    arguments : tuple
        As passed; equality, hash and repr follow from them.
    is_atom : bool
        Whether the label stands in another one without parentheses.
    """

    is_atom = False

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

    def _values(self, table):
        raise NotImplementedError

    def _text(self, names, n_columns):
        raise NotImplementedError

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
