"""What linear, kernel and network responses share: links of scores of numbers."""

from functools import cached_property, partial

import numpy as np

from skvarimp._data.base_table import dense, spread_over
from skvarimp._data.table import SparseTable
from skvarimp._models.array_forms import Gaussian, Polynomial, is_far
from skvarimp._models.forms import NotReadable
from skvarimp._models.links import IDENTITY, any_close
from skvarimp._response.basis import (
    TOO_MANY,
    Basis,
    gaussian_nodes,
    interpolation,
    nodes,
    tanh_nodes,
)
from skvarimp._response.contract import BlackBoxResponse, Costs, Response
from skvarimp._response.walk import Walker
from skvarimp._running.memory import CACHE, Memo, at_once, slices, working_bytes

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

    def scores(self, table, rows, move):
        """Scores of moved rows, (n_scores, n_rows, n_cells)."""
        columns = list(move.feature.columns)
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
        own = own_cells(rows, move)
        with np.errstate(over="ignore"):
            scores = self.scores(table, rows, move)
        cells = np.arange(scores.shape[2])
        ice = self.linked(scores, table, rows[:, np.newaxis], move, cells)
        if own is not None:
            ice[own] = base
        return ice

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
        one_column = len(move.feature.columns) == 1
        if not (one_column and self.offers(move.n_cells) and self.changes(move)):
            yield from super().shapes(table, rows, move, margins)
            return
        columns, values = list(move.feature.columns), numeric_values(move)[:, 0]
        for part, of_part in margins.parts(at_once(TYPICAL_NODES * self.n_outputs)):
            of_rows = rows[part]

            def evaluate(at, which, of_rows=of_rows):
                at = at[:, np.newaxis]
                with np.errstate(over="ignore"):
                    scores = self.scores_at(table, of_rows[which], columns, at)
                    return self.link(scores)[0][np.newaxis]

            parts = partial(Response.shapes, self, table, of_rows, move, of_part)
            yield Basis(of_part, values[np.newaxis], evaluate, parts)

    def evaluations(self, n_rows, n_cells, reduction=None, grouped=False):
        offered = not grouped and reduction is not None
        if offered and reduction.needs in self.offers(n_cells):
            # each block tries some rows at more nodes; of many outputs blocks are small
            n_nodes = TYPICAL_NODES + 0.5 * (self.n_outputs - 1)
            n_cells = min(n_cells, n_nodes)
        costs = self.costs().for_outputs(self.n_outputs)
        return costs.evaluations(n_rows, n_cells, grouped)

    def forms_no_curve(self, walk, position):
        """Whether the reductions of a position take no row's values on all cells."""
        offers = self.offers(walk.moves[position].n_cells)
        return {r.needs for r in walk.reductions_of(position)} <= offers

    def walker(self, walk):
        return ScoreWalker(self, walk)


class ScoreWalker(Walker):
    """All rows at once if no row's curve is formed."""

    def rows_at_once(self, position, most):
        no_curve = self.response.forms_no_curve(self.walk, position)
        return len(self.walk.rows) if no_curve else most


def own_cells(rows, move):
    """Where rows' curves are at their own values and so unmoved, an index; or None."""
    if move.codes is None:
        return None
    return slice(None), np.arange(len(rows)), move.codes[rows]


def numeric_values(move):
    """The values of a move as float64, (n_cells, n_columns)."""
    return move.values.reshape(len(move.values), -1).astype(np.float64)


def own_values(table, rows, columns):
    """The rows' own values of some columns as float64, (n_rows, n_columns)."""
    own = [table.column(j)[rows] for j in columns]
    return np.column_stack(own).astype(np.float64, copy=False)


def kernel_response(model, form, table):
    """The response of a kernel sum on a table, or NotReadable where digits are lost."""
    response = KernelResponse(model, form)
    by_products = form.by_products or isinstance(table, SparseTable)
    gamma = form.kernel.gamma if isinstance(form.kernel, Gaussian) else 0.0
    if by_products and is_far(gamma, table.numeric(), form.support):
        raise NotReadable("its squared distances cancel but for rounding")
    few = table.take(spread_over(table.n_samples, 12))
    if form.cancels(few.numeric()):
        raise NotReadable("its dual coefficients cancel but for rounding")
    return response


class KeptNodes:
    """Scores at nodes, kept for the last feature.

    All grids of a feature lie between the same ends and share their nodes.

    Parameters
    ----------
    response : ScoreResponse
        With `scores_one_by_one`, as `scores_at`, computed at each of the values.
    """

    def __init__(self, response):
        self._response = response

    @cached_property
    def _kept(self):
        return Memo()

    def scores(self, table, rows, columns, at):
        """Scores (n_scores, n_rows, n_nodes) at nodes (n_nodes, len(columns))."""
        response = self._response
        size = 8 * response.n_scores * table.n_samples * len(at)
        if size > working_bytes() / 8:
            return response.scores_one_by_one(table, rows, columns, at)

        def make():
            scores = np.empty((response.n_scores, table.n_samples, len(at)))
            return scores, np.zeros(table.n_samples, dtype=bool)

        key = self._key(table, columns, at)
        scores, known = self._kept.get(key, make)
        new = rows[~known[rows]]
        if len(new):
            scores[:, new] = response.scores_one_by_one(table, new, columns, at)
            known[new] = True
        return scores[:, rows]

    def holds(self, table, columns, at):
        """Whether the scores of some rows at these nodes are kept."""
        return self._key(table, columns, at) in self._kept

    @staticmethod
    def _key(table, columns, at):
        return table, tuple(columns), at.tobytes()


class KernelResponse(ScoreResponse):
    """See the module.

    Parameters
    ----------
    model : Model
    form : KernelSum
    """

    path = "kernel"
    smooth = True

    def __init__(self, model, form):
        self._kept_nodes = KeptNodes(self)
        super().__init__(model, form.link, len(form.dual))
        self.form, self.kernel, self.support = form, form.kernel, form.support
        self.dual, self.intercept = form.dual, form.intercept

    def scores_at(self, table, rows, columns, values):
        at, basis = self.nodes_of(table, columns, values)
        if basis is None:
            return self.scores_one_by_one(table, rows, columns, values)
        scores = self._kept_nodes.scores(table, rows, columns, at)
        return np.matmul(scores, basis.T)

    def scores_one_by_one(self, table, rows, columns, values):
        """Compute scores at each of the values; arguments as of `scores_at`."""
        scores = np.empty((self.n_scores, len(rows), len(values)))
        scores[:] = self.intercept[:, np.newaxis, np.newaxis]
        for part, cells, of_part in self._parts(table, rows, columns, values):
            scores[:, part, cells] += of_part(None)
        return scores

    def mean_curves(self, table, rows, weights, move, base):
        """O((n_rows + n_cells) n_support)."""
        if self.link is not IDENTITY:
            return super().mean_curves(table, rows, weights, move, base)
        columns, values = list(move.feature.columns), numeric_values(move)
        at, basis = values, None
        if not self.kernel.separable:
            at, basis = self.nodes_of(table, columns, values)
        mean = np.zeros((self.n_scores, len(at)))
        for part, cells, of_part in self._parts(table, rows, columns, at):
            mean[:, cells] += of_part(weights[part])[:, 0]
        mean = mean if basis is None else mean @ basis.T
        unmoved = self.intercept * weights.sum() - base @ weights
        return mean + unmoved[:, np.newaxis]

    def nodes_of(self, table, columns, values):
        """Few values that tell the scores at all values of some columns.

        Returns
        -------
        at : ndarray of shape (n_nodes, len(columns))
        basis : ndarray of shape (n_values, n_nodes) or None
            What interpolates from them; None: the values are their own nodes.
        """
        low, high = values.min(), values.max()
        if len(columns) > 1 or low == high:
            return values, None
        n = self.n_nodes(columns[0], (high - low) / 2.0)
        if n >= TOO_MANY:
            return values, None
        at = nodes(low, high, n)[:, np.newaxis]
        # nodes serve all grids of a feature, so there may be a few more than values
        if n >= 3 * len(values) and not self._kept_nodes.holds(table, columns, at):
            return values, None
        return at, interpolation(values[:, 0], low, high, n)

    def n_nodes(self, column, half_width):
        """How many nodes of an interval are exact to rounding for the kernel."""
        if isinstance(self.kernel, Gaussian):
            return gaussian_nodes(self.kernel.gamma * half_width**2)
        if isinstance(self.kernel, Polynomial):
            return max(self.kernel.degree + 1, 2)
        steepest = np.abs(self.kernel.gamma * dense(self.support[:, [column]]))
        return tanh_nodes(max(steepest.max(initial=0.0) * half_width, 1e-3))

    def _parts(self, table, rows, columns, values):
        """Blocks of rows and cells, with a function of row weights or None that sums.

        Yields
        ------
        rows, cells : slice
        of_part : callable
            of_part(None) is (n_scores, n_rows, n_cells), of_part(weights) the
            weighted sum over the rows, (n_scores, 1, n_cells).
        """
        S = self.form.support_like(table.take([0]).numeric())
        n_support = len(self.dual[0])
        for cells in slices(len(values), self.dual.size):
            moved = self.kernel.moved(values[cells], S, columns)
            if self.kernel.separable:  # (n_scores, n_support, n_cells) each
                moved = [self.dual[:, :, np.newaxis] * function for function in moved]
            for part in slices(len(rows), n_support, CACHE):
                X = table.take(rows[part]).numeric()
                others = self.kernel.others(X, S, columns)
                yield part, cells, lambda w, o=others, m=moved: self._summed(o, m, w)

    def _summed(self, others, moved, weights):
        if self.kernel.separable:
            if weights is not None:
                others = [weights[np.newaxis] @ function for function in others]
            # (n_rows, n_support) @ (n_scores, n_support, n_cells)
            return sum(left @ right for left, right in zip(others, moved))
        # the sigmoid kernel, of a sum of two parts
        columns = [np.tanh(others + v) @ self.dual.T for v in moved.T]
        if weights is not None:
            columns = [weights[np.newaxis] @ column for column in columns]
        return np.stack([column.T for column in columns], axis=2)

    def costs(self):
        n_support, n_columns = self.support.shape
        call = 15.0 + n_support * (0.075 * n_columns + 0.35)
        if not self.kernel.separable:
            return Costs(call, 5.0 * n_support, 1.25)
        return Costs(call, n_support * (0.4 + 0.005 * n_columns), 1.25)
