"""`Problem`: a model on rows of data, and what measures ask of it."""

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from skvarimp._data.statistics import (
    Units,
    deciles,
    gini_mean_difference,
    variance,
)
from skvarimp._data.table import as_table
from skvarimp._data.validation import (
    check_length,
    check_rows,
    check_target,
    is_structured,
)
from skvarimp._models.model import Model
from skvarimp._models.registry import serves_threads
from skvarimp._response.contract import TIMES_DRAWN, BlackBoxResponse
from skvarimp._response.drawing import StrataDraws
from skvarimp._response.grid import (
    N_JOINT,
    N_QUANTILES,
    Moves,
    QuantileGrid,
    kind_of,
    make_move,
)
from skvarimp._response.losses import loss_of_rows, with_groups
from skvarimp._response.mean_curves import MeanCurve
from skvarimp._response.probe import fast_response, respond
from skvarimp._response.rounds import (
    LEAST_ROWS,
    Effort,
    RowDraws,
    curve_rows,
    draw_in_rounds,
    feature_seeds,
    rows_drawn,
    rows_in_rounds,
)
from skvarimp._response.rows import RowOrder, Rows
from skvarimp._response.walk import Walk, run_walk
from skvarimp._running.guards import budget, warn
from skvarimp._running.tasks import Progress, in_threads

QUICK = 2e7  # numbers written: about half a second
NEAR = 2.0  # standard deviations of the response, within which rows are drawn alike
MOST_KEPT = 2**24  # values of the curves of one feature at drawn rows
_WAY_OUT = "Use scale=None for importances in the units of the prediction."


def without_outputs(outcome, scale):
    """Make importances of outputs of infinite scale unknown, and others those of one.

    Parameters
    ----------
    outcome : Outcome
        Its importances and errors of each output change; means over them are right.
    scale : ndarray of shape (n_outputs,)
        As `Problem.without_absent_classes` gives it.

    Returns
    -------
    ndarray of shape (n_outputs,)
        By what each output was divided; NaN of those left out.
    """
    absent = np.isinf(scale)
    if not absent.any():
        return scale
    share = 1.0 - absent.mean()
    for name in ("importances", "errors_per_output"):
        values = getattr(outcome, name)
        if values is not None:
            setattr(outcome, name, np.where(absent, np.nan, share * values))
    return np.where(absent, np.nan, scale / share)


@dataclass
class Problem:
    """A model on rows of data, validated; rows with zero weight are left out.

    Attributes
    ----------
    table : Table
    model : Model
    given_y : object
        As passed to `fit`; only scorers and `y` look at it.
    weights : ndarray of shape (n_samples,)
        Sum to 1.
    total_weight : float
    base : ndarray of shape (n_outputs, n_samples)
    kept : ndarray of shape (n_rows_of_X,)
        Which rows of X these are.
    labels : ndarray of shape (n_samples,) or None
        The group of each row.
    """

    table: object
    model: Model
    given_y: object
    weights: np.ndarray
    total_weight: float
    base: np.ndarray
    kept: np.ndarray
    labels: np.ndarray | None = None
    _responses: dict = field(default_factory=dict, repr=False)

    @cached_property
    def y(self):
        """The targets of the rows as an array, validated when a measure asks; or None.

        A structured y, as of survival models, is for callable losses and scorers.
        """
        y = check_target(self.given_y, len(self.kept), structured=True)
        return None if y is None else y[self.kept]

    def in_groups(self):
        """The same problem with the groups, if any, in `y`: see `with_groups`."""
        if self.labels is None:
            return self
        found = replace(self)
        found.y = with_groups(self.y, self.labels)
        return found

    def response(self, features, n_moves=1):
        """The probed response that serves the features; made once.

        Reading and probing the model leaves enough rows to draw each feature once.
        """
        key = tuple(features)
        if key not in self._responses:
            kept = n_moves * len(features) * self.table.n_samples
            with budget().reading(kept):
                self._responses[key] = respond(self, features)
        return self._responses[key]

    def __getstate__(self):
        return {**vars(self), "_responses": {}}  # not sent to other processes

    @cached_property
    def fast_response(self):
        """The unprobed fast response of the model, or NotReadable with the reason."""
        return fast_response(self.model, self.table)

    def drawing(self, done="drawn rows"):
        """The response that drawn rows are asked for: the model itself.

        Its path says what was done, and why no other serves, where that is known.
        """
        reasons = [getattr(r, "reason", "") for r in self._responses.values()]
        reason = "; ".join([done, *filter(None, reasons[:1])])
        return BlackBoxResponse(self.model, len(self.base), reason)

    def moves(self, features, requests):
        """The values that the features move through."""
        grids = [request.grid for request in requests]
        categorical = [request.categorical for request in requests]
        return Moves(self.table, self.weights, features, grids, categorical)

    def move(self, feature, request):
        """The move of one feature, see `make_move`."""
        grid, categorical = request.grid, request.categorical
        return make_move(self.table, self.weights, feature, grid, categorical)

    def value_table(self, features, ends_of):
        """The distribution of each single column's values over all rows.

        Parameters
        ----------
        features : list of Feature
        ends_of : callable
            Gives the cells of a `Move` at which intervals end. These must be exact.

        Returns
        -------
        table : Table
            The rows, and others that only hold values.
        weights : sequence of ndarray of shape (n_table_rows,)
            Of the values, for each feature.
        """
        return self.table, [self.weights] * len(features)

    def deciles(self, feature):
        """The nine deciles of a column of numbers."""
        return deciles(self.table.column(feature.columns[0]), self.weights)

    def rows_within_limit(self, n_each, n_more=0):
        """How many rows the model may be asked to predict so often each.

        Raises where `max_evaluations` does not allow the fewest.

        Parameters
        ----------
        n_each : int
            Predictions of each row.
        n_more : int, default=0
            Predictions beside these.
        """
        budget().require(n_each * min(self.n_rows, LEAST_ROWS) + n_more)
        return (budget().left - n_more) // n_each if n_each else np.inf

    def grid_sizes(self, features, request):
        """How many values each feature moves through."""
        moves = self.moves(features, [request])
        return np.array([moves[e].cells_per_row for e in range(len(features))])

    def exact_is_cheap(self, features, request, n_drawn):
        """Whether the exact numbers cost at most three times drawn ones, or little.

        Only the costs of fast responses are known; a black box may be slow.

        Parameters
        ----------
        features : list of Feature
        request : Request
            Of one reduction.
        n_drawn : float
            Predictions that the drawn numbers of all features take.
        """
        response, (reduction,) = self.response(features), request.reductions
        limit = response.affordable(n_drawn)
        few, most = self._costs(features, reduction)
        if few == most or most <= limit:
            return most <= limit
        cost, moves = 0.0, self.moves(features, [request])
        for e, feature in enumerate(features):
            grouped = len(feature.columns) > 1
            cost += response.cost(
                self.n_rows, moves[e].cells_per_row, reduction, grouped
            )
            if cost > limit:  # often the first feature says so: each takes a sort
                return False
        return True

    def _costs(self, features, reduction):
        """Exact costs if each feature had two values, and one for each row."""
        n, ones = self.n_rows, np.ones(len(features), dtype=np.intp)
        return [self.exact_cost(features, reduction, n, k * ones) for k in (2, n)]

    def sizes_for_costs(self, features, request):
        """As `grid_sizes`, but at most: where costs do not depend on them."""
        few, most = self._costs(features, request.reductions[0])
        if few == most:
            return np.full(len(features), self.n_rows)
        return self.grid_sizes(features, request)

    def affordable_rows(self, features, request):
        """How many rows a response that is read moves through all values in time."""
        reduction, n = request.reductions[0], self.n_rows
        sizes = self.sizes_for_costs(features, request)
        cost = self.exact_cost(features, reduction, n, sizes)
        return int(n * self.response(features).affordable(0.0) / max(cost, 1.0))

    def exact_cost(self, features, reduction, n_rows, sizes):
        """Cost of all grid values, of which each feature has so many, at some rows."""
        response, cost = self.response(features), 0.0
        kinds = [len(feature.columns) > 1 for feature in features]
        for (grouped, k), count in Counter(zip(kinds, sizes.tolist())).items():
            cost += count * response.cost(n_rows, k, reduction, grouped)
        return cost

    @property
    def n_rows(self):
        """Number of rows that importances are means over."""
        return self.table.n_samples

    @cached_property
    def spread(self):
        """Variance of the unmoved response and its largest size, (n_outputs,) each."""
        return variance(self.base, self.weights), np.abs(self.base).max(axis=1)

    def scale(self, contrast):
        """The divisor of each output, (n_outputs,), for `scale="auto"`.

        It is the contrast's statistic of y for values, of y's class indicators for
        probabilities and labels, and of the response itself for scores.
        """
        if contrast not in STATISTICS:
            return np.ones(len(self.base))
        statistic, model = STATISTICS[contrast], self.model
        scale = np.array([statistic(*of_output) for of_output in self.targets])
        if model.kind == "score" or model.clusters:
            return np.where(scale > 0, scale, 1.0)  # a constant response: 0 / 1
        scale = self.without_absent_classes(scale, scale == 0)
        if np.any(scale == 0):
            name = model.output_names[int(np.argmin(scale))]
            what = "y is" if len(scale) == 1 else f"y's part for output {name!r} is"
            raise ValueError(f"{what} constant, so scale='auto' is 0. {_WAY_OUT}")
        return scale

    def without_absent_classes(self, scale, constant):
        """Scales with which classes that no row, or each row, has leave the mean.

        Importances are means over the outputs. A scale of infinity gives a class 0, and
        the others are divided by the share of the outputs that they are. See
        `without_outputs`.

        Parameters
        ----------
        scale : ndarray of shape (n_outputs,)
        constant : ndarray of shape (n_outputs,), bool
            Whose target does not vary.
        """
        has_classes = self.model.kind in {"probability", "label"}
        if not has_classes or not constant.any() or constant.all():
            return scale
        absent = np.flatnonzero(constant)
        names = ", ".join(repr(self.model.output_names[o]) for o in absent)
        verb = "class {} is" if len(absent) == 1 else "classes {} are"
        warn(
            f"The {verb.format(names)} that of no row or of all: importances are means "
            "over the other classes."
        )
        return np.where(constant, np.inf, (1.0 - constant.mean()) * scale)

    @property
    def targets(self):
        """What each output is compared with: values, and weights that sum to 1."""
        compared = compared_with(self.model, lambda: self.y, self.base)
        return [(values, self.weights) for values in compared]

    @cached_property
    def goodness_of_fit(self):
        """Huh & Lee's GoFit, 1 - sum|y - f| / sum|y - med y|; None where undefined."""
        try:
            y = self.y
        except (TypeError, ValueError):  # only a scale needs a y that can be compared
            return None
        numeric = y is not None and y.ndim == 1 and y.dtype.kind in "fiu"
        if not numeric or self.model.kind != "value" or len(self.base) > 1:
            return None
        ((values, weights),) = self.targets
        around = weights @ np.abs(values - weighted_median(values, weights))
        return None if around == 0 else 1.0 - self.mean_loss(distance) / float(around)

    def mean_loss(self, loss):
        """Mean loss of the unmoved rows."""
        return float(self.weights @ loss_of_rows(loss, self.y, self.base))

    def outcomes(self, features, requests, keep_rows=False, n_jobs=None, measures=()):
        """Those of all requests; callbacks of the measures may stop the walk."""
        response = self.response(features)
        walk = self.walk(response, features, requests, keep_rows)
        if not measures:
            return run_walk(walk, n_jobs)
        with Progress(measures, len(features) * len(requests)) as progress:
            return run_walk(walk, n_jobs, progress)

    def draw_donors(self, features, request, reduction, scale, measure):
        """The `Outcome` of drawn donors, for which the model itself is asked.

        Parameters
        ----------
        features : list of Feature
        request : Request
            Whose grid each row's donors are drawn from.
        reduction, scale
            See `StrataDraws`.
        measure : BaseImportance
            Whose `n_draws`, `tol`, `random_state`, `keep_rows` and `n_jobs` say how,
            and whose callbacks see the progress.
        """
        walk = self.walk(self.drawing(), features, [request], measure.keep_rows)
        seeds = feature_seeds(measure.random_state, len(features))
        effort, size = Effort.of(measure), self.reach(scale)
        order = self.row_order(int(seeds[0]), effort.most_rows(self.n_rows))
        draws = StrataDraws(walk, reduction, scale, seeds, order)
        outcome = draw_in_rounds(draws, effort, measure, size)
        measure.response_path_ = self.drawing(draws.done).path
        return outcome

    def draw_rows(self, features, request, sizes, n_first, measure):
        """The `Outcome` of drawn rows with all of the grid.

        Parameters
        ----------
        features : list of Feature
        request : Request
            Of one reduction.
        sizes : ndarray of shape (n_features,)
            Predictions that a row takes of each feature: its grid values, or 0.
        n_first : int
            How many rows are drawn first.
        measure : BaseImportance
            As in `draw_donors`.
        """
        request.follow_mean(len(self.base), measure.keep_rows)
        response = self.response(features)
        walk = self.walk(response, features, [request], measure.keep_rows)
        seeds = feature_seeds(measure.random_state, len(features))
        n_most = self.n_rows if isinstance(measure.tol, float) else n_first
        order = self.row_order(int(seeds[0]), n_most)
        draws, size = RowDraws(walk, order, sizes), self.reach(request.scales[0])
        outcome = rows_in_rounds(draws, n_first, measure.tol, measure, size)
        n_drawn = int(outcome.n_draws.max())
        measure.response_path_ = f"{response.path}, {rows_drawn(n_drawn, self.n_rows)}"
        return outcome

    def row_order(self, seed, n_most):
        """The order in which rows are drawn, those of a far response more often.

        Moves change these most. Beyond `NEAR` standard deviations from the mean, rows
        are drawn in proportion to how far they are; of several outputs, the root mean
        square counts.

        Parameters
        ----------
        seed : int
        n_most : int
            How many rows are drawn at most.
        """
        squares = self.rows.squared_deviations
        variances = squares @ self.weights
        varies = variances > 0
        squares = squares[varies] / variances[varies, np.newaxis]
        far = np.sqrt(squares.sum(axis=0) / max(varies.sum(), 1))
        return RowOrder.drawn(self.weights, seed, n_most, np.maximum(far, NEAR))

    def curves_are_cheap(self, features, request):
        """Whether all values cost hardly more than quantiles at drawn rows do.

        Parameters
        ----------
        features : list of Feature
        request : Request
            With the grid "all"; its first reduction takes mean curves.
        """
        response, reduction, n = (
            self.response(features),
            request.reductions[0],
            self.n_rows,
        )
        if response.asks_model:
            return n <= N_QUANTILES
        at_drawn_rows = TIMES_DRAWN * curve_rows(n) * response.call_cost()

        def cheap(sizes):
            quantiles = at_drawn_rows * np.minimum(sizes, N_QUANTILES).sum()
            exact = self.exact_cost(features, reduction, n, sizes)
            return exact <= max(quantiles, QUICK)

        # first without a look at the columns, as if all of their values differed
        most = np.full(len(features), n)
        return cheap(most) or cheap(self.sizes_for_costs(features, request))

    def rows_of_curves(self, features, request, most=np.inf):
        """The rows that curves at quantiles are means over, which are kept at once.

        Parameters
        ----------
        features : list of Feature
        request : Request
            Over the grid of the curves.
        most : float, default=inf
            How many rows the model may be asked for.

        Returns
        -------
        ndarray of int
            In the order of X. The same for all features and in all fits.
        """
        n_cells, few = N_JOINT, isinstance(request.grid, QuantileGrid)
        for feature in features:
            kind = kind_of(self.table, feature, request.categorical)
            if kind.categorical or not few:
                n_cells = max(n_cells, self.move(feature, request).n_cells)
        room = MOST_KEPT // (n_cells * len(self.base))
        n_drawn = int(min(curve_rows(self.n_rows), max(2, room), most))
        return self.curve_order.first(n_drawn)[0]

    @cached_property
    def curve_order(self):
        """The order in which rows are drawn for mean curves; the same in all fits."""
        return RowOrder.drawn(self.weights, 0, curve_rows(self.n_rows))

    def rows_alone(self, rows):
        """`Rows` of those that `rows_of_curves` has drawn; None: of all."""
        if rows is None:
            return self.rows
        _, shares, _ = self.curve_order.first(len(rows))
        return self.rows.alone(rows, weights=shares)

    def curves_of_rows(self, features, request, rows, measure):
        """The `Outcome` of mean curves over some of the rows.

        Parameters
        ----------
        features : list of Feature
        request : Request
            Whose first reduction gives the importances, and the last one the curves.
        rows : ndarray of int
            See `rows_of_curves`.
        measure : BaseImportance
            Whose `keep_rows` and `n_jobs` say how, and whose callbacks see the
            progress.
        """
        response = self.response(features)
        walk = self.walk(response, features, [request], measure.keep_rows)
        sizes = np.zeros(len(features), dtype=np.intp)
        draws = RowDraws(walk, self.curve_order, sizes)
        # without a tolerance, it does not matter how far the response reaches
        outcome = rows_in_rounds(draws, len(rows), None, measure, np.nan)
        measure.response_path_ = (
            f"{response.path}, {rows_drawn(len(rows), self.n_rows)}"
        )
        return outcome

    def reach(self, scale):
        """How far the unmoved response reaches, in units of the scale."""
        return float(np.mean(np.ptp(self.base, axis=1) / scale))

    @cached_property
    def units(self):
        """The independent rows or groups of rows, for standard errors."""
        if self.labels is None:
            return Units(len(self.weights), self.weights, self.weights)
        return Units.of(self.weights, self.labels)

    @property
    def rows(self):
        """All rows of the table."""
        index, y = np.arange(self.table.n_samples), vars(self).get("y")  # if asked for
        return Rows(self.table, index, self.weights, self.base, self.units, y)

    def walk(self, response, features, requests, keep_rows=False):
        """A walk over all rows; whether to keep the numbers of single ones."""
        over = [
            replace(request, grid=response.grid(request.grid, request.reductions))
            for request in requests
        ]
        return Walk(
            response,
            self.rows,
            self.moves(features, over),
            [request.reductions for request in requests],
            [request.scales for request in requests],
            keep_rows,
        )


@dataclass
class Request:
    """What a measure asks of a walk: reductions over one grid.

    Attributes
    ----------
    grid : str, int, array-like or dict
    reductions : list of Reduction
    scales : list of ndarray of shape (n_outputs,)
        One a reduction.
    categorical : frozenset of int
        Columns treated as categorical besides those that are by type.
    """

    grid: object
    reductions: list
    scales: list
    categorical: frozenset = frozenset()

    @classmethod
    def joined(cls, requests):
        """The reductions of requests over the same values, one after another."""
        return cls(
            requests[0].grid,
            [reduction for request in requests for reduction in request.reductions],
            [scale for request in requests for scale in request.scales],
            requests[0].categorical,
        )

    @property
    def over(self):
        """Equal for requests over the same values: of one name, or of one object."""
        named = isinstance(self.grid, str | int)
        return named, self.grid if named else id(self.grid), self.categorical

    def follow_mean(self, n_outputs, with_rows):
        """Ask for `MeanCurve`, too, which comes last."""
        self.reductions.append(MeanCurve("drifts" if with_rows else "sums"))
        self.scales.append(np.ones(n_outputs))


ALL = Request("all", [], [])  # through all observed values


def make_problem(estimator, X, y, sample_weight, response_method, groups=None):
    """Validate what `fit` was given and watch the unmoved response."""
    table = as_table(X)
    weights, kept, labels = check_rows(sample_weight, groups, table.n_samples)
    check_length(y, table.n_samples)
    model = Model(estimator, response_method, y=y)
    if not kept.all():
        table, weights = table.take(np.flatnonzero(kept)), weights[kept]
    base = model.unmoved(table, partial(_of_each_block, estimator))
    total = weights.sum()
    return Problem(table, model, y, weights / total, total, base, kept, labels)


# D of Huh & Lee, step 4, over all pairs of rows; the range of Clementine
STATISTICS = {"pairs": gini_mean_difference, "range": lambda values, _: np.ptp(values)}


def _of_each_block(estimator, function, blocks):
    """Call a function of each block: in threads, if the model serves them."""
    return (in_threads if serves_threads(estimator) else map)(function, blocks)


def compared_with(model, target, base):
    """What the outputs are compared with, (n_outputs, n_samples); target() is y."""
    if model.kind == "score" or model.clusters:
        return base
    y = target()
    if y is None:
        raise ValueError(
            "scale='auto' divides by the spread of y, got no y: pass y, or scale=None "
            "for importances in the units of the prediction."
        )
    if is_structured(y):
        raise ValueError(
            "scale='auto' needs a number or a label per row, but y has the fields "
            f"{list(y.dtype.names)}. {_WAY_OUT}"
        )
    if model.kind in {"probability", "label"}:
        targets = model.class_indicators(y)
    else:
        try:
            targets = y.reshape(len(y), -1).astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"scale='auto' needs a numeric y, got dtype {y.dtype}."
                f"{_no_classes(model)} {_WAY_OUT}"
            ) from None
    if targets is None or targets.shape[1] != len(base):
        shape = y.shape if targets is None else targets.shape
        raise ValueError(
            f"scale='auto' needs one column of y for each output, got y {shape} for "
            f"{len(base)} outputs.{_no_classes(model)} {_WAY_OUT}"
        )
    return targets.T


def distance(y, outputs):
    """How far one output is from y, (n_rows, n_cells)."""
    return np.abs(y.astype(np.float64) - outputs[0])


def _no_classes(model):
    """What is missing in a callable whose outputs are meant as scores of classes."""
    if model.method != "__call__":
        return ""
    return (
        " A callable has no `classes_` that say which class each output stands for: "
        "pass the classifier itself, or an object with `predict_proba` and `classes_`."
    )


def weighted_median(values, weights):
    """Median of a weighted sample; integer weights equal repeated values.

    Where exactly half of the weight lies below a gap, the midpoint of the gap.
    """
    positive = weights > 0
    values, weights = values[positive], weights[positive]
    order = np.argsort(values, kind="stable")
    values, below = values[order], np.cumsum(weights[order])
    half = 0.5 * below[-1]
    tolerance = 1e-12 * below[-1]
    low = np.searchsorted(below, half - tolerance)
    high = np.searchsorted(below, half + tolerance)
    return 0.5 * (values[low] + values[min(high, len(values) - 1)])
