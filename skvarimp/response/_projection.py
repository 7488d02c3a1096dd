"""Models that see X through a few weighted sums of its columns: head(X W + b).

With W (n_columns, n_units), moving the columns J of row i from x_iJ to v changes its
sums by (v - x_iJ) W_J and nothing else.
"""

import numpy as np

from skvarimp.response._base import working_bytes
from skvarimp.response._scores import ScoreResponse, numeric_values, own_values


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
        self._remembered = None, None

    def __getstate__(self):
        return {**self.__dict__, "_remembered": (None, None)}

    def uses(self, columns):
        """See `ScoreResponse.uses`."""
        return bool(self.weights[list(columns)].any())

    def sums(self, table, rows):
        """X W + b of some rows, (n_rows, n_units); of a whole table made once."""
        if 8 * table.n_samples * len(self.intercept) > working_bytes() / 2:
            return table.take(rows).numeric() @ self.weights + self.intercept
        known, sums = self._remembered
        if known is not table:
            sums = table.numeric() @ self.weights + self.intercept
            self._remembered = table, sums
        return sums[rows]

    def scores(self, table, rows, move):
        """See `ScoreResponse.scores`."""
        columns = list(move.entry.columns)
        weights = self.weights[columns]
        others = self.sums(table, rows) - own_values(table, rows, columns) @ weights
        return self.moved_scores(others, weights, numeric_values(move))

    def moved_scores(self, others, weights, values):
        """Scores of moved rows.

        result[q, i, k] = head_q(others[i] + values[k] @ weights)

        Parameters
        ----------
        others : ndarray of shape (n_rows, n_units)
            The rows' sums without the moved columns.
        weights : ndarray of shape (n_moved, n_units)
        values : ndarray of shape (n_cells, n_moved)

        Returns
        -------
        ndarray of shape (n_scores, n_rows, n_cells)
        """
        steps = values @ weights
        scores = np.empty((self.n_scores, len(others), len(values)))
        step = max(1, 2**17 // steps.size)  # sums that stay in the processor's cache
        for start in range(0, len(others), step):
            part = slice(start, start + step)
            scores[:, part] = self.head(others[part, np.newaxis] + steps)
        return scores

    def head(self, sums):
        """Scores (n_scores, ...) of sums (..., n_units), which may be overwritten."""
        raise NotImplementedError
