"""Features that are not columns: functions of the columns for `FIRMImportance`.

A feature function maps X to one number per row (Zien et al., eq. 6). Those here know
their columns by name or position, take any container, and have readable labels:

=======================================  =======================  ==================
function                                 value                    label
=======================================  =======================  ==================
``Product(0, 1)``                        x0 x1                    ``x0 * x1``
``Step(0, 0.5)``                         1 where x0 > 0.5         ``x0 > 0.5``
``Linear([2, 0, -1])``                   2 x0 - x2                ``2 * x0 - x2``
``Level("colour", "red")``               1 where it is "red"      ``colour == 'red'``
``Conjunction(0, Not(3))``               1 where all are true     ``x0 & ~x3``
``Disjunction(0, 3)``                    1 where any is true      ``x0 | x3``
``ExclusiveOr(0, 3)``                    1 where an odd number is ``x0 ^ x3``
``Not(0)``                               1 where it is not true   ``~x0``
=======================================  =======================  ==================

An operand is a column or another feature function; as a literal (of the last four) it
is true above 0, so codings 0/1, -1/+1 and False/True mean the same.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skvarimp._data.base_table import column_names, is_missing
from skvarimp._data.table import column_position
from skvarimp._measures.firm.features import (
    FeatureFunction,
    numbers_of,
    operand_text,
)
from skvarimp._types import Column, Floats

__all__ = [
    "Conjunction",
    "Disjunction",
    "ExclusiveOr",
    "FeatureFunction",
    "Level",
    "Linear",
    "Not",
    "Product",
    "Step",
]

SHOWN_TERMS = 6  # of a linear combination


class _OfSeveral(FeatureFunction):
    """A function of any number of operands; `symbol` joins their labels."""

    def __init__(self, *operands: Column | FeatureFunction) -> None:
        if not operands:
            raise TypeError(
                f"{type(self).__name__} needs at least one column, got none."
            )
        super().__init__(*operands)

    def _text(self, names, n_columns):
        return self.symbol.join(
            operand_text(operand, names, n_columns) for operand in self.arguments
        )


class Product(_OfSeveral):
    """Product of columns, an interaction feature.

    Parameters
    ----------
    *operands : str, int or FeatureFunction
        Columns, the factors; a column may occur more than once.

    Examples
    --------
    >>> from skvarimp.feature_functions import Product
    >>> Product(0, 1)([[2.0, 3.0], [4.0, -1.0]]).tolist()
    [6.0, -4.0]
    """

    symbol = " * "

    def _values(self, table):
        factors = [numbers_of(operand, table, self) for operand in self.arguments]
        return np.prod(factors, axis=0)


class Step(FeatureFunction):
    """1 where a column is above a threshold, else 0.

    Parameters
    ----------
    column : str, int or FeatureFunction
    threshold : float

    Examples
    --------
    >>> from skvarimp.feature_functions import Step
    >>> Step(0, 0.5)([[0.2], [0.7]]).tolist()
    [0.0, 1.0]
    """

    def __init__(self, column: Column | FeatureFunction, threshold: float) -> None:
        if not isinstance(threshold, numbers.Real) or not np.isfinite(threshold):
            raise ValueError(f"`threshold` must be a finite number, got {threshold!r}.")
        super().__init__(column, threshold)

    def _values(self, table):
        column, threshold = self.arguments
        return (numbers_of(column, table, self) > threshold).astype(np.float64)

    def _text(self, names, n_columns):
        column, threshold = self.arguments
        return f"{operand_text(column, names, n_columns)} > {threshold:.6g}"


class Linear(FeatureFunction):
    """A weighted sum of columns, a'x.

    Parameters
    ----------
    weights : array-like of shape (n_features,) or dict
        One weight per column, or a dict column -> weight.

    Examples
    --------
    >>> from skvarimp.feature_functions import Linear
    >>> Linear([2, -1])([[1.0, 3.0]]).tolist()
    [-1.0]
    >>> Linear({"age": 0.5}).label(["age", "bmi"])
    '0.5 * age'
    """

    _is_linear = True

    def __init__(self, weights: Mapping[Any, float] | ArrayLike) -> None:
        if isinstance(weights, Mapping):
            values = _as_numbers(list(weights.values())).tolist()
            weights = tuple(zip(weights, values))
        else:
            weights = _as_numbers(weights)
            if weights.ndim != 1:
                raise ValueError(
                    "`weights` must be 1-dimensional, one weight per column, got shape "
                    f"{weights.shape}."
                )
            weights = values = tuple(weights.tolist())
        if not values or not np.all(np.isfinite(values)):
            raise ValueError("`weights` must be finite numbers, at least one.")
        super().__init__(weights)

    def __repr__(self):
        weights = self.arguments[0]
        by_column = isinstance(weights[0], tuple)
        return f"Linear({dict(weights) if by_column else list(weights)})"

    def coefficients(self, names: Sequence[str] | None, n_columns: int) -> Floats:
        """Weights of all columns.

        Parameters
        ----------
        names : sequence of str or None
        n_columns : int

        Returns
        -------
        ndarray of shape (n_columns,)
        """
        weights = self.arguments[0]
        if not isinstance(weights[0], tuple):
            if len(weights) != n_columns:
                raise ValueError(
                    f"`weights` of Linear has {len(weights)} numbers, but X has "
                    f"{n_columns} columns. Use a dict column -> weight for some."
                )
            return np.array(weights)
        result = np.zeros(n_columns)
        for column, weight in weights:
            result[column_position(column, names, n_columns)] += weight
        return result

    def _values(self, table):
        weights = self.coefficients(table.names, table.n_columns)
        result = np.zeros(table.n_samples)
        for j in np.flatnonzero(weights):
            result += weights[j] * numbers_of(int(j), table, self)
        return result

    def _text(self, names, n_columns):
        if n_columns is None:
            return repr(self)
        weights = self.coefficients(names, n_columns)
        labels = column_names(names, n_columns)
        used = np.flatnonzero(weights)
        if len(used) == 0:
            return "0"
        if len(used) > SHOWN_TERMS:
            return f"linear in {len(used)} columns"
        terms = [_term(weights[j], labels[j]) for j in used]
        return " + ".join(terms).replace("+ -", "- ")


class Level(FeatureFunction):
    """1 where a column has one value, else 0; for categories.

    Parameters
    ----------
    column : str or int
    value : object
        Compared with ==; None or NaN: where the value is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from skvarimp.feature_functions import Level
    >>> Level(0, "red")(np.array([["red"], ["blue"]], dtype=object)).tolist()
    [1.0, 0.0]
    """

    def __init__(self, column: Column, value: Any) -> None:
        super().__init__(column, value)

    def _values(self, table):
        column, value = self.arguments
        if np.ndim(value) > 0:
            raise TypeError(
                f"`value` must be one value of the column, got {value!r:.60}. Use a "
                "callable for membership in a set."
            )
        j = column_position(column, table.names, table.n_columns)
        codes, first = table.factorize((j,))
        levels = table.column(j)[first].tolist()
        absent = is_missing(value)
        same = [absent if is_missing(v) else not absent and v == value for v in levels]
        return np.array(same, dtype=np.float64)[codes]

    def _text(self, names, n_columns):
        column, value = self.arguments
        return f"{operand_text(column, names, n_columns)} == {value!r}"


class _Boolean(_OfSeveral):
    """A function of literals, whose truth the ufunc `_joined` puts together."""

    def _values(self, table):
        truth = [numbers_of(literal, table, self) > 0 for literal in self.arguments]
        return self._joined.reduce(truth, axis=0).astype(np.float64)


class Conjunction(_Boolean):
    """1 where all literals are true, else 0.

    Parameters
    ----------
    *operands : str, int or FeatureFunction
        Literals: columns, true above 0, or `Not` of them, or other feature functions.

    Examples
    --------
    >>> from skvarimp.feature_functions import Conjunction, Not
    >>> Conjunction(0, Not(1))([[1, 0], [1, 1], [0, 0]]).tolist()
    [1.0, 0.0, 0.0]
    """

    symbol, _joined = " & ", np.logical_and


class Disjunction(_Boolean):
    """1 where any literal is true, else 0.

    Parameters
    ----------
    *operands : str, int or FeatureFunction
        Literals: columns, true above 0, or `Not` of them, or other feature functions.

    Examples
    --------
    >>> from skvarimp.feature_functions import Disjunction
    >>> Disjunction(0, 1)([[1, -1], [-1, -1]]).tolist()
    [1.0, 0.0]
    """

    symbol, _joined = " | ", np.logical_or


class ExclusiveOr(_Boolean):
    """1 where an odd number of literals is true (the parity), else 0.

    Parameters
    ----------
    *operands : str, int or FeatureFunction
        Literals: columns, true above 0, or `Not` of them, or other feature functions.

    Examples
    --------
    >>> from skvarimp.feature_functions import ExclusiveOr
    >>> ExclusiveOr(0, 1)([[1, 0], [1, 1], [0, 0]]).tolist()
    [1.0, 0.0, 0.0]
    """

    symbol, _joined = " ^ ", np.logical_xor


class Not(FeatureFunction):
    """1 where a literal is not true, else 0.

    Parameters
    ----------
    literal : str, int or FeatureFunction
        A column, true above 0, or another feature function.

    Examples
    --------
    >>> from skvarimp.feature_functions import Not
    >>> Not(0)([[1], [0]]).tolist()
    [0.0, 1.0]
    """

    is_atom = True

    def __init__(self, literal: Column | FeatureFunction) -> None:
        super().__init__(literal)

    def _values(self, table):
        truth = numbers_of(self.arguments[0], table, self) > 0
        return (~truth).astype(np.float64)

    def _text(self, names, n_columns):
        return f"~{operand_text(self.arguments[0], names, n_columns)}"


def _as_numbers(weights):
    try:
        return np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"`weights` must be numbers, got {weights!r:.60}.") from None


def _term(weight, label):
    if weight == 1:
        return label
    if weight == -1:
        return f"-{label}"
    return f"{weight:.6g} * {label}"
