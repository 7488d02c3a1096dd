"""The score lost as columns are shuffled, with its errors."""

import numpy as np
from sklearn.metrics import get_scorer

from skvarimp._data.statistics import divided
from skvarimp._data.table import has_tags, rows_of_target
from skvarimp._measures.rows import Rows, SampleUnits, fingerprint
from skvarimp._measures.scorers.resamples import N_PAIRS
from skvarimp._measures.scorers.stand_ins import SMOOTH, Permuted, Recorded, Responses
from skvarimp._measures.scorers.ways import way_of
from skvarimp._response.reductions import Outcome
from skvarimp._response.rounds import feature_seeds
from skvarimp._running.guards import drawing_budget, spend, users_code
from skvarimp._running.memory import HELD, even_slices
from skvarimp._running.tasks import Progress, tasks_done


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
    way : Way or None
        How samples of the rows are scored; None where that would need the model.
    """

    def __init__(self, scoring, problem, features, reads=True):
        self.scorer, self.name = scoring, getattr(scoring, "__name__", repr(scoring))
        self.responses, estimator = None, problem.model.estimator
        if isinstance(scoring, str):
            self.name = scoring
            self.scorer = own_score if scoring == "score" else get_scorer(scoring)
            if problem.model.method == "__call__":
                raise TypeError(
                    f"scoring={scoring!r} needs an estimator with `predict`, got a "
                    "bare callable. Use `loss`, or a callable scorer(f, X, y)."
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
        self.way = way_of(self, known)

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
        n = len(plan.features)
        seeds, rows_left = (
            feature_seeds(measure.random_state, n),
            drawing_budget(measure),
        )
        each = self.problem.n_rows
        rows_left.require(n * each)
        wanted = rows_left.affordable(
            np.full(n, measure.n_repeats), lambda repeats: int(repeats.sum()) * each
        )
        given = plan.features, self, int(wanted[0]), seeds
        progress = Progress([measure], n)
        lost = tasks_done(progress, _score_lost, range(n), given, measure.n_jobs)
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
        return Rows(influences.T, None, units, problem.kept, seen)

    def lend_response(self, problem, features):
        """Let a problem use the response that scores were found by, if there is one."""
        if self.responses is not None:
            _, known = self.responses.of(problem.model.method)
            if known is not None:
                problem._responses.setdefault(tuple(features), known)

    def donors(self, feature, n_repeats, random):
        """The row that each row's value comes from, (n_repeats, n_rows)."""
        weights = self.problem.weights
        part = self.parts.get(feature, np.zeros(len(weights), dtype=np.intp))
        order = np.argsort(part, kind="stable")
        parts = np.split(order, np.cumsum(np.bincount(part))[:-1])
        donors = np.empty((n_repeats, len(weights)), dtype=np.intp)
        for of_repeat in donors:
            for part in parts:
                shares = weights[part] / weights[part].sum()
                of_repeat[part] = part[shuffled_donors(shares, random)]
        return donors

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


def own_score(estimator, X, y, **params):
    """The scorer that scoring="score" means."""
    return estimator.score(X, y, **params)


def is_finite_number(score):
    """Whether what a scorer returned is one number, neither NaN nor infinite."""
    score = np.asarray(score)
    return score.ndim == 0 and score.dtype.kind in "fbiu" and bool(np.isfinite(score))


def _score_lost(position, features, lost, n_repeats, seeds):
    """`Outcome` from the score lost by one feature, and the path."""
    random, feature = np.random.default_rng(int(seeds[position])), features[position]
    donors = lost.donors(feature, n_repeats, random)
    scores, deviations = [], []
    for part in even_slices(n_repeats, max(1, HELD // lost.problem.n_rows)):
        of_part, known, path = lost.moved(position, feature, donors[part])
        scores.append(of_part)
        if lost.way is not None and n_repeats > 1:
            deviations.append(lost.way.deviations(known, donors[part]))
    result = lost.baseline - np.concatenate(scores)
    error = result.std(ddof=1) / np.sqrt(n_repeats) if n_repeats > 1 else np.nan
    finished = Outcome(result.mean(), None, error, n_repeats * lost.problem.n_rows)
    if deviations:
        _add_error(finished, np.concatenate(deviations, axis=1))
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
        L and Q of groups of repeats.
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


def shuffled_donors(weights, random):
    """One donor per row, each as often as its weight says; equal weights: a shuffle.

    Equally spaced points of the cumulated weights from a random start name the
    donors, which are then shuffled over the rows.
    """
    n = len(weights)
    points = (np.arange(n) + random.random()) / n
    donors = np.searchsorted(np.cumsum(weights)[:-1], points, side="right")
    return random.permutation(donors)
