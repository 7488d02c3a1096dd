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

    As many rows as are drawn at most are a systematic sample of all rows in random
    order, with these chances: where the sums of p pass U, U + 1 and so on, U uniform in
    [0, 1). Then one row after the other is left out: of m + 1 rows, each with the
    chance that makes its p of m + 1 that of m. Among the rows that are left, these
    chances sum to 1: all rows that are not certain of being among m + 1 rows have the
    same one, and any others with a chance of being left out are there for certain.
    (Tillé, "An elimination procedure for unequal probability sampling without
    replacement", Biometrika 83, 1996.)

    Attributes
    ----------
    rows : ndarray of shape (n_most,)
        Positions, the first drawn first. The others are never drawn.
    weights, sizes : ndarray of shape (n_most,)
        Of these; the weights of all rows sum to 1.
    least : ndarray of shape (n_most + 1,)
        The t of each m; 0 where all rows are drawn.
    n_rows : int
        All of them.
    undrawn_weight : float
        Of the rows that are never drawn.
    """

    rows: np.ndarray
    weights: np.ndarray
    sizes: np.ndarray
    least: np.ndarray
    n_rows: int
    undrawn_weight: float

    @classmethod
    def drawn(cls, weights, seed, n_most, times=1.0):
        """An order of rows with such weights; their sizes are some times the weights.

        Parameters
        ----------
        weights : ndarray of shape (n_rows,)
        seed : int
        n_most : int
            How many rows are drawn at most.
        times : ndarray of shape (n_rows,), default=1.0
        """
        random, sizes = np.random.default_rng([seed, 2]), weights * times
        n_smaller = len(sizes) - n_most
        by_size = np.argpartition(sizes, n_smaller)
        smaller, rows = by_size[:n_smaller], np.sort(by_size[n_smaller:])
        rows = rows[np.argsort(sizes[rows], kind="stable")]
        certain, least = _certain_rows(sizes[rows], sizes[smaller])
        if sizes.min() == sizes.max():
            rows = random.permutation(len(sizes))[:n_most]  # the same in less time
        else:
            if n_smaller:
                n_rest = n_most - certain[-1]
                rest = np.append(smaller, rows[:n_rest])
                rest = rest[_systematic_sample(sizes[rest], n_rest, random)]
                rows = np.append(rest, rows[n_rest:])
            last_first = _order_of_elimination(sizes[rows], certain, least, random)
            rows = rows[last_first[::-1]]
        undrawn = float(np.delete(weights, rows).sum())
        return cls(rows, weights[rows], sizes[rows], least, len(sizes), undrawn)

    def __len__(self):
        return self.n_rows

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
        least = self.least[m]
        if least == 0:
            return self.weights
        rest = self.sizes < least  # not certain
        shares, drawn = self.weights[:m].copy(), rest[:m]
        of_rest = shares[drawn] / self.chances(m)[drawn]
        weight = self.weights[rest].sum() + self.undrawn_weight
        shares[drawn] = of_rest * (weight / of_rest.sum())
        return shares


def _certain_rows(sizes, smaller):
    """How many of m rows are drawn for certain, and the t of m, from m = 0 on.

    Parameters
    ----------
    sizes : ndarray of shape (n_most,)
        The largest ones, ascending.
    smaller : ndarray of shape (n_rows - n_most,)
        The others.
    """
    m = np.arange(len(sizes) + 1)
    # without the a largest ones, for a = 0 to n_most - 1
    rest = smaller.sum() + np.cumsum(sizes)[::-1]
    # the next row has a chance below 1 where its size times m - a is below the rest
    certain = np.searchsorted(m[:-1] + rest / sizes[::-1], m, side="right")
    certain = np.minimum(certain, np.maximum(m - 1, 0))
    least = rest[certain] / np.maximum(m - certain, 1)
    if not len(smaller):
        certain[-1], least[-1] = len(sizes), 0.0
    return certain, least


def _systematic_sample(sizes, m, random):
    """Positions of m rows, drawn with chances in proportion to their sizes.

    No size is above the m-th part of all.
    """
    rows = random.permutation(len(sizes))
    ends = np.cumsum(sizes[rows])
    points = (np.arange(m) + random.random()) / m * ends[-1]
    return rows[np.searchsorted(ends[:-1], points, side="right")]


def _order_of_elimination(sizes, certain, least, random):
    """Rows in the order in which they are left out, the last one drawn first.

    Of m + 1 rows, those that are not certain of being among them are equally likely to
    be left out. Others are newcomers, if they are not certain of being among m rows.

    Parameters
    ----------
    sizes : ndarray of shape (n_most,)
        Those of certain rows are ascending, and last.
    certain, least : ndarray of shape (n_most + 1,)
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
    others = np.maximum(start - done, 0) * chance
    point = random.random(n - 1)
    at = np.searchsorted(ends, ends[start] + point - others, side="right") - 1
    at = np.clip(at, start, stop - 1)
    old = point < others
    at[old] = done[old] + (point[old] / chance[old]).astype(np.intp)
    rows = list(range(n))
    for first, place in enumerate(np.maximum(at, done).tolist()):
        rows[first], rows[place] = rows[place], rows[first]
    return np.array(rows)
