"""`PermutationImportance`: loss gained when an input is taken from another row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from skvarimp._data.validation import (
    Interval,
    StrOptions,
    features_constraint,
    n_jobs_constraint,
    random_state_constraint,
    response_method_constraint,
)
from skvarimp._measures.conditional import ConditionalImportance, conditional_constraint
from skvarimp._measures.out_of_bag import average_over_trees, out_of_bag
from skvarimp._measures.permutation_plan import Lost, PermutationPlan
from skvarimp._measures.problem import CHEAP_EVALUATIONS, Request
from skvarimp._measures.scoring import ScoreLost, score_lost
from skvarimp._response.reductions.losses import (
    LOSSES,
    LossDraw,
    make_loss,
)
from skvarimp._response.sampling import entry_seeds
from skvarimp._running.progress import steps_of
from skvarimp._types import Conditional, Features, RandomState, ResponseMethod, Scoring


@dataclass(kw_only=True, eq=False, repr=False)
class PermutationImportance(ConditionalImportance):
    """Loss that a model gains when an input is replaced by another row's.

    The importance tells how much the model's accuracy depends on the input. It is the
    mean loss, over rows and donors, when the row takes the donor's value, minus the
    mean loss of the unmoved rows. All other inputs keep their values. The measure is
    *marginal*: if inputs are dependent, it evaluates rows that do not occur.

    Parameters
    ----------
    loss : {"auto", "squared_error", "absolute_error", "log_loss", "zero_one"} or \
callable, default="auto"
        Loss of a row. "auto": log loss for classifiers' probabilities, "zero_one" for
        their scores and labels, and the squared error otherwise. Squared and absolute
        errors are means over the outputs; probabilities are compared with indicators of
        y's classes. "zero_one" takes the most probable class, or the first of those
        within 1e-10 of it; with response_method="predict" it takes the labels. A
        callable gets y, (n,) or (n, n_columns), and outputs, (n,) or (n, n_outputs),
        and returns (n,).
    scoring : str or callable, default=None
        A scikit-learn scorer instead of a loss, by name or as scorer(estimator, X, y).
        The importance is then the score lost; it is always estimated from draws.
    estimation : {"auto", "exact", "sampled"}, default="auto"
        "exact": over all pairs of a row and a donor; "sampled": from random donors.
        "auto" is exact if that is expected to cost no more, or takes at most a million
        evaluations of the model.
    n_repeats : int, default=10
        Number of donors drawn for each row ("sampled").
    relative : bool, default=False
        Ratio of the mean moved to the mean unmoved loss instead of the difference.
    subset : {"oob"} or None, default=None
        "oob": for a forest grown with bootstrap, the mean over its trees of the
        importance on the tree's own out-of-bag rows, which are also its donors
        (Breiman, unscaled). X and y must be the training rows in order. For
        classifiers, loss="auto" is then "zero_one": wrong votes of the trees.
    features : sequence or dict, default=None
        Entries: names, positions, or lists of them (groups); None: each column.
    response_method : {"auto", "predict_proba", "decision_function", "predict"}, \
default="auto"
        The response watched; "auto": the first of them a classifier has, `predict`
        of other models.
    n_jobs : int, default=None
        Number of joblib workers. The numbers do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Source of the draws ("sampled") and of ties in the trees of `conditional`.
    keep_rows : bool, default=False
        Whether to keep the numbers of single rows, `influences_` and
        `row_importances_`, from which `interval` and the comparisons of importances
        are computed.
    conditional : "subgroups", tree, array-like of shape (n_samples,), dict or None, \
default=None
        Take new values only from rows of the same part: "subgroups": the leaves of a
        tree that predicts the entry from the other columns; a scikit-learn tree: it is
        cloned and fitted for this; labels of the rows for all entries; or a dict from
        entry names to labels (all rows for other entries). None: from all rows.

    Attributes
    ----------
    importances_ : ndarray of shape (n_entries,)
        In units of the loss; negative if other rows' values do better by chance. With
        `relative`, 1 means no importance.
    importances_per_output_ : ndarray of shape (n_entries, 1)
        The same as a column: a loss combines the outputs.
    standard_errors_ : ndarray of shape (n_entries,) or None
        Sampling error with the model held fixed, each row counting as evaluated row
        and as donor (infinitesimal jackknife); the number of rows is the sum of
        `sample_weight`. None for scorers, and for draws among out-of-bag rows.
    monte_carlo_errors_ : ndarray of shape (n_entries,) or None
        Error of drawing ("sampled"); NaN for one repeat.
    influences_ : ndarray of shape (n_samples, n_entries)
        With `keep_rows`: how much each row moves each importance; weighted mean 0.
    row_importances_ : ndarray of shape (n_samples, n_entries)
        With `keep_rows`: each row's own importance; the weighted mean is
        `importances_`.
    ranking_ : ndarray of shape (n_entries,)
        1 = most important.
    subgroups_ : dict or None
        With `conditional`: entry name -> the part of each row, shape (n_samples,),
        numbers from 0; -1 for rows with zero weight.
    explained_ : ndarray of shape (n_entries,) or None
        With `conditional`: share of each entry's variance that lies between the parts.
    baseline_ : float
        Mean loss, or score, of the unmoved rows.
    estimation_ : str
        The estimation used.
    response_path_ : str
        How the response was computed.
    entry_names_ : list of str
        Names of the entries.
    output_names_ : list of str
        Name of the loss or scorer.

    See Also
    --------
    SensitivityImportance : How far the response itself moves; needs no y.

    Notes
    -----
    A row is also its own donor, so that the exact importance is (n - 1) / n times the
    one over other rows only. A shuffled column has the same expectation. An input that
    the model does not use scores exactly 0 (ratio 1). With the squared error, a linear
    model's importance of an input with coefficient w is 2 w^2 Var(x) + 2 w Cov(y - f,
    x), where variances have the divisor n.

    Exact cost for a model without a fast response: n_samples x n_cells predictions per
    entry. The squared error needs only two moments of each response curve.

    References
    ----------
    .. [1] L. Breiman, "Random Forests", Machine Learning 45 (2001), section 10.
    .. [2] B. M. Greenwell, B. C. Boehmke and A. J. McCarthy, "A General Model-Based
       Variable Importance Metric for Supervised Learning", section 2.1.
    .. [3] A. Fisher, C. Rudin and F. Dominici, "All Models are Wrong, but Many are
       Useful", JMLR 20 (2019), eqs. 3.3 to 3.5: difference and ratio.

    Examples
    --------
    A perfect model with slope 2 on values of variance 1/4 gains 2 * 2^2 / 4:

    >>> import numpy as np
    >>> from skvarimp import PermutationImportance
    >>> X = np.array([[0.0, 7.0], [1.0, 5.0], [0.0, 6.0], [1.0, 4.0]])
    >>> imp = PermutationImportance().fit(lambda X: 2 * X[:, 0], X, 2 * X[:, 0])
    >>> imp.importances_
    array([2., 0.])
    """

    _passes_over_partitions = True

    _parameter_constraints = {  # noqa: RUF012 scikit-learn's form
        "loss": [StrOptions({"auto", *LOSSES}), Callable],
        "scoring": [str, Callable, None],
        "estimation": [StrOptions({"auto", "exact", "sampled"})],
        "n_repeats": [Interval(Integral, 1, 2**31, closed="both")],
        "relative": ["boolean"],
        "subset": [StrOptions({"oob"}), None],
        "features": features_constraint,
        "response_method": response_method_constraint,
        "n_jobs": n_jobs_constraint,
        "random_state": random_state_constraint,
        "keep_rows": ["boolean"],
        "conditional": conditional_constraint,
    }

    loss: (
        Literal["auto", "squared_error", "absolute_error", "log_loss", "zero_one"]
        | Callable[[Any, Any], ArrayLike]
    ) = "auto"
    scoring: Scoring = None
    estimation: Literal["auto", "exact", "sampled"] = "auto"
    n_repeats: int = 10
    relative: bool = False
    subset: Literal["oob"] | None = None
    features: Features = None
    response_method: ResponseMethod = "auto"
    n_jobs: int | None = None
    random_state: RandomState = None
    keep_rows: bool = False
    conditional: Conditional = None

    @property
    def _reads_training_rows(self):
        return self.subset == "oob"

    def _plan(self, problem, entries):
        if problem.given_y is None:
            raise ValueError(
                "y is required: permutation importance compares the response with it. "
                "SensitivityImportance needs no y."
            )
        if self.keep_rows and (self.scoring is not None or self.subset == "oob"):
            what = "subset='oob'" if self.scoring is None else "`scoring`"
            raise ValueError(
                f"keep_rows=True keeps what each row contributes; with {what} there is "
                "no such number. Leave one of the two out."
            )
        if self.scoring is not None:
            problem.in_one_place("`scoring`", "use `loss`, a mean over rows")
            return self._plan_scores(problem, entries)
        if self.subset == "oob":
            problem.in_one_place("subset='oob'")
            return self._plan_trees(problem, entries)
        return self._plan_loss(problem, entries)

    def _plan_loss(self, problem, entries):
        """A loss over all donors in the shared walk, or over drawn ones."""
        loss = make_loss(self.loss, problem.model, problem.y, len(problem.base))
        baseline = problem.mean_loss(loss)
        self._check_ratio(baseline)
        grid = self._grid_in_parts(problem, entries, "all")
        request = Request(grid, [loss.reduction(self.relative)], [np.ones(1)])
        if self._is_exact(problem, entries, request):
            conclude = partial(_from_walk, loss.name, baseline)
            return PermutationPlan(problem, entries, [request], "exact", conclude)
        reference = baseline if self.relative else None
        draw = LossDraw(loss, reference)
        conclude = partial(self._from_draws, draw, baseline, grid)
        return PermutationPlan(problem, entries, [], "sampled", conclude)

    def _is_exact(self, problem, entries, request):
        if self.estimation != "auto":
            return self.estimation == "exact"
        drawn = self.n_repeats * problem.n_rows * len(entries)
        return problem.exact_is_cheap(entries, request, drawn)

    def _plan_scores(self, problem, entries):
        """Scores of shuffled columns."""
        for parameter, default in {
            "loss": "auto",
            "relative": False,
            "subset": None,
            "response_method": "auto",
        }.items():
            value = getattr(self, parameter)
            if not (isinstance(value, type(default)) and value == default):
                raise ValueError(
                    f"`{parameter}` cannot be combined with `scoring`, got "
                    f"{parameter}={value!r} and scoring={self.scoring!r}. Leave one "
                    "out."
                )
        if self.estimation == "exact":
            raise ValueError(
                "estimation='exact' needs a loss of single rows; scoring="
                f"{self.scoring!r} is estimated from draws. Use `loss`."
            )
        score = ScoreLost.of(self.scoring, problem)
        grid = self._grid_in_parts(problem, entries, "all")
        parts = {} if self.conditional is None else grid.parts
        conclude = partial(self._from_scores, score, parts)
        return PermutationPlan(problem, entries, [], "sampled", conclude)

    def _plan_trees(self, problem, entries):
        """Each tree of a forest over its own out-of-bag rows."""
        if self.conditional is not None:
            raise ValueError(
                "`conditional` cannot be combined with subset='oob': the out-of-bag "
                "rows of one tree leave too few donors in each part. Leave one out."
            )
        self._grid_in_parts(problem, entries, "all")
        forest = out_of_bag(problem, self.loss, self.response_method)
        estimation = self.estimation
        if estimation == "auto":
            exact, repeat = forest.evaluations(entries)
            limit = max(CHEAP_EVALUATIONS, repeat * self.n_repeats)
            estimation = "exact" if exact <= limit else "sampled"
        conclude = partial(self._from_trees, forest)
        return PermutationPlan(problem, entries, [], estimation, conclude)

    def _check_ratio(self, baseline):
        if self.relative and baseline == 0:
            raise ValueError(
                "relative=True divides by the mean loss of the unmoved rows, which is "
                "0. Use relative=False."
            )

    def _conclude(self, plan, outcomes):
        lost = plan.conclude(plan, outcomes)
        self.estimation_, self.baseline_ = plan.estimation, lost.baseline
        self.monte_carlo_errors_ = lost.monte_carlo_errors
        if lost.path is not None:
            self.response_path_ = lost.path
        errors = lost.standard_errors
        if errors is not None and np.all(np.isnan(errors)):
            errors = None
        names = [entry.name for entry in plan.entries]
        self._store(lost.importances[:, np.newaxis], names, [lost.name], errors)
        self._store_rows(plan, lost.outcome)

    def _from_draws(self, draw, baseline, grid, plan, outcomes):
        """From drawn donors, which the model itself is asked for."""
        scale = np.array([1.0 if draw.reference is None else draw.reference])
        outcome = self._draw_donors(plan, draw, scale, Request(grid, [], []))
        if self.relative:  # the draws are of the difference
            outcome.importances += 1.0
            if outcome.contributions is not None:
                outcome.contributions += 1.0
        return _from_walk(draw.loss.name, baseline, plan, [[outcome]])

    def _from_scores(self, score, parts, plan, outcomes):
        """Mean score lost over the repeats; no standard errors."""
        n = len(plan.entries)
        importances, drawn = np.full((2, n), np.nan)
        seeds = entry_seeds(self.random_state, n)
        arguments = (plan.entries, score, self.n_repeats, seeds, parts)
        results = steps_of([self], score_lost, range(n), arguments, self.n_jobs)
        for e, lost in results:
            importances[e] = lost.mean()
            if len(lost) > 1:
                drawn[e] = lost.std(ddof=1) / np.sqrt(len(lost))
        path = "black box (the scorer asks the model)"
        return Lost(importances, None, score.baseline, score.name, path, drawn)

    def _from_trees(self, forest, plan, outcomes):
        """Mean over the trees of a forest."""
        seeds = None
        if plan.estimation == "sampled":
            shape = len(forest.trees), len(plan.entries)
            seeds = entry_seeds(self.random_state, np.prod(shape)).reshape(shape)
        lost = average_over_trees(forest, plan.entries, seeds, self)
        self._check_ratio(lost.baseline)
        return lost


def _from_walk(name, baseline, plan, outcomes):
    """From the shared walk over all donors."""
    outcome = outcomes[0][0]
    importances, errors = outcome.importances[:, 0], outcome.standard_errors
    drawn = outcome.monte_carlo_errors
    return Lost(importances, errors, baseline, name, None, drawn, outcome)
