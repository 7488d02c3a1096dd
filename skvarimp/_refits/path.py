"""What selectors share: the checks, the splits, the path of subsets, the rule."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn import config_context, get_config
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring, get_scorer
from sklearn.model_selection import (
    GroupShuffleSplit,
    ShuffleSplit,
    StratifiedShuffleSplit,
    check_cv,
)
from sklearn.utils import estimator_html_repr
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.validation import check_is_fitted

from skvarimp._data.table import as_table
from skvarimp._data.validation import Interval, StrOptions
from skvarimp._display.html import selector_html
from skvarimp._display.refits import SelectionPathDisplay
from skvarimp._measures.base import BaseImportance
from skvarimp._measures.scorers.scorer import is_finite_number
from skvarimp._refits.estimators import Delegating, RefittingSelector
from skvarimp._refits.metadata import router_of
from skvarimp._refits.refits import Measure, Refits, cloned, generator
from skvarimp._refits.removal import CONSTANT, Removal, with_removal
from skvarimp._running.guards import users_code
from skvarimp._running.tasks import Progress, in_order
from skvarimp._types import AnyEstimator, Axes, CrossValidation, RandomState, Scoring

ONE_SPLIT = "one_split"
ONE_STANDARD_ERROR = "one_standard_error"
HELD_OUT = 0.3  # share held out then (Lemaire & Clérot, section IV.A)
GOOD_ENOUGH = 0.95  # share of the best score (the same, section II.D)
LEAST_WORKING_MEMORY = 64  # MiB; smaller blocks would take longer


@dataclass
class Path:
    """Evaluates subsets of columns one after the other and keeps the record.

    A subset is cut out of the table fold by fold, so that there are never more copies
    of X than the rows of one fold.

    Attributes
    ----------
    refits : Refits
        With all columns.
    removal : Removal
        Of the columns that are not in a subset.
    scorer : callable
    splits : list of (ndarray, ndarray)
    n_jobs : int or None
    changes : str
        What sets a subset apart from the one before: columns "dropped" or "added".
    steps : dict
        What becomes the selector's `path_`.
    importances : ndarray or None
        Of the subset visited last.
    """

    refits: Refits
    removal: Removal
    scorer: Callable
    splits: list
    n_jobs: int | None
    changes: str
    steps: dict = field(default_factory=dict)
    importances: np.ndarray | None = None

    def folds(self, columns, with_importance):
        """Some columns' score on each fold, and the mean importances or None."""
        shared = self.refits, self.removal, self.scorer, columns, with_importance
        folds = in_order(_fold, self.splits, shared, self.n_jobs)
        scores, importances = zip(*(fold for _, fold in folds))
        mean = np.mean(importances, axis=0) if with_importance else None
        return np.array(scores), mean

    def visit(self, columns, changed, with_importance):
        """Make a subset the next step, with its importances or without."""
        start = time.perf_counter()
        scores, self.importances = self.folds(columns, with_importance)
        step = {
            "n_features": len(columns),
            "score": float(scores.mean()),
            "fold_scores": scores,
            self.changes: np.asarray(changed, dtype=np.intp),
            "seconds": time.perf_counter() - start,
        }
        for name, value in step.items():
            self.steps.setdefault(name, []).append(value)


@users_code()
def _fold(split, refits, removal, scorer, columns, with_importance):
    """Score of some columns on a fold, and their importances or None."""
    train, held_out = split
    with removal.refitting(refits.table, columns):
        estimator = removal.part(refits, columns, train).fitted()
        unseen = removal.part(refits, columns, held_out)
        score = scorer(estimator, unseen.table.native, unseen.y, **unseen.passed.score)
    if not is_finite_number(score):
        raise ValueError(
            f"The scorer returned {score} for {len(held_out)} held-out rows; subsets "
            "cannot be compared. Use another `scoring`, or a `cv` that holds out more."
        )
    if not with_importance:
        return float(score), None
    rows = refits.rows_to_measure(train, held_out)
    part = unseen if rows is held_out else removal.part(refits, columns, rows)
    with config_context(working_memory=_working_memory(refits.table)):
        importances = part.measured(estimator).importances
    return float(score), importances[removal.places(columns)]


def _working_memory(table):
    """MiB for the blocks of a measure: the setting, but not much more than X.

    Of the moved rows that a measure asks a model for at once, it makes an eighth.
    """
    X = table.native
    n_values = X.nnz if sparse.issparse(X) else table.n_samples * table.n_columns
    half_of_X_at_once = 4 * 8 * n_values / 2**20
    largest = max(LEAST_WORKING_MEMORY, half_of_X_at_once)
    return min(get_config()["working_memory"], largest)


@dataclass(eq=False, repr=False)
class PathSelector(Delegating, RefittingSelector):
    """Walks along a path of subsets and keeps the smallest that is good enough.

    A subclass yields its subsets from `_walk(path)`, at most `_most_steps(n_columns)`,
    each with the columns that a step changed and whether it needs the importances; it
    names in `_changes` what a step does, and lists in `_not_kept(chosen)` the columns
    that are not kept, by rank.
    """

    _parameter_constraints = {  # noqa: RUF012 scikit-learn's form
        "performance_threshold": [
            Interval(Real, 0, 1, closed="both"),
            StrOptions({"auto", ONE_STANDARD_ERROR}),
        ],
        "importance_threshold": [Interval(Real, 0, 1, closed="left")],
        "step": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
        ],
        "min_features_to_select": [Interval(Integral, 1, None, closed="left")],
        "scoring": [str, callable, None],
        "cv": ["cv_object", StrOptions({ONE_SPLIT})],
    }

    def _html_repr(self):
        """What a notebook shows: the columns kept once they are chosen."""
        if not hasattr(self, "support_"):
            return estimator_html_repr(self)
        return selector_html(self)

    estimator: AnyEstimator
    measure: Measure | None = None
    _: KW_ONLY
    performance_threshold: float | Literal["auto", "one_standard_error"] = "auto"
    importance_threshold: float = 1e-6
    step: int | float = 1
    min_features_to_select: int = 1
    scoring: Scoring = None
    cv: CrossValidation | Literal["one_split"] = ONE_SPLIT
    removal: Literal["auto", "drop", "constant"] = "auto"
    n_jobs: int | None = None
    random_state: RandomState = None

    def _fit(self, refits):
        table, measure = refits.table, refits.measure
        if self.min_features_to_select > table.n_columns:
            raise ValueError(
                f"`min_features_to_select` is {self.min_features_to_select}, but X has "
                f"only {table.n_columns} columns."
            )
        is_measure = isinstance(measure, BaseImportance)
        if is_measure and getattr(measure, "random_state", 0) is None:
            measure.set_params(random_state=self.random_state)
        splits = self._splits(refits)
        if self.performance_threshold == ONE_STANDARD_ERROR and len(splits) < 2:
            raise ValueError(
                "performance_threshold='one_standard_error' needs the scores of "
                f"several folds, but cv={self.cv!r} holds out rows once. Use for "
                "example cv=5."
            )
        if self.random_state is not None:
            seeded = cloned(refits.estimator, generator(self.random_state))
            refits = replace(refits, estimator=seeded)

        def walk(removal):
            return self._walked(refits, removal, splits)

        least = " or a larger `min_features_to_select`"
        self._removal, self.estimator_ = with_removal(
            self.removal, walk, self.estimator, table, way_out=CONSTANT + least
        )

    def _walked(self, refits, removal, splits):
        """Visit the subsets and choose one; its `Removal` and estimator."""
        scorer, changes = self._scorer(), self._changes
        path = Path(refits, removal, scorer, splits, self.n_jobs, changes)
        most = self._most_steps(refits.table.n_columns)
        with Progress([self], most, "step") as progress, progress.until_interrupted():
            for columns, changed, with_importance in self._walk(path):
                path.visit(columns, changed, with_importance)
                if progress.step():
                    break
        self._keep(path.steps)
        kept = np.flatnonzero(self.support_)
        with removal.refitting(refits.table, kept):
            return removal, removal.part(refits, kept).fitted()

    def _scorer(self):
        # `check_scoring` would name itself in the error for an unknown name
        scoring = None if self.scoring == "score" else get_scorer(self.scoring)
        return check_scoring(self.estimator, scoring=scoring)

    def _splits(self, refits):
        """(train, held-out) rows of each fold."""
        y, groups = refits.y, refits.passed.groups
        classifier = is_classifier(self.estimator)
        if not isinstance(self.cv, str):
            splitter = check_cv(self.cv, y, classifier=classifier)
        else:
            kind = ShuffleSplit if groups is None else GroupShuffleSplit
            if classifier and y.ndim == 1 and groups is None:
                kind = StratifiedShuffleSplit
            random_state = self.random_state
            if isinstance(random_state, np.random.Generator):
                random_state = int(random_state.integers(2**32))
            splitter = kind(1, test_size=HELD_OUT, random_state=random_state)
        return refits.splits(splitter, weighted=False)

    def _n_steps(self, n_left):
        """How many columns a step takes, of those left."""
        if isinstance(self.step, Integral):
            return int(self.step)
        return max(1, int(self.step * n_left))

    def _steps_between(self, n_left, least):
        """Steps of the longest possible path, each of them no larger than `step`."""
        n_steps = 1
        while n_left > least:
            n_left, n_steps = n_left - self._n_steps(n_left), n_steps + 1
        return n_steps

    def _keep(self, path):
        """Choose the subset and set what depends on it.

        It is the smallest that scores at least best - (1 - performance_threshold)
        |best|, or with "one_standard_error" the best minus the standard error of its
        mean over the folds (Breiman et al. 1984); of several the better one. "auto"
        is the latter for folds, and GOOD_ENOUGH for one split.
        """
        self.path_ = path
        scores, sizes = np.asarray(path["score"]), np.asarray(path["n_features"])
        best = np.lexsort((sizes, -scores))[0]  # of several the smallest
        folds, threshold = path["fold_scores"][best], self.performance_threshold
        if threshold == "auto":
            threshold = ONE_STANDARD_ERROR if len(folds) > 1 else GOOD_ENOUGH
        if threshold == ONE_STANDARD_ERROR:
            less = folds.std(ddof=1) / np.sqrt(len(folds))
        else:
            less = (1.0 - threshold) * abs(scores[best])
        self.score_needed_ = float(scores[best] - less)
        good = np.flatnonzero(scores >= self.score_needed_)
        chosen = good[np.lexsort((-scores[good], sizes[good]))[0]]
        self.ranking_ = np.ones(self.n_features_in_, dtype=np.intp)
        for rank, columns in enumerate(self._not_kept(chosen), start=2):
            self.ranking_[columns] = rank
        self.support_ = self.ranking_ == 1
        self.n_features_ = int(self.support_.sum())
        self._kept_and_best = scores[chosen], scores[best], sizes[best]

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text = super().__repr__(N_CHAR_MAX)
        if not hasattr(self, "path_"):
            return text
        score, best, n_best = self._kept_and_best
        return (
            f"<{text}: kept {self.n_features_} of {self.n_features_in_} columns, score "
            f"{score:.4g}; best score {best:.4g} with {n_best}>"
        )

    def _selected(self, X):
        """X in its own container, without the columns that are not selected."""
        return self._removal.rest(as_table(X), np.flatnonzero(self.support_)).native

    def plot_path(self, ax: Axes | None = None, **kwargs: Any) -> SelectionPathDisplay:
        """Draw the score against the number of features.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **kwargs : dict
            Passed to `SelectionPathDisplay.plot`: `title` and `figsize`.

        Returns
        -------
        display : SelectionPathDisplay
            Holds `ax_` and `figure_`.
        """
        check_is_fitted(self)
        return SelectionPathDisplay.from_selector(self, ax=ax, **kwargs)

    def get_metadata_routing(self) -> MetadataRouter:
        """Where metadata given to `fit` goes.

        Returns
        -------
        router : MetadataRouter
            To the estimator's and the measure's fit, the scorer and the splitter.
        """
        splitter = GroupShuffleSplit() if isinstance(self.cv, str) else self.cv
        return router_of(
            self,
            self.estimator,
            self.measure,
            scorer=self._scorer(),
            splitter=splitter,
        )
