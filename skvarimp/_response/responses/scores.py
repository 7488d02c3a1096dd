"""What linear, kernel and network responses share: links of scores of numbers."""

from functools import partial

import numpy as np

from skvarimp._models.links import any_close
from skvarimp._response.basis import Basis
from skvarimp._response.contract import BlackBoxResponse, Response
from skvarimp._response.shape import Cells
from skvarimp._response.walk import Task, Tasks
from skvarimp._running.memory import CACHE, at_once, slices

TYPICAL_NODES = 64


class ScoreResponse(Response):
    """outputs = link(scores), with scores known for any values of any columns.

    A subclass implements `scores` or `scores_at`.

    Attributes
    ----------
    smooth : bool
        Whether the scores are analytic functions of a moved value.
    numbers_per_cell : int
        How many numbers `scores_of_cells` forms for each moved row.
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

    smooth, used, numbers_per_cell = False, None, 1
    LEAST_CELLS = 32  # fewer are evaluated one by one

    def __init__(self, model, link, n_scores):
        self.model, self.link, self.n_scores = model, link, n_scores
        self.n_outputs = link.n_outputs(n_scores)

    @property
    def black_box(self):
        """What is asked where the link is in doubt."""
        return BlackBoxResponse(self.model, self.n_outputs)

    def changes(self, move):
        """Whether a move changes any score; if not, importances are exactly 0.

        No score changes if no column is used, or if those used hold a single value.
        """
        used = np.ones(len(move.feature.columns), dtype=bool)
        if self.used is not None:
            used = self.used[list(move.feature.columns)]
        if not used.any():
            return False
        return move.codes is None or np.ptp(numeric_values(move)[:, used], axis=0).any()

    def scores(self, rows, move):
        """Scores of moved rows, (n_scores, n_rows, n_cells)."""
        columns = list(move.feature.columns)
        return self.scores_at(rows, columns, numeric_values(move))

    def scores_at(self, rows, columns, values):
        """Scores of rows with some columns moved to any values.

        Parameters
        ----------
        rows : Rows
        columns : list of int
        values : ndarray of shape (n_values, len(columns))

        Returns
        -------
        ndarray of shape (n_scores, n_rows, n_values)
        """
        raise NotImplementedError

    def scores_of_cells(self, rows, columns, values):
        """Scores of rows that are each moved to a few values of their own.

        Parameters
        ----------
        rows, columns : see `scores_at`
        values : ndarray of shape (n_times, n_rows, len(columns))

        Returns
        -------
        ndarray of shape (n_scores, n_times, n_rows)
        """
        raise NotImplementedError

    def curves(self, rows, move):
        if not self.changes(move):
            return np.repeat(rows.base[:, :, np.newaxis], move.n_cells, axis=2)
        with np.errstate(over="ignore"):
            scores = self.scores(rows, move)
        index, cells = rows.index[:, np.newaxis], np.arange(scores.shape[2])
        return unmoved_kept(
            self.linked(scores, rows.table, index, move, cells), rows, move
        )

    def at_cells(self, rows, moves, cells):
        n_times, n_rows = cells.shape[1:]
        result = np.empty((len(moves), self.n_outputs, n_times, n_rows))
        for m, move in enumerate(moves):
            if not self.changes(move):
                result[m] = rows.base[:, np.newaxis]
                continue
            columns, values = list(move.feature.columns), numeric_values(move)
            for part in slices(n_rows, n_times * self.numbers_per_cell, CACHE):
                own, block = cells[m][:, part], rows.block(part)
                with np.errstate(over="ignore"):
                    scores = self.scores_of_cells(block, columns, values[own])
                moved = self.linked(scores, rows.table, block.index, move, own)
                if move.codes is not None:  # rows at their own values are unmoved
                    still = own == move.codes[block.index]
                    unmoved = np.broadcast_to(block.base[:, np.newaxis], moved.shape)
                    moved[:, still] = unmoved[:, still]
                result[m][:, :, part] = moved
        return result

    def linked(self, scores, table, index, move, cells):
        """Outputs from scores; the model itself is asked where the link is in doubt.

        Parameters
        ----------
        scores : ndarray of shape (n_scores, ...)
        table : Table
        index, cells : ndarray, broadcast to shape (...)
            Rows of the table, and cells of the move.
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
            index, cells = (np.broadcast_to(a, doubtful.shape) for a in (index, cells))
            outputs[:, doubtful] = self.black_box.at(
                table, index[doubtful], move, cells[doubtful]
            )
        return outputs

    def offers(self, n_cells):
        """Which of `Reduction.needs` the shape of one column's curves offers."""
        smooth = self.smooth and self.link.smooth and n_cells > self.LEAST_CELLS
        return {"moments"} if smooth else set()

    def shapes(self, rows, move):
        """Smooth curves of one column are a `Basis`."""
        one_column = len(move.feature.columns) == 1
        if not (one_column and self.offers(move.n_cells) and self.changes(move)):
            yield from super().shapes(rows, move)
            return
        columns, values = list(move.feature.columns), numeric_values(move)[:, 0]
        step = at_once(TYPICAL_NODES * self.n_outputs)
        for block in rows.blocks(step):

            def evaluate(at, which, block=block):
                at = at[:, np.newaxis]
                with np.errstate(over="ignore"):
                    scores = self.scores_at(block.block(which), columns, at)
                    return self.link(scores)[0][np.newaxis]

            parts = partial(Response.shapes, self, block, move)
            all_rows = len(block) == rows.table.n_samples
            numbers = values[np.newaxis]
            yield Basis(block, Cells.of(move), numbers, evaluate, parts, all_rows)

    def cost(self, n_rows, n_cells, reduction=None, grouped=False):
        offered = not grouped and reduction is not None
        if offered and reduction.needs in self.offers(n_cells):
            # each block tries some rows at more nodes; of many outputs blocks are small
            n_nodes = TYPICAL_NODES + 0.5 * (self.n_outputs - 1)
            n_cells = min(n_cells, n_nodes)
        return super().cost(n_rows, n_cells, reduction, grouped)

    def forms_no_curve(self, walk, position):
        offers = self.offers(walk.moves[position].n_cells)
        return {r.needs for r in walk.reductions_of(position)} <= offers


class ColumnsTasks(Tasks):
    """Takes single columns together, where a subclass says which, and how."""

    def batches(self, request, features):
        """Yield those of a request's features, all of single columns, that go together.

        Parameters
        ----------
        request : int
        features : ndarray of int
            Reduced alike.
        """
        raise NotImplementedError

    def reduced_columns(self, positions, columns):
        """Yield the `Reduced` of a batch's positions, which move these columns."""
        raise NotImplementedError

    def __iter__(self):
        walk = self.walk
        all_rows, singles = slice(0, len(walk.rows)), np.empty(0, dtype=np.intp)
        if len(walk.rows) == walk.rows.table.n_samples:
            singles = np.flatnonzero(walk.moves.by_column)
        for request in range(len(walk.moves.grids)):
            first = request * walk.n_features
            others = np.ones(walk.n_features, dtype=bool)
            for alike in self._alike(request, singles):
                for batch in self.batches(request, alike):
                    others[batch] = False
                    yield Task(tuple((first + batch).tolist()), all_rows, True)
            for e in np.flatnonzero(others):
                yield from self.of_position(first + int(e))

    def _alike(self, request, features):
        """Yield those of the features that are reduced alike."""
        walk = self.walk
        categorical = np.zeros(len(features), dtype=bool)
        if any(r.statistic == "std_or_range" for r in walk.reductions[request]):
            first = request * walk.n_features
            categorical[:] = [walk.moves.kind(first + e).categorical for e in features]
        for kind in (True, False):
            if np.any(categorical == kind):
                yield features[categorical == kind]

    def columns_of(self, features):
        """The single columns that some features move."""
        every = self.walk.moves.features
        return np.array([every[e].columns[0] for e in features], np.intp)

    def reduced(self, task):
        if not task.together:
            return super().reduced(task)
        columns = self.columns_of([p % self.walk.n_features for p in task.positions])
        return list(self.reduced_columns(task.positions, columns))


def unmoved_kept(ice, rows, move):
    """The curves with what is unmoved at the cells of the rows' own values."""
    if move.codes is not None:
        ice[:, np.arange(len(rows)), move.codes[rows.index]] = rows.base
    return ice


def numeric_values(move):
    """The values of a move as float64, (n_cells, n_columns)."""
    return move.values.reshape(len(move.values), -1).astype(np.float64)


def own_values(rows, columns):
    """The rows' own values of some columns as float64, (n_rows, n_columns)."""
    own = [rows.table.column(j)[rows.index] for j in columns]
    return np.column_stack(own).astype(np.float64, copy=False)
