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
    steps = response.n_outputs * max(1, min(n_cells, int(response.visits[0])))
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
    members, means, plan = _together(response, walk, positions, members)
    step = task_rows(response, sum(member.n_cells for member in members))
    if means is not None:
        numbers = response.trees.n_raw * len(response.trees.columns)
        step = max(1, numbers_at_once(HELD) // numbers)
    elif plan is not None:
        step = max(1, response.TASK_VISITS // max(1, int(response.visits[0])))
    n_tasks = -(-len(walk.rows) // step)
    n_tasks += n_tasks % 2 if n_tasks > 1 else 0  # two workers end together
    for part in even_slices(len(walk.rows), -(-len(walk.rows) // n_tasks)):
        yield Task(positions, part)


def _together(response, walk, positions, members=None):
    """What the tasks of some positions share.

    Returns
    -------
    members : list of Member
    means : dict or None
        Their mean curves and slopes, see `with_slopes`, where no more is wanted.
    plan : Plan or None
        What the compiled descent is given, where it serves.
    """

    def make():
        every = members or [member_of(response, walk, p) for p in positions]
        if _means_serve(response, walk, every[0]):
            return every, walk.means or _means(response, walk, every), None
        if not response.compiled:
            return every, None, None
        asks = getattr(response.link, "discrete", False)
        of_link = response.link is not None, asks
        return every, None, response.kernels().Plan(response.trees, every, *of_link)

    return response.plans.get((walk.moves, positions), make)


def _means(response, walk, members):
    means, size = mean_curves(response, walk, members), np.abs(walk.base).max(axis=1)
    return with_slopes(walk, members, means, size)


def run(response, walk, task):
    """See `Response.run`."""
    first = task.positions[0]
    if response.is_group(walk.entry_of(first)):
        if walk.moves[first].parts is not None:
            return Response.run(response, walk, task)
        states = response.reduced_group(walk, first, task.rows)
        return [(task.positions, states)]
    members, means, plan = _together(response, walk, task.positions)
    if means is not None:
        found = _along(response, walk, task, members, means)
    elif plan is not None:
        found = _served(response, walk, task, members, plan)
    else:
        found = _stepped(response, walk, task, members)
    return [
        (
            (member.position,),
            [replace(state, cell_of_value=member.cell_of_value) for state in states],
        )
        for member, states in zip(members, found)
    ]


def _along(response, walk, task, members, means):
    """Yield the states of members of which mean curves alone are wanted."""
    slopes = [means[position][1] for position in task.positions]
    codes = response.codes(walk.table)[walk.rows[task.rows]]
    rows = products(response, codes, members, slopes)
    share = walk.weights[task.rows].sum()
    for position, of_rows in zip(task.positions, rows):
        mean, _ = means[position]
        yield [State(rows=of_rows[np.newaxis], cells=share * mean[np.newaxis])]


def _stepped(response, walk, task, members):
    """Yield the states of members from the steps of their curves."""
    rows, base = walk.rows[task.rows], walk.base[:, task.rows]
    steps = response.steps(walk.table, rows, base, members, walk.moves)
    for member, of_member in zip(members, steps):
        if member.parts is not None:
            of_member = member.parts.steps(of_member, rows)
        shape = _shape(response, walk, task.rows, member, of_member)
        yield reduced(walk.reductions_of(member.position), shape)


def _served(response, walk, task, members, plan):
    """The states of members that the compiled descent serves, a list of each."""
    from skvarimp._response.shapes.compiled_pieces import summed

    codes = response.codes(walk.table)[walk.rows[task.rows]]
    wanted = [walk.reductions_of(member.position) for member in members]
    sums = [
        [summed(r, member, walk, task.rows) or Merging() for r in of_member]
        for member, of_member in zip(members, wanted)
    ]
    for part, pieces, raw in plan.pieces(codes):
        rows = slice(task.rows.start + part.start, task.rows.start + part.stop)
        if response.link is not None:
            of_rows = walk.table, walk.rows[rows], walk.base[:, rows], raw
            pieces = pieces.linked(response.linked(*of_rows, members, walk.moves))
        for m, member in enumerate(members):
            curves, spans = plan.curves(pieces, m, walk.rows[rows])
            others = []
            for reduction, of_reduction in zip(wanted[m], sums[m]):
                if isinstance(of_reduction, Merging):
                    others.append((reduction, of_reduction))
                else:
                    of_reduction.add(curves, part)
            if not others:
                continue
            reductions, merging = zip(*others)
            steps = Steps.of_pieces(*curves, len(member.probabilities), spans)
            shape = _shape(response, walk, rows, member, steps)
            for of_reduction, state in zip(merging, reduced(reductions, shape)):
                of_reduction.add(state)
    return [[one.merged() for one in of_member] for of_member in sums]


def _shape(response, walk, rows, member, steps):
    of_cells = member.probabilities[np.newaxis], member.multiplicity[np.newaxis]
    return StepCurves(walk.margins(rows, *of_cells), steps, response.gap)
