"""Curves that are smooth in one number of each cell: sums of a few functions of it.

With u[k] in [-1, 1] the position of a cell and x_m the Chebyshev nodes,

    h[i, k] = sum_m h_i(x_m) B[k, m]

for the curves and for smooth functions h of them, where B interpolates. The number of
nodes grows until the last Chebyshev coefficients have vanished, so that the sum is
exact to rounding. Means over the cells and over the rows take O((n_rows + n_cells)
n_nodes).
"""

from dataclasses import replace
from functools import cached_property, lru_cache
from operator import attrgetter

import numpy as np

from skvarimp._data.base_table import spread_over
from skvarimp._response.shape import Chunk, NeedsValues, Shape, summing
from skvarimp._running.memory import CACHE, slices

ROUNDING = 1e-17  # the error allowed, relative to the largest value
TOO_MANY = 10_000  # nodes; the function is then evaluated at the values themselves
_RHO = np.geomspace(1.005, 1e4, 500)
_HEIGHT = (_RHO - 1.0 / _RHO) / 2.0


def n_nodes(log_bound):
    """How many Chebyshev nodes leave an error below rounding.

    Parameters
    ----------
    log_bound : callable
        log_bound(heights) gives, for each, the logarithm of a bound of the function
        on the ellipse around [-1, 1] that reaches that high above it; infinite
        beyond its poles. The function is of size 1 on the interval itself.

    Returns
    -------
    int

    Notes
    -----
    With M the bound on the ellipse of axes' sum rho, the polynomial of degree n
    through n + 1 Chebyshev points errs by at most 4 M rho^-n / (rho - 1)
    (L. N. Trefethen, Approximation Theory and Approximation Practice, theorem 8.2);
    the best rho of many is taken.
    """
    excess = np.log(4.0 / (_RHO - 1.0) / ROUNDING) + log_bound(_HEIGHT)
    needed = max(np.min(excess / np.log(_RHO)), 0.0)
    return int(min(np.ceil(needed) + 1, TOO_MANY))


def gaussian_nodes(c):
    """Nodes for exp(-c (x - s)^2) on [-1, 1], whatever the real s."""
    # |exp(-c (x + iy - s)^2)| <= exp(c y^2)
    return n_nodes(lambda height: c * height**2)


def tanh_nodes(slope):
    """Nodes for tanh(slope x + s) on [-1, 1], whatever the real s."""

    def log_bound(height):
        # |tanh(u + iy)| <= max(1, tan y) below the poles at y = pi / 2
        y = slope * height
        largest = np.maximum(np.tan(np.minimum(y, 1.55)), 1.0)
        return np.where(y < 1.55, np.log(largest), np.inf)

    return n_nodes(log_bound)


def nodes(low, high, n):
    """n Chebyshev points of [low, high], ascending."""
    x = -np.cos(np.pi * np.arange(n) / max(n - 1, 1))
    return (low + high) / 2.0 + (high - low) / 2.0 * x


def interpolation(points, low, high, n):
    """Values at points from values at the nodes.

    f(points) = result @ f(nodes(low, high, n))

    Parameters
    ----------
    points : ndarray of shape (..., n_points)
        Within [low, high].
    low, high : float
    n : int
        At least 2.

    Returns
    -------
    ndarray of shape (..., n_points, n)
    """
    at = nodes(low, high, n)[:, np.newaxis]
    # barycentric formula with weights (-1)^m, halved at both ends
    signs = np.where(np.arange(n) % 2, -1.0, 1.0)[:, np.newaxis]
    signs[[0, -1]] /= 2.0
    # one node after another in memory, so that sums over nodes are those of long rows
    gaps = (points[..., np.newaxis, :] - at) / (high - low)  # free of overflow below
    hits = gaps == 0
    on_node = hits.any(axis=-2, keepdims=True)
    result = np.divide(signs, gaps, out=gaps, where=~hits)
    if on_node.any():
        np.copyto(result, hits, where=on_node)
    result /= result.sum(axis=-2, keepdims=True)
    return result.swapaxes(-1, -2)


@lru_cache(maxsize=64)
def coefficients(n):
    """Chebyshev coefficients of degree 0 to n - 1 from values at n nodes of [-1, 1].

    Returns
    -------
    ndarray of shape (n, n)
        values @ result are the coefficients.
    """
    order = np.arange(n)
    result = np.cos(np.pi * np.outer(n - 1 - order, order) / (n - 1)) * 2.0 / (n - 1)
    result[[0, -1]] /= 2.0
    result[:, [0, -1]] /= 2.0
    return result


def tail(n):
    """The coefficients that must have vanished for n nodes to be enough."""
    return slice(n - max(2, n // 8), n)


# How large the last coefficients may be: relative to the values, on average over the
# rows and in any row; and relative to the numbers that the values are differences of.
VANISHED, VANISHED_ANYWHERE, ROUNDED = 2e-13, 1e-10, 1e-15
TRIED = 24  # rows for a first guess of the number of nodes
GUESSES = (17, 65, 257)
MOST = 512  # nodes


def relative(values, low, high):
    """Positions in [-1, 1] of values in [low, high]."""
    half = np.maximum((high - low) / 2.0, np.finfo(float).tiny)
    return np.clip((values - (low + high) / 2.0) / half, -1.0, 1.0)


def absolute(x, low, high):
    """The values of [low, high] at positions x, ascending from -1 to 1."""
    values = (low + high) / 2.0 + (high - low) / 2.0 * x
    values[..., :1], values[..., -1:] = low, high  # exactly, without rounding
    return values


def _sizes(values):
    """Root mean square over all but the rows, (n_rows,)."""
    squares = np.einsum("boim,boim->i", values, values)
    return np.sqrt(squares / values[:, :, 0].size)


class Basis(Shape):
    """Curves of one feature that are smooth in one number of each cell.

    Parameters
    ----------
    rows, cells : see `Shape`
    numbers : ndarray of shape (1, n_cells)
        Of the cells.
    evaluate : callable
        evaluate(at, rows) is the response of some rows (slice or array of int) at other
        numbers in their range, of shape (1, n_outputs, n_rows, len(at)).
    parts : callable
        See `Shape.parts`.
    all_rows : bool
        Whether these are all the rows. Blocks of rows take different numbers of nodes,
        so what several blocks are brought together by is summed on the cells.
    """

    def __init__(self, rows, cells, numbers, evaluate, parts, all_rows):
        super().__init__(rows, cells)
        self.evaluate, self.parts, self.all_rows = evaluate, parts, all_rows
        self.ends = numbers.min(keepdims=True)[0], numbers.max(keepdims=True)[0]
        self.position = relative(numbers, *self.ends)

    def at(self, x, rows):
        """The curves of some rows at positions x between the ends, -1 and 1."""
        return self.evaluate(absolute(x, *self.ends), rows)

    def means(self, function, size=None):
        if size is None:
            raise NeedsValues
        return self._means(*self._at_nodes(function, size))

    def _means(self, values, matrix):
        """Over the cells and over the rows, of values at the nodes."""
        over_cells = np.einsum("bk,bkm->bm", self.cells.probabilities, matrix)
        rows = np.matmul(values, over_cells[:, np.newaxis, :, np.newaxis])[..., 0]
        return rows, self._to_cells(np.matmul(self.rows.weights, values), matrix)

    def squares(self, offsets):
        def squares(chunk):
            moved = chunk.moved
            own_offsets = offsets[:, :, chunk.rows.place, np.newaxis]
            return moved * (moved - 2.0 * own_offsets)

        return self.means(squares, float(np.square(offsets).max(initial=0.0)))

    @property
    def n_summed(self):
        """The nodes, or the cells where blocks of rows are brought together."""
        return self.moved[0].shape[-1] if self.all_rows else None

    def sums(self, weights):
        values, matrix = self.moved
        return self._to_cells(np.matmul(weights, values), matrix)

    def sums_by_group(self, weights, groups, n_groups):
        """The sums are those of the nodes; `matrix` is the basis."""
        values, matrix = self.moved
        add = summing(weights, groups, n_groups)
        sums = [add @ values[at] for at in np.ndindex(*values.shape[:2])]
        sketch = np.stack(sums).reshape(*values.shape[:2], n_groups, -1)
        if not self.all_rows:
            return np.matmul(sketch, matrix.swapaxes(1, 2)[:, np.newaxis]), None
        return sketch, matrix.swapaxes(1, 2)[:, np.newaxis]

    def deviations(self):
        values, matrix = self.moved
        share = self.cells.multiplicity[:, :, np.newaxis]
        count = share.sum(axis=1, keepdims=True)
        centred = matrix - (share * matrix).sum(axis=1, keepdims=True) / count
        squares = centred.swapaxes(1, 2) @ (share * centred)
        squares = squares / np.maximum(count - 1, 1)
        products = values @ squares[:, np.newaxis]
        return np.sqrt(np.maximum(np.sum(products * values, axis=-1), 0.0)), None

    def variances(self):
        mean, _ = self.drifts()

        def squares(chunk):
            return (chunk.moved - mean[:, :, chunk.rows.place, np.newaxis]) ** 2

        size = float(np.square(mean).max(initial=0.0))
        rows, cells = self.means(squares, size)
        return np.maximum(rows, 0.0), np.maximum(cells, 0.0)

    def drifts(self):
        return self._means(*self.moved)

    @cached_property
    def moved(self):
        """Response moved minus unmoved at the nodes, and the matrix."""
        size = float(np.abs(self.rows.base).max(initial=0.0))
        return self._at_nodes(attrgetter("moved"), size)

    @staticmethod
    def _to_cells(at_nodes, matrix):
        """Numbers at the nodes (n_features, any, n_nodes) on the cells."""
        return np.matmul(at_nodes, matrix.swapaxes(1, 2))

    def _at_nodes(self, function, size):
        """Function at the nodes (n_features, any, n_rows, n_nodes), and the matrix."""
        n = self._first_guess(function, size)
        while 2 * n <= max(self.position.shape[1], 16) and n <= MOST:
            values = self._values(function, n)
            if self._has_vanished(values, n, size):
                return values, interpolation(self.position, -1.0, 1.0, n)
            n += 2 + n // 4
        raise NeedsValues

    def _first_guess(self, function, size):
        """How many nodes a few rows need."""
        n_rows = len(self.rows)
        few = spread_over(n_rows, TRIED)
        for n in GUESSES:
            to_series, last = coefficients(n), tail(n)
            values = function(self._chunk(few, n))
            sizes = np.abs(values @ to_series).max(axis=(0, 1, 2))
            largest = np.abs(values).max()
            noise = 2.0 * sizes[last].max()
            left = max(VANISHED * largest, ROUNDED * size)
            if noise <= 1e-9 * largest:  # perhaps it is, or more nodes are tried
                left = max(left, noise)
            needed = int(np.flatnonzero(sizes > left).max(initial=0)) + 2
            needed += max(2, needed // 7)
            if needed < n:
                return needed
        raise NeedsValues

    def _chunk(self, rows, n):
        some = replace(self.rows.block(rows), place=rows)
        return Chunk(some, self.cells, self.at(nodes(-1.0, 1.0, n), rows))

    def _values(self, function, n):
        n_rows, (n_outputs, _) = len(self.rows), self.rows.base.shape
        blocks = slices(n_rows, n * n_outputs * len(self.position), CACHE)
        parts = [function(self._chunk(block, n)) for block in blocks]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=2)

    def _has_vanished(self, values, n, size):
        """Whether the last coefficients of all rows' values at n nodes are rounding."""
        last = _sizes(values @ coefficients(n)[:, tail(n)])
        largest = _sizes(values)
        mean_last, mean_largest = self.rows.weights @ np.stack([last, largest], 1)
        mean_weight = self.rows.weights.sum()
        return (
            bool(np.isfinite(largest).all())
            and mean_last <= VANISHED * mean_largest + ROUNDED * size * mean_weight
            and last.max() <= VANISHED_ANYWHERE * largest.max() + 10 * ROUNDED * size
        )
