"""One scorer: what its name means, its score of the unmoved rows, and of samples."""

import inspect

import numpy as np
from sklearn.metrics import get_scorer

from skvarimp._data.table import has_tags, rows_of_target
from skvarimp._measures.scorers.proxies import SMOOTH, Recorded, own_score
from skvarimp._measures.scorers.sample_scores import sample_scores
from skvarimp._running.guards import budget, users_code


def named_scorers(scoring):
    """What `scoring` asks for, name -> name of scikit-learn's or callable.

    Parameters
    ----------
    scoring : str, callable, list or tuple of str, or dict
    """
    if isinstance(scoring, str):
        return {scoring: scoring}
    if callable(scoring):
        return {getattr(scoring, "__name__", repr(scoring)): scoring}
    if not scoring:
        raise ValueError(f"`scoring` must hold at least one scorer, got {scoring!r}.")
    if not isinstance(scoring, dict):
        if not all(isinstance(name, str) for name in scoring):
            raise ValueError(
                f"`scoring` as a list holds names of scorers, got {scoring!r:.200}. "
                "Use a dict from names to scorers."
            )
        scoring = {name: name for name in scoring}
    for name, scorer in scoring.items():
        if not (
            isinstance(name, str) and (isinstance(scorer, str) or callable(scorer))
        ):
            raise ValueError(
                "`scoring` as a dict holds names and scorers (scikit-learn's by name, "
                f"or callables), got {name!r:.60}: {scorer!r:.60}."
            )
    return scoring


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


class Scorer:
    """A scorer on a problem's rows.

    Parameters
    ----------
    name : str
    scoring : str or callable
    problem : Problem
    resamples : UnitsLess or OppositeHalves
        Of the rows.
    predicted : dict
        Method -> what it returned for the unmoved rows, as far as other scorers have
        asked for it; what this one asks for is added.

    Attributes
    ----------
    name : str
    is_served : bool
        Whether it is scikit-learn's and looks at predictions only.
    is_smooth : bool
        Whether rounding of predictions changes it by rounding only.
    y : object
        Of the rows.
    options : dict
        What the scorer is given besides: `sample_weight`, or nothing.
    baseline : float
        Score of the unmoved rows.
    known : dict
        Method -> what it returned for the unmoved rows, as the scorer asked for it.
    shares : bool
        Whether it asks for the same predictions as the others that share.
    in_samples : SampleScores or None
        How samples of the rows are scored; None where that would need the model, or
        would not move the score.
    why_no_errors : str or None
        What the scorer lacks where the latter is so.
    """

    def __init__(self, name, scoring, problem, resamples, predicted):
        self.name, self.problem, estimator = name, problem, problem.model.estimator
        _refuse_metric(scoring)
        self.scorer, self.is_served = scoring, False
        self.is_smooth = isinstance(scoring, str) and scoring in SMOOTH
        if isinstance(scoring, str):
            self.scorer = own_score if scoring == "score" else get_scorer(scoring)
            _check_scores(scoring, problem)
            # scorers ask the stand-in for tags; the model's own score may look at X
            self.is_served = has_tags(estimator) and scoring != "score"
        self.y = problem.given_y
        if not problem.kept.all():
            self.y = rows_of_target(self.y, np.flatnonzero(problem.kept))
        self.options = {}
        if problem.weights.min() < problem.weights.max():
            self.options["sample_weight"] = problem.weights * problem.total_weight
        given = predicted if self.is_served else {}
        self.baseline, self.known = self._unmoved(Recorded(estimator, given))
        self.in_samples, self.why_no_errors = sample_scores(self, self.known, resamples)
        for method, output in self.known.items():
            predicted.setdefault(method, output)
        self.shares = self.is_served or (
            self.in_samples is not None
            and all(np.array_equal(of, predicted[m]) for m, of in self.known.items())
        )

    def _unmoved(self, recorded):
        """The score of the unmoved rows, and the predictions that it comes from.

        There are none where the scorer needs the model itself, not what stands for it.
        """
        table, estimator = self.problem.table, self.problem.model.estimator
        score = np.nan
        budget().spend(table.n_samples)
        try:
            score = self.score(recorded, table.copy())
            if self.scorer is not own_score:
                return score, recorded.known
        except Exception:
            pass
        budget().spend(table.n_samples)
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


def is_finite_number(score):
    """Whether what a scorer returned is one number, neither NaN nor infinite."""
    score = np.asarray(score)
    return score.ndim == 0 and score.dtype.kind in "fbiu" and bool(np.isfinite(score))


def _check_scores(scoring, problem):
    """Raise where a model has no score of scikit-learn's of a name."""
    estimator = problem.model.estimator
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
