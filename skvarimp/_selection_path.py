"""What selectors share: the checks, the splits, the path of subsets, the rule."""

import time
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import check_scoring
from sklearn.model_selection import (
    GroupShuffleSplit,
    ShuffleSplit,
    StratifiedShuffleSplit,
    check_cv,
)
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from skvarimp._base import BaseImportance
from skvarimp._delegation import Delegating
from skvarimp._display_path import SelectionPathDisplay
from skvarimp._selection_steps import (
    Evaluation,
    check_can_serve,
    check_one_a_column,
    check_takes_weights,
    routed,
    smallest_good_enough,
)
from skvarimp._sensitivity import SensitivityImportance
from skvarimp._table import as_table
from skvarimp._types import Axes, Matrix
from skvarimp._validation import (
    Interval,
    StrOptions,
    check_class_labels,
    n_jobs_constraint,
    random_state_constraint,
)
from skvarimp._whole_fit import whole_fit

HELD_OUT = 0.3  # share held out for cv=None (Lemaire & Clérot, section IV.A)


class PathSelector(Delegating, SelectorMixin, CallbackSupportMixin, BaseEstimator):
    """Walks along a path of subsets and keeps the smallest that is good enough."""

    _parameter_constraints = {  # noqa: RUF012 scikit-learn's form
        "estimator": [object],
        "importance": [BaseImportance, callable, None],
        "performance_threshold": [Interval(Real, 0, 1, closed="both")],
        "importance_threshold": [Interval(Real, 0, 1, closed="left")],
        "step": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
        ],
        "min_features_to_select": [Interval(Integral, 1, None, closed="left")],
        "scoring": [StrOptions(set()), str, callable, None],
        "cv": ["cv_object"],
        "n_jobs": n_jobs_constraint,
        "random_state": random_state_constraint,
    }

    @whole_fit
    def fit(self, X: Matrix, y: ArrayLike, **params: Any) -> Self:
        """Find the columns to keep and refit the estimator on them.

        Parameters
        ----------
        X : {array-like, frame, sparse} of shape (n_samples, n_features)
            Training rows, in a container that the estimator takes.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Target.
        **params : dict
            Without metadata routing: `sample_weight` for the estimator, the
            importance and the scorer, and `groups` for the splitter. With routing,
            what those request.

        Returns
        -------
        self : object
            Fitted selector.
        """
        self._validate_params()
        return self._fit(X, y, params)

    @with_callbacks
    def _fit(self, X, y, params):
        table, y = self._checked(X, y)
        importance = self._importance()
        check_one_a_column(importance)
        check_can_serve(importance, self.estimator)
        passed = routed(self, self.estimator, params, table.n_samples)
        check_takes_weights(self.estimator, passed)
        splits = self._splits(table, y, passed.groups)
        scorer = check_scoring(self.estimator, scoring=self.scoring)
        evaluation = Evaluation(
            self.estimator, importance, scorer, y, splits, passed, self.n_jobs
        )
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self)
        path = self._walk(table, evaluation, context)
        context.call_on_fit_task_end(estimator=self)
        self._keep(path)
        kept = table.select(np.flatnonzero(self.support_))
        self.estimator_ = evaluation.refit(kept)
        return self

    def _checked(self, X, y):
        """X as a table and y as an array, checked as scikit-learn does."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but "
                "the target y is None."
            )
        table = as_table(self._validated(X, reset=True))
        y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        check_consistent_length(table.native, y)
        if is_classifier(self.estimator):
            check_class_labels(y)
        if self.min_features_to_select > table.n_columns:
            raise ValueError(
                f"`min_features_to_select` is {self.min_features_to_select}, but X has "
                f"only {table.n_columns} columns."
            )
        return table, y

    def _importance(self):
        """The importance used at each step; never the instance given."""
        importance = self.importance
        if importance is None:
            importance = SensitivityImportance(contrast="observed", scale=None)
        if not isinstance(importance, BaseImportance):
            return importance
        importance = clone(importance)
        if importance.get_params(deep=False).get("random_state", 0) is None:
            importance.set_params(random_state=self.random_state)
        return importance

    def _splits(self, table, y, groups):
        """(train, held-out) rows of each fold."""
        classifier = is_classifier(self.estimator)
        if self.cv is not None:
            splitter = check_cv(self.cv, y, classifier=classifier)
        else:
            kind = (
                StratifiedShuffleSplit if classifier and y.ndim == 1 else ShuffleSplit
            )
            kind = kind if groups is None else GroupShuffleSplit
            random_state = self.random_state
            if isinstance(random_state, np.random.Generator):
                random_state = int(random_state.integers(2**32))
            splitter = kind(1, test_size=HELD_OUT, random_state=random_state)
        rows = np.zeros((table.n_samples, 1))  # splitters look at the length only
        splits = list(splitter.split(rows, y, groups))
        if not splits:
            raise ValueError(f"`cv` gives no fold, got {self.cv!r}.")
        return splits

    def _n_steps(self, n_left):
        """How many columns a step takes, of those left."""
        if isinstance(self.step, Integral):
            return int(self.step)
        return max(1, int(self.step * n_left))

    def _record(self, path, columns, changed, folds, start, context):
        """Note one step of the path; returns whether a callback asks to stop."""
        scores = np.array([fold.score for fold in folds])
        path["n_features"].append(len(columns))
        path["score"].append(float(scores.mean()))
        path["fold_scores"].append(scores)
        path[self._changes].append(np.asarray(changed, dtype=np.intp))
        path["seconds"].append(time.perf_counter() - start)
        step = context.subcontext(task_name="step")
        step.call_on_fit_task_begin(estimator=self)
        return step.call_on_fit_task_end(estimator=self)

    def _keep(self, path):
        """Choose the subset and set what depends on it."""
        names = ("n_features", "score", "fold_scores", self._changes, "seconds")
        self.path_ = {name: path[name] for name in names}
        chosen = smallest_good_enough(
            path["n_features"], path["score"], self.performance_threshold
        )
        self._set_ranking(path, chosen)
        self.support_ = self.ranking_ == 1
        self.n_features_ = int(self.support_.sum())

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_

    def _selected(self, X):
        """The selected columns in X's own container."""
        return as_table(X).select(np.flatnonzero(self.support_)).native

    def plot_path(self, ax: Axes | None = None) -> SelectionPathDisplay:
        """Draw the score against the number of features.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.

        Returns
        -------
        display : SelectionPathDisplay
            Holds `ax_` and `figure_`.
        """
        check_is_fitted(self)
        return SelectionPathDisplay.from_selector(self, ax=ax)

    def get_metadata_routing(self) -> MetadataRouter:
        """Where metadata given to `fit` goes.

        Returns
        -------
        router : MetadataRouter
            To the estimator's and the importance's fit, the scorer and the splitter.
        """
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self).add(
            estimator=self.estimator, method_mapping=to_fit
        )
        if isinstance(self.importance, BaseImportance):
            router.add(importance=self.importance, method_mapping=to_fit)
        if self.cv is None or hasattr(self.cv, "split"):
            router.add(
                splitter=self.cv or GroupShuffleSplit(),
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
        scorer = check_scoring(self.estimator, scoring=self.scoring)
        return router.add(
            scorer=scorer,
            method_mapping=MethodMapping().add(caller="fit", callee="score"),
        )
