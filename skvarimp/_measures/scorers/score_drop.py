"""The score lost as columns are shuffled, with its errors."""

import inspect
from dataclasses import replace

import numpy as np
from sklearn.metrics import get_scorer

from skvarimp._data.statistics import divided
from skvarimp._data.table import has_tags, rows_of_target
from skvarimp._measures.rows import (
    Rows,
    SampleUnits,
    constant_columns,
    fingerprint,
)
from skvarimp._measures.scorers.proxies import (
    SMOOTH,
    Permuted,
    Recorded,
    Responses,
    own_score,
)
from skvarimp._measures.scorers.resamples import N_PAIRS
from skvarimp._measures.scorers.sample_scores import way_of
from skvarimp._response.drawing import strata
from skvarimp._response.reductions import Outcome
from skvarimp._response.rounds import Effort, feature_seeds
from skvarimp._running.guards import drawing_budget, spend, users_code, warn
from skvarimp._running.memory import HELD, even_slices
from skvarimp._running.tasks import Progress, tasks_done


def _refuse_metric(scoring):
    """Raise for a metric in the place of a scorer."""
    if not inspect.isfunction(scoring):
        return
    if [*inspect.signature(scoring).parameters][:2] != ["y_true", "y_pred"]:
        return
    name = scoring.__name__
    loss = name.endswith(("_error", "_loss", "_deviance"))
    more = ", greater_is_better=False" if loss else ""
    raise ValueError(
        f"scoring={name} compares predictions with y, but a scorer is called with "
        f"(estimator, X, y). Use scoring=make_scorer({name}{more})."
    )


class ScoreLost:
    """A scorer on a problem's rows.

    Parameters
    ----------
    scoring : str or callable
    problem : Problem
    features : list of Feature
    reads : bool, default=True
        Whether the model may be read, and is then asked for rows that prove it.

    Attributes
    ----------
    name : str
        Of the scorer.
    y : object
        Of the rows.
    options : dict
        What the scorer is given besides: `sample_weight`, or nothing.
    baseline : float
        Score of the unmoved rows.
    parts : dict
        Feature -> the part of each row, where donors are to come from it.
    responses : Responses or None
        What a scorer of scikit-learn's is served from.
    way : SampleScores or None
        How samples of the rows are scored; None where that would need the model, or
        would not move the score.
    why_no_errors : str or None
        What the scorer lacks where the latter is so.
    """

    def __init__(self, scoring, problem, features, reads=True):
        self.scorer, self.name = scoring, getattr(scoring, "__name__", repr(scoring))
        self.responses, estimator = None, problem.model.estimator
        _refuse_metric(scoring)
        if isinstance(scoring, str):
            self.name = scoring
            self.scorer = own_score if scoring == "score" else get_scorer(scoring)
            if problem.model.method == "__call__":
                raise TypeError(
                    f"scoring={scoring!r} needs an estimator with `predict`, got a "
                    "bare callable. Use `loss`, or a callable scorer(f, X, y)."
                )
            if not has_tags(estimator) and scoring != "score":
                raise TypeError(
                    f"scoring={scoring!r} needs an estimator of scikit-learn's kind, "
                    f"got {type(estimator).__name__}. Use `loss`, a callable "
                    "scorer(estimator, X, y), or the library's own wrapper for "
                    "scikit-learn."
                )
            if scoring == "score" and not hasattr(estimator, "score"):
                raise TypeError(
                    f"scoring='score' needs an estimator with `score`, which "
                    f"{type(estimator).__name__} has not. Use `loss`, or a callable "
                    "scorer(estimator, X, y)."
                )
            # scorers ask the stand-in for tags; the model's own score may look at X
            if has_tags(estimator) and scoring != "score":
                self.responses = Responses(estimator, problem.table, features, reads)
        self.problem, self.y = problem, problem.given_y
        if not problem.kept.all():
            self.y = rows_of_target(self.y, np.flatnonzero(problem.kept))
        self.options, self.parts = {}, {}
        if problem.weights.min() < problem.weights.max():
            self.options["sample_weight"] = problem.weights * problem.total_weight
        self.baseline, known = self._unmoved(estimator)
        self.way, self.why_no_errors = way_of(self, known)

    def _unmoved(self, estimator):
        """The score of the unmoved rows, and the predictions that it comes from.

        There are none where the scorer needs the model itself, not what stands for it.
        """
        table = self.problem.table
        recorded, score = Recorded(estimator), np.nan
        spend(table.n_samples)
        try:
            score = self.score(recorded, table.copy())
            if self.scorer is not own_score:
                return score, recorded.known
        except Exception:
            pass
        spend(table.n_samples)
        own = self.score(estimator, table.copy())  # which may look at X
        same = np.isclose(score, own, rtol=1e-11, atol=1e-13)
        return own, recorded.known if same else {}

    def score(self, estimator, X):
        """The score of rows in the container that the model takes."""
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
        """Mean score lost over the repeats, with its errors."""
        n, n_draws = len(plan.features), Effort.of(measure).n_draws
        seeds = feature_seeds(measure.random_state, n)
        rows_left, n_moved = drawing_budget(measure), n * self.problem.n_rows
        rows_left.require(2 * n_moved)
        n_draws = int(min(n_draws, 2 * (rows_left.left // (2 * n_moved))))
        given = plan.features, self, n_draws, seeds
        progress = Progress([measure], n)
        lost = tasks_done(progress, _score_lost, range(n), given, measure.n_jobs)
        if self.why_no_errors is not None:
            warn(
                f"scoring={self.name!r} gives no standard errors: {self.why_no_errors}."
            )
        outcome, paths = Outcome.drawn(n, 1), []
        for e, (finished, path) in lost:
            outcome.store([e], finished)
            paths.append(path)
        paths = [f"{path} (for the scorer)" for path in paths if path is not None]
        own = "black box (the scorer asks the model)"
        measure.response_path_ = paths[0] if paths else own
        return outcome

    def rows(self, influences):
        """Samples as if they were rows, (N_PAIRS, n_features); None without errors."""
        if influences is None:
            return None
        problem, weights = self.problem, np.full(N_PAIRS, 1.0 / N_PAIRS)
        units = SampleUnits(N_PAIRS, weights, weights, of_rows=problem.units)
        seen = fingerprint(problem.table)
        constant = constant_columns(problem.table)
        found = Rows(influences.T, None, units, problem.kept, seen)
        return replace(found, constant=constant)

    def lend_response(self, problem, features):
        """Let a problem use the response that scores were found by, if there is one."""
        if self.responses is not None:
            known = self.responses.made(problem.model.method)
            if known is not None:
                problem._responses.setdefault(tuple(features), known)

    def donors(self, feature, n_draws, seed):
        """The row that each row's value comes from in each data set, (n_draws, n_rows).

        A row's data sets take its strata, see `drawing`, in random order. The first
        half of them has one donor from each stratum, and the second half the others in
        the same order.
        """
        weights, n = self.problem.weights, self.problem.n_rows
        codes, _ = self.problem.table.factorize(feature.columns)
        part = self.parts.get(feature, np.zeros(n, dtype=np.intp))
        order = np.lexsort((codes, part))
        upper, masses = np.cumsum(weights[order]), np.bincount(part, weights)
        ends = np.cumsum(np.bincount(part))
        points = strata(seed, n, slice(0, n), 0, n_draws)
        turns = np.tile(np.arange(n_draws // 2), (n, 1))
        turns = 2 * np.random.default_rng([seed, 3]).permuted(turns, axis=1).T
        sets = np.concatenate([turns, turns + 1])
        points = np.take_along_axis(points, sets, axis=0) * masses[part]
        points += (np.cumsum(masses) - masses)[part]
        places = np.searchsorted(upper[:-1], points, side="right")
        first = ends - np.bincount(part)
        return order[np.clip(places, first[part], ends[part] - 1)]

    def moved(self, position, feature, donors):
        """Scores with the feature's values from each row of donors, predictions, path.

        A scorer of the user's own is given moved rows, as the model's own score is.
        """
        table, n = self.problem.table, self.problem.n_rows
        if self.responses is not None:
            smooth = self.name in SMOOTH
            permuted = Permuted(self.responses, position, donors, smooth, False)
            scores = permuted.scores(lambda model: self.score(model, table.native))
            return np.array(list(scores)), permuted.known, permuted.path
        scores, known, estimator = [], [], self.problem.model.estimator
        for of_repeat in donors:
            model = Recorded(estimator) if self.way is not None else estimator
            moved = table.moved(np.arange(n), feature.columns, donors=of_repeat)
            scores.append(self.score(model, moved))
            known.append(getattr(model, "known", {}))
        if self.way is not None:
            known = {m: np.stack([of[m] for of in known]) for m in known[0]}
        return np.array(scores), known, None


def is_finite_number(score):
    """Whether what a scorer returned is one number, neither NaN nor infinite."""
    score = np.asarray(score)
    return score.ndim == 0 and score.dtype.kind in "fbiu" and bool(np.isfinite(score))


def _score_lost(position, features, lost, n_draws, seeds):
    """`Outcome` from the score lost by one feature, and the path."""
    feature, n_rows = features[position], lost.problem.n_rows
    donors = lost.donors(feature, n_draws, int(seeds[position]))
    scores, halves, middle = [], ([], []), n_draws // 2
    for part in even_slices(n_draws, max(1, HELD // n_rows)):
        of_part, known, path = lost.moved(position, feature, donors[part])
        scores.append(of_part)
        cut = np.clip(middle - part.start, 0, len(of_part))
        for half, sets in zip(halves, (slice(0, cut), slice(cut, len(of_part)))):
            if lost.way is not None and sets.start < sets.stop:
                outputs = {method: of_all[sets] for method, of_all in known.items()}
                half.append(lost.way.deviations(outputs, donors[part][sets]))
    result = lost.baseline - np.concatenate(scores)
    # the data sets of the two halves differ by the draws within strata only
    first, second = np.split(result, 2)
    error = np.sqrt(np.sum((first - second) ** 2)) / n_draws
    finished = Outcome(result.mean(), None, error, n_draws * n_rows)
    if lost.way is not None:
        means = [np.concatenate(half, axis=1).mean(axis=1) for half in halves]
        _add_error(finished, np.stack(means, axis=1))
    return finished, path


def _add_error(finished, deviations):
    """Add the standard error, and deviations of the samples that are as large.

    Fresh rows vary the score lost by V1 as single rows and by V2 as pairs. Each a_i,
    see `orders`, is known from the row's own pairs only, so that L varies by V1 + 2 V2
    (Efron & Stein 1981, "The jackknife estimate of variance", Annals of Statistics 9).
    Q varies by V2, which is taken off.

    Parameters
    ----------
    finished : Outcome
    deviations : ndarray of shape (2, n_groups, N_PAIRS)
        L and Q of groups of data sets whose donors are independent.
    """
    n = deviations.shape[1]
    mean = deviations.mean(axis=1)
    # the mean covariance of two groups, to which draws add nothing
    of_groups = deviations.var(axis=2, ddof=1).sum(axis=1) / n**2
    of_rows, of_pairs = (mean.var(axis=1, ddof=1) - of_groups) * n / (n - 1)
    # V1 is not negative
    error = np.sqrt(max(of_rows - of_pairs, of_rows / 2, 0.0))
    of_samples = mean[0] - mean[0].mean()
    of_samples *= divided(error, of_samples.std(ddof=1))
    finished.standard_errors = error
    finished.influences = np.sqrt(N_PAIRS) * of_samples[np.newaxis]
