"""The scores lost as columns are shuffled, with their errors."""

from dataclasses import replace

import numpy as np

from skvarimp._data.statistics import divided
from skvarimp._measures.rows import (
    KeptRows,
    constant_columns,
    fingerprint,
)
from skvarimp._measures.scorers.proxies import Permuted, Recorded, Responses
from skvarimp._measures.scorers.resamples import resamples_of
from skvarimp._measures.scorers.scorer import Scorer, named_scorers
from skvarimp._response.drawing import StrataPoints
from skvarimp._response.reductions import Outcome
from skvarimp._response.rounds import Effort, feature_seeds
from skvarimp._running.guards import drawing_budget, warn
from skvarimp._running.memory import HELD, even_slices
from skvarimp._running.tasks import Progress, tasks_done


class ScoresLost:
    """One or several scorers on a problem's rows, and on shuffles of them.

    Predictions of a shuffle are made once, and all scorers read them. Functions of the
    user's own do where they asked for the same predictions of the unmoved rows.

    Parameters
    ----------
    scoring : str, callable, list of str or dict
    problem : Problem
    features : list of Feature
    reads : bool, default=True
        Whether the model may be read, and is then asked for rows that prove it.

    Attributes
    ----------
    scorers : list of Scorer
    parts : dict
        Feature -> the part of each row, where donors are to come from it.
    responses : Responses
        What scorers of scikit-learn's are served from.
    resamples : UnitsLess or OppositeHalves
        Samples of the rows, which errors come from.
    """

    def __init__(self, scoring, problem, features, reads=True):
        self.problem, self.features, self.parts = problem, features, {}
        estimator = problem.model.estimator
        self.responses = Responses(estimator, problem.table, features, reads)
        self.resamples, predicted = resamples_of(problem.units), {}
        self.scorers = [
            Scorer(name, scorer, problem, self.resamples, predicted)
            for name, scorer in named_scorers(scoring).items()
        ]

    def outcomes(self, measure):
        """Mean score lost over the repeats, with its errors, of each scorer."""
        n, n_draws = len(self.features), Effort.of(measure).n_draws
        seeds = feature_seeds(measure.random_state, n)
        rows_left = drawing_budget(measure)
        n_moved = n * self.problem.n_rows * self._n_predictions()
        rows_left.require(2 * n_moved)
        n_draws = int(min(n_draws, 2 * (rows_left.left // (2 * n_moved))))
        progress = Progress([measure], n)
        given = self, n_draws, seeds
        lost = tasks_done(progress, _scores_lost, range(n), given, measure.n_jobs)
        for scorer in self.scorers:
            if scorer.why_no_errors is not None:
                warn(
                    f"scoring={scorer.name!r} gives no standard errors: "
                    f"{scorer.why_no_errors}."
                )
        outcomes, paths = [Outcome.of_no_draws(n, 1) for _ in self.scorers], []
        for e, (finished, path) in lost:
            for outcome, of_scorer in zip(outcomes, finished):
                outcome.store([e], of_scorer)
            paths.append(path)
        paths = [f"{path} (for the scorer)" for path in paths if path is not None]
        own = "black box (the scorer asks the model)"
        measure.response_path_ = paths[0] if paths else own
        return outcomes

    def _n_predictions(self):
        """How often the model is asked for the rows of a shuffle, at most."""
        by_method = {m for s in self.scorers if s.shares for m in s.known}
        others = sum(max(len(s.known), 1) for s in self.scorers if not s.shares)
        return len(by_method) + others

    def rows(self, influences):
        """Samples as if they were rows, `KeptRows`; None without errors."""
        if influences is None:
            return None
        problem, units = self.problem, self.resamples.stand_in
        seen = fingerprint(problem.table)
        constant = constant_columns(problem.table)
        found = KeptRows(influences.T, None, units, problem.kept, seen)
        return replace(found, constant=constant)

    def lend_response(self):
        """Let the problem use the response that scores were found by, if any."""
        known = self.responses.made(self.problem.model.method)
        if known is not None:
            self.problem._responses.setdefault(tuple(self.features), known)

    def donors(self, feature, n_draws, seed):
        """The row that each row's value comes from in each data set, (n_draws, n_rows).

        Each row has two donors in each of n_draws / 2 strata of equal probability. Its
        data sets take its strata in random order. The first half of them has one donor
        from each stratum, and the second half the others in the same order.
        """
        weights, n = self.problem.weights, self.problem.n_rows
        codes, _ = self.problem.table.factorize(feature.columns)
        part = self.parts.get(feature, np.zeros(n, dtype=np.intp))
        order = np.lexsort((codes, part))
        upper, masses = np.cumsum(weights[order]), np.bincount(part, weights)
        ends = np.cumsum(np.bincount(part))
        points = StrataPoints.drawn_in_pairs(seed, n, slice(0, n), 0, n_draws).at
        turns = np.tile(np.arange(n_draws // 2), (n, 1))
        turns = 2 * np.random.default_rng([seed, 3]).permuted(turns, axis=1).T
        sets = np.concatenate([turns, turns + 1])
        points = np.take_along_axis(points, sets, axis=0) * masses[part]
        points += (np.cumsum(masses) - masses)[part]
        places = np.searchsorted(upper[:-1], points, side="right")
        first = ends - np.bincount(part)
        return order[np.clip(places, first[part], ends[part] - 1)]

    def moved(self, position, donors):
        """Scores of shuffles, the predictions they come from, and how these were found.

        Parameters
        ----------
        position : int
            Of the feature whose values come from donors.
        donors : ndarray of shape (n_repeats, n_rows)

        Returns
        -------
        found : list of (ndarray of shape (n_repeats,), dict)
            Of each scorer the scores, and method -> outputs of all repeats.
        path : str or None
            None where the model was asked.
        """
        columns, native = self.features[position].columns, self.problem.table.native
        served = [scorer for scorer in self.scorers if scorer.is_served]
        smooth = all(scorer.is_smooth for scorer in served)
        permuted, found = Permuted(self.responses, position, donors, smooth, False), {}
        if served:
            scores = list(
                permuted.scores(lambda model: [s.score(model, native) for s in served])
            )
            known = permuted.known
            found = {s: (of_s, known) for s, of_s in zip(served, np.transpose(scores))}
        # what the model itself has returned
        known = permuted.known if permuted.path is None else {}
        found |= self._asked(columns, donors, known)
        return [found[scorer] for scorer in self.scorers], permuted.path

    def _asked(self, columns, donors, known):
        """Scores and predictions of the scorers that are given moved rows.

        Those are functions of the user's own, and the model's own score.
        """
        table, estimator = self.problem.table, self.problem.model.estimator
        own, others = np.arange(table.n_samples), []
        others = [scorer for scorer in self.scorers if not scorer.is_served]
        scores, outputs = {s: [] for s in others}, {s: [] for s in others}
        for repeat, of_repeat in enumerate(donors):
            shared = {method: of_all[repeat] for method, of_all in known.items()}
            for scorer in others:
                model = estimator
                if scorer.in_samples is not None:
                    model = Recorded(estimator, shared if scorer.shares else {})
                    outputs[scorer].append(model.known)
                moved = table.moved(own, columns, donors=of_repeat)
                scores[scorer].append(scorer.score(model, moved))
                if scorer.shares:
                    shared |= model.known
        return {
            scorer: (
                np.array(scores[scorer]),
                {m: np.stack([of[m] for of in asked]) for m in scorer.known if asked},
            )
            for scorer, asked in outputs.items()
        }


def _scores_lost(position, lost, n_draws, seeds):
    """`Outcome` of each scorer from the score lost by one feature, and the path."""
    n_rows, scorers = lost.problem.n_rows, lost.scorers
    donors = lost.donors(lost.features[position], n_draws, int(seeds[position]))
    scores, middle = [[] for _ in scorers], n_draws // 2
    halves = [([], []) for _ in scorers]
    for part in even_slices(n_draws, max(1, HELD // n_rows)):
        found, path = lost.moved(position, donors[part])
        cut = np.clip(middle - part.start, 0, part.stop - part.start)
        parts = slice(cut), slice(cut, None)
        for e, (scorer, (of_part, known)) in enumerate(zip(scorers, found)):
            scores[e].append(of_part)
            for half, sets in zip(halves[e], parts):
                of_half = donors[part][sets]
                if scorer.in_samples is not None and len(of_half):
                    outputs = {method: known[method][sets] for method in scorer.known}
                    half.append(scorer.in_samples.deviations(outputs, of_half))
    outcomes = []
    for scorer, of_scorer, of_halves in zip(scorers, scores, halves):
        result = scorer.baseline - np.concatenate(of_scorer)
        # the data sets of the two halves differ by the draws within strata only
        first, second = np.split(result, 2)
        error = np.sqrt(np.sum((first - second) ** 2)) / n_draws
        finished = Outcome(result.mean(), None, error, n_draws * n_rows)
        if scorer.in_samples is not None:
            means = [np.concatenate(half, axis=1).mean(axis=1) for half in of_halves]
            _add_error(finished, np.stack(means, axis=1))
        outcomes.append(finished)
    return outcomes, path


def _add_error(finished, deviations):
    """Add the standard error, and deviations of the samples that are as large.

    Fresh rows vary the score lost by V1 as single rows and by V2 as pairs. Each a_i,
    see `orders`, is known from the row's own pairs only, so that L varies by V1 + 2 V2
    (Efron & Stein 1981, "The jackknife estimate of variance", Annals of Statistics 9).
    Q varies by V2, which is taken off.

    Parameters
    ----------
    finished : Outcome
    deviations : ndarray of shape (2, n_groups, n_units)
        L and Q of groups of data sets whose donors are independent.
    """
    n = deviations.shape[1]
    mean = deviations.mean(axis=1)
    # the mean covariance of two groups, to which draws add nothing
    of_groups = deviations.var(axis=2, ddof=1).sum(axis=1) / n**2
    of_rows, of_pairs = (mean.var(axis=1, ddof=1) - of_groups) * n / (n - 1)
    # V1 is not negative; draws hide what is less than a quarter of all
    hidden = mean[0].var(ddof=1) / 4
    error = np.sqrt(max(of_rows - of_pairs, of_rows / 2, hidden))
    of_samples = mean[0] - mean[0].mean()
    of_samples *= divided(error, of_samples.std(ddof=1))
    finished.standard_errors = error
    finished.influences = np.sqrt(len(of_samples)) * of_samples[np.newaxis]
