"""Walks over the rows of tree ensembles: what tasks share, and what they reduce."""

from collections import Counter
from dataclasses import replace

import numpy as np

from skvarimp._response.contract import Response, Task
from skvarimp._response.responses.trees.curves import Member
from skvarimp._response.responses.trees.means import (
    mean_curves,
    products,
    serves,
    with_slopes,
)
from skvarimp._response.shapes.shape import reduced
from skvarimp._response.shapes.steps import StepCurves, Steps
from skvarimp._response.states import Merging, State
from skvarimp._running.memory import HELD, even_slices, numbers_at_once, working_bytes


def task_rows(response, n_cells):
    """Rows of one task whose moves have so many cells together."""
    if len(response.trees.columns) == 0:
        return 2**20
    steps = response.n_outputs * max(1, min(n_cells, int(response.visits_per_row())))
    paths = response.TASK_PATHS // len(response.trees.roots)
    return max(1, min(paths, numbers_at_once(HELD) // steps))


def tasks(response, walk):
    """The tasks of a walk; moves of one feature share the way down the trees.

    Moves of which the mean curves alone are wanted make tasks of their own, each with
    at most one move of a feature. Tasks carry positions alone: what they share is made
    once in every process.
    """
    batches, times = {}, Counter()
    for position in range(len(walk.moves)):
        if response.is_group(walk.entry_of(position)):
            yield from response.tasks_of(walk, position)
            continue
        member = member_of(response, walk, position)
        alone = _means_serve(response, walk, member)
        times[member.feature] += alone
        which = alone and times[member.feature]
        together, size = batches.get(which, ([], 0.0))
        more = _state_bytes(response, walk, member, alone)
        if together and size + more > working_bytes() / 4:
            yield from _tasks_of(response, walk, together)
            together, size = [], 0.0
        batches[which] = [*together, member], size + more
    for together, _ in batches.values():
        yield from _tasks_of(response, walk, together)


def member_of(response, walk, position):
    """The `Member` of a position whose entry is no group."""
    move = walk.moves[position]
    features, codes = response.grid_codes(walk.table, move)
    return Member(response.trees, position, move, features, codes)


def _means_serve(response, walk, member):
    """Whether the mean curve over all rows is all that is wanted of a member."""
    if not walk.final:
        return member.position in walk.means
    return serves(response, walk, member, len(walk.rows))


def _state_bytes(response, walk, member, alone):
    """What is kept of a move until the last row is in, twice while it is merged."""
    numbers = 0
    for reduction in walk.reductions_of(member.position):
        groups = 0
        if hasattr(reduction, "n_kept") and not alone:
            groups = reduction.n_kept(response.n_outputs * member.n_cells)
        numbers += 2 * (1 + groups) * len(member.probabilities)
        numbers += 0 if groups else len(walk.rows)
    return 8 * response.n_outputs * numbers + 4 * len(member.cell_of_value)


def _tasks_of(response, walk, members):
    positions = tuple(member.position for member in members)
    members, plans = _planned(response, walk, positions, members)
    step = task_rows(response, sum(member.n_cells for member in members))
    if plans:
        step = max(1, response.TASK_VISITS // max(1, int(response.visits_per_row())))
    if _means(response, walk, positions, members) is not None:
        numbers = response.trees.n_raw * len(response.trees.columns)
        step = max(1, numbers_at_once(HELD) // numbers)
    n_tasks = -(-len(walk.rows) // step)
    n_tasks += n_tasks % 2 if n_tasks > 1 else 0  # two workers end together
    for part in even_slices(len(walk.rows), -(-len(walk.rows) // n_tasks)):
        yield Task(positions, part)


def _means(response, walk, positions, members):
    """Mean curves and slopes of some positions, where no more is wanted, else None."""

    def found():
        if not _means_serve(response, walk, members[0]):
            return None
        if walk.means:
            return walk.means
        means = mean_curves(response, walk, members)
        size = np.abs(walk.base).max(axis=1)
        return with_slopes(walk, members, means, size)

    return response.plans.get((walk.moves, positions, "means"), found)


def _planned(response, walk, positions, members=None):
    """Members of some positions, and the plans of compiled kernels for them."""

    def plan():
        every = members or [member_of(response, walk, p) for p in positions]
        if not response.compiled:
            return every, []
        kernels, plans = response.kernels(), []
        used = [member for member in every if member.feature >= 0]
        asks = response.link is not None and response.link.discrete
        if used:
            plans.append(kernels.Plan(response.trees, used, apart=asks))
        if len(used) < len(every):
            others = [member for member in every if member.feature < 0]
            plans.append(kernels.Unmoved(others, response.n_outputs))
        return every, plans

    return response.plans.get((walk.moves, positions), plan)


def run(response, walk, task):
    """See `Response.run`."""
    first = task.positions[0]
    if response.is_group(walk.entry_of(first)):
        if walk.moves[first].parts is not None:
            return Response.run(response, walk, task)
        states = response.reduced_group(walk, first, task.rows)
        return [(task.positions, states)]
    members, plans = _planned(response, walk, task.positions)
    served = _along(response, walk, task, members)
    if served is None:
        served = {}
        for plan in plans:
            served |= _served(response, walk, plan, task)
    rest = [member for member in members if member.position not in served]
    rows, base = walk.rows[task.rows], walk.base[:, task.rows]
    steps = response.steps(walk.table, rows, base, rest, walk.moves.__getitem__)
    for member, of_member in zip(rest, steps):
        if member.parts is not None:
            of_member = member.parts.steps(of_member, rows)
        shape = _shape(response, walk, task.rows, member, of_member)
        served[member.position] = reduced(walk.reductions_of(member.position), shape)
    return [
        (
            (member.position,),
            [
                replace(state, cell_of_value=member.cell_of_value)
                for state in served[member.position]
            ],
        )
        for member in members
    ]


def _along(response, walk, task, members):
    """Position -> states, where mean curves alone are wanted of members; or None."""
    means = _means(response, walk, task.positions, members)
    if means is None:
        return None
    slopes = [means[position][1] for position in task.positions]
    codes = response.codes(walk.table)[walk.rows[task.rows]]
    rows = products(response, codes, members, slopes)
    share = walk.weights[task.rows].sum()
    return {
        member.position: [
            State(
                rows=of_rows[np.newaxis],
                cells=share * means[member.position][0][np.newaxis],
            )
        ]
        for member, of_rows in zip(members, rows)
    }


def _served(response, walk, plan, task):
    """Position -> states, of the members that the compiled descent serves."""
    from skvarimp._response.shapes.compiled_pieces import summed

    codes = response.codes(walk.table)[walk.rows[task.rows]]
    wanted = [walk.reductions_of(member.position) for member in plan.members]
    sums = [
        [summed(reduction, member, walk, task.rows) for reduction in of_member]
        for member, of_member in zip(plan.members, wanted)
    ]
    others = [[Merging() for s in of_member if s is None] for of_member in sums]
    for part, pieces, raw in plan.pieces(codes, response.link is not None):
        rows = slice(task.rows.start + part.start, task.rows.start + part.stop)
        if raw is not None and response.link is not None:
            linked = response.linked(
                walk.table,
                walk.rows[rows],
                walk.base[:, rows],
                raw,
                plan.members,
                walk.moves.__getitem__,
            )
            pieces = pieces.linked(linked)
        for m, member in enumerate(plan.members):
            curves, spans = plan.curves(pieces, m, walk.rows[rows])
            for of_reduction in sums[m]:
                if of_reduction is not None:
                    of_reduction.add(curves, part)
            if not others[m]:
                continue
            steps = Steps.of_pieces(*curves, len(member.probabilities), spans)
            shape = _shape(response, walk, rows, member, steps)
            missing = [r for r, s in zip(wanted[m], sums[m]) if s is None]
            for merging, state in zip(others[m], reduced(missing, shape)):
                merging.add(state)
    states = {}
    for member, of_member, merged in zip(plan.members, sums, others):
        rest = iter(merged)
        states[member.position] = [
            s.state() if s is not None else next(rest).merged() for s in of_member
        ]
    return states


def _shape(response, walk, rows, member, steps):
    of_cells = member.probabilities[np.newaxis], member.multiplicity[np.newaxis]
    return StepCurves(walk.margins(rows, *of_cells), steps, response.gap)
