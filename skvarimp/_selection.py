"""Feature selection driven by any importance: backward elimination, forward growth."""

import time
from copy import deepcopy
from numbers import Integral, Real

import numpy as np
from sklearn.base import (
    BaseEstimator,
    MetaEstimatorMixin,
    clone,
    is_classifier,
)
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import check_scoring
from sklearn.model_selection import (
    GroupShuffleSplit,
    ShuffleSplit,
    StratifiedShuffleSplit,
    check_cv,
)
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from skvarimp._base import BaseImportance
from skvarimp._selection_steps import (
    Evaluation,
    check_can_serve,
    check_named_columns,
    routed,
    smallest_good_enough,
)
from skvarimp._sensitivity import SensitivityImportance
from skvarimp._table import as_table
from skvarimp._validation import (
    Interval,
    StrOptions,
    n_jobs_constraint,
    random_state_constraint,
)

HELD_OUT = 0.3  # share held out for cv=None (Lemaire & Clérot, section IV.A)


def _estimator_has(method):
    """Whether the fitted estimator, or else the one given, has a method."""

    def check(self):
        getattr(getattr(self, "estimator_", self.estimator), method)
        return True

    return check


class _Delegating(MetaEstimatorMixin):
    """Answers like the estimator refitted on the selected columns, `estimator_`."""

    def _ask(self, method, X, *args, **params):
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        return getattr(self.estimator_, method)(self._selected(X), *args, **params)

    def _validated(self, X, reset):
        """X checked as scikit-learn does; frames as they are."""
        if hasattr(X, "columns"):
            validate_data(self, X, skip_check_array=True, reset=reset)
            return X
        return validate_data(
            self,
            X,
            dtype=None,
            accept_sparse=["csr", "csc"],
            ensure_all_finite=not get_tags(self.estimator).input_tags.allow_nan
            or "allow-nan",
            reset=reset,
        )

    @available_if(_estimator_has("predict"))
    def predict(self, X):
        """Predict with the estimator on the selected columns.

        Parameters
        ----------
        X : {array-like, frame, sparse} of shape (n_samples, n_features)
            Rows with all columns.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions.
        """
        return self._ask("predict", X)

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X):
        """Class probabilities of the estimator on the selected columns.

        Parameters
        ----------
        X : {array-like, frame, sparse} of shape (n_samples, n_features)
            Rows with all columns.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        return self._ask("predict_proba", X)

    @available_if(_estimator_has("predict_log_proba"))
    def predict_log_proba(self, X):
        """Log-probabilities of the estimator on the selected columns.

        Parameters
        ----------
        X : {array-like, frame, sparse} of shape (n_samples, n_features)
            Rows with all columns.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Log-probabilities.
        """
        return self._ask("predict_log_proba", X)

    @available_if(_estimator_has("decision_function"))
    def decision_function(self, X):
        """Scores of the estimator on the selected columns.

        Parameters
        ----------
        X : {array-like, frame, sparse} of shape (n_samples, n_features)
            Rows with all columns.

        Returns
        -------
        score : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Decision function.
        """
        return self._ask("decision_function", X)

    @available_if(_estimator_has("score"))
    def score(self, X, y, **score_params):
        """Score of the estimator on the selected columns.

        Parameters
        ----------
        X : {array-like, frame, sparse} of shape (n_samples, n_features)
            Rows with all columns.
        y : array-like of shape (n_samples,)
            True target.
        **score_params : dict
            Passed to the estimator's `score`, such as sample_weight.

        Returns
        -------
        score : float
            Mean accuracy or coefficient of determination.
        """
        return self._ask("score", X, y, **score_params)

    @property
    def classes_(self):
        """Classes of the estimator."""
        return self.estimator_.classes_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = deepcopy(inner.classifier_tags)
        tags.regressor_tags = deepcopy(inner.regressor_tags)
        if tags.classifier_tags is not None:
            tags.classifier_tags.poor_score = True
        if tags.regressor_tags is not None:
            tags.regressor_tags.poor_score = True
        tags.target_tags = deepcopy(inner.target_tags)
        tags.target_tags.required = True
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags


class _PathSelector(_Delegating, SelectorMixin, CallbackSupportMixin, BaseEstimator):
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

    def fit(self, X, y, **params):
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
        check_can_serve(importance, self.estimator)
        passed = routed(self, params, table.n_samples)
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
            check_classification_targets(y)
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
        return list(splitter.split(rows, y, groups))

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

    def plot_path(self, ax=None):
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
        from skvarimp._display_path import SelectionPathDisplay

        check_is_fitted(self)
        return SelectionPathDisplay.from_selector(self, ax=ax)

    def get_metadata_routing(self):
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
        router.add(
            splitter=check_cv(self.cv),
            method_mapping=MethodMapping().add(caller="fit", callee="split"),
        )
        scorer = check_scoring(self.estimator, scoring=self.scoring)
        return router.add(
            scorer=scorer,
            method_mapping=MethodMapping().add(caller="fit", callee="score"),
        )


class BackwardEliminationSelector(_PathSelector):
    """Refit, drop the least important columns, repeat; keep the smallest good subset.

    At each step the estimator is refitted on the training rows of each fold; its
    score and the importances come from the held-out rows. Every column whose
    importance is below a small share of the largest goes at once, and at least
    `step` columns go. The subset kept is the smallest whose score is at least
    ``best - (1 - performance_threshold) * abs(best)``.

    Parameters
    ----------
    estimator : estimator
        Any estimator, pipelines included; cloned.
    importance : importance, callable or None, default=None
        Any importance class of skvarimp with one entry a column, or a callable
        (estimator, X, y) -> (n_features,), which sees held-out rows only. None:
        `SensitivityImportance(contrast="observed", scale=None)`. Measures that read
        the fit itself (`ImpurityImportance`, `CoefficientImportance`, out-of-bag
        permutation) are given the training rows.
    performance_threshold : float, default=0.95
        Share of the best score that the kept subset must reach.
    importance_threshold : float, default=1e-6
        Columns below this share of the largest importance go at once.
    step : int or float, default=1
        Columns dropped at least a step; a float in (0, 1) is a share of those left.
    min_features_to_select : int, default=1
        Where the path ends.
    scoring : str, callable or None, default=None
        Scorer; None: the estimator's own `score`.
    cv : int, splitter, iterable or None, default=None
        None: one split with 30% held out, stratified for classifiers; else folds,
        over which scores and importances are averaged.
    n_jobs : int, default=None
        Number of joblib workers over the folds.
    random_state : int, RandomState, Generator or None, default=None
        Of the split, and of an importance whose own is None.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,)
        Mask of the kept columns.
    ranking_ : ndarray of shape (n_features,)
        1 = kept; columns dropped together share a rank, the first dropped the
        largest.
    n_features_ : int
        Number of kept columns.
    estimator_ : estimator
        Refitted on the kept columns of all rows; `predict`, `score` and so on ask it.
    path_ : dict
        One entry a step in each of `n_features`, `score`, `fold_scores`, `dropped`
        (columns dropped to come to this step) and `seconds`; the first step has all
        columns.
    n_features_in_ : int
        Number of columns seen.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X had names.

    See Also
    --------
    ForwardSelector : Ranks once and grows along the ranking.
    ImportanceEstimator : Any importance for `SelectFromModel`, `RFE` and `RFECV`.

    Notes
    -----
    Cost: one refit, one score and one importance a fold and step.

    References
    ----------
    .. [1] V. Lemaire and F. Clérot, "An Input Variable Importance Definition based on
       Empirical Data Probability", sections II.D and IV.A.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from skvarimp import BackwardEliminationSelector
    >>> X, y = make_friedman1(300, random_state=0)
    >>> tree = DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
    >>> selector = BackwardEliminationSelector(tree, cv=5).fit(X, y)
    >>> selector.get_support(indices=True)
    array([0, 1, 3])
    """

    _changes = "dropped"

    def __init__(
        self,
        estimator,
        importance=None,
        *,
        performance_threshold=0.95,
        importance_threshold=1e-6,
        step=1,
        min_features_to_select=1,
        scoring=None,
        cv=None,
        n_jobs=None,
        random_state=None,
    ):
        self.estimator = estimator
        self.importance = importance
        self.performance_threshold = performance_threshold
        self.importance_threshold = importance_threshold
        self.step = step
        self.min_features_to_select = min_features_to_select
        self.scoring = scoring
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _walk(self, table, evaluation, context):
        """Eliminate down to `min_features_to_select`; the path of steps."""
        path = {name: [] for name in ("n_features", "score", "fold_scores", "seconds")}
        path["dropped"] = []
        columns = np.arange(table.n_columns)
        dropped = columns[:0]
        while True:
            start = time.perf_counter()
            last = len(columns) == self.min_features_to_select
            folds = evaluation.folds(table, with_importance=not last)
            if self._record(path, columns, dropped, folds, start, context) or last:
                return path
            importances = np.mean([np.abs(fold.importances) for fold in folds], axis=0)
            keep = self._kept(importances)
            dropped, columns = columns[~keep], columns[keep]
            check_named_columns(self.estimator, table, np.flatnonzero(~keep))
            table = table.select(np.flatnonzero(keep))

    def _kept(self, importances):
        """Mask of the columns that stay; ties drop the highest index first."""
        n_left = len(importances)
        weakest_first = np.lexsort((-np.arange(n_left), importances))
        low = importances < self.importance_threshold * importances.max()
        n_drop = max(int(low.sum()), self._n_steps(n_left))
        n_drop = min(n_drop, n_left - self.min_features_to_select)
        keep = np.ones(n_left, dtype=bool)
        keep[weakest_first[:n_drop]] = False
        return keep

    def _set_ranking(self, path, chosen):
        self.ranking_ = np.ones(self.n_features_in_, dtype=np.intp)
        for rank, columns in enumerate(path["dropped"][chosen:0:-1], start=2):
            self.ranking_[columns] = rank


class ForwardSelector(_PathSelector):
    """Rank the columns once with all of them, then grow along the ranking.

    The importances of the estimator fitted on all columns give one ranking; the
    estimator is then refitted on its first columns, more at every step. The subset
    kept follows the same rule as in `BackwardEliminationSelector`.

    Parameters
    ----------
    estimator : estimator
        Any estimator, pipelines included; cloned.
    importance : importance, callable or None, default=None
        As in `BackwardEliminationSelector`.
    performance_threshold : float, default=0.95
        Share of the best score that the kept subset must reach.
    importance_threshold : float, default=1e-6
        Columns below this share of the largest importance are never added.
    step : int or float, default=1
        Columns added a step; a float in (0, 1) is a share of those not yet added.
    min_features_to_select : int, default=1
        Where the path starts.
    scoring : str, callable or None, default=None
        Scorer; None: the estimator's own `score`.
    cv : int, splitter, iterable or None, default=None
        None: one split with 30% held out, stratified for classifiers; else folds,
        over which scores and importances are averaged.
    n_jobs : int, default=None
        Number of joblib workers over the folds.
    random_state : int, RandomState, Generator or None, default=None
        Of the split, and of an importance whose own is None.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,)
        Mask of the kept columns.
    ranking_ : ndarray of shape (n_features,)
        1 = kept; columns added together share a rank, those added last or never the
        largest.
    n_features_ : int
        Number of kept columns.
    estimator_ : estimator
        Refitted on the kept columns of all rows.
    path_ : dict
        One entry a step in each of `n_features`, `score`, `fold_scores`, `added` and
        `seconds`.
    n_features_in_ : int
        Number of columns seen.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X had names.

    See Also
    --------
    BackwardEliminationSelector : Refits and ranks anew after every drop.

    References
    ----------
    .. [1] V. Lemaire and F. Clérot, "An Input Variable Importance Definition based on
       Empirical Data Probability", section II.D.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from skvarimp import ForwardSelector
    >>> X, y = make_friedman1(300, random_state=0)
    >>> tree = DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
    >>> selector = ForwardSelector(tree, cv=5).fit(X, y)
    >>> selector.get_support(indices=True)
    array([0, 1, 3])
    """

    _changes = "added"

    def __init__(
        self,
        estimator,
        importance=None,
        *,
        performance_threshold=0.95,
        importance_threshold=1e-6,
        step=1,
        min_features_to_select=1,
        scoring=None,
        cv=None,
        n_jobs=None,
        random_state=None,
    ):
        self.estimator = estimator
        self.importance = importance
        self.performance_threshold = performance_threshold
        self.importance_threshold = importance_threshold
        self.step = step
        self.min_features_to_select = min_features_to_select
        self.scoring = scoring
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _walk(self, table, evaluation, context):
        """Grow from `min_features_to_select`; the path of steps."""
        path = {name: [] for name in ("n_features", "score", "fold_scores", "seconds")}
        path["added"] = []
        folds = evaluation.folds(table, with_importance=True)
        importances = np.mean([np.abs(fold.importances) for fold in folds], axis=0)
        order = np.argsort(-importances, kind="stable")
        high = importances >= self.importance_threshold * importances.max()
        last = max(int(high.sum()), self.min_features_to_select)
        n_used, added = (
            self.min_features_to_select,
            order[: self.min_features_to_select],
        )
        if n_used < table.n_columns:
            check_named_columns(self.estimator, table, order[n_used:])
        while True:
            start = time.perf_counter()
            columns = np.sort(order[:n_used])
            folds = evaluation.folds(table.select(columns), with_importance=False)
            stop = self._record(path, columns, added, folds, start, context)
            if stop or n_used >= last:
                return path
            more = min(last, n_used + self._n_steps(table.n_columns - n_used))
            n_used, added = more, order[n_used:more]

    def _set_ranking(self, path, chosen):
        self.ranking_ = np.ones(self.n_features_in_, dtype=np.intp)
        later = path["added"][chosen + 1 :]
        never = np.ones(self.n_features_in_, dtype=bool)
        for columns in path["added"]:
            never[columns] = False
        for rank, columns in enumerate(later, start=2):
            self.ranking_[columns] = rank
        self.ranking_[never] = len(later) + 2
