"""Walks over the rows of tree ensembles: what tasks share, and what they reduce."""

from collections import Counter
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise

import numpy as np

from skvarimp._compiled import kernel
from skvarimp._data.base_table import numbered
from skvarimp._response.losses import (
    AbsoluteError,
    Loss,
    OwnShare,
    SquaredError,
    TotalShare,
    loss_of_rows,
)
from skvarimp._response.mean_curves import (
    IndividualFlatness,
    MeanCurve,
    PartialDependence,
)
from skvarimp._response.reductions import Observed, Pairs, Range, State
from skvarimp._response.responses.trees.means import (
    averaged_alone,
    mean_curves,
    products,
    with_slopes,
)
from skvarimp._response.responses.trees.pieces import TreeGrids, TreeMove
from skvarimp._response.shape import Merging, reduced
from skvarimp._response.steps import StepCurves, settled
from skvarimp._response.walk import Reduced, Task, Tasks
from skvarimp._running.memory import (
    HELD,
    even_slices,
    numbers_at_once,
    working_bytes,
)
from skvarimp._running.tasks import in_threads

PIECES = kernel("pieces")
ROWS_OF_LEAF = 5  # from so many on, counting masses takes less time than summing curves


class TreeTasks(Tasks):
    """All features in one descent; groups of columns one after the other.

    Moves of one feature share the way down the trees. Moves of which the mean curves
    alone are wanted make tasks of their own, each with at most one move of a feature.
    Tasks carry positions alone: what they share is made once in every process.
    """

    TASK_VISITS = HELD  # leaves visited in one task

    def __iter__(self):
        batches, times, single = {}, Counter(), []
        for position in range(len(self.walk.reductions) * self.walk.n_features):
            if self._is_group(position):
                yield from self.of_position(position)
            else:
                single.append(position)
        for member in in_threads(partial(member_of, self.response, self.walk), single):
            alone = self._means_serve(member)
            times[member.feature] += alone and member.feature >= 0
            which = alone and max(1, times[member.feature])
            together, size = batches.get(which, ([], 0.0))
            more = self._state_bytes(member, alone)
            if together and size + more > working_bytes() * 2:
                yield from self._tasks_together(together)
                together, size = [], 0.0
            batches[which] = [*together, member], size + more
        for together, _ in batches.values():
            yield from self._tasks_together(together)

    def _is_group(self, position):
        feature = self.walk.moves.features[position % self.walk.n_features]
        return self.response.codes.is_group(feature)

    def _means_serve(self, member):
        """Whether the mean curve over all rows is all that is wanted of a member."""
        trees, walk = self.response.trees, self.walk
        if self.response.link is not None or member.parts is not None:
            return False
        n_leaves = np.count_nonzero(trees.feature < 0)
        if len(walk.rows) * len(trees.roots) < ROWS_OF_LEAF * n_leaves:
            return False
        wanted = walk.reductions_of(member.position)
        return [type(reduction) for reduction in wanted] == [PartialDependence]

    def _state_bytes(self, member, alone):
        """What is kept of a move until the last row is in, twice while merged."""
        numbers, n_outputs = 0, self.response.n_outputs
        for reduction in self.walk.reductions_of(member.position):
            groups = 0 if alone else reduction.n_kept(n_outputs * member.n_cells)
            numbers += 2 * (1 + groups) * member.cells.probabilities.size
            numbers += 0 if groups else len(self.walk.rows)
        return 8 * n_outputs * numbers + 4 * len(member.cell_of_value)

    def _tasks_together(self, members):
        response, n_rows = self.response, len(self.walk.rows)
        positions = tuple(member.position for member in members)
        members, means, _ = self._together(positions, members)
        step = max(1, self.TASK_VISITS // max(1, int(response.visits[0])))
        if means is not None:
            numbers = response.trees.n_raw * (len(response.trees.columns) + 1)
            step = max(1, numbers_at_once(HELD) // numbers)
        n_tasks = -(-n_rows // step)
        n_tasks += n_tasks % 2 if n_tasks > 1 else 0  # two workers end together
        for part in even_slices(n_rows, -(-n_rows // n_tasks)):
            yield Task(positions, part)

    def _together(self, positions, members=None):
        """What the tasks of some positions share.

        Returns
        -------
        members : list of TreeMove
        means : dict or None
            Their mean curves and slopes, see `with_slopes`, where no more is wanted.
        grids : TreeGrids or None
            Else what the descent is given.
        """
        walk, response = self.walk, self.response

        def make():
            every = members or [member_of(response, walk, p) for p in positions]
            if self._means_serve(every[0]):
                return every, self._means(every), None
            return every, None, TreeGrids(response, every)

        return self.shared.get(positions, make)

    def _means(self, members):
        walk = self.walk
        alone = partial(averaged_alone, self.response, walk)
        means = mean_curves(self.shared.get("averaged", alone), walk, members)
        return with_slopes(walk, members, means)

    def reduced(self, task):
        if self._is_group(task.positions[0]):
            return super().reduced(task)
        members, means, grids = self._together(task.positions)
        if means is not None:
            states = self._along(task, members, means)
        else:
            states = self._taken(task, members, grids)
        result = []
        for member, found in zip(members, states):
            how = {"cell_of_value": member.cell_of_value}
            found = [replace(state, **how) for state in found]
            result.append(Reduced((member.position,), found))
        return result

    def _along(self, task, members, means):
        """Yield the states of members of which mean curves alone are wanted."""
        rows, response = self.walk.rows.block(task.rows), self.response
        slopes = [means[position][1] for position in task.positions]
        codes = response.codes.by_feature(rows)
        own, share = products(response, codes, members, slopes), rows.weights.sum()
        for position, own_products in zip(task.positions, own):
            mean, _ = means[position]
            yield [State(rows=own_products[np.newaxis], cells=share * mean[np.newaxis])]

    def _taken(self, task, members, grids):
        """The states of members whose reductions take the pieces of their curves."""
        walk, rows = self.walk, self.walk.rows.block(task.rows)
        reducer = TreeReducer(walk, members, rows, self.response.gap, grids)
        for part, curves in grids.curves_of(rows, walk.moves):
            reducer.add(part, curves)
        return reducer.merged()


def member_of(response, walk, position):
    """The `TreeMove` of a position whose feature is no group."""
    move = walk.moves[position]
    features, codes = response.codes.grid(walk.rows.table, move)
    return TreeMove(response.trees, position, move, features, codes)


class TreeReducer:
    """The reductions of some members, which take their curves some rows at a time.

    Parameters
    ----------
    walk : Walk
    members, rows, gap : see `KernelSums`
    grids : TreeGrids
    """

    def __init__(self, walk, members, rows, gap, grids):
        self._walk, self._members, self._rows = walk, members, rows
        self._gap, self._grids = gap, grids
        self._left, together = [], {}  # what no kernel adds up, and what one does
        for m, member in enumerate(members):
            request, left = member.position // walk.n_features, {}
            for r, reduction in enumerate(walk.reductions_of(member.position)):
                if not grids.compiled or type(reduction) not in KERNEL_SUMS:
                    left[r] = reduction, Merging()
                    continue
                how, kind = KERNEL_SUMS[type(reduction)]
                kept = reduction.n_kept(len(rows.base) * member.n_cells)
                alike = type(reduction), request, r, member.parts, kept
                together.setdefault(alike, []).append((m, how, kind, reduction))
            self._left.append(left)
        self._summed = []
        for (_, _, r, *_), wanted in together.items():
            some, (how, *_), (kind, *_), (reduction, *_) = zip(*wanted)
            summed = how(kind, reduction, [members[m] for m in some], rows, gap)
            self._summed.append((summed, list(some), r))

    def add(self, part, curves):
        """Take the `Curves` of a slice of the rows."""
        rows = self._rows.block(part)
        # pairs and means, say, have the same curves
        curves_of = cache(
            lambda *some: self._grids.some_curves(curves, some, rows.index)
        )
        for summed, some, _ in self._summed:
            summed.add(curves_of(*some), part)
        for m, (member, left) in enumerate(zip(self._members, self._left)):
            if left:
                steps = self._grids.steps(curves, m, rows.index)
                self._reduce(member, left, rows, steps)

    def _reduce(self, member, left, rows, steps):
        shape = StepCurves(rows, member.cells, steps, self._gap)
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
        return [[own[r] for r in sorted(own)] for own in states]


class KernelSums:
    """A reduction of some members that a compiled kernel adds up, some rows at a time.

    Parameters
    ----------
    kind : str
        See `KERNEL_SUMS`.
    reduction : Reduction
    members : list of TreeMove
    rows : Rows
        That will be added.
    gap : float
        See `settled`.

    Attributes
    ----------
    rows : ndarray of shape (n_members, n_outputs, n_rows)
    sums : ndarray of shape (n_outputs, n)
        From one cell to the next, n_cells + 1 of each member, from `places` on.
    points : ndarray of shape (n_outputs, n_rows)
        What distances are taken from: 0, the unmoved response.
    """

    def __init__(self, kind, reduction, members, rows, gap):
        self.kind, self.gap = kind, gap
        of_cells = "multiplicity" if kind == "deviations" else "probabilities"
        cells = [getattr(member.cells, of_cells)[0] for member in members]
        self.places = np.cumsum([0, *(len(own) + 1 for own in cells)])
        self.below = np.concatenate([np.append(0.0, np.cumsum(c)) for c in cells])
        n_outputs, n_rows = rows.base.shape
        self.rows = np.zeros((len(members), n_outputs, n_rows))
        self.points = np.zeros((n_outputs, n_rows))
        self.sums = np.zeros((n_outputs, self.places[-1]))
        self.weights = np.asarray(rows.weights, dtype=np.float64)

    def add(self, curves, rows):
        """Add the `Curves` of a slice of the rows."""
        part = self.weights[rows], self.points[:, rows], self.rows[..., rows]
        PIECES.reduce(self.kind, curves, self.places, self.below, *part, self.sums)

    def merged(self):
        """Yield the `State` of all rows, as the reduction itself would make it."""
        for own_rows, cells in zip(self.rows, self.by_member(self.sums)):
            yield State(own_rows[np.newaxis], cells)

    def by_member(self, sums):
        """The sums of each member up to each cell, a list of (1, ..., n_cells)."""
        parts = [sums[..., a : b - 1] for a, b in pairwise(self.places)]
        return [np.cumsum(own, axis=-1, out=own)[np.newaxis] for own in parts]


class LossSums(KernelSums):
    """Any loss: what each piece gains takes the place of the curve."""

    def __init__(self, kind, reduction, members, rows, gap):
        super().__init__(kind, reduction, members, rows, gap)
        self.loss, self.y, self.base = reduction.loss, rows.y, rows.base
        self.unmoved = loss_of_rows(self.loss, self.y, self.base)
        self.rows, self.sums = self.rows[:, :1], self.sums[:1]

    def add(self, curves, rows):
        # of each row as many pieces, those that are missing unmoved
        ends = np.append(curves.begins[1:, 0], len(curves.cells))
        row, turn = numbered(np.diff(ends, prepend=0))
        base = self.base[:, rows, np.newaxis]
        outputs = np.repeat(base, turn.max() + 1, axis=2)
        outputs[:, row, turn] += curves.moved
        gains = self.loss(self.y[rows, np.newaxis], settled(outputs, self.gap))
        gains -= self.unmoved[rows, np.newaxis]
        super().add(curves._replace(moved=gains[np.newaxis, row, turn]), rows)

    def merged(self):
        for state in super().merged():
            rows = np.stack([state.rows[0, 0], self.unmoved])
            yield State(rows[np.newaxis], state.cells)


class ErrorSums(LossSums):
    """A loss that is a distance, or its square, from the target."""

    add = KernelSums.add

    def __init__(self, kind, reduction, members, rows, gap):
        super().__init__(kind, reduction, members, rows, gap)
        self.points = np.ascontiguousarray(self.loss.target(self.y) - self.base)


class MeanSums(KernelSums):
    """`PartialDependence` and `OwnShare`, whose rows are kept in one way."""

    def __init__(self, kind, reduction, members, rows, gap):
        super().__init__(kind, reduction, members, rows, gap)
        n_numbers = len(self.sums) * members[0].n_cells
        self.kept, *how = reduction.kept(rows.place, self.weights, n_numbers)
        self.factors, groups, n_groups = how
        self.groups = np.asarray(groups, dtype=np.int64)
        self.sketch = np.zeros((len(self.sums), n_groups, self.places[-1]))

    def add(self, curves, rows):
        part = self.weights[rows], self.factors[rows], self.groups[rows]
        PIECES.means(curves, self.places, *part, self.sums, self.sketch)

    def merged(self):
        sums, sketches = self.by_member(self.sums), self.by_member(self.sketch)
        for cells, sketch in zip(sums, sketches):
            yield State(cells=cells, **{self.kept: sketch})


# Which sums serve a reduction, by its exact type, and what the kernel calls it.
KERNEL_SUMS = {
    Pairs: (KernelSums, "pairs"),
    Observed: (KernelSums, "distances"),
    TotalShare: (KernelSums, "variances"),
    Loss: (LossSums, "drifts"),
    SquaredError: (ErrorSums, "squares"),
    AbsoluteError: (ErrorSums, "distances"),
    Range: (KernelSums, "extents"),
    IndividualFlatness: (KernelSums, "deviations"),
    PartialDependence: (MeanSums, "means"),
    OwnShare: (MeanSums, "means"),
    MeanCurve: (KernelSums, "drifts"),
}
