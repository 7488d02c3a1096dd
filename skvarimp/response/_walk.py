"""One walk through the engine: tasks to joblib, states merged, numbers finished."""

from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from skvarimp.response._reductions import Finished, State


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
    walk = replace(walk, final=True)
    outcomes = _Outcomes(walk)
    with closing(merged_states(walk, n_jobs)) as finished:
        for positions, states in finished:
            outcomes.finish(positions, states)
            if on_done is not None and on_done(len(positions)):
                break
    return outcomes.outcomes


def merged_states(walk, n_jobs=None):
    """Yield (positions, states) as the last of a walk's rows are in.

    Each state has one leading entry a position; one state a reduction. Of a walk that
    is `final` they may be `Finished` already.
    """
    waiting = {}
    tasks = walk.response.tasks(walk)
    with closing(in_order(_run_task, tasks, (walk,), n_jobs)) as arriving:
        for task, results in arriving:
            for positions, states in results:
                if isinstance(states[0], Finished):
                    yield positions, states
                    continue
                seen, parts = waiting.pop(positions, (0, []))
                seen += task.rows.stop - task.rows.start
                parts.append(states)
                if seen < len(walk.rows):
                    waiting[positions] = (seen, parts)
                else:
                    yield positions, [State.merged(of_one) for of_one in zip(*parts)]


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
    """The outcomes of a walk, filled as its positions are finished."""

    def __init__(self, walk):
        self.walk = walk
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

    def finish(self, positions, states):
        """Numbers of some positions of one request from their merged states."""
        walk = self.walk
        request = positions[0] // walk.n_entries
        entries = [p % walk.n_entries for p in positions]
        if not isinstance(states[0], Finished):
            states = self._finished(positions, states)
        for r, finished in enumerate(states):
            outcome = self.outcomes[request][r]
            outcome.importances[entries] = finished.importances
            if finished.standard_errors is not None:
                outcome.standard_errors[entries] = finished.standard_errors
            if finished.curves is not None:
                for e, curve in zip(entries, finished.curves):
                    outcome.curves[e] = curve

    def _finished(self, positions, states):
        walk = self.walk
        request = positions[0] // walk.n_entries
        moves = [walk.moves[p] for p in positions]
        return [
            reduction.finish(state, walk.sample(moves, scale))
            for state, reduction, scale in zip(
                states, walk.reductions[request], walk.scales[request]
            )
        ]
