"""Draws in strata with a random start, written out with plain loops."""

import numpy as np
from scipy.integrate import quad

DEGREE, COMMON_ROWS, WITHIN, OWN, OWN_OF_CELLS = 4, 50, 1.1, 3, 4.1
FURTHER, FURTHER_ROWS = 2, 4


def drawn_points(seed, n_rows, n_draws):
    """Points and widths of their strata (n_rows, n_draws), and c of neighbours.

    c is how much more often two points are in one stratum than in two.
    """
    at, widths = np.empty((2, n_rows, n_draws))
    near = np.empty((n_rows, n_draws - 1))
    numbers = np.random.default_rng(seed).random((n_rows, n_draws + 1))
    for i, (start, *inside) in enumerate(numbers):
        ends = [0.0, *((start + r) / (n_draws - 1) for r in range(n_draws - 1)), 1.0]
        for r in range(n_draws):
            widths[i, r] = ends[r + 1] - ends[r]
            at[i, r] = ends[r] + inside[r] * widths[i, r]
        for r, gap in enumerate(np.diff(at[i])):
            near[i, r] = max(0.0, 1.0 / (n_draws - 1) - gap) / gap
    return at, widths, near


def points_in_pairs(seed, n_rows, n_draws):
    """The same where each of n_draws / 2 strata of one width has two draws."""
    at, widths = np.empty((n_rows, n_draws)), np.full((n_rows, n_draws), 1 / n_draws)
    near = np.tile([1.0, 0.0], (n_rows, n_draws // 2))[:, :-1]
    numbers = np.random.default_rng(seed).random((n_rows, n_draws))
    for i in range(n_rows):
        for r in range(n_draws):
            at[i, r] = (r // 2 + numbers[i, r]) / (n_draws / 2)
    return at, widths, near


def near_by_cells(at, widths, begins, ends):
    """c of neighbouring draws of a row, on average over their cells and strata."""
    width, edges = 1.0 / (len(at) - 1), np.cumsum(widths)
    begins, ends = np.maximum(begins, edges - widths), np.minimum(ends, edges)
    begins[1:] = np.maximum(begins[1:], ends[:-1])  # but for rounding
    found = []
    for a, b, c, d in zip(begins, ends, begins[1:], ends[1:]):

        def inner(gap, size=d - c):
            last = min(gap + size, width)
            return width * np.log(last / gap) - (last - gap) if last > gap else 0.0

        steps = [gap for gap in (width, width - (d - c)) if c - b < gap < c - a]
        of_steps = {"points": steps or None, "epsabs": 1e-14, "epsrel": 1e-11}
        total, _ = quad(inner, c - b, c - a, **of_steps)
        found.append(total / (b - a) / (d - c))
    return np.array(found)


def variance(near, widths, values):
    """Estimated, of the mean of a row's values at its points; and that of jumps."""
    noise = jumps = 0.0
    for r, c in enumerate(near):
        square = widths[r] * widths[r + 1] * (values[r + 1] - values[r]) ** 2
        noise += c * square
        jumps += square / 6
    return noise, jumps


def pairs(near, widths, kernel):
    """Of a row: the mean over pairs, h of each draw, and X of each pair of neighbours.

    `kernel` takes two draws.
    """
    n, total = len(widths), 0.0
    h, close = np.zeros(n), np.zeros(n - 1)
    for r in range(n):
        for s in range(n):
            if r != s:
                of_pair = widths[r] * widths[s] * kernel(r, s)
                total += of_pair
                h[r] += 2 * widths[s] * kernel(r, s)
    for r, c in enumerate(near):
        close[r] = 2 * widths[r] * widths[r + 1] * c * kernel(r, r + 1)
    return total + close.sum(), h, close


def common(at, widths, h, step=1):
    """The polynomial that fits the rows of the other half, at the points of a row.

    Or it fits every second one of the half and so on, as `step` says.

    In powers of u less their means over [0, 1].
    """
    found = np.zeros(h.shape)
    if len(h) < COMMON_ROWS:
        return found
    powers = np.arange(1, DEGREE + 1)
    for half in (0, 1):
        u, w, others = (a[1 - half :: 2 * step] for a in (at, widths, h))
        centred = others - (w * others).sum(axis=1)[:, np.newaxis]
        root = np.sqrt(w).ravel()
        columns = u.reshape(-1, 1) ** powers - 1 / (powers + 1)
        fit = np.linalg.lstsq(root[:, np.newaxis] * columns, root * centred.ravel())
        own = at[half::2]
        found[half::2] = (own[..., np.newaxis] ** powers - 1 / (powers + 1)) @ fit[0]
    return found
