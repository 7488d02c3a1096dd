"""`PartialDependenceImportance`: how far from flat the mean response curve is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from skvarimp._data.statistics import Units, deciles
from skvarimp._data.validation import grid_constraint
from skvarimp._display.curves import CurvesDisplay
from skvarimp._measures.evaluations import CountsEvaluations, rows_again
from skvarimp._measures.joint.statistics import (
    SURFACE_VALUES,
    joint_dependence,
    resolve_sets,
    spread_cells,
)
from skvarimp._measures.problem import Request
from skvarimp._measures.response_importance import Plan, ResponseImportance
from skvarimp._measures.rows import complete_influences
from skvarimp._response.grid import QuantileGrid, kind_of, values_alone
from skvarimp._response.mean_curves import IndividualFlatness, PartialDependence
from skvarimp._response.rounds import LEAST_ROWS
from skvarimp._running.guards import budget, warn
from skvarimp._running.memory import slices
from skvarimp._running.tasks import in_order, in_threads
from skvarimp._types import CustomGrid, Features, NamedGrid, Pairs, ResponseMethod
from skvarimp.exceptions import ResponseWarning

ROWS_KEPT, VALUES_KEPT = 100, 50  # of the rows' own curves, for a picture


@dataclass(kw_only=True, eq=False, repr=False)
class PartialDependenceImportance(CountsEvaluations, ResponseImportance):
    """How far the partial dependence of a model's response on a feature is from flat.

    The partial dependence at a value is the mean response over the rows when the
    feature is set to that value. The importance is its standard deviation over the
    grid, where each distinct value, or each level of a category, counts once. The
    measure is *marginal*: it does not follow correlations between features.

    Parameters
    ----------
    statistic : {"std", "std_or_range", "range"}, default="std"
        "std": the standard deviation with divisor k - 1 over the k grid values (eq. 5).
        "range": the largest minus the smallest value (eq. 6). "std_or_range": as in the
        paper, the range for categorical features and the standard deviation for all
        others. The two have different scales, so that a `ResponseWarning` is raised if
        "std_or_range" ranks both kinds together.
    kind : {"average", "individual"}, default="average"
        "average": the statistic of the mean curve. "individual": the mean over the rows
        of the statistic of each row's own curve, in which opposite effects do not
        cancel.
    grid : {"auto", "all", "equidistant", "deciles"}, int, array-like or dict, \
default="auto"
        Values the feature moves through, as in `SensitivityImportance`; "all": every
        distinct observed value. "auto": "all" where that costs hardly more than 64
        quantiles, else these: the medians of 64 bins of equal probability, as means
        over drawn rows (see Notes).
    categorical_features : array-like, default=None
        Names, positions or mask of columns to treat as categorical besides those of
        boolean, string or categorical type.
    features : sequence or dict, default=None
        Features: names, positions, or lists of them (groups); None: each column.
    response_method : {"auto", "predict_proba", "decision_function", "predict"}, \
default="auto"
        The response watched; "auto": the first of them a classifier has, `predict`
        of other models.
    n_jobs : int, default=None
        Number of joblib workers. The numbers do not depend on it.
    pairs : sequence of pairs, default=None
        Pairs of columns, by name or by position in `features`, for which `surfaces_`
        are computed; such as ``interactions.top_pairs(4)`` of a fitted
        `InteractionImportance`.
    keep_rows : bool, default=False
        Whether to keep the numbers of single rows, `influences_` and
        `row_importances_`, from which `interval` and the comparisons of importances
        are computed.
    curve_errors : bool, default=False
        Whether to compute `curve_errors_`, for bands in `plot_curves`. Each feature
        then takes up to 50 further evaluations of each row. With trees a fit takes up
        to four times as long, without a fast response a little longer.
    max_evaluations : int, default=None
        Largest number of rows that the model may be asked to predict. Fewer rows are
        drawn where it does not allow all of them. None: no limit.

    Attributes
    ----------
    importances_ : ndarray of shape (n_features,)
        Standard deviation or range of the partial dependence, or of a row's prediction
        as the feature moves, mean over the outputs, in units of the response.
    importances_per_output_ : ndarray of shape (n_features, n_outputs)
        Importance for each output.
    standard_errors_ : ndarray of shape (n_features,) or None
        Sampling error of the rows averaged over, with the model and the grid held
        fixed (infinitesimal jackknife); with many rows estimated from random sums of
        them, to about 5%.
    influences_ : ndarray of shape (n_samples, n_features)
        With `keep_rows`: how much each row moves each importance; weighted mean 0.
    row_importances_ : ndarray of shape (n_samples, n_features) or None
        With `keep_rows` and kind="individual": each row's own importance (0 where its
        weight is 0).
    ranking_ : ndarray of shape (n_features,)
        1 = most important.
    directions_ : ndarray of shape (n_features,) or None
        Which way the partial dependence goes as values rise: 1 where it only rises, -1
        where it only falls, near 0 where it turns; see the glossary. NaN for groups and
        for categories without an order. None for several outputs.
    directions_per_output_ : ndarray of shape (n_features, n_outputs)
        Direction for each output.
    curves_ : dict
        Feature name -> (grid of shape (n_cells,) ascending, or (n_cells, n_columns) of
        a group; averages of shape (n_cells,), or (n_cells, n_outputs) of several
        outputs). The averages are the partial dependence under either `kind`.
    curve_errors_ : dict or None
        With `curve_errors`: feature name -> standard errors of the averages, of their
        shape: the standard deviation of the rows' curves at this value, divided by the
        root of the number of rows (see `fit` for weights and groups). NaN except at
        most 50 values spread over the grid; `plot_curves` draws straight lines between
        them. None without.
    individual_curves_ : dict or None
        With kind="individual": feature name -> (values of shape (k,), at most 50 of the
        grid, responses of shape (n_rows, k, n_outputs)) of at most 100 rows spread over
        X, for a picture. None with kind="average".
    surfaces_ : dict or None
        With `pairs`: (name, name) -> (values of the first, values of the second,
        averages of shape (n_first, n_second), or (n_first, n_second, n_outputs) of
        several outputs), the partial dependence on both at once. Of each column at most
        25 of the grid's values.
    deciles_ : dict
        Feature name -> ndarray of shape (9,), the deciles of the observed values of a
        numeric column.
    grid_ : dict
        Feature name -> the grid it moved through: "all", 64 bins, 256 of a group, or
        what `grid` says.
    statistic_ : list of str
        "std" or "range" for each feature; a column of `to_frame` where "std_or_range"
        took both.
    monte_carlo_errors_ : ndarray of shape (n_features,) or None
        What the rows that were not drawn add to the errors; None where all were taken.
    estimation_ : str
        "exact", or "rows" where some of the rows were drawn.
    response_path_ : str
        How the response was computed.
    features_ : list of str
        Names of the features.
    output_names_ : list of str
        Names of the outputs.

    See Also
    --------
    InteractionImportance : The same on two features at once.
    SensitivityImportance : Mean change of the single rows' responses.

    Notes
    -----
    A feature with one value scores 0. Sample weights weigh the rows averaged over;
    the grid's distinct values count once whatever their frequency.

    Cost for a model without a fast response: n_samples x n_cells predictions per
    feature. By default that is 64 n_samples up to 4 000 rows. Of more rows half are
    drawn, at least 4 000 and at most 10 000, the same ones in each fit, so that no fit
    takes more than 640 000 predictions per feature. Of a group 256 joint values are
    taken, and of a categorical feature all levels. Any other `grid` takes all rows
    that `max_evaluations` allows.

    References
    ----------
    .. [1] B. M. Greenwell, B. C. Boehmke and A. J. McCarthy, "A General Model-Based
       Variable Importance Metric for Supervised Learning", eqs. 3 to 6.

    Examples
    --------
    A slope of 2 on the values 0, 1, 2, whose standard deviation is 1:

    >>> from skvarimp import PartialDependenceImportance
    >>> X = [[0.0, 7.0], [1.0, 5.0], [0.0, 6.0], [2.0, 4.0]]
    >>> imp = PartialDependenceImportance().fit(lambda X: 2 * X[:, 0], X)
    >>> imp.importances_
    array([2., 0.])
    >>> imp.curves_["x0"]
    (array([0., 1., 2.]), array([0., 2., 4.]))
    """

    _has_directions = True

    _parameter_constraints = {  # noqa: RUF012 scikit-learn's form
        "grid": grid_constraint("auto", "all", "equidistant", "deciles"),
        "pairs": ["array-like", None],
        "curve_errors": ["boolean"],
    }

    statistic: Literal["std", "std_or_range", "range"] = "std"
    kind: Literal["average", "individual"] = "average"
    grid: Literal["auto"] | NamedGrid | int | CustomGrid = "auto"
    categorical_features: ArrayLike | None = None
    features: Features = None
    response_method: ResponseMethod = "auto"
    n_jobs: int | None = None
    pairs: Pairs = None
    keep_rows: bool = False
    curve_errors: bool = False
    max_evaluations: int | None = None

    _drawn_estimation = "rows"

    def _plan(self, problem, features):
        n_rows, one = problem.n_rows, np.ones(len(problem.base))
        if self.kind == "average":
            reductions = [
                PartialDependence.over(
                    self.statistic,
                    n_rows,
                    n_rows if self.keep_rows else None,
                    problem.units,
                )
            ]
        else:  # the second for the curves alone
            reductions = [
                IndividualFlatness(self.statistic),
                PartialDependence.over(self.statistic, n_rows, 1),
            ]
        categorical = self._categorical
        grid, estimation = self.grid, "exact"
        if isinstance(grid, str) and grid == "auto":
            grid, estimation = "all", "auto"
        elif self.max_evaluations is not None:
            estimation = "auto"
        request = Request(grid, reductions, [one] * len(reductions), categorical)
        pairs = None
        if self.pairs is not None:
            pairs = resolve_sets(self.pairs, features, "pairs")
            for feature in (features[e] for pair in pairs for e in pair):
                if len(feature.columns) > 1:
                    raise ValueError(
                        f"`pairs` names the group {feature.name!r}, which has no "
                        "single axis to be drawn on. Use pairs of columns."
                    )
        return Plan(problem, features, request, estimation, own=pairs)

    def _cheapest(self, plan):
        """ "exact", or "rows" of those there are; settles the grid."""
        problem, request = plan.problem, plan.request
        free = isinstance(self.grid, str) and self.grid == "auto"
        limited = self.max_evaluations is not None
        allowed = not limited or self._exact_rows(plan) <= budget().left
        if allowed and (not free or problem.curves_are_cheap(plan.features, request)):
            return "exact"
        if free:
            request.grid = QuantileGrid()
        most = problem.rows_within_limit(*self._asked(plan)) if limited else np.inf
        rows = problem.rows_of_curves(plan.features, request, most)
        if len(rows) == problem.n_rows:
            return "exact"
        plan.rows, n = rows, len(rows)
        request.reductions[-1] = PartialDependence(self.statistic, n, n, apart=True)
        return "rows"

    def _asked(self, plan):
        """Predictions of each row that the curves are means over, and of others."""
        problem, request, pairs = plan.problem, plan.request, plan.own or []
        if not problem.response(plan.features).asks_model:
            return 0, 0
        sizes = problem.grid_sizes(plan.features, request)
        return self._asked_for(sizes, pairs, problem.table.n_samples)

    def _asked_for(self, sizes, pairs, n_samples):
        # a missing value comes on top of those spread over the grid
        some, joint = (np.minimum(sizes, k + 1) for k in (VALUES_KEPT, SURFACE_VALUES))
        each = sizes.sum() + sum(joint[j] * joint[k] for j, k in pairs)
        if self.curve_errors:
            each += some.sum()
        if self.kind == "average":
            return int(each), 0
        return int(each), min(n_samples, ROWS_KEPT) * int(some.sum())

    def _exact_rows(self, plan):
        problem, request, (each, more) = plan.problem, plan.request, self._asked(plan)
        if each and self.keep_rows and self.kind == "average":
            (curves,) = request.reductions
            more += rows_again(problem, plan.features, request, curves)
        return each * problem.n_rows + more

    def _least_evaluations(self, n_rows, features):
        sizes = np.array([QuantileGrid().most_cells(feature) for feature in features])
        pairs = [(0, 0)] * len(() if self.pairs is None else self.pairs)
        each, more = self._asked_for(sizes, pairs, n_rows)
        return n_rows + each * min(n_rows, LEAST_ROWS) + more

    def _moved_rows(self, problem, features):
        plan = self._plan(problem, features)
        if plan.estimation == "auto":
            plan.estimation = self._cheapest(plan)
        if plan.rows is None:
            return self._exact_rows(plan)
        each, more = self._asked(plan)
        return each * len(plan.rows) + more

    def _conclude(self, plan, outcomes):
        request = plan.request
        if plan.rows is not None:
            problem, features = plan.problem, plan.features
            outcome = problem.curves_of_rows(features, request, plan.rows, self)
            outcomes = [outcome]
        elif self.keep_rows and self.kind == "average":
            complete_influences(plan, request, outcomes[0], self.n_jobs)
        self.statistic_ = self._statistics(plan.problem.table, plan.features, request)
        self._store_outcome(plan, outcomes[0])
        self.grid_, self.curves_, self.deciles_ = {}, {}, {}
        self.individual_curves_ = None if self.kind == "average" else {}
        curves = outcomes[-1].curves or [None] * len(plan.features)
        grids = in_threads(partial(_grid_and_deciles, plan), plan.features)
        for feature, curve, of_grid in zip(plan.features, curves, grids):
            self.grid_[feature.name], values, tenths = of_grid
            if curve is None:  # stopped before
                continue
            if tenths is not None:
                self.deciles_[feature.name] = tenths
            averages = curve[0] if len(curve) == 1 else curve.T
            self.curves_[feature.name] = (values, averages)
            if self.individual_curves_ is not None:
                self.individual_curves_[feature.name] = _some_curves(plan, feature)
        self.curve_errors_ = None
        if self.curve_errors:
            known = [
                feature for feature in plan.features if feature.name in self.curves_
            ]
            found = in_order(_errors_of_curve, known, (plan,), self.n_jobs)
            self.curve_errors_ = {feature.name: errors for feature, errors in found}
        self.surfaces_ = None
        if plan.own is not None:
            self.surfaces_ = joint_dependence(plan, request)

    def _statistics(self, table, features, request):
        """The statistic of each feature; warns where two kinds are ranked together."""
        if self.statistic != "std_or_range":
            return [self.statistic] * len(features)
        found = [
            "range"
            if kind_of(table, feature, request.categorical).categorical
            else "std"
            for feature in features
        ]
        if len(set(found)) > 1:
            warn(
                'statistic="std_or_range" ranks the range of categorical features, '
                f"such as {features[found.index('range')].name!r}, together with the "
                "standard deviations of numeric ones. A curve's range is at least 1.4 "
                "times its standard deviation, so that categorical features rank too "
                'high. Use statistic="std" to compare them.',
                ResponseWarning,
            )
        return found

    def _further_columns(self):
        mixed = len(set(self.statistic_)) > 1
        return {"statistic": np.array(self.statistic_)} if mixed else {}

    def plot_curves(self, ax: Any = None, **kwargs: Any) -> CurvesDisplay:
        """Draw the partial dependence curves, the least flat first.

        With kind="individual" the curves of some rows stand behind them, else with
        `curve_errors` bands of 95% intervals.

        Parameters
        ----------
        ax : matplotlib Axes or array-like of them, default=None
            Axes to draw into, one per curve; None makes a figure.
        **kwargs : dict
            Passed to `CurvesDisplay.from_importance`.

        Returns
        -------
        display : CurvesDisplay
            Holds `axes_` and `figure_`.
        """
        return CurvesDisplay.from_importance(self, ax=ax, **kwargs)

    def plot_surfaces(self, ax: Any = None, **kwargs: Any) -> CurvesDisplay:
        """Draw the partial dependence on each of the `pairs` as colours.

        Parameters
        ----------
        ax : matplotlib Axes or array-like of them, default=None
            Axes to draw into, one per panel; None makes a figure.
        **kwargs : dict
            Passed to `CurvesDisplay.from_surfaces`, such as ``effect="interaction"``
            for the part that does not add up.

        Returns
        -------
        display : CurvesDisplay
            Holds `axes_` and `figure_`.
        """
        return CurvesDisplay.from_surfaces(self, ax=ax, **kwargs)

    def _quantity(self):
        kinds = {("std",): "standard deviation", ("range",): "range"}
        what = kinds.get(tuple(set(self.statistic_)), "spread")
        if self.kind == "individual":
            return f"{what} of a row's prediction"
        return f"{what} of the partial dependence"

    def _in_words(self):
        kinds = {("std",): "standard deviation", ("range",): "range"}
        what = kinds.get(tuple(set(self.statistic_)), "spread")
        if len(set(self.statistic_)) > 1:
            what = "standard deviation (of categories the range)"
        whose = f"the partial dependence, the mean {self._prediction}"
        if self.kind == "individual":
            whose = f"the {self._prediction} of a row"
        text = f"the {what} of {whose} as a feature moves through its values"
        return self._says(text, unit=self._unit)


def _grid_and_deciles(plan, feature):
    """The grid of a feature, its values, and deciles of a numeric column or None."""
    problem, request, move = plan.problem, plan.request, None
    grid, table = request.grid, problem.table
    if isinstance(grid, QuantileGrid):
        move = problem.move(feature, request)
        grid = grid.of(move)
    elif isinstance(grid, Mapping):
        grid = grid.get(feature.name, "all")
    categorical = kind_of(table, feature, request.categorical).categorical
    grouped = len(feature.columns) > 1
    numeric = not (categorical or grouped or table.has_levels(feature.columns[0]))
    if numeric and isinstance(grid, str) and grid == "all":
        move = problem.move(feature, replace(request, grid=values_alone))
        return grid, move.values, deciles(move.values, move.probabilities)
    move = problem.move(feature, request) if move is None else move
    return grid, move.values, problem.deciles(feature) if numeric else None


def _some_curves(plan, feature):
    """Some of the grid's values, and the responses of some rows there."""
    problem, request = plan.problem, plan.request
    last = problem.table.n_samples - 1
    rows = np.unique(np.linspace(0, last, ROWS_KEPT).round().astype(np.intp))
    move = problem.move(feature, request)
    few = _few_cells(move, spread_cells(move, VALUES_KEPT))
    curves = problem.response(plan.features).curves(problem.rows.block(rows), few)
    return few.values, curves.transpose(1, 2, 0)


def _few_cells(move, cells):
    """The move to some of its cells, of equal probability."""
    share = np.full(len(cells), 1.0 / len(cells))
    return move.at_cells(cells, probabilities=share, codes=None, nearest=None)


def _errors_of_curve(feature, plan):
    """Standard errors of a mean curve, of its shape; NaN where not computed."""
    problem, rows, units = plan.problem, plan.rows, plan.problem.units
    evaluated = problem.rows_alone(rows)
    if rows is not None:
        labels = None if units.groups is None else units.groups[rows]
        units = Units.of(evaluated.weights, labels)
    weights = units.weights
    n_outputs, n_rows = evaluated.base.shape
    move, response = (
        problem.move(feature, plan.request),
        problem.response(plan.features),
    )
    errors = np.full((move.n_cells, n_outputs), np.nan)
    some = spread_cells(move, VALUES_KEPT)
    for part in slices(len(some), n_outputs * n_rows):
        cells = some[part]
        curves = response.curves(evaluated, _few_cells(move, cells))
        influences = np.moveaxis(curves, 2, 0)
        influences = influences - (influences @ weights)[..., np.newaxis]
        errors[cells] = units.error(influences)
    return errors[:, 0] if n_outputs == 1 else errors
