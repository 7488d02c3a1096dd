"""Responses that see X through a few weighted sums of its columns, head(X W + b).

With W (n_columns, n_units), moving the columns J of row i from x_iJ to v changes its
sums by (v - x_iJ) W_J and nothing else. Linear models are of this form, and so are
multilayer perceptrons.
"""

import numpy as np

from skvarimp._response.responses.scores import ScoreResponse, own_values
from skvarimp._running.memory import CACHE, Memo, slices, working_bytes


class ProjectionResponse(ScoreResponse):
    """link(head(X W + b)); a subclass implements `head`.

    Parameters
    ----------
    model, link, n_scores : see `ScoreResponse`
    weights : ndarray of shape (n_columns, n_units)
    intercept : ndarray of shape (n_units,)
    """

    def __init__(self, model, link, n_scores, weights, intercept):
        super().__init__(model, link, n_scores)
        self.weights, self.intercept = weights, intercept
        self.used = weights.any(axis=1)
        self.numbers_per_cell = len(intercept)
        self._sums = Memo(travels=True)

    def sums(self, rows):
        """X W + b of some rows, (n_rows, n_units); computed once per table."""
        table = rows.table
        if 8 * table.n_samples * len(self.intercept) > working_bytes() / 2:
            return table.take(rows.index).numeric() @ self.weights + self.intercept

        def make():
            return table.numeric() @ self.weights + self.intercept

        return self._sums.get(table, make)[rows.index]

    def scores_at(self, rows, columns, values):
        others = self.others(rows, columns)
        return self.moved_scores(others, columns, values)

    def added(self, values, columns):
        """What some columns add to the units' sums, (n_values, n_units)."""
        return values @ self.weights[columns]

    def others(self, rows, columns):
        """The units' sums but for what some columns add, (n_rows, n_units)."""
        return self.sums(rows) - self.added(own_values(rows, columns), columns)

    def moved_scores(self, others, columns, values):
        """Scores of moved rows.

        result[q, i, k] = head_q(others[i] + added(values[k]))

        Parameters
        ----------
        others : ndarray of shape (n_rows, n_units)
            The rows' sums without the moved columns.
        columns : list of int
        values : ndarray of shape (n_cells, len(columns))

        Returns
        -------
        ndarray of shape (n_scores, n_rows, n_cells)
        """
        added = self.added(values, columns)
        scores = np.empty((self.n_scores, len(others), len(values)))
        for part in slices(len(others), added.size, CACHE):
            scores[:, part] = self.head(others[part, np.newaxis] + added)
        return scores

    def scores_of_cells(self, rows, columns, values):
        added = self.added(values.reshape(-1, len(columns)), columns)
        added = added.reshape(*values.shape[:2], -1)
        return self.head(self.others(rows, columns) + added)

    def head(self, sums):
        """Scores (n_scores, ...) of sums (..., n_units), which may be overwritten."""
        raise NotImplementedError
