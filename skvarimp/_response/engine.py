"""One walk through the engine: tasks to joblib, states merged, numbers finished."""

from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace

import numpy as np

from skvarimp._data.units import Units
from skvarimp._response.shapes.shape import Margins
from skvarimp._response.states import Finished, Merging, Sample, State
from skvarimp._running.memory import slices, working_bytes
from skvarimp._running.tasks import in_order


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
        p // n_entries.
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
        Whether all rows are evaluated, and `Walker.run` may give `Finished`.
    means : dict
        Position -> mean curve of all rows and its slope, where some are evaluated.
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
    means: dict = field(default_factory=dict)

    @property
    def n_entries(self):
        """Number of entries."""
        return len(self.moves.entries)

    def entry_of(self, position):
        """The entry of a position, whose move need not be made for it."""
        return self.moves.entries[position % self.n_entries]

    def reductions_of(self, position):
        """The reductions wanted at a position."""
        reductions = self.reductions[position // self.n_entries]
        categorical = self.moves.is_categorical(position)
        return [reduction.of_kind(categorical) for reduction in reductions]

    def margins(self, rows, probabilities, multiplicity=None):
        """`Margins` of some evaluated rows and the cells of some entries.

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

    def sample(self, moves, scale, cell_of_value=None):
        """What `Reduction.finish` needs for the given moves.

        Where one cell of a state holds several values of the grid, it is over the
        cells.
        """
        probabilities = np.stack([move.probabilities for move in moves])
        multiplicity = np.ones_like(probabilities)
        codes, parts = None, moves[0].parts
        if moves[0].codes is not None:
            codes = np.stack([move.codes[self.rows] for move in moves])
        if cell_of_value is not None:
            probabilities = _summed(probabilities, cell_of_value)
            multiplicity = _summed(multiplicity, cell_of_value)
            codes = None if codes is None else cell_of_value[codes]
        return Sample(
            self.weights,
            self.units,
            self.base,
            codes,
            probabilities,
            multiplicity,
            scale,
            self.base @ self.weights,
            self.keep_rows,
            None if parts is None else parts.of_row[self.rows],
        )


def _summed(of_values, cell_of_value):
    return np.stack([np.bincount(cell_of_value, values) for values in of_values])


# What an `Outcome` takes from a `Finished` besides importances, curves and rows.
NUMBERS = (
    "standard_errors",
    "skewness",
    "errors_per_output",
    "monte_carlo_errors",
    "n_draws",
)


@dataclass
class Outcome:
    """One reduction of one request, over all entries.

    Attributes
    ----------
    importances : ndarray of shape (n_entries, n_outputs)
        NaN for entries that a stop came before.
    standard_errors : ndarray of shape (n_entries,)
        NaN where there is none.
    curves : list of (ndarray of shape (n_outputs, n_cells) or None)
    monte_carlo_errors, n_draws : ndarray of shape (n_entries,) or None
        Of drawn numbers: the error of drawing, and how many draws there were.
    influences, contributions : ndarray of shape (n_rows, n_entries) or None
        Of single rows, see `Finished`; None where they are not kept or there are none.
    errors_per_output : ndarray of shape (n_entries, n_outputs) or None
        NaN where there is none.
    skewness : ndarray of shape (n_entries,) or None
        Of the sampling error; NaN where it is not known.
    """

    importances: np.ndarray
    standard_errors: np.ndarray
    curves: list
    monte_carlo_errors: np.ndarray | None = None
    n_draws: np.ndarray | None = None
    influences: np.ndarray | None = None
    contributions: np.ndarray | None = None
    errors_per_output: np.ndarray | None = None
    skewness: np.ndarray | None = None

    @classmethod
    def empty(cls, n_entries, n_outputs):
        """To be filled as the entries are finished."""
        return cls(
            np.full((n_entries, n_outputs), np.nan),
            np.full(n_entries, np.nan),
            [None] * n_entries,
            errors_per_output=np.full((n_entries, n_outputs), np.nan),
            skewness=np.full(n_entries, np.nan),
        )

    @classmethod
    def drawn(cls, n_entries, n_outputs):
        """The same for drawn numbers."""
        outcome = cls.empty(n_entries, n_outputs)
        outcome.monte_carlo_errors = np.full(n_entries, np.nan)
        outcome.n_draws = np.zeros(n_entries, dtype=np.intp)
        return outcome

    @classmethod
    def all_empty(cls, n_entries, scales):
        """One for each reduction of each request, from what they are divided by."""
        return [[cls.empty(n_entries, len(s)) for s in every] for every in scales]

    def store(self, entries, finished):
        """Take the numbers of some entries from their `Finished`."""
        self.importances[entries] = finished.importances
        for name in NUMBERS:
            if getattr(finished, name) is not None:
                getattr(self, name)[entries] = getattr(finished, name)
        if finished.curves is not None:
            for e, curve in zip(entries, finished.curves):
                self.curves[e] = curve
        for name in ("influences", "contributions"):
            values = getattr(finished, name)
            if values is None:
                continue
            values = np.atleast_2d(values).T
            if getattr(self, name) is None:
                shape = len(values), len(self.importances)
                setattr(self, name, np.full(shape, np.nan, order="F"))
            getattr(self, name)[:, entries] = values

    def times(self, factor):
        """The outcome with importances, errors and numbers of rows times a factor."""
        names = "importances", "standard_errors", "monte_carlo_errors"
        for name in (*names, "influences", "contributions"):
            if getattr(self, name) is not None:
                setattr(self, name, factor * getattr(self, name))
        return self


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
    outcomes = Outcome.all_empty(walk.n_entries, walk.scales)
    until = nullcontext() if progress is None else progress.until_interrupted()
    arriving = finished_positions(replace(walk, final=True), n_jobs)
    with until, closing(arriving):
        for positions, of_positions in arriving:
            entries = [p % walk.n_entries for p in positions]
            request = positions[0] // walk.n_entries
            for outcome, finished in zip(outcomes[request], of_positions):
                outcome.store(entries, finished)
            if progress is not None and progress.step(len(positions)):
                break
    return outcomes


def finished_positions(walk, n_jobs=None):
    """Yield (positions, `Finished` of each reduction) as the last rows are in."""
    with closing(merged_states(walk, n_jobs)) as merged:
        for positions, states in merged:
            if not isinstance(states[0], Finished):
                states = _finished(walk, positions, states)
            yield positions, states


def merged_states(walk, n_jobs=None):
    """Yield (positions, states) as the last of a walk's rows are in.

    There is one state per reduction, with one leading entry per position. Those of a
    walk that is `final` may be `Finished`, or over cells that hold several values.
    """
    waiting = {}
    walker, prefer = walk.response.walker(walk), walk.response.prefer
    tasks = walker.tasks()
    with closing(in_order(_run_task, tasks, (walker,), n_jobs, prefer)) as arriving:
        for task, results in arriving:
            for positions, states in results:
                if isinstance(states[0], Finished):
                    yield positions, states
                    continue
                new = (0, [Merging() for _ in states])
                seen, merging = waiting.pop(positions, new)
                seen += task.rows.stop - task.rows.start
                for of_one, state in zip(merging, states):
                    of_one.add(state)
                if seen < len(walk.rows):
                    waiting[positions] = (seen, merging)
                    continue
                states = [of_one.merged() for of_one in merging]
                yield (
                    positions,
                    states if walk.final else [s.expanded() for s in states],
                )


KEPT_ELEMENTS = 2**22 - 2**12  # just below 32 MB


def _run_task(task, walker):
    # The C library returns freed blocks to the system, and then fetches them again
    # page by page for the next block of curves. After it has freed one block of 32 MB,
    # even an untouched one, it keeps as much. This saves a sixth of a walk's time.
    np.empty(min(KEPT_ELEMENTS, int(working_bytes()) // 16))
    return walker.run(task)


def _finished(walk, positions, states):
    """Numbers of some positions of one request from their merged states."""
    moves = [walk.moves[p] for p in positions]
    scales = walk.scales[positions[0] // walk.n_entries]
    cells, result = states[0].cell_of_value, []
    sample = walk.sample(moves, scales[0], cells)
    for state, reduction, scale in zip(
        states, walk.reductions_of(positions[0]), scales
    ):
        finished = reduction.finish(state, replace(sample, scale=scale))
        if cells is not None and finished.curves is not None:
            finished = replace(finished, curves=finished.curves[..., cells])
        result.append(finished)
    return result


def finished_again(task, walk, reduction):
    """The numbers of a mean curve whose rows' curves were not kept, with influences.

    How much a row moves the flatness of a mean curve is known only after the mean
    curve. The walk keeps each row's curve until then if memory allows. If not, the
    curves are formed again here, block by block.

    Parameters
    ----------
    task : (int, ndarray of shape (n_outputs, n_cells))
        An entry and its mean curves.
    walk : Walk
        Over all rows, of one request with one scale.
    reduction : PartialDependence

    Returns
    -------
    Finished
    """
    e, curves = task
    move, response = walk.moves[e], walk.response
    ((scale, *_),) = walk.scales
    sample = replace(walk.sample([move], scale), keep_rows=True)
    cells = curves - (walk.base @ walk.weights)[:, np.newaxis]
    kind = reduction.of_kind(move.categorical)
    (slope,) = kind.slope(cells[np.newaxis], sample)
    rows = np.empty((1, *walk.base.shape))
    for part in slices(len(walk.rows), move.n_cells * len(walk.base)):
        base = walk.base[:, part]
        ice = response.curves(walk.table, walk.rows[part], move, base)
        moved = ice - base[:, :, np.newaxis]
        rows[0, :, part] = np.einsum("oik,ok->oi", moved, slope)
    return kind.finish(State(rows, cells[np.newaxis]), sample)
