"""How trees see a column before their splits compare it.

Encoders are functions of a column's values, (n,) -> (n,). All categories that no split
names share one position, after those of the named categories.
"""

from dataclasses import dataclass, field

import numpy as np

from skvarimp._compiled import use_compiled
from skvarimp._data.values import factorized, is_missing
from skvarimp._models.forms import NotReadable


@dataclass(frozen=True)
class Recoded:
    """Categories by their numbers, NaN where there is none.

    Attributes
    ----------
    number_of : dict
        Category -> number.
    """

    number_of: dict

    def __call__(self, values):
        """(n,) float64 of values of any type."""
        codes, first = factorized(values)
        numbers = [
            np.nan if is_missing(level) else self.number_of.get(level, np.nan)
            for level in values[first].tolist()
        ]
        return np.array(numbers, dtype=np.float64)[codes]


@dataclass(frozen=True)
class Marked:
    """A number that stands for a missing value, told in single precision.

    Attributes
    ----------
    marker : float
    """

    marker: float

    def __call__(self, values):
        """(n,) float64 of numbers."""
        values = np.asarray(values, dtype=np.float64)
        same = single(values) == np.float32(self.marker)
        return np.where(same, np.nan, values)


@dataclass(frozen=True)
class Band:
    """Numbers near 0, which stand for 0 or for a missing value.

    Attributes
    ----------
    width : float
        Largest distance from 0.
    number : float
        What they stand for.
    """

    width: float
    number: float

    def __call__(self, values):
        """(n,) float64 of numbers."""
        values = np.asarray(values, dtype=np.float64)
        return np.where(np.abs(values) <= self.width, self.number, values)


@dataclass(frozen=True)
class Positions:
    """Categories' numbers, cut to integers, by their positions among the named ones.

    Attributes
    ----------
    named : ndarray of shape (n_named,)
        Ascending; other numbers have the position n_named.
    """

    named: np.ndarray

    def __call__(self, values):
        """(n,) float64 of numbers; NaN stays."""
        values = np.trunc(np.asarray(values, dtype=np.float64))
        position = np.searchsorted(self.named, values)
        found = np.append(self.named, np.nan)[position] == values
        position = np.where(found, position, len(self.named)).astype(np.float64)
        return np.where(np.isnan(values), np.nan, position)


@dataclass
class Encoding:
    """From the values of a table's columns to the numbers that splits compare.

    Attributes
    ----------
    single : bool
        Whether numbers are compared in single precision.
    n_categories : dict
        Categorical column -> how many positions its categories have.
    encoders : dict
        Column -> the encoders of its values, applied one after the other.
    """

    single: bool = True
    n_categories: dict = field(default_factory=dict)
    encoders: dict = field(default_factory=dict)

    def on(self, columns):
        """The encoding of a wider table, of which this one sees some columns."""
        n_categories = {int(columns[j]): n for j, n in self.n_categories.items()}
        encoders = {int(columns[j]): of_one for j, of_one in self.encoders.items()}
        return Encoding(self.single, n_categories, encoders)

    def numbers(self, column, values):
        """Numbers, or positions of categories, (n,) float64; NaN where missing.

        Parameters
        ----------
        column : int
        values : ndarray of shape (n,)
            Of any type.
        """
        for encode in self.encoders.get(column, ()):
            values = encode(values)
        try:
            if self.single and column not in self.n_categories:
                values = single(values)
            return np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):  # dates, which the model made numbers of
            raise NotReadable("a column that trees split on holds no numbers") from None


def single(values):
    """Numbers in single precision; those too large become infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(values).astype(np.float32)


def codes_counter():
    """`count_below`: the compiled kernel, or what does the same."""
    if not use_compiled():
        return count_below
    from skvarimp._compiled.tree_credit import count_below as compiled

    return compiled


def count_below(cuts, numbers, codes):
    """Fill `codes` with how many cuts lie below each number; all below NaN."""
    codes[:] = np.searchsorted(cuts, numbers)
