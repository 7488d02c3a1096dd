"""Feature selection driven by any measure, and `ImportanceEstimator`.

Backward elimination and forward growth are selectors; the estimator brings importances
to those of scikit-learn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal  # noqa: F401

import numpy as np
from sklearn.base import clone

from skvarimp._data.table import as_table
from skvarimp._measures.base import BaseImportance
from skvarimp._refits.estimators import Delegating, RefitsEstimator
from skvarimp._refits.measures import measure_constraint
from skvarimp._refits.path import PathSelector

# Signatures of the two selectors name these, too, with the fields that they inherit.
from skvarimp._refits.refits import Measure  # noqa: F401
from skvarimp._types import (  # noqa: F401
    AnyEstimator,
    CrossValidation,
    RandomState,
    Scoring,
)


@dataclass(eq=False, repr=False)
class BackwardEliminationSelector(PathSelector):
    """Refit, drop the least important columns, repeat; keep the smallest good subset.

    At each step the estimator is refitted on the training rows of each fold. Its score
    and the importances come from the held-out rows. The selector drops every column
    whose importance is below a small share of the largest, and at least `step` columns.
    It keeps the smallest subset whose score is good enough (`performance_threshold`).

    Parameters
    ----------
    estimator : estimator
        Any estimator, pipelines included; cloned.
    measure : measure, str, callable or None, default=None
        Any measure of skvarimp with one number per column, or its name, such
        as "permutation", for default parameters; or a callable
        (estimator, X, y) -> (n_features,) that is given held-out rows only; larger is
        more important, and negative means noise. None:
        `SensitivityImportance(contrast="observed", scale=None)`. Measures that read
        the fit itself (`ImpurityImportance`, `CoefficientImportance`, out-of-bag
        permutation) are given the training rows.
    performance_threshold : float, "auto" or "one_standard_error", default="auto"
        How good the kept subset must be. A number t: its score must be at least
        best - (1 - t) abs(best); 0.95 is the paper's 95% of the best score.
        "one_standard_error": at least the best score minus the standard error of its
        mean over the folds [2]_, which needs `cv`. "auto": "one_standard_error" if
        `cv` makes several folds, and 0.95 for one split.
    importance_threshold : float, default=1e-6
        Columns below this share of the largest importance are dropped at once.
    step : int or float, default=1
        The fewest columns dropped per step; a float in (0, 1) is a share of those left.
    min_features_to_select : int, default=1
        Number of columns at which the path ends.
    scoring : str, callable or None, default=None
        Scorer; None or "score": the estimator's own `score`.
    cv : "one_split", int, splitter, iterable or None, default="one_split"
        "one_split": one split with 30% held out, stratified for classifiers; else
        folds, over which scores and importances are averaged. None: 5 folds, as
        everywhere in scikit-learn.
    removal : {"auto", "drop", "constant"}, default="auto"
        What becomes of columns that are not in a subset. "drop": they are removed from
        X, and in a clone of the estimator from the lists of every `ColumnTransformer`
        and from parameters that refer to columns, such as `categorical_features`,
        `monotonic_cst` and `interaction_constraints`, whose positions are renumbered.
        "constant": each keeps its place but holds one value, the median of numbers or
        the most frequent of other values, in the rows to fit, to score and to predict.
        "auto": "drop"; if a parameter refers to columns in an unknown way, or a refit
        without some columns fails, it is "constant", and a warning says why.
    n_jobs : int, default=None
        Number of joblib workers over the folds.
    random_state : int, RandomState, Generator or None, default=None
        Of the split, and of every `random_state` that is None in the measure and the
        estimator. None: the estimator draws anew in each refit.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,)
        Mask of the kept columns.
    ranking_ : ndarray of shape (n_features,)
        1 = kept. Columns dropped together share a rank; those dropped first have the
        largest.
    n_features_ : int
        Number of kept columns.
    score_needed_ : float
        The score that was good enough.
    estimator_ : estimator
        Refitted on the kept columns of all rows; `predict`, `score` and so on use it.
        With removal="constant" it has all columns, those not kept with their constants.
    path_ : dict
        One value per step in each of `n_features`, `score`, `fold_scores`, `dropped`
        (columns dropped to come to this step) and `seconds`; the first step has all
        columns.
    n_features_in_ : int
        Number of columns seen.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X had names.

    See Also
    --------
    ForwardSelector : Ranks once and grows along the ranking.
    ImportanceEstimator : Any measure for `SelectFromModel`, `RFE` and `RFECV`.

    Notes
    -----
    Cost: one refit, one score and one importance per fold and step.

    References
    ----------
    .. [1] V. Lemaire and F. Clérot, "An Input Variable Importance Definition based on
       Empirical Data Probability", sections II.D and IV.A.
    .. [2] L. Breiman, J. Friedman, R. Olshen and C. Stone, Classification and
       Regression Trees, 1984, section 3.4.3: the one standard error rule.

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

    def _most_steps(self, n_columns):
        return self._steps_between(n_columns, self.min_features_to_select)

    def _walk(self, path):
        """Eliminate down to `min_features_to_select`."""
        table = path.refits.table
        columns = np.arange(table.n_columns)
        dropped = columns[:0]
        while len(columns) > self.min_features_to_select:
            yield columns, dropped, True
            keep = self._kept(path.importances)
            dropped, columns = columns[~keep], columns[keep]
        yield columns, dropped, False

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

    def _not_kept(self, chosen):
        return self.path_["dropped"][chosen:0:-1]


@dataclass(eq=False, repr=False)
class ForwardSelector(PathSelector):
    """Rank the columns once with all of them, then grow along the ranking.

    The importances of the estimator fitted on all columns give one ranking. The
    estimator is then refitted on the best columns of the ranking, with more at each
    step. The rule for the subset kept is that of `BackwardEliminationSelector`.

    Parameters
    ----------
    estimator : estimator
        Any estimator, pipelines included; cloned.
    measure : measure, callable or None, default=None
        As in `BackwardEliminationSelector`.
    performance_threshold : float, "auto" or "one_standard_error", default="auto"
        As in `BackwardEliminationSelector`.
    importance_threshold : float, default=1e-6
        Columns below this share of the largest importance are never added.
    step : int or float, default=1
        Columns added per step; a float in (0, 1) is a share of those not yet added.
    min_features_to_select : int, default=1
        Number of columns at which the path starts.
    scoring : str, callable or None, default=None
        Scorer; None or "score": the estimator's own `score`.
    cv : "one_split", int, splitter, iterable or None, default="one_split"
        "one_split": one split with 30% held out, stratified for classifiers; else
        folds, over which scores and importances are averaged. None: 5 folds, as
        everywhere in scikit-learn.
    removal : {"auto", "drop", "constant"}, default="auto"
        As in `BackwardEliminationSelector`.
    n_jobs : int, default=None
        Number of joblib workers over the folds.
    random_state : int, RandomState, Generator or None, default=None
        Of the split, and of every `random_state` that is None in the measure and the
        estimator. None: the estimator draws anew in each refit.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,)
        Mask of the kept columns.
    ranking_ : ndarray of shape (n_features,)
        1 = kept. Columns added together share a rank; those added last or never have
        the largest.
    n_features_ : int
        Number of kept columns.
    score_needed_ : float
        The score that was good enough.
    estimator_ : estimator
        Refitted on the kept columns of all rows.
    path_ : dict
        One value per step in each of `n_features`, `score`, `fold_scores`, `added`
        and `seconds`.
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

    def _most_steps(self, n_columns):
        return self._steps_between(n_columns - self.min_features_to_select, 0)

    def _walk(self, path):
        """Grow from `min_features_to_select` along the ranking of all columns."""
        table = path.refits.table
        _, importances = path.folds(np.arange(table.n_columns), with_importance=True)
        order = np.argsort(-importances, kind="stable")
        high = importances >= self.importance_threshold * importances.max()
        n_used = self.min_features_to_select
        last = max(int(high.sum()), n_used)
        yield np.sort(order[:n_used]), order[:n_used], False
        while n_used < last:
            start = n_used
            n_used = min(last, start + self._n_steps(table.n_columns - start))
            yield np.sort(order[:n_used]), order[start:n_used], False

    def _not_kept(self, chosen):
        added = self.path_["added"]
        never = np.setdiff1d(np.arange(self.n_features_in_), np.concatenate(added))
        return [*added[chosen + 1 :], never]


@dataclass(eq=False, repr=False)
class ImportanceEstimator(Delegating, RefitsEstimator):
    """An estimator that exposes a measure as `feature_importances_`.

    `fit` fits the estimator, then the measure on the same rows, so that
    `SelectFromModel`, `RFE` and `RFECV` take any measure with any model.

    Parameters
    ----------
    estimator : estimator
        Any estimator; cloned.
    measure : measure or str
        Any measure of skvarimp with one number per column, cloned; or its
        name, such as "sensitivity", for default parameters.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator; `predict`, `score` and so on use it.
    measure_ : measure
        The fitted measure.
    feature_importances_ : ndarray of shape (n_features,)
        Its `importances_`.
    n_features_in_ : int
        Number of columns seen.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X had names.

    See Also
    --------
    BackwardEliminationSelector : Selection on held-out importances.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.feature_selection import SelectFromModel
    >>> from sklearn.svm import SVR
    >>> from skvarimp import ImportanceEstimator, SensitivityImportance
    >>> X, y = make_friedman1(200, random_state=0)
    >>> measure = SensitivityImportance(contrast="observed")
    >>> machine = ImportanceEstimator(SVR(C=10.0), measure)
    >>> SelectFromModel(machine, max_features=3).fit(X, y).get_support(indices=True)
    array([0, 1, 3])
    """

    _parameter_constraints = {  # noqa: RUF012 scikit-learn's form
        "measure": measure_constraint,
    }

    estimator: AnyEstimator
    measure: BaseImportance | str

    def _checked(self, X, y):
        return as_table(self._validated(X, reset=True)), y

    def _fit(self, refits):
        X, y, passed = refits.table.native, refits.y, refits.passed
        self.estimator_ = clone(self.estimator).fit(X, y, **passed.to_fit)
        fit = refits.measure.fit
        self.measure_ = fit(self.estimator_, X, y, **passed.measure)
        self.feature_importances_ = np.array(self.measure_.importances_)

    def _selected(self, X):
        return X
