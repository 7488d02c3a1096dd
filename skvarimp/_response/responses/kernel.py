"""Kernel machines: link(sum_m dual[q, m] k(x, s_m) + b_q).

One moved column changes a smooth kernel smoothly: the curves are evaluated on a few
Chebyshev nodes and interpolated, exact to rounding.
"""

import numpy as np

from skvarimp._data.table import SparseTable
from skvarimp._data.values import spread_over
from skvarimp._models.forms import NotReadable
from skvarimp._models.kernels import Gaussian, Vectors, is_far
from skvarimp._models.links import IDENTITY
from skvarimp._response.contract import Costs
from skvarimp._response.responses.scores import (
    KeptNodes,
    ScoreResponse,
    numeric_values,
)
from skvarimp._response.shapes.basis import (
    TOO_MANY,
    gaussian_nodes,
    interpolation,
    nodes,
    tanh_nodes,
)
from skvarimp._running.memory import CACHE, slices

# Chebyshev nodes that are exact to rounding for the kinds of `Gaussian.variation`.
NODES = {
    "gaussian": gaussian_nodes,
    "tanh": tanh_nodes,
    "polynomial": lambda degree: max(degree + 1, 2),
}


def kernel_response(model, form, table):
    """The response of a kernel sum on a table, or NotReadable where digits are lost."""
    by_products = form.by_products or isinstance(table, SparseTable)
    gamma = form.kernel.gamma if isinstance(form.kernel, Gaussian) else 0.0
    if by_products and is_far(gamma, table.numeric(), form.support):
        raise NotReadable("its squared distances cancel but for rounding")
    few = table.take(spread_over(table.n_samples, 12))
    if form.magnitude(few) > 1e6 * np.abs(form.scores(few)).max():
        raise NotReadable("its dual coefficients cancel but for rounding")
    return KernelResponse(model, form)


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
        super().__init__(model, form.link, len(form.dual))
        self.form, self.kernel, self.support = form, form.kernel, form.support
        self.dual, self.intercept = form.dual, form.intercept
        self._kept_nodes = KeptNodes(self)

    def scores_at(self, table, rows, columns, values):
        """See `ScoreResponse.scores_at`."""
        at, basis = self.nodes_of(table, columns, values)
        if basis is None:
            return self.scores_one_by_one(table, rows, columns, values)
        scores = self._kept_nodes.scores(table, rows, columns, at)
        return np.matmul(scores, basis.T)

    def scores_one_by_one(self, table, rows, columns, values):
        """As `scores_at`, computed at each of the values."""
        scores = np.empty((self.n_scores, len(rows), len(values)))
        scores[:] = self.intercept[:, np.newaxis, np.newaxis]
        for part, cells, of_part in self._parts(table, rows, columns, values):
            scores[:, part, cells] += of_part(None)
        return scores

    def mean_curves(self, table, rows, weights, move, base):
        """See `Response.mean_curves`; O((n_rows + n_cells) n_support)."""
        if self.link is not IDENTITY:
            return super().mean_curves(table, rows, weights, move, base)
        columns, values = list(move.entry.columns), numeric_values(move)
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
        half_width = (high - low) / 2.0
        S = Vectors(self.support)
        kind, c = self.kernel.variation(half_width, S, columns[0])
        n = NODES[kind](c)
        if n >= TOO_MANY:
            return values, None
        at = nodes(low, high, n)[:, np.newaxis]
        # nodes serve all grids of an entry, so there may be a few more than values
        if n >= 3 * len(values) and not self._kept_nodes.holds(table, columns, at):
            return values, None
        return at, interpolation(values[:, 0], low, high, n)

    def _parts(self, table, rows, columns, values):
        """Blocks of rows and cells, with a function of row weights or None that sums.

        Yields
        ------
        rows, cells : slice
        of_part : callable
            of_part(None) is (n_scores, n_rows, n_cells), of_part(weights) the
            weighted sum over the rows, (n_scores, 1, n_cells).
        """
        S = Vectors(self.form.support_like(table.take([0]).numeric()))
        n_support = len(self.dual[0])
        for cells in slices(len(values), self.dual.size):
            moved = self.kernel.moved(values[cells], S, columns)
            if self.kernel.separable:  # (n_scores, n_support, n_cells) each
                moved = [self.dual[:, :, np.newaxis] * function for function in moved]
            for part in slices(len(rows), n_support, CACHE):
                X = Vectors(table.take(rows[part]).numeric())
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
        """See `Response.costs`."""
        n_support, n_columns = self.support.shape
        call = 15.0 + n_support * (0.075 * n_columns + 0.35)
        if not self.kernel.separable:
            return Costs(call, 5.0 * n_support, 1.25)
        return Costs(call, n_support * (0.4 + 0.005 * n_columns), 1.25)
