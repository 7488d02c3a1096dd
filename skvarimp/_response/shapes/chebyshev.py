"""Interpolation of analytic functions, exact to rounding, on few Chebyshev nodes."""

from functools import lru_cache

import numpy as np

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
    return int(np.ceil(needed)) + 1 if needed < TOO_MANY else TOO_MANY


def gaussian_nodes(c):
    """Nodes for exp(-c (x - s)^2) on [-1, 1], whatever the real s."""
    # |exp(-c (x + iy - s)^2)| <= exp(c y^2)
    return n_nodes(lambda height: c * height**2)


def cosine_nodes(slope):
    """Nodes for cos(slope x + s) on [-1, 1], whatever the real s."""
    return n_nodes(lambda height: slope * height)  # |cos(u + iy)| <= exp(|y|)


def rational_nodes(shape):
    """Nodes for (1 + (c + t^2 (x - s)^2) / (2 a))^-a, whatever s and c >= 0.

    Parameters
    ----------
    shape : (float, float)
        a and t.
    """
    a, t = shape

    def log_bound(height):
        # the base is at least 1 - t^2 y^2 / (2 a) of its value on the axis
        left = 1.0 - (t * height) ** 2 / (2.0 * a)
        return np.where(left > 0, -a * np.log(np.maximum(left, 1e-300)), np.inf)

    return n_nodes(log_bound)


def tanh_nodes(slope):
    """Nodes for tanh(slope x + s) on [-1, 1], whatever the real s."""

    def log_bound(height):
        # |tanh(u + iy)| <= max(1, tan y) below the poles at y = pi / 2
        y = slope * height
        largest = np.maximum(np.tan(np.minimum(y, 1.55)), 1.0)
        return np.where(y < 1.55, np.log(largest), np.inf)

    return n_nodes(log_bound)


def logistic_nodes(slope):
    """Nodes for 1 / (1 + exp(-slope x - s)) = (1 + tanh((slope x + s) / 2)) / 2."""
    return tanh_nodes(slope / 2.0)


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
    at = nodes(low, high, n)
    # barycentric formula with weights (-1)^m, halved at both ends
    signs = np.where(np.arange(n) % 2, -1.0, 1.0)
    signs[[0, -1]] /= 2.0
    gaps = (points[..., np.newaxis] - at) / (high - low)  # free of overflow below
    hits = gaps == 0
    gaps[hits] = 1.0
    result = np.divide(signs, gaps, out=gaps)
    on_node = hits.any(axis=-1)
    result[on_node] = hits[on_node]
    result /= result.sum(axis=-1, keepdims=True)
    return result


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
