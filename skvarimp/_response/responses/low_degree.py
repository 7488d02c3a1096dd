"""Sums of products of lines and hinges: along one column they are known by few values.

Without hinges a score is a polynomial of the moved value, which degree + 1 Chebyshev
nodes determine. With hinges in the single columns it is a line between their kinks.
"""

from functools import partial

import numpy as np

from skvarimp._response.costs import Costs
from skvarimp._response.responses.projection import ProjectionResponse
from skvarimp._response.shapes.chebyshev import interpolation, nodes
from skvarimp._response.shapes.kinks import between_kinks
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

    def head(self, sums):
        """See `ProjectionResponse.head`."""
        return np.moveaxis(self.form.head(sums), -1, 0)

    def moved_scores(self, others, weights, values):
        """See `ProjectionResponse.moved_scores`; products that stay are formed once."""
        moves = weights.any(axis=0)
        at, basis = values, None
        if len(weights) == 1:
            at, basis = self._nodes(moves, weights[0], values[:, 0])
        moving, still = self.form.split(moves)
        steps = at @ weights
        scores = np.empty((self.n_scores, len(others), len(at)))
        for part in slices(len(others), steps.size + len(at) * len(moving.coef), CACHE):
            of_part = moving.head(others[part, np.newaxis] + steps)
            scores[:, part] = np.moveaxis(of_part, -1, 0)
        if basis is not None:
            scores = np.matmul(scores, basis.T)
        scores += still.head(others).T[:, :, np.newaxis]
        return scores

    def _nodes(self, moves, weights, values):
        """Values to evaluate at, and the matrix (n_cells, n_values) to interpolate.

        Parameters
        ----------
        moves : ndarray of bool of shape (n_units,)
        weights : ndarray of shape (n_units,)
            By how much the units' lines rise with the column.
        values : ndarray of shape (n_cells,)
        """
        form, low, high = self.form, values.min(), values.max()
        degree, bent = form.degree(moves), moves & form.hinges
        several = np.count_nonzero(form.matrix[:, bent], axis=0) > 1
        if low == high or (bent.any() and (degree > 1 or several.any())):
            return values[:, np.newaxis], None
        if bent.any():
            kinks = -form.shift[bent] / weights[bent]
            kinks = kinks[(kinks > low) & (kinks < high)]
            at = np.unique(np.concatenate([[low, high], kinks]))
            make = partial(between_kinks, values, at)
        else:
            at = nodes(low, high, max(degree + 1, 2))
            make = partial(interpolation, values, low, high, len(at))
        if len(at) >= len(values):
            return values[:, np.newaxis], None
        return at[:, np.newaxis], make()

    def costs(self):
        """See `Response.costs`."""
        n_terms = len(self.form.coef)
        return Costs(15.0 + 0.075 * n_terms, 0.2 * n_terms, 1.0 + 0.25 * self.n_scores)
