"""Nearest neighbours: along one column the nearest rows change a few times only.

With D_m the squared distance of a row from training row m by the other columns and t_m
that row's value, the squared distance at value v is

    d_m(v) = D_m + (v - t_m)^2 = v^2 + (t_m^2 + D_m) - 2 t_m v.

The difference of any two is linear in v. So where the same rows are the nearest at two
values, they are the nearest at all values in between, and halving finds the few places
where the set changes.
"""

import numpy as np
from scipy.spatial.distance import cdist

from skvarimp._response.contract import Costs
from skvarimp._response.responses.scores import ScoreResponse, numeric_values
from skvarimp._running.memory import at_once, slices

CANDIDATES = 64  # of each row, those nearest by the other columns
TIED = 1e-12  # relative: distances so close are for the model to order


class NeighboursResponse(ScoreResponse):
    """link(mean of the targets of the nearest training rows).

    Parameters
    ----------
    model : Model
    form : Neighbours
    """

    path = "nearest neighbours"

    def __init__(self, model, form):
        super().__init__(model, form.link, form.targets.shape[1])
        self.form = form
        self.size = np.square(form.rows).sum(axis=1).max(initial=0.0)

    def block_rows(self, n_cells, n_columns):
        """See `Response.block_rows`."""
        each = self.form.n_neighbours * (n_cells if self.form.by_distance else 1)
        return at_once(max(len(self.form.rows), n_cells * self.n_scores, each))

    def costs(self):
        """See `Response.costs`; with few columns the nearest rows change often."""
        n_training, n_columns = self.form.rows.shape
        call = 50.0 + 0.1 * n_training
        cell = 2.5 + min(500.0 / n_columns**2, call)
        return Costs(call, 1.5 * n_training, cell, call)

    def curves(self, table, rows, move, base):
        """See `Response.curves`."""
        if len(move.entry.columns) > 1:
            return self.black_box.curves(table, rows, move, base)
        if not self.changes(move):
            return np.repeat(base[:, :, np.newaxis], move.n_cells, axis=2)
        scores, tied = self._moved(table, rows, move)
        return self.linked(scores, table, rows, move, base, tied)

    def _moved(self, table, rows, move):
        """Scores (n_scores, n_rows, n_cells), and where a tie decides on them."""
        (j,) = move.entry.columns
        X = table.take(rows).numeric()
        X = X.toarray() if hasattr(X, "toarray") else X
        others = np.delete(np.arange(X.shape[1]), j)
        D = cdist(X[:, others], self.form.rows[:, others], "sqeuclidean")
        size = self.size + np.square(X[:, others]).sum(axis=1)
        values = numeric_values(move)[:, 0]
        order = np.argsort(values, kind="stable")
        race = _Race(D, self.form.rows[:, j], values[order], self.form.n_neighbours)
        nearest, seen, tied = race.run(size + np.abs(values).max() ** 2)
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return self._scores(race, nearest, seen, back), tied[:, back]

    def _scores(self, race, nearest, seen, back):
        form = self.form
        last = np.maximum.accumulate(np.where(seen, np.arange(seen.shape[1]), 0), 1)
        if not form.by_distance:
            i, c = np.nonzero(seen)
            means = np.empty((*seen.shape, form.targets.shape[1]))
            means[i, c] = form.means(nearest[i, c], None)
            scores = np.take_along_axis(means, last[:, :, np.newaxis], axis=1)
            return np.moveaxis(scores[:, back], -1, 0)
        nearest = np.take_along_axis(nearest, last[:, :, np.newaxis], axis=1)
        rows = np.arange(len(nearest))[:, np.newaxis, np.newaxis]
        gap = race.values[np.newaxis, :, np.newaxis] - race.t[nearest]
        squared = race.D[rows, nearest] + gap * gap
        return np.moveaxis(form.means(nearest, squared)[:, back], -1, 0)


class _Race:
    """The nearest training rows of some rows as one value moves.

    Parameters
    ----------
    D : ndarray of shape (n_rows, n_training_rows)
        Squared distances by the other columns.
    t : ndarray of shape (n_training_rows,)
        The training rows' values.
    values : ndarray of shape (n_cells,)
        Ascending.
    k : int
        Number of neighbours.
    """

    def __init__(self, D, t, values, k):
        self.D, self.t, self.values, self.k = D, t, values, k
        n = D.shape[1]
        self.among = min(n, max(CANDIDATES, 4 * k))
        if self.among < n:
            ids = np.argpartition(D, self.among, axis=1)
            self.beyond = np.take_along_axis(D, ids[:, [self.among]], axis=1)[:, 0]
            self.ids = ids[:, : self.among]
        else:
            self.ids = np.broadcast_to(np.arange(n), D.shape)
            self.beyond = np.full(len(D), np.inf)
        self.near = np.take_along_axis(D, self.ids, axis=1)

    def run(self, size):
        """Neighbours where they were looked for, and ties.

        Parameters
        ----------
        size : ndarray of shape (n_rows,)
            Of the squared numbers that distances are differences of.

        Returns
        -------
        nearest : ndarray of shape (n_rows, n_cells, k)
            Ascending numbers of training rows; only where `seen`, and the same up to
            the next cell that was seen.
        seen, tied : ndarray of shape (n_rows, n_cells)
        """
        n_rows, n_cells = len(self.D), len(self.values)
        self.tolerance = TIED * size
        nearest = np.zeros((n_rows, n_cells, self.k), dtype=np.int32)
        seen, tied = np.zeros((2, n_rows, n_cells), dtype=bool)

        def look(rows, cells):
            for part in slices(len(rows), self.among):
                i, c = rows[part], cells[part]
                nearest[i, c], tied[i, c] = self._nearest(i, self.values[c])
                seen[i, c] = True

        every = np.arange(n_rows)
        low, high = np.zeros(n_rows, dtype=int), np.full(n_rows, n_cells - 1)
        look(every, low)
        if n_cells > 1:
            look(every, high)
        rows = every
        while True:
            alike = np.all(nearest[rows, low] == nearest[rows, high], axis=1)
            alike &= ~(tied[rows, low] | tied[rows, high])
            more = ~alike & (high - low > 1)
            rows, low, high = rows[more], low[more], high[more]
            if len(rows) == 0:
                return nearest, seen, tied
            middle = (low + high) // 2
            look(rows, middle)
            rows = np.concatenate([rows, rows])
            low, high = np.concatenate([low, middle]), np.concatenate([middle, high])

    def _nearest(self, rows, v):
        """The k nearest of each row at a value each, and whether a tie decides."""
        gap = v[:, np.newaxis] - self.t[self.ids[rows]]
        found, last, next_one = _smallest(self.near[rows] + gap * gap, self.k)
        found = np.take_along_axis(self.ids[rows], found, axis=1)
        far = np.flatnonzero(next_one > self.beyond[rows])
        for part in slices(len(far), self.D.shape[1]):
            some = far[part]
            gap = v[some, np.newaxis] - self.t
            of_all = _smallest(self.D[rows[some]] + gap * gap, self.k)
            found[some], last[some], next_one[some] = of_all
        tied = next_one - last <= 1e-9 * last + self.tolerance[rows]
        return np.sort(found, axis=1), tied


def _smallest(distances, k):
    """Positions of the k smallest, the largest of these, and the next one."""
    if k == distances.shape[1]:
        every = np.broadcast_to(np.arange(k), distances.shape)
        return every.copy(), distances.max(axis=1), np.full(len(distances), np.inf)
    order = np.argpartition(distances, k, axis=1)
    smallest = np.take_along_axis(distances, order[:, :k], axis=1)
    next_one = np.take_along_axis(distances, order[:, [k]], axis=1)[:, 0]
    return order[:, :k], smallest.max(axis=1), next_one
