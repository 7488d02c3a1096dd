"""`AllRelevantSelector`: every column that carries information, after Boruta."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from scipy.stats import binom, false_discovery_control, rankdata
from sklearn.utils.validation import check_is_fitted

from skvarimp._data.validation import Interval
from skvarimp._display.refits import AllRelevantDisplay
from skvarimp._measures.base import BaseImportance
from skvarimp._measures.impurity.impurity import ImpurityImportance
from skvarimp._refits.estimators import RefittingSelector
from skvarimp._refits.refits import Measure, cloned, generator, seeds_of
from skvarimp._refits.removal import check_copies_reach, with_copies, with_removal
from skvarimp._running.tasks import Progress, in_order
from skvarimp._types import AnyEstimator, Axes, RandomState

TENTATIVE, SELECTED, REJECTED = 0, 1, -1
FEWEST_COPIES = 5  # the largest of fewer is too easily exceeded


@dataclass(eq=False, repr=False)
class AllRelevantSelector(RefittingSelector):
    """Select every column that is more important than shuffled copies of columns.

    In each round the selector puts shuffled copies of the columns beside them and fits
    the estimator to both. A column scores a hit if its importance exceeds that of every
    copy. A column with more hits than a fair coin would give is selected; one with
    fewer is rejected and dropped. This is Boruta's procedure, with any measure and
    columns of any type. `BackwardEliminationSelector` looks for a small set that
    suffices; this selector keeps every column that carries information about y, even
    copies of others.

    Parameters
    ----------
    estimator : estimator
        Any estimator, pipelines included; cloned.
    measure : measure, str, callable or None, default=None
        Any measure of skvarimp with one number per column, or its name, such
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
    removal : {"auto", "drop", "constant"}, default="auto"
        What becomes of rejected columns, as in `BackwardEliminationSelector`. In a
        clone of the estimator, the lists of a `ColumnTransformer` and parameters that
        refer to columns name the copies of a column wherever they name the column.
    n_jobs : int, default=None
        Number of joblib workers over rounds. The result does not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the shuffles, and of every `random_state` that is None inside the
        estimator and the measure; each round gets its own.

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
    at level alpha / 2 are selected, and those whose second one is are rejected, by
    Benjamini and Hochberg's rule over the columns left. As in the original procedure,
    there is no correction for the number of rounds. Each round shuffles new copies of
    the columns left, at least five of them.

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
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, 1, closed="neither")],
    }

    estimator: AnyEstimator
    measure: Measure | None = None
    _: KW_ONLY
    max_iter: int = 100
    n_iter_no_change: int = 5
    alpha: float = 0.05
    removal: Literal["auto", "drop", "constant"] = "auto"
    n_jobs: int | None = None
    random_state: RandomState = None

    def _fit(self, refits):
        table = refits.table
        if table.n_samples < 2:
            raise ValueError(
                "AllRelevantSelector shuffles rows and needs at least two, got "
                f"n_samples = {table.n_samples}."
            )
        check_copies_reach(refits)
        if refits.passed.groups is not None:
            raise TypeError(
                "AllRelevantSelector splits no rows and takes no `groups`. Leave them "
                "out."
            )
        seeds = seeds_of(generator(self.random_state), self.max_iter)

        def rounds(removal):
            return self._decisions(refits, removal, seeds)

        decisions = with_removal(self.removal, rounds, self.estimator, table)
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

    def _decisions(self, refits, removal, seeds):
        """Rounds until nothing is left to decide."""
        decisions = Decisions(
            refits.table.n_columns, self.max_iter, self.n_iter_no_change, self.alpha
        )
        shared, most = (refits, removal), self.max_iter
        with Progress([self], most, "round") as progress, progress.until_interrupted():
            # as many rounds at once as surely bring no decision before the last
            while not progress.stopped and (n_more := decisions.next_batch()):
                left = decisions.left()
                tasks = [(seed, left) for seed in seeds[decisions.n_rounds :][:n_more]]
                rounds = in_order(_one_round, tasks, shared, self.n_jobs)
                for _, (values, largest_copy) in rounds:
                    decisions.add(left, values, largest_copy)
                    if progress.step():
                        break
                decisions.decide()
        return decisions

    def _default_measure(self):
        """Impurity, on unseen rows where trees have some; else the sensitivity."""
        for measure in (ImpurityImportance(rows="oob"), ImpurityImportance()):
            if measure._cannot_serve(self.estimator) is None:
                return measure
        return super()._default_measure()

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


def _one_round(task, refits, removal):
    """Importances of the columns left, and the largest of their copies.

    Parameters
    ----------
    task : (int, ndarray)
        Seed and the positions of the columns left.
    refits : Refits
        With all columns.
    removal : Removal
        Of the rejected columns.
    """
    seed, left = task
    random = np.random.default_rng(seed)
    part, places = removal.part(refits, left), removal.places(left)
    n_samples, n_columns = part.table.n_samples, part.table.n_columns
    copied = np.resize(places, max(len(left), FEWEST_COPIES))
    orders = [(j, random.permutation(n_samples)) for j in copied]
    wide = part.table.beside_copies(orders)
    wide = with_copies(part, wide, [*range(n_columns), *copied])
    if isinstance(wide.measure, BaseImportance):
        wide = replace(wide, measure=cloned(wide.measure, random))
    with removal.refitting(refits.table, left):
        values = wide.refitted(None, None, random).importances
    return values[places], values[n_columns:].max()


class Decisions:
    """Hits so far, and what they decide.

    Parameters
    ----------
    n_columns : int
    max_iter, n_iter_no_change : int
    alpha : float

    Attributes
    ----------
    state : ndarray of shape (n_columns,)
        TENTATIVE, SELECTED or REJECTED.
    hits : ndarray of shape (n_columns,)
    n_rounds : int
    idle_until : int
        The round after which to stop if none decides anything before.
    importances : list of ndarray of shape (n_columns,)
        One a round; NaN for rejected columns.
    largest_copy : list of float
    """

    def __init__(self, n_columns, max_iter, n_iter_no_change, alpha):
        self.max_iter, self.n_iter_no_change = max_iter, n_iter_no_change
        self.tail = alpha / 2
        self.state = np.full(n_columns, TENTATIVE)
        self.hits = np.zeros(n_columns, dtype=np.intp)
        self.decided_after = np.zeros(n_columns, dtype=np.intp)
        # the first round in which all hits, or none, decide, and so many more
        self.idle_until = int(np.ceil(-np.log2(self.tail))) + n_iter_no_change
        self.importances, self.largest_copy = [], []

    @property
    def n_rounds(self):
        """Rounds so far."""
        return len(self.largest_copy)

    def left(self):
        """Positions of the columns that are not rejected."""
        return np.flatnonzero(self.state != REJECTED)

    def add(self, left, values, largest_copy):
        """Take over one round."""
        row = np.full(len(self.state), np.nan)
        row[left] = values
        self.hits[left] += values > largest_copy
        self.importances.append(row)
        self.largest_copy.append(largest_copy)

    def decide(self):
        """Select and reject what the hits so far allow."""
        left, n = self.left(), self.n_rounds
        hits = self.hits[left]
        tails = binom.sf(hits - 1, n, 0.5), binom.cdf(hits, n, 0.5)
        for of_tail, decision in zip(tails, (SELECTED, REJECTED)):
            sure = false_discovery_control(of_tail) <= self.tail
            sure &= self.state[left] == TENTATIVE
            self.state[left[sure]] = decision
            self.decided_after[left[sure]] = n
            if np.any(sure):
                self.idle_until = n + self.n_iter_no_change

    def next_batch(self):
        """Rounds until the first that can bring a decision.

        0 if nothing is left to decide, or no round has decided for long.
        """
        hits, n = self.hits[self.state == TENTATIVE], self.n_rounds
        most = min(self.max_iter, self.idle_until) - n if len(hits) else 0
        for more in range(1, most):
            after = n + more
            tails = binom.sf(hits + more - 1, after, 0.5), binom.cdf(hits, after, 0.5)
            if np.min(tails) <= self.tail:
                return more
        return most

    def ranking(self):
        """1 = selected, 2 = tentative, then by the round of rejection, last first."""
        ranks, rejected = np.where(self.state == SELECTED, 1, 2), self.state == REJECTED
        ranks[rejected] = 2 + rankdata(-self.decided_after[rejected], "dense")
        return ranks
