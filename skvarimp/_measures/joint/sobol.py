"""`SobolImportance`: the share of the variance of the response due to a feature."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skvarimp._data.validation import CONSTRAINTS, StrOptions
from skvarimp._display.bars import ImportanceDisplay
from skvarimp._display.comparison import ComparisonDisplay
from skvarimp._measures.evaluations import CountsEvaluations, exact_rows, rows_again
from skvarimp._measures.problem import Request
from skvarimp._measures.response_importance import Plan, ResponseImportance
from skvarimp._measures.rows import complete_influences
from skvarimp._response.grid import QuantileGrid
from skvarimp._response.losses import OwnShare, TotalShare
from skvarimp._response.rounds import LEAST_ROWS, Effort
from skvarimp._results.intervals import interval_ends
from skvarimp._running.guards import budget
from skvarimp._types import (
    Axes,
    CustomGrid,
    Features,
    Floats,
    NamedGrid,
    RandomState,
    ResponseMethod,
)

# A standard deviation below this part of the response's size is rounding.
ROUNDING = 1e-13


@dataclass(kw_only=True, eq=False, repr=False)
class SobolImportance(CountsEvaluations, ResponseImportance):
    """Share of the variance of a model's response that is due to each feature.

    The first-order index is the share that the feature explains by itself. The total
    index is the share that remains on average if all other features are held fixed. The
    difference is the feature's part in interactions. Both are *marginal* and describe
    the model, not its accuracy: values are combined as if the features were
    independent.

    Parameters
    ----------
    order : {"total", "first"}, default="total"
        Which index is `importances_`. Both are computed.
    estimation : {"auto", "exact", "sampled"}, default="auto"
        "exact": over all rows and grid values. "sampled": total indices from a few
        donors of each row, drawn in strata, and first-order indices from mean curves at
        64 quantiles over drawn rows, as `PartialDependenceImportance` takes them.
        "auto": "sampled" of models without a fast response, and where exact numbers
        cost much more than these.
    n_draws : int or "auto", default="auto"
        Donors of each row and feature ("sampled"), as in `SensitivityImportance`;
        "auto": 6.
    tol : float, "auto" or None, default="auto"
        When drawing stops, as in `SensitivityImportance`.
    features : sequence or dict, default=None
        Features: names, positions, or lists of them; None: each column. The indices of
        a group are those of its columns together (closed indices).
    grid : {"all", "equidistant", "deciles"}, int, array-like or dict, default="all"
        Values the feature moves through, with their probabilities, as in
        `SensitivityImportance`; "all": every observed value with its frequency.
    categorical_features : array-like, default=None
        Names, positions or mask of columns to treat as categorical besides those of
        boolean, string or categorical type; they take all their levels.
    response_method : {"auto", "predict_proba", "decision_function", "predict"}, \
default="auto"
        The response watched; "auto": the first of them a classifier has, `predict`
        of other models.
    n_jobs : int, default=None
        Number of joblib workers. The numbers do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Source of the draws.
    keep_rows : bool, default=False
        Whether to keep the numbers of single rows, `influences_` and
        `row_importances_`, from which `interval` and the comparisons of importances
        are computed.
    max_evaluations : int, default=None
        Largest number of rows that the model may be asked to predict. Up to half of
        them serve the total indices, the others the curves of the first-order ones.
        None: no limit.

    Attributes
    ----------
    importances_ : ndarray of shape (n_features,)
        `total_` or `first_order_`, as `order` says.
    importances_per_output_ : ndarray of shape (n_features, n_outputs)
        The same for each output.
    total_, first_order_ : ndarray of shape (n_features,)
        Shares of the variance of the response, mean over the outputs.
    total_standard_errors_ : ndarray of shape (n_features,)
        Sampling errors of the rows with the model held fixed, including that of the
        variance of the response (infinitesimal jackknife).
    first_order_standard_errors_ : ndarray of shape (n_features,)
        The same of `first_order_`, estimated from random sums of many rows to about 5%.
    standard_errors_ : ndarray of shape (n_features,)
        Those of `importances_`.
    monte_carlo_errors_ : ndarray of shape (n_features,) or None
        Errors of drawing of `importances_` ("sampled").
    influences_ : ndarray of shape (n_samples, n_features)
        With `keep_rows`: how much each row moves each importance; weighted mean 0.
    row_importances_ : ndarray of shape (n_samples, n_features) or None
        With `keep_rows` and order="total": the variance of each row's own curve, as a
        share.
    ranking_ : ndarray of shape (n_features,)
        1 = most important.
    estimation_ : str
        The estimation used.
    response_path_ : str
        How the response was computed.
    features_ : list of str
        Names of the features.
    output_names_ : list of str
        Names of the outputs.

    Raises
    ------
    ValueError
        If the response is the same at all rows of X but not at the moved rows: a share
        of its variance is then undefined.

    See Also
    --------
    InteractionImportance : Which pairs of features interact.
    PermutationImportance : The loss that the model's accuracy suffers.

    Notes
    -----
    With f(x_i; v_k) the response of row i with the feature moved to the value of row k,
    F its mean over the rows, and all variances with divisor n:

    - total: mean_i Var_k f(x_i; v_k) / Var f [1]_, eq. 18,
    - first order: Var_k F(v_k) / Var f [1]_, eq. 15.

    Exact, these are the values for the rows of X from all pairs of rows; no random
    sequence is drawn. Draws estimate the same total indices without bias. For
    independent features first order <= Shapley effect <= total, the first orders sum to
    at most 1 and the totals to at least 1; a model is additive if and only if all of
    these sums are 1 [1]_. For correlated features none of this holds: combinations of
    values enter that do not occur together, and an index can exceed 1.

    The first-order index of a feature without an effect of its own is a squared
    estimate of 0: it is positive, of the order of 1 / n_samples, and its standard
    error is too large. Features that the model does not use are exactly 0, and so are
    all features of a constant response. Cost for a model without a fast response:
    n_samples x n_cells predictions per feature if exact, else at most 30 000 times
    `n_draws` and 64 x 10 000, however many rows there are; `max_evaluations` limits it.

    References
    ----------
    .. [1] A. Saltelli, P. Annoni, I. Azzini, F. Campolongo, M. Ratto and S. Tarantola,
       "Variance based sensitivity analysis of model output", Computer Physics
       Communications 181 (2010).
    .. [2] I. M. Sobol', "Sensitivity estimates for nonlinear mathematical models",
       Mathematical Modelling and Computational Experiments 1 (1993).

    Examples
    --------
    On the corners of a cube, the product and the single feature have variance 1 each:

    >>> from itertools import product
    >>> import numpy as np
    >>> from skvarimp import SobolImportance
    >>> X = np.array(list(product([-1.0, 1.0], repeat=3)))
    >>> imp = SobolImportance().fit(lambda X: X[:, 0] * X[:, 1] + X[:, 2], X)
    >>> imp.total_
    array([0.5, 0.5, 0.5])
    >>> imp.first_order_
    array([0. , 0. , 0.5])
    """

    _parameter_constraints = {  # noqa: RUF012 scikit-learn's form
        "tol": [StrOptions({"auto"}), *CONSTRAINTS["tol"]],
    }

    total_: Floats = field(init=False)
    first_order_: Floats = field(init=False)
    total_standard_errors_: Floats = field(init=False)
    first_order_standard_errors_: Floats = field(init=False)

    order: Literal["total", "first"] = "total"
    estimation: Literal["auto", "exact", "sampled"] = "auto"
    n_draws: int | Literal["auto"] = "auto"
    tol: float | Literal["auto"] | None = "auto"
    features: Features = None
    grid: NamedGrid | int | CustomGrid = "all"
    categorical_features: ArrayLike | None = None
    response_method: ResponseMethod = "auto"
    n_jobs: int | None = None
    random_state: RandomState = None
    keep_rows: bool = False
    max_evaluations: int | None = None

    _drawn_estimation = "sampled"

    def _plan(self, problem, features):
        n_rows, (spread, size) = problem.n_rows, problem.spread
        constant = spread <= (ROUNDING * size) ** 2  # which outputs
        scale = np.where(constant, 1.0, spread)
        kept = n_rows if self.keep_rows and self.order == "first" else None
        shares = [TotalShare(), OwnShare.over("variance", n_rows, kept, problem.units)]
        request = Request(self.grid, shares, [scale, scale], self._categorical)
        return Plan(problem, features, request, self.estimation, own=constant)

    @property
    def _takes_all(self):
        return isinstance(self.grid, str) and self.grid == "all"

    def _cheapest(self, plan):
        cheap = plan.problem.curves_are_cheap(plan.features, plan.request)
        return "sampled" if self._takes_all and not cheap else "exact"

    def _drawn_curves(self, plan):
        """The rows of drawn curves, their request, and predictions of each row.

        The total indices take half of the predictions that are left, or what they need
        at most, and the curves the others.
        """
        problem, features, given = plan.problem, plan.features, plan.request
        grid = QuantileGrid() if self._takes_all else given.grid
        of_curves, each, most = replace(given, grid=grid), 0, np.inf
        if problem.response(features).asks_model:
            each = int(problem.grid_sizes(features, of_curves).sum())
        if self.max_evaluations is not None:
            effort, n = Effort.of(self), problem.n_rows
            wanted = effort.evaluations(n) * len(features)
            least = effort.least_evaluations(n) * len(features)
            spared = budget().left - each * min(n, LEAST_ROWS)
            kept = min(wanted, max(least, min(budget().left // 2, spared)))
            most = problem.rows_within_limit(each, kept)
        return problem.rows_of_curves(features, of_curves, most), of_curves, each

    def _exact_rows(self, plan):
        problem, features = plan.problem, plan.features
        needed = exact_rows(problem, features, plan.request)
        if needed and self.keep_rows and self.order == "first":
            _, curves = plan.request.reductions
            needed += rows_again(problem, features, plan.request, curves)
        return needed

    def _least_evaluations(self, n_rows, features):
        drawn = Effort.of(self).least_evaluations(n_rows) * len(features)
        n_cells = sum(QuantileGrid().most_cells(feature) for feature in features)
        return n_rows + drawn + min(n_rows, LEAST_ROWS) * n_cells

    def _moved_rows(self, problem, features):
        plan = self._plan(problem, features)
        if plan.estimation == "auto":
            plan.estimation = self._cheapest(plan)
        if plan.estimation == "exact":
            return self._exact_rows(plan)
        rows, _, each = self._drawn_curves(plan)
        donors = Effort.of(self).evaluations(problem.n_rows) * len(features)
        return donors + len(rows) * each

    def _draw(self, plan):
        """The `Outcome` of total indices, and that of first-order ones, drawn."""
        problem, features, given = plan.problem, plan.features, plan.request
        rows, of_curves, _ = self._drawn_curves(plan)
        own = OwnShare("variance", len(rows), len(rows), apart=True)
        scale = given.scales[0]
        of_curves = replace(of_curves, reductions=[own], scales=[scale])
        first = problem.curves_of_rows(features, of_curves, rows, self)
        of_donors = replace(given, reductions=[TotalShare()], scales=[scale])
        total = problem.draw_donors(features, of_donors, TotalShare(), scale, self)
        return total, first

    def _conclude(self, plan, outcomes):
        drawn, constant = plan.estimation == "sampled", plan.own
        total, first = outcomes = self._draw(plan) if drawn else outcomes
        _, size = plan.problem.spread
        varies = total.importances > (10 * ROUNDING * size) ** 2
        refused = np.argwhere(varies & constant)
        if len(refused):
            e, o = refused[0]
            raise ValueError(
                f"The response {plan.problem.model.output_names[o]!r} is the same at "
                f"all rows of X although it moves with {plan.features[e].name!r}: "
                "there is no variance to take shares of. Use SensitivityImportance."
            )
        for outcome in outcomes:
            outcome.importances[:, constant] *= 0.0  # NaN stays
        if self.keep_rows and self.order == "first" and not drawn:
            both = plan.request
            own = replace(both, reductions=both.reductions[1:], scales=both.scales[1:])
            complete_influences(plan, own, first, self.n_jobs)
        self.total_ = total.importances.mean(axis=1)
        self.first_order_ = first.importances.mean(axis=1)
        self.total_standard_errors_ = total.standard_errors
        self._total_skewness = total.skewness
        self.first_order_standard_errors_ = first.standard_errors
        chosen = total if self.order == "total" else first
        self._total_drawing = 0.0 if not drawn else total.monte_carlo_errors
        self._store_outcome(plan, chosen)

    def _further_columns(self):
        return {"first_order": self.first_order_, "total": self.total_}

    def plot(
        self, ax: Axes | None = None, *, per_output: bool = False, **kwargs: Any
    ) -> ImportanceDisplay | ComparisonDisplay:
        """Draw the total indices as bars, and in each the share of the feature alone.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        per_output : bool, default=False
            Whether to draw `importances_per_output_`, a bar per output, instead.
        **kwargs : dict
            Passed to `ImportanceDisplay.plot`, or to `ComparisonDisplay.from_outputs`.

        Returns
        -------
        display : ImportanceDisplay or ComparisonDisplay
            Holds `ax_` and `figure_`.
        """
        check_is_fitted(self, "importances_")
        if per_output:
            return super().plot(ax=ax, per_output=True, **kwargs)
        ends = interval_ends(
            self.total_,
            self.total_standard_errors_,
            self._total_skewness,
            self._total_drawing,
            self.result_.sampling,
            0.95,
        )
        display = ImportanceDisplay(
            self.total_,
            self.features_,
            intervals=np.column_stack(ends),
            label=self._quantity(),
            own=self.first_order_,
        )
        return display.plot(ax=ax, **kwargs)

    def _quantity(self):
        return "share of the variance of predictions"

    def _in_words(self):
        text = f"the variance of the {self._prediction} that a feature has by itself"
        index = "first-order"
        if self.order == "total":
            text = f"the variance of the {self._prediction} that involves a feature"
            text, index = f"{text}, its interactions included", "total"
        text = f"{text} (Sobol's {index} index)"
        return self._says(text, share_of="the whole variance")
