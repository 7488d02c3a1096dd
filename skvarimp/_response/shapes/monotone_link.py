"""Closed forms for a logistic link of a line:

    ICE[o, i, k] = g(a[o, i] + t[o, k]),    f[o, i] = g(a[o, i] + s[o, i])

g increases, so that absolute values resolve by a sort of t, and every reduction needs
only sums over cells (or rows) of g with fixed coefficients: smooth functions of a (or
of t), evaluated on Chebyshev nodes and interpolated, exact to rounding. Sums that go up
to a row's own rank come from the same nodes' partial sums. O((n + k) x nodes).
"""

from dataclasses import dataclass

import numpy as np

from skvarimp._models.links import logistic
from skvarimp._response.reductions.flatness import flatness
from skvarimp._response.reductions.line_losses import LOGISTIC_FORMS, key_of
from skvarimp._response.reductions.reductions import (
    IndividualFlatness,
    Observed,
    Pairs,
    PartialDependence,
    Range,
)
from skvarimp._response.reductions.states import State
from skvarimp._response.shapes.chebyshev import (
    interpolation,
    logistic_nodes,
    nodes,
    panels,
)
from skvarimp._response.shapes.scaled_line import mean_distances

PANEL = 6.0  # width of an interval of a or t with nodes of its own


@dataclass
class LogisticLine:
    """See the module.

    Attributes
    ----------
    t : ndarray of shape (n_outputs, n_cells)
    s, a : ndarray of shape (n_outputs, n_rows)
    probabilities : ndarray of shape (n_cells,)
    weights : ndarray of shape (n_rows,)
    base : ndarray of shape (n_outputs, n_rows)
    categorical : bool
    y : ndarray or None
    """

    t: np.ndarray
    s: np.ndarray
    a: np.ndarray
    probabilities: np.ndarray
    weights: np.ndarray
    base: np.ndarray
    categorical: bool
    y: np.ndarray | None


def logistic_closed_form(line, reduction):
    """The state of a reduction over all rows; None where there is no closed form."""
    key = key_of(reduction)
    lines = [_OneLine(line, o) for o in range(len(line.t))]
    if key in LOGISTIC_FORMS:
        return LOGISTIC_FORMS[key](line, reduction, lines, _at_nodes)
    if key not in FORMS:
        return None
    states = [FORMS[key](one, reduction) for one in lines]
    _pad_functions(states)

    def stacked(name):
        parts = [getattr(state, name) for state in states]
        return None if parts[0] is None else np.stack(parts)[np.newaxis]

    return State(*(stacked(name) for name in ("rows", "cells", "sketch", "basis")))


def _pad_functions(states):
    """Give all outputs as many functions of the cell: the missing ones are 0."""
    if states[0].basis is None:
        return
    most = max(len(state.basis) for state in states)
    for state in states:
        missing = most - len(state.basis)
        state.basis = np.pad(state.basis, ((0, missing), (0, 0)))
        state.sketch = np.pad(state.sketch, ((0, 0), (0, missing)))


class _OneLine:
    """One output of a `LogisticLine`, its cells ascending in t."""

    def __init__(self, line, o):
        self.order = np.argsort(line.t[o])
        self.t = line.t[o, self.order]
        self.p = line.probabilities[self.order]
        self.s, self.a, self.f = line.s[o], line.a[o], line.base[o]
        self.w, self.categorical = line.weights, line.categorical

    def in_cell_order(self, sorted_cells):
        """Numbers of the sorted cells, or columns of them, in the cells' own order."""
        result = np.empty_like(sorted_cells)
        result[..., self.order] = sorted_cells
        return result


def _at_nodes(points, shifts, function=logistic, count=logistic_nodes):
    """function(x + shifts) on the nodes of intervals that cover all points.

    Parameters
    ----------
    points : ndarray of shape (n_points,)
    shifts : ndarray of shape (n_shifts,)
    function : callable
        The logistic function, or one that is as smooth.
    count : callable
        count(slope) nodes for function(slope x + s) on [-1, 1].

    Yields
    ------
    which : ndarray of int
        Points of an interval.
    matrix : ndarray of shape (n_which, n_nodes)
        function(points[which]) is the sum of matrix @ function(nodes) over all parts
        with these points.
    values : ndarray of shape (n_nodes, n_shifts)
    """
    step = max(1, 2**17 // len(shifts))  # values that stay in the processor's cache
    for which, low, high in panels(points, PANEL):
        n = count((high - low) / 2.0)
        if len(which) <= n or low == high:
            at, matrix = points[which], np.eye(len(which))
        else:
            at = nodes(low, high, n)
            matrix = interpolation(points[which], low, high, n)
        for start in range(0, len(at), step):
            part = slice(start, start + step)
            yield which, matrix[:, part], function(at[part, np.newaxis] + shifts)


def _sums(points, shifts, coefficients, ranks):
    """Sums of coefficients[l] g(points[m] + shifts[l]) over l < ranks[m], and all l."""
    partial, total = np.zeros((2, len(points)))
    for which, matrix, values in _at_nodes(points, shifts):
        values *= coefficients
        np.cumsum(values, axis=1, out=values)
        up_to = ranks[which]
        below = values[:, np.maximum(up_to - 1, 0)].T
        partial[which] += np.einsum("mn,mn->m", matrix, below) * (up_to > 0)
        total[which] += matrix @ values[:, -1]
    return partial, total


def _mean_of_cells(line):
    """The mean curve at the sorted cells."""
    mean = np.zeros_like(line.t)
    for which, matrix, values in _at_nodes(line.t, line.a):
        mean[which] += matrix @ (values @ line.w)
    return mean


def _pairs(line, reduction):
    below = np.cumsum(line.p)[:-1]
    chance = 2.0 * below * (1.0 - below)
    rows = np.zeros_like(line.a)
    for which, matrix, values in _at_nodes(line.a, line.t):
        rows[which] += matrix @ (np.diff(values, axis=1) @ chance)
    # all rows' curves ascend together: distances of the mean curve
    cells = mean_distances(_mean_of_cells(line), line.p)
    return State(np.maximum(rows, 0.0), line.in_cell_order(cells))


def _observed(line, reduction):
    # |g(a + t_k) - f| is g(a + t_k) - f for the cells above the row's own value
    ranks = np.searchsorted(line.t, line.s, side="right")
    below = np.concatenate([[0.0], np.cumsum(line.p)])
    partial, total = _sums(line.a, line.t, line.p, ranks)
    rows = total - 2.0 * partial + line.f * (2.0 * below[ranks] - below[-1])
    # for a cell: the rows with smaller values lie below, those with larger above
    order = np.argsort(line.s)
    w, f = line.w[order], line.f[order]
    ranks = np.searchsorted(line.s[order], line.t, side="right")
    mass = np.concatenate([[0.0], np.cumsum(w * f)])
    partial, total = _sums(line.t, line.a[order], w, ranks)
    cells = 2.0 * partial - total + mass[-1] - 2.0 * mass[ranks]
    cells = line.in_cell_order(np.maximum(cells, 0.0))
    return State(np.maximum(rows, 0.0), cells)


def _range(line, reduction):
    return State(logistic(line.a + line.t[-1]) - logistic(line.a + line.t[0]))


def _individual_flatness(line, reduction):
    statistic = reduction.statistic
    if statistic == "auto":
        statistic = "range" if line.categorical else "std"
    if statistic == "range":
        return _range(line, reduction)
    variance = np.zeros_like(line.a)
    for which, matrix, values in _at_nodes(line.a, line.t):
        deviation = flatness(values[np.newaxis], np.ones((1, len(line.t))), "std")[0]
        variance[which] += matrix @ deviation**2
    return State(np.sqrt(np.maximum(variance, 0.0)))


def _partial_dependence(line, reduction):
    signs = reduction.signs * np.sqrt(line.w)
    order = np.argsort(reduction.groups, kind="stable")
    first = np.flatnonzero(np.diff(reduction.groups[order], prepend=-1))
    present = reduction.groups[order[first]]
    parts, matrices, of_groups = [], [], []
    for which, matrix, values in _at_nodes(line.t, line.a):
        parts.append(which)
        matrices.append(matrix)
        by_group = np.add.reduceat(values[:, order] * signs[order], first, axis=1)
        of_groups.append(by_group.T)
    n_functions = sum(matrix.shape[1] for matrix in matrices)
    basis = np.zeros((n_functions + 1, len(line.t)))
    basis[-1] = -1.0  # moved = g - f
    sketch = np.zeros((reduction.n_groups, n_functions + 1))
    sketch[present, :-1] = np.concatenate(of_groups, axis=1)
    sketch[:, -1] = np.bincount(reduction.groups, signs * line.f, reduction.n_groups)
    start = 0
    for which, matrix in zip(parts, matrices):
        stop = start + matrix.shape[1]
        basis[start:stop, which] = matrix.T
        start = stop
    cells = _mean_of_cells(line) - line.w @ line.f
    return State(
        cells=line.in_cell_order(cells),
        sketch=sketch,
        basis=line.in_cell_order(basis),
    )


FORMS = {
    Pairs: _pairs,
    Observed: _observed,
    Range: _range,
    IndividualFlatness: _individual_flatness,
    PartialDependence: _partial_dependence,
}


def has_logistic_form(reduction):
    """Whether a reduction has a closed form here."""
    return key_of(reduction) in FORMS | LOGISTIC_FORMS
