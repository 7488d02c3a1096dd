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
    """Rows in the order in which they are drawn: by weight, without replacement.

    The order is that of U[i] / w[i], with U[i] uniform in [0, 1). Let t be this number
    of the row behind the first m. Then the rows with w[i] t >= 1 are among these for
    certain, and others with the chance w[i] t. So the former keep their weights in
    means over the first m rows, and the latter share equally what these leave. For even
    weights the order is purely random. (Ohlsson, "Sequential Poisson sampling", Journal
    of Official Statistics 14, 1998.)

    Attributes
    ----------
    rows : ndarray of shape (n_rows,)
        Positions, the first drawn first.
    places : ndarray of shape (n_rows,)
        U[i] / w[i] of these, ascending.
    weights : ndarray of shape (n_rows,)
        Of these; they sum to 1.
    """

    rows: np.ndarray
    places: np.ndarray
    weights: np.ndarray

    @classmethod
    def drawn(cls, weights, seed):
        """An order of rows with such weights."""
        random, n = np.random.default_rng([seed, 2]), len(weights)
        order, uniform = random.permutation(n), np.empty(n)
        uniform[order] = (np.arange(n) + random.random(n)) / n
        places = uniform / weights
        rows = np.argsort(places, kind="stable")
        return cls(rows, places[rows], weights[rows])

    def __len__(self):
        return len(self.rows)

    def first(self, m):
        """The first m rows in their own order, and their `shares`."""
        ascending = np.argsort(self.rows[:m])
        return self.rows[ascending], self.shares(m)[ascending]

    def shares(self, m):
        """Weights of the first m rows as a sample of all: they sum to 1, (m,)."""
        weights = self.weights[:m]
        if m == len(self):
            return weights
        certain = weights * self.places[m] >= 1.0
        rest = ~certain
        shares = weights.copy()
        shares[rest] = (1.0 - weights[certain].sum()) / max(rest.sum(), 1)
        return shares / shares.sum()
