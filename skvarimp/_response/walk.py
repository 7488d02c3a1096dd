"""A walk: every feature through its grid, the rows in blocks, a state of each block."""

from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from skvarimp._response.mean_curves import directions
from skvarimp._response.reductions import Outcome, Sample, State
from skvarimp._response.rows import Rows
from skvarimp._response.shape import Cells, Merging, reduced
from skvarimp._running.memory import BLOCK, Memo, even_slices, working_bytes
from skvarimp._running.tasks import in_order, in_threads

UNSETTLED = {"std_or_range", "range"}  # statistics that `Reduction.for_kind` looks at


@dataclass(eq=False)
class Walk:
    """Everything that one walk through the engine needs; workers get a copy.

    Attributes
    ----------
    response : Response
    rows : Rows
        That are evaluated.
    moves : Moves
        Position -> Move.
    reductions : list of list of Reduction
        The reductions of each request; position p belongs to request
        p // n_features.
    scales : list of list of ndarray of shape (n_outputs,)
        What each request's reductions are divided by.
    keep_rows : bool
        Whether the numbers of single rows are wanted, too.
    """

    response: object
    rows: Rows
    moves: object
    reductions: list
    scales: list = field(default_factory=list)
    keep_rows: bool = False

    @property
    def n_features(self):
        """Number of features."""
        return len(self.moves.features)

    def reductions_of(self, position):
        """The reductions wanted at a position."""
        reductions = self.reductions[position // self.n_features]
        if not UNSETTLED & {reduction.statistic for reduction in reductions}:
            return reductions
        categorical = self.moves.kind(position).categorical
        return [reduction.for_kind(categorical) for reduction in reductions]

    def scales_of(self, position):
        """What the reductions wanted at a position are divided by."""
        return self.scales[position // self.n_features]


class Task(NamedTuple):
    """A part of a walk that is computed in one go.

    Attributes
    ----------
    positions : tuple of int
        Moves served.
    rows : slice
        Evaluated rows covered.
    together : bool
        Whether the positions move single columns that go together.
    """

    positions: tuple
    rows: slice
    together: bool = False


class Reduced(NamedTuple):
    """What a task gives.

    Attributes
    ----------
    positions : tuple of int
        Moves of one request, with equally many cells.
    states : list of State
        One for each reduction, whose arrays have one leading feature for each position.
    sample : Sample or None
        What `Reduction.finish` is given; None: that of `sample_of`.
    """

    positions: tuple
    states: list
    sample: Sample | None = None


@dataclass(eq=False)
class Tasks:
    """The tasks of a walk by a response: feature by feature, in blocks of rows.

    A response that serves many features at once, or reduces without forming curves, has
    tasks of its own kind, which override `__iter__` and `reduced`.

    Parameters
    ----------
    response : Response
    walk : Walk
    """

    # Evaluations in one task: enough to keep a worker busy, and few enough for a
    # progress bar to move and a stop to be heard soon.
    TASK_EVALUATIONS = BLOCK

    response: object
    walk: Walk
    shared: Memo = field(default_factory=partial(Memo, 8))

    def __iter__(self):
        """Yield each `Task`; those of one feature's grids follow each other."""
        n_features = self.walk.n_features
        for e in range(n_features):
            for request in range(len(self.walk.reductions)):
                yield from self.of_position(request * n_features + e)

    def of_position(self, position):
        """Yield the tasks of one position, of rows whose curves are not too many."""
        most = n_rows = len(self.walk.rows)
        if not self.response.forms_no_curve(self.walk, position):
            most = max(1, self.TASK_EVALUATIONS // self.walk.moves[position].n_cells)
        for part in even_slices(n_rows, most):
            yield Task((position,), part)

    def reduced(self, task):
        """A list of `Reduced` over the rows of a task."""
        return [
            Reduced((position,), self.states(position, task.rows))
            for position in task.positions
        ]

    def states(self, position, rows):
        """States of a position's reductions over some of the evaluated rows."""
        move, block = self.walk.moves[position], self.walk.rows.block(rows)
        reductions = self.walk.reductions_of(position)
        if move.parts is None:
            return self.states_along(move, block, reductions)
        found = [
            (self.states_along(part_move, block.block(at), reductions), at, cells)
            for part_move, at, cells in move.parts.split(move, block.index)
        ]
        every, places, cells = zip(*found)
        return [
            State(
                _at_places([state.rows for state in states], places, len(block)),
                _at_places([state.cells for state in states], cells, move.n_cells),
            )
            for states in zip(*every)
        ]

    def states_along(self, move, rows, reductions):
        """States of some `Rows` that all go through the cells of a move."""
        merging = [Merging() for _ in reductions]
        for shape in self.response.shapes(rows, move):
            all_rows = len(shape.rows) == len(self.walk.rows)
            for merger, state in zip(merging, reduced(reductions, shape)):
                # the next block may have another basis
                merger.add(state if all_rows else state.on_cells())
        return [merger.merged() for merger in merging]


def _at_places(arrays, places, size):
    """Numbers of parts of the rows, or of the cells, at their places; 0 elsewhere."""
    if arrays[0] is None:
        return None
    whole = np.zeros((*arrays[0].shape[:2], size))
    for array, place in zip(arrays, places):
        whole[:, :, place] = array
    return whole


KEPT_ELEMENTS = 2**22 - 2**12  # just below 32 MB


def do_task(task, tasks, walk):
    """What a task gives: `Reduced` of a block, or `finished` numbers of all rows."""
    # The C library returns freed blocks to the system, and then fetches them again
    # page by page for the next block of curves. After it has freed one block of 32 MB,
    # even an untouched one, it keeps as much. This saves a sixth of a walk's time.
    np.empty(min(KEPT_ELEMENTS, int(working_bytes()) // 16))
    found = tasks.reduced(task)
    return [finished(walk, one) for one in found] if has_all_rows(task, walk) else found


def has_all_rows(task, walk):
    """Whether a task's numbers can be finished where it is done."""
    return task.rows == slice(0, len(walk.rows))


def finished(walk, found):
    """The positions of a `Reduced` of all rows, and the `Outcome` of each reduction."""
    positions, states, sample = found
    scales = walk.scales_of(positions[0])
    if sample is None:
        moves, cells = [walk.moves[p] for p in positions], states[0].cell_of_value
        sample = sample_of(walk, moves, scales[0], cells)
    numbers = []
    for state, reduction, scale in zip(
        states, walk.reductions_of(positions[0]), scales
    ):
        outcome = reduction.finish(state, replace(sample, scale=scale))
        if sample.over_values is not None and outcome.curves is not None:
            outcome = replace(outcome, curves=sample.over_values(outcome.curves))
        numbers.append(outcome)
    return positions, numbers


def sample_of(walk, moves, scale, cell_of_value=None):
    """What `Reduction.finish` needs for the given moves.

    Where one cell of a state holds several values of the grid, it is over the
    cells.
    """
    rows, parts = walk.rows, moves[0].parts
    cells = Cells(np.stack([move.probabilities for move in moves]))
    if all(move.own_cells is not None for move in moves):
        cells.codes = np.stack([move.own_cells[rows.index] for move in moves])
    over_values = None
    if cell_of_value is not None:
        cells = cells.joined(cell_of_value)
        over_values = partial(np.take, indices=cell_of_value, axis=-1)
    return Sample(
        rows,
        cells,
        scale,
        walk.keep_rows,
        partial(directions, [move.order for move in moves], rows.size, cell_of_value),
        over_values,
        None if parts is None else parts.of_row[rows.index],
    )


def run_walk(walk, n_jobs=None, progress=None):
    """Compute every reduction of a walk.

    Parameters
    ----------
    walk : Walk
    n_jobs : int or None
        Through joblib; any backend. The numbers do not depend on it.
    progress : Progress or None
        Of as many steps as there are moves. It, or an interrupt, may stop the walk;
        None: an interrupt is raised.

    Returns
    -------
    list of list of Outcome
        For each request, each of its reductions.
    """
    outcomes = [
        [Outcome.unknown(walk.n_features, len(scale)) for scale in scales]
        for scales in walk.scales
    ]
    until = nullcontext() if progress is None else progress.until_interrupted()
    arriving = finished_positions(walk, n_jobs)
    with until, closing(arriving):
        for positions, found in arriving:
            features = [p % walk.n_features for p in positions]
            request = positions[0] // walk.n_features
            for outcome, numbers in zip(outcomes[request], found):
                outcome.store(features, numbers)
            if progress is not None and progress.step(len(positions)):
                break
    return outcomes


def finished_positions(walk, n_jobs=None):
    """Yield (positions, `Outcome` of each reduction) as the last rows are in."""
    tasks, prefer = walk.response.tasks(walk), walk.response.prefer
    finish, waiting = partial(finished, walk), {}
    with closing(in_order(do_task, tasks, (tasks, walk), n_jobs, prefer)) as arriving:
        for task, found in arriving:
            if has_all_rows(task, walk):
                yield from found
                continue
            n_rows = task.rows.stop - task.rows.start
            found = _complete(waiting, found, len(walk.rows), n_rows)
            yield from in_threads(finish, found)


def _complete(waiting, results, n_all, n_rows):
    """Yield merged `Reduced` where a block of rows is the last.

    Parameters
    ----------
    waiting : dict
        Positions -> how many rows are left, and the `Merging` of each state.
    results : list of Reduced
        Of the block.
    n_all, n_rows : int
        Of all blocks together, and of this one.
    """
    for positions, states, _ in results:
        new = n_all, [Merging() for _ in states]
        n_left, merging = waiting.pop(positions, new)
        for merger, state in zip(merging, states):
            merger.add(state)
        if n_left > n_rows:
            waiting[positions] = n_left - n_rows, merging
        else:
            yield Reduced(positions, [merger.merged() for merger in merging])
