"""One walk through the engine: its tasks, the states merged, the numbers finished."""

from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

import numpy as np

from skvarimp._response.reductions import State
from skvarimp._response.shapes.shape import Merging
from skvarimp._response.walk import finished, run_task
from skvarimp._running.tasks import each, in_order


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
            for outcome, numbers in zip(outcomes[request], of_positions):
                outcome.store(entries, numbers)
            if progress is not None and progress.step(len(positions)):
                break
    return outcomes


def finished_positions(walk, n_jobs=None):
    """Yield (positions, `Finished` of each reduction) as the last rows are in."""
    finish = partial(finished, walk)
    with closing(_arriving(walk, n_jobs)) as arriving:
        for merged in arriving:
            yield from each(finish, merged)


def merged_states(walk, n_jobs=None):
    """Yield (positions, states) as the last of a walk's rows are in.

    There is one state per reduction, with one leading entry per position. Those of a
    walk that is `final` may be `Finished`, or over cells that hold several values.
    """
    with closing(_arriving(walk, n_jobs)) as arriving:
        for positions, states in chain.from_iterable(arriving):
            yield positions, states if walk.final else [s.expanded() for s in states]


def _arriving(walk, n_jobs):
    """Yield what each task is the last to bring, an iterable of (positions, states)."""
    walker, prefer = walk.response.walker(walk), walk.response.prefer
    tasks, waiting = walker.tasks(), Waiting(len(walk.rows))
    with closing(in_order(run_task, tasks, (walker,), n_jobs, prefer)) as arriving:
        for task, results in arriving:
            yield waiting.complete(results, task.rows.stop - task.rows.start)


@dataclass
class Waiting:
    """States of moves, some rows at a time, until the last rows are in.

    Attributes
    ----------
    n_rows : int
        Of all blocks together.
    merging : dict
        Positions -> how many rows there are so far, and the `Merging` of each state.
    """

    n_rows: int
    merging: dict = field(default_factory=dict)

    def complete(self, results, n_rows):
        """Yield (positions, merged states) where a block of rows is the last.

        Parameters
        ----------
        results : list of (positions, states)
            Of the block. What is no `State` is complete already.
        n_rows : int
            Of the block.
        """
        for positions, states in results:
            if not isinstance(states[0], State):
                yield positions, states
                continue
            new = (0, [Merging() for _ in states])
            n_seen, merging = self.merging.pop(positions, new)
            for of_one, state in zip(merging, states):
                of_one.add(state)
            if n_seen + n_rows < self.n_rows:
                self.merging[positions] = n_seen + n_rows, merging
            else:
                yield positions, [of_one.merged() for of_one in merging]


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
    directions, effects : ndarray or None
        As in `Finished`, of all entries; NaN where there is none.
    complete : ndarray of bool of shape (n_entries,) or None
        Which entries were drawn as often as wanted, where draws were stopped.
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
    directions: np.ndarray | None = None
    effects: np.ndarray | None = None
    complete: np.ndarray | None = None

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
        """As `empty`, with room for what only drawn numbers have."""
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
        for name in ("directions", "effects"):
            values = getattr(finished, name)
            if values is None:
                continue
            if getattr(self, name) is None:
                shape = len(self.importances), *values.shape[1:]
                setattr(self, name, np.full(shape, np.nan))
            getattr(self, name)[entries] = values

    def times(self, factor):
        """The outcome with importances, errors and numbers of rows times a factor."""
        names = "importances", "standard_errors", "monte_carlo_errors"
        for name in (*names, "influences", "contributions"):
            if getattr(self, name) is not None:
                setattr(self, name, factor * getattr(self, name))
        return self
