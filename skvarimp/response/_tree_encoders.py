"""How boosting libraries see a column before their splits compare it.

Functions of a column's values, (n,) -> (n,), chained for one column in the order in
which `Ensemble.encoders` lists them. Categories that no split of a column names share
one position, behind those that are named.
"""

from dataclasses import dataclass

import numpy as np

from skvarimp._table import is_missing
from skvarimp.response._lowering import NotLowerable


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
        numbers = (
            np.nan if is_missing(v) else self.number_of.get(v, np.nan)
            for v in values.tolist()
        )
        return np.fromiter(numbers, dtype=np.float64, count=len(values))


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
    """Numbers next to 0, which stand for 0 or for a missing value.

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


def single(values):
    """Numbers in single precision; those too large become infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(values).astype(np.float32)


def used_columns(trees):
    """Columns that any of some raw trees splits on, ascending."""
    columns = np.unique(np.concatenate([tree.column for tree in trees]))
    return columns[columns >= 0].tolist()


def number_categories(trees, others_left):
    """Turn the sets of raw trees from categories' numbers to their positions.

    Parameters
    ----------
    trees : list of RawTree
        `sets` as wide as the largest number in a tree; changed in place.
    others_left : bool
        Whether categories that a split does not name go left.

    Returns
    -------
    dict
        Column -> its named categories, ascending.
    """
    named, numeric = {}, set()
    for tree in trees:
        nominal = np.zeros(len(tree.column), dtype=bool)
        if tree.left_set is not None:
            nominal = tree.left_set >= 0
            for node in np.flatnonzero(nominal):
                of_node = np.flatnonzero(tree.sets[tree.left_set[node]] != others_left)
                named.setdefault(int(tree.column[node]), set()).update(of_node.tolist())
        numeric.update(tree.column[~nominal & (tree.column >= 0)].tolist())
    if numeric & set(named):
        raise NotLowerable("a column is split as a number here, as categories there")
    if not named:
        return {}
    named = {j: np.array(sorted(numbers)) for j, numbers in named.items()}
    width = 1 + max(len(numbers) for numbers in named.values())
    for tree in trees:
        _renumber(tree, named, width, others_left)
    return named


def _renumber(tree, named, width, others_left):
    n_sets = 0 if tree.sets is None else len(tree.sets)
    sets = np.full((n_sets, width), others_left)
    if tree.left_set is None:
        tree.left_set = np.full(len(tree.column), -1)
    for node in np.flatnonzero(tree.left_set >= 0):
        s, numbers = tree.left_set[node], named[int(tree.column[node])]
        inside = numbers < tree.sets.shape[1]
        sets[s, np.flatnonzero(inside)] = tree.sets[s, numbers[inside]]
    tree.sets = sets
