"""Which way the mean response goes as the values of an entry rise.

With F[k] the mean curve at the ordered values v[k] of the grid, p[k] their
probabilities, the direction is

    sum_kl p[k] p[l] sign(v[k] - v[l]) (F[k] - F[l]) / sum_kl p[k] p[l] |F[k] - F[l]|

1 where F only rises, -1 where it only falls. With P[k] the probability of all values up
to v[k], the upper sum is 2 sum_k (F[k + 1] - F[k]) P[k] (1 - P[k]), and the lower one
is the same of F in ascending order: no pair is formed. Where rows move through the
values of their own part only, pairs are those of one part, weighed by its rows.
"""

from dataclasses import dataclass

import numpy as np

from skvarimp._data.statistics import divided
from skvarimp._response.reductions import Finished, Reduction
from skvarimp._response.states import State

FLAT = 1e-12  # mean differences below, relative to the response's size, are rounding
N_BINS = 10  # of equal probability, over which drawn responses are averaged


def direction(curves, chances, size, levels=None):
    """The direction of mean curves along one entry.

    Parameters
    ----------
    curves : ndarray of shape (n_outputs, n_values)
        In the order of the values, equal values side by side.
    chances : ndarray of shape (n_values,)
        Their probabilities.
    size : ndarray of shape (n_outputs,)
        Largest response: curves that are flat but for rounding have direction 0.
    levels : ndarray of shape (n_values,), default=None
        Ascending; only values of one level are compared.

    Returns
    -------
    ndarray of shape (n_outputs,)
    """
    ends = [] if levels is None else np.flatnonzero(np.diff(levels)) + 1
    rise, spread = np.zeros((2, len(curves)))
    for part, p in zip(np.split(curves, ends, axis=1), np.split(chances, ends)):
        rise += _rise(part, p)
        order = np.argsort(part, axis=1, kind="stable")
        spread += _rise(np.take_along_axis(part, order, axis=1), p[order])
    return np.clip(divided(rise, spread, FLAT * size), -1.0, 1.0)


def _rise(curves, chances):
    """Half of the upper sum for curves, (n_outputs,)."""
    below = np.cumsum(chances, axis=-1)
    share = below * (below[..., -1:] - below)
    return np.sum(np.diff(curves, axis=1) * share[..., :-1], axis=1)


def directions(moves, size, cell_of_value, curves):
    """Those of several entries, (n_entries, n_outputs); NaN for values without order.

    Parameters
    ----------
    moves : sequence of Move
    size : ndarray of shape (n_outputs,)
    cell_of_value : ndarray of shape (n_values,) or None
        See `State`.
    curves : ndarray of shape (n_entries, n_outputs, n_cells)
        Weighted sums over the rows that take each value.
    """
    result = np.full(curves.shape[:2], np.nan)
    curves = curves if cell_of_value is None else curves[..., cell_of_value]
    for of_entry, curve, move in zip(result, curves, moves):
        if move.ordered:
            known = move.known
            of_entry[:] = direction(
                curve[:, known], move.probabilities[known], size, move.levels[known]
            )
    return result


def drawn_direction(sums, weights, move, size):
    """That of an entry from draws, whose curve is known in bins of its values.

    Parameters
    ----------
    sums : ndarray of shape (n_outputs, n_values)
        Weighted sums of drawn responses, moved minus unmoved.
    weights : ndarray of shape (n_values,)
        Of the draws.
    move : Move
    size : ndarray of shape (n_outputs,)

    Returns
    -------
    ndarray of shape (n_outputs,)
    """
    if not move.ordered:
        return np.full(len(sums), np.nan)
    chances, levels = move.probabilities, move.levels
    # the probabilities of each level sum to 1
    middle = np.cumsum(chances) - chances / 2 - levels
    bins = levels * N_BINS + np.minimum(middle * N_BINS - 1e-9, N_BINS - 1).astype(int)
    drawn = move.known & (weights > 0)
    used, bins = np.unique(bins[drawn], return_inverse=True)
    of_bins = np.bincount(bins, weights[drawn])
    mean = np.stack([np.bincount(bins, s[drawn]) for s in sums]) / of_bins
    mass = np.bincount(bins, (move.chances / chances)[drawn]) / np.bincount(bins)
    return direction(
        mean * mass, np.bincount(bins, chances[drawn]), size, used // N_BINS
    )


@dataclass(frozen=True)
class MeanCurve(Reduction):
    """The direction of the mean curve, and f[i] - sum_k p[k] ICE[i, k]; no importance.

    Parameters
    ----------
    with_rows : bool, default=False
        Whether the latter, effects of single rows, are wanted.
    """

    with_rows: bool = False

    needs = "moments"
    merges_rows = True
    follows = True

    def reduce(self, shape):
        if self.with_rows:
            return State(*shape.drifts())
        return State(cells=shape.sums(shape.margins.weights))

    def finish(self, state, sample):
        unknown = np.full(state.cells.shape[:2], np.nan)
        effects = -state.rows if self.with_rows else None
        found = sample.directions(state.cells)
        return Finished(unknown, None, directions=found, effects=effects)
