"""`AllRelevantSelector`: every column that carries information, after Boruta."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skvarimp._data.shuffled import beside_copies
from skvarimp._data.validation import (
    Interval,
    StrOptions,
    n_jobs_constraint,
    random_state_constraint,
)
from skvarimp._display.selection import AllRelevantDisplay
from skvarimp._measures.base import BaseImportance
from skvarimp._measures.impurity.impurity import ImpurityImportance
from skvarimp._measures.sensitivity import SensitivityImportance
from skvarimp._response.engine import in_order
from skvarimp._running.guards import users_code
from skvarimp._running.tasks import Progress
from skvarimp._selection.decisions import SELECTED, TENTATIVE, Decisions
from skvarimp._selection.named import MEASURES
from skvarimp._selection.selector import RefittingSelector
from skvarimp._selection.splits import generator, seeded, seeds_of
from skvarimp._selection.steps import (
    check_copies_reach,
    measured,
    one_a_column,
)
from skvarimp._types import AnyEstimator, Axes, Importance, RandomState

FEWEST_COPIES = 5  # the largest of fewer is too easily exceeded


@dataclass(eq=False, repr=False)
class AllRelevantSelector(RefittingSelector):
    """Select every column that is more important than shuffled copies of columns.

    In each round the selector puts shuffled copies of the columns beside them and fits
    the estimator to both. A column scores a hit if its importance exceeds that of every
    copy. A column with more hits than a fair coin would give is selected; one with
    fewer is rejected and dropped. This is Boruta's procedure, with any importance and
    columns of any type. `BackwardEliminationSelector` looks for a small set that
    suffices; this selector keeps every column that carries information about y, even
    copies of others.

    Parameters
    ----------
    estimator : estimator
        Any estimator, pipelines included; cloned.
    importance : importance, str, callable or None, default=None
        Any importance class of skvarimp with one entry per column, or its name, such
        as "permutation", for default parameters; or a callable
        (estimator, X, y) -> (n_features,), measured on the rows the estimator was
        fitted to. None: `ImpurityImportance(rows="oob")` for forests with bootstrap,
        `ImpurityImportance()` for other trees, and for other models
        `SensitivityImportance(contrast="observed", scale=None)`.
    max_iter : int, default=100
        The largest number of rounds.
    n_iter_no_change : int, default=5
        The selector stops after this many rounds in a row without a decision. With
        more rounds, fewer columns stay tentative.
    alpha : float, default=0.05
        Significance level of the two-sided tests.
    n_jobs : int, default=None
        Number of joblib workers over rounds. The result does not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the shuffles, and of every `random_state` that is None inside the
        estimator and the importance; each round gets its own.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,)
        Mask of the selected columns.
    tentative_ : ndarray of shape (n_features,)
        Mask of the columns that were neither selected nor rejected.
    n_features_ : int
        Number of selected columns.
    ranking_ : ndarray of shape (n_features,)
        1 = selected, 2 = tentative, 3 = rejected last, and so on. Columns rejected in
        the same round share a rank.
    hits_ : ndarray of shape (n_features,)
        Rounds in which the column exceeded every copy.
    n_iter_ : int
        Number of rounds.
    history_ : dict
        `importances`, of shape (n_iter, n_features), NaN after a column was rejected;
        `largest_copy`, of shape (n_iter,), the largest importance of the copies.
    n_features_in_ : int
        Number of columns seen.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X had names.

    See Also
    --------
    BackwardEliminationSelector : A small set of columns that suffices.
    null_importances : Is an importance more than noise?
    leave_out_importances : Is a column needed beside the others?

    Notes
    -----
    After r rounds the p-values of a column with h hits are P(H >= h) and P(H <= h) for
    H binomial with r throws of a fair coin. Columns whose first p-value is significant
    at level alpha / 2 are selected, those whose second is, rejected, both by Benjamini
    and Hochberg's rule over the columns left. The rounds are not corrected for, as in
    the original procedure. The copies are those of the columns left, shuffled anew
    each round, and at least five.

    The selector stops when no column is tentative, or after `n_iter_no_change` rounds
    without a decision, counted from the first round in which one is possible. Columns
    that are still tentative then score hits in about half of the rounds.

    The tests judge the columns in this sample: they repeat the shuffles and the fits,
    but do not draw new rows. A column of noise that happens to be correlated with y in
    the sample may be selected. Of 50 columns of noise with 200 rows, less than half a
    column was selected on average (``benchmarks/all_relevant.py``).

    Cost: one fit and one importance per round, on up to twice the columns.

    References
    ----------
    .. [1] M. B. Kursa and W. R. Rudnicki, "Feature Selection with the Boruta Package",
       Journal of Statistical Software 36 (2010), section 2.

    Examples
    --------
    Five of Friedman's ten columns matter:

    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from skvarimp import AllRelevantSelector
    >>> X, y = make_friedman1(300, random_state=0)
    >>> forest = RandomForestRegressor(30, min_samples_leaf=5)
    >>> selector = AllRelevantSelector(forest, random_state=0).fit(X, y)
    >>> selector.get_support(indices=True)
    array([0, 1, 2, 3, 4])
    """

    _parameter_constraints = {  # noqa: RUF012 scikit-learn's form
        "estimator": [object],
        "importance": [BaseImportance, StrOptions(set(MEASURES)), callable, None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, 1, closed="neither")],
        "n_jobs": n_jobs_constraint,
        "random_state": random_state_constraint,
    }

    estimator: AnyEstimator
    importance: Importance | None = None
    _: KW_ONLY
    max_iter: int = 100
    n_iter_no_change: int = 5
    alpha: float = 0.05
    n_jobs: int | None = None
    random_state: RandomState = None

    def _fit(self, table, y, importance, passed):
        if table.n_samples < 2:
            raise ValueError(
                "AllRelevantSelector shuffles rows and needs at least two, got "
                f"n_samples = {table.n_samples}."
            )
        check_copies_reach(self.estimator)
        if passed.groups is not None:
            raise TypeError(
                "AllRelevantSelector splits no rows and takes no `groups`. Leave them "
                "out."
            )
        shared = self.estimator, importance, table, y, passed
        seeds = seeds_of(generator(self.random_state), self.max_iter)
        decisions = Decisions(
            table.n_columns, self.max_iter, self.n_iter_no_change, self.alpha
        )
        with Progress([self], self.max_iter, "round") as progress:
            self._run(shared, seeds, decisions, progress)
        self.support_ = decisions.state == SELECTED
        self.tentative_ = decisions.state == TENTATIVE
        self.n_features_ = int(self.support_.sum())
        self.hits_ = decisions.hits
        self.n_iter_ = decisions.n_rounds
        self.ranking_ = decisions.ranking()
        self.history_ = {
            "importances": np.array(decisions.importances),
            "largest_copy": np.array(decisions.largest_copy),
        }

    def _run(self, shared, seeds, decisions, progress):
        """Rounds in batches: as many at once as surely bring no decision before."""
        while not decisions.complete():
            first, left = decisions.n_rounds, decisions.left()
            tasks = [(seed, left) for seed in seeds[first:][: decisions.next_batch()]]
            for _, found in in_order(_of_round, tasks, shared, self.n_jobs):
                decisions.add(left, *found)
                if progress.step():
                    decisions.decide()
                    return
            decisions.decide()

    def _default_importance(self):
        """Impurity, on unseen rows where trees have some; else the sensitivity."""
        for importance in (ImpurityImportance(rows="oob"), ImpurityImportance()):
            if importance._cannot_serve(self.estimator) is None:
                return importance
        return SensitivityImportance(contrast="observed", scale=None)

    def plot_history(self, ax: Axes | None = None, **kwargs: Any) -> AllRelevantDisplay:
        """Draw each column's importances over the rounds beside the largest copies'.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **kwargs : dict
            Passed to `AllRelevantDisplay.from_selector`.

        Returns
        -------
        display : AllRelevantDisplay
            Holds `ax_` and `figure_`.
        """
        check_is_fitted(self)
        return AllRelevantDisplay.from_selector(self, ax=ax, **kwargs)


@users_code()
def _of_round(task, estimator, importance, table, y, passed):
    """Importances of the columns left, and the largest of their copies.

    Parameters
    ----------
    task : (int, ndarray)
        Seed and the positions of the columns left.
    estimator : estimator
    importance : BaseImportance or callable
    table : Table
    y : ndarray
    passed : Passed
    """
    seed, left = task
    random = np.random.default_rng(seed)
    table = table.select(left)
    copied = np.resize(np.arange(len(left)), max(len(left), FEWEST_COPIES))
    orders = [(j, random.permutation(table.n_samples)) for j in copied]
    wide = beside_copies(table, orders)
    if isinstance(importance, BaseImportance):
        importance = seeded(clone(importance), random)
    estimator = seeded(clone(estimator), random).fit(wide.native, y, **passed.fit)
    found = measured(importance, estimator, wide, y, passed.importance)
    values = one_a_column(found, wide)
    return values[: len(left)], values[len(left) :].max()
