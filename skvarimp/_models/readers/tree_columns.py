"""How the splits of boosting libraries see the columns of X."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skvarimp._data.values import factorized, is_missing
from skvarimp._models.forms import NotReadable
from skvarimp._models.trees import Encoding, single


@dataclass(frozen=True)
class Recoded:
    """Categories by their numbers, NaN where there is none.

    Attributes
    ----------
    categories : sequence
        In the order of their numbers.
    """

    categories: Sequence

    def __call__(self, values):
        """(n,) float64 of values of any type."""
        codes, first = factorized(values)
        number_of = {category: k for k, category in enumerate(self.categories)}
        numbers = [
            np.nan if is_missing(level) else number_of.get(level, np.nan)
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


def encoding_of(trees, others_left, single, encoders_of):
    """The encoding of the columns that raw trees split on.

    Parameters
    ----------
    trees : list of Tree
        `sets` hold the numbers of the categories that a split names. They are replaced
        by whether each category goes left, by its position.
    others_left : bool
        Whether categories that a split does not name go left.
    single : bool
        Whether numbers are compared in single precision.
    encoders_of : callable
        encoders_of(column, nominal) -> list of encoders, to numbers of categories
        where a column is nominal.
    """
    named, numeric = {}, {-1}  # -1 of leaves
    for tree in trees:
        for node, numbers in tree.sets.items():
            named.setdefault(int(tree.column[node]), set()).update(numbers)
        numeric.update(np.delete(tree.column, list(tree.sets)).tolist())
    if numeric & set(named):
        raise NotReadable("a column is split both as a number and as categories")
    named = {j: np.array(sorted(numbers)) for j, numbers in named.items()}
    for tree in trees:
        for node, numbers in tree.sets.items():
            names = np.isin(named[int(tree.column[node])], numbers)
            tree.sets[node] = np.append(names != others_left, others_left)
    n_categories = {j: len(numbers) + 1 for j, numbers in named.items()}
    encoders = {j: [*encoders_of(j, j in named)] for j in numeric - {-1} | set(named)}
    for j, numbers in named.items():
        encoders[j].append(Positions(numbers))
    encoders = {j: of_column for j, of_column in encoders.items() if of_column}
    return Encoding(single, n_categories, encoders)
