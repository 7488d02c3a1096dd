"""Additive forms: link(x W + b), in closed form wherever there is one."""

import numpy as np

from skvarimp._models.links import EXPONENTIAL, IDENTITY, LOGISTIC
from skvarimp._response.contract import Costs, Task
from skvarimp._response.responses import line_columns
from skvarimp._response.responses.projection import (
    ProjectionResponse,
    categorical_columns,
)
from skvarimp._response.responses.scores import (
    numeric_values,
    own_cells_unmoved,
    own_values,
)
from skvarimp._response.shapes.monotone_link import (
    LogisticLine,
    has_logistic_form,
    logistic_closed_form,
)
from skvarimp._response.shapes.scaled_line import ScaledLine, closed_form, has_line_form


class LinearResponse(ProjectionResponse):
    """link(X W + b), in closed form wherever there is one.

    Parameters
    ----------
    model : Model
    form : Additive
    """

    path = "linear"

    def __init__(self, model, form):
        n_scores = len(form.intercept)
        super().__init__(model, form.link, n_scores, form.weights, form.intercept)

    def moved_scores(self, others, weights, values):
        """See `ProjectionResponse.moved_scores`."""
        steps = values @ weights
        return others.T[:, :, np.newaxis] + steps.T[:, np.newaxis, :]

    def head(self, sums):
        """See `ProjectionResponse.head`."""
        return np.moveaxis(sums, -1, 0)

    def curves(self, table, rows, move, base):
        """See `Response.curves`."""
        if self.link is not IDENTITY or not self.changes(move):
            return super().curves(table, rows, move, base)
        t, s = self._line(table, rows, move)
        ice = (base - s)[:, :, np.newaxis] + t[:, np.newaxis, :]
        return own_cells_unmoved(ice, rows, move, base)

    def mean_curves(self, table, rows, weights, move, base):
        """See `Response.mean_curves`."""
        line = None
        if self.link in (IDENTITY, EXPONENTIAL) and self.changes(move):
            line = self._line_of(table, rows, weights, move, base)
        if line is None:
            return super().mean_curves(table, rows, weights, move, base)
        own = (line.scale * line.s) @ weights
        return line.mean_scale[:, np.newaxis] * line.t - own[:, np.newaxis]

    def _line(self, table, rows, move):
        """The moved columns' part of the scores, of cells and of rows."""
        columns = list(move.entry.columns)
        weights = self.weights[columns]
        t = (numeric_values(move) @ weights).T
        if move.codes is not None:
            return t, t[:, move.codes[rows]]
        return t, (own_values(table, rows, columns) @ weights).T

    def costs(self):
        """See `Response.costs`."""
        cell = 1.0 + 0.25 * (self.n_scores - 1)
        return Costs(15.0 + 0.075 * self.weights.size, 5.0, cell)

    def evaluations(self, n_rows, n_cells):
        """See `Response.evaluations`; measured times in microseconds, roughly."""
        of_model = 0.3 + 0.0015 * self.weights.size
        if self.link in (IDENTITY, EXPONENTIAL):
            return 0.1 * (n_rows + n_cells) / of_model
        if self.link is LOGISTIC:
            return min(0.02 * n_rows * n_cells, 1.6 * (n_rows + n_cells)) / of_model
        return n_rows * n_cells * (0.02 + 0.005 * self.n_scores) / of_model

    def batches(self, walk, request, columns):
        """See `ProjectionResponse.batches`; in closed form if the link is identity."""
        if self.link is not IDENTITY:
            yield from super().batches(walk, request, columns)
            return
        reductions, grid = walk.reductions[request], walk.moves.grids[request]
        if line_columns.serves(walk.table, reductions, grid, walk.keep_rows):
            yield from line_columns.batches(walk.table, columns)

    def finished(self, walk, request, columns):
        """See `ProjectionResponse.finished`."""
        if self.link is not IDENTITY:
            return super().finished(walk, request, columns)
        categorical = categorical_columns(walk, request, columns)
        return line_columns.finish(
            walk, request, columns, self.weights[columns], categorical
        )

    def tasks_of(self, walk, position):
        """See `Response.tasks_of`; closed forms take all rows at once."""
        closed = self._closed_form(walk.moves[position].n_cells) is not None
        if closed and any(map(self._has_form, walk.reductions_of(position))):
            return [Task((position,), slice(0, len(walk.rows)))]
        return super().tasks_of(walk, position)

    def evaluations_for(self, reduction, n_rows, n_cells):
        """See `Response.evaluations_for`."""
        if self.link not in (IDENTITY, EXPONENTIAL, LOGISTIC):
            return self.evaluations(n_rows, n_cells)
        if self._has_form(reduction):
            return self.evaluations(n_rows, n_cells)
        return 0.02 * n_rows * n_cells / (0.3 + 0.0015 * self.weights.size)

    LEAST_CELLS = 64  # of a logistic link: fewer are evaluated one by one

    def _closed_form(self, n_cells):
        if self.link is IDENTITY or self.link is EXPONENTIAL:
            return closed_form
        if self.link is LOGISTIC and n_cells > self.LEAST_CELLS:
            return logistic_closed_form
        return None

    def _has_form(self, reduction):
        if self.link is LOGISTIC:
            return has_logistic_form(reduction)
        return has_line_form(reduction)

    def _reduced(self, walk, position, rows, reductions=None):
        move = walk.moves[position]
        form = self._closed_form(move.n_cells)
        all_rows = rows == slice(0, len(walk.rows))
        if form is None or not all_rows or not self.changes(move):
            return super()._reduced(walk, position, rows, reductions)
        reductions = walk.reductions_of(position)
        line = self._line_of(
            walk.table, walk.rows, walk.weights, move, walk.base, walk.y
        )
        if line is None:
            return super()._reduced(walk, position, rows, reductions)
        states = [form(line, reduction) for reduction in reductions]
        others = [r for r, state in zip(reductions, states) if state is None]
        if others:
            further = iter(super()._reduced(walk, position, rows, others))
            states = [next(further) if state is None else state for state in states]
        return states

    def _line_of(self, table, rows, weights, move, base, y=None):
        t, s = self._line(table, rows, move)
        common = (move.probabilities, weights, base, move.categorical, y)
        if self.link is IDENTITY:
            return ScaledLine(t, s, None, *common)
        others = self.sums(table, rows).T - s
        if self.link is LOGISTIC:
            return LogisticLine(t, s, others, *common)
        # exp(others + t) = exp(others + largest t) exp(t - largest t), free of overflow
        top = t.max(axis=1, keepdims=True)
        with np.errstate(over="ignore"):
            scale = np.exp(others + top)
        if not np.all(np.isfinite(scale)):
            return None  # the model itself is to say where
        return ScaledLine(np.exp(t - top), np.exp(s - top), scale, *common)
