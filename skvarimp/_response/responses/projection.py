"""Models that see X through a few weighted sums of its columns: head(X W + b).

With W (n_columns, n_units), moving the columns J of row i from x_iJ to v changes its
sums by (v - x_iJ) W_J and nothing else.
"""

from dataclasses import dataclass

import numpy as np

from skvarimp._data.table import SparseTable
from skvarimp._response.contract import Task
from skvarimp._response.responses import few_values as _few_values
from skvarimp._response.responses.line_columns import finish_shape
from skvarimp._response.responses.scores import ScoreResponse, own_values
from skvarimp._response.shapes.shape import Dense
from skvarimp._running.memory import CACHE, Memo, slices, working_bytes


@dataclass(frozen=True)
class ColumnsTask(Task):
    """Single columns that are reduced together, over all rows."""


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
        self._sums = Memo(travels=True)

    def uses(self, columns):
        """See `ScoreResponse.uses`."""
        return self.weights[list(columns)].any(axis=1)

    def sums(self, table, rows):
        """X W + b of some rows, (n_rows, n_units); computed once per table."""
        if 8 * table.n_samples * len(self.intercept) > working_bytes() / 2:
            return table.take(rows).numeric() @ self.weights + self.intercept

        def make():
            return table.numeric() @ self.weights + self.intercept

        return self._sums.get(table, make)[rows]

    def scores_one_by_one(self, table, rows, columns, values):
        """See `ScoreResponse.scores_one_by_one`."""
        others = self.others(table, rows, columns)
        return self.moved_scores(others, self.weights[columns], values)

    def others(self, table, rows, columns):
        """The units' sums but for what some columns add, (n_rows, n_units)."""
        own = own_values(table, rows, columns) @ self.weights[columns]
        return self.sums(table, rows) - own

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
        for part in slices(len(others), steps.size, CACHE):
            scores[:, part] = self.head(others[part, np.newaxis] + steps)
        return scores

    def head(self, sums):
        """Scores (n_scores, ...) of sums (..., n_units), which may be overwritten."""
        raise NotImplementedError

    def tasks(self, walk):
        """See `Response.tasks`; many columns at once where that is possible."""
        all_rows = slice(0, len(walk.rows))
        single = np.zeros(walk.n_entries, dtype=bool)
        if walk.final:
            single = walk.moves.by_column
        singles = np.flatnonzero(single)
        columns = columns_at(walk, singles)
        for request in range(len(walk.reductions)):
            first = request * walk.n_entries
            batched = np.zeros_like(single)
            for which in self._alike(walk, first, singles):
                for batch in self.batches(walk, first, columns[which]):
                    entries = singles[which[batch]]
                    batched[entries] = True
                    yield ColumnsTask(tuple((first + entries).tolist()), all_rows)
            for e in np.flatnonzero(~batched):
                yield from self.tasks_of(walk, first + int(e))

    @staticmethod
    def _alike(walk, first, entries):
        """Positions in the entries of those that are reduced alike."""
        reductions = walk.reductions[first // walk.n_entries]
        categorical = np.zeros(len(entries), dtype=bool)
        if any(r.of_kind(True) is not r for r in reductions):
            categorical[:] = [walk.moves.is_categorical(first + e) for e in entries]
        for kind in (True, False):
            if np.any(categorical == kind):
                yield np.flatnonzero(categorical == kind)

    def run(self, walk, task):
        """See `Response.run`."""
        if isinstance(task, ColumnsTask):
            finished = self.finished(walk, task.positions)
            if finished is not None:
                return [(task.positions, finished)]
        return super().run(walk, task)

    def batches(self, walk, first, columns):
        """Yield which of the columns are reduced together.

        Parameters
        ----------
        walk : Walk
        first : int
            First position of the request.
        columns : ndarray of int
        """
        request = first // walk.n_entries
        if isinstance(walk.table, SparseTable) and walk.moves.grids[request] == "all":
            X, n_units = walk.table.csc, len(self.intercept)
            yield from _few_values.batches(X, columns, n_units, self.n_outputs)

    def finished(self, walk, positions):
        """The finished reductions of such columns; None: to be done one by one."""
        columns = columns_at(walk, positions)
        few = _few_values.few_values(walk.table.csc, columns, walk.weights)
        sums = self.sums(walk.table, walk.rows)
        ice = _few_values.curves(self, sums, few, self.weights[columns], walk.base)
        if ice is None:
            return None
        margins = walk.margins(slice(0, len(walk.rows)), few.probabilities)
        return finish_shape(walk, positions, Dense(margins, ice), few.codes)


def columns_at(walk, positions):
    """The single columns that some positions move."""
    entries, n_entries = walk.moves.entries, walk.n_entries
    return np.array([entries[p % n_entries].columns[0] for p in positions], np.intp)
