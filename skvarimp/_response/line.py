"""Curves that are an increasing function of the sum of a row part and a cell part:

    ICE[o, i, k] = g(a[o, i] + t[o, k]),    f[o, i] = g(a[o, i] + s[o, i])

All of them ascend with t, so that one sort of the cells resolves every absolute value.
What is left are sums over cells or rows, either over all of them or up to a rank. For a
straight line they are partial sums of t, and for other lines partial sums of the basis.
No row's curve is formed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skvarimp._data.base_table import begins_value
from skvarimp._data.statistics import running_sums
from skvarimp._response.basis import Basis, absolute, relative
from skvarimp._response.mean_curves import flatness
from skvarimp._response.shape import NeedsValues, Shape


def mean_distances(values, probabilities):
    """E|u_k - U| for sorted values u and U drawn from them.

    Parameters
    ----------
    values : ndarray of shape (..., n_values)
        Ascending along the last axis.
    probabilities : ndarray of shape (..., n_values), broadcasting

    Returns
    -------
    ndarray of shape (..., n_values)
        Exactly 0 where all values are equal.
    """
    below = np.cumsum(probabilities, axis=-1)[..., :-1]
    gaps = np.diff(values, axis=-1)
    distance = np.empty_like(values)
    # E|u_(1) - U| = sum_k gap_k (1 - P_k); each step right adds gap_k (2 P_k - 1)
    np.multiply(gaps, 1.0 - below, out=distance[..., 1:])
    distance[..., 0] = distance[..., 1:].sum(axis=-1)
    np.multiply(gaps, 2.0 * below - 1.0, out=distance[..., 1:])
    return np.cumsum(distance, axis=-1, out=distance)


def distances_to(points, values, weights):
    """sum_m weights[m] |points[i] - values[m]|, by partial sums of sorted values."""
    order = np.argsort(values)
    values, weights = values[order], weights[order]
    mass, moment = running_sums(weights), running_sums(weights * values)
    at = np.searchsorted(values, points, side="right")
    result = points * (2.0 * mass[at] - mass[-1]) + moment[-1] - 2.0 * moment[at]
    return np.maximum(result, 0.0)  # not below 0 by rounding


class StraightLines(Basis):
    """Parallel curves ICE - f = slope (t - s), of many features at once.

    Parameters
    ----------
    rows, cells : see `Shape`
    parts : callable
        See `Shape.parts`.
    t : ndarray of shape (n_features, n_outputs or 1, n_cells)
    s : ndarray of shape (n_features, n_outputs or 1, n_rows)
        If it is `t` itself, cell i is the own value of row i.
    slope : ndarray of shape (n_features, n_outputs, 1)
    is_ascending : bool, default=False
        Whether t is known to ascend.
    """

    parallel = True

    def __init__(self, rows, cells, parts, t, s, slope, is_ascending=False):
        Shape.__init__(self, rows, cells)
        self.parts, self.t, self.s, self.slope = parts, t, s, slope
        self.is_ascending = is_ascending

    @cached_property
    def _order(self):
        """Where the values of t stand in ascending order, in t.ravel()."""
        n_cells = self.t.shape[-1]
        first = np.arange(0, self.t.size, n_cells).reshape(*self.t.shape[:-1], 1)
        return np.argsort(self.t, axis=-1) + first

    @cached_property
    def ascending(self):
        """The values of t in ascending order."""
        return self.by_value(self.t)

    @cached_property
    def begins_value(self):
        """Where `ascending` of the first output begins a new value, (b, k)."""
        return begins_value(self.ascending[:, 0])

    def by_value(self, numbers):
        """Numbers of the cells in the order of t, (n_features, n_outputs, n_cells)."""
        if self.is_ascending:
            return numbers
        if numbers.shape == self.t.shape:
            return numbers.ravel().take(self._order)
        order = self._order % self.t.shape[-1]
        return np.take_along_axis(numbers, order, axis=-1)

    def in_own_order(self, by_value):
        """Numbers in the order of t in that of the cells."""
        if self.is_ascending:
            return by_value
        result = np.empty(self.t.shape)
        result.ravel()[self._order.ravel()] = by_value.ravel()
        return result

    @cached_property
    def _ends(self):
        return self.t.min(axis=-1, keepdims=True), self.t.max(axis=-1, keepdims=True)

    @cached_property
    def position(self):
        """The lines' values between -1 and 1, as those of `Basis`."""
        if self.t.shape[1] > 1:  # not the same for all outputs
            raise NeedsValues
        return relative(self.t, *self._ends)[:, 0]

    def at(self, x, rows):
        """The curves of some rows at positions x."""
        t = absolute(x, *self._ends)[:, :, np.newaxis]
        ice = self.slope[..., np.newaxis] * (t - self.s[..., rows, np.newaxis])
        ice += self.rows.base[..., rows, np.newaxis]
        return ice

    def _of_rows(self, per_line):
        """A number of each line, the same for all its rows."""
        shape = (*self.slope.shape[:2], self.s.shape[-1])
        return np.broadcast_to(np.abs(self.slope) * per_line[..., np.newaxis], shape)

    @cached_property
    def _distances(self):
        """Mean distance of each cell's t from the others'."""
        chances = self.cells.probabilities[:, np.newaxis]
        if np.any(chances != chances[0, 0, 0]):
            chances = self.by_value(np.broadcast_to(chances, self.t.shape))
        else:
            chances = chances[:1]
        return self.in_own_order(mean_distances(self.ascending, chances))

    def pairs(self):
        mean = np.einsum("bok,bk->bo", self._distances, self.cells.probabilities)
        # the rows may be a block, a part or a partition
        total = self.rows.weights.sum(axis=-1, keepdims=True)[..., np.newaxis]
        return self._of_rows(mean), np.abs(self.slope) * self._distances * total

    def distances(self, offsets=None):
        size = np.abs(self.slope)
        if self.s is self.t and offsets is None:
            return size * self._distances, size * self._distances
        at = self.s
        if offsets is not None:
            # a flat line crosses no level
            at = at + offsets / np.where(self.slope == 0, np.inf, self.slope)
        lines = size.shape[:2]
        at, t = (np.broadcast_to(x, (*lines, x.shape[-1])) for x in (at, self.t))
        rows, cells = np.empty(at.shape), np.empty(t.shape)
        for b, o in np.ndindex(at.shape[:2]):
            rows[b, o] = distances_to(at[b, o], t[b, o], self.cells.probabilities[b])
            cells[b, o] = distances_to(t[b, o], at[b, o], self.rows.weights)
        rows, cells = size * rows, size * cells
        if offsets is not None:
            rows -= np.abs(offsets)
            cells -= (np.abs(offsets) @ self.rows.weights)[..., np.newaxis]
            still = (size * np.ptp(self.t, axis=-1, keepdims=True) == 0)[..., 0]
            rows[still], cells[still] = 0.0, 0.0  # not even by rounding
        return rows, cells

    def squares(self, offsets):
        p, w = self.cells.probabilities[..., np.newaxis], self.rows.weights
        first = self.t[..., :1]  # a constant stays exactly so
        t, s = self.t - first, self.s - first
        mean = np.matmul(t, p)
        t, s = t - mean, s - mean
        squares = self.slope**2
        rows = squares * (np.matmul(t**2, p) + s**2) + 2.0 * offsets * self.slope * s
        crossed = 2.0 * self.slope * (offsets @ w)[..., np.newaxis]
        own = 2.0 * self.slope * ((s * offsets) @ w)[..., np.newaxis]
        s_mean, s_squares = ((x @ w)[..., np.newaxis] for x in (s, s**2))
        cells = squares * (t * (t * w.sum() - 2.0 * s_mean) + s_squares)
        return rows, cells - (t * crossed - own)

    def extremes(self):
        highest = self._of_rows(np.ptp(self.t, axis=-1))
        return np.zeros_like(highest), highest

    def deviations(self):
        return self._of_rows(flatness(self.t, self.cells.multiplicity, "std")), None

    def variances(self):
        chances = self.cells.probabilities[..., np.newaxis]
        t = self.t - self.t[..., :1]  # a constant stays exactly so
        cells = (self.slope * (t - np.matmul(t, chances))) ** 2
        rows = np.repeat(np.matmul(cells, chances), self.s.shape[-1], axis=-1)
        return rows, cells * self.rows.weights.sum()

    def drifts(self):
        first = self.t[..., :1]  # a constant stays exactly so
        mean = np.matmul(self.t - first, self.cells.probabilities[..., np.newaxis])
        rows = self.slope * (mean - (self.s - first))
        return rows, self.sums(self.rows.weights)

    def sums(self, weights):
        own = np.matmul(self.s, weights[..., np.newaxis])
        total = weights.sum(axis=-1)[..., np.newaxis, np.newaxis]
        return self.slope * (self.t * total - own)


@dataclass
class Ascent:
    """In what the curves of one feature ascend.

    Attributes
    ----------
    t : ndarray of shape (n_outputs, n_cells)
    s : ndarray of shape (n_outputs, n_rows)
    crossing : callable
        crossing(levels) gives the t at which each row's curve is at a level, infinite
        where it does not reach it; both of shape (n_outputs, n_rows).
    """

    t: np.ndarray
    s: np.ndarray
    crossing: Callable


class Lines(Basis):
    """Curves of one feature that ascend with t.

    Parameters
    ----------
    rows, cells, numbers, evaluate, parts, all_rows
        See `Basis`.
    ascent : Ascent
    """

    def __init__(self, rows, cells, numbers, evaluate, parts, all_rows, ascent):
        super().__init__(rows, cells, numbers, evaluate, parts, all_rows)
        self.t, self.s, self.crossing = ascent.t, ascent.s, ascent.crossing

    @cached_property
    def _sorted(self):
        """Of each output: order of the cells, probabilities, values, functions.

        Values are (n_nodes, n_rows), functions (n_nodes, n_cells); the curves minus
        the unmoved response are values.T @ functions.
        """
        values, (matrix,) = self.moved
        result = []
        for t, by_row in zip(self.t, values[0]):
            order = np.argsort(t)
            functions = np.ascontiguousarray(matrix.take(order, axis=0).T)
            chances = self.cells.probabilities[0, order]
            result.append((order, chances, np.ascontiguousarray(by_row.T), functions))
        return result

    def pairs(self):
        rows, cells = np.empty((1, *self.s.shape)), np.empty((1, *self.t.shape))
        for o, (order, chances, values, functions) in enumerate(self._sorted):
            below = np.cumsum(chances)[:-1]
            between = np.diff(functions, axis=1) @ (2.0 * below * (1.0 - below))
            rows[0, o] = np.maximum(between @ values, 0.0)
            # distances of the mean curve, as all rows' curves ascend together
            mean = (values @ self.rows.weights) @ functions
            cells[0, o, order] = mean_distances(mean, chances)
        return rows, cells

    def distances(self, offsets=None):
        at, e, weights = self.s, np.zeros_like(self.s), self.rows.weights
        if offsets is not None:
            e = offsets[0]
            at = self.crossing(self.rows.base + e)
        rows, cells = np.empty((1, *self.s.shape)), np.empty((1, *self.t.shape))
        for o, (order, chances, values, functions) in enumerate(self._sorted):
            ascending, by_crossing = self.t[o, order], np.argsort(at[o])
            crossings = at[o, by_crossing]
            # above its crossing a curve is above the level, below it is below
            sums, mass = running_sums(functions * chances), running_sums(chances)
            rank = np.empty(len(crossings), dtype=np.intp)
            rank[by_crossing] = np.searchsorted(ascending, crossings, side="right")
            signed = sums[:, -1:] - 2.0 * sums.take(rank, axis=1)
            rows[0, o] = np.einsum("mi,mi->i", values, signed)
            rows[0, o] -= e[o] * (mass[-1] - 2.0 * mass[rank])
            w = weights[by_crossing]
            sums = running_sums(values.take(by_crossing, axis=1) * w)
            mass = running_sums(w * e[o, by_crossing])
            rank = np.searchsorted(crossings, ascending, side="right")
            signed = 2.0 * sums.take(rank, axis=1) - sums[:, -1:]
            numbers = np.einsum("mk,mk->k", functions, signed)
            cells[0, o, order] = numbers - (2.0 * mass[rank] - mass[-1])
        if offsets is None:
            return np.maximum(rows, 0.0), np.maximum(cells, 0.0)
        size = np.abs(e)
        return rows - size, cells - (size @ weights)[:, np.newaxis]

    def extremes(self):
        values, (matrix,) = self.moved
        ends = zip(values[0], self.t.argmin(axis=1), self.t.argmax(axis=1))
        both = [by_row @ matrix[[low, high]].T for by_row, low, high in ends]
        lowest, highest = np.moveaxis(np.stack(both), -1, 0)[:, np.newaxis]
        return lowest, highest
