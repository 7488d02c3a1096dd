"""What fits cost in rows that the model predicts: before, and within a limit."""

from dataclasses import replace

import numpy as np

from skvarimp._data.table import (
    as_table,
    check_features_seen,
    check_fitted,
    resolve_features,
)
from skvarimp._data.values import spread_over
from skvarimp._measures.problem import Problem, Request
from skvarimp._models.forms import NotReadable
from skvarimp._models.model import Model
from skvarimp._response.contract import BlackBoxResponse
from skvarimp._response.directions import N_BINS, MeanCurve
from skvarimp._response.lowering import lowered
from skvarimp._response.reductions import Observed
from skvarimp._response.rounds import rows_per_repeat
from skvarimp._running.guards import budget

ROWS_ASKED = 100  # for directions


def settle_estimation(measure, plan):
    """Choose the estimation of a plan that leaves it open, within `max_evaluations`.

    Parameters
    ----------
    measure : ResponseImportance
    plan : Plan
    """
    free = plan.estimation == "auto"
    if free:
        plan.estimation = measure._cheapest(plan)
    if getattr(measure, "max_evaluations", None) is None:
        return
    plan.problem.in_one_place("`max_evaluations`")
    if plan.estimation != "exact":
        return
    needed = measure._exact_rows(plan)
    if needed <= budget().left:
        return
    if not free:
        raise ValueError(
            f"estimation='exact' needs predictions of up to {needed} moved rows, and "
            f"max_evaluations={measure.max_evaluations} leaves {budget().left}. Use "
            f"estimation='{measure._drawn_estimation}'."
        )
    plan.estimation = measure._drawn_estimation


def expected_rows(measure, estimator, X, moved_rows):
    """See `ConditionalImportance.expected_evaluations`.

    Parameters
    ----------
    measure : ResponseImportance
    estimator, X
    moved_rows : callable
        moved_rows(measure, problem, entries) -> how many a fit asks for, at most.
    """
    table = as_table(X)
    check_fitted(estimator, table)
    check_features_seen(estimator, table)
    entries = resolve_features(measure.features, table.names, table.n_columns)
    n = table.n_samples
    model = Model(estimator, measure.response_method)
    weights, base = np.full(n, 1.0 / n), np.zeros((1, n))
    every = np.ones(n, dtype=bool)
    problem = Problem(table, model, None, weights, n, base, every)
    try:
        response = lowered(model, table)
    except NotReadable as declined:
        response = BlackBoxResponse(model, 1, str(declined))
    problem._responses.get(tuple(entries), lambda: response)
    most = measure.max_evaluations or np.inf
    return int(min(most, n + moved_rows(measure, problem, entries)))


def moved_rows(measure, problem, entries):
    """How many moved rows a fit asks for, at most."""
    categorical = measure._categorical(problem)
    contrast = getattr(measure, "contrast", "observed")
    grid = getattr(measure, "grid", "all")
    if isinstance(grid, str) and grid == "auto":
        grid = "equidistant" if contrast == "range" else "all"
    # which reduction it is makes no difference to a response that asks the model
    request = Request(grid, [Observed()], [np.ones(1)], categorical)
    n, estimation = problem.n_rows, measure._estimation()
    drawn = measure.n_repeats * n * measure._n_moves * len(entries)
    if getattr(measure, "scoring", None) is not None:
        return drawn
    if not problem.response(entries).asks_model and estimation != "sampled":
        return 0
    sizes = problem.grid_sizes(entries, request)
    if measure._drawn_estimation == "rows" or estimation == "rows":
        drawn = int(measure.n_repeats * rows_per_repeat(n, sizes) * sizes.sum())
    exact = problem.exact_rows(entries, request)
    cheap = estimation == "auto" and problem.exact_is_cheap(entries, request, drawn)
    return exact if cheap or estimation == "exact" else drawn


def follow_mean(request, problem, with_rows):
    """Ask for `MeanCurve`, too, which comes last."""
    request.reductions.append(MeanCurve(with_rows))
    request.scales.append(np.ones(len(problem.base)))


def mean_walk(measure, problem, entries, with_rows):
    """A walk for the mean curves alone, or None.

    A model that is not read is asked at `ROWS_ASKED` rows and `N_BINS` values. Where
    the rows that it is asked for are counted, it is not asked at all.
    """
    response, rows = problem.response(entries), np.arange(problem.n_rows)
    request = Request("all", [], [], measure._categorical(problem))
    if response.asks_model and hasattr(measure, "max_evaluations"):
        return None
    if isinstance(response, BlackBoxResponse):
        request.grid, rows = N_BINS, spread_over(problem.n_rows, ROWS_ASKED)
    follow_mean(request, problem, with_rows)
    walk, weights = problem.walk(response, entries, [request]), problem.weights[rows]
    base = np.ascontiguousarray(problem.base[:, rows])
    return replace(walk, rows=rows, weights=weights / weights.sum(), base=base)
