"""Models that see X through a few weighted sums of its columns: head(X W + b).

With W (n_columns, n_units), moving the columns J of row i from x_iJ to v changes its
sums by (v - x_iJ) W_J and nothing else. Such models are sums of products of lines and
hinges, and multilayer perceptrons, whose first layer alone sees the moved columns.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from skvarimp._compiled import use_compiled
from skvarimp._data.table import SparseTable
from skvarimp._models.array_forms import ACTIVATIONS
from skvarimp._models.links import EXPONENTIAL, IDENTITY, LOGISTIC
from skvarimp._response.contract import Costs, Task
from skvarimp._response.reductions import SquaredError
from skvarimp._response.responses.many_columns import (
    few_value_batches,
    few_value_curves,
    few_values,
    finish_shape,
)
from skvarimp._response.responses.scores import (
    TYPICAL_NODES,
    ScoreResponse,
    numeric_values,
    own_values,
)
from skvarimp._response.shapes.basis import (
    cosine_nodes,
    interpolation,
    logistic_nodes,
    mean_over_nodes,
    nodes,
    tanh_nodes,
)
from skvarimp._response.shapes.line import KinkedCurves, between_kinks, kinked_curves
from skvarimp._response.shapes.shape import Dense
from skvarimp._running.memory import CACHE, Memo, at_once, slices, working_bytes

NODES = {"tanh": tanh_nodes, "logistic": logistic_nodes, "cosine": cosine_nodes}


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
        return self.moved_scores(others, columns, values)

    def steps(self, values, columns):
        """What some columns add to the units' sums, (n_values, n_units)."""
        return values @ self.weights[columns]

    def others(self, table, rows, columns):
        """The units' sums but for what some columns add, (n_rows, n_units)."""
        own = self.steps(own_values(table, rows, columns), columns)
        return self.sums(table, rows) - own

    def moved_scores(self, others, columns, values):
        """Scores of moved rows.

        result[q, i, k] = head_q(others[i] + steps(values[k]))

        Parameters
        ----------
        others : ndarray of shape (n_rows, n_units)
            The rows' sums without the moved columns.
        columns : list of int
        values : ndarray of shape (n_cells, len(columns))

        Returns
        -------
        ndarray of shape (n_scores, n_rows, n_cells)
        """
        steps = self.steps(values, columns)
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
            yield from few_value_batches(X, columns, n_units, self.n_outputs)

    def finished(self, walk, positions):
        """The finished reductions of such columns; None: to be done one by one."""
        columns = columns_at(walk, positions)
        few = few_values(walk.table.csc, columns, walk.weights)
        sums = self.sums(walk.table, walk.rows)
        ice = few_value_curves(self, sums, few, self.weights[columns], walk.base)
        if ice is None:
            return None
        margins = walk.margins(slice(0, len(walk.rows)), few.probabilities)
        return finish_shape(walk, positions, Dense(margins, ice), few.codes)


def columns_at(walk, positions):
    """The single columns that some positions move."""
    entries, n_entries = walk.moves.entries, walk.n_entries
    return np.array([entries[p % n_entries].columns[0] for p in positions], np.intp)


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
        ascending = form.link in (IDENTITY, EXPONENTIAL, LOGISTIC)
        self.turns_once = ascending and all(
            form.degree(units) <= 2 for units in form.matrix != 0
        )

    def head(self, sums):
        """See `ProjectionResponse.head`."""
        return np.moveaxis(self.form.head(sums), -1, 0)

    def moved_scores(self, others, columns, values):
        """See `ProjectionResponse.moved_scores`; unmoved products are formed once."""
        moving, still = self.form.split(self.weights[columns].any(axis=0))
        steps = self.steps(values, columns)
        scores = np.empty((self.n_scores, len(others), len(values)))
        size = steps.size + len(values) * len(moving.coef)
        for part in slices(len(others), size, CACHE):
            of_part = moving.head(others[part, np.newaxis] + steps)
            scores[:, part] = np.moveaxis(of_part, -1, 0)
        scores += still.head(others).T[:, :, np.newaxis]
        return scores

    def nodes_of(self, table, columns, values):
        """See `ScoreResponse.nodes_of`."""
        if len(columns) > 1:
            return values, None
        form, values = self.form, values[:, 0]
        low, high = values.min(), values.max()
        weights = form.matrix[columns[0]]
        degree, bent = form.degree(weights != 0), (weights != 0) & form.hinges
        several = np.count_nonzero(form.matrix[:, bent], axis=0) > 1
        if low == high or (bent.any() and (degree > 1 or several.any())):
            return values[:, np.newaxis], None
        if bent.any():
            kinks = -form.shift[bent] / weights[bent]
            kinks = kinks[(kinks > low) & (kinks < high)]
            at = np.unique(np.concatenate([[low, high], kinks]))
            make = partial(between_kinks, values, at)
        else:
            at = nodes(low, high, max(degree + 1, 3))
            make = partial(interpolation, values, low, high, len(at))
        if len(at) >= len(values):
            return values[:, np.newaxis], None
        return at[:, np.newaxis], make()

    def turns(self, table, rows, column, values):
        """See `ScoreResponse.turns`; a parabola's vertex."""
        middle, half = (values[0] + values[-1]) / 2.0, (values[-1] - values[0]) / 2.0
        at = nodes(values[0], values[-1], 3)[:, np.newaxis]
        scores = self.at_nodes(table, rows, [column], at)
        low, centre, high = np.moveaxis(scores, 2, 0)
        # score = centre + rise u + bend u^2 with u from -1 to 1
        rise, bend = (high - low) / 2.0, (high + low) / 2.0 - centre
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            vertex = -rise / (2.0 * (bend + 0.0))
        return np.searchsorted(values, middle + half * vertex), bend >= 0.0

    def costs(self):
        """See `Response.costs`."""
        n_terms = len(self.form.coef)
        return Costs(15.0 + 0.075 * n_terms, 0.2 * n_terms, 1.0)


class NetworkResponse(ProjectionResponse):
    """link(W_L a_(L-1) + b_L), a_l = activation(W_l a_(l-1) + b_l).

    Parameters
    ----------
    model : Model
    form : Layers
    """

    path = "network"

    LEAST_CELLS = 16  # fewer are evaluated one by one

    def __init__(self, model, form):
        weights, biases = form.weights, form.biases
        super().__init__(model, form.link, len(biases[-1]), weights[0], biases[0])
        self.activation = form.activation
        self.smooth = form.activation in NODES
        self.layers = list(zip(weights[1:], biases[1:]))

    def head(self, sums):
        """See `ProjectionResponse.head`."""
        activate = ACTIVATIONS[self.activation]
        for W, b in self.layers:
            sums = activate(sums) @ W
            sums += b
        return np.moveaxis(sums, -1, 0)

    def moved_scores(self, others, columns, values):
        """See `ProjectionResponse.moved_scores`; one hidden layer is interpolated."""
        one_column = len(columns) == 1 and len(self.layers) == 1
        if not one_column or len(values) < self.LEAST_CELLS:
            return super().moved_scores(others, columns, values)
        weights = self.weights[columns[0]]
        if self.activation == "relu":
            return kinked_curves(others, weights, values[:, 0], *self.layers[0])
        low, high = values.min(), values.max()
        steepest = np.abs(weights).max() * (high - low) / 2.0
        n = max(NODES[self.activation](max(steepest, 1e-3)), 2)
        if n >= len(values):
            return super().moved_scores(others, columns, values)
        at = nodes(low, high, n)[:, np.newaxis]
        scores = super().moved_scores(others, columns, at)
        return np.matmul(scores, interpolation(values[:, 0], low, high, n).T)

    def offers(self, n_cells):
        """See `ScoreResponse.offers`; squares between kinks are compiled."""
        kinked = self.activation == "relu" and len(self.layers) == 1
        if kinked and self.link is IDENTITY and n_cells >= self.LEAST_CELLS:
            return {"moments"} if use_compiled() else set()
        return super().offers(n_cells)

    def evaluations_for(self, reduction, n_rows, n_cells):
        """See `Response.evaluations_for`; with kinks, squares alone need no values."""
        if self.smooth or isinstance(reduction, SquaredError):
            return super().evaluations_for(reduction, n_rows, n_cells)
        return self.evaluations(n_rows, n_cells)

    def shapes(self, table, rows, move, margins):
        """See `Response.shapes`; lines between kinks of one rectified layer."""
        columns = list(move.entry.columns)
        kinked = not self.smooth and self.offers(move.n_cells)
        if not (kinked and len(columns) == 1 and self.changes(move)):
            yield from super().shapes(table, rows, move, margins)
            return
        slopes, values = self.weights[columns[0]], numeric_values(move)[:, 0]
        for part, of_part in margins.parts(at_once(len(slopes))):
            others = self.others(table, rows[part], columns)
            parts = partial(self.dense, table, rows[part], move, of_part)
            yield KinkedCurves(of_part, parts, others, slopes, values, *self.layers[0])

    def mean_curves(self, table, rows, weights, move, base):
        """See `Response.mean_curves`; of smooth functions of two columns from nodes."""
        columns, mean = list(move.entry.columns), None

        def mean_at(part, points):
            unmoved = base[:, part] @ weights[part]
            mean = np.repeat(-unmoved[:, np.newaxis], len(points), axis=1)
            of_part, w = rows[part], weights[part]
            for some in slices(len(of_part), len(points) * self.n_outputs):
                with np.errstate(over="ignore"):
                    scores = self.scores_at(table, of_part[some], columns, points)
                    mean += np.matmul(w[some], self.link(scores)[0])
            return mean

        smooth = self.smooth and self.link.smooth
        if len(columns) == 2 and smooth and self.changes(move):
            values, size = numeric_values(move), np.abs(base).max()
            mean = mean_over_nodes(mean_at, len(rows), values, size)
        if mean is None:
            mean = super().mean_curves(table, rows, weights, move, base)
        return mean

    def costs(self):
        """See `Response.costs`."""
        n_columns, n_units = self.weights.shape
        head = sum(0.005 * W.size + 0.15 * len(W) for W, _ in self.layers)
        call = 15.0 + 0.025 * n_columns * n_units + head
        if len(self.layers) > 1:
            return Costs(call, 0.0, head + 1.0)
        if self.activation == "relu":  # a kink for each unit, not a pass for each value
            return Costs(call, n_units, 1.5)
        return Costs(call, TYPICAL_NODES * head, 1.25)
