"""The response of kernel machines."""

from functools import partial

import numpy as np

from skvarimp._data.base_table import dense, spread_over
from skvarimp._data.table import SparseTable
from skvarimp._models.array_forms import Gaussian, Polynomial, is_far
from skvarimp._models.forms import NotReadable
from skvarimp._models.links import IDENTITY
from skvarimp._response.basis import (
    TOO_MANY,
    gaussian_nodes,
    interpolation,
    nodes,
    tanh_nodes,
)
from skvarimp._response.responses.scores import (
    TYPICAL_NODES,
    ScoreResponse,
    numeric_values,
)
from skvarimp._running.memory import CACHE, HELD, Memo, slices

NODES_A_CELL = 20  # a matrix product takes less for so many nodes than a cell alone


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


class KernelResponse(ScoreResponse):
    """link(dual k(S, x) + intercept).

    A single moved value takes one column of the kernel. A curve of one column is
    smooth, and the kernel tells how many Chebyshev nodes it takes: its other values
    follow by interpolation, exact to rounding.

    Parameters
    ----------
    model : Model
    form : KernelSum
    """

    path = "kernel"
    smooth = reads_cells = True

    def __init__(self, model, form):
        super().__init__(model, form.link, len(form.dual))
        self.form, self.kernel, self.support = form, form.kernel, form.support
        self.dual, self.intercept = form.dual, form.intercept
        self.numbers_per_cell = TYPICAL_NODES * self.n_scores
        self._at_nodes = Memo()

    def shapes(self, rows, move):
        """Scores at the nodes are kept: the grids of a column share them."""
        columns, values = list(move.feature.columns), numeric_values(move)
        if len(columns) == 1 and self.offers(move.n_cells):
            at, basis = self.nodes_of(columns, values)
            n_kept = self.n_scores * rows.table.n_samples * len(at)
            if basis is not None and n_kept <= HELD:
                of = rows.table, columns, values.min(), values.max()
                make = partial(AtNodes, of, at, self.n_scores)
                self._at_nodes.get((rows.table, *columns, *of[2:]), make)
        yield from super().shapes(rows, move)

    def scores_at(self, rows, columns, values):
        of = rows.table, columns, values.min(), values.max()
        for kept in self._at_nodes.results():
            if kept.of == of:
                basis = interpolation(values[:, 0], *of[2:], len(kept.at))
                return np.matmul(self._kept_scores(kept, rows), basis.T)
        at, basis = self.nodes_of(columns, values)
        if basis is None:
            return self.scores_one_by_one(rows, columns, values)
        scores = self.scores_one_by_one(rows, columns, at)
        return np.matmul(scores, basis.T)

    def _kept_scores(self, kept, rows):
        """Those of some rows; what is not known yet is computed."""
        unknown = np.flatnonzero(~kept.known[rows.index])
        if len(unknown):
            block = rows.block(unknown)
            scores = self.scores_one_by_one(block, kept.of[1], kept.at)
            kept.scores[:, block.index] = scores
            kept.known[block.index] = True
        return kept.scores[:, rows.index]

    def scores_of_cells(self, rows, columns, values):
        flat = values.reshape(-1, len(columns))
        at, basis = self.nodes_of(columns, flat)
        if basis is not None and len(at) <= NODES_A_CELL * len(values):
            scores = self.scores_one_by_one(rows, columns, at)
            basis = basis.reshape(*values.shape[:2], len(at))
            return np.einsum("qin,tin->qti", scores, basis)
        S = self.form.support_like(rows.table.take([0]).numeric())
        scores = np.empty((self.n_scores, *values.shape[:2]))
        for part in slices(len(rows), self.dual.shape[1], CACHE):
            X = rows.table.take(rows.index[part]).numeric()
            others = self.kernel.others(X, S, columns)
            for t, own in enumerate(values[:, part]):
                moved = self.kernel.moved(own, S, columns)
                if self.kernel.separable:
                    kernel = sum(left * right.T for left, right in zip(others, moved))
                else:  # the sigmoid kernel, of a sum of two parts
                    kernel = np.tanh(others + moved.T)
                scores[:, t, part] = self.dual @ kernel.T
        return scores + self.intercept[:, np.newaxis, np.newaxis]

    def scores_one_by_one(self, rows, columns, values):
        """Compute scores at each of the values; arguments as of `scores_at`."""
        scores = np.empty((self.n_scores, len(rows), len(values)))
        scores[:] = self.intercept[:, np.newaxis, np.newaxis]
        for part, cells, sums_of in self._parts(rows, columns, values):
            scores[:, part, cells] += sums_of(None)
        return scores

    def mean_curves(self, rows, move):
        """O((n_rows + n_cells) n_support)."""
        if self.link is not IDENTITY:
            return super().mean_curves(rows, move)
        columns, values = list(move.feature.columns), numeric_values(move)
        at, basis = values, None
        if not self.kernel.separable:
            at, basis = self.nodes_of(columns, values)
        mean = np.zeros((self.n_scores, len(at)))
        for part, cells, sums_of in self._parts(rows, columns, at):
            mean[:, cells] += sums_of(rows.weights[part])[:, 0]
        mean = mean if basis is None else mean @ basis.T
        unmoved = self.intercept * rows.weights.sum() - rows.level
        return mean + unmoved[:, np.newaxis]

    def nodes_of(self, columns, values):
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
        if n >= min(TOO_MANY, len(values)):
            return values, None
        at = nodes(low, high, n)[:, np.newaxis]
        return at, interpolation(values[:, 0], low, high, n)

    def n_nodes(self, column, half_width):
        """How many nodes of an interval are exact to rounding for the kernel."""
        if isinstance(self.kernel, Gaussian):
            return gaussian_nodes(self.kernel.gamma * half_width**2)
        if isinstance(self.kernel, Polynomial):
            return max(self.kernel.degree + 1, 2)
        steepest = np.abs(self.kernel.gamma * dense(self.support[:, [column]]))
        return tanh_nodes(max(steepest.max(initial=0.0) * half_width, 1e-3))

    def _parts(self, rows, columns, values):
        """Blocks of rows and cells, with a function of row weights or None that sums.

        Yields
        ------
        rows, cells : slice
        sums_of : callable
            sums_of(None) is (n_scores, n_rows, n_cells), sums_of(weights) the
            weighted sum over the rows, (n_scores, 1, n_cells).
        """
        S = self.form.support_like(rows.table.take([0]).numeric())
        n_support = len(self.dual[0])
        for cells in slices(len(values), self.dual.size):
            moved = self.kernel.moved(values[cells], S, columns)
            if self.kernel.separable:  # (n_scores, n_support, n_cells) each
                moved = [self.dual[:, :, np.newaxis] * function for function in moved]
            for part in slices(len(rows), n_support):
                X = rows.table.take(rows.index[part]).numeric()
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

    def call_cost(self):
        n_support, n_columns = self.support.shape
        of_one = n_support * (0.075 * n_columns + 0.35)
        return 15.0 + of_one + self.outputs_cost

    def row_cost(self, n_cells, grouped=False):
        n_support, n_columns = self.support.shape
        of_one = 0.4 + 0.005 * n_columns if self.kernel.separable else 5.0
        return n_support * of_one + n_cells * (1.25 + self.outputs_cost)


class AtNodes:
    """Scores of rows of a table as one column takes a few values.

    Attributes
    ----------
    of : tuple
        The table, the column in a list, and the values between which it moves.
    at : ndarray of shape (n_nodes, 1)
    scores : ndarray of shape (n_scores, n_samples, n_nodes)
    known : ndarray of bool of shape (n_samples,)
        Whose scores are there.
    """

    def __init__(self, of, at, n_scores):
        self.of, self.at, n_samples = of, at, of[0].n_samples
        self.known = np.zeros(n_samples, dtype=bool)
        self.scores = np.empty((n_scores, n_samples, len(at)))
