"""The fast responses of one model on one X, made when they are asked for."""

import numpy as np

from skvarimp._data.entries import Entry
from skvarimp._data.table import as_table
from skvarimp._measures.problem import make_problem
from skvarimp._response.lowering import respond
from skvarimp._response.responses.black_box import BlackBoxResponse
from skvarimp._running.memory import at_once


class Responses:
    """Curves of a model's outputs at the rows of X.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : array or frame
    """

    def __init__(self, estimator, X):
        self.estimator, self.table = estimator, as_table(X)
        names = self.table.column_names()
        self.entries = [Entry(name, (j,)) for j, name in enumerate(names)]
        self._problems, self._responses, self._served = {}, {}, None

    def problem(self, method):
        """The rows watched by a method; None where they cannot be."""
        if method not in self._problems:
            self._problems[method] = self._made(method)
        return self._problems[method]

    def _made(self, method):
        try:
            return make_problem(self.estimator, self.table, None, None, method)
        except (ValueError, TypeError, AttributeError):  # the caller asks the model
            return None

    def class_lists(self, method):
        """The classes of each column of y, as far as they are known."""
        return self.problem(method).model.class_lists or ()

    def response(self, method, entries):
        """The response by a method, or None where the model is to be asked."""
        key = method, tuple(entries)
        if key not in self._responses:
            self._responses[key] = self._responding(method, entries)
        return self._responses[key]

    def _responding(self, method, entries):
        of = self.problem(method)
        if of is None:
            return None
        try:
            response = respond(
                of.model, of.table, of.base, of.weights, entries, walked=False
            )
        except (ValueError, TypeError, AttributeError):
            return None
        return None if isinstance(response, BlackBoxResponse) else response

    def at_donors(self, method, position, donors, together):
        """Outputs with one column's values from other rows, or None.

        Parameters
        ----------
        method : str
        position : int
            The column.
        donors : ndarray of shape (n_repeats, n_samples)
        together : bool
            Whether the other columns will be asked for with the same donors: then
            as many as fit in memory are served at once.

        Returns
        -------
        ndarray of shape (n_outputs, n_repeats, n_samples)
        """
        response = self.response(method, self.entries)
        if response is None:
            return None
        n_columns = len(self.entries)
        size = at_once(response.n_outputs * donors.size) if together else 1
        first = position - position % size
        which = range(first, min(first + size, n_columns))
        key = method, first, size
        if self._served is None or self._served[0] != key:
            found = self._of_columns(method, response, which, donors)
            self._served = key, found
        found = self._served[1]
        return None if found is None else found[position - first]

    def _of_columns(self, method, response, which, donors):
        problem = self.problem(method)
        moves = problem.moves(self.entries, [_EVERY_VALUE])
        moves, n = [moves[e] for e in which], problem.table.n_samples
        cells = [len(donors) if response.reads_cells else m.n_cells for m in moves]
        cost = sum(response.evaluations(n, n_cells) for n_cells in cells)
        if cost > len(moves) * donors.size:
            return None
        cells = np.stack([move.codes[donors] for move in moves])
        return response.at_cells(
            problem.table, np.arange(n), moves, problem.base, cells
        )


class _EveryValue:
    """The grid of all observed values, as `Problem.moves` wants it."""

    grid, categorical = "all", frozenset()


_EVERY_VALUE = _EveryValue()
