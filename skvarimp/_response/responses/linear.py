"""Additive forms: link(b + sum_j g_j(x_j)), with lines wherever g_j(x) = w_j x."""

from functools import partial

import numpy as np

from skvarimp._models.links import EXPONENTIAL, IDENTITY, LOGISTIC
from skvarimp._response.contract import Response
from skvarimp._response.line import Ascent, Lines, StraightLines
from skvarimp._response.responses.many_columns import (
    line_batches,
    lines_serve,
    reduced_lines,
)
from skvarimp._response.responses.projections import ProjectionResponse
from skvarimp._response.responses.scores import (
    TYPICAL_NODES,
    ColumnsTasks,
    numeric_values,
    own_values,
    unmoved_kept,
)
from skvarimp._response.shape import Cells
from skvarimp._response.steps import StepCurves, Steps
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
    straight = True  # scores are lines in the value of a moved column

    def __init__(self, model, form):
        n_scores = len(form.intercept)
        super().__init__(model, form.link, n_scores, form.weights, form.intercept)
        self.additive = form.link is IDENTITY

    def moved_scores(self, others, columns, values):
        # one score after another in memory, as links read them
        others = np.ascontiguousarray(others.T)
        added = np.ascontiguousarray(self.added(values, columns).T)
        return others[:, :, np.newaxis] + added[:, np.newaxis, :]

    def curves(self, rows, move):
        if self.link is not IDENTITY or not self.changes(move):
            return super().curves(rows, move)
        t, s = self._line(rows, move)
        ice = (rows.base - s)[:, :, np.newaxis] + t[:, np.newaxis, :]
        return unmoved_kept(ice, rows, move)

    def at_cells(self, rows, moves, cells):
        result = np.empty((len(moves), self.n_outputs, *cells.shape[1:]))
        for m, move in enumerate(moves):
            if not self.changes(move):
                result[m] = rows.base[:, np.newaxis]
                continue
            t, s = self._line(rows, move)
            others = self.sums(rows).T - s
            scores = others[:, np.newaxis] + t[:, cells[m]]
            result[m] = self.linked(scores, rows.table, rows.index, move, cells[m])
        return result

    def _line(self, rows, move):
        """The moved columns' part of the scores, of cells and of rows."""
        columns = list(move.feature.columns)
        t = self.added(numeric_values(move), columns).T
        if move.codes is not None:
            return t, t[:, move.codes[rows.index]]
        return t, self.added(own_values(rows, columns), columns).T

    def call_cost(self):
        return 15.0 + 0.075 * self.weights.size + self.outputs_cost

    def row_cost(self, n_cells, grouped=False):
        return 5.0 + n_cells * (1.0 + self.outputs_cost)

    def offers(self, n_cells):
        offers = super().offers(n_cells)
        if self.link is IDENTITY or (offers and self.link in (EXPONENTIAL, LOGISTIC)):
            return {"moments", "order"}
        return offers

    def shapes(self, rows, move):
        straight = self.straight and len(move.feature.columns) == 1
        one_position = straight or self.n_scores == 1
        known = "order" in self.offers(move.n_cells) and self.changes(move)
        if known and self.link is IDENTITY:
            t, s = self._line(rows, move)
            slope = np.ones((1, self.n_scores, 1))
            if straight:
                slope[0, :, 0] = self.weights[move.feature.columns[0]]
                t = numeric_values(move).T
                s = own_values(rows, list(move.feature.columns)).T
            parts, t, s = (
                partial(Response.shapes, self, rows, move),
                t[np.newaxis],
                s[np.newaxis],
            )
            yield StraightLines(rows, Cells.of(move), parts, t, s, slope)
        elif known and one_position and self.link in (EXPONENTIAL, LOGISTIC):
            step = at_once(TYPICAL_NODES * self.n_outputs)
            for block in rows.blocks(step):
                yield self._lines(block, move, straight)
        else:
            yield from super().shapes(rows, move)

    def _lines(self, rows, move, straight):
        t, s = self._line(rows, move)
        others = self.sums(rows).T - s
        # a number of each cell, the same for all scores, and the scores per unit
        number, slope = t, np.ones((1, 1))
        if straight:
            number = numeric_values(move).T
            slope = self.weights[list(move.feature.columns)].T

        def evaluate(numbers, which):
            moved = slope * numbers
            with np.errstate(over="ignore"):
                scores = others[:, which, np.newaxis] + moved[:, np.newaxis]
                return self.link(scores)[0][np.newaxis]

        return Lines(
            rows,
            Cells.of(move),
            number,
            evaluate,
            partial(Response.shapes, self, rows, move),
            len(rows) == rows.table.n_samples,
            Ascent(t, s, lambda levels: self.link.inverse(levels) - others),
        )

    def cost(self, n_rows, n_cells, reduction=None, grouped=False):
        every = grouped or reduction is None
        if self.link is IDENTITY and (every or reduction.needs in self.offers(n_cells)):
            return 5.0 * (n_rows + n_cells)
        return super().cost(n_rows, n_cells, reduction, grouped)

    def tasks(self, walk):
        in_lines = self.link is IDENTITY and self.straight
        return LineTasks(self, walk) if in_lines else super().tasks(walk)


class LineTasks(ColumnsTasks):
    """Many single columns at once, as lines, where that is possible."""

    def batches(self, request, features):
        walk = self.walk
        if lines_serve(walk, walk.reductions[request], walk.moves.grids[request]):
            for batch in line_batches(walk.rows.table, self.columns_of(features)):
                yield features[batch]

    def reduced_columns(self, positions, columns):
        yield reduced_lines(self.walk, positions, columns, self.response.weights)


class LabelResponse(LinearResponse):
    """Labels whose regions are convex: along a line each is left only once."""

    def steps(self, table, move):
        known = move.ascends and self.changes(move)
        return partial(self._labels, move) if known else None

    def _labels(self, move, rows):
        t, s = self._line(rows, move)
        others = self.sums(rows).T - s
        # close calls are relative to the largest score of all
        ends = np.abs(others).max(axis=1) + np.abs(t).max(axis=1)

        def look(row, cells):
            scores = np.column_stack([others[:, row] + t[:, cells], ends])
            outputs, close = self.link(scores)
            outputs, at = outputs[:, :-1], np.flatnonzero(close[:-1])
            if len(at):
                row_of_table = rows.index[row[at]]
                asked = self.black_box.at(rows.table, row_of_table, move, cells[at])
                outputs[:, at] = asked
            return outputs.T, close[:-1]

        row, cells, outputs, _ = halved(look, len(rows), move.n_cells)
        return Steps.of_values(outputs.T, row, cells, rows.base, move.n_cells)

    def shapes(self, rows, move):
        steps = self.steps(rows.table, move)
        if steps is None:
            yield from super().shapes(rows, move)
            return
        for block in rows.blocks(at_once(LOOKS * self.n_scores)):
            yield StepCurves(block, Cells.of(move), steps(block))

    def row_cost(self, n_cells, grouped=False):
        """A row's curve of one column has a few steps, whatever its values."""
        if grouped:
            return n_cells * (1.0 + self.outputs_cost)
        return 5.0 + LOOKS * self.n_scores

    def forms_no_curve(self, walk, position):
        return self.steps(walk.rows.table, walk.moves[position]) is not None


class AdditiveResponse(LinearResponse):
    """Moved columns change only their own parts of a row's scores.

    A single score is a line in what the moved columns add to it, whatever that is.

    Parameters
    ----------
    model : Model
    form : Additive
    """

    path = "additive"
    straight = False

    def __init__(self, model, form):
        super().__init__(model, form)
        self.form, self.used = form, None
        self.smooth = self.n_scores == 1

    def sums(self, rows):
        """The scores themselves."""
        table = rows.table
        sums = self._sums.get(table, lambda: self.form.sums(table.numeric()))
        return sums[rows.index]

    def added(self, values, columns):
        return self.form.steps(values, columns)

    def call_cost(self):
        return 15.0 + 0.5 * self.weights.size + self.outputs_cost


def halved(look, n_rows, n_cells):
    """The states of curves wherever they change.

    Parameters
    ----------
    look : callable
        look(rows, cells) gives the states (n, any) at a cell each, and whether a tie
        decides on them, (n,).
    n_rows, n_cells : int

    Returns
    -------
    rows, cells : ndarray of shape (n_found,)
        By row and then by cell, ascending; each row has cell 0.
    states : ndarray of shape (n_found, any)
        Each holds up to the row's next cell.
    tied : ndarray of shape (n_found,)
        For single cells: the next one is found, too.
    """
    rows = np.arange(n_rows)
    low, high = np.zeros_like(rows), np.full_like(rows, n_cells - 1)
    found = [(rows, low, *look(rows, low))]
    if n_cells > 1:
        found.append((rows, high, *look(rows, high)))
    at_low, at_high = found[0][2:], found[-1][2:]
    while True:
        alike = np.all(at_low[0] == at_high[0], axis=1)
        alike &= ~(at_low[1] | at_high[1])
        more = ~alike & (high - low > 1)
        rows, low, high = rows[more], low[more], high[more]
        if len(rows) == 0:
            break
        middle = (low + high) // 2
        looked = look(rows, middle)
        found.append((rows, middle, *looked))
        rows = np.concatenate([rows, rows])
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        at_low = [np.concatenate([a[more], b]) for a, b in zip(at_low, looked)]
        at_high = [np.concatenate([b, a[more]]) for a, b in zip(at_high, looked)]
    rows, cells, states, tied = (np.concatenate(parts) for parts in zip(*found))
    order = np.argsort(rows * n_cells + cells)
    return rows[order], cells[order], states[order], tied[order]
