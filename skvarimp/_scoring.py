"""Score lost when an entry's values are drawn from other rows, by any scorer."""

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import get_scorer, get_scorer_names

from skvarimp._arithmetic import users_code


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
    y : ndarray
    weights : ndarray of shape (n_samples,)
        Sum to 1.
    scorer_weights : ndarray of shape (n_samples,) or None
        As given to `fit`; passed to the scorer where they differ.
    baseline : float
        Score of the unmoved rows.
    """

    scorer: object
    name: str
    estimator: object
    table: object
    y: np.ndarray
    weights: np.ndarray
    scorer_weights: np.ndarray | None
    baseline: float = np.nan

    @classmethod
    def of(cls, scorer_and_name, problem):
        """For a problem; scores its rows."""
        equal = problem.weights.min() == problem.weights.max()
        weights = None if equal else problem.weights * problem.total_weight
        lost = cls(
            *scorer_and_name,
            problem.model.estimator,
            problem.table,
            problem.y,
            problem.weights,
            weights,
        )
        lost.baseline = lost.score(problem.table.native)
        return lost

    def score(self, X):
        """The score of rows in the container that the model takes."""
        options = {}
        if self.scorer_weights is not None:
            options["sample_weight"] = self.scorer_weights
        with users_code():
            score = self.scorer(self.estimator, X, self.y, **options)
        if np.ndim(score) != 0 or not np.isfinite(score):
            raise ValueError(
                f"`scoring` must give one finite number, got {score!r} from "
                f"{self.name}."
            )
        return float(score)


def resolve_scorer(scoring, problem):
    """(scorer, name) from a name or a callable."""
    if not isinstance(scoring, str):
        name = getattr(scoring, "__name__", None) or repr(scoring)
        return scoring, name
    if scoring not in get_scorer_names():
        raise ValueError(
            f"`scoring` names no scorer of scikit-learn, got {scoring!r}. "
            "sklearn.metrics.get_scorer_names() lists them."
        )
    if problem.model.method == "__call__":
        raise TypeError(
            f"scoring={scoring!r} needs an estimator with `predict`, got a bare "
            "callable. Use `loss`, or a callable scorer(f, X, y)."
        )
    return get_scorer(scoring), scoring


def score_lost(position, entries, lost, n_repeats, seeds):
    """Score lost by one entry in each repeat, (n_repeats,)."""
    random = np.random.default_rng(int(seeds[position]))
    rows, columns = np.arange(len(lost.weights)), entries[position].columns
    result = np.empty(n_repeats)
    for r in range(n_repeats):
        donors = shuffled_donors(lost.weights, random)
        moved = lost.table.moved(rows, columns, donors=donors)
        result[r] = lost.baseline - lost.score(moved)
    return result


def shuffled_donors(weights, random):
    """One donor a row, each as often as its weight says; equal weights: a shuffle.

    Equally spaced points of the cumulated weights from a random start name the
    donors, which are then shuffled over the rows.
    """
    n = len(weights)
    points = (np.arange(n) + random.random()) / n
    donors = np.searchsorted(np.cumsum(weights)[:-1], points, side="right")
    return random.permutation(donors)
