"""A walk: every feature through its grid, the rows in blocks, a state of each block."""

from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain

import numpy as np

from skvarimp._data.statistics import Units
from skvarimp._response.mean_curves import directions
from skvarimp._response.reductions import Outcome, Sample, State
from skvarimp._response.shape import Margins, Merging, reduced
from skvarimp._running.memory import BLOCK, Memo, even_slices, working_bytes
from skvarimp._running.tasks import in_order, in_threads

UNSETTLED = {"std_or_range", "range"}  # statistics that `Reduction.for_kind` looks at


@dataclass(eq=False)
class Walk:
    """Everything that one walk through the engine needs; workers get a copy.

    Attributes
    ----------
    response : Response
    table : Table
        The donors' rows, all of positive weight.
    moves : Moves
        Position -> Move.
    reductions : list of list of Reduction
        The reductions of each request; position p belongs to request
        p // n_features.
    rows : ndarray of shape (n_rows,)
        The evaluated rows of the table.
    weights : ndarray of shape (n_rows,)
        Their weights, summing to 1.
    base : ndarray of shape (n_outputs, n_rows)
        The response of the evaluated rows, unmoved.
    units : Units
        All rows of all walks together, for standard errors.
    y : ndarray of shape (n_rows, ...) or None
    scales : list of list of ndarray of shape (n_outputs,)
        What each request's reductions are divided by.
    keep_rows : bool
        Whether the numbers of single rows are wanted, too.
    final : bool
        Whether all rows are evaluated, and `Walker.run` may give `Outcome`.
    """

    response: object
    table: object
    moves: object
    reductions: list
    rows: np.ndarray
    weights: np.ndarray
    base: np.ndarray
    units: Units
    y: np.ndarray | None = None
    scales: list = field(default_factory=list)
    keep_rows: bool = False
    final: bool = False

    @property
    def n_features(self):
        """Number of features."""
        return len(self.moves.features)

    @cached_property
    def size(self):
        """The largest unmoved response, (n_outputs,)."""
        return np.abs(self.base).max(axis=1)

    @cached_property
    def level(self):
        """The mean unmoved response, (n_outputs,)."""
        return self.base @ self.weights

    def reductions_of(self, position):
        """The reductions wanted at a position."""
        reductions = self.reductions[position // self.n_features]
        if not UNSETTLED & {reduction.statistic for reduction in reductions}:
            return reductions
        categorical = self.moves.kind(position).categorical
        return [reduction.for_kind(categorical) for reduction in reductions]

    def margins(self, rows, probabilities, multiplicity=None):
        """`Margins` of some evaluated rows and the cells of some features.

        Rows are a slice, or an array of positions, which are then numbered from 0.
        """
        if multiplicity is None:
            multiplicity = np.ones_like(probabilities)
        return Margins(
            self.base[np.newaxis, :, rows],
            self.weights[rows],
            rows if isinstance(rows, slice) else slice(0, len(rows)),
            probabilities,
            multiplicity,
            None if self.y is None else self.y[rows],
        )


@dataclass(frozen=True)
class Task:
    """A part of a walk that is computed in one go.

    Attributes
    ----------
    positions : tuple of int
        Moves served.
    rows : slice
        Evaluated rows covered.
    finishes : bool
        Whether `Walker.run` gives an `Outcome` for each reduction, of all rows, and no
        `State`.
    """

    positions: tuple
    rows: slice
    finishes = False


@dataclass(frozen=True)
class ColumnsTask(Task):
    """Single columns that are reduced together, over all rows, to the end."""

    finishes = True


@dataclass(eq=False)
class Walker:
    """How a response carries out a walk: feature by feature, in blocks.

    A response that serves many features at once, or reduces without forming curves, has
    a walker of its own, which overrides `tasks` and `run`.

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

    def tasks(self):
        """The parts of the walk; the grids of one feature follow each other."""
        n_features = self.walk.n_features
        for e in range(n_features):
            for request in range(len(self.walk.reductions)):
                yield from self.tasks_of(request * n_features + e)

    def tasks_of(self, position):
        """The parts of one position: blocks of rows."""
        most = max(1, self.TASK_EVALUATIONS // self.walk.moves[position].n_cells)
        most = self.rows_at_once(position, most)
        for part in even_slices(len(self.walk.rows), most):
            yield Task((position,), part)

    def rows_at_once(self, position, most):
        """How many rows go into one task: those whose curves are not too many."""
        return most

    def run(self, task):
        """The merged states of one task.

        Returns
        -------
        list of (positions, states)
            `positions` a tuple of moves with equally many cells, `states` one `State`
            for each reduction, whose arrays have one leading feature for each position;
            one `Outcome` for each where the task finishes.
        """
        return [
            ((position,), self.reduced(position, task.rows))
            for position in task.positions
        ]

    def reduced(self, position, rows):
        """States of a position's reductions over some of the evaluated rows."""
        walk, move = self.walk, self.walk.moves[position]
        reductions = walk.reductions_of(position)
        if move.parts is None:
            return self.reduced_along(move, rows, reductions)
        found = [
            (self.reduced_along(part_move, rows.start + at, reductions), at, cells)
            for part_move, at, cells in move.parts.split(move, walk.rows[rows])
        ]
        every, places, cells = zip(*found)
        sizes = rows.stop - rows.start, move.n_cells
        return [
            State(
                _at_places([state.rows for state in states], places, sizes[0]),
                _at_places([state.cells for state in states], cells, sizes[1]),
            )
            for states in zip(*every)
        ]

    def reduced_along(self, move, rows, reductions, multiplicity=None):
        """States of some evaluated rows that all go through the cells of a move."""
        walk = self.walk
        margins = walk.margins(rows, move.probabilities[np.newaxis], multiplicity)
        merging = [Merging() for _ in reductions]
        shapes = self.response.shapes(walk.table, walk.rows[rows], move, margins)
        for shape in shapes:
            all_rows = shape.margins.n_rows == len(walk.rows)
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


def run_task(task, walker):
    # The C library returns freed blocks to the system, and then fetches them again
    # page by page for the next block of curves. After it has freed one block of 32 MB,
    # even an untouched one, it keeps as much. This saves a sixth of a walk's time.
    np.empty(min(KEPT_ELEMENTS, int(working_bytes()) // 16))
    return walker.run(task)


def finished(walk, result):
    """The numbers of some positions of one request, from their merged states.

    Parameters
    ----------
    walk : Walk
    result : (tuple of int, list of State)

    Returns
    -------
    (tuple of int, list of Outcome)
    """
    positions, states = result
    moves = [walk.moves[p] for p in positions]
    scales = walk.scales[positions[0] // walk.n_features]
    cells, numbers = states[0].cell_of_value, []
    sample = sample_of(walk, moves, scales[0], cells)
    for state, reduction, scale in zip(
        states, walk.reductions_of(positions[0]), scales
    ):
        outcome = reduction.finish(state, replace(sample, scale=scale))
        if cells is not None and outcome.curves is not None:
            outcome = replace(outcome, curves=outcome.curves[..., cells])
        numbers.append(outcome)
    return positions, numbers


def sample_of(walk, moves, scale, cell_of_value=None):
    """What `Reduction.finish` needs for the given moves.

    Where one cell of a state holds several values of the grid, it is over the
    cells.
    """
    size, level = walk.size, walk.level
    orders = [move.order for move in moves]
    known = partial(directions, orders, size, cell_of_value)
    probabilities = np.stack([move.probabilities for move in moves])
    multiplicity = np.ones_like(probabilities)
    codes, parts = None, moves[0].parts
    if all(move.own_cells is not None for move in moves):
        codes = np.stack([move.own_cells[walk.rows] for move in moves])
    if cell_of_value is not None:
        chances = [np.bincount(cell_of_value, p) for p in probabilities]
        probabilities = np.stack(chances)
        sizes = np.bincount(cell_of_value).astype(np.float64)
        multiplicity = np.broadcast_to(sizes, probabilities.shape)
        codes = None if codes is None else cell_of_value[codes]
    return Sample(
        walk.weights,
        walk.units,
        walk.base,
        codes,
        probabilities,
        multiplicity,
        scale,
        level,
        walk.keep_rows,
        None if parts is None else parts.of_row[walk.rows],
        directions=known,
    )


def unknown_outcomes(n_features, scales):
    """An `Outcome` of each reduction of each request, divided by `scales`; all NaN."""
    return [
        [Outcome(np.full((n_features, len(scale)), np.nan)) for scale in own_scales]
        for own_scales in scales
    ]


def run_walk(walk, n_jobs=None, progress=None):
    """Compute every reduction of a walk.

    Parameters
    ----------
    walk : Walk
    n_jobs : int or None
        Through joblib; any backend. The numbers do not depend on it.
    progress : Progress or None
        Of as many steps as there are moves; may stop the walk.

    Returns
    -------
    list of list of Outcome
        For each request, each of its reductions.
    """
    outcomes = unknown_outcomes(walk.n_features, walk.scales)
    until = nullcontext() if progress is None else progress.until_interrupted()
    arriving = finished_positions(replace(walk, final=True), n_jobs)
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
    finish = partial(finished, walk)
    with closing(_arriving(walk, n_jobs)) as arriving:
        for task, found in arriving:
            yield from found if task.finishes else in_threads(finish, found)


def merged_states(walk, n_jobs=None):
    """Yield (position, states over the grid's values) as the last rows are in.

    There is one state per reduction. The walk is not `final`.
    """
    with closing(_arriving(walk, n_jobs)) as arriving:
        for (position,), states in chain.from_iterable(found for _, found in arriving):
            yield position, [state.on_values() for state in states]


def _arriving(walk, n_jobs):
    """Yield each task and what it is the last to bring, an iterable.

    That is (positions, merged states), or outcomes where the task finishes.
    """
    walker, prefer = walk.response.walker(walk), walk.response.prefer
    tasks, waiting = walker.tasks(), {}
    with closing(in_order(run_task, tasks, (walker,), n_jobs, prefer)) as arriving:
        for task, results in arriving:
            n_rows = task.rows.stop - task.rows.start
            if not task.finishes:
                results = _complete(waiting, results, len(walk.rows), n_rows)
            yield task, results


def _complete(waiting, results, n_all, n_rows):
    """Yield (positions, merged states) where a block of rows is the last.

    Parameters
    ----------
    waiting : dict
        Positions -> how many rows are left, and the `Merging` of each state.
    results : list of (positions, states)
        Of the block.
    n_all, n_rows : int
        Of all blocks together, and of this one.
    """
    for positions, states in results:
        new = n_all, [Merging() for _ in states]
        n_left, merging = waiting.pop(positions, new)
        for merger, state in zip(merging, states):
            merger.add(state)
        if n_left > n_rows:
            waiting[positions] = n_left - n_rows, merging
        else:
            yield positions, [merger.merged() for merger in merging]
