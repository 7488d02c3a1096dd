"""`Rows`: those that a walk evaluates, all or a block; `RowOrder`: as drawn."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skvarimp._data.statistics import Units
from skvarimp._running.memory import even_slices


@dataclass(eq=False)
class Rows:
    """Rows of a table that are evaluated as features move.

    Attributes
    ----------
    table : Table
        Its rows are also the donors; all have positive weight.
    index : ndarray of shape (n_rows,)
        Which rows of the table are evaluated.
    weights : ndarray of shape (n_rows,)
        Over all blocks they sum to 1.
    base : ndarray of shape (n_outputs, n_rows)
        The response of the rows, unmoved.
    units : Units or None
        All rows of all walks together, for standard errors.
    y : ndarray of shape (n_rows, ...) or None
    place : slice or ndarray, default=None
        Where these stand among the rows of which they are a block; None: at first.
    """

    table: object
    index: np.ndarray
    weights: np.ndarray
    base: np.ndarray
    units: Units | None = None
    y: np.ndarray | None = None
    place: slice | np.ndarray | None = None

    def __post_init__(self):
        if self.place is None:
            self.place = slice(0, len(self.index))

    def __len__(self):
        return len(self.index)

    @cached_property
    def size(self):
        """The largest unmoved response, (n_outputs,)."""
        return np.abs(self.base).max(axis=1)

    @cached_property
    def level(self):
        """The mean unmoved response, (n_outputs,)."""
        return self.base @ self.weights

    @property
    def squared_deviations(self):
        """Of the unmoved responses from their mean, (n_outputs, n_rows)."""
        return (self.base - self.level[:, np.newaxis]) ** 2

    def block(self, part):
        """Some of the rows: a slice, or an array of positions, which stand at first."""
        place = None
        if isinstance(part, slice):
            start = self.place.start
            place = slice(start + part.start, start + part.stop)
        return replace(
            self,
            index=self.index[part],
            weights=self.weights[part],
            base=self.base[:, part],
            y=None if self.y is None else self.y[part],
            place=place,
        )

    def blocks(self, size):
        """Yield blocks of at most `size` rows each."""
        for part in even_slices(len(self), size):
            yield self.block(part)

    def alone(self, part, units=None, weights=None):
        """Some of the rows as if there were no others.

        Parameters
        ----------
        part : ndarray of int
        units : Units, default=None
        weights : ndarray of shape (n_part,), default=None
            They sum to 1. None: those of the rows, in proportion.
        """
        if weights is None:
            weights = self.weights[part] / self.weights[part].sum()
        return Rows(
            self.table,
            self.index[part],
            weights,
            np.ascontiguousarray(self.base[:, part]),
            units,
            None if self.y is None else self.y[part],
        )


@dataclass(frozen=True, eq=False)
class RowOrder:
    """Rows in the order in which they are drawn: by size, without replacement.

    With s the sizes in descending order, the first a of m rows are drawn for certain,
    and the others with a chance in proportion to their size,

        p[i] = min(1, s[i] / t),    t = (sum of s[i] of the others) / (m - a),

    with the smallest a for which the chances are at most 1. They sum to m. In means
    over the first m rows a row weighs w[i] / p[i], which has no bias. The weights of
    the rows that are not certain are then divided by their sum, so that they stand for
    the weight of all such rows. For even sizes the order is purely random.

    One row after the other is left out, from m = n on: of m + 1 rows, each with the
    chance that makes its p of m + 1 that of m; these chances sum to 1. (Tillé, "An
    elimination procedure for unequal probability sampling without replacement",
    Biometrika 83, 1996.)

    Attributes
    ----------
    rows : ndarray of shape (n_rows,)
        Positions, the first drawn first.
    weights, sizes : ndarray of shape (n_rows,)
        Of these; the weights sum to 1.
    least : ndarray of shape (n_rows + 1,)
        The t of each m; 0 where all rows are drawn.
    """

    rows: np.ndarray
    weights: np.ndarray
    sizes: np.ndarray
    least: np.ndarray

    @classmethod
    def drawn(cls, weights, seed, times=1.0):
        """An order of rows with such weights; their sizes are some times the weights.

        Parameters
        ----------
        weights : ndarray of shape (n_rows,)
        seed : int
        times : ndarray of shape (n_rows,), default=1.0
        """
        random, sizes = np.random.default_rng([seed, 2]), weights * times
        rows = np.argsort(sizes, kind="stable")
        certain, least = _certain_rows(sizes[rows])
        if sizes.min() == sizes.max():
            rows = random.permutation(rows)  # the same chances in less time
        else:
            last_first = _order_of_elimination(sizes[rows], certain, least, random)
            rows = rows[last_first[::-1]]
        return cls(rows, weights[rows], sizes[rows], least)

    def __len__(self):
        return len(self.rows)

    def first(self, m):
        """The first m rows in their own order, their `shares` and `chances`."""
        ascending = np.argsort(self.rows[:m])
        numbers = self.rows[:m], self.shares(m), self.chances(m)
        return [values[ascending] for values in numbers]

    def chances(self, m):
        """How likely each of the first m rows is among them, (m,)."""
        sizes = self.sizes[:m]
        return sizes / np.maximum(sizes, self.least[m])

    def shares(self, m):
        """Weights of the first m rows as a sample of all: they sum to 1, (m,)."""
        if m == len(self):
            return self.weights
        rest = self.sizes < self.least[m]  # not certain
        shares, drawn = self.weights[:m].copy(), rest[:m]
        of_rest = shares[drawn] / self.chances(m)[drawn]
        shares[drawn] = of_rest * (self.weights[rest].sum() / of_rest.sum())
        return shares


def _certain_rows(sizes):
    """How many of m rows are drawn for certain, and the t of m, for m = 0 to n.

    Parameters
    ----------
    sizes : ndarray of shape (n_rows,)
        Ascending.
    """
    n, m = len(sizes), np.arange(len(sizes))
    rest = np.cumsum(sizes)[::-1]  # without the a largest ones, for a = 0 to n - 1
    # the next row has a chance below 1 where its size times m - a is below the rest
    certain = np.searchsorted(m + rest / sizes[::-1], m, side="right")
    certain = np.minimum(certain, np.maximum(m - 1, 0))
    least = rest[certain] / np.maximum(m - certain, 1)
    return np.append(certain, n), np.append(least, 0.0)


def _order_of_elimination(sizes, certain, least, random):
    """Rows in the order in which they are left out, the last one drawn first.

    Of m + 1 rows, those that are not certain of being among them are equally likely to
    be left out. Others are newcomers, if they are not certain of being among m rows.

    Parameters
    ----------
    sizes : ndarray of shape (n_rows,)
        Ascending.
    certain, least : ndarray of shape (n_rows + 1,)
        Of each m.
    random : Generator
    """
    n = len(sizes)
    done = np.arange(n - 1)  # rows left out before
    m = n - 1 - done
    start, stop = n - certain[m + 1], n - certain[m]  # of the newcomers
    of_newcomer = np.searchsorted(certain, n - np.arange(n)) - 1  # the largest m
    newcomers = np.maximum(1.0 - sizes / least[of_newcomer], 0.0)
    ends = np.append(0.0, np.cumsum(newcomers))
    chance = 1.0 - least[m + 1] / least[m]
    others = np.where(start > done, (start - done) * chance, 0.0)
    point = random.random(n - 1)
    at = np.searchsorted(ends, ends[start] + point - others, side="right") - 1
    at = np.clip(at, start, stop - 1)
    old = point < others
    at[old] = done[old] + (point[old] / chance[old]).astype(np.intp)
    rows = list(range(n))
    for first, place in enumerate(np.maximum(at, done).tolist()):
        rows[first], rows[place] = rows[place], rows[first]
    return np.array(rows)
