"""Additive forms with other parts than lines: link(b + sum_j g_j(x_j))."""

import numpy as np

from skvarimp._models.links import IDENTITY
from skvarimp._response.contract import Costs
from skvarimp._response.responses.scores import (
    ScoreResponse,
    numeric_values,
    own_values,
)
from skvarimp._running.memo import Memo


class AdditiveResponse(ScoreResponse):
    """Moving columns changes only their own parts of a row's scores.

    Parameters
    ----------
    model : Model
    form : Additive
    """

    path = "additive"

    def __init__(self, model, form):
        super().__init__(model, form.link, len(form.intercept))
        self.form = form
        self._sums = Memo(travels=True)

    def sums(self, table):
        """Scores of a table's rows, (n_rows, n_scores), made once a table."""
        return self._sums.get(table, lambda: self.form.sums(table.numeric()))

    def scores_at(self, table, rows, columns, values):
        """See `ScoreResponse.scores_at`."""
        own = self.form.steps(own_values(table, rows, columns), columns)
        others = self.sums(table)[rows] - own
        steps = self.form.steps(values, columns)
        return others.T[:, :, np.newaxis] + steps.T[:, np.newaxis, :]

    def costs(self):
        """See `Response.costs`."""
        call = 15.0 + 0.5 * self.form.weights.size
        return Costs(call, self.n_scores, 1.0 + 0.25 * self.n_scores)

    def mean_curves(self, table, rows, weights, move, base):
        """See `Response.mean_curves`."""
        if self.link is not IDENTITY:
            return super().mean_curves(table, rows, weights, move, base)
        columns = list(move.entry.columns)
        own = weights @ self.form.steps(own_values(table, rows, columns), columns)
        steps = self.form.steps(numeric_values(move), columns)
        return steps.T * weights.sum() - own[:, np.newaxis]
