"""The fast responses of one model on one X, made when they are asked for."""

import numpy as np

from skvarimp._measures.problem import ALL, make_problem
from skvarimp._response.lowering import respond
from skvarimp._response.responses.black_box import BlackBoxResponse
from skvarimp._running.memory import Memo, at_once


class Responses:
    """Curves of a model's outputs at the rows of X.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    table : Table
    entries : list of Entry
        Which move.
    """

    def __init__(self, estimator, table, entries):
        self.estimator, self.table, self.entries = estimator, table, entries
        self._known, self._served = Memo(most=np.inf), Memo()

    def of(self, method):
        """The rows watched by a method, and the response; None where there is none."""
        return self._known.get(method, lambda: self._made(method))

    def _made(self, method):
        try:
            of = make_problem(self.estimator, self.table, None, None, method)
            rows = of.table, of.base, of.weights
            response = respond(of.model, *rows, self.entries, walked=False)
        except (ValueError, TypeError, AttributeError):  # the caller asks the model
            return None, None
        return of, None if isinstance(response, BlackBoxResponse) else response

    def class_lists(self, method):
        """The classes of each column of y, as far as they are known."""
        return self.of(method)[0].model.class_lists or ()

    def at_donors(self, method, position, donors, together):
        """Outputs with one column's values from other rows, or None.

        Parameters
        ----------
        method : str
        position : int
            Of the column.
        donors : ndarray of shape (n_repeats, n_samples)
            The rows that values are taken from.
        together : bool
            Whether other columns will be asked for with the same donors: several are
            then found at once and kept.

        Returns
        -------
        ndarray of shape (n_outputs, n_repeats, n_samples) or None
            None where there is no fast response, or the model itself costs less.
        """
        problem, response = self.of(method)
        if response is None:
            return None
        size = at_once(response.n_outputs * donors.size) if together else 1
        first = position - position % size
        which = range(first, min(first + size, len(self.entries)))

        def find():
            return self._of_columns(problem, response, which, donors)

        found = self._served.get((method, first), find)
        return None if found is None else found[position - first]

    def _of_columns(self, problem, response, which, donors):
        moves = problem.moves(self.entries, [ALL])
        moves, n = [moves[e] for e in which], problem.table.n_samples
        cells = [len(donors) if response.reads_cells else m.n_cells for m in moves]
        cost = sum(response.evaluations(n, n_cells) for n_cells in cells)
        if cost > len(moves) * donors.size:
            return None
        cells = np.stack([move.codes[donors] for move in moves])
        return response.at_cells(
            problem.table, np.arange(n), moves, problem.base, cells
        )
