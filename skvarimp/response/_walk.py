"""One walk through the engine: tasks to joblib, states merged, numbers finished."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from skvarimp.response._reductions import State


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
    """

    importances: np.ndarray
    standard_errors: np.ndarray
    curves: list


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
    outcomes = _Outcomes(walk)
    tasks = walk.response.tasks(walk)
    for task, results in in_order(_run_task, tasks, (walk,), n_jobs):
        n_finished = sum(outcomes.add(task, *result) for result in results)
        if n_finished and on_done is not None and on_done(n_finished):
            break
    return outcomes.outcomes


def _run_task(task, walk):
    return walk.response.run(walk, task)


def in_order(function, tasks, arguments, n_jobs):
    """Yield (task, function(task, *arguments)) in the order of the tasks, via joblib.

    Results arrive while later tasks run, so that little is held and a consumer may
    stop early; a backend that cannot hand out results one by one gives them at once.
    """
    calls = (delayed(_with_task)(function, task, arguments) for task in tasks)
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    except ValueError:  # "Backend ... does not support return_as"
        parallel = Parallel(n_jobs=n_jobs)
    results = parallel(calls)
    try:
        yield from results
    finally:
        if hasattr(results, "close"):
            results.close()


def _with_task(function, task, arguments):
    return task, function(task, *arguments)


class _Outcomes:
    """Merges states as they come and finishes a position once its rows are complete."""

    def __init__(self, walk):
        self.walk = walk
        self.n_rows = len(walk.rows)
        n_entries = walk.n_entries
        self.outcomes = [
            [
                Outcome(
                    np.full((n_entries, len(scale)), np.nan),
                    np.full(n_entries, np.nan),
                    [None] * n_entries,
                )
                for scale in scales
            ]
            for scales in walk.scales
        ]
        self._waiting = {}

    def add(self, task, positions, states):
        """Take the states of a task; returns how many positions are now finished."""
        seen, parts = self._waiting.pop(positions, (0, []))
        seen += task.rows.stop - task.rows.start
        parts.append(states)
        if seen < self.n_rows:
            self._waiting[positions] = (seen, parts)
            return 0
        for r in range(len(states)):
            self._finish(positions, r, State.merged([part[r] for part in parts]))
        return len(positions)

    def _finish(self, positions, r, state):
        walk = self.walk
        request = positions[0] // walk.n_entries
        entries = [p % walk.n_entries for p in positions]
        moves = [walk.moves[p] for p in positions]
        sample = walk.sample(moves, walk.scales[request][r])
        finished = walk.reductions[request][r].finish(state, sample)
        outcome = self.outcomes[request][r]
        outcome.importances[entries] = finished.importances
        if finished.standard_errors is not None:
            outcome.standard_errors[entries] = finished.standard_errors
        if finished.curves is not None:
            for e, curve in zip(entries, finished.curves):
                outcome.curves[e] = curve
