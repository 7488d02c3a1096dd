"""Curves that are piecewise linear in a value.

In one hidden layer of rectified linear units each row has kinks of its own. Unit h of
a row is max(0, a_h + w_h v): 0 on one side of its kink -a_h / w_h and linear on the
other. Between sorted kinks the curve is one line, whose slope and intercept are running
sums, so that a row's curve takes O(h log h + n_cells) and not O(h n_cells).
"""

import numpy as np

from skvarimp._response.shapes.shape import Shape


class KinkedCurves(Shape):
    """Curves of one entry that `kinked_curves` gives, reduced by a compiled kernel.

    Parameters
    ----------
    margins : Margins
    parts : callable
        See `Shape.parts`.
    others, slopes, values, output, bias
        See `kinked_curves`.
    """

    def __init__(self, margins, parts, others, slopes, values, output, bias):
        super().__init__(margins)
        self.parts, self.slopes, self.output = parts, slopes, output
        middle = np.median(values)  # around 0, few digits cancel
        self.values, self.others = values - middle, others + slopes * middle
        self.levels = margins.base[0] - bias[:, np.newaxis]

    def squares(self, offsets):
        """See `Shape.squares`."""
        from skvarimp._compiled.kinks import kinked_squares

        order = np.argsort(self.values)
        grid = self.values[order], self.margins.probabilities[0, order]
        rows = np.empty((1, *self.levels.shape))
        cells = np.empty((1, len(self.levels), len(order)))
        for o, level in enumerate(self.levels):
            of_rows = level, offsets[0, o], self.margins.weights
            units = self.others, self.slopes, self.output[:, o]
            rows[0, o], cells[0, o, order] = kinked_squares(*units, *of_rows, *grid)
        return rows, cells


def kinked_curves(others, slopes, values, output, bias):
    """bias[q] + sum_h output[h, q] max(0, others[i, h] + slopes[h] values[k]).

    Parameters
    ----------
    others : ndarray of shape (n_rows, n_units)
    slopes : ndarray of shape (n_units,)
    values : ndarray of shape (n_cells,)
        In any order.
    output : ndarray of shape (n_units, n_scores)
    bias : ndarray of shape (n_scores,)

    Returns
    -------
    ndarray of shape (n_scores, n_rows, n_cells)
    """
    moves = slopes != 0
    fixed = np.maximum(others[:, ~moves], 0.0) @ output[~moves] + bias
    others, slopes, output = others[:, moves], slopes[moves], output[moves]
    order = np.argsort(values)
    middle = (values[order[0]] + values[order[-1]]) / 2.0
    ascending = values[order] - middle  # around 0: large terms would cancel
    others = others + slopes * middle
    kinks = -others / slopes
    by_kink = np.argsort(kinks, axis=1)
    at = by_kink + len(slopes) * np.arange(len(others))[:, np.newaxis]
    cells = _first_right_of(kinks.ravel().take(at), ascending)
    n_rows, n_cells = len(others), len(values)
    ends = np.full((n_rows, 1), n_cells)
    counts = np.diff(np.concatenate([0 * ends, cells, ends], axis=1), axis=1).ravel()
    curves = []
    for weight, level in zip(output.T, fixed.T):
        # rising units start at their kink, falling ones end there
        rising = weight * np.sign(slopes)
        falling = np.where(slopes < 0, weight, 0.0)
        slope = _running((falling * slopes).sum(), (rising * slopes)[by_kink])
        jumps = (others * rising).ravel().take(at)
        intercept = _running(level + others @ falling, jumps)
        curve = np.repeat(slope.ravel(), counts).reshape(n_rows, n_cells)
        curve *= ascending
        curve += np.repeat(intercept.ravel(), counts).reshape(n_rows, n_cells)
        curves.append(curve)
    curves = np.stack(curves) if len(curves) > 1 else curves[0][np.newaxis]
    if np.array_equal(order, np.arange(n_cells)):
        return curves
    result = np.empty_like(curves)
    result[:, :, order] = curves
    return result


def between_kinks(values, at):
    """What interpolates from a few ascending values: f(values) = result @ f(at).

    For functions that are lines between the neighbours of `at`, whose first and last
    are the ends.

    Returns
    -------
    ndarray of shape (n_values, len(at))
    """
    right = np.clip(np.searchsorted(at, values), 1, len(at) - 1)
    share = (values - at[right - 1]) / (at[right] - at[right - 1])
    result = np.zeros((len(values), len(at)))
    cells = np.arange(len(values))
    result[cells, right - 1], result[cells, right] = 1.0 - share, share
    return result


def _first_right_of(kinks, ascending):
    """The first value right of each kink, by its number; at the kink a unit is 0."""
    cells = np.where(kinks > ascending[0], len(ascending), 0)
    within = (kinks > ascending[0]) & (kinks <= ascending[-1])
    cells[within] = np.searchsorted(ascending, kinks[within])
    return cells


def _running(first, jumps):
    """The first of each row, then with one more jump after another."""
    result = np.empty((len(jumps), jumps.shape[1] + 1))
    result[:, 0] = first
    result[:, 1:] = jumps
    return np.cumsum(result, axis=1, out=result)
