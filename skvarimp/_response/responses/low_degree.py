"""Sums of products of lines and hinges: few values tell them along one column.

Without hinges a score is a polynomial of the moved value, which degree + 1 Chebyshev
nodes determine. With hinges in the single columns it is a line between their kinks.
"""

from functools import partial

import numpy as np

from skvarimp._models.links import EXPONENTIAL, IDENTITY, LOGISTIC
from skvarimp._response.costs import Costs
from skvarimp._response.responses.projection import ProjectionResponse
from skvarimp._response.shapes.basis import interpolation, nodes
from skvarimp._response.shapes.line import between_kinks
from skvarimp._running.memory import CACHE, slices


class LowDegreeResponse(ProjectionResponse):
    """link(sum_t coef[t] prod_u z_u), z = X A + c or its positive part.

    Parameters
    ----------
    model : Model
    form : LowDegree
    """

    path = "low degree"

    def __init__(self, model, form):
        n_scores = len(form.intercept)
        super().__init__(model, form.link, n_scores, form.matrix, form.shift)
        self.form = form
        self.smooth = not form.hinges.any()
        ascending = form.link in (IDENTITY, EXPONENTIAL, LOGISTIC)
        self.turns_once = ascending and all(
            form.degree(units) <= 2 for units in form.matrix != 0
        )

    def head(self, sums):
        """See `ProjectionResponse.head`."""
        return np.moveaxis(self.form.head(sums), -1, 0)

    def moved_scores(self, others, weights, values):
        """See `ProjectionResponse.moved_scores`; unmoved products are formed once."""
        moving, still = self.form.split(weights.any(axis=0))
        steps = values @ weights
        scores = np.empty((self.n_scores, len(others), len(values)))
        size = steps.size + len(values) * len(moving.coef)
        for part in slices(len(others), size, CACHE):
            of_part = moving.head(others[part, np.newaxis] + steps)
            scores[:, part] = np.moveaxis(of_part, -1, 0)
        scores += still.head(others).T[:, :, np.newaxis]
        return scores

    def nodes_of(self, table, columns, values):
        """See `ScoreResponse.nodes_of`."""
        if len(columns) > 1:
            return values, None
        form, values = self.form, values[:, 0]
        low, high = values.min(), values.max()
        weights = form.matrix[columns[0]]
        degree, bent = form.degree(weights != 0), (weights != 0) & form.hinges
        several = np.count_nonzero(form.matrix[:, bent], axis=0) > 1
        if low == high or (bent.any() and (degree > 1 or several.any())):
            return values[:, np.newaxis], None
        if bent.any():
            kinks = -form.shift[bent] / weights[bent]
            kinks = kinks[(kinks > low) & (kinks < high)]
            at = np.unique(np.concatenate([[low, high], kinks]))
            make = partial(between_kinks, values, at)
        else:
            at = nodes(low, high, max(degree + 1, 3))
            make = partial(interpolation, values, low, high, len(at))
        if len(at) >= len(values):
            return values[:, np.newaxis], None
        return at[:, np.newaxis], make()

    def turns(self, table, rows, column, values):
        """See `ScoreResponse.turns`; a parabola's vertex."""
        middle, half = (values[0] + values[-1]) / 2.0, (values[-1] - values[0]) / 2.0
        at = nodes(values[0], values[-1], 3)[:, np.newaxis]
        scores = self.at_nodes(table, rows, [column], at)
        low, centre, high = np.moveaxis(scores, 2, 0)
        # score = centre + rise u + bend u^2 with u from -1 to 1
        rise, bend = (high - low) / 2.0, (high + low) / 2.0 - centre
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            vertex = -rise / (2.0 * (bend + 0.0))
        return np.searchsorted(values, middle + half * vertex), bend >= 0.0

    def costs(self):
        """See `Response.costs`."""
        n_terms = len(self.form.coef)
        return Costs(15.0 + 0.075 * n_terms, 0.2 * n_terms, 1.0 + 0.25 * self.n_scores)
