"""Walks over the rows of tree ensembles: what tasks share, and what they reduce."""

from collections import Counter
from dataclasses import replace

import numpy as np

from skvarimp._response.contract import Task, Walker
from skvarimp._response.mean_curves import PartialDependence
from skvarimp._response.responses.trees.curves import Member, distinct, first_of_each
from skvarimp._response.responses.trees.links import links
from skvarimp._response.responses.trees.means import (
    mean_curves,
    products,
    with_slopes,
)
from skvarimp._response.shapes.shape import reduced
from skvarimp._response.shapes.steps import StepCurves, Steps
from skvarimp._response.states import Merging, State
from skvarimp._running.memory import (
    HELD,
    Memo,
    even_slices,
    numbers_at_once,
    working_bytes,
)

ROWS_OF_LEAF = 5  # from so many on, counting masses takes less time than summing curves


class TreeWalker(Walker):
    """All entries in one descent; groups of columns one after the other.

    Moves of one feature share the way down the trees. Moves of which the mean curves
    alone are wanted make tasks of their own, each with at most one move of a feature.
    Tasks carry positions alone: what they share is made once in every process.
    """

    TASK_VISITS = HELD  # leaves visited in one task of compiled kernels

    def __init__(self, response, walk):
        super().__init__(response, walk)
        self._shared = Memo(most=8)

    def tasks(self):
        """See `Walker.tasks`."""
        batches, times = {}, Counter()
        for position in range(len(self.walk.moves)):
            if self.response.codes.is_group(self.walk.entry_of(position)):
                yield from self.tasks_of(position)
                continue
            member = member_of(self.response, self.walk, position)
            alone = self._means_serve(member)
            times[member.feature] += alone
            which = alone and times[member.feature]
            together, size = batches.get(which, ([], 0.0))
            more = self._state_bytes(member, alone)
            if together and size + more > working_bytes() / 4:
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
            asks = getattr(response.link, "discrete", False)
            of_link = response.link is not None, asks
            from skvarimp._response.responses.trees.compiled_trees import Strips

            return every, None, Strips(response.trees, every, *of_link)

        return self._shared.get(positions, make)

    def _means(self, members):
        walk = self.walk
        means = mean_curves(self.response, walk, members)
        return with_slopes(walk, members, means, np.abs(walk.base).max(axis=1))

    def run(self, task):
        """See `Walker.run`."""
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
        """See `Walker.reduced`; of a group, over one value of each joint code."""
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
        codes = response.codes.rows(walk.table)[walk.rows[task.rows]]
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
        of_rows = walk.table, which, walk.base[:, rows]
        steps = self.response.steps_of_members(*of_rows, members, walk.moves)
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
                of_rows = response, walk.table, which, walk.base[:, some], raw
                pieces = pieces.linked(links(*of_rows, members, walk.moves))
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
        reductions = walk.reductions_of(member.position)
        found = [None] * len(reductions)
        if kernels:
            from skvarimp._response.shapes.compiled_pieces import summed

            found = [summed(r, member, walk, rows) for r in reductions]
        self._by_kernel = [one for one in found if one is not None]
        self._states = [one or Merging() for one in found]
        self._left = [r for r, one in zip(reductions, found) if one is None]
        self._merging = [one for one in self._states if isinstance(one, Merging)]

    def add(self, rows, curves):
        """Take the curves of some of the rows, `MemberPieces` or `Steps`."""
        part = slice(rows.start - self._rows.start, rows.stop - self._rows.start)
        for of_reduction in self._by_kernel:
            of_reduction.add(curves.of_kernels, part)
        if not self._left:
            return
        member = self._member
        of_cells = member.probabilities[np.newaxis], member.multiplicity[np.newaxis]
        steps = curves if isinstance(curves, Steps) else curves.steps()
        shape = StepCurves(self._walk.margins(rows, *of_cells), steps, self._gap)
        for of_one, state in zip(self._merging, reduced(self._left, shape)):
            of_one.add(state)

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
