"""Walks over the rows of tree ensembles: what tasks share, and what they reduce."""

from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np

from skvarimp._compiled import kernel
from skvarimp._response.directions import MeanCurve
from skvarimp._response.engine import Task, Walker
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
from skvarimp._response.responses.trees.compiled_trees import Strips
from skvarimp._response.responses.trees.curves import Member, distinct, first_of_each
from skvarimp._response.responses.trees.means import (
    averaged_alone,
    mean_curves,
    products,
    with_slopes,
)
from skvarimp._response.responses.trees.plain import Linked
from skvarimp._response.shapes.shape import reduced
from skvarimp._response.shapes.steps import StepCurves, Steps
from skvarimp._response.states import Merging, State
from skvarimp._running.memory import (
    HELD,
    even_slices,
    numbers_at_once,
    working_bytes,
)

PIECES = kernel("pieces")
ROWS_OF_LEAF = 5  # from so many on, counting masses takes less time than summing curves


class TreeWalker(Walker):
    """All entries in one descent; groups of columns one after the other.

    Moves of one feature share the way down the trees. Moves of which the mean curves
    alone are wanted make tasks of their own, each with at most one move of a feature.
    Tasks carry positions alone: what they share is made once in every process.
    """

    TASK_VISITS = HELD  # leaves visited in one task of compiled kernels

    def tasks(self):
        batches, times = {}, Counter()
        for position in self.walk.positions:
            if self.response.codes.is_group(self.walk.entry_of(position)):
                yield from self.tasks_of(position)
                continue
            member = member_of(self.response, self.walk, position)
            alone = self._means_serve(member)
            times[member.feature] += alone
            which = alone and times[member.feature]
            together, size = batches.get(which, ([], 0.0))
            more = self._state_bytes(member, alone)
            if together and size + more > working_bytes() * 2:
                yield from self._tasks_together(together)
                together, size = [], 0.0
            batches[which] = [*together, member], size + more
        for together, _ in batches.values():
            yield from self._tasks_together(together)

    def _means_serve(self, member):
        """Whether the mean curve over all rows is all that is wanted of a member."""
        if not self.walk.final:
            return member.position in self.walk.means
        return serves(self.response, self.walk, member, len(self.walk.rows))

    def _state_bytes(self, member, alone):
        """What is kept of a move until the last row is in, twice while merged."""
        numbers, n_outputs = 0, self.response.n_outputs
        for reduction in self.walk.reductions_of(member.position):
            groups = 0
            if hasattr(reduction, "n_kept") and not alone:
                groups = reduction.n_kept(n_outputs * member.n_cells)
            numbers += 2 * (1 + groups) * len(member.probabilities)
            numbers += 0 if groups else len(self.walk.rows)
        return 8 * n_outputs * numbers + 4 * len(member.cell_of_value)

    def _tasks_together(self, members):
        response, n_rows = self.response, len(self.walk.rows)
        positions = tuple(member.position for member in members)
        members, means, plan = self._together(positions, members)
        step = response.rows_at_once(sum(member.n_cells for member in members))
        if means is not None:
            numbers = response.trees.n_raw * len(response.trees.columns)
            step = max(1, numbers_at_once(HELD) // numbers)
        elif plan is not None:
            step = max(1, self.TASK_VISITS // max(1, int(response.visits[0])))
        n_tasks = -(-n_rows // step)
        n_tasks += n_tasks % 2 if n_tasks > 1 else 0  # two workers end together
        for part in even_slices(n_rows, -(-n_rows // n_tasks)):
            yield Task(positions, part)

    def _together(self, positions, members=None):
        """What the tasks of some positions share.

        Returns
        -------
        members : list of Member
        means : dict or None
            Their mean curves and slopes, see `with_slopes`, where no more is wanted.
        plan : Strips or None
            What the compiled descent is given, where it serves.
        """
        walk, response = self.walk, self.response

        def make():
            every = members or [member_of(response, walk, p) for p in positions]
            if self._means_serve(every[0]):
                return every, walk.means or self._means(every), None
            if not response.compiled:
                return every, None, None
            strips = Strips(
                response.trees,
                every,
                all_trees=response.link is not None,
                apart=getattr(response.link, "discrete", False),
            )
            return every, None, strips

        return self.shared.get(positions, make)

    def _means(self, members):
        walk = self.walk
        alone = partial(averaged_alone, self.response, walk)
        means = mean_curves(self.shared.get("averaged", alone), walk, members)
        return with_slopes(walk, members, means, np.abs(walk.base).max(axis=1))

    def run(self, task):
        first = task.positions[0]
        if self.response.codes.is_group(self.walk.entry_of(first)):
            return super().run(task)
        members, means, plan = self._together(task.positions)
        if means is not None:
            states = self._along(task, members, means)
        else:
            states = self._taken(task, members, plan)
        return [
            (
                (member.position,),
                [replace(state, cell_of_value=member.cell_of_value) for state in found],
            )
            for member, found in zip(members, states)
        ]

    def reduced(self, position, rows):
        """A group is moved to one value of each joint code."""
        walk, move = self.walk, self.walk.moves[position]
        if move.parts is not None:
            return super().reduced(position, rows)
        _, codes = self.response.codes.grid(walk.table, move)
        _, cell_of_value = distinct(codes)
        chances = np.bincount(cell_of_value, move.probabilities)
        first = first_of_each(cell_of_value)
        of_cells = move.at_cells(first, probabilities=chances, codes=None)
        multiplicity = np.bincount(cell_of_value)[np.newaxis].astype(np.float64)
        reductions = walk.reductions_of(position)
        states = self.reduced_along(of_cells, rows, reductions, multiplicity)
        return [replace(state, cell_of_value=cell_of_value) for state in states]

    def _along(self, task, members, means):
        """Yield the states of members of which mean curves alone are wanted."""
        walk, response = self.walk, self.response
        slopes = [means[position][1] for position in task.positions]
        codes = response.codes.by_feature(walk.table, walk.rows[task.rows])
        rows = products(response, codes, members, slopes)
        share = walk.weights[task.rows].sum()
        for position, of_rows in zip(task.positions, rows):
            mean, _ = means[position]
            yield [State(rows=of_rows[np.newaxis], cells=share * mean[np.newaxis])]

    def _taken(self, task, members, plan):
        """The states of members whose reductions take the pieces of their curves."""
        walk, gap, kernels = self.walk, self.response.gap, plan is not None
        taking = [Taking(walk, m, task.rows, gap, kernels) for m in members]
        pieces = self._from_steps if plan is None else self._from_kernels
        for rows, curves in pieces(task.rows, members, plan):
            for of_member, of_rows in zip(taking, curves):
                of_member.add(rows, of_rows)
        return [of_member.merged() for of_member in taking]

    def _from_steps(self, rows, members, _):
        """Yield (rows, the `Steps` of each member), by plain NumPy."""
        walk, which = self.walk, self.walk.rows[rows]
        steps = self.response.steps_of_members(
            walk.table, which, walk.base[:, rows], members, walk.moves
        )
        own = (
            of_member if member.parts is None else member.parts.steps(of_member, which)
            for member, of_member in zip(members, steps)
        )
        yield rows, own

    def _from_kernels(self, rows, members, plan):
        """Yield (rows, the `MemberPieces` of each member), some rows at a time."""
        walk, response = self.walk, self.response
        codes = response.codes.rows(walk.table)[walk.rows[rows]]
        for part, pieces, raw in plan.pieces(codes):
            some = slice(rows.start + part.start, rows.start + part.stop)
            which = walk.rows[some]
            if response.link is not None:
                base = walk.base[:, some]
                linked = Linked(response, walk.table, which, base, raw)
                pieces = pieces.linked(linked.of_each(members, walk.moves))
            yield some, (plan.curves(pieces, m, which) for m in range(len(members)))


class Taking:
    """The reductions of one member, which take its curves some rows at a time.

    Parameters
    ----------
    walk : Walk
    member : Member
    rows : slice
        The evaluated rows that will be added.
    gap : float
        See `settled`.
    kernels : bool
        Whether reductions run in compiled kernels, where there is one.
    """

    def __init__(self, walk, member, rows, gap, kernels):
        self._walk, self._member, self._rows, self._gap = walk, member, rows, gap
        self._states, self._left = [], []
        for reduction in walk.reductions_of(member.position):
            kind = KINDS.get(type(reduction)) if kernels else None
            if kind is not None:
                self._states.append(kind(reduction, member, walk, rows))
            else:
                self._states.append(Merging())
                self._left.append(reduction)

    def add(self, rows, curves):
        """Take the curves of some of the rows, `MemberPieces` or `Steps`."""
        part = slice(rows.start - self._rows.start, rows.stop - self._rows.start)
        for state in self._states:
            if isinstance(state, Summed):
                state.add(curves.of_kernels, part)
        if not self._left:
            return
        member = self._member
        of_cells = member.probabilities[np.newaxis], member.multiplicity[np.newaxis]
        steps = curves if isinstance(curves, Steps) else curves.steps()
        shape = StepCurves(self._walk.margins(rows, *of_cells), steps, self._gap)
        found = iter(reduced(self._left, shape))
        for state in self._states:
            if isinstance(state, Merging):
                state.add(next(found))

    def merged(self):
        """The `State` of each reduction."""
        return [of_reduction.merged() for of_reduction in self._states]


def member_of(response, walk, position):
    """The `Member` of a position whose entry is no group."""
    move = walk.moves[position]
    features, codes = response.codes.grid(walk.table, move)
    return Member(response.trees, position, move, features, codes)


def serves(response, walk, member, n_rows):
    """Whether the mean curve over `n_rows` rows is all that is wanted of a member."""
    if response.link is not None or member.feature < 0 or member.parts is not None:
        return False
    n_leaves = np.count_nonzero(response.trees.feature < 0)
    if n_rows * len(response.trees.roots) < ROWS_OF_LEAF * n_leaves:
        return False
    wanted = walk.reductions_of(member.position)
    return [type(reduction) for reduction in wanted] == [PartialDependence]


class Summed:
    """A reduction of one member that a compiled kernel adds up, some rows at a time.

    Parameters
    ----------
    kind : str
        Of the kernel `reduce`.
    reduction : Reduction
    member : Member
    walk : Walk
    rows : slice
        The evaluated rows that will be added.

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
        self.below = np.append(0.0, np.cumsum(of_cells))
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
        PIECES.reduce(self.kind, *curves, self.below, *of_rows, self.sums)

    def merged(self):
        """The `State` of all rows, as the reduction itself would make it."""
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
        of_rows = self.weights[rows], self.factors[rows], self.groups[rows]
        PIECES.means(*curves, *of_rows, self.sums, self.sketch)

    def merged(self):
        sketch = np.cumsum(self.sketch, axis=2, out=self.sketch)[np.newaxis]
        return State(cells=self.cells(), **{self.kept: sketch})


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
