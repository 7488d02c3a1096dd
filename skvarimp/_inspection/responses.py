"""The fast responses of one model on one X, made when they are asked for."""

import numpy as np

from skvarimp._data.entries import Entry
from skvarimp._data.table import as_table
from skvarimp._measures.response_importance import make_problem
from skvarimp._response.responses.black_box import BlackBoxResponse
from skvarimp._running.memory import HELD, even_slices

CHEAP = ("linear", "additive")  # one multiplication per column: asking costs no more


class Responses:
    """Curves of a model's outputs at the rows of X.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : array or frame
    """

    def __init__(self, estimator, X):
        self.estimator, self.X = estimator, X
        self._problems = {}

    def problem(self, method):
        """The rows and the response by a method; None where the model is asked."""
        if method not in self._problems:
            self._problems[method] = self._made(method)
        return self._problems[method]

    def _made(self, method):
        try:
            table = as_table(self.X)
            problem = make_problem(self.estimator, table, None, None, method)
            entries = [Entry(n, (j,)) for j, n in enumerate(table.column_names())]
            response = problem.response(entries)
            if isinstance(response, BlackBoxResponse):
                return None
        except (ValueError, TypeError, AttributeError):  # the caller asks the model
            return None
        return problem, entries

    def at_donors(self, method, position, donors):
        """Outputs with one column's values from other rows, or None.

        Parameters
        ----------
        method : str
        position : int
            The column.
        donors : ndarray of shape (n_repeats, n_samples)

        Returns
        -------
        ndarray of shape (n_outputs, n_repeats, n_samples)
        """
        made = self.problem(method)
        if made is None:
            return None
        problem, entries = made
        response, n = problem.response(entries), problem.table.n_samples
        if response.path in CHEAP:
            return None
        move = problem.moves(entries, [_EVERY_VALUE])[position]
        if response.evaluations(n, move.n_cells) > donors.size:
            return None
        cells = move.codes[donors]
        result = np.empty((len(problem.base), *donors.shape))
        for part in even_slices(n, max(1, HELD // move.n_cells)):
            rows = np.arange(part.start, part.stop)
            base = problem.base[:, part]
            curves = response.curves(problem.table, rows, move, base)
            result[:, :, part] = curves[:, np.arange(len(rows)), cells[:, part]]
        return result


class _EveryValue:
    """The grid of all observed values, as `Problem.moves` wants it."""

    grid, categorical = "all", frozenset()


_EVERY_VALUE = _EveryValue()
