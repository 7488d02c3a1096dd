"""Neighbours: along one column the near training rows change a few times only.

With D_m the squared distance of a row from training row m by the other columns and t_m
that row's value, the squared distance at value v is

    d_m(v) = D_m + (v - t_m)^2 = v^2 + (t_m^2 + D_m) - 2 t_m v.

The difference of any two is linear in v. So where the same rows are the nearest at two
values, they are the nearest at all values in between, and halving finds the few places
where the set changes. Row m is within a radius r where (v - t_m)^2 <= r^2 - D_m: so the
sums of the targets of such rows are step functions of v.
"""

import numpy as np
from scipy.spatial.distance import cdist

from skvarimp._compiled import use_compiled
from skvarimp._data.base_table import dense
from skvarimp._data.values import numbered
from skvarimp._response.contract import Costs
from skvarimp._response.responses.scores import ScoreResponse, halved, numeric_values
from skvarimp._response.shapes.steps import Steps
from skvarimp._running.memory import CACHE, at_once, slices

CANDIDATES = 64  # of each row, those nearest by the other columns
FEW = 64  # neighbours, at most, that the compiled kernel looks for
TIED = 1e-12  # relative: distances so close are for the model to order
# The squared distances that products of large numbers leave too few digits of.
FEW_DIGITS = 1e-6
TINY = 1e-300  # in place of 0 where numbers are divided by it


class DistanceResponse(ScoreResponse):
    """What responses by distances from training rows share.

    A subclass implements two methods for one column whose values ascend: `steps_of`,
    for uniform weights, which gives the curves as `Steps`; and `weighted` for others,
    which gives scores (n_scores, n_rows, n_cells), and where the model is to be asked.

    Parameters
    ----------
    model : Model
    form : Neighbours or WithinRadius
    """

    def __init__(self, model, form):
        super().__init__(model, form.link, form.targets.shape[1])
        self.form, self.steps_alone = form, not form.by_distance
        self.size = np.square(form.rows).sum(axis=1).max(initial=0.0)

    def block_rows(self, n_cells, n_columns):
        """See `Response.block_rows`."""
        return at_once(max(len(self.form.rows), n_cells * self.n_scores))

    def is_stepped(self, table, move):
        """See `Response.is_stepped`."""
        return not self.changes(move) or (self.steps_alone and move.ascends)

    def stepped(self, table, rows, move, base):
        """See `Response.stepped`."""
        if not self.changes(move):
            return Steps.none(len(base), len(rows), move.n_cells)
        return self.steps_of(table, rows, move, base)

    def curves(self, table, rows, move, base):
        """See `Response.curves`."""
        if self.is_stepped(table, move):
            return (
                self.stepped(table, rows, move, base).dense() + base[:, :, np.newaxis]
            )
        if len(move.entry.columns) > 1:
            return self.black_box.curves(table, rows, move, base)
        if not move.ascends:
            return self._in_own_order(table, rows, move, base)
        scores, doubtful = self.weighted(table, rows, move)
        return self.linked(scores, table, rows, move, base, doubtful)

    def _in_own_order(self, table, rows, move, base):
        """Curves of a move whose values do not ascend."""
        order = np.argsort(move.values, kind="stable")
        back = np.argsort(order)
        codes = None if move.codes is None else back[move.codes]
        chances = move.probabilities[order]
        ascending = move.at_cells(order, probabilities=chances, codes=codes)
        return self.curves(table, rows, ascending, base)[:, :, back]

    def distances(self, table, rows, move):
        """Squared distances by the other columns, and the size of their terms."""
        (j,) = move.entry.columns
        X = dense(table.take(rows).numeric())
        others = np.delete(np.arange(X.shape[1]), j)
        D = cdist(X[:, others], self.form.rows[:, others], "sqeuclidean")
        size = self.size + np.square(X[:, others]).sum(axis=1)
        return D, size + np.abs(numeric_values(move)).max() ** 2

    def too_near(self, size):
        """Squared distances up to which the model's own have too few digits."""
        return FEW_DIGITS * size if self.form.by_products else 0.0 * size


class NeighboursResponse(DistanceResponse):
    """link(mean of the targets of the nearest training rows).

    Parameters
    ----------
    model : Model
    form : Neighbours
    """

    path = "nearest neighbours"

    def costs(self):
        """See `Response.costs`; with few columns the nearest rows change often."""
        n_training, n_columns = self.form.rows.shape
        call = 50.0 + 0.03 * n_training * n_columns
        cell = min(100.0 / n_columns**2, call) + (2.5 if self.form.by_distance else 0.0)
        return Costs(call, 2.5 * n_training, cell, call)

    def _found(self, table, rows, move):
        """The `_Race` of some rows, and what it finds."""
        D, size = self.distances(table, rows, move)
        t = self.form.rows[:, move.entry.columns[0]]
        values = numeric_values(move)[:, 0]
        race = _Race(D, t, values, self.form.n_neighbours, size)
        return race, *race.run()

    def steps_of(self, table, rows, move, base):
        """See `DistanceResponse.steps_of`."""
        _, row, cell, nearest, tied = self._found(table, rows, move)
        scores = self.form.means(nearest, None).T
        at = table, rows[row], move, cell
        values = self.linked_or_asked(scores, *at, tied)
        return Steps.of_values(values, row, cell, base, move.n_cells)

    def weighted(self, table, rows, move):
        """See `DistanceResponse.weighted`."""
        race, row, cell, nearest, tied = self._found(table, rows, move)
        shape = (len(rows), move.n_cells)
        scores = np.empty((self.n_scores, *shape))
        doubtful = np.zeros(shape, dtype=bool)
        doubtful[row[tied], cell[tied]] = True
        too_near = self.too_near(race.size)[:, np.newaxis]
        # where each row's neighbours were found, and for how many cells they hold
        begins = np.searchsorted(row, np.arange(len(rows) + 1))
        held = np.diff(row * move.n_cells + cell, append=scores[0].size)
        for part in slices(len(rows), move.n_cells, CACHE):
            found = slice(begins[part.start], begins[part.stop])
            which = np.repeat(np.arange(found.start, found.stop), held[found])
            which = which.reshape(-1, move.n_cells)
            own = nearest[found]
            D, t = race.D[row[found, np.newaxis], own], race.t[own]
            sums, nearest_one = self._sums(race.values, which - found.start, D, t, own)
            near = nearest_one <= too_near[part]
            scores[:, part] = sums
            if self.form.by_products:
                doubtful[part] |= near
                continue
            i, c = np.nonzero(near)  # a training row at distance 0 counts alone
            hit = which[i, c]
            gaps = race.values[c, np.newaxis] - race.t[nearest[hit]]
            squared = race.D[row[hit, np.newaxis], nearest[hit]] + gaps * gaps
            scores[:, part.start + i, c] = self.form.means(nearest[hit], squared).T
        return scores, doubtful

    def _sums(self, values, which, D, t, nearest):
        """Weighted means of the targets on all cells, and the least squared distance.

        Parameters
        ----------
        values : ndarray of shape (n_cells,)
        which : ndarray of shape (n_rows, n_cells)
            Which of the found sets of neighbours a cell has.
        D, t, nearest : ndarray of shape (n_found, n_neighbours)
        """
        sums, total, least = np.zeros((self.n_scores, *which.shape)), 0.0, np.inf
        for m in range(nearest.shape[1]):
            squared = values - t[:, m][which]
            squared *= squared
            squared += D[:, m][which]
            least = np.minimum(least, squared)
            weights = 1.0 / np.sqrt(np.maximum(squared, TINY))
            total = total + weights
            for of_score, targets in zip(sums, self.form.targets.T):
                of_score += weights * targets[nearest[:, m]][which]
        return sums / total, least


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
    size : ndarray of shape (n_rows,)
        Of the squared numbers that distances are differences of.
    """

    def __init__(self, D, t, values, k, size):
        self.D, self.t, self.values, self.k, self.size = D, t, values, k, size

    def run(self):
        """Where the nearest rows change; see `halved`.

        The states are ascending numbers of training rows.
        """
        if not (use_compiled() and self.k <= FEW):
            self._rank()
            return halved(self._looked, len(self.D), len(self.values))
        from skvarimp._compiled.nearest import nearest

        t = np.ascontiguousarray(self.t)
        return nearest(self.D, t, TIED * self.size, self.values, self.k)

    def _rank(self):
        """Put those training rows first that are nearest by the other columns."""
        D, n = self.D, self.D.shape[1]
        self.among = min(n, max(CANDIDATES, 4 * self.k))
        self.beyond = np.full(len(D), np.inf)
        if self.among < n:
            self.ids = np.argpartition(D, self.among, axis=1)
            first = self.ids[:, : self.among]
            order = np.argsort(np.take_along_axis(D, first, axis=1), axis=1)
            first[:] = np.take_along_axis(first, order, axis=1)
            beyond = np.take_along_axis(D, self.ids[:, [self.among]], axis=1)
            self.beyond = beyond[:, 0]
        else:
            self.ids = np.argsort(D, axis=1)
        self.near = np.take_along_axis(D, self.ids, axis=1)
        self.near_t = self.t[self.ids]

    def _looked(self, rows, cells):
        """The k nearest of each row at a cell each, and whether a tie decides."""
        found = [
            self._nearest(rows[part], self.values[cells[part]])
            for part in slices(len(rows), self.among, CACHE)
        ]
        return [np.concatenate(parts) for parts in zip(*found)]

    def _nearest(self, rows, v):
        """The k nearest of each row at a value each, and whether a tie decides."""
        near, near_t = (a[rows, : self.among] for a in (self.near, self.near_t))
        gap = v[:, np.newaxis] - near_t
        found, last, next_one = _smallest(near + gap * gap, self.k)
        found = np.take_along_axis(self.ids[rows, : self.among], found, axis=1)
        far = np.flatnonzero(next_one > self.beyond[rows])
        for part in slices(len(far), self.D.shape[1]):
            some = far[part]
            gap = v[some, np.newaxis] - self.t
            of_all = _smallest(self.D[rows[some]] + gap * gap, self.k)
            found[some], last[some], next_one[some] = of_all
        tied = next_one - last <= 1e-9 * last + TIED * self.size[rows]
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


class RadiusResponse(DistanceResponse):
    """link(mean of the targets of the training rows within a radius).

    Parameters
    ----------
    model : Model
    form : WithinRadius
    """

    path = "nearest neighbours within a radius"

    def costs(self):
        """See `Response.costs`; weights by distance take all training rows a value."""
        n_training = len(self.form.rows)
        call = 100.0 + 0.5 * n_training
        if self.form.by_distance:
            return Costs(call, n_training, 0.5 * n_training, call)
        return Costs(call, 5.0 * n_training, 1.0, call)

    def _intervals(self, table, rows, move):
        """Cells in which training rows are neighbours for sure, and perhaps.

        Returns
        -------
        D : ndarray of shape (n_rows, n_training_rows)
        size : ndarray of shape (n_rows,)
        row, training_row : ndarray of shape (n,)
            The pairs that may be neighbours at some value.
        bounds : ndarray of shape (4, n)
            A pair may be neighbours from cell bounds[0] on, surely is from bounds[1]
            to before bounds[2], and may be to before bounds[3].
        """
        D, size = self.distances(table, rows, move)
        radius, t = self.form.radius**2, self.form.rows[:, move.entry.columns[0]]
        size = size + radius
        row, m = np.nonzero(D - radius <= TIED * size[:, np.newaxis])
        left, doubt = radius - D[row, m], TIED * size[row]
        widest, surely = np.sqrt(left + doubt), np.sqrt(np.maximum(left - doubt, 0.0))
        values = numeric_values(move)[:, 0]
        bounds = np.stack(
            [
                np.searchsorted(values, t[m] - widest, "left"),
                np.searchsorted(values, t[m] - surely, "left"),
                np.searchsorted(values, t[m] + surely, "right"),
                np.searchsorted(values, t[m] + widest, "right"),
            ]
        )
        never = left < doubt
        bounds[1:3, never] = bounds[3, never]
        return D, size, row, m, bounds

    def steps_of(self, table, rows, move, base):
        """See `DistanceResponse.steps_of`."""
        _, _, row, m, bounds = self._intervals(table, rows, move)
        doubtful = _cells_of(row, bounds[:2], bounds[2:])
        one = np.ones(len(row))
        targets = self.form.targets.T[:, m]
        # sums of the targets, number of neighbours, whether the model is to be asked
        alone = np.ones(len(doubtful[0]))
        changes = np.concatenate([targets, [one, 0.0 * one]])
        asked = np.zeros((len(changes), len(alone)))
        asked[-1] = alone
        steps = Steps.of_changes(
            np.concatenate([row, row, doubtful[0], doubtful[0]]),
            np.concatenate([bounds[1], bounds[2], doubtful[1], doubtful[1] + 1]),
            np.concatenate([changes, -changes, asked, -asked], axis=1),
            len(rows),
            move.n_cells,
        )

        def moved(sums, of_row, cells):
            none = sums[-2] < 0.5
            scores = np.where(none, np.nan, sums[:-2] / np.where(none, 1.0, sums[-2]))
            at = table, rows[of_row], move, cells
            values = self.linked_or_asked(scores, *at, sums[-1] > 0.5)
            return values - base[:, of_row]

        return steps.mapped(moved)

    def weighted(self, table, rows, move):
        """See `DistanceResponse.weighted`."""
        D, size, row, _, bounds = self._intervals(table, rows, move)
        values = numeric_values(move)[:, 0]
        t = self.form.rows[:, move.entry.columns[0]]
        scores = np.empty((self.n_scores, len(rows), move.n_cells))
        doubtful = np.zeros(scores.shape[1:], dtype=bool)
        doubtful[_cells_of(row, bounds[:2], bounds[2:])] = True
        too_near = self.too_near(size)
        for i in range(len(rows)):
            near = np.flatnonzero(D[i] <= self.form.radius**2)
            for cells in slices(move.n_cells, max(1, len(near))):
                gaps = values[cells, np.newaxis] - t[near]
                squared = D[i, near] + gaps * gaps
                scores[:, i, cells] = self.form.means(squared, near)
                if self.form.by_products:
                    least = squared.min(axis=1, initial=np.inf)
                    doubtful[i, cells] |= least <= too_near[i]
        return scores, doubtful


def _cells_of(row, *bounds):
    """Rows and cells in given ranges of cells of each row."""
    rows, cells = [], []
    for first, end in bounds:
        some = np.flatnonzero(end > first)
        which, turn = numbered(end[some] - first[some])
        rows.append(row[some][which])
        cells.append(first[some][which] + turn)
    return np.concatenate(rows), np.concatenate(cells)
