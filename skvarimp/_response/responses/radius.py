"""Neighbours within a radius: each is one for an interval of a moved value.

With D_m the squared distance of a row from training row m by the other columns and t_m
that row's value, row m is a neighbour where (v - t_m)^2 <= r^2 - D_m. So the sums of
the neighbours' targets are step functions of v.
"""

import numpy as np

from skvarimp._response.costs import Costs
from skvarimp._response.responses.neighbours import TIED, DistanceResponse
from skvarimp._response.responses.scores import numeric_values
from skvarimp._response.shapes.steps import Steps
from skvarimp._running.memory import slices


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
        count = end[some] - first[some]
        of_range = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        rows.append(np.repeat(row[some], count))
        cells.append(np.repeat(first[some], count) + of_range)
    return np.concatenate(rows), np.concatenate(cells)
