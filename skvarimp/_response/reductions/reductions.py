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
SquaredError        Loss with loss(y, f) = (y - f)^2
AbsoluteError       Loss with loss(y, f) = \\|y - f\\|
=================== ==========================================================

`reduce` asks a shape of curves (`shapes/shape.py`) for the sums it needs and makes a
`State` of them, states merge by `State.merged`, and `finish` gives the importance of
each output and the standard error of their mean. A new reduction needs nothing else:
it works for every shape.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from skvarimp._response.reductions.flatness import flatness, flatness_slope
from skvarimp._response.reductions.signed_groups import SignedRows
from skvarimp._response.reductions.states import Draw, Finished, State
from skvarimp._running.memory import working_bytes


class Reduction:
    """A number per entry and output from the ICE curves; see the module's table.

    Attributes
    ----------
    needs : {"moments", "order", "values"}
        What it takes of the curves, for estimates of its cost: means of smooth
        functions of them, their order as well, or each single value.
    merges_rows : bool
        Whether rows of equal value may go as one row of their weights.
    counts_values : bool
        Whether each distinct value counts once, whatever its weight.
    uses_squares : bool
        Whether `finish` takes the rows' squared deviations of the response.
    """

    needs = "values"
    merges_rows = False
    counts_values = False
    uses_squares = False

    def of_kind(self, categorical):
        """The reduction for entries that are categorical, or for those that are not."""
        return self

    def reduce(self, shape):
        """The state of a block of rows, from its `Shape`."""
        raise NotImplementedError

    def finish(self, state, sample):
        """`Finished` from the merged state of all rows."""
        raise NotImplementedError

    def through_scale(self, importances, sample):
        """What the scale adds to the influences (unscaled); 0: it is held fixed."""
        return 0.0


class _OfStatistic(Reduction):
    """A reduction with a `statistic` that "auto" chooses for each entry."""

    def of_kind(self, categorical):
        """See `Reduction.of_kind`."""
        if self.statistic != "auto":
            return self
        return replace(self, statistic="range" if categorical else "std")


class _RowMean(Reduction):
    """Mean over rows of each row's own contribution, with a donor part.

    The influence of a row is its projection as evaluated row plus `donor_factor`
    times its projection as donor.
    """

    needs = "order"
    merges_rows = True
    donor_factor = 0

    def finish(self, state, sample):
        """See `Reduction.finish`."""
        theta = np.matmul(state.rows, sample.weights[..., np.newaxis])
        psi = state.rows - theta
        if self.donor_factor and sample.codes is not None:
            # (r_i - theta) + c (d_i - theta)
            psi += self.donor_factor * sample.of_donors(state.rows, state.cells)
        importances = theta[..., 0] / sample.scale
        psi += self.through_scale(importances, sample)
        return sample.finished(importances, psi, state.rows)


@dataclass(frozen=True)
class Pairs(_RowMean, Draw):
    """Mean over rows of the Gini mean difference of the row's curve (Huh & Lee)."""

    n_moves = 2
    donor_factor = 2

    def reduce(self, shape):
        """See `Reduction.reduce`."""
        return State(*shape.pairs())

    def contribution(self, base, moved, y):
        """See `Draw`; Huh & Lee, section 2: \\|f(x; V') - f(x; V'')\\|."""
        return np.abs(moved[0] - moved[1])


@dataclass(frozen=True)
class Observed(_RowMean, Draw):
    """Mean distance of moved and unmoved response (Lemaire & Clérot, eq. 2)."""

    n_moves = 1
    donor_factor = 1

    def reduce(self, shape):
        """See `Reduction.reduce`."""
        return State(*shape.distances())

    def contribution(self, base, moved, y):
        """See `Draw`; Lemaire & Clérot, section II.C: \\|f(x) - f(x; V)\\|."""
        return np.abs(moved[0] - base)


@dataclass(frozen=True)
class Range(_RowMean):
    """Mean over rows of the largest minus the smallest response (Clementine)."""

    def reduce(self, shape):
        """See `Reduction.reduce`."""
        lowest, highest = shape.extremes()
        return State(highest - lowest)


@dataclass(frozen=True)
class IndividualFlatness(_OfStatistic, _RowMean):
    """Mean over rows of the flatness of each row's own curve."""

    statistic: str = "std"

    counts_values = True

    def reduce(self, shape):
        """See `Reduction.reduce`."""
        if self.statistic == "range":
            return Range().reduce(shape)
        return State(shape.deviations())


SKETCH_SIZE = 5_000_000  # numbers kept per entry and output for the standard error
LEAST_GROUPS = 10  # of rows, whatever memory they take: errors known to a fifth


@dataclass(frozen=True)
class PartialDependence(SignedRows, _OfStatistic):
    """Flatness of the mean curve (Greenwell et al., eqs. 4 to 6).

    The standard error needs each row's curve after the mean curve is known. Up to
    `n_groups` rows are kept apart, and the error is exact. More rows are added up with
    random signs in `n_groups` groups. This estimates the same sum of squares without
    bias and with a relative error of about (2 n_groups)^(-1/2). Groups are joined where
    their sums over all outputs and cells take too much memory.
    """

    statistic: str = "std"
    n_groups: int = 200
    n_rows: int = 0
    part: slice | None = None

    needs = "moments"
    merges_rows = True
    counts_values = True

    @classmethod
    def over(cls, statistic, n_rows, n_groups=None):
        """For a known number of rows; at most `n_groups` are kept apart.

        None: 200, or as few as 50 where there are many rows.
        """
        if n_groups is None:
            n_groups = max(50, min(200, SKETCH_SIZE // n_rows))
        return cls(statistic, min(n_groups, n_rows), n_rows)

    def reduce(self, shape):
        """See `Reduction.reduce`.

        Sums of differences from the unmoved response: exactly 0 for an unused entry.
        """
        rows, weights = shape.margins.rows, shape.margins.weights
        cells = shape.sums(weights)
        if shape.parallel:  # the mean curve is each row's: no error
            return State(cells=cells)
        n_rows = len(weights)
        n_numbers = cells.shape[1] * shape.n_summed(cells.shape[2])
        if self.keeps_apart(n_numbers):
            own = np.ones(n_rows), np.arange(n_rows), n_rows
            apart, basis = shape.sums_by_group(*own)
            return State(cells=cells, apart=apart, basis=basis)
        signs = self.signs[rows] * np.sqrt(weights)
        n_groups = self.groups_that_fit(n_numbers)
        groups = self.groups[rows] % n_groups
        sketch, basis = shape.sums_by_group(signs, groups, n_groups)
        return State(cells=cells, sketch=sketch, basis=basis)

    def keeps_apart(self, n_numbers):
        """Whether each row's curve is kept, of so many numbers."""
        fits = 8 * n_numbers * self.n_rows <= working_bytes() / 4
        return self.n_groups == self.n_rows and fits and self.part is None

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
        importances = self.spread(state.cells, sample) / sample.scale
        curves = state.cells + sample.level[:, np.newaxis]
        own = self.own_influences(state.cells, importances, sample)
        if state.sketch is None and state.apart is None:
            psi = np.zeros((*importances.shape, sample.weights.shape[-1])) + own
            if state.rows is not None:  # the rows' curves times the slope
                psi += state.rows - state.rows @ sample.weights[..., np.newaxis]
            return sample.finished(importances, psi, curves=curves)
        slope = self.slope(state.cells, sample)
        own = own - np.einsum("bok,bok->bo", slope, state.cells)[:, :, np.newaxis]
        if state.basis is not None:  # (sums @ basis) @ slope, the short way
            slope = np.einsum("bofk,bok->bof", state.basis, slope)
        if state.apart is not None:
            psi = np.matmul(state.apart, slope[..., np.newaxis])[..., 0] + own
            return sample.finished(importances, psi, curves=curves)
        weights = self.signs * np.sqrt(sample.weights)
        n_groups = state.sketch.shape[2]
        psi = np.einsum("bogk,bok->bog", state.sketch, slope)
        where = np.arange(self.n_rows), self.groups % n_groups
        add = sparse.csr_array((weights, where), (self.n_rows, n_groups))
        own = np.broadcast_to(own, (*psi.shape[:2], self.n_rows))
        psi += (own.reshape(-1, self.n_rows) @ add).reshape(psi.shape)
        psi = (psi / sample.scale[:, np.newaxis]).mean(axis=1)
        errors = np.sqrt(np.sum(psi**2, axis=1) / sample.total_weight)
        influences = None
        if sample.keep_rows and n_groups == self.n_rows:
            influences = psi[:, self.groups] / weights
        return Finished(importances, errors, influences=influences, curves=curves)

    def spread(self, cells, sample):
        """What is asked of mean curves (b, o, k), unscaled."""
        return flatness(cells, sample.multiplicity, self.statistic)

    def own_influences(self, cells, importances, sample):
        """Influences by other ways than the rows' own curves, unscaled."""
        return self.through_scale(importances, sample)

    def slope(self, cells, sample):
        """How the spread depends on each value of mean curves; sums to 0 over k."""
        size = np.abs(sample.base).max(axis=1)
        return flatness_slope(cells, sample.multiplicity, self.statistic, size)


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
    smooth : bool
        Whether the loss is an analytic function of the outputs.
    """

    loss: object = None
    relative: bool = False
    smooth: bool = False

    @property
    def needs(self):
        """See `Reduction`."""
        return "moments" if self.smooth else "values"

    def reduce(self, shape):
        """See `Reduction.reduce`; the two "outputs" are loss gained and unmoved loss.

        Means of differences: exactly 0 for an entry that changes nothing.
        """
        rows, cells = (of_outputs.mean(axis=1) for of_outputs in self.gained(shape))
        base = np.broadcast_to(self._unmoved(shape.margins), rows.shape)
        return State(np.stack([rows, base], axis=1), cells[:, np.newaxis])

    def gained(self, shape):
        """Mean loss gained, over the cells and over the rows, as `Shape.means`."""
        if not self.smooth:
            return shape.means(self._gains)
        return shape.means(self._gains, np.abs(self._unmoved(shape.margins)).max())

    def _gains(self, chunk):
        y, base = chunk.margins.y[:, np.newaxis], self._unmoved(chunk.margins)
        gains = np.stack([self.loss(y, of_entry) for of_entry in chunk.ice])
        gains -= base[..., np.newaxis]
        return gains[:, np.newaxis]

    def _unmoved(self, margins):
        """Loss of the unmoved rows, (1 or n_entries, n_rows)."""
        y = margins.y[:, np.newaxis]
        return np.stack([self.loss(y, f[..., np.newaxis])[:, 0] for f in margins.base])

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
            psi += sample.of_donors(state.rows[:, :1], state.cells)[:, 0]
        return gain, psi


@dataclass(frozen=True)
class SquaredError(Loss):
    """`Loss` with the mean over the outputs of (target - output)^2.

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

    needs = "moments"

    def gained(self, shape):
        """See `Loss.gained`."""
        return shape.squares(self._errors(shape.margins))

    def _errors(self, margins):
        """Unmoved errors, (1 or n_entries, n_outputs, n_rows)."""
        return self.target(margins.y) - margins.base


@dataclass(frozen=True)
class AbsoluteError(SquaredError):
    """`Loss` with the mean over the outputs of |target - output|."""

    needs = "order"

    def gained(self, shape):
        """See `Loss.gained`."""
        return shape.distances(self._errors(shape.margins))
