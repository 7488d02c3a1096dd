"""`importance_across_candidates`: importances in all good models of a search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import check_scoring, get_scorer

from skvarimp._data.frames import frame_library
from skvarimp._data.table import resolve_features
from skvarimp._data.validation import Interval, StrOptions, check_weights
from skvarimp._measures.base import BaseImportance
from skvarimp._measures.permutation import PermutationImportance
from skvarimp._refits.candidates_result import CandidateImportances
from skvarimp._refits.filled import FilledColumns
from skvarimp._refits.refits import (
    Measure,
    check_comparable,
    generator,
    mean_of,
    prepare,
    run_refits,
    seeds_of,
    warn_if_stopped,
)
from skvarimp._results.words import model_in_words
from skvarimp._running.guards import users_code
from skvarimp._types import AnyEstimator, CrossValidation, Matrix, RandomState

ONE_STANDARD_ERROR = "one_standard_error"
TIE = 1e-9  # importances this close, relative to the largest, are in X's order
LONGEST_VALUE = 40  # of a parameter, in the name of a model


def importance_across_candidates(
    search: AnyEstimator | Mapping[str, tuple[Any, ArrayLike]],
    X: Matrix,
    y: ArrayLike | None,
    *,
    measure: Measure | None = None,
    within: float | Literal["one_standard_error"] = ONE_STANDARD_ERROR,
    max_models: int = 20,
    scoring: str | Callable[..., float] | None = None,
    cv: CrossValidation = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    params: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    callbacks: Any = None,
) -> CandidateImportances:
    """Importances in every model of a search that is about as good as the best.

    The function answers "would another good model need this feature?". The candidates
    whose score is close to the best are refitted, and the importance is measured in
    each. A feature with a high lowest importance matters to all good models; one with
    a lowest importance near 0 matters to some only. For each feature the function also
    says whether a good model can do without it. It is not told by the importances
    alone: of two copies of a column a ridge uses both, but needs only one.

    Parameters
    ----------
    search : fitted search, or dict
        A fitted `GridSearchCV`, `RandomizedSearchCV`, halving search, or anything with
        their `cv_results_`, refitted or not. Or a dict label -> (fitted model, scores),
        where scores are those of the folds, or one number.
    X : {array-like, frame, sparse} of shape (n_samples, n_features)
        Rows to refit and measure the models on.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), or None
        Target; None where neither models nor the measure need it.
    measure : measure, str or callable, default=None
        Any importance class of skvarimp, cloned for each model, or a callable
        (estimator, X, y) -> (n_features,), or the name of a measure for default
        parameters. None: `PermutationImportance()`.
    within : "one_standard_error" or float, default="one_standard_error"
        Which models are good. "one_standard_error": those whose mean score is at least
        the best minus the standard error of its mean over the folds. A number: those
        whose mean score is below the best by at most this share of its size, so that
        0.05 allows a loss of up to 1.05 times the smallest.
    max_models : int, default=20
        Largest number of good models that are refitted: those with the best scores.
    scoring : str or callable, default=None
        For a search with several metrics, the one that counts; None: that of `refit`.
        For a dict, the scorer that made the scores; None: the models' `score`.
    cv : int, splitter, iterable or None, default=None
        None: the models are fitted and measured on all rows of X, and the models of a
        dict are not refitted. Otherwise each is refitted in each fold and measured on
        held-out rows; the importance is the mean over the folds. Use folds for models
        that follow their training rows closely.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights for the models, which must take them, and the measure; a pipeline needs
        metadata routing for it.
    groups : array-like of shape (n_samples,), default=None
        Labels for the splitter, such as `GroupKFold`.
    params : dict, default=None
        Further metadata, one value per row, with scikit-learn's metadata routing on;
        and what the estimator's `fit` takes that is not per row.
    n_jobs : int, default=None
        Number of joblib workers over the models. The numbers do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of every `random_state` that is None inside the models, the measure and the
        splitter. All models get the same seeds.
    callbacks : callback or list of them, default=None
        Such as :class:`sklearn.callback.ProgressBar`; told of each model. If one, or
        Ctrl-C, stops the work, the models done so far are returned, with a warning.

    Returns
    -------
    CandidateImportances
        Importances in each good model, the lowest and the highest of each feature, and
        whether a good model can do without it; `to_frame()` and `plot()`.

    See Also
    --------
    importance_across_folds : Would the same model, fitted to other rows, agree?
    leave_out_importances : What is lost if the model is refitted without a feature?

    Notes
    -----
    The lowest and the highest importance over all models with a loss of at most
    (1 + epsilon) times the smallest is the model class reliance of Fisher, Rudin and
    Dominici [1]_, who compute it for classes of models in closed form. Dong and Rudin
    [2]_ ask the same of sets of models found by a search, as is done here. The range of
    the candidates lies within that of the class: what a search has not tried may need
    more or less.

    A feature is called dispensable where a good model without it is at hand: a
    candidate that is asked with the feature's values predicted from the other columns,
    and still scores well enough. With d = the score of the refitted candidate minus its
    score after the values are filled in, on the rows that it is measured on, this is so
    if its mean score minus d is at least the score that good models need. Predictions
    are linear in numbers and in indicators of the 20 most frequent levels; the observed
    value closest to the prediction is filled in, so that each column keeps its type.
    Least squares, filled in like this, are least squares refitted without the feature,
    up to the distance of observed values. A feature that is not dispensable may still
    be replaceable by a model that uses the other columns in another way:
    `leave_out_importances` refits to find out.

    Several dispensable features are not always dispensable together. In each model as
    many features as possible are filled in at once, the least important first, as long
    as the score is good enough. `dispensable_together` marks the largest set found in
    one model. A feature of such a set of any model is dispensable; the others are also
    filled in one by one.

    Of a halving search only the candidates of the last iteration count, since others
    were scored with fewer resources. Candidates with a score of NaN are left out.
    Scores after filling in are unweighted, as those of a search.

    Cost: one fit and one importance per good model and fold, and for the features that
    can go at most three predictions of the rows per feature, fewer if most can go.

    References
    ----------
    .. [1] A. Fisher, C. Rudin and F. Dominici, "All Models are Wrong, but Many are
       Useful", Journal of Machine Learning Research 20 (2019), section 3.
    .. [2] J. Dong and C. Rudin, "Exploring the cloud of variable importance for the set
       of all good models", Nature Machine Intelligence 2 (2020).

    Examples
    --------
    ``x`` was measured twice. The ridge uses both columns, but one is enough:

    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skvarimp import importance_across_candidates
    >>> random = np.random.default_rng(0)
    >>> x, z, noise = random.normal(size=(3, 200))
    >>> X = pd.DataFrame({"x": x, "x again": x, "z": z})
    >>> y = 2 * x + z + noise
    >>> search = GridSearchCV(Ridge(), {"alpha": [0.1, 1, 10]}).fit(X, y)
    >>> found = importance_across_candidates(search, X, y)
    >>> found.dispensable
    array([ True,  True, False])
    >>> found.dispensable_together
    array([ True, False, False])
    """
    caller = "importance_across_candidates"
    measure = PermutationImportance() if measure is None else measure
    candidates, scorer = _candidates(search, scoring)
    needs_fit = cv is not None or not isinstance(search, Mapping)
    given = locals() | {"estimator": candidates[0].estimator if needs_fit else None}
    refits, splitter = prepare(
        caller,
        given,
        within=[
            StrOptions({ONE_STANDARD_ERROR}),
            Interval(Real, 0, None, closed="left"),
        ],
        max_models=[Interval(Integral, 1, None, closed="left")],
    )
    candidates.sort(key=lambda candidate: -candidate.score)
    needed = _score_needed(candidates[0], within)
    good = [candidate for candidate in candidates if candidate.score >= needed]
    random = generator(random_state)
    splits = [(None, None)]
    if cv is not None:
        splits = refits.splits(splitter, random)
    seeds = zip(seeds_of(random, len(splits)), seeds_of(random, len(splits)))
    splits = [(*split, *pair) for split, pair in zip(splits, seeds)]
    weights = refits.passed.measure.get("sample_weight")
    weights = check_weights(weights, refits.table.n_samples)
    without = Without.of(refits, weights, scorer)
    tasks = [(one, one.score - needed) for one in good[:max_models]]
    arguments = refits, splits, without
    found = run_refits(_one_candidate, tasks, arguments, n_jobs, callbacks)
    warn_if_stopped(caller, len(found), len(tasks), "models")
    done, measured = good[: len(found)], [of_model for of_model, _ in found]
    check_comparable(measured)
    can_go = together = None
    if without is not None:
        can_go, sets = (np.array(masks) for masks in zip(*(of for _, of in found)))
        together = sets[sets.sum(axis=1).argmax()]
        can_go = can_go.any(axis=0)
    return CandidateImportances._from(
        measured[0],
        by_model=np.array([of_model.importances for of_model in measured]),
        models=[candidate.label for candidate in done],
        scores=np.array([candidate.score for candidate in done]),
        score_needed=float(needed),
        n_good=len(good),
        params=[candidate.params for candidate in done],
        dispensable=can_go,
        dispensable_together=together,
        circumstances=_circumstances(refits, done[0], splits),
        frame_library=frame_library(refits.table.native),
    )


def _circumstances(refits, best, splits):
    """The best model and the rows, in words."""
    refits, said = replace(refits, estimator=best.estimator), {}
    if splits[0][0] is not None:
        rows = [refits.rows_to_measure(train, rows) for train, rows, *_ in splits]
        return refits.circumstances(rows, len(splits))
    if best.is_fitted:
        said = {"model": model_in_words(best.estimator), "rows": "row"}
    return refits.circumstances(**said)


@dataclass(frozen=True)
class Candidate:
    """A model that was scored.

    Attributes
    ----------
    label : str
    estimator : estimator
    is_fitted : bool
        Whether it need not be refitted to be measured.
    params : dict
        What sets it apart.
    score : float
        The mean over the folds.
    fold_scores : ndarray of shape (n_folds,)
    """

    label: str
    estimator: Any
    is_fitted: bool
    params: dict
    score: float
    fold_scores: np.ndarray


def _candidates(search, scoring):
    """The candidates whose score is known, and the scorer, or None."""
    if isinstance(search, Mapping):
        if not search:
            raise ValueError(
                "`search` is an empty dict. Give label -> (fitted model, scores)."
            )
        candidates = [_given(label, pair) for label, pair in search.items()]
        scorer = _scorer_of_models(candidates, scoring)
    else:
        _check_search(search)
        metric, scorer = _metric(search, scoring)
        candidates = _searched(search, metric)
    known = [one for one in candidates if np.isfinite(one.score)]
    if not known:
        raise ValueError(
            "No candidate of `search` has a finite score, so none is good. Fit the "
            "search with error_score='raise' to see why."
        )
    return known, scorer


def _given(label, pair):
    """A candidate of a dict."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise TypeError(
            "A dict given as `search` must hold a fitted model and its scores, got "
            f"{pair!r:.60} for {label!r}. Use for example {{'forest': (forest, "
            "cross_val_score(forest, X, y))}."
        )
    model, scores = pair
    scores = np.atleast_1d(np.asarray(scores))
    if scores.dtype.kind not in "fiu" or scores.ndim > 1 or len(scores) == 0:
        raise ValueError(
            f"The scores of {label!r} must be a number or one per fold, got "
            f"{pair[1]!r:.60}."
        )
    return Candidate(str(label), model, True, {}, scores.mean(), scores)


def _scorer_of_models(candidates, scoring):
    """The scorer of the models in a dict; None where they have no `score`."""
    if scoring is not None:
        return get_scorer(scoring)
    if all(hasattr(one.estimator, "score") for one in candidates):
        return check_scoring(candidates[0].estimator)
    return None


def _check_search(search):
    if hasattr(search, "cv_results_"):
        return
    name = type(search).__name__
    if hasattr(search, "estimator") and hasattr(search, "fit"):
        raise NotFittedError(
            f"This {name} has no `cv_results_`. Fit it before its candidates are "
            "compared."
        )
    raise TypeError(
        "`search` must be a fitted search, such as GridSearchCV, or a dict label -> "
        f"(fitted model, scores), got {search!r:.60}."
    )


def _metric(search, scoring):
    """Name of the metric in `cv_results_`, and its scorer."""
    if not getattr(search, "multimetric_", False):
        if scoring is not None:
            raise ValueError(
                f"`scoring` is {scoring!r:.60}, but the search has one metric. Leave "
                "`scoring` out."
            )
        return "score", search.scorer_
    scorers = search.scorer_
    names = sorted(
        name[10:] for name in search.cv_results_ if name[:10] == "mean_test_"
    )
    metric = search.refit if scoring is None else scoring
    if not isinstance(metric, str) or metric not in names:
        raise ValueError(
            f"`scoring` must name one of the metrics of the search, {names}, got "
            f"{scoring!r:.60} with refit={search.refit!r:.60}."
        )
    if isinstance(scorers, Mapping):
        return metric, scorers[metric]
    return metric, lambda *given: scorers(*given)[metric]


def _searched(search, metric):
    """The candidates of a search, in the order of their scores' table."""
    results = search.cv_results_
    scores = np.asarray(results[f"mean_test_{metric}"], dtype=np.float64)
    names = [f"split{k}_test_{metric}" for k in range(len(results))]
    folds = [np.asarray(results[name]) for name in names if name in results]
    folds = np.array(folds, dtype=np.float64).T.reshape(len(scores), -1)
    last = np.ones(len(scores), dtype=bool)
    if "iter" in results:  # of a halving search
        last = np.asarray(results["iter"]) == np.max(results["iter"])
    positions, params = np.flatnonzero(last), results["params"]
    labels = _labels([params[k] for k in positions], positions)
    return [
        Candidate(label, _with(search.estimator, params[k]), False, params[k], *of)
        for label, k, of in zip(labels, positions, zip(scores[last], folds[last]))
    ]


def _with(estimator, params):
    """The estimator with the parameters of a candidate, as a search makes it."""
    params = {name: clone(value, safe=False) for name, value in params.items()}
    return clone(estimator).set_params(**params)


def _labels(params, positions):
    """A short name for each candidate: the parameters that differ."""
    written = [{name: _written(of[name]) for name in of} for of in params]
    names = list(dict.fromkeys(name for of in params for name in of))
    differs = [n for n in names if len({of.get(n) for of in written}) > 1] or names
    short = {name: name.rsplit("__")[-1] for name in differs}
    count = Counter(short.values())
    short = {name: s if count[s] == 1 else name for name, s in short.items()}
    labels = [
        ", ".join(f"{short[name]}={of[name]}" for name in differs if name in of)
        for of in written
    ]
    count = Counter(labels)
    return [
        label if label and count[label] == 1 else f"candidate {k} {label}".strip()
        for label, k in zip(labels, positions)
    ]


def _written(value):
    if isinstance(value, BaseEstimator):
        return type(value).__name__
    if isinstance(value, Real) and not isinstance(value, Integral):
        return f"{value:.4g}"
    text = str(value)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"


def _score_needed(best, within):
    """The smallest mean score of a good model."""
    if within != ONE_STANDARD_ERROR:
        return best.score - within * abs(best.score)
    folds = best.fold_scores
    if len(folds) < 2 or not np.all(np.isfinite(folds)):
        raise ValueError(
            "within='one_standard_error' needs the scores of several folds, but the "
            f"best candidate has {len(folds)}. Use for example within=0.05."
        )
    return best.score - folds.std(ddof=1) / np.sqrt(len(folds))


@dataclass(frozen=True)
class Without:
    """Whether fitted models can do without features.

    Attributes
    ----------
    filled : FilledColumns
    features : list of Feature
    scorer : callable
    used : ndarray of bool of shape (n_samples,)
        Rows with weight.
    """

    filled: FilledColumns
    features: list
    scorer: Callable
    used: np.ndarray

    @classmethod
    def of(cls, refits, weights, scorer):
        """None where features are not columns, or columns cannot be filled in."""
        table, features = refits.table, None
        if isinstance(refits.measure, BaseImportance):
            if refits.measure._not_per_column():
                return None
            features = refits.measure.get_params(deep=False).get("features")
        features = resolve_features(features, table.names, table.n_columns)
        filled = FilledColumns(table, weights)
        if scorer is None or filled.reason is not None:
            return None
        return cls(filled, features, scorer, weights > 0)

    def masks(self, refits, models, slack, importances):
        """Which features a model can do without, and which of these at once.

        Parameters
        ----------
        refits : Refits
        models : list of (estimator, ndarray of int or None)
            The model fitted in each fold, with the rows to ask it for.
        slack : float
            How much its score may fall.
        importances : ndarray of shape (n_features,)
            The least important features go first.

        Returns
        -------
        list of two ndarray of bool of shape (n_features,)
        """
        everything = np.arange(refits.table.n_samples)
        parts = []
        for estimator, rows in models:
            rows = everything if rows is None else rows
            part = refits.part(rows[self.used[rows]])
            parts.append((estimator, rows[self.used[rows]], part.y))
        before = [self._score(*part, ()) for part in parts]

        def lost(columns):
            """How much the mean score over the folds falls without them."""
            after = [self._score(*part, columns) for part in parts]
            return np.mean(before) - np.mean(after)

        gone, at_once = set(), np.zeros(len(self.features), dtype=bool)

        def go(some):
            """Drop features in addition: all of them, or else one half, then the other.

            Few steps where most features can go, or most cannot.
            """
            more = gone.union(*(self.features[e].columns for e in some))
            if lost(sorted(more)) <= slack:
                gone.update(more)
                at_once[some] = True
            elif len(some) > 1:
                half = len(some) // 2
                go(some[:half])
                go(some[half:])

        unit = TIE * np.abs(importances).max() or 1.0
        go(np.argsort(np.round(importances / unit), kind="stable"))
        alone = at_once.copy()
        for e in np.flatnonzero(~at_once):
            alone[e] = lost(self.features[e].columns) <= slack
        return [alone, at_once]

    @users_code()
    def _score(self, estimator, rows, y, columns):
        """The score of some rows with some columns filled in."""
        if len(columns):
            X = self.filled.filled(rows, columns)
        else:
            X = self.filled.table.take(rows).native
        score = float(self.scorer(estimator, X, y))
        return score if np.isfinite(score) else np.nan


def _one_candidate(task, refits, splits, without):
    """What was found of a model, and its masks of `Without`, or None."""
    candidate, slack = task
    refits = replace(refits, estimator=candidate.estimator)
    measured, models = [], []
    for train, rows, seed, seed_of_measure in splits:
        estimator = candidate.estimator
        if train is not None or not candidate.is_fitted:
            estimator = refits.part(train).fitted(seed)
        part = refits.part(refits.rows_to_measure(train, rows))
        measured.append(part.measured(estimator, seed_of_measure))
        models.append((estimator, rows))
    found, masks = mean_of(measured), None
    if without is not None:
        masks = without.masks(refits, models, slack, found.importances)
    return found, masks
