"""Flatness of curves and of mean curves, and which way mean curves go.

Index letters as in `reductions`. With F[k] the mean over the rows of ICE[i, k]:

================== =========================================================
IndividualFlatness sum_i w[i] flatness over k of ICE[i, k]
PartialDependence  flatness over k of F[k]
================== =========================================================

At the ordered values v[k] of the grid the direction of F is

    sum_kl p[k] p[l] sign(v[k] - v[l]) (F[k] - F[l]) / sum_kl p[k] p[l] |F[k] - F[l]|

1 where F only rises, -1 where it only falls. With P[k] the probability of all values up
to v[k], the upper sum is 2 sum_k (F[k + 1] - F[k]) P[k] (1 - P[k]), and the lower one
is the same of F in ascending order: no pair is formed. Where rows move through the
values of their own part only, pairs are those of one part, weighed by its rows.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np
from scipy import sparse

from skvarimp._data.statistics import Units, divided
from skvarimp._response.reductions import Outcome, Range, Reduction, RowMean, State
from skvarimp._running.memory import working_bytes

# Mean responses closer than this, relative to the response's size, count as equal:
# rounding must not decide which rows make up a standard error.
_TIED = 1e-12

BLOCK_ROWS = 2**16  # drawn together


@lru_cache(maxsize=2)  # reductions are made anew for each feature
def signed_groups(n_rows, n_groups):
    """The signs of the rows, and the groups in which they are added up.

    They are drawn for one block of rows after another.

    Parameters
    ----------
    n_rows : int
        All rows.
    n_groups : int
        At most `n_rows`; with as many groups as rows each holds one row.

    Returns
    -------
    signs : ndarray of shape (n_rows,)
        -1.0 or 1.0.
    groups : ndarray of shape (n_rows,)
    """
    signs, groups = [], []
    for block in range(0, n_rows, BLOCK_ROWS):
        n_block = min(BLOCK_ROWS, n_rows - block)
        # fixed seeds: standard errors must not vary between runs
        random = np.random.RandomState(block // BLOCK_ROWS)
        groups.append((block + random.permutation(n_block)) % n_groups)
        signs.append(random.choice([-1.0, 1.0], n_block))
    return np.concatenate(signs), np.concatenate(groups)


SKETCH_SIZE = 5_000_000  # numbers kept per feature and output for the standard error
LEAST_GROUPS = 10  # of rows, whatever memory they take: errors known to a fifth


def flatness(curves, multiplicity, statistic):
    """How much curves vary over the distinct grid values, each counted once.

    Parameters
    ----------
    curves : ndarray of shape (n_features, ..., n_cells)
    multiplicity : ndarray of shape (n_features, n_cells) or (n_features, n_rows,
    n_cells)
        Number of distinct values that a cell stands for, perhaps different by row.
    statistic : {"std", "range"}
        Standard deviation with ddof=1 (Greenwell et al., eq. 5), or maximum minus
        minimum (eq. 6). One value: 0.

    Returns
    -------
    ndarray of shape (n_features, ...)
    """
    if statistic == "range":
        return curves.max(axis=-1) - curves.min(axis=-1)
    centred, count = _centred(curves, multiplicity)
    total = np.sum(_beside(curves, multiplicity) * centred**2, axis=-1)
    return np.sqrt(total / np.maximum(count - 1, 1))


def _beside(curves, multiplicity):
    """Multiplicity in a shape that broadcasts with curves."""
    n_more = curves.ndim - multiplicity.ndim
    return np.expand_dims(multiplicity, tuple(range(1, 1 + n_more)))


def _centred(curves, multiplicity):
    """Curves minus their mean over the distinct values, and how many there are."""
    m = _beside(curves, multiplicity)
    count = m.sum(axis=-1)
    # from the first value on: a constant curve is centred to exactly 0
    shifted = curves - curves[..., :1]
    mean = np.sum(m * shifted, axis=-1) / count
    return shifted - mean[..., np.newaxis], count


def flatness_slope(curves, multiplicity, statistic, size):
    """d flatness / d curve[k], which sums to 0 over k; 0 for constant curves.

    Tied extremes share the slope evenly, so that no order of values decides. `size` is
    the size of the responses, (n_outputs,).
    """
    count = multiplicity[:, np.newaxis]
    top, bottom = (e(axis=-1, keepdims=True) for e in (curves.max, curves.min))
    tied = _TIED * (size[:, np.newaxis] + np.maximum(top, -bottom))
    moves = top - bottom > tied
    if statistic == "range":
        ends = count * (curves >= top - tied), count * (curves <= bottom + tied)
        highest, lowest = (end / end.sum(axis=-1, keepdims=True) for end in ends)
        return moves * (highest - lowest)
    centred, n = _centred(curves, multiplicity)
    divisor = flatness(curves, multiplicity, "std") * np.maximum(n - 1, 1)
    return moves * divided(count * centred, divisor[..., np.newaxis])


class WithStatistic(Reduction):
    """A reduction whose `statistic` "std_or_range" is settled for each feature."""

    def for_kind(self, categorical):
        if self.statistic != "std_or_range":
            return self
        return replace(self, statistic="range" if categorical else "std")


@dataclass(frozen=True)
class IndividualFlatness(WithStatistic, RowMean):
    """Mean over rows of the standard deviation, or the range, of each row's curve."""

    statistic: str = "std"

    primitive = "deviations"
    counts_values = True

    def for_kind(self, categorical):
        known = super().for_kind(categorical)
        return Range() if known.statistic == "range" else known


@dataclass(frozen=True)
class PartialDependence(WithStatistic):
    """Flatness of the mean curve (Greenwell et al., eqs. 4 to 6).

    The standard error needs each row's curve after the mean curve is known. Up to
    `n_groups` rows are kept apart, and the error is exact. More rows are added up with
    random signs in `n_groups` groups, rows that depend on each other with one sign in
    one group. This estimates the same sum of squares without bias and with a relative
    error of about (2 n_groups)^(-1/2). Groups are joined where their sums over all
    outputs and cells take too much memory. With `apart` each row is kept apart whatever
    memory it takes.
    """

    statistic: str = "std"
    n_groups: int = 200
    n_rows: int = 0
    apart: bool = False
    units: Units | None = field(default=None, compare=False)

    needs = "moments"
    merges_rows = True
    counts_values = True

    @classmethod
    def over(cls, statistic, n_rows, n_groups=None, units=None):
        """For a known number of rows, of some `Units`; `n_groups` are kept apart.

        None: 200, or as few as 50 where there are many rows, and no more than units.
        """
        if n_groups is None:
            n_groups = max(50, min(200, SKETCH_SIZE // n_rows))
            n_groups = n_groups if units is None else min(n_groups, units.n)
        return cls(statistic, min(n_groups, n_rows), n_rows, units=units)

    def reduce(self, shape):
        """See `Reduction.reduce`.

        Sums of differences from the unmoved response: exactly 0 for an unused feature.
        """
        rows = shape.rows
        if shape.parallel:  # the mean curve is each row's: no error
            return State(cells=shape.sums(rows.weights))
        n_summed = shape.n_summed or shape.cells.probabilities.shape[1]
        name, *how = self.kept(rows.place, rows.weights, len(rows.base) * n_summed)
        sums, basis = shape.sums_by_group(*how)
        cells = shape.sums(rows.weights)
        return State(cells=cells, basis=basis, **{name: sums})

    def kept(self, place, weights, n_numbers):
        """How the curves of rows at a place are kept, of so many numbers each.

        Returns
        -------
        name : {"apart", "sketch"}
            Of the array in `State`.
        factors, groups, n_groups
            As `Shape.sums_by_group` takes them.
        """
        if self.keeps_apart(n_numbers):
            n_rows = len(weights)
            return "apart", np.ones(n_rows), np.arange(n_rows), n_rows
        n_groups, (signs, groups) = self.n_kept(n_numbers), self.signs_and_groups
        factors = signs[place] * weights
        return "sketch", factors, groups[place] % n_groups, n_groups

    @cached_property
    def signs_and_groups(self):
        """The signs of the rows and their groups, (n_rows,) each."""
        units = self.units
        if units is None or units.groups is None:
            return signed_groups(self.n_rows, self.n_groups)
        signs, groups = signed_groups(units.n, min(self.n_groups, units.n))
        return signs[units.groups], groups[units.groups]

    def keeps_apart(self, n_numbers):
        """Whether each row's curve is kept, of so many numbers."""
        if self.apart:
            return True
        fits = 8 * n_numbers * self.n_rows <= working_bytes() / 4
        return self.n_groups == self.n_rows and fits

    def n_kept(self, n_numbers):
        """How many rows, or as many groups as fit, of so many numbers are kept."""
        if self.keeps_apart(n_numbers):
            return self.n_rows
        room = working_bytes() / 8 // (8 * n_numbers)
        return int(min(self.n_groups, max(room, LEAST_GROUPS)))

    def finish(self, state, sample):
        importances = self.spread(state.cells, sample) / sample.scale
        curves = state.cells + sample.rows.level[:, np.newaxis]
        own = self.own_influences(state.cells, importances, sample)
        if state.sketch is None and state.apart is None:
            psi = np.zeros((*importances.shape, 1))
            if state.rows is not None:  # the rows' curves times the slope
                psi = state.rows - state.rows @ sample.weights[..., np.newaxis]
            shape = *importances.shape, sample.weights.shape[-1]
            psi = np.broadcast_to(psi, shape)
            finished = sample.finished(importances, psi + own, curves=curves)
            if sample.keep_rows:
                finished.through_curves = sample.scaled_mean(psi)
            return finished
        slope = self.slope(state.cells, sample)
        own = own - np.einsum("bok,bok->bo", slope, state.cells)[:, :, np.newaxis]
        if state.basis is not None:  # (sums @ basis) @ slope, the short way
            slope = np.einsum("bofk,bok->bof", state.basis, slope)
        if state.apart is not None:
            psi = np.matmul(state.apart, slope[..., np.newaxis])[..., 0]
            finished = sample.finished(importances, psi + own, curves=curves)
            if sample.keep_rows:
                finished.through_curves = sample.scaled_mean(psi)
            return finished
        (signs, groups), n_groups = self.signs_and_groups, state.sketch.shape[2]
        weights = signs * sample.weights
        psi = np.einsum("bogk,bok->bog", state.sketch, slope)
        where = np.arange(self.n_rows), groups % n_groups
        add = sparse.csr_array((weights, where), (self.n_rows, n_groups))
        own = np.broadcast_to(own, (*psi.shape[:2], self.n_rows))
        psi += (own.reshape(-1, self.n_rows) @ add).reshape(psi.shape)
        psi = psi / sample.scale[:, np.newaxis]
        per_output = sample.units.error_of_sums(psi)
        psi = psi.mean(axis=1)
        errors = sample.units.error_of_sums(psi)
        return Outcome(
            importances,
            errors,
            curves=curves,
            errors_per_output=per_output,
            directions=sample.directions(curves),
        )

    def spread(self, cells, sample):
        """What is asked of mean curves (b, o, k), unscaled."""
        return flatness(cells, sample.cells.multiplicity, self.statistic)

    def own_influences(self, cells, importances, sample):
        """Influences by other ways than the rows' own curves, unscaled."""
        return self.through_scale(importances, sample.rows, sample.scale)

    def slope(self, cells, sample):
        """How the spread depends on each value of mean curves; sums to 0 over k."""
        counts = sample.cells.multiplicity
        return flatness_slope(cells, counts, self.statistic, sample.rows.size)


FLAT = 1e-12  # mean differences below, relative to the response's size, are rounding


def direction(curves, chances, size, levels=None):
    """The direction of mean curves along one feature.

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
    if levels is None or len(levels) == 0 or levels[0] == levels[-1]:
        return directions_of(curves, chances, size)
    ends = np.flatnonzero(np.diff(levels)) + 1
    rise, spread = np.zeros((2, len(curves)))
    for part, p in zip(np.split(curves, ends, axis=1), np.split(chances, ends)):
        more = _rise_and_spread(part, p)
        rise, spread = rise + more[0], spread + more[1]
    return _share(rise, spread, size)


def directions_of(curves, chances, size):
    """The directions of mean curves, (..., n_outputs), over values of one level.

    Parameters
    ----------
    curves : ndarray of shape (..., n_outputs, n_values)
    chances : ndarray, broadcast to the shape of `curves`
    size : ndarray of shape (n_outputs,)
    """
    return _share(*_rise_and_spread(curves, chances), size)


def _rise_and_spread(curves, chances):
    """The two sums of a direction, over values of one level."""
    order = np.argsort(curves, axis=-1, kind="stable")
    chances = np.broadcast_to(chances, curves.shape)
    ascending, p = (np.take_along_axis(a, order, axis=-1) for a in (curves, chances))
    return _rise(curves, chances), _rise(ascending, p)


def _share(rise, spread, size):
    """rise / spread, 0 for curves that are flat but for rounding."""
    return np.clip(divided(rise, spread, FLAT * size), -1.0, 1.0)


def _rise(curves, chances):
    """Half of the upper sum for curves, (..., n_outputs)."""
    below = np.cumsum(chances, axis=-1)
    share = below * (below[..., -1:] - below)
    return np.sum(np.diff(curves, axis=-1) * share[..., :-1], axis=-1)


def directions(orders, size, cell_of_value, curves):
    """Those of several features, (n_features, n_outputs); NaN for values without order.

    Parameters
    ----------
    orders : list
        `Move.order` of each feature.
    size : ndarray of shape (n_outputs,)
        Largest response.
    cell_of_value : ndarray of shape (n_values,) or None
        See `State`.
    curves : ndarray of shape (n_features, n_outputs, n_cells)
        Weighted sums over the rows that take each value.
    """
    result = np.full(curves.shape[:2], np.nan)
    for signed, curve, order in zip(result, curves, orders):
        if order is None:
            continue
        known, chances, levels = order
        cells = np.flatnonzero(known)
        if cell_of_value is not None:  # values side by side in one cell count as one
            cells = cell_of_value[known]
            begins = np.append(True, (np.diff(cells) != 0) | (np.diff(levels) != 0))
            first = np.flatnonzero(begins[: len(cells)])
            cells, levels = cells[first], levels[first]
            chances = np.add.reduceat(chances, first) if len(first) else chances
        signed[:] = direction(curve[:, cells], chances, size, levels)
    return result


@dataclass(frozen=True)
class MeanCurve(Reduction):
    """The direction of the mean curve, and f[i] - sum_k p[k] ICE[i, k]; no importance.

    Parameters
    ----------
    primitive : {"sums", "drifts"}, default="sums"
        "drifts" where the latter, effects of single rows, are wanted.
    """

    primitive: str = "sums"

    needs = "moments"
    follows = True

    @property
    def merges_rows(self):
        return self.primitive == "sums"

    def reduce(self, shape):
        if self.primitive == "drifts":
            return super().reduce(shape)
        return State(cells=shape.sums(shape.rows.weights))

    def finish(self, state, sample):
        unknown = np.full(state.cells.shape[:2], np.nan)
        effects = -state.rows if self.primitive == "drifts" else None
        found = sample.directions(state.cells)
        return Outcome(unknown, directions=found, effects=effects)
