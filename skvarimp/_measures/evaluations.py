"""What fits cost in rows that the model predicts: before, and within a limit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skvarimp._data.base_table import spread_over
from skvarimp._data.table import (
    as_table,
    check_features_seen,
    check_fitted,
    resolve_features,
)
from skvarimp._measures.problem import Problem, Request
from skvarimp._models.forms import NotReadable
from skvarimp._models.model import Model
from skvarimp._response.contract import BlackBoxResponse
from skvarimp._response.directions import N_BINS, MeanCurve
from skvarimp._response.lowering import lowered
from skvarimp._running.guards import budget
from skvarimp._types import AnyEstimator, Matrix

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


class CountsEvaluations:
    """A measure that says before a fit how many rows it will ask the model for."""

    def expected_evaluations(self, estimator: AnyEstimator, X: Matrix) -> int:
        """How many rows a fit would ask the model to predict, at most.

        Parameters
        ----------
        estimator : object
            Fitted model.
        X : {array-like, frame, sparse} of shape (n_samples, n_features)
            Rows that `fit` would be given.

        Returns
        -------
        int
            The rows of X and all rows in which entries are moved. With `tol` it is the
            number if all repeats are made. Models that are read are asked for a few
            thousand rows more, which check what was read; of smooth models this method
            itself asks some of them. At most `max_evaluations`.

        Examples
        --------
        Ten repeats of two draws of 50 rows, for each of three columns, and X:

        >>> import numpy as np
        >>> from skvarimp import SensitivityImportance
        >>> X = np.random.default_rng(0).normal(size=(50, 3))
        >>> imp = SensitivityImportance(estimation="sampled")
        >>> imp.expected_evaluations(lambda X: X[:, 0], X)
        3050
        """
        table = as_table(X)
        check_fitted(estimator, table)
        check_features_seen(estimator, table)
        entries = resolve_features(self.features, table.names, table.n_columns)
        n = table.n_samples
        model = Model(estimator, self.response_method)
        weights, base = np.full(n, 1.0 / n), np.zeros((1, n))
        every = np.ones(n, dtype=bool)
        problem = Problem(table, model, None, weights, n, base, every)
        try:
            response = lowered(model, table)
        except NotReadable as declined:
            response = BlackBoxResponse(model, 1, str(declined))
        problem._responses[tuple(entries)] = response
        most = self.max_evaluations or np.inf
        return int(min(most, n + self._moved_rows(problem, entries)))

    def _moved_rows(self, problem, entries):
        """How many moved rows a fit asks for, at most."""
        raise NotImplementedError


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
