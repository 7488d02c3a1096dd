"""`PermutationImportance`: loss gained, or score lost, with another row's values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from skvarimp._data.statistics import unit_of
from skvarimp._data.validation import StrOptions
from skvarimp._measures.losses import LOSSES, loss_in_words, make_loss
from skvarimp._measures.out_of_bag import out_of_bag
from skvarimp._measures.problem import Request
from skvarimp._measures.response_importance import (
    ConditionalImportance,
    Plan,
    asks_for_residuals,
    given_the_others,
)
from skvarimp._measures.scorers.score_drop import ScoresLost
from skvarimp._measures.scorers.scorer import named_scorers
from skvarimp._response.losses import asks_for_groups, loss_of_rows
from skvarimp._response.rounds import Effort
from skvarimp._results.words import score_in_words
from skvarimp._types import (
    Conditional,
    Features,
    Loss,
    Matrix,
    RandomState,
    ResponseMethod,
    Scorings,
)


@dataclass(kw_only=True, eq=False, repr=False)
class PermutationImportance(ConditionalImportance):
    """Loss that a model gains when a feature is replaced by another row's.

    The importance tells how much the model's accuracy depends on the feature. It is the
    mean loss, over rows and donors, when the row takes the donor's value, minus the
    mean loss of the unmoved rows. All other features keep their values. The measure is
    *marginal*: if features are dependent, it evaluates rows that do not occur.

    Parameters
    ----------
    loss : {"auto", "squared_error", "absolute_error", "poisson_deviance", \
"gamma_deviance", "tweedie_deviance", "log_loss", "zero_one"} or callable, \
default="auto"
        Loss of a row. "auto": log loss for classifiers' probabilities, "zero_one" for
        their scores and labels, and the squared error otherwise; rankers have none.
        Errors and deviances are means over the outputs; probabilities are compared
        with indicators of y's classes. Deviances are those of scikit-learn's metrics;
        "tweedie_deviance" has the power that the model names, or 1.5. "zero_one" takes
        the most probable class, or the first of those within 1e-10 of it; with
        response_method="predict" it takes the labels. A callable gets y, (n,) or
        (n, n_columns), and outputs, (n,) or (n, n_outputs), and returns (n,); y may
        be a structured array, as of survival models. A callable with a parameter
        `groups` also gets each row's label in the `groups` of `fit`, such as its query.
    scoring : str, callable, list of str, or dict, default=None
        A scorer instead of a loss: scikit-learn's by name, "score" for the estimator's
        own `score`, or scorer(estimator, X, y). The importance is then the score lost;
        it is always estimated from draws. A name is served by the fast response; a
        callable gets moved rows and a stand-in that asks the model. A list of names, or
        a dict from names to scorers: all of them from the same predictions, see
        `results_`.
    estimation : {"auto", "exact", "sampled"}, default="auto"
        "exact": over all pairs of a row and a donor; "sampled": from a few donors of
        each row, drawn in strata. "auto" is exact if that is expected to cost at most
        three times as much as drawing or, where the model has a fast response, to take
        about five seconds. Otherwise it draws: with a fast response, rows with all
        their donors ("rows"), else donors of each row.
    n_draws : int or "auto", default="auto"
        Donors drawn for each row ("sampled"), an even number of at least 4, one in each
        of as many strata of the values. "auto": 6. A scorer sees as many data sets, of
        which each takes one donor for every row; two of them come from each of
        n_draws / 2 strata.
    tol : float, "auto" or None, default="auto"
        When drawing stops, as in `SensitivityImportance` (not of scorers).
    relative : bool, default=False
        Ratio of the mean moved to the mean unmoved loss instead of the difference.
    rows : {"all", "oob"}, default="all"
        "all": the rows of X, with the model as a whole.
        "oob": for a forest grown with bootstrap, the mean over its trees of the
        importance on the tree's own out-of-bag rows, which are also its donors
        (Breiman, unscaled). X and y must be the training rows in order. For
        classifiers, loss="auto" is then "zero_one": wrong votes of the trees.
    features : sequence or dict, default=None
        Features: names, positions, or lists of them (groups); None: each column.
    response_method : {"auto", "predict_proba", "decision_function", "predict"}, \
default="auto"
        The response watched; "auto": the first of them a classifier has, `predict`
        of other models.
    n_jobs : int, default=None
        Number of joblib workers. The numbers do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Source of the draws ("sampled") and of ties in the trees of `conditional`.
    keep_rows : bool, default=False
        Whether to keep the numbers of single rows: `row_effects_`, `influences_` and
        `row_importances_`, from which `interval` and the comparisons of importances
        are computed. Not with `scoring`: a score is not a mean over rows, and intervals
        and comparisons need no rows there.
    conditional : "subgroups", "residuals", tree, regressor, classifier, array-like \
of shape (n_samples,), dict or None, default=None
        Take new values only from rows of the same part: "subgroups": the leaves of a
        tree that predicts the feature from the other columns; a scikit-learn tree: it
        is cloned and fitted for this; labels of the rows for all features; or a dict
        from feature names to labels (all rows for other features). None: from all rows.
        "residuals": the new value is the prediction from the other columns plus the
        residual of another row, always drawn; categories are drawn from predicted
        probabilities. Cross-validation chooses between a ridge and gradient boosting. A
        regressor or classifier is cloned and fitted for this.
    conditional_fit_rows : {array-like, frame} of shape (n_rows, n_features), \
default=None
        Rows to fit the models of "residuals" on. None: the rows of X, and predictions
        are then made out of fold.
    max_evaluations : int, default=None
        The largest number of rows that the model may be asked to predict, those of X
        included. Where it does not allow `n_draws` of every row, fewer rows are drawn,
        with four donors each. A scorer then asks the model itself. None: no limit.

    Attributes
    ----------
    importances_ : ndarray of shape (n_features,)
        In units of the loss; negative if other rows' values do better by chance. With
        `relative`, 1 means no importance.
    importances_per_output_ : ndarray of shape (n_features, 1)
        The same as a column: a loss combines the outputs.
    standard_errors_ : ndarray of shape (n_features,) or None
        Sampling error with the model held fixed, each row counting as evaluated row
        and as donor (infinitesimal jackknife; of scorers 200 weighted samples). None
        for draws among out-of-bag rows, and for scorers that do not look at
        predictions or that jump, as medians do.
    monte_carlo_errors_ : ndarray of shape (n_features,) or None
        Error of drawing ("sampled").
    influences_ : ndarray of shape (n_samples, n_features)
        With `keep_rows`, but not of scorers: how much each row moves each importance;
        weighted mean 0.
    row_importances_ : ndarray of shape (n_samples, n_features)
        With `keep_rows`: each row's own importance (0 where its weight is 0); the
        weighted mean is `importances_`.
    row_effects_ : ndarray of shape (n_samples, n_features)
        With `keep_rows`: each row's response minus its mean as the feature takes the
        values of other rows, of additive models the Shapley value; NaN where the row's
        weight is 0 (not of scorers). Several outputs are a third axis.
    ranking_ : ndarray of shape (n_features,)
        1 = most important.
    directions_ : ndarray of shape (n_features,) or None
        Which way the mean response goes as values rise: 1 where it only rises, -1 where
        it only falls, near 0 where it turns; see the glossary. NaN for groups, for
        categories without an order, and for `scoring` of models that are not read. None
        for several outputs.
    directions_per_output_ : ndarray of shape (n_features, n_outputs)
        Direction for each output.
    subgroups_ : dict or None
        With parts: feature name -> the part of each row, shape (n_samples,), numbers
        from 0; -1 for rows with zero weight.
    explained_ : ndarray of shape (n_features,) or None
        With `conditional`: share of each feature's variance that lies between the
        parts, or that the model of "residuals" explains out of fold.
    n_draws_ : ndarray of shape (n_features,) or None
        Number of draws of a row with a donor ("sampled").
    results_ : dict of Importances
        With `scoring`: name of the scorer -> its importances. `result_` and all other
        attributes are those of the first scorer.
    baseline_ : float
        Mean loss, or score, of the unmoved rows.
    estimation_ : str
        The estimation used.
    response_path_ : str
        How the response was computed.
    features_ : list of str
        Names of the features.
    output_names_ : list of str
        Name of the loss or scorer.

    See Also
    --------
    SensitivityImportance : How far the response moves; with scale=None without y.

    Notes
    -----
    With conditional="residuals", row i takes m(x_i) + e_k: the prediction of the
    feature from the other columns plus the residual of donor k (Watson & Wright [4]_
    and Chamma et al. [5]_). Missing values and categories are drawn from predicted
    probabilities, and the columns of a group take the residuals of one donor. Standard
    errors hold m fixed.

    A row is also its own donor, so that the exact importance is (n - 1) / n times the
    one over other rows only. A shuffled column has the same expectation. A feature that
    the model does not use scores exactly 0 (ratio 1). With the squared error, a linear
    model's importance of a feature with coefficient w is 2 w^2 Var(x) + 2 w Cov(y - f,
    x), where variances have the divisor n.

    Standard errors of scorers: up to 200 rows, or groups, are left out one by one, so
    far as that each counts a third (the jackknife). Of more, half the difference
    between the scores lost in a sample of the rows and in its opposite is L, a sum over
    single rows; the mean of the two is Q, a sum over pairs of rows. Where single rows
    cause the variance V1 and pairs V2, L has the variance V1 + 2 V2, since each row is
    known from its own pairs only (Efron & Stein [6]_), and Q has V2: the squared error
    is Var(L) - Var(Q), or Var(L) / 2 if that is larger.

    Exact cost for a model without a fast response: n_samples x n_cells predictions per
    feature. The squared error needs only two moments of each response curve.

    References
    ----------
    .. [1] L. Breiman, "Random Forests", Machine Learning 45 (2001),
       section 10.
    .. [2] B. M. Greenwell, B. C. Boehmke and A. J. McCarthy, "A General Model-Based
       Variable Importance Metric for Supervised Learning", section 2.1.
    .. [3] A. Fisher, C. Rudin and F. Dominici, "All Models are Wrong, but Many are
       Useful", JMLR 20 (2019), eqs. 3.3 to 3.5: difference and ratio.
    .. [4] D. S. Watson and M. N. Wright, "Testing Conditional Independence in
       Supervised Learning Algorithms", Machine Learning 110 (2021).
    .. [5] A. Chamma, D. A. Engemann and B. Thirion, "Statistically Valid Variable
       Importance Assessment through Conditional Permutations", NeurIPS 36 (2023).
    .. [6] B. Efron and C. Stein, "The Jackknife Estimate of Variance", Annals of
       Statistics 9 (1981).

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

    _has_directions = _follows_mean = True

    _parameter_constraints = {  # noqa: RUF012 scikit-learn's form
        "loss": [StrOptions({"auto", *LOSSES}), Callable],
        "scoring": [str, Callable, list, tuple, dict, None],
        "relative": ["boolean"],
        "rows": [StrOptions({"all", "oob"})],
    }

    loss: Loss = "auto"
    scoring: Scorings = None
    estimation: Literal["auto", "exact", "sampled"] = "auto"
    n_draws: int | Literal["auto"] = "auto"
    tol: float | Literal["auto"] | None = "auto"
    relative: bool = False
    rows: Literal["all", "oob"] = "all"
    features: Features = None
    response_method: ResponseMethod = "auto"
    n_jobs: int | None = None
    random_state: RandomState = None
    keep_rows: bool = False
    conditional: Conditional = None
    conditional_fit_rows: Matrix | None = None
    max_evaluations: int | None = None

    @property
    def _reads_training_rows(self):
        return self.rows == "oob"

    @property
    def _may_be_negative(self):
        return not self.relative

    @property
    def _without_rows(self):
        if self.scoring is not None:
            return (
                "A scorer has errors if it looks at predictions only, and its number "
                "depends on how often rows count: use such a scorer, or use `loss`"
            )
        if self.rows == "oob":
            return "rows='oob' gives no such number: use rows='all'"
        return None

    def _plan(self, problem, features):
        if problem.given_y is None:
            raise ValueError(
                "y is required: permutation importance compares predictions with it. "
                "SensitivityImportance(scale=None) needs no y."
            )
        if self.keep_rows and self.scoring is not None:
            raise ValueError(
                "keep_rows=True keeps what each row contributes, but a score is not "
                "a mean over rows. Use `loss`, or keep_rows=False: interval, "
                "rank_intervals and importance_difference work without it."
            )
        if self.keep_rows and self._without_rows:
            raise ValueError(
                "keep_rows=True keeps what each row contributes. "
                f"{self._without_rows}, or keep_rows=False."
            )
        if self.scoring is not None:
            return self._plan_scores(problem, features)
        if self.rows == "oob":
            return self._plan_trees(problem, features)
        return self._plan_loss(problem, features)

    def _plan_loss(self, problem, features):
        """A loss over all donors in the shared walk, or over drawn ones."""
        if asks_for_groups(self.loss):
            problem = problem.in_groups()
        loss = make_loss(self.loss, problem.model, problem.y, len(problem.base))
        lost = LossGained(loss, problem.mean_loss(loss))
        self._check_ratio(lost.baseline)
        estimation = self._estimation()
        grid = self._grid_in_parts(problem, features, "all")
        request = Request(
            grid, [loss.reduction(self.relative)], [np.ones(1)], self._categorical
        )
        return Plan(problem, features, request, estimation, lost)

    def _plan_scores(self, problem, features):
        """Scores of shuffled columns."""
        for parameter in ("loss", "relative", "rows", "response_method"):
            value = getattr(self, parameter)
            if value != getattr(PermutationImportance, parameter):  # the default
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
        if asks_for_residuals(self.conditional):
            raise ValueError(
                "conditional='residuals' cannot be combined with `scoring`, which "
                "takes values from other rows. Use `loss`, or conditional='subgroups'."
            )
        reads = self.max_evaluations is None
        lost = ScoresLost(self.scoring, problem, features, reads)
        grid = self._grid_in_parts(problem, features, "all")
        lost.parts = {} if self.conditional is None else grid.parts
        return Plan(problem, features, None, "sampled", lost)

    def _plan_trees(self, problem, features):
        """Each tree of a forest over its own out-of-bag rows."""
        if self.max_evaluations is not None:
            raise ValueError(
                "`max_evaluations` counts rows that the model predicts as a whole, but "
                "rows='oob' asks single trees. Leave one out."
            )
        if self.conditional is not None:
            raise ValueError(
                "`conditional` cannot be combined with rows='oob': the out-of-bag "
                "rows of one tree leave too few donors in each part. Leave one out."
            )
        self._grid_in_parts(problem, features, "all")
        forest = out_of_bag(problem, self.loss, self.response_method)
        return Plan(problem, features, None, self.estimation, forest)

    def _least_evaluations(self, n_rows, features):
        if self.scoring is None:
            return super()._least_evaluations(n_rows, features)
        # scorers ask for X itself, too, and perhaps each for other predictions
        n_scorers = len(named_scorers(self.scoring))
        return n_rows + (1 + 2 * len(features)) * n_rows * n_scorers

    def _moved_rows(self, problem, features):
        if self.scoring is None:
            return super()._moved_rows(problem, features)
        # and the unmoved rows, for scorers and for what stands for the model
        n_scorers, n_draws = len(named_scorers(self.scoring)), Effort.of(self).n_draws
        return (n_draws * len(features) + 2) * problem.n_rows * n_scorers

    def _cheapest(self, plan):
        if plan.request is not None:
            return super()._cheapest(plan)
        n_draws = Effort.of(self).n_draws  # the plan of `_plan_trees`
        cheap = plan.own.exact_is_cheap(plan.features, n_draws)
        return "exact" if cheap else "sampled"

    def _check_ratio(self, baseline):
        if self.relative and baseline == 0:
            raise ValueError(
                "relative=True divides by the mean loss of the unmoved rows, which is "
                "0. Use relative=False."
            )

    def _conclude(self, plan, outcomes):
        lost = plan.own  # LossGained, ScoresLost or OutOfBag
        if self.scoring is not None:
            self._conclude_scores(plan, lost)
            return
        outcome = outcomes[0] if outcomes else lost.outcome(plan, self)
        self.baseline_, self.n_draws_ = lost.baseline, outcome.n_draws
        if plan.request is None:  # no curves were formed
            self._add_directions(plan, outcome)
        self._store_outcome(plan, outcome, [lost.name])

    def _conclude_scores(self, plan, lost):
        """Set `results_`, and the attributes from the first scorer's."""
        outcomes = lost.outcomes(self)
        self.baseline_, self.n_draws_ = lost.scorers[0].baseline, outcomes[0].n_draws
        lost.lend_response()
        self._add_directions(plan, outcomes[0])
        found = {}
        for scorer, outcome in reversed([*zip(lost.scorers, outcomes)]):
            outcome.directions = outcomes[0].directions
            samples = lost.rows(outcome.influences)
            self._store_outcome(plan, outcome, [scorer.name], samples)
            found[scorer.name] = self.result_  # in the end the first one's
        self.results_ = dict(reversed(found.items()))

    def _quantity(self):
        metric = self.output_names_[0]
        if self.scoring is not None:
            score, _ = score_in_words(metric)
            return f"decrease of the {score}"
        loss, _ = loss_in_words(metric)
        return f"{loss}, ratio" if self.relative else f"increase of the {loss}"

    def _in_words(self):
        metric, own = self.output_names_[0], given_the_others(self)
        when = f"when a feature takes the values of other rows{own}"
        if self.rows == "oob":
            when = f"{when}, over the out-of-bag rows of each tree"
        if self.scoring is not None:
            score, unit = score_in_words(metric)
            return self._says(f"the decrease of the {score} {when}", unit=unit)
        loss, unit = loss_in_words(metric)
        if self.relative:
            text = f"the ratio of the mean {loss} {when} to that of the unmoved rows"
            return self._says(text, unit="multiples of it (1 is none)", nothing=1.0)
        return self._says(f"the increase of the mean {loss} {when}", unit=unit)


@dataclass
class LossGained:
    """A loss and its mean over the unmoved rows.

    Attributes
    ----------
    loss : callable
    baseline : float
    """

    loss: Callable
    baseline: float

    @property
    def name(self):
        """Of the loss."""
        return self.loss.name

    def outcome(self, plan, measure):
        """From draws."""
        (reduction,) = plan.request.reductions
        if plan.estimation == "rows":  # whole walks, which scale for themselves
            return measure._draw(plan, reduction, np.ones(1))
        if measure.relative:
            return measure._draw(plan, reduction, np.array([self.baseline]))
        y, base = plan.problem.y, plan.problem.base
        # losses of other rows' responses are about as large as those drawn
        size = unit_of(loss_of_rows(self.loss, y, np.roll(base, 1, axis=1)))
        return measure._draw(plan, reduction, np.array([size])).times(size)
