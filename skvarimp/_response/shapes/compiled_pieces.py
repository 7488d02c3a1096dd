"""Reductions that compiled kernels run over the pieces of curves.

Each is added up in its own arrays, some rows at a time, and gives the state that the
reduction itself would.
"""

from functools import partial

import numpy as np

from skvarimp._compiled import pieces
from skvarimp._data.statistics import running_sums
from skvarimp._response.mean_curves import OwnShare, PartialDependence, TotalShare
from skvarimp._response.reductions import (
    AbsoluteError,
    IndividualFlatness,
    Observed,
    Pairs,
    Range,
    SquaredError,
)
from skvarimp._response.states import State


def summed(reduction, member, walk, rows):
    """What adds up a reduction of one member's curves; None where no kernel does.

    Parameters
    ----------
    reduction : Reduction
    member : Member
    walk : Walk
    rows : slice
        The evaluated rows that will be added.

    Returns
    -------
    Summed or None
    """
    kind = KINDS.get(type(reduction))
    return None if kind is None else kind(reduction, member, walk, rows)


class Summed:
    """A reduction of one member, added up; see `summed` for the other parameters.

    Parameters
    ----------
    kind : str
        Of the kernel `reduce`.

    Attributes
    ----------
    rows : ndarray of shape (n_outputs, n_rows)
    sums : ndarray of shape (n_outputs, n_cells + 1)
        From one cell to the next.
    points : ndarray of shape (n_outputs, n_rows)
        What distances are taken from: 0, the unmoved response.
    """

    def __init__(self, kind, reduction, member, walk, rows):
        self.kind = kind
        n_outputs, n_rows = len(walk.base), rows.stop - rows.start
        self.rows, self.points = np.zeros((2, n_outputs, n_rows))
        self.sums = np.zeros((n_outputs, len(member.probabilities) + 1))
        counts = kind == "deviations"
        of_cells = member.multiplicity if counts else member.probabilities
        self.below = running_sums(of_cells)
        self.weights = np.asarray(walk.weights[rows], dtype=np.float64)

    def add(self, curves, rows):
        """Add some rows' curves.

        Parameters
        ----------
        curves : tuple
            bounds, cells, moved, as the kernels take them.
        rows : slice
            Which of the rows to be added these are.
        """
        of_rows = self.weights[rows], self.points[:, rows], self.rows[:, rows]
        pieces.reduce(self.kind, *curves, self.below, *of_rows, self.sums)

    def merged(self):
        """The `State` of all rows."""
        return State(self.rows[np.newaxis], self.cells())

    def cells(self):
        """The sums, (1, n_outputs, n_cells)."""
        return np.cumsum(self.sums[:, :-1], axis=1)[np.newaxis]


class SummedLoss(Summed):
    """A loss that is a distance, or its square, from the target."""

    def __init__(self, kind, reduction, member, walk, rows):
        super().__init__(kind, reduction, member, walk, rows)
        y, base = walk.y[rows], walk.base[:, rows]
        self.points = np.ascontiguousarray(reduction.loss.target(y) - base)
        unmoved = reduction.loss(y[:, np.newaxis], base[:, :, np.newaxis])[:, 0]
        self.unmoved, self.rows, self.sums = unmoved, self.rows[:1], self.sums[:1]

    def merged(self):
        """See `Summed.merged`."""
        rows = np.stack([self.rows[0], self.unmoved])
        return State(rows[np.newaxis], self.cells())


class SummedMeans(Summed):
    """`PartialDependence` and `OwnShare`."""

    def __init__(self, reduction, member, walk, rows):
        super().__init__("means", reduction, member, walk, rows)
        n_numbers = len(self.sums) * member.n_cells
        self.kept, *how = reduction.kept(rows, self.weights, n_numbers)
        self.factors, groups, n_groups = how
        self.groups = np.asarray(groups, dtype=np.int64)
        self.sketch = np.zeros((len(self.sums), n_groups, member.n_cells))

    def add(self, curves, rows):
        """See `Summed.add`."""
        of_rows = self.weights[rows], self.factors[rows], self.groups[rows]
        pieces.means(*curves, *of_rows, self.sums, self.sketch)

    def merged(self):
        """See `Summed.merged`."""
        sketch = np.cumsum(self.sketch, axis=2, out=self.sketch)[np.newaxis]
        return State(cells=self.cells(), **{self.kept: sketch})


KINDS = {
    Pairs: partial(Summed, "pairs"),
    Observed: partial(Summed, "distances"),
    TotalShare: partial(Summed, "variances"),
    SquaredError: partial(SummedLoss, "squares"),
    AbsoluteError: partial(SummedLoss, "distances"),
    Range: partial(Summed, "extents"),
    IndividualFlatness: partial(Summed, "deviations"),
    PartialDependence: SummedMeans,
    OwnShare: SummedMeans,
}
