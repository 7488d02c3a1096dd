"""What selectors share: the checks, the splits, the path of subsets, the rule."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring, get_scorer
from sklearn.model_selection import (
    GroupShuffleSplit,
    ShuffleSplit,
    StratifiedShuffleSplit,
    check_cv,
)
from sklearn.utils import estimator_html_repr
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from skvarimp._data.table import as_table
from skvarimp._data.validation import (
    Interval,
    StrOptions,
    n_jobs_constraint,
    random_state_constraint,
)
from skvarimp._display.html import selector_html
from skvarimp._display.selection import SelectionPathDisplay
from skvarimp._measures.base import BaseImportance
from skvarimp._measures.sensitivity import SensitivityImportance
from skvarimp._models.delegation import Delegating
from skvarimp._running.tasks import Progress
from skvarimp._selection.named import MEASURES
from skvarimp._selection.selector import RefittingSelector
from skvarimp._selection.splits import splits_of
from skvarimp._selection.steps import (
    ONE_STANDARD_ERROR,
    Evaluation,
    best_step,
    score_needed,
    smallest_good_enough,
)
from skvarimp._types import (
    AnyEstimator,
    Axes,
    CrossValidation,
    Importance,
    RandomState,
    Scoring,
)

ONE_SPLIT = "one_split"
HELD_OUT = 0.3  # share held out then (Lemaire & Clérot, section IV.A)


@dataclass
class Path:
    """Evaluates subsets of columns one after the other and keeps the record.

    Attributes
    ----------
    evaluation : Evaluation
    changes : str
        What sets a subset apart from the one before: columns "dropped" or "added".
    on_step : callable
        Told of each step; returns whether a callback asks to stop.
    steps : dict
        What becomes the selector's `path_`.
    stopped : bool
        Whether a callback asked to stop.
    """

    evaluation: Evaluation
    changes: str
    on_step: Callable
    steps: dict = field(default_factory=dict)
    stopped: bool = False

    def visit(self, columns, changed, with_importance):
        """The mean importances of a subset, or None; it becomes the next step."""
        start = time.perf_counter()
        scores, importances = self.evaluation.folds(columns, with_importance)
        step = {
            "n_features": len(columns),
            "score": float(scores.mean()),
            "fold_scores": scores,
            self.changes: np.asarray(changed, dtype=np.intp),
            "seconds": time.perf_counter() - start,
        }
        for name, value in step.items():
            self.steps.setdefault(name, []).append(value)
        self.stopped = self.on_step()
        return importances


@dataclass(eq=False, repr=False)
class PathSelector(Delegating, RefittingSelector):
    """Walks along a path of subsets and keeps the smallest that is good enough.

    A subclass visits its subsets in `_walk(path)`, which takes at most
    `_most_steps(n_columns)`; it names in `_changes` what a step does, and lists in
    `_not_kept(chosen)` the columns that are not kept, by rank.
    """

    _parameter_constraints = {  # noqa: RUF012 scikit-learn's form
        "estimator": [object],
        "importance": [BaseImportance, StrOptions(set(MEASURES)), callable, None],
        "performance_threshold": [
            Interval(Real, 0, 1, closed="both"),
            StrOptions({ONE_STANDARD_ERROR}),
        ],
        "importance_threshold": [Interval(Real, 0, 1, closed="left")],
        "step": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
        ],
        "min_features_to_select": [Interval(Integral, 1, None, closed="left")],
        "scoring": [str, callable, None],
        "cv": ["cv_object", StrOptions({ONE_SPLIT})],
        "n_jobs": n_jobs_constraint,
        "random_state": random_state_constraint,
    }

    def _html_repr(self):
        """What a notebook shows: the columns kept once they are chosen."""
        if not hasattr(self, "support_"):
            return estimator_html_repr(self)
        return selector_html(self)

    estimator: AnyEstimator
    importance: Importance | None = None
    _: KW_ONLY
    performance_threshold: float | Literal["one_standard_error"] = 0.95
    importance_threshold: float = 1e-6
    step: int | float = 1
    min_features_to_select: int = 1
    scoring: Scoring = None
    cv: CrossValidation | Literal["one_split"] = ONE_SPLIT
    n_jobs: int | None = None
    random_state: RandomState = None

    def _fit(self, table, y, importance, passed):
        if self.min_features_to_select > table.n_columns:
            raise ValueError(
                f"`min_features_to_select` is {self.min_features_to_select}, but X has "
                f"only {table.n_columns} columns."
            )
        is_measure = isinstance(importance, BaseImportance)
        if is_measure and getattr(importance, "random_state", 0) is None:
            importance.set_params(random_state=self.random_state)
        splits = self._splits(table, y, passed.groups)
        if self.performance_threshold == ONE_STANDARD_ERROR and len(splits) < 2:
            raise ValueError(
                "performance_threshold='one_standard_error' needs the scores of "
                f"several folds, but cv={self.cv!r} holds out rows once. Use for "
                "example cv=5."
            )
        evaluation = Evaluation(
            self.estimator,
            importance,
            self._scorer(),
            table,
            y,
            splits,
            passed,
            self.n_jobs,
        )
        with Progress([self], self._most_steps(table.n_columns), "step") as progress:
            path = Path(evaluation, self._changes, progress.step)
            self._walk(path)
        self._keep(path.steps)
        self.estimator_ = evaluation.refit(np.flatnonzero(self.support_))

    def _scorer(self):
        # `check_scoring` would name itself in the error for an unknown name
        return check_scoring(self.estimator, scoring=get_scorer(self.scoring))

    def _default_importance(self):
        return SensitivityImportance(contrast="observed", scale=None)

    def _splits(self, table, y, groups):
        """(train, held-out) rows of each fold."""
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
        return splits_of(splitter, table.n_samples, y, groups)

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
        """Choose the subset and set what depends on it."""
        self.path_ = path
        self.score_needed_ = float(score_needed(path, self.performance_threshold))
        chosen = smallest_good_enough(path, self.score_needed_)
        self.ranking_ = np.ones(self.n_features_in_, dtype=np.intp)
        for rank, columns in enumerate(self._not_kept(chosen), start=2):
            self.ranking_[columns] = rank
        self.support_ = self.ranking_ == 1
        self.n_features_ = int(self.support_.sum())

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text = super().__repr__(N_CHAR_MAX)
        if not hasattr(self, "path_"):
            return text
        sizes, scores = self.path_["n_features"], self.path_["score"]
        kept, best = sizes.index(self.n_features_), best_step(self.path_)
        return (
            f"<{text}: kept {self.n_features_} of {self.n_features_in_} columns, score "
            f"{scores[kept]:.4g}; best score {scores[best]:.4g} with {sizes[best]}>"
        )

    def _selected(self, X):
        """The selected columns in X's own container."""
        return as_table(X).select(np.flatnonzero(self.support_)).native

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
            To the estimator's and the importance's fit, the scorer and the splitter.
        """
        router = super().get_metadata_routing()
        own_split = isinstance(self.cv, str)
        if own_split or hasattr(self.cv, "split"):
            router.add(
                splitter=GroupShuffleSplit() if own_split else self.cv,
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
        return router.add(
            scorer=self._scorer(),
            method_mapping=MethodMapping().add(caller="fit", callee="score"),
        )
