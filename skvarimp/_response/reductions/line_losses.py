"""Closed forms of losses for curves that are one line, or a logistic link of one.

Of a line (`_scaled_line`) the absolute error is a distance to the line's own points. Of
a logistic link (`_monotone_link`), g^2 and log(1 + exp) are as smooth as g itself, so
that sums over cells or rows come from few Chebyshev nodes.
"""

import numpy as np

from skvarimp._data.labels import positions
from skvarimp._response.reductions.losses import AbsoluteErrorLoss, LogLoss
from skvarimp._response.reductions.reductions import Loss, SquaredError
from skvarimp._response.reductions.states import State
from skvarimp._response.shapes.chebyshev import n_nodes

# A model's p is rounded to ROUNDING, and -log(1 - p) with it to ROUNDING exp(score).
# Where that reaches MOST_LOST on average, or a single loss has lost half of its digits,
# the losses of the model's own probabilities are taken one by one.
ROUNDING, MOST_LOST, LARGEST_SCORE = 1.2e-16, 1e-12, 20.0


def key_of(reduction):
    """What a closed form is found by: the reduction's type, or its loss's."""
    return type(reduction.loss) if type(reduction) is Loss else type(reduction)


def _state(rows, base, cells):
    """State of a loss from the mean over outputs of (n_outputs, ...)."""
    rows = np.stack([rows.mean(axis=0), base.mean(axis=0)])
    return State(rows[np.newaxis], cells.mean(axis=0)[np.newaxis, np.newaxis])


def absolute_error_of_line(line, reduction, distances_to):
    """sum_k p[k] |e - scale (t[k] - s)| - |e|, e the unmoved error."""
    if np.any(line.scale == 0):
        return None
    error = reduction.loss.target(line.y) - line.base
    base = np.abs(error)
    points = error / line.scale + line.s
    rows, cells = np.empty_like(line.s), np.empty_like(line.t)
    for o, (t, at, scale) in enumerate(zip(line.t, points, line.scale)):
        rows[o] = scale * distances_to(at, t, line.probabilities) - base[o]
        cells[o] = distances_to(t, at, line.weights * scale) - line.weights @ base[o]
    if line.t.shape[1] == 1:  # a constant moves nothing, not even by rounding
        rows[:], cells[:] = 0.0, 0.0
    return _state(rows, base, cells)


def squared_error_of_logistic(line, reduction, lines, at_nodes):
    """Two moments of g over cells and over rows; see `SquaredError`."""
    targets = reduction.target(line.y)
    rows, cells = np.empty_like(line.a), np.empty_like(line.t)
    for o, one in enumerate(lines):
        target, f = targets[o], one.f
        first, second = np.zeros((2, len(one.a)))
        for which, matrix, values in at_nodes(one.a, one.t):
            first[which] += matrix @ (values @ one.p)
            second[which] += matrix @ (np.square(values, out=values) @ one.p)
        # sum_k p d^2 - 2 e d with d = g - f, e = target - f
        rows[o] = second - 2.0 * target * first + f * (2.0 * target - f)
        of_cells = np.zeros_like(one.t)
        for which, matrix, values in at_nodes(one.t, one.a):
            crossed = values @ (-2.0 * one.w * target)
            crossed += np.square(values, out=values) @ one.w
            of_cells[which] += matrix @ crossed
        of_cells += one.w @ (f * (2.0 * target - f))
        cells[o] = one.in_cell_order(of_cells)
    return _state(rows, (targets - line.base) ** 2, cells)


def log_loss_of_logistic(line, reduction, lines, at_nodes):
    """log(1 + exp(x)) - c x of the score x = a + t and the class c, 0 or 1."""
    scores = line.a + line.s
    largest = max(
        np.abs(scores).max(),
        np.abs(line.a.max() + line.t.max()),
        np.abs(line.a.min() + line.t.min()),
    )
    c = positions(line.y, reduction.loss.class_lists)[:, 0].astype(np.float64)
    if len(lines) > 1 or largest > LARGEST_SCORE or _lost(lines[0], c) > MOST_LOST:
        return None
    (one,), x = lines, scores[0]
    softplus = {"function": _softplus, "count": _softplus_nodes}
    rows, cells = -_softplus(x), np.full_like(one.t, -(one.w @ _softplus(x)))
    for which, matrix, values in at_nodes(one.a, one.t, **softplus):
        rows[which] += matrix @ (values @ one.p)
    for which, matrix, values in at_nodes(one.t, one.a, **softplus):
        cells[which] += matrix @ (values @ one.w)
    rows -= c * (one.t @ one.p - one.s)
    cells -= one.t * (one.w @ c) - one.w @ (c * one.s)
    base = _softplus(x) - c * x
    return _state(rows[None], base[None], one.in_cell_order(cells)[None])


def _lost(one, c):
    """Mean over rows of class 0 and cells of ROUNDING exp(a + t)."""
    top = one.a.max(), one.t.max()
    rows = (one.w * (1.0 - c)) @ np.exp(one.a - top[0])
    return ROUNDING * rows * (np.exp(one.t - top[1]) @ one.p) * np.exp(sum(top))


def _softplus(x):
    return np.logaddexp(0.0, x)


def _softplus_nodes(slope):
    """Nodes for log(1 + exp(slope x + s)) on [-1, 1], of scores up to the largest."""

    def log_bound(height):
        # |log(1 + exp(u + iy))| <= u+ + |log sin y| + 2 pi below the branch at y = pi
        y = np.minimum(slope * height, 3.1)
        logs = np.abs(np.log(np.sin(np.maximum(y, np.pi / 2))))
        bound = np.log(LARGEST_SCORE + 2.0 * np.pi + logs)
        return np.where(slope * height < 3.1, bound, np.inf)

    return n_nodes(log_bound)


LINE_FORMS = {AbsoluteErrorLoss: absolute_error_of_line}
LOGISTIC_FORMS = {
    SquaredError: squared_error_of_logistic,
    LogLoss: log_loss_of_logistic,
}
