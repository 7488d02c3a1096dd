"""Score lost when an entry's values are drawn from other rows, by any scorer."""

import numpy as np
from sklearn.metrics import get_scorer

from skvarimp._data.table import rows_of_target
from skvarimp._measures.response_importance import drawn_outcome
from skvarimp._response.sampling import entry_seeds
from skvarimp._response.states import Finished
from skvarimp._running.guards import users_code
from skvarimp._running.tasks import steps_of


class ScoreLost:
    """A scorer on a problem's rows.

    Attributes
    ----------
    name : str
        Of the scorer.
    baseline : float
        Score of the unmoved rows.
    parts : dict
        Entry -> the part of each row, where donors are to come from it.
    """

    def __init__(self, scoring, problem):
        self.scorer, self.name = _resolve_scorer(scoring, problem.model)
        self.problem, self.y = problem, problem.given_y
        if not problem.kept.all():
            self.y = rows_of_target(self.y, np.flatnonzero(problem.kept))
        self.options, self.parts = {}, {}
        if problem.weights.min() < problem.weights.max():
            self.options["sample_weight"] = problem.weights * problem.total_weight
        self.baseline = self.score(problem.table.copy())

    def score(self, X):
        """The score of rows in the container that the model takes."""
        estimator = self.problem.model.estimator
        try:
            with users_code():
                score = self.scorer(estimator, X, self.y, **self.options)
        except ValueError as error:
            raise ValueError(f"scoring={self.name!r} failed: {error}") from error
        if not is_finite_number(score):
            raise ValueError(
                f"`scoring` must give one finite number, got {score!r} from "
                f"{self.name}."
            )
        return float(score)

    def outcome(self, plan, measure):
        """Mean score lost over the repeats; no standard errors."""
        measure.response_path_ = "black box (the scorer asks the model)"
        n = len(plan.entries)
        seeds = entry_seeds(measure.random_state, n)
        given = plan.entries, self, measure.n_repeats, seeds
        drawn = steps_of([measure], _score_lost, range(n), given, measure.n_jobs)
        return drawn_outcome(n, 1, drawn)


def is_finite_number(score):
    """Whether what a scorer returned is one number, neither NaN nor infinite."""
    score = np.asarray(score)
    return score.ndim == 0 and score.dtype.kind in "fbiu" and bool(np.isfinite(score))


def _resolve_scorer(scoring, model):
    """(scorer, name) from a name or a callable."""
    if not isinstance(scoring, str):
        return scoring, getattr(scoring, "__name__", None) or repr(scoring)
    scorer = get_scorer(scoring)
    if model.method == "__call__":
        raise TypeError(
            f"scoring={scoring!r} needs an estimator with `predict`, got a bare "
            "callable. Use `loss`, or a callable scorer(f, X, y)."
        )
    return scorer, scoring


def _score_lost(position, entries, lost, n_repeats, seeds):
    """`Finished` from the score lost by one entry in each repeat."""
    random, problem = np.random.default_rng(int(seeds[position])), lost.problem
    rows, entry = np.arange(problem.n_rows), entries[position]
    parts = [rows]
    if entry in lost.parts:
        part = lost.parts[entry]
        order = np.argsort(part, kind="stable")
        parts = np.split(order, np.cumsum(np.bincount(part))[:-1])
    result, donors = np.empty(n_repeats), np.empty_like(rows)
    for r in range(n_repeats):
        for of_part in parts:
            weights = problem.weights[of_part] / problem.weights[of_part].sum()
            donors[of_part] = of_part[shuffled_donors(weights, random)]
        moved = problem.table.moved(rows, entry.columns, donors=donors)
        result[r] = lost.baseline - lost.score(moved)
    error = result.std(ddof=1) / np.sqrt(n_repeats) if n_repeats > 1 else np.nan
    return Finished(result.mean(), None, error)


def shuffled_donors(weights, random):
    """One donor per row, each as often as its weight says; equal weights: a shuffle.

    Equally spaced points of the cumulated weights from a random start name the
    donors, which are then shuffled over the rows.
    """
    n = len(weights)
    points = (np.arange(n) + random.random()) / n
    donors = np.searchsorted(np.cumsum(weights)[:-1], points, side="right")
    return random.permutation(donors)
