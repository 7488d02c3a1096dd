"""One walk through the engine: tasks to joblib, states merged, numbers finished."""

from collections import deque
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
from joblib import effective_n_jobs

from skvarimp._response.grid import Moves
from skvarimp._response.reductions.states import Finished, Merging
from skvarimp._running.memory import working_bytes
from skvarimp._running.tasks import in_order


@dataclass
class Outcome:
    """One reduction of one request, over all entries.

    Attributes
    ----------
    importances : ndarray of shape (n_entries, n_outputs)
        NaN for entries that a callback stopped before.
    standard_errors : ndarray of shape (n_entries,)
        NaN where there is none.
    curves : list of (ndarray of shape (n_outputs, n_cells) or None)
    monte_carlo_errors, n_draws : ndarray of shape (n_entries,) or None
        Of drawn numbers: the error of drawing, and how many draws there were.
    influences, contributions : ndarray of shape (n_rows, n_entries) or None
        Of single rows, see `Finished`; None where they are not kept or there are none.
    """

    importances: np.ndarray
    standard_errors: np.ndarray
    curves: list
    monte_carlo_errors: np.ndarray | None = None
    n_draws: np.ndarray | None = None
    influences: np.ndarray | None = None
    contributions: np.ndarray | None = None

    @classmethod
    def empty(cls, n_entries, n_outputs):
        """To be filled as the entries are finished."""
        return cls(
            np.full((n_entries, n_outputs), np.nan),
            np.full(n_entries, np.nan),
            [None] * n_entries,
        )

    def store(self, entries, finished):
        """Take the numbers of some entries from their `Finished`."""
        self.importances[entries] = finished.importances
        for name in ("standard_errors", "monte_carlo_errors", "n_draws"):
            if getattr(finished, name) is not None:
                getattr(self, name)[entries] = getattr(finished, name)
        if finished.curves is not None:
            for e, curve in zip(entries, finished.curves):
                self.curves[e] = curve
        rows = finished.influences, finished.contributions
        self.store_rows(entries, influences=rows[0], contributions=rows[1])

    def store_rows(self, entries, **of_rows):
        """Keep numbers of single rows, (len(entries), n_rows) or None each, by name."""
        for name, values in of_rows.items():
            if values is None:
                continue
            values = np.atleast_2d(values).T
            if getattr(self, name) is None:
                shape = len(values), len(self.importances)
                setattr(self, name, np.full(shape, np.nan, order="F"))
            getattr(self, name)[:, entries] = values


def run_walk(walk, n_jobs=None, on_done=None):
    """Compute every reduction of a walk.

    Parameters
    ----------
    walk : Walk
    n_jobs : int or None
        Through joblib; any backend. The numbers do not depend on it.
    on_done : callable or None
        Called with the number of moves finished; returns True to stop.

    Returns
    -------
    list of list of Outcome
        For each request, each of its reductions.
    """
    walk = replace(walk, final=True)
    outcomes = _Outcomes(walk)
    with closing(_merged(walk, n_jobs)) as finished:
        for positions, states in finished:
            outcomes.finish(positions, states)
            if on_done is not None and on_done(len(positions)):
                break
    return outcomes.outcomes


def merged_states(walk, n_jobs=None):
    """Yield (positions, states) as the last of a walk's rows are in.

    There is one state per reduction, with one leading entry per position. The states of
    a walk that is `final` may be `Finished` already.
    """
    with closing(_merged(walk, n_jobs)) as merged:
        for positions, states in merged:
            if not isinstance(states[0], Finished):
                states = [state.expanded() for state in states]
            yield positions, states


def _merged(walk, n_jobs):
    """`merged_states` over the response's own cells."""
    waiting = {}
    tasks, prefer = walk.response.tasks(walk), walk.response.prefer
    if prefer == "threads":
        _sort_in_threads(walk.moves, n_jobs)
    with closing(in_order(_run_task, tasks, (walk,), n_jobs, prefer)) as arriving:
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
                else:
                    yield positions, [of_one.merged() for of_one in merging]


def _sort_in_threads(moves, n_jobs):
    """Make all moves at once if they are small enough to be kept."""
    if effective_n_jobs(n_jobs) == 1 or not isinstance(moves, Moves):
        return
    if 32 * len(moves) * moves.table.n_samples > moves.most_bytes:
        return
    positions = range(len(moves))
    made = in_order(_make, positions, (moves,), n_jobs, require="sharedmem")
    deque(made, maxlen=0)


def _make(position, moves):
    moves[position]


KEPT_ELEMENTS = 2**22 - 2**12  # just below 32 MB


def _run_task(task, walk):
    # The C library returns freed blocks to the system, and then fetches them again
    # page by page for the next block of curves. After it has freed one block of 32 MB,
    # even an untouched one, it keeps as much. This saves a sixth of a walk's time.
    np.empty(min(KEPT_ELEMENTS, int(working_bytes()) // 16))
    return walk.response.run(walk, task)


class _Outcomes:
    """The outcomes of a walk, filled as its positions are finished."""

    def __init__(self, walk):
        self.walk = walk
        self.outcomes = [
            [Outcome.empty(walk.n_entries, len(scale)) for scale in scales]
            for scales in walk.scales
        ]

    def finish(self, positions, states):
        """Numbers of some positions of one request from their merged states."""
        walk = self.walk
        request = positions[0] // walk.n_entries
        entries = [p % walk.n_entries for p in positions]
        if not isinstance(states[0], Finished):
            states = self._finished(positions, states)
        for r, finished in enumerate(states):
            self.outcomes[request][r].store(entries, finished)

    def _finished(self, positions, states):
        walk = self.walk
        request = positions[0] // walk.n_entries
        moves = [walk.moves[p] for p in positions]
        result, sample, seen = [], None, None
        for state, reduction, scale in zip(
            states, walk.reductions_of(positions[0]), walk.scales[request]
        ):
            cells = state.cell_of_value
            if sample is None or cells is not seen:
                sample, seen = walk.sample(moves, scale, cells), cells
            finished = reduction.finish(state, replace(sample, scale=scale))
            if cells is not None and finished.curves is not None:
                finished = replace(finished, curves=finished.curves[..., cells])
            result.append(finished)
        return result
