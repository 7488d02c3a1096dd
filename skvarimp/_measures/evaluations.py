"""What fits cost in rows that the model predicts: before, and within a limit."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np

from skvarimp._data.base_table import spread_over
from skvarimp._data.table import as_table
from skvarimp._measures.problem import Problem, Request
from skvarimp._models.forms import NotReadable
from skvarimp._models.model import Model
from skvarimp._response.contract import BlackBoxResponse
from skvarimp._response.drawing import N_BINS
from skvarimp._types import AnyEstimator, Matrix


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
            The rows of X and all rows in which features are moved, if no `tol` stops
            draws before. Models that are read are asked for a few thousand rows more,
            which check what was read. At most `max_evaluations`.

        Examples
        --------
        Six draws of 50 rows, for each of three columns, and X:

        >>> import numpy as np
        >>> from skvarimp import SensitivityImportance
        >>> X = np.random.default_rng(0).normal(size=(50, 3))
        >>> imp = SensitivityImportance(estimation="sampled")
        >>> imp.expected_evaluations(lambda X: X[:, 0], X)
        950
        """
        table, measure = as_table(X), copy(self)  # whose attributes stay as they are
        features = measure._set_features(table, measure.features, estimator)
        n = table.n_samples
        model = Model(estimator, measure.response_method)
        weights, base = np.full(n, 1.0 / n), np.zeros((1, n))
        every = np.ones(n, dtype=bool)
        problem = Problem(table, model, None, weights, n, base, every)
        try:
            response = problem.fast_response
        except NotReadable as declined:
            response = BlackBoxResponse(model, 1, str(declined))
        problem._responses[tuple(features)] = response
        most = measure.max_evaluations or np.inf
        return int(min(most, n + measure._moved_rows(problem, features)))

    def _least_evaluations(self, n_rows, features):
        """How many rows are enough for importances and errors, whatever the model is.

        Parameters
        ----------
        n_rows : int
        features : list of Feature
        """
        raise NotImplementedError

    def _moved_rows(self, problem, features):
        """How many moved rows a fit asks for, at most."""
        raise NotImplementedError


def exact_rows(problem, features, request, response=None):
    """How many rows exact numbers ask the model for, at most.

    By the response that serves the features, or another one.
    """
    response = response or problem.response(features)
    if not response.asks_model:
        return 0
    found = problem.moves(features, [request])
    moves = (found[e] for e in range(len(features)))
    # a row that is moved to its own value is known
    sizes = [m.cells_per_row - (m.codes is not None) for m in moves]
    return int(np.ceil(problem.n_rows * np.sum(sizes)))


def rows_again(problem, features, request, curves):
    """How many rows curves are formed of once more, for the influences of all rows.

    Parameters
    ----------
    problem : Problem
    features : list of Feature
    request : Request
    curves : PartialDependence
        Of the request. It keeps each row's curve where memory allows.
    """
    n_outputs, sizes = len(problem.base), problem.grid_sizes(features, request)
    again = [k for k in sizes if not curves.keeps_apart(n_outputs * k)]
    return problem.n_rows * int(sum(again))


ROWS_ASKED = 100  # for directions


def mean_walk(measure, problem, features, with_rows):
    """A walk for the mean curves alone, or None.

    A model that is not read is asked at `ROWS_ASKED` rows and `N_BINS` values. Where
    the rows that it is asked for are counted, it is not asked at all.
    """
    response, rows = problem.response(features), np.arange(problem.n_rows)
    request = Request("all", [], [], measure._categorical)
    if response.asks_model and isinstance(measure, CountsEvaluations):
        return None
    if isinstance(response, BlackBoxResponse):
        request.grid, rows = N_BINS, spread_over(problem.n_rows, ROWS_ASKED)
    request.follow_mean(len(problem.base), with_rows)
    walk = problem.walk(response, features, [request])
    return replace(walk, rows=walk.rows.alone(rows, problem.units))
