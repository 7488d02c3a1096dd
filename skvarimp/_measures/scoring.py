"""Score lost when an entry's values are drawn from other rows, by any scorer."""

from dataclasses import dataclass, field

import numpy as np
from sklearn.metrics import get_scorer

from skvarimp._data.table import rows_of_target
from skvarimp._response.engine import Outcome
from skvarimp._response.sampling import entry_seeds
from skvarimp._running.guards import users_code
from skvarimp._running.tasks import steps_of


@dataclass
class ScoreLost:
    """A scorer on a problem's rows.

    Attributes
    ----------
    scorer : callable
        scorer(estimator, X, y) -> float.
    name : str
    estimator : object
    table : Table
    y : object
        As the user passed it, of the rows of positive weight.
    weights : ndarray of shape (n_samples,)
        Sum to 1.
    scorer_weights : ndarray of shape (n_samples,) or None
        As given to `fit`; passed to the scorer where they differ.
    baseline : float
        Score of the unmoved rows.
    parts : dict
        Entry -> the part of each row, where donors are to come from it.
    """

    scorer: object
    name: str
    estimator: object
    table: object
    y: object
    weights: np.ndarray
    scorer_weights: np.ndarray | None
    baseline: float = np.nan
    parts: dict = field(default_factory=dict)

    @classmethod
    def of(cls, scoring, problem):
        """For a problem; scores its rows."""
        equal, y = problem.weights.min() == problem.weights.max(), problem.given_y
        if not problem.kept.all():
            y = rows_of_target(y, np.flatnonzero(problem.kept))
        weights = None if equal else problem.weights * problem.total_weight
        lost = cls(
            *_resolve_scorer(scoring, problem),
            problem.model.estimator,
            problem.table,
            y,
            problem.weights,
            weights,
        )
        lost.baseline = lost.score(problem.table.copy())
        return lost

    def score(self, X):
        """The score of rows in the container that the model takes."""
        options = {}
        if self.scorer_weights is not None:
            options["sample_weight"] = self.scorer_weights
        try:
            with users_code():
                score = self.scorer(self.estimator, X, self.y, **options)
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
        outcome = Outcome.empty(n, 1)
        outcome.monte_carlo_errors = np.full(n, np.nan)
        seeds = entry_seeds(measure.random_state, n)
        arguments = plan.entries, self, measure.n_repeats, seeds
        for e, lost in steps_of(
            [measure], _score_lost, range(n), arguments, measure.n_jobs
        ):
            outcome.importances[e] = lost.mean()
            if len(lost) > 1:
                outcome.monte_carlo_errors[e] = lost.std(ddof=1) / np.sqrt(len(lost))
        return outcome


def is_finite_number(score):
    """Whether what a scorer returned is one number, neither NaN nor infinite."""
    score = np.asarray(score)
    return score.ndim == 0 and score.dtype.kind in "fbiu" and bool(np.isfinite(score))


def _resolve_scorer(scoring, problem):
    """(scorer, name) from a name or a callable."""
    if not isinstance(scoring, str):
        name = getattr(scoring, "__name__", None) or repr(scoring)
        return scoring, name
    scorer = get_scorer(scoring)
    if problem.model.method == "__call__":
        raise TypeError(
            f"scoring={scoring!r} needs an estimator with `predict`, got a bare "
            "callable. Use `loss`, or a callable scorer(f, X, y)."
        )
    return scorer, scoring


def _score_lost(position, entries, lost, n_repeats, seeds):
    """Score lost by one entry in each repeat, (n_repeats,)."""
    random = np.random.default_rng(int(seeds[position]))
    rows, columns = np.arange(len(lost.weights)), entries[position].columns
    parts = [rows]
    if entries[position] in lost.parts:
        part = lost.parts[entries[position]]
        order = np.argsort(part, kind="stable")
        parts = np.split(order, np.cumsum(np.bincount(part))[:-1])
    result, donors = np.empty(n_repeats), np.empty_like(rows)
    for r in range(n_repeats):
        for of_part in parts:
            weights = lost.weights[of_part] / lost.weights[of_part].sum()
            donors[of_part] = of_part[shuffled_donors(weights, random)]
        moved = lost.table.moved(rows, columns, donors=donors)
        result[r] = lost.baseline - lost.score(moved)
    return result


def shuffled_donors(weights, random):
    """One donor per row, each as often as its weight says; equal weights: a shuffle.

    Equally spaced points of the cumulated weights from a random start name the
    donors, which are then shuffled over the rows.
    """
    n = len(weights)
    points = (np.arange(n) + random.random()) / n
    donors = np.searchsorted(np.cumsum(weights)[:-1], points, side="right")
    return random.permutation(donors)
