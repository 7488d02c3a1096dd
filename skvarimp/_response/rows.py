"""`Rows`: the rows that a walk evaluates, all of them or a block."""

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

    def alone(self, part, units=None):
        """Some of the rows as if there were no others: their weights sum to 1."""
        weights = self.weights[part]
        return Rows(
            self.table,
            self.index[part],
            weights / weights.sum(),
            np.ascontiguousarray(self.base[:, part]),
            units,
            None if self.y is None else self.y[part],
        )
