"""Means over rows as two columns move: analytic functions of two numbers.

With x_m and y_l the Chebyshev nodes of the two columns' ranges and B, C the matrices
that interpolate,

    mean[k] = sum_ml B[k, m] mean(x_m, y_l) C[k, l].

Nodes are added along the column whose last Chebyshev coefficients have not vanished, so
that the mean is exact to rounding at every cell.
"""

import numpy as np

from skvarimp._data.values import spread_over
from skvarimp._response.shapes.basis import ROUNDED, VANISHED
from skvarimp._response.shapes.chebyshev import (
    coefficients,
    interpolation,
    nodes,
    tail,
)

FIRST = 9  # nodes of each column
TRIED = 24  # rows that the number of nodes is guessed from


def mean_over_nodes(mean_at, n_rows, values, size):
    """The mean at pairs of values, from its values at few nodes.

    Parameters
    ----------
    mean_at : callable
        mean_at(rows, points), of a slice or array of the rows and points (n, 2), is the
        weighted sum over those rows there, (n_outputs, n).
    n_rows : int
    values : ndarray of shape (n_cells, 2)
    size : float
        Of the numbers that the mean is a difference of, which sets its rounding.

    Returns
    -------
    ndarray of shape (n_outputs, n_cells) or None
        None where nodes would not be half as many as cells.
    """
    low, high = values.min(axis=0), values.max(axis=0)
    if np.any(low == high):
        return None
    some = spread_over(n_rows, TRIED)
    n = (FIRST, FIRST)
    for rows in (some, slice(0, n_rows)):
        while True:
            if 2 * n[0] * n[1] > len(values):
                return None
            at_nodes = mean_at(rows, _grid(low, high, n)).reshape(-1, *n)
            if not np.all(np.isfinite(at_nodes)):
                return None
            vanished = tuple(_vanished(at_nodes, size))
            if all(vanished):
                break
            n = tuple(m if done else m + m // 4 for m, done in zip(n, vanished))
    by_first, by_second = (
        interpolation(values[:, j], low[j], high[j], n[j]) for j in (0, 1)
    )
    return np.einsum("okl,kl->ok", by_first @ at_nodes, by_second)


def _grid(low, high, n):
    """Every node of the one column with every node of the other, (n_points, 2)."""
    first, second = (nodes(low[j], high[j], n[j]) for j in (0, 1))
    return np.column_stack([first.repeat(n[1]), np.tile(second, n[0])])


def _vanished(at_nodes, size):
    """Whether the last coefficients along each column are rounding."""
    left = VANISHED * np.abs(at_nodes).max() + ROUNDED * size
    for axis, n in ((1, at_nodes.shape[1]), (2, at_nodes.shape[2])):
        last = np.moveaxis(at_nodes, axis, -1) @ coefficients(n)[:, tail(n)]
        yield np.abs(last).max() <= left
