"""`ResponseImportance`: importances that are reductions of the response engine."""

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from joblib import effective_n_jobs

from skvarimp._data.entries import resolve_columns
from skvarimp._data.table import as_table, rows_of_target
from skvarimp._data.validation import check_length, check_sample_weight, check_target
from skvarimp._measures.base import BaseImportance
from skvarimp._measures.rows import store_rows
from skvarimp._models.model import Model
from skvarimp._response.contract import Walk
from skvarimp._response.engine import run_walk
from skvarimp._response.grid import Moves
from skvarimp._response.lowering import respond
from skvarimp._response.responses.black_box import BlackBoxResponse
from skvarimp._running.memory import call_rows, even_slices
from skvarimp._running.progress import Progress, within_callbacks
from skvarimp._running.warn import warn

CHEAP_EVALUATIONS = 1_000_000  # "auto" is exact up to here, whatever it costs


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
    """

    table: object
    model: Model
    given_y: object
    weights: np.ndarray
    total_weight: float
    base: np.ndarray
    kept: np.ndarray
    _responses: dict = field(default_factory=dict, repr=False)

    @cached_property
    def y(self):
        """The targets of the rows as an array, validated when a measure asks; or None.

        A structured y, as of survival models, is for scorers only.
        """
        y = check_target(self.given_y, len(self.kept))
        return None if y is None else y[self.kept]

    def y_as_given(self):
        """The targets of the rows in the user's own container."""
        if self.kept.all():
            return self.given_y
        return rows_of_target(self.given_y, np.flatnonzero(self.kept))

    def response(self, entries):
        """The probed response that serves the entries; made once."""
        key = tuple(entries)
        if key not in self._responses:
            self._responses[key] = respond(
                self.model, self.table, self.base, self.weights, entries
            )
        return self._responses[key]

    def drawing(self):
        """The response that drawn rows are asked for: the model itself.

        Its path says why no other serves, where that is known.
        """
        reasons = [getattr(r, "reason", "") for r in self._responses.values()]
        reason = "; ".join(["drawn rows", *filter(None, reasons[:1])])
        return BlackBoxResponse(self.model, len(self.base), reason)

    def moves(self, entries, requests):
        """The values that the entries move through."""
        return Moves(
            self.table,
            self.weights,
            entries,
            [request.grid for request in requests],
            [request.categorical for request in requests],
        )

    def grid_sizes(self, entries, request):
        """How many values each entry moves through."""
        moves = self.moves(entries, [request])
        return np.array([moves[e].n_cells for e in range(len(entries))])

    def exact_is_cheap(self, entries, request, drawn):
        """Whether the exact numbers cost no more than drawn ones, or little.

        Parameters
        ----------
        entries : list of Entry
        request : Request
            Of one reduction.
        drawn : float
            Cost of the drawn numbers of all entries, in calls of the model for one row.
        """
        limit = max(CHEAP_EVALUATIONS, drawn)
        most = np.full(len(entries), self.table.n_samples)
        if self._exact_cost(entries, request, most) <= limit:
            return True
        sizes = self.grid_sizes(entries, request)
        return self._exact_cost(entries, request, sizes) <= limit

    def _exact_cost(self, entries, request, sizes):
        response, n = self.response(entries), self.table.n_samples
        (reduction,) = request.reductions
        grouped = [len(entry.columns) > 1 for entry in entries]
        cost = 0.0
        for (group, k), count in Counter(zip(grouped, sizes.tolist())).items():
            if group:
                cost += count * response.evaluations_of_group(n, k)
            else:
                cost += count * response.evaluations_for(reduction, n, k)
        return cost

    def walk(self, response, entries, requests, keep_rows=False):
        """A walk over all rows; whether to keep the numbers of single ones."""
        return Walk(
            response,
            self.table,
            self.moves(entries, requests),
            [request.reductions for request in requests],
            np.arange(self.table.n_samples),
            self.weights,
            self.base,
            self.total_weight,
            vars(self).get("y"),  # where a measure asked for it
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


@dataclass
class Plan:
    """What a measure asks of the shared walk; subclasses add what it concludes from.

    Attributes
    ----------
    problem : Problem
    entries : list of Entry
    requests : list of Request
        None for a measure that does all its work by itself.
    """

    problem: Problem
    entries: list
    requests: list


def make_problem(estimator, X, y, sample_weight, response_method):
    """Validate what `fit` was given and watch the unmoved response."""
    table = as_table(X)
    weights = check_sample_weight(sample_weight, table.n_samples)
    check_length(y, table.n_samples)
    model = Model(estimator, response_method)
    kept = weights > 0
    if not kept.all():
        table, weights = table.take(np.flatnonzero(kept)), weights[kept]
    base = unmoved_response(model, table)
    total = weights.sum()
    return Problem(table, model, y, weights / total, total, base, kept)


def unmoved_response(model, table):
    """The response at every row, (n_outputs, n_samples).

    The model gets copies, into which it may write; block by block where X is large,
    as X may be a memory map larger than the memory.
    """
    parts = even_slices(table.n_samples, call_rows(table.n_columns))
    if len(parts) <= 1:
        return np.ascontiguousarray(model.unmoved(table.copy()).T)
    rows = [np.arange(part.start, part.stop) for part in parts]
    first = model.unmoved(table.take(rows[0]).native).T
    others = [model(table.take(part).native).T for part in rows[1:]]
    return np.hstack([first, *others])


class ResponseImportance(BaseImportance):
    """An importance that watches the response as one entry moves.

    A subclass says in `_plan` which reductions it needs, and turns their outcomes
    into its attributes in `_conclude`. Several measures share one walk, see
    `fit_together`.
    """

    def _fit(self, estimator, X, y, sample_weight):
        fit_together([self], estimator, X, y, sample_weight)

    def _plan(self, problem, entries):
        """The `Plan` of a fit; raises on bad input, before any work."""
        raise NotImplementedError

    def _conclude(self, plan, outcomes):
        """Set the fitted attributes from one list of outcomes per request."""
        raise NotImplementedError

    def _categorical(self, problem):
        return resolve_columns(
            getattr(self, "categorical_features", None),
            problem.table.names,
            problem.table.n_columns,
        )

    def _store_outcome(self, plan, outcome):
        errors = outcome.standard_errors
        self._store(
            outcome.importances,
            [entry.name for entry in plan.entries],
            plan.problem.model.output_names,
            None if np.all(np.isnan(errors)) else errors,
        )
        self._store_rows(plan, outcome)

    def _store_rows(self, plan, outcome):
        """Keep what the outcome says of single rows, where `keep_rows` asks for it."""
        if not getattr(self, "keep_rows", False):
            return
        problem, influences = plan.problem, outcome.influences
        if influences is None:  # a callback stopped before the first entry
            influences = np.full((len(problem.weights), len(plan.entries)), np.nan)
        store_rows(
            self,
            problem.table,
            problem.kept,
            problem.weights,
            problem.total_weight,
            influences,
            outcome.contributions,
        )


def fit_together(measures, estimator, X, y=None, sample_weight=None):
    """Fit engine measures on one model and data, in as few walks as they allow.

    Measures that watch the same response of the same entries share one walk.
    """
    table = as_table(X)
    entries = [m._set_entries(table, m.features, estimator) for m in measures]
    problems = {}
    for measure in measures:
        if measure.response_method not in problems:
            problems[measure.response_method] = make_problem(
                estimator, table, y, sample_weight, measure.response_method
            )
    shared = {}
    for measure, of_measure in zip(measures, entries):
        key = (measure.response_method, tuple(of_measure))
        shared.setdefault(key, []).append(measure)
    groups = [
        [m._plan(problems[method], list(of_group)) for m in group]
        for (method, of_group), group in shared.items()
    ]
    within_callbacks(
        measures,
        lambda: [_carry_out(*pair) for pair in zip(shared.values(), groups)],
    )


def _carry_out(measures, plans):
    """Walk once for measures of the same response and entries, and conclude."""
    problem, entries = plans[0].problem, plans[0].entries
    response = problem.response(entries)
    merged, places = _merged([plan.requests for plan in plans])
    outcomes = []
    if merged:
        asking = [m for m, plan in zip(measures, plans) if plan.requests]
        keep_rows = any(getattr(m, "keep_rows", False) for m in asking)
        walk = problem.walk(response, entries, merged, keep_rows)
        n_jobs = max((m.n_jobs for m in asking), key=effective_n_jobs)
        with Progress(asking, len(walk.moves)) as progress:
            outcomes = run_walk(walk, n_jobs, progress.step)
    for measure, plan, of_measure in zip(measures, plans, places):
        measure.response_path_ = response.path
        of_requests = [[outcomes[m][r] for m, r in place] for place in of_measure]
        measure._conclude(plan, of_requests)
        warn_stopped(measure)


def _merged(requests):
    """Requests over one grid put together, so that its curves are formed once.

    Returns
    -------
    merged : list of Request
    places : list of list of list of (int, int)
        For each measure, request and reduction: where in `merged` it stands.
    """
    merged, numbers, places = [], {}, []
    for of_measure in requests:
        places.append([])
        for request in of_measure:
            plain = isinstance(request.grid, str | int)
            grid = request.grid if plain else id(request.grid)
            key = (plain, grid, request.categorical)
            if key not in numbers:
                numbers[key] = len(merged)
                merged.append(Request(request.grid, [], [], request.categorical))
            to = merged[numbers[key]]
            first = len(to.reductions)
            to.reductions.extend(request.reductions)
            to.scales.extend(request.scales)
            places[-1].append(
                [(numbers[key], first + r) for r in range(len(request.reductions))]
            )
    return merged, places


def warn_stopped(measure, missing=None):
    """Say so where a callback left entries, those that are NaN, without importance."""
    missing = int(np.isnan(measure.importances_).sum()) if missing is None else missing
    if missing:
        warn(
            f"A callback stopped {type(measure).__name__}: {missing} of "
            f"{len(measure.importances_)} entries have no importance (NaN)."
        )
