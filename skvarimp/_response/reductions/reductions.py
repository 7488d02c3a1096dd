"""Reductions of ICE curves: pure, mergeable over blocks of rows.

Index letters: b entry of the block, o output, i row, k cell. With ICE[i, k] the
response of row i with the entry moved to cell k, f[i] the response unmoved, p[k] the
cell's probability and w[i] the row's weight (both sum to 1):

=================== ==========================================================
Pairs               sum_i w[i] sum_kl p[k] p[l] \\|ICE[i, k] - ICE[i, l]\\|
Observed            sum_i w[i] sum_k p[k] \\|ICE[i, k] - f[i]\\|
Range               sum_i w[i] (max_k ICE[i, k] - min_k ICE[i, k])
PartialDependence   flatness over k of sum_i w[i] ICE[i, k]
IndividualFlatness  sum_i w[i] flatness over k of ICE[i, k]
Loss                sum_i w[i] (sum_k p[k] loss(y[i], ICE[i, k]) - loss(y[i], f[i]))
SquaredError        Loss with loss(y, f) = (y - f)^2, from two moments of the curve
=================== ==========================================================

`reduce` turns a block into a `State`, states merge by `State.merged`, and `finish`
gives the importance of each output and the standard error of their mean.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from skvarimp._response.reductions.flatness import flatness, flatness_slope
from skvarimp._response.reductions.states import Block, Finished, Sample, State
from skvarimp._running.memory import working_bytes

__all__ = [
    "Block",
    "Finished",
    "IndividualFlatness",
    "Loss",
    "Observed",
    "Pairs",
    "PartialDependence",
    "Range",
    "Reduction",
    "Sample",
    "SquaredError",
    "State",
]


class Reduction:
    """A number per entry and output from the ICE curves; see the module's table."""

    def reduce(self, block):
        """The state of one block of rows."""
        return State.merged(self.of_chunk(chunk) for chunk in block.chunks())

    def of_chunk(self, block):
        """The state of a block that fits into the processor's cache."""
        raise NotImplementedError

    def finish(self, state, sample):
        """`Finished` from the merged state of all rows."""
        raise NotImplementedError


class _RowMean(Reduction):
    """Mean over rows of each row's own contribution, with a donor part.

    The influence of a row is its projection as evaluated row plus `donor_factor`
    times its projection as donor.
    """

    donor_factor = 0

    def finish(self, state, sample):
        theta = np.einsum("boi,i->bo", state.rows, sample.weights)
        psi = state.rows - theta[:, :, np.newaxis]
        if self.donor_factor and sample.codes is not None:
            donors = np.take_along_axis(
                state.cells, sample.codes[:, np.newaxis, :], axis=2
            )
            psi = psi + self.donor_factor * (donors - theta[:, :, np.newaxis])
        return sample.finished(theta / sample.scale, psi, state.rows)


@dataclass(frozen=True)
class Pairs(_RowMean):
    """Mean over rows of the Gini mean difference of the row's curve (Huh & Lee)."""

    donor_factor = 2

    def of_chunk(self, block):
        """See `Reduction.of_chunk`; O(k log k) a row."""
        ice, n_pieces = block.ice, block.ice.shape[-1]
        if n_pieces == 1:
            return State(np.zeros(ice.shape[:3]), block.over_rows(np.zeros(ice.shape)))
        if n_pieces == 2:
            gap = np.abs(ice[..., 1:] - ice[..., :1])
            both = 2.0 * block.chances.prod(axis=-1)
            other = gap * block.chances[..., ::-1]
            return State(both * gap[..., 0], block.over_rows(other))
        order = np.argsort(ice, axis=-1, kind=_fastest_sort(ice))
        order += np.arange(0, ice.size, n_pieces).reshape(*ice.shape[:3], 1)
        values = ice.ravel().take(order)
        gaps = np.diff(values, axis=-1)
        below = _mass_below(block.chances, order)
        above = 1.0 - below
        # E|V' - V''| = 2 sum_k (v_(k+1) - v_(k)) P_k (1 - P_k)
        rows = 2.0 * _sum_of_products(gaps, below * above)
        # E|v_(1) - V| = sum_k gap_k (1 - P_k); each step right adds gap_k (2 P_k - 1)
        distance = values
        distance[..., 0] = _sum_of_products(gaps, above)
        np.multiply(gaps, below - above, out=distance[..., 1:])
        distance = running_sums(distance)
        by_cell = np.empty(ice.shape)
        by_cell.ravel()[order.ravel()] = distance.ravel()
        return State(rows, block.over_rows(by_cell))


_RUN = 16
_UP_TO = np.triu(np.ones((_RUN, _RUN)))


def running_sums(values):
    """np.cumsum along the last axis; by matrix products it need not wait for sums."""
    n = values.shape[-1] // _RUN * _RUN
    if n < 8 * _RUN:
        return np.cumsum(values, axis=-1)
    result = np.empty(values.shape)
    runs = values[..., :n].reshape(*values.shape[:-1], -1, _RUN) @ _UP_TO
    runs[..., 1:, :] += np.cumsum(runs[..., :-1, -1:], axis=-2)
    result[..., :n] = runs.reshape(*values.shape[:-1], n)
    if n < values.shape[-1]:
        rest = np.cumsum(values[..., n:], axis=-1)
        np.add(result[..., n - 1 : n], rest, out=result[..., n:])
    return result


def _fastest_sort(curves):
    """Merging runs, where the first curves seen rise and fall only a few times."""
    few = np.diff(curves[..., :4, :], axis=-1) > 0
    turns = np.count_nonzero(few[..., 1:] != few[..., :-1])
    return "stable" if 16 * turns < few.size else None


def _mass_below(chances, order):
    """P_k of each sorted curve; shape (1, 1, 1, k) where all cells are as probable."""
    if chances.shape[2] == 1 and np.all(chances == chances[0, 0, 0, 0]):
        return np.cumsum(chances[:1], axis=-1)[..., :-1]
    chances = np.broadcast_to(chances, order.shape)
    return np.cumsum(chances.ravel().take(order), axis=-1)[..., :-1]


def _sum_of_products(values, factors):
    """sum_k values[b, o, i, k] factors[..., k]."""
    if factors.shape[:3] == (1, 1, 1):
        return values @ factors[0, 0, 0]
    return np.einsum("boik,boik->boi", values, factors)


@dataclass(frozen=True)
class Observed(_RowMean):
    """Mean distance of moved and unmoved response (Lemaire & Clérot, eq. 2)."""

    donor_factor = 1

    def of_chunk(self, block):
        """See `Reduction.of_chunk`."""
        distance = np.abs(block.moved)
        return State(block.over_cells(distance), block.over_rows(distance))


@dataclass(frozen=True)
class Range(_RowMean):
    """Mean over rows of the largest minus the smallest response (Clementine)."""

    def of_chunk(self, block):
        """See `Reduction.of_chunk`."""
        return State(block.ice.max(axis=-1) - block.ice.min(axis=-1))


@dataclass(frozen=True)
class IndividualFlatness(_RowMean):
    """Mean over rows of the flatness of each row's own curve."""

    statistic: str = "std"

    def of_chunk(self, block):
        """See `Reduction.of_chunk`."""
        return State(
            flatness(block.ice, block.multiplicity, self.statistic, block.categorical)
        )


LEAST_GROUPS = 10  # of rows, whatever they take: errors known to a fifth


@dataclass(frozen=True)
class PartialDependence(Reduction):
    """Flatness of the mean curve (Greenwell et al., eqs. 4 to 6).

    The standard error needs every row's curve after the mean curve is known. Up to
    `n_groups` rows are kept apart and it is exact; more rows are added up with
    random signs in `n_groups` groups, which estimates the same sum of squares
    without bias, with relative error about (2 n_groups)^(-1/2). Where `n_groups` sums
    over all outputs and cells take too much memory, groups are joined.
    """

    statistic: str = "std"
    n_groups: int = 200
    n_rows: int = 0
    signs: np.ndarray | None = field(default=None, repr=False)
    groups: np.ndarray | None = field(default=None, repr=False)

    @classmethod
    def over(cls, statistic, n_rows, n_groups):
        """For a known number of rows; at most `n_groups` are kept apart."""
        n_groups = min(n_groups, n_rows)
        random = np.random.RandomState(0)  # fixed: errors must not vary between runs
        groups = random.permutation(n_rows) % n_groups
        signs = random.choice([-1.0, 1.0], n_rows)
        return cls(statistic, n_groups, n_rows, signs, groups)

    def reduce(self, block):
        """See `Reduction.reduce`.

        Sums of differences from the unmoved response: exactly 0 for an unused entry.
        """
        cells = block.moved_over_rows()
        n_rows = len(block.weights)
        if self.keeps_apart(cells[0].size):
            return State(
                cells=cells,
                apart=block.moved_by_group(np.ones(n_rows), np.arange(n_rows), n_rows),
            )
        signs = self.signs[block.rows] * np.sqrt(block.weights)
        n_groups = self.groups_that_fit(cells[0].size)
        groups = self.groups[block.rows] % n_groups
        sketch = block.moved_by_group(signs, groups, n_groups)
        return State(cells=cells, sketch=sketch)

    def keeps_apart(self, n_numbers):
        """Whether each row's curve is kept, of so many numbers."""
        fits = 8 * n_numbers * self.n_rows <= working_bytes() / 4
        return self.n_groups == self.n_rows and fits

    def n_kept(self, n_numbers):
        """How many rows or groups, of so many numbers each, are kept."""
        if self.keeps_apart(n_numbers):
            return self.n_rows
        return self.groups_that_fit(n_numbers)

    def groups_that_fit(self, n_numbers):
        """How many groups, of so many numbers each, are kept: as many as fit."""
        room = working_bytes() / 8 // (8 * n_numbers)
        return int(min(self.n_groups, max(room, LEAST_GROUPS)))

    def finish(self, state, sample):
        """See `Reduction.finish`."""
        mean = sample.base @ sample.weights
        importances = flatness(
            state.cells, sample.multiplicity, self.statistic, sample.categorical
        )
        importances /= sample.scale
        slope = self.slope(state.cells, sample)
        level = np.einsum("bok,bok->bo", slope, state.cells)[:, :, np.newaxis]
        curves = state.cells + mean[:, np.newaxis]
        if state.apart is not None:
            psi = np.matmul(state.apart, slope[..., np.newaxis])[..., 0] - level
            return sample.finished(importances, psi, curves=curves)
        weights = self.signs * np.sqrt(sample.weights)
        n_groups = state.sketch.shape[2]
        if state.basis is not None:  # (sketch @ basis) @ slope, the short way
            slope = np.einsum("bofk,bok->bof", state.basis, slope)
        psi = np.einsum("bogk,bok->bog", state.sketch, slope)
        psi -= level * np.bincount(self.groups % n_groups, weights, n_groups)
        psi = (psi / sample.scale[:, np.newaxis]).mean(axis=1)
        errors = np.sqrt(np.sum(psi**2, axis=1) / sample.total_weight)
        influences = None
        if sample.keep_rows and n_groups == self.n_rows:
            influences = psi[:, self.groups] / weights
        return Finished(importances, errors, curves, influences)

    def slope(self, cells, sample):
        """How the flatness depends on each value of mean curves (b, o, k)."""
        size = np.abs(sample.base).max(axis=1)
        return flatness_slope(
            cells, sample.multiplicity, self.statistic, sample.categorical, size
        )


@dataclass(frozen=True)
class Loss(Reduction):
    """Mean loss with the entry moved to every donor's value, and unmoved.

    Parameters
    ----------
    loss : callable
        loss(y, outputs) -> (n_rows, n_cells) of y (n_rows, 1, ...) and outputs
        (n_outputs, n_rows, n_cells).
    relative : bool
        Ratio of the two means instead of their difference.
    """

    loss: object = None
    relative: bool = False

    def of_chunk(self, block):
        """See `Reduction.of_chunk`; the two "outputs" are loss gained and unmoved loss.

        Sums of differences: exactly 0 for an entry that changes nothing.
        """
        y = block.y[:, np.newaxis]
        n_entries = len(block.ice)
        moved = np.stack([self.loss(y, block.ice[b]) for b in range(n_entries)])
        base = [self.loss(y, b[..., np.newaxis])[:, 0] for b in block.base]
        base = np.broadcast_to(np.stack(base), moved.shape[:2])
        moved -= base[..., np.newaxis]
        moved = moved[:, np.newaxis]
        rows = block.over_cells(moved)[:, 0]
        return State(np.stack([rows, base], axis=1), block.over_rows(moved))

    def finish(self, state, sample):
        """See `Reduction.finish`."""
        gain, psi = self.influence(state, sample)
        if self.relative:
            base = state.rows[:, 1]
            reference = base @ sample.weights
            gain = gain / reference
            # influence of a ratio: (psi_moved - ratio psi_base) / base
            psi -= gain[:, np.newaxis] * (base - reference[:, np.newaxis])
            psi /= reference[:, np.newaxis]
            gain = 1.0 + gain
        of_rows = state.rows[:, :1]
        if self.relative:
            of_rows = 1.0 + of_rows / reference[:, np.newaxis, np.newaxis]
        joined = replace(sample, scale=np.ones(1))
        return joined.finished(gain[:, np.newaxis], psi[:, np.newaxis], of_rows)

    @staticmethod
    def influence(state, sample):
        """Mean loss gained, (n_entries,), and each row's influence on it.

        A row counts as evaluated row and as donor: psi is (n_entries, n_rows).
        """
        gains = state.rows[:, 0]
        gain = gains @ sample.weights
        psi = gains - gain[:, np.newaxis]
        if sample.codes is not None:
            psi += np.take_along_axis(state.cells[:, 0], sample.codes, axis=1)
            psi -= gain[:, np.newaxis]
        return gain, psi


@dataclass(frozen=True)
class SquaredError(Loss):
    """`Loss` with the mean over the outputs of (target - output)^2.

    With e = target - f and d = ICE - f, (e - d)^2 - e^2 = d^2 - 2 e d, so that two
    moments of each row's curve and of each cell are all that is needed:

        rows[i]  = sum_k p[k] d[i, k]^2 - 2 e[i] sum_k p[k] d[i, k]
        cells[k] = sum_i w[i] d[i, k]^2 - 2 sum_i w[i] e[i] d[i, k]

    Parameters
    ----------
    loss : callable
        As in `Loss`, the same numbers.
    relative : bool
        As in `Loss`.
    target : callable
        target(y) -> (n_outputs, n_rows) of y (n_rows, ...).
    """

    target: object = None

    def of_chunk(self, block):
        """See `Loss.of_chunk`."""
        error = self.target(block.y) - block.base
        moved = block.moved
        first = block.over_cells(moved)
        cells = -2.0 * block.over_rows(moved, error * block.weights)
        squared = np.square(moved)
        rows = block.over_cells(squared) - 2.0 * error * first
        cells += block.over_rows(squared)
        base = np.broadcast_to((error**2).mean(axis=1), (len(rows), rows.shape[2]))
        return State(
            np.stack([rows.mean(axis=1), base], axis=1),
            cells.mean(axis=1, keepdims=True),
        )
