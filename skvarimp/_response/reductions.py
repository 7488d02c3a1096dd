"""Reductions of ICE curves: pure, mergeable over blocks of rows.

Index letters: b entry of the block, o output, i row, k cell. With ICE[i, k] the
response of row i with the entry moved to cell k, f[i] the response unmoved, p[k] the
cell's probability and w[i] the row's weight (both sum to 1):

=================== ==========================================================
Pairs               sum_i w[i] sum_kl p[k] p[l] \\|ICE[i, k] - ICE[i, l]\\|
Observed            sum_i w[i] sum_k p[k] \\|ICE[i, k] - f[i]\\|
Range               sum_i w[i] (max_k ICE[i, k] - min_k ICE[i, k])
IndividualFlatness  sum_i w[i] flatness over k of ICE[i, k]
Loss                sum_i w[i] (sum_k p[k] loss(y[i], ICE[i, k]) - loss(y[i], f[i]))
SquaredError        Loss with loss(y, f) = (y - f)^2
AbsoluteError       Loss with loss(y, f) = \\|y - f\\|
=================== ==========================================================

`reduce` asks a shape of curves (`shapes/shape.py`) for the sums it needs and makes a
`State` of them, states merge by `State.merged`, and `finish` gives the importance of
each output and the standard error of their mean. A new reduction needs nothing else:
it works for every shape."""

from dataclasses import dataclass, replace

import numpy as np

from skvarimp._response.states import Draw, State


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

    def of_part(self, part):
        """The reduction for a walk over a slice of the rows."""
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


class OfStatistic(Reduction):
    """A reduction with a `statistic` that "auto" chooses for each entry."""

    def of_kind(self, categorical):
        """See `Reduction.of_kind`."""
        if self.statistic != "auto":
            return self
        return replace(self, statistic="range" if categorical else "std")


class RowMean(Reduction):
    """Mean over rows of each row's own contribution, with a donor part.

    The influence of a row is its projection as evaluated row plus `donor_factor`
    times its projection as donor.
    """

    needs = "order"
    merges_rows = True
    donor_factor = 0

    def finish(self, state, sample):
        """See `Reduction.finish`."""
        theta, psi = self.projected(state.rows, state.cells, sample)
        importances = theta[..., 0] / sample.scale
        psi += self.through_scale(importances, sample)
        return sample.finished(importances, psi, state.rows)

    def projected(self, rows, cells, sample):
        """Means of numbers of the rows, (b, o, 1), and the influences (b, o, i)."""
        theta = np.matmul(rows, sample.weights[..., np.newaxis])
        psi = rows - theta
        if self.donor_factor and sample.codes is not None:
            # (r_i - theta) + c (d_i - theta)
            psi += self.donor_factor * sample.of_donors(rows, cells)
        return theta, psi


@dataclass(frozen=True)
class Pairs(RowMean, Draw):
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
class Observed(RowMean, Draw):
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
class Range(RowMean):
    """Mean over rows of the largest minus the smallest response (Clementine)."""

    def reduce(self, shape):
        """See `Reduction.reduce`."""
        lowest, highest = shape.extremes()
        return State(highest - lowest)


@dataclass(frozen=True)
class IndividualFlatness(OfStatistic, RowMean):
    """Mean over rows of the standard deviation, or the range, of each row's curve."""

    statistic: str = "std"

    counts_values = True

    def of_kind(self, categorical):
        """See `Reduction.of_kind`."""
        known = super().of_kind(categorical)
        return Range() if known.statistic == "range" else known

    def reduce(self, shape):
        """See `Reduction.reduce`."""
        return State(shape.deviations())


@dataclass(frozen=True)
class Loss(RowMean):
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

    merges_rows = False
    donor_factor = 1

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
        size = np.abs(self._unmoved(shape.margins)).max() if self.smooth else None
        return shape.means(self._gains, size)

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
        of_rows = state.rows[:, :1]
        theta, psi = self.projected(of_rows, state.cells, sample)
        if self.relative:
            base = state.rows[:, 1:]
            reference = np.matmul(base, sample.weights[..., np.newaxis])
            # influence of a ratio: (psi_moved - ratio psi_base) / base
            psi -= theta / reference * (base - reference)
            psi /= reference
            theta, of_rows = 1.0 + theta / reference, 1.0 + of_rows / reference
        joined = replace(sample, scale=np.ones(1))
        return joined.finished(theta[..., 0], psi, of_rows)


class SquaredError(Loss):
    """`Loss` with the mean over the outputs of (target - output)^2.

    The loss has a function target(y) -> (n_outputs, n_rows) of y (n_rows, ...).
    """

    needs = "moments"

    def gained(self, shape):
        """See `Loss.gained`."""
        return shape.squares(self._errors(shape.margins))

    def _errors(self, margins):
        """Unmoved errors, (1 or n_entries, n_outputs, n_rows)."""
        return self.loss.target(margins.y) - margins.base


class AbsoluteError(SquaredError):
    """`Loss` with the mean over the outputs of |target - output|."""

    needs = "order"

    def gained(self, shape):
        """See `Loss.gained`."""
        return shape.distances(self._errors(shape.margins))


# Mean responses closer than this, relative to the response's size, count as equal:
# rounding must not decide which rows make up a standard error.
_TIED = 1e-12


def flatness(curves, multiplicity, statistic):
    """How much curves vary over the distinct grid values, each counted once.

    Parameters
    ----------
    curves : ndarray of shape (n_entries, ..., n_cells)
    multiplicity : ndarray of shape (n_entries, n_cells) or (n_entries, n_rows, n_cells)
        Number of distinct values that a cell stands for, perhaps different by row.
    statistic : {"std", "range"}
        Standard deviation with ddof=1 (Greenwell et al., eq. 5), or maximum minus
        minimum (eq. 6). One value: 0.

    Returns
    -------
    ndarray of shape (n_entries, ...)
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
    slope = np.zeros_like(curves)
    top, bottom = (e(axis=-1, keepdims=True) for e in (curves.max, curves.min))
    tied = _TIED * (size[:, np.newaxis] + np.maximum(top, -bottom))
    moves = top - bottom > tied
    if statistic == "range":
        count = multiplicity[:, np.newaxis]
        for sign, extreme in (
            (1.0, curves >= top - tied),
            (-1.0, curves <= bottom + tied),
        ):
            share = extreme * count
            slope += sign * share / share.sum(axis=-1, keepdims=True)
        return slope * moves
    centred, count = _centred(curves, multiplicity)
    divisor = flatness(curves, multiplicity, "std") * np.maximum(count - 1, 1)
    np.divide(
        multiplicity[:, np.newaxis] * centred,
        divisor[..., np.newaxis],
        out=slope,
        where=moves & (divisor[..., np.newaxis] > 0),
    )
    return slope
