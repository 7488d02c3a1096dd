"""Additive forms with parts that are not lines: link(b + sum_j g_j(x_j))."""

import numpy as np

from skvarimp._response.costs import Costs
from skvarimp._response.responses.linear import LinearResponse
from skvarimp._response.responses.scores import numeric_values, own_values


class AdditiveResponse(LinearResponse):
    """Moved columns change only their own parts of a row's scores.

    A single score is a line in what the moved columns add to it, whatever that is.

    Parameters
    ----------
    model : Model
    form : Additive
    """

    path = "additive"

    def __init__(self, model, form):
        super().__init__(model, form)
        self.form, self.steps_alone = form, False
        self.smooth = self.n_scores == 1 or all(part.smooth for part in form.parts)

    def uses(self, columns):
        """See `ScoreResponse.uses`."""
        return np.ones(len(columns), dtype=bool)

    def sums(self, table, rows):
        """See `ProjectionResponse.sums`; the scores themselves."""
        return self._sums.get(table, lambda: self.form.sums(table.numeric()))[rows]

    def scores_at(self, table, rows, columns, values):
        """See `ScoreResponse.scores_at`."""
        own = self.form.steps(own_values(table, rows, columns), columns)
        others = self.sums(table, rows) - own
        steps = self.form.steps(values, columns)
        return self.added(others, steps)

    def _line(self, table, rows, move):
        """See `LinearResponse._line`."""
        columns = list(move.entry.columns)
        t = self.form.steps(numeric_values(move), columns).T
        if move.codes is not None:
            return t, t[:, move.codes[rows]]
        return t, self.form.steps(own_values(table, rows, columns), columns).T

    def _is_straight(self, move):
        """See `LinearResponse._is_straight`."""
        return False

    def costs(self):
        """See `Response.costs`."""
        call = 15.0 + 0.5 * self.weights.size
        return Costs(call, 5.0, 1.0 + 0.25 * self.n_scores)

    def batches(self, walk, first, columns):
        """See `ProjectionResponse.batches`; none."""
        return iter(())
