"""Feature selection driven by any importance: backward elimination, forward growth."""

import time

import numpy as np

from skvarimp._base import BaseImportance
from skvarimp._selection_path import PathSelector
from skvarimp._selection_steps import check_named_columns
from skvarimp._types import (
    AnyEstimator,
    CrossValidation,
    ImportanceFunction,
    RandomState,
    Scoring,
)


class BackwardEliminationSelector(PathSelector):
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
    feature_names_in_ : ndarray of shape (n_features,)
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
        estimator: AnyEstimator,
        importance: BaseImportance | ImportanceFunction | None = None,
        *,
        performance_threshold: float = 0.95,
        importance_threshold: float = 1e-6,
        step: int | float = 1,
        min_features_to_select: int = 1,
        scoring: Scoring = None,
        cv: CrossValidation = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
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
            folds = evaluation.folds(table, columns, with_importance=not last)
            if self._record(path, columns, dropped, folds, start, context) or last:
                return path
            importances = np.mean([np.abs(fold.importances) for fold in folds], axis=0)
            keep = self._kept(importances)
            dropped, columns = columns[~keep], columns[keep]
            check_named_columns(self.estimator, table, dropped)

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


class ForwardSelector(PathSelector):
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
    feature_names_in_ : ndarray of shape (n_features,)
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
        estimator: AnyEstimator,
        importance: BaseImportance | ImportanceFunction | None = None,
        *,
        performance_threshold: float = 0.95,
        importance_threshold: float = 1e-6,
        step: int | float = 1,
        min_features_to_select: int = 1,
        scoring: Scoring = None,
        cv: CrossValidation = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
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
        everything = np.arange(table.n_columns)
        folds = evaluation.folds(table, everything, with_importance=True)
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
            folds = evaluation.folds(table, columns, with_importance=False)
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
