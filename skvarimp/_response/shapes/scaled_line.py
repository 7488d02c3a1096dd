"""Closed forms for curves that are one line, shifted and scaled:

    ICE[o, i, k] - f[o, i] = scale[o, i] (t[o, k] - s[o, i])

Models with the identity as link have scale 1 and t the weighted values of the moved
columns, s the rows' own; with an exponential link t is their exponential and the scale
that of all other columns. Every reduction takes a sort of t and sums, O(n log n).
"""

from dataclasses import dataclass

import numpy as np

from skvarimp._response.reductions.flatness import flatness
from skvarimp._response.reductions.line_losses import LINE_FORMS, key_of
from skvarimp._response.reductions.reductions import (
    IndividualFlatness,
    Observed,
    Pairs,
    PartialDependence,
    Range,
    SquaredError,
)
from skvarimp._response.reductions.states import State


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
    zero = np.zeros(1)
    mass = np.concatenate([zero, np.cumsum(weights)])
    moment = np.concatenate([zero, np.cumsum(weights * values)])
    at = np.searchsorted(values, points, side="right")
    result = points * (2.0 * mass[at] - mass[-1]) + moment[-1] - 2.0 * moment[at]
    return np.maximum(result, 0.0)  # not below 0 by rounding


@dataclass
class ScaledLine:
    """See the module.

    Attributes
    ----------
    t : ndarray of shape (n_outputs, n_cells)
    s : ndarray of shape (n_outputs, n_rows)
    scale : ndarray of shape (n_outputs, n_rows) or None
        None: 1.
    probabilities : ndarray of shape (n_cells,)
    weights : ndarray of shape (n_rows,)
    base : ndarray of shape (n_outputs, n_rows)
    categorical : bool
    y : ndarray or None
    """

    t: np.ndarray
    s: np.ndarray
    scale: np.ndarray | None
    probabilities: np.ndarray
    weights: np.ndarray
    base: np.ndarray
    categorical: bool
    y: np.ndarray | None

    def __post_init__(self):
        # from the first value on: sums of large numbers would cancel
        first = self.t[:, :1].copy()
        self.t, self.s = self.t - first, self.s - first
        if self.scale is None:
            self.scale = np.ones_like(self.s)

    @property
    def mean_scale(self):
        """sum_i w[i] scale[o, i]."""
        return self.scale @ self.weights

    def sorted(self, per_sorted_cell):
        """Numbers of the sorted cells in the cells' own order, (n_outputs, n_cells)."""
        result = np.empty_like(self.t)
        for o, t in enumerate(self.t):
            order = np.argsort(t)
            result[o, order] = per_sorted_cell(t[order], self.probabilities[order])
        return result


def _pairs(line, reduction):
    distance = line.sorted(mean_distances)
    gini = distance @ line.probabilities
    return State(
        (line.scale * gini[:, np.newaxis])[np.newaxis],
        (line.mean_scale[:, np.newaxis] * distance)[np.newaxis],
    )


def _observed(line, reduction):
    rows = np.empty_like(line.s)
    cells = np.empty_like(line.t)
    for o, (t, s, scale) in enumerate(zip(line.t, line.s, line.scale)):
        rows[o] = scale * distances_to(s, t, line.probabilities)
        cells[o] = distances_to(t, s, line.weights * scale)
    return State(rows[np.newaxis], cells[np.newaxis])


def _of_each_row(line, of_line):
    """State of a number of the line itself, scaled for each row."""
    return State((line.scale * of_line[:, np.newaxis])[np.newaxis])


def _range(line, reduction):
    return _of_each_row(line, np.ptp(line.t, axis=1))


def _individual_flatness(line, reduction):
    curves, multiplicity = line.t[np.newaxis], np.ones((1, line.t.shape[1]))
    categorical = np.array([line.categorical])
    return _of_each_row(
        line, flatness(curves, multiplicity, reduction.statistic, categorical)[0]
    )


def _partial_dependence(line, reduction):
    signs = reduction.signs * np.sqrt(line.weights)
    n_outputs, n_cells = line.t.shape
    own = line.scale * line.s
    # moved = scale t - scale s: two functions of the cell, t and -1
    sketch = np.empty((1, n_outputs, reduction.n_groups, 2))
    for o in range(n_outputs):
        for f, factor in enumerate((line.scale[o], own[o])):
            sketch[0, o, :, f] = np.bincount(
                reduction.groups, signs * factor, reduction.n_groups
            )
    basis = np.stack([line.t, np.full((n_outputs, n_cells), -1.0)], axis=1)
    cells = line.mean_scale[:, np.newaxis] * line.t
    cells -= (own @ line.weights)[:, np.newaxis]
    return State(cells=cells[np.newaxis], sketch=sketch, basis=basis[np.newaxis])


def _squared_error(line, reduction):
    p, w, t, s = line.probabilities, line.weights, line.t, line.s
    error = reduction.target(line.y) - line.base
    mean = (t @ p)[:, np.newaxis]
    centred = t - mean
    variance = (centred**2 @ p)[:, np.newaxis]
    # sum_k p (scale (t - s))^2 - 2 e sum_k p scale (t - s)
    from_mean = line.scale * (mean - s)
    rows = line.scale**2 * variance + from_mean**2 - 2.0 * error * from_mean
    squared, crossed = line.scale**2 * w, line.scale * error * w
    own = (s * squared).sum(axis=1), (s * crossed).sum(axis=1)
    cells = t**2 * squared.sum(axis=1)[:, np.newaxis]
    cells -= 2.0 * t * (own[0] + crossed.sum(axis=1))[:, np.newaxis]
    cells += ((s**2 * squared).sum(axis=1) + 2.0 * own[1])[:, np.newaxis]
    rows = np.stack([rows.mean(axis=0), (error**2).mean(axis=0)])
    return State(rows[np.newaxis], cells.mean(axis=0)[np.newaxis, np.newaxis])


FORMS = {
    Pairs: _pairs,
    Observed: _observed,
    Range: _range,
    IndividualFlatness: _individual_flatness,
    PartialDependence: _partial_dependence,
    SquaredError: _squared_error,
}


def closed_form(line, reduction):
    """The state of a reduction over all rows; None where there is no closed form."""
    key = key_of(reduction)
    if key in LINE_FORMS:
        return LINE_FORMS[key](line, reduction, distances_to)
    return FORMS[key](line, reduction) if key in FORMS else None


def has_line_form(reduction):
    """Whether a reduction has a closed form here."""
    return key_of(reduction) in FORMS | LINE_FORMS
