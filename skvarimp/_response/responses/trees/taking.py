"""Reductions that take the curves of trees, which arrive some rows at a time.

Where a compiled kernel adds up a reduction, it does so for many members at once.
"""

from functools import partial
from itertools import pairwise

import numpy as np

from skvarimp._compiled import kernel
from skvarimp._data.statistics import running_sums
from skvarimp._response.directions import MeanCurve
from skvarimp._response.mean_curves import (
    IndividualFlatness,
    OwnShare,
    PartialDependence,
    TotalShare,
)
from skvarimp._response.reductions import (
    AbsoluteError,
    Observed,
    Pairs,
    Range,
    SquaredError,
)
from skvarimp._response.shapes.shape import reduced
from skvarimp._response.shapes.steps import StepCurves
from skvarimp._response.states import Merging, State

PIECES = kernel("pieces")


class Taking:
    """The reductions of some members, which take their curves some rows at a time.

    Parameters
    ----------
    walk : Walk
    members : list of Member
    rows : slice
        The evaluated rows that will be added.
    gap : float
        See `settled`.
    plan : Strips or None
        Given where reductions run in compiled kernels, if there is one.
    """

    def __init__(self, walk, members, rows, gap, plan):
        self._walk, self._members, self._rows = walk, members, rows
        self._gap, self._plan = gap, plan
        self._left, together = [], {}  # what no kernel adds up, and what one does
        for m, member in enumerate(members):
            request, left = member.position // walk.n_entries, {}
            for r, reduction in enumerate(walk.reductions_of(member.position)):
                kind = None if plan is None else KINDS.get(type(reduction))
                if kind is None:
                    left[r] = reduction, Merging()
                    continue
                alike = kind, type(reduction), request, r, plan.is_cut[m]
                if kind is SummedMeans:
                    alike += (reduction.n_kept(len(walk.base) * member.n_cells),)
                together.setdefault(alike, []).append((m, r, reduction))
            self._left.append(left)
        self._summed = []
        for (kind, *_), each in together.items():
            some, places, (reduction, *_) = zip(*each)
            summed = kind(reduction, [members[m] for m in some], walk, rows)
            self._summed.append((summed, list(some), places[0]))

    def add(self, rows, curves):
        """Take some of the rows: `TreePieces`, or the `Steps` of each member."""
        which = self._walk.rows[rows]
        part = slice(rows.start - self._rows.start, rows.stop - self._rows.start)
        known = {}  # pairs and means, say, have the same curves
        for summed, some, _ in self._summed:
            ways = tuple(self._plan.way_of[m] for m in some)
            if ways not in known:
                known[ways] = self._plan.curves(curves, some, which)
            summed.add(known[ways], part)
        if self._plan is not None:
            curves = self._steps(curves, which)
        for member, left, steps in zip(self._members, self._left, curves):
            if left:
                self._reduce(member, left, rows, steps)

    def _steps(self, pieces, which):
        """Yield the `Steps` of the members that reductions are left of, else None."""
        for m, (member, left) in enumerate(zip(self._members, self._left)):
            spans = None if member.parts is None else member.parts.spans(which)
            n_cells = len(member.probabilities)
            curves = self._plan.curves(pieces, [m], which) if left else None
            yield curves and curves.steps(n_cells, spans)

    def _reduce(self, member, left, rows, steps):
        of_cells = member.probabilities[np.newaxis], member.multiplicity[np.newaxis]
        shape = StepCurves(self._walk.margins(rows, *of_cells), steps, self._gap)
        reductions, merging = zip(*left.values())
        for state, found in zip(merging, reduced(list(reductions), shape)):
            state.add(found)

    def merged(self):
        """The `State` of each reduction of each member."""
        states = [
            {r: merging.merged() for r, (_, merging) in left.items()}
            for left in self._left
        ]
        for summed, some, r in self._summed:
            for m, state in zip(some, summed.merged()):
                states[m][r] = state
        return [[of_member[r] for r in sorted(of_member)] for of_member in states]


class Summed:
    """A reduction of some members that a compiled kernel adds up, some rows at a time.

    Parameters
    ----------
    kind : str
        Of the kernel `reduce`.
    reduction : Reduction
    members : list of Member
    walk : Walk
    rows : slice
        The evaluated rows that will be added.

    Attributes
    ----------
    rows : ndarray of shape (n_members, n_outputs, n_rows)
    sums : ndarray of shape (n_outputs, n)
        From one cell to the next, n_cells + 1 of each member, from `places` on.
    points : ndarray of shape (n_outputs, n_rows)
        What distances are taken from: 0, the unmoved response.
    """

    def __init__(self, kind, reduction, members, walk, rows):
        self.kind, counts = kind, kind == "deviations"
        below = [
            running_sums(member.multiplicity if counts else member.probabilities)
            for member in members
        ]
        self.places, self.below = (
            np.cumsum([0, *map(len, below)]),
            np.concatenate(below),
        )
        n_outputs, n_rows = len(walk.base), rows.stop - rows.start
        self.rows = np.zeros((len(members), n_outputs, n_rows))
        self.points = np.zeros((n_outputs, n_rows))
        self.sums = np.zeros((n_outputs, self.places[-1]))
        self.weights = np.asarray(walk.weights[rows], dtype=np.float64)

    def add(self, curves, rows):
        """Add some rows' curves.

        Parameters
        ----------
        curves : KernelCurves
        rows : slice
            Which of the rows to be added these are.
        """
        of_cells = self.places, self.below
        of_rows = self.weights[rows], self.points[:, rows], self.rows[..., rows]
        PIECES.reduce(self.kind, curves, *of_cells, *of_rows, self.sums)

    def merged(self):
        """Yield the `State` of all rows, as the reduction itself would make it."""
        for of_rows, cells in zip(self.rows, self.of_members(self.sums)):
            yield State(of_rows[np.newaxis], cells)

    def of_members(self, sums):
        """The sums of each member up to each cell, a list of (1, ..., n_cells)."""
        each = [sums[..., a : b - 1] for a, b in pairwise(self.places)]
        return [np.cumsum(own, axis=-1, out=own)[np.newaxis] for own in each]


class SummedLoss(Summed):
    """A loss that is a distance, or its square, from the target."""

    def __init__(self, kind, reduction, members, walk, rows):
        super().__init__(kind, reduction, members, walk, rows)
        y, base = walk.y[rows], walk.base[:, rows]
        self.points = np.ascontiguousarray(reduction.loss.target(y) - base)
        unmoved = reduction.loss(y[:, np.newaxis], base[:, :, np.newaxis])[:, 0]
        self.unmoved, self.rows, self.sums = unmoved, self.rows[:, :1], self.sums[:1]

    def merged(self):
        for state in super().merged():
            rows = np.stack([state.rows[0, 0], self.unmoved])
            yield State(rows[np.newaxis], state.cells)


class SummedMeans(Summed):
    """`PartialDependence` and `OwnShare`, whose rows are kept in one way."""

    def __init__(self, reduction, members, walk, rows):
        super().__init__("means", reduction, members, walk, rows)
        n_numbers = len(self.sums) * members[0].n_cells
        self.kept, *how = reduction.kept(rows, self.weights, n_numbers)
        self.factors, groups, n_groups = how
        self.groups = np.asarray(groups, dtype=np.int64)
        self.sketch = np.zeros((len(self.sums), n_groups, self.places[-1]))

    def add(self, curves, rows):
        of_rows = self.weights[rows], self.factors[rows], self.groups[rows]
        PIECES.means(curves, self.places, *of_rows, self.sums, self.sketch)

    def merged(self):
        each = zip(self.of_members(self.sums), self.of_members(self.sketch))
        for cells, sketch in each:
            yield State(cells=cells, **{self.kept: sketch})


# Which kernel adds up a reduction, by its exact type.
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
    MeanCurve: partial(Summed, "drifts"),
}
