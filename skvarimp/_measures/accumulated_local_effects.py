"""`ALEImportance`: how far the accumulated local effects of a feature are from flat."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from skvarimp._data.statistics import deciles, divided, quantile_positions
from skvarimp._data.validation import Interval
from skvarimp._display.curves import CurvesDisplay
from skvarimp._measures.response_importance import Plan, ResponseImportance
from skvarimp._response.contract import BlackBoxResponse
from skvarimp._response.grid import make_move
from skvarimp._response.mean_curves import direction
from skvarimp._response.reductions import Outcome
from skvarimp._running.tasks import Progress, tasks_done
from skvarimp._types import Features, ResponseMethod


@dataclass(kw_only=True, eq=False, repr=False)
class ALEImportance(ResponseImportance):
    """Standard deviation of the accumulated local effects of each feature.

    The values of a feature are cut into bins of equal probability. The local effect in
    a bin is the mean over the bin's rows of the response at its upper edge minus the
    response at its lower edge. The sums of the local effects from the lowest bin on,
    centred, form a curve. The importance is the standard deviation of that curve over
    the rows.

    Rows move only to the edges of their own bin, so that the model sees rows that could
    have occurred. Unlike the partial dependence, the curve is therefore not distorted
    if features are correlated. Unlike FIRM's conditional expected score, it does not
    give an unused feature the effect of a correlated one.

    Parameters
    ----------
    n_bins : int, default=20
        Bins of equal probability; fewer where a feature has fewer distinct values.
    features : sequence or dict, default=None
        Single columns with ordered values: numbers, dates, booleans, or categories
        whose type declares their order. None: each column.
    response_method : {"auto", "predict_proba", "decision_function", "predict"}, \
default="auto"
        The response watched; "auto": the first of them a classifier has, `predict`
        of other models.
    n_jobs : int, default=None
        Number of joblib workers. The numbers do not depend on it.
    keep_rows : bool, default=False
        Whether to keep `influences_`, for `interval`, `rank_intervals` and
        `importance_difference`.

    Attributes
    ----------
    importances_ : ndarray of shape (n_features,)
        Standard deviation of the accumulated local effect, mean over the outputs, in
        units of the response.
    importances_per_output_ : ndarray of shape (n_features, n_outputs)
        Importance for each output.
    standard_errors_ : ndarray of shape (n_features,)
        Sampling error of the rows, with the model and the bins held fixed
        (infinitesimal jackknife).
    ranking_ : ndarray of shape (n_features,)
        1 = most important.
    directions_ : ndarray of shape (n_features,) or None
        Which way the accumulated local effect goes as values rise: 1 where it only
        rises, -1 where it only falls, near 0 where it turns; see the glossary. NaN for
        groups and for categories without an order. None for several outputs.
    directions_per_output_ : ndarray of shape (n_features, n_outputs)
        Direction for each output.
    influences_ : ndarray of shape (n_samples, n_features)
        With `keep_rows`: how much each row moves each importance; weighted mean 0.
    row_importances_ : None
        The importance is not a mean over rows.
    curves_ : dict
        Feature name -> (edges of shape (n_edges,), ascending; accumulated local effects
        of shape (n_edges,), or (n_edges, n_outputs) of several outputs).
    curve_errors_ : dict
        Feature name -> standard errors of the accumulated local effects, of the shape
        of the effects. Sampling error of the rows, with the bins held fixed.
    deciles_ : dict
        Feature name -> ndarray of shape (9,), the deciles of the observed values of a
        numeric column.
    features_ : list of str
        Names of the features.
    output_names_ : list of str
        Names of the outputs.

    See Also
    --------
    PartialDependenceImportance : The marginal counterpart.
    FIRMImportance : The conditional counterpart.

    Notes
    -----
    The lowest edge is the smallest value. With at most `n_bins` + 1 distinct values
    each is an edge, however rare it is; else the other edges are quantiles of the
    observed values (the inverse of their distribution function), and a row belongs to
    the bin whose upper edge is the first that is not below its value. Between the
    edges the curve is linear in the value (in the position, for categories), and its
    mean over the rows is 0. Variances have divisor n. Rows whose value is missing are
    in no bin. For an additive model the curve is that of the partial dependence, up
    to its centre and what happens within a bin. Cost: two predictions per row and
    feature.

    References
    ----------
    .. [1] D. W. Apley and J. Zhu, "Visualizing the Effects of Predictor Variables in
       Black Box Supervised Learning Models", JRSS B 82 (2020), eqs. 15 and 16.

    Examples
    --------
    Two bins with a local effect of 2 each: the curve is -1.5, 0.5, 2.5 at the edges
    0, 1, 2, and its standard deviation over the four rows is (2.75)^(1/2).

    >>> from skvarimp import ALEImportance
    >>> X = [[0.0, 7.0], [1.0, 5.0], [0.0, 6.0], [2.0, 4.0]]
    >>> imp = ALEImportance(n_bins=4).fit(lambda X: 2 * X[:, 0], X)
    >>> imp.curves_["x0"]
    (array([0., 1., 2.]), array([-1.5,  0.5,  2.5]))
    >>> imp.importances_.round(6)
    array([1.658312, 0.      ])
    """

    _has_directions = True

    _parameter_constraints = {  # noqa: RUF012 scikit-learn's form
        "n_bins": [Interval(Integral, 1, None, closed="left")],
    }

    n_bins: int = 20
    features: Features = None
    response_method: ResponseMethod = "auto"
    n_jobs: int | None = None
    keep_rows: bool = False

    def _set_features(self, table, features, estimator=None):
        features = super()._set_features(table, features, estimator)
        for feature in features:
            if len(feature.columns) > 1:
                raise TypeError(
                    f"{feature.name!r} is a group of columns, whose values have no "
                    "order. ALEImportance takes single columns; use "
                    "SensitivityImportance for groups."
                )
        self._leave_out(
            [f.name for f in features if not table.has_order(*f.columns)],
            features,
            "categories without an order have no effects to accumulate along it",
            "Leave them out of `features`, give their types an order, or use "
            "PartialDependenceImportance.",
        )
        return features

    def _plan(self, problem, features):
        return Plan(problem, features, estimation=None)

    def _conclude(self, plan, outcomes):
        problem = plan.problem
        shape = len(plan.features), len(problem.base)
        outcome = Outcome(np.full(shape, np.nan))
        units = problem.units
        self.curves_, self.curve_errors_, self.deciles_ = {}, {}, {}
        known = enumerate(plan.features)
        known = [(e, f) for e, f in known if f.name not in self._undefined]
        ends_of = partial(_ends_of_bins, n_bins=self.n_bins)
        table, weights = problem.value_table([f for _, f in known], ends_of)
        tasks = [(*one, of_values) for one, of_values in zip(known, weights)]
        arguments, progress = (problem, table, ends_of), Progress([self], len(tasks))
        results = tasks_done(progress, _curve_of, tasks, arguments, self.n_jobs)
        for (e, feature, _), found in results:
            edges, curve, errors, *numbers, influence, marks = found
            of_mean, (importance, way) = influence.mean(axis=0), numbers
            finished = Outcome(importance, units.error(of_mean))
            finished.directions = way[np.newaxis]
            finished.errors_per_output = units.error(influence)[np.newaxis]
            finished.influences = of_mean[np.newaxis] if self.keep_rows else None
            outcome.store([e], finished)
            if len(curve) == 1:
                curve, errors = curve[0], errors[0]
            self.curves_[feature.name] = (edges, curve.T)
            self.curve_errors_[feature.name] = errors.T
            if marks is not None:
                self.deciles_[feature.name] = marks
        self._store_outcome(plan, outcome)

    def plot_curves(self, ax: Any = None, **kwargs: Any) -> CurvesDisplay:
        """Draw the accumulated local effects, the least flat first.

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
        kwargs = {"ylabel": "accumulated local effect", **kwargs}
        return CurvesDisplay.from_importance(self, ax=ax, **kwargs)

    def _quantity(self):
        return "standard deviation of accumulated local effect"

    def _in_words(self):
        text = "the standard deviation of the accumulated local effect on the "
        return self._says(text + self._prediction, unit=self._unit)


def _ends_of_bins(move, n_bins):
    """Cells of the least value of a column, and of the greatest of each bin."""
    probabilities = move.probabilities[move.known]
    if len(probabilities) <= n_bins + 1:
        return np.arange(len(probabilities))
    at = np.arange(1, n_bins + 1) / n_bins
    return np.union1d(0, quantile_positions(probabilities, at))


def _curve_of(task, problem, table, ends_of):
    """The accumulated local effects of one feature.

    Parameters
    ----------
    task : (int, Feature, ndarray of shape (n_table_rows,))
        The last are the weights of the table's rows in the distribution of the values.
    problem : Problem
    table : Table
        The rows of the problem, and others that only hold values.
    ends_of : callable
        `_ends_of_bins` with the number of bins.

    Returns
    -------
    edges : ndarray of shape (n_edges,)
    effects, errors : ndarray of shape (n_outputs, n_edges)
    importance, direction : ndarray of shape (n_outputs,)
    influence : ndarray of shape (n_outputs, n_samples)
        Of each row on the importances.
    deciles : ndarray of shape (9,) or None
    """
    _, feature, of_values = task
    weights = problem.weights
    move = make_move(table, of_values, feature, "all")
    codes, n_known_cells = move.codes[: len(weights)], int(move.known.sum())
    known = np.flatnonzero(codes < n_known_cells)  # missing values come last
    n_outputs = len(problem.base)
    influence = np.zeros((n_outputs, len(weights)))
    if n_known_cells < 2:
        flat, none = np.zeros((n_outputs, n_known_cells)), np.zeros(n_outputs)
        values = move.values[:n_known_cells]
        return values, flat, flat, none, none, influence, None
    share = weights[known].sum()
    w, cells = weights[known] / share, codes[known]
    edges = ends_of(move)
    # edges[b] < value <= edges[b + 1], the smallest value in the first bin
    ends = np.maximum(np.searchsorted(edges, cells), 1)
    filled = np.bincount(ends, minlength=len(edges)) > 0
    bins = (np.cumsum(filled) - 1)[ends]
    edges = np.append(edges[:1], edges[filled])  # no bin without rows
    # (n_outputs, n_known)
    lower, upper = (
        _at(edges[of_rows], problem, table, move, known, cells)
        for of_rows in (bins, bins + 1)
    )
    local = upper - lower

    n = len(edges) - 1
    in_bin = np.bincount(bins, w, n)
    mean = np.stack([np.bincount(bins, w * d, n) for d in local]) / in_bin
    accumulated = np.pad(np.cumsum(mean, axis=1), ((0, 0), (1, 0)))
    position = _positions(move, n_known_cells)
    along = (position[cells] - position[edges[bins]]) / np.diff(position[edges])[bins]
    of_rows = accumulated[:, bins] + mean[:, bins] * along
    centre = of_rows @ w
    of_rows -= centre[:, np.newaxis]
    variance = of_rows**2 @ w
    importance = np.sqrt(variance)

    # d variance / d mean[k] = 2 E h_k g, h_k the part of bin k below the row's value
    inside = np.stack([np.bincount(bins, w * along * g, n) for g in of_rows])
    beyond = np.stack([np.bincount(bins, w * g, n) for g in of_rows])
    beyond = np.cumsum(beyond[:, ::-1], axis=1)[:, ::-1] - beyond
    slope = 2.0 * (inside + beyond) / in_bin
    psi = of_rows**2 - variance[:, np.newaxis]
    psi += slope[:, bins] * (local - mean[:, bins])
    psi = divided(psi, 2.0 * importance[:, np.newaxis])

    # d centre / d mean[k] = E h_k
    of_centre = np.bincount(bins, w * along, n) + np.cumsum(in_bin[::-1])[::-1] - in_bin
    of_mean = (local - mean[:, bins]) / in_bin[bins]
    errors = np.empty((n_outputs, n + 1))
    for edge in range(n + 1):
        influence[:, known] = of_mean * ((bins < edge) - of_centre[bins]) - of_rows
        errors[:, edge] = problem.units.error(influence) / share

    influence[:, known] = psi / share
    effects, marks = accumulated - centre[:, np.newaxis], None
    if move.values.dtype.kind in "fiu":
        marks = deciles(move.values, move.probabilities)
    present, first = np.unique(cells, return_index=True)
    way = direction(
        of_rows[:, first],
        move.probabilities[present],
        np.abs(problem.base).max(axis=1),
    )
    return move.values[edges], effects, errors, importance, way, influence, marks


def _at(edges, problem, table, move, rows, cells):
    """The response of each row at one of its edges, (n_outputs, n_rows).

    A row that lies on the edge is not moved.
    """
    black_box = BlackBoxResponse(problem.model, len(problem.base))
    response, moved = problem.base[:, rows], np.flatnonzero(edges != cells)
    response[:, moved] = black_box.at(table, rows[moved], move, edges[moved])
    return response


def _positions(move, n_known):
    """Where the values lie on the axis along which the curve is linear."""
    values = move.values[:n_known]
    if isinstance(values[0], date | np.datetime64):
        elapsed = values - values[:1]  # first: NumPy knows no time zones
        return elapsed.astype("timedelta64[us]") / np.timedelta64(1, "s")
    if values.dtype.kind in "fiu":
        return values.astype(np.float64)
    return np.arange(n_known, dtype=np.float64)
