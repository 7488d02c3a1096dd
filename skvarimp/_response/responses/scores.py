"""What linear, kernel and network responses share: links of scores of numbers."""

from functools import partial

import numpy as np

from skvarimp._models.links import any_close
from skvarimp._response.contract import BlackBoxResponse, Response
from skvarimp._response.engine import Task, Walker
from skvarimp._response.shapes.basis import Basis, absolute, relative
from skvarimp._running.memory import at_once

TYPICAL_NODES = 64


class ScoreResponse(Response):
    """outputs = link(scores), with scores known for any values of any columns.

    A subclass implements `scores` or `scores_at`.

    Attributes
    ----------
    smooth : bool
        Whether the scores are analytic functions of a moved value.
    used : ndarray of shape (n_columns,) or None
        Which columns the scores depend on; None: not known.

    Parameters
    ----------
    model : Model
        Asked itself where the link jumps within rounding.
    link : callable
        See `links.py`.
    n_scores : int
    """

    smooth, used = False, None
    LEAST_CELLS = 32  # fewer are evaluated one by one

    def __init__(self, model, link, n_scores):
        self.link, self.n_scores = link, n_scores
        self.n_outputs = link.n_outputs(n_scores)
        self.black_box = BlackBoxResponse(model, self.n_outputs)

    def changes(self, move):
        """Whether a move changes any score; if not, importances are exactly 0.

        No score changes if no column is used, or if those used hold a single value.
        """
        used = np.ones(len(move.entry.columns), dtype=bool)
        if self.used is not None:
            used = self.used[list(move.entry.columns)]
        if not used.any():
            return False
        return move.codes is None or np.ptp(numeric_values(move)[:, used], axis=0).any()

    def scores(self, table, rows, move):
        """Scores of moved rows, (n_scores, n_rows, n_cells)."""
        columns = list(move.entry.columns)
        return self.scores_at(table, rows, columns, numeric_values(move))

    def scores_at(self, table, rows, columns, values):
        """Scores of rows with some columns moved to any values.

        Parameters
        ----------
        table : Table
        rows : ndarray of shape (n_rows,)
        columns : list of int
        values : ndarray of shape (n_values, len(columns))

        Returns
        -------
        ndarray of shape (n_scores, n_rows, n_values)
        """
        raise NotImplementedError

    def curves(self, table, rows, move, base):
        if not self.changes(move):
            return np.repeat(base[:, :, np.newaxis], move.n_cells, axis=2)
        with np.errstate(over="ignore"):
            scores = self.scores(table, rows, move)
        cells = np.arange(move.n_cells)
        ice = self.linked(scores, table, rows[:, np.newaxis], move, cells)
        return own_cells_unmoved(ice, rows, move, base)

    def linked(self, scores, table, rows, move, cells):
        """Outputs from scores; the model itself is asked where the link is in doubt.

        Parameters
        ----------
        scores : ndarray of shape (n_scores, ...)
        table : Table
        rows, cells : ndarray, broadcast to shape (...)
        move : Move
        """
        with np.errstate(over="ignore"):
            outputs, close = self.link(scores)
            total = outputs.sum()
        infinite = None
        if not np.isfinite(total):  # the model itself says what is wrong
            infinite = ~np.all(np.isfinite(outputs), axis=0)
        doubtful = any_close(close, infinite)
        if doubtful is not None and doubtful.any():
            rows, cells = (np.broadcast_to(a, doubtful.shape) for a in (rows, cells))
            outputs[:, doubtful] = self.black_box.at(
                table, rows[doubtful], move, cells[doubtful]
            )
        return outputs

    def offers(self, n_cells):
        """Which of `Reduction.needs` the shape of one column's curves offers."""
        smooth = self.smooth and self.link.smooth and n_cells > self.LEAST_CELLS
        return {"moments"} if smooth else set()

    def shapes(self, table, rows, move, margins):
        """Smooth curves of one column are a `Basis`."""
        one_column = len(move.entry.columns) == 1
        if not (one_column and self.offers(move.n_cells) and self.changes(move)):
            yield from super().shapes(table, rows, move, margins)
            return
        columns, values = list(move.entry.columns), numeric_values(move)[:, 0]
        low, high = values.min(keepdims=True), values.max(keepdims=True)
        position = relative(values, low, high)[np.newaxis]

        for part, of_part in margins.parts(at_once(TYPICAL_NODES * self.n_outputs)):
            of_rows = rows[part]

            def evaluate(x, which, of_rows=of_rows):
                at = absolute(x, low, high)[:, np.newaxis]
                with np.errstate(over="ignore"):
                    scores = self.scores_at(table, of_rows[which], columns, at)
                    return self.link(scores)[0][np.newaxis]

            parts = partial(Response.shapes, self, table, of_rows, move, of_part)
            yield Basis(of_part, position, evaluate, parts)

    def evaluations(self, n_rows, n_cells, reduction=None, grouped=False):
        offered = not grouped and reduction is not None
        if offered and reduction.needs in self.offers(n_cells):
            # each block tries some rows at more nodes; of many outputs blocks are small
            n_nodes = TYPICAL_NODES + 0.5 * (self.n_outputs - 1)
            n_cells = min(n_cells, n_nodes)
        return super().evaluations(n_rows, n_cells, reduction, grouped)

    def forms_no_curve(self, walk, position):
        """Whether the reductions of a position take no row's values on all cells."""
        offers = self.offers(walk.moves[position].n_cells)
        return {r.needs for r in walk.reductions_of(position)} <= offers

    def walker(self, walk):
        return ScoreWalker(self, walk)


class ScoreWalker(Walker):
    """All rows at once if no row's curve is formed."""

    def tasks_of(self, position):
        if self.response.forms_no_curve(self.walk, position):
            return [Task((position,), slice(0, len(self.walk.rows)))]
        return super().tasks_of(position)


def own_cells_unmoved(ice, rows, move, base):
    """Put the unmoved response where a row is moved to its own value."""
    if move.codes is not None:
        ice[:, np.arange(len(rows)), move.codes[rows]] = base
    return ice


def numeric_values(move):
    """The values of a move as float64, (n_cells, n_columns)."""
    return move.rows_of_values(slice(None)).astype(np.float64)


def own_values(table, rows, columns):
    """The rows' own values of some columns as float64, (n_rows, n_columns)."""
    own = [table.column(j)[rows] for j in columns]
    return np.column_stack(own).astype(np.float64, copy=False)


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
