"""Curves that turn once: they fall to some point and rise after it, or the reverse.

In ascending order of values, a row's cells form two branches that meet at the turning
point. On a branch the order of the cells is known, so that sums over pairs of cells are
running sums of the basis. Between the branches only the cells of the lighter one are
visited, to see how far the other branch lies below each. A row whose curve turns
outside the grid takes O(n_nodes), and no row more than O(n_cells n_nodes).

With B[k] the basis at cell k and v_i the row's values at the nodes, signed so that the
curve falls first, g[i, k] = B[k] v_i, P[k] and C[k] are the sums of the probabilities
p and of p B over the cells before k.
"""

from functools import cached_property

import numpy as np
from scipy import sparse

from skvarimp._compiled import use_compiled
from skvarimp._data.statistics import running_sums
from skvarimp._response.shapes.basis import Basis
from skvarimp._response.shapes.shape import NeedsValues


class OneTurn(Basis):
    """Curves of one entry that turn once; see the module.

    Parameters
    ----------
    margins, position, evaluate, parts
        See `Basis`.
    left : ndarray of int of shape (n_outputs, n_rows)
        How many cells, by ascending position, lie before the turning point.
    valley : ndarray of bool of shape (n_outputs, n_rows)
        Whether the curve falls first.
    """

    def __init__(self, margins, position, evaluate, parts, left, valley):
        super().__init__(margins, position, evaluate, parts)
        self.left, self.valley = left, valley

    @cached_property
    def _branches(self):
        """Order of the cells, and `_Branches` of each output."""
        values, (matrix,) = self.moved
        order = np.argsort(self.position[0])
        basis, chances = matrix[order], self.margins.probabilities[0, order]
        signs = np.where(self.valley, 1.0, -1.0)
        weights = self.margins.weights
        return (
            order,
            [
                _Branches(
                    basis, chances, sign[:, np.newaxis] * of_output, left, weights
                )
                for of_output, sign, left in zip(values[0], signs, self.left)
            ],
            signs,
        )

    def _each(self, function):
        """Rows and cells of function(branches, output) of each output."""
        order, branches, _ = self._branches
        rows = np.empty((1, *self.left.shape))
        cells = np.empty((1, len(self.left), len(order)))
        for o, of_output in enumerate(branches):
            rows[0, o], cells[0, o, order] = function(of_output, o)
        return rows, cells

    def pairs(self):
        """See `Shape.pairs`; with the kernel."""
        if not use_compiled():
            raise NeedsValues
        return self._each(lambda branches, o: branches.pairs())

    def distances(self, offsets=None):
        """See `Shape.distances`."""
        signs = self._branches[2]
        levels = np.zeros(signs.shape) if offsets is None else signs * offsets[0]
        return self._each(lambda branches, o: branches.distances(levels[o]))

    def extremes(self):
        """See `Shape.extremes`."""
        _, branches, signs = self._branches
        both = np.stack([of_output.extremes() for of_output in branches], axis=1)
        lowest, highest = np.sort(signs * both, axis=0)
        return lowest[np.newaxis], highest[np.newaxis]


def first_cells(start, stop, holds):
    """The first cell in start ... stop from which a condition holds, for each row.

    Parameters
    ----------
    start, stop : ndarray of int of shape (n_rows,)
        `stop` where it holds nowhere before.
    holds : callable
        holds(cells) is a mask, of one cell for each row.
    """
    start, stop = start.copy(), stop.copy()
    while np.any(start < stop):
        middle = (start + stop) // 2
        seen = start < stop
        here = holds(np.where(seen, middle, 0))
        stop = np.where(seen & here, middle, stop)
        start = np.where(seen & ~here, middle + 1, start)
    return start


class _Branches:
    """The curves of one output as valleys.

    Parameters
    ----------
    basis : ndarray of shape (n_cells, n_nodes)
        B, the cells by ascending position.
    chances : ndarray of shape (n_cells,)
        p.
    values : ndarray of shape (n_rows, n_nodes)
        v.
    left : ndarray of int of shape (n_rows,)
    weights : ndarray of shape (n_rows,)
    """

    def __init__(self, basis, chances, values, left, weights):
        self.basis, self.chances, self.values = basis, chances, values
        self.left, self.weights = left, weights
        self.below = running_sums(chances)  # P
        self.sums = running_sums(chances[:, np.newaxis] * basis, axis=0)  # C

    def _reversed(self):
        """The same with the cells by descending position."""
        return _Branches(
            self.basis[::-1],
            np.ascontiguousarray(self.chances[::-1]),
            self.values,
            len(self.chances) - self.left,
            self.weights,
        )

    def at(self, cells):
        """g of one cell for each row."""
        return np.einsum("im,im->i", self.basis[cells], self.values)

    def _sum_before(self, cells):
        """C[cells] v of one cell for each row."""
        return np.einsum("im,im->i", self.sums[cells], self.values)

    def _from_cells(self, *cells_and_numbers):
        """Sums over the rows of numbers that count from a cell on, (n_cells, ...)."""
        n_cells, n_rows = len(self.chances), len(self.left)
        total = 0.0
        for cells, numbers in zip(cells_and_numbers[::2], cells_and_numbers[1::2]):
            one_each = self.weights, cells, np.arange(n_rows + 1)
            add = sparse.csc_array(one_each, shape=(n_cells + 1, n_rows))
            total = total + add @ numbers
        return np.cumsum(total, axis=0)[:n_cells]

    def _on_cells(self, vectors):
        """B[k] vectors[k] of each cell."""
        return np.einsum("km,km->k", self.basis, vectors)

    def extremes(self):
        """Lowest and highest value of each row, (2, n_rows)."""
        last = len(self.chances) - 1
        zero = np.zeros_like(self.left)
        ends = np.maximum(self.at(zero), self.at(zero + last))
        bottom = np.minimum(self.left, last)
        before = np.clip(self.left - 1, 0, last)
        return np.stack([np.minimum(self.at(bottom), self.at(before)), ends])

    def distances(self, levels):
        """Rows and cells of |g - level| - |level|."""
        n_cells, zero = len(self.chances), np.zeros_like(self.left)
        low = first_cells(zero, self.left, lambda k: self.at(k) < levels)
        high = first_cells(self.left, zero + n_cells, lambda k: self.at(k) >= levels)
        # from low to high the curve is below the level
        inside = self.below[high] - self.below[low]
        whole = self.values @ self.sums[-1]
        rows = whole - 2.0 * (self._sum_before(high) - self._sum_before(low))
        rows -= levels * (1.0 - 2.0 * inside) + np.abs(levels)
        values = 2.0 * self.values
        vectors = self._from_cells(high, values, low, -values)
        numbers = self._from_cells(low, 2.0 * levels, high, -2.0 * levels)
        vectors += self.weights @ self.values
        numbers -= self.weights @ (levels + np.abs(levels))
        return rows, self._on_cells(vectors) + numbers

    def pairs(self):
        """Rows and cells of `Shape.pairs`."""
        rows, cells = np.empty(len(self.left)), np.zeros(len(self.chances))
        lighter = self.below[self.left] <= 0.5
        for which, side in ((lighter, self), (~lighter, self._reversed())):
            some = (a[which] for a in (side.values, side.left, side.weights))
            part = _Branches(side.basis, side.chances, *some)
            rows[which], of_cells = part._pairs()
            cells += of_cells if side is self else of_cells[::-1]
        return np.maximum(rows, 0.0), np.maximum(cells, 0.0)

    def _pairs(self):
        """`pairs` where the left branch is the lighter one."""
        from skvarimp._compiled.one_turn import across

        left, values, weights = self.left, self.values, self.weights
        P, C, basis = self.below, self.sums, self.basis
        twice = (P[:-1] + P[1:])[:, np.newaxis]
        moments = running_sums(self.chances[:, np.newaxis] * twice * basis, axis=0)
        P_left, C_left, C_all = P[left], self._sum_before(left), values @ C[-1]
        m_left = np.einsum("im,im->i", moments[left], values)
        m_all = values @ moments[-1]
        # on the left branch, then on the right: 2 sum_k p_k g_k (below - above)
        rows = 2.0 * (P_left * C_left - m_left)
        rows += 2.0 * (m_all - m_left - (1.0 + P_left) * (C_all - C_left))
        cells, passed = np.zeros(len(basis)), np.empty(len(left), dtype=np.int64)
        lanes = [(0, 0), (0, -basis.shape[1] % 4)]
        across(
            np.pad(values, lanes),
            weights,
            _by_sixteen(np.pad(basis, lanes)),
            P,
            self.chances,
            np.asarray(left, dtype=np.int64),
            C_all - C_left,
            rows,
            cells,
            passed,
        )
        # Cells of the left branch of the rows that turn later, of the right branch of
        # those that turned before, and of the latter once all of the left is below.
        scaled = P_left[:, np.newaxis] * values
        turned, total = self._from_cells(left, values), weights @ values
        of_basis = 2.0 * P[:-1, np.newaxis] * turned - twice * (total - turned)
        of_basis += weights @ scaled - turned
        of_basis += self._from_cells(left, -3.0 * scaled, passed, 2.0 * scaled)
        of_sums = C[:-1] * (total - 3.0 * turned) + C[1:] * (total - turned)
        cells += self._on_cells(of_basis) + of_sums.sum(axis=1) - weights @ C_left
        cells += self._from_cells(left, 3.0 * C_left + C_all, passed, -2.0 * C_left)
        return rows, cells


def _by_sixteen(basis):
    """The basis of 16 cells at a time, (n_cells / 16, n_nodes, 16)."""
    filled = np.pad(basis, [(0, -len(basis) % 16), (0, 0)])
    blocks = filled.reshape(-1, 16, basis.shape[1])
    return np.ascontiguousarray(blocks.swapaxes(1, 2))
