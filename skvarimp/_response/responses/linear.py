"""Additive forms: link(b + sum_j g_j(x_j)), with lines wherever g_j(x) = w_j x."""

from functools import partial

import numpy as np

from skvarimp._models.links import EXPONENTIAL, IDENTITY, LOGISTIC
from skvarimp._response.contract import Costs, Task
from skvarimp._response.responses.many_columns import (
    finish_lines,
    line_batches,
    lines_serve,
)
from skvarimp._response.responses.projection import (
    ProjectionResponse,
    ProjectionWalker,
    columns_at,
)
from skvarimp._response.responses.scores import (
    TYPICAL_NODES,
    ScoreWalker,
    halved,
    numeric_values,
    own_cells_unmoved,
    own_values,
)
from skvarimp._response.shapes.basis import absolute, relative
from skvarimp._response.shapes.line import Lines, StraightLines
from skvarimp._response.shapes.steps import StepCurves, Steps
from skvarimp._running.memory import at_once

LOOKS = 32  # evaluations of a row's label, to find where it changes


class LinearResponse(ProjectionResponse):
    """link(X W + b).

    Parameters
    ----------
    model : Model
    form : Additive
    """

    path = "linear"
    smooth = True
    reads_cells = True

    def __init__(self, model, form):
        n_scores = len(form.intercept)
        super().__init__(model, form.link, n_scores, form.weights, form.intercept)
        self.additive = form.link is IDENTITY
        # labels whose regions are convex are left only once
        self.steps_alone = getattr(form.link, "convex", False)

    def moved_scores(self, others, columns, values):
        """See `ProjectionResponse.moved_scores`."""
        # one score after another in memory, as links read them
        others = np.ascontiguousarray(others.T)
        steps = np.ascontiguousarray(self.steps(values, columns).T)
        return others[:, :, np.newaxis] + steps[:, np.newaxis, :]

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

    def is_stepped(self, table, move):
        """See `Response.is_stepped`."""
        ascending = move.ascends and self._is_straight(move)
        return ascending and self.steps_alone and self.changes(move)

    def stepped(self, table, rows, move, base):
        """See `Response.stepped`; scores along a line cross each border once."""
        t, s = self._line(table, rows, move)
        others = self.sums(table, rows).T - s
        # close calls are relative to the largest score of all
        ends = np.abs(others).max(axis=1) + np.abs(t).max(axis=1)

        def look(row, cells):
            scores = np.column_stack([others[:, row] + t[:, cells], ends])
            outputs, close = self.link(scores)
            outputs, at = outputs[:, :-1], np.flatnonzero(close[:-1])
            if len(at):
                asked = self.black_box.at(table, rows[row[at]], move, cells[at])
                outputs[:, at] = asked
            return outputs.T, close[:-1]

        row, cells, outputs, _ = halved(look, len(rows), move.n_cells)
        return Steps.of_values(outputs.T, row, cells, base, move.n_cells)

    def at_cells(self, table, rows, moves, base, cells):
        """See `Response.at_cells`."""
        result = np.empty((len(moves), self.n_outputs, *cells.shape[1:]))
        for m, move in enumerate(moves):
            if not self.changes(move):
                result[m] = base[:, np.newaxis]
                continue
            t, s = self._line(table, rows, move)
            others = self.sums(table, rows).T - s
            scores = others[:, np.newaxis] + t[:, cells[m]]
            at = table, rows, move, cells[m]
            result[m] = self.linked_or_asked(scores, *at)
        return result

    def _line(self, table, rows, move):
        """The moved columns' part of the scores, of cells and of rows."""
        columns = list(move.entry.columns)
        t = self.steps(numeric_values(move), columns).T
        if move.codes is not None:
            return t, t[:, move.codes[rows]]
        return t, self.steps(own_values(table, rows, columns), columns).T

    def _is_straight(self, move):
        """Whether all scores are lines in the value of one moved column."""
        return len(move.entry.columns) == 1

    def costs(self):
        """See `Response.costs`."""
        call = 15.0 + 0.075 * self.weights.size
        if self.steps_alone:
            return Costs(call, 5.0 + LOOKS * self.n_scores, 0.0, 1.0)
        return Costs(call, 5.0, 1.0)

    def offers(self, n_cells):
        """See `ScoreResponse.offers`."""
        offers = super().offers(n_cells)
        if self.link is IDENTITY or (offers and self.link in (EXPONENTIAL, LOGISTIC)):
            return {"moments", "order"}
        return offers

    def shapes(self, table, rows, move, margins):
        """See `Response.shapes`."""
        one_position = self._is_straight(move) or self.n_scores == 1
        known = "order" in self.offers(move.n_cells) and self.changes(move)
        if self.is_stepped(table, move):
            for part, of_part in margins.parts(at_once(LOOKS * self.n_scores)):
                of_rows = table, rows[part], move, of_part.base[0]
                yield StepCurves(of_part, self.stepped(*of_rows))
        elif known and self.link is IDENTITY:
            t, s = self._line(table, rows, move)
            slope = np.ones((1, self.n_scores, 1))
            if self._is_straight(move):
                slope[0, :, 0] = self.weights[move.entry.columns[0]]
                t = numeric_values(move).T
                s = own_values(table, rows, list(move.entry.columns)).T
            parts = partial(self.dense, table, rows, move, margins)
            yield StraightLines(margins, parts, t[np.newaxis], s[np.newaxis], slope)
        elif known and one_position and self.link in (EXPONENTIAL, LOGISTIC):
            for part, of_part in margins.parts(at_once(TYPICAL_NODES * self.n_outputs)):
                yield self._lines(table, rows[part], move, of_part)
        else:
            yield from super().shapes(table, rows, move, margins)

    def _lines(self, table, rows, move, margins):
        t, s = self._line(table, rows, move)
        others = self.sums(table, rows).T - s
        # a number of each cell, the same for all scores, and the scores per unit
        number, slope = t, np.ones((1, 1))
        if self._is_straight(move):
            number = numeric_values(move).T
            slope = self.weights[list(move.entry.columns)].T
        low, high = number.min(keepdims=True)[0], number.max(keepdims=True)[0]

        def evaluate(x, which):
            moved = slope * absolute(x, low, high)
            with np.errstate(over="ignore"):
                scores = others[:, which, np.newaxis] + moved[:, np.newaxis]
                return self.link(scores)[0][np.newaxis]

        return Lines(
            margins,
            relative(number, low, high),
            evaluate,
            partial(self.dense, table, rows, move, margins),
            t,
            s,
            lambda levels: self.link.inverse(levels) - others,
        )

    def evaluations(self, n_rows, n_cells):
        """See `Response.evaluations`."""
        if self.link is IDENTITY:
            return 5.0 * (n_rows + n_cells) / self.all_costs().call
        return super().evaluations(n_rows, n_cells)

    def walker(self, walk):
        """See `Response.walker`."""
        kind = LineWalker if self.link is IDENTITY else LinearWalker
        return kind(self, walk)


class LinearWalker(ProjectionWalker):
    """All rows of a label at once: it takes no row's values on all cells."""

    def tasks_of(self, position):
        """See `Walker.tasks_of`."""
        walk = self.walk
        if self.response.is_stepped(walk.table, walk.moves[position]):
            return [Task((position,), slice(0, len(walk.rows)))]
        return super().tasks_of(position)


class LineWalker(ProjectionWalker):
    """Many columns as lines."""

    def batches(self, request, columns):
        """See `ProjectionWalker.batches`."""
        walk = self.walk
        reductions, grid = walk.reductions[request], walk.moves.grids[request]
        if lines_serve(walk.table, reductions, grid, walk.keep_rows):
            yield from line_batches(walk.table, columns)

    def finished(self, positions):
        """See `ProjectionWalker.finished`."""
        columns = columns_at(self.walk, positions)
        slopes = self.response.weights[columns]
        return finish_lines(self.walk, positions, columns, slopes)


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
        self.smooth = self.n_scores == 1

    def uses(self, columns):
        """See `ScoreResponse.uses`."""
        return np.ones(len(columns), dtype=bool)

    def sums(self, table, rows):
        """See `ProjectionResponse.sums`; the scores themselves."""
        return self._sums.get(table, lambda: self.form.sums(table.numeric()))[rows]

    def steps(self, values, columns):
        """See `ProjectionResponse.steps`."""
        return self.form.steps(values, columns)

    def _is_straight(self, move):
        """See `LinearResponse._is_straight`."""
        return False

    def costs(self):
        """See `Response.costs`."""
        call = 15.0 + 0.5 * self.weights.size
        return Costs(call, 5.0, 1.0)

    def walker(self, walk):
        """See `Response.walker`; column by column."""
        return ScoreWalker(self, walk)
