"""What the shapes of curves have in common, and what each offers the reductions.

Index letters: b feature of the block, o output, i row, k cell. With ICE[i, k] the
response of row i with the feature moved to cell k, f[i] the response unmoved, p[k] the
cell's probability, m[k] the number of grid values in it, and w[i] the row's weight:

============= =================== ==================================================
Primitive     Result              Formula
============= =================== ==================================================
pairs         rows, cells         sum_kl p[k] p[l] |ICE[i, k] - ICE[i, l]|,
                                  sum_i w[i] sum_l p[l] |ICE[i, k] - ICE[i, l]|
distances     rows, cells         sum_k p[k] D[i, k], sum_i w[i] D[i, k] with
                                  D[i, k] = |ICE[i, k] - f[i] - e[i]| - |e[i]|
squares       rows, cells         the same with squares in place of absolute values
extremes      lowest, highest     min_k ICE[i, k] and max_k ICE[i, k], up to the same
                                  constant
deviations    rows, None          standard deviation over the grid's values, ddof=1
variances     rows, cells         sum_k p[k] e[i, k]^2, sum_i w[i] e[i, k]^2 with
                                  e[i, k] = ICE[i, k] - sum_l p[l] ICE[i, l]
means         rows, cells         sum_k p[k] h[i, k], sum_i w[i] h[i, k] for h a
                                  function of the curves
drifts        rows, cells         the same for h[i, k] = ICE[i, k] - f[i]
sums          cells               sum_i c[i] (ICE[i, k] - f[i])
sums_by_group sketch, basis       the same for each group of rows
============= =================== ==================================================

`rows` are (n_features, n_outputs, n_rows), `cells` (n_features, n_outputs, n_cells). A
shape offers those primitives that it knows a short way for, and raises `NeedsValues`
for others: its `parts` offer more of them, and `Chunk` all.

    pairs()
    distances(offsets=None)
        `offsets` are e, of shape (1 or n_features, n_outputs, n_rows); None: 0.
    squares(offsets)
    extremes()
    deviations()
    variances()
    drifts()
    means(function, size=None)
        function(chunk) gives h of shape (n_features, any number, n_rows, n_cells), from
        a `Chunk` of some rows, whose cells may be other values of the grid's range than
        the grid's own. `size` is the size of the numbers that h is a difference of,
        which sets its rounding; None where h is no analytic function of the curves.
    sums(weights)
        `weights` are c, of shape (n_rows,).
    sums_by_group(weights, groups, n_groups)
        `sketch` has shape (n_features, n_outputs, n_groups, n_cells). `basis` is None,
        or a basis of curves as in `State`.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from skvarimp._response.mean_curves import flatness
from skvarimp._running.memory import CACHE, even_slices


def summing(weights, groups, n_groups):
    """The sparse matrix (n_groups, n_rows) that adds up weighted rows by group."""
    where = groups, np.arange(len(groups))
    return sparse.csr_array((weights, where), shape=(n_groups, len(groups)))


def add_by_group(sums, groups, values):
    """Add numbers of rows, (n_rows, n_numbers), to sums of groups, which change.

    Parameters
    ----------
    sums : ndarray of shape (n_groups, n_numbers)
    groups : ndarray of shape (n_rows,)
    values : ndarray of shape (n_rows, n_numbers)
    """
    found, place = np.unique(groups, return_inverse=True)
    sums[found] += summing(np.ones(len(place)), place, len(found)) @ values


class NeedsValues(Exception):
    """What is asked for takes every value of the curves: ask the chunks."""


@dataclass
class Cells:
    """What is known of the cells that some features move through.

    Attributes
    ----------
    probabilities : ndarray of shape (n_features, n_cells)
    multiplicity : ndarray of shape (n_features, n_cells), default=None
        How many distinct grid values each cell holds; None: one.
    codes : ndarray of shape (n_features, n_rows), slice or None
        The cell of each row's own value; a slice of all cells where row i has cell i.
        None: not known, or rows are not donors of the grid.
    """

    probabilities: np.ndarray
    multiplicity: np.ndarray | None = None
    codes: np.ndarray | slice | None = None

    def __post_init__(self):
        if self.multiplicity is None:
            self.multiplicity = np.ones_like(self.probabilities)

    @classmethod
    def of(cls, move):
        """Those of one move, whose values are cells of their own."""
        return cls(move.probabilities[np.newaxis])

    def joined(self, cell_of_value):
        """The cells that each hold several of these, which are values of a grid."""
        chances = [np.bincount(cell_of_value, p) for p in self.probabilities]
        sizes = np.bincount(cell_of_value).astype(np.float64)
        return Cells(
            np.array(chances),
            np.array([sizes] * len(chances)),
            None if self.codes is None else cell_of_value[self.codes],
        )


class Shape:
    """The curves of some rows; see the module's table.

    Parameters
    ----------
    rows : Rows
        Of the block.
    cells : Cells

    Attributes
    ----------
    parallel : bool
        Whether the curves of all rows are one curve, shifted.
    n_summed : int or None
        Numbers that `sums_by_group` holds per output and group; None: one per cell.
    """

    parallel, n_summed = False, None

    def __init__(self, rows, cells):
        self.rows, self.cells = rows, cells

    def parts(self):
        """Yield shapes of some of the rows each that offer more, in the end `Chunk`."""
        raise NotImplementedError

    def _unknown(self, *arguments, **options):
        """A primitive that this shape knows no short way for."""
        raise NeedsValues

    pairs = distances = squares = extremes = deviations = _unknown
    variances = means = drifts = sums_by_group = _unknown

    def sums(self, weights):
        """The sums of one group."""
        one = np.zeros(len(weights), dtype=np.intp)
        sums, basis = self.sums_by_group(weights, one, 1)
        return (sums if basis is None else np.matmul(sums, basis))[:, :, 0]


def reduced(reductions, shape):
    """The state of each reduction; those that need all values share the parts.

    So do those that follow them, for which another shape would cost more.
    """
    states = []
    for reduction in reductions:
        known = None
        if not (reduction.follows and None in states):
            with suppress(NeedsValues):
                known = reduction.reduce(shape)
        states.append(known)
    left = [reductions[r] for r, state in enumerate(states) if state is None]
    merging = [Merging() for _ in left]
    for part in shape.parts() if left else ():
        for merger, state in zip(merging, reduced(left, part)):
            merger.add(state)
    merged = iter([merger.merged() for merger in merging])
    return [next(merged) if state is None else state for state in states]


class Dense(Shape):
    """Curves by their values.

    Parameters
    ----------
    rows, cells : see `Shape`
    ice : ndarray of shape (n_features, n_outputs, n_rows, n_cells)
    """

    def __init__(self, rows, cells, ice):
        super().__init__(rows, cells)
        self.ice = ice

    def parts(self):
        n_rows = len(self.rows)
        size = max(1, CACHE * n_rows // self.ice.size)
        for part in even_slices(n_rows, size):
            yield Chunk(self.rows.block(part), self.cells, self.ice[:, :, part])

    def sums_by_group(self, weights, groups, n_groups):
        """Constant curves stay exactly constant."""
        add = summing(weights, groups, n_groups)
        base = np.broadcast_to(self.rows.base, self.ice.shape[:3])
        sums = np.empty((*base.shape[:2], n_groups, self.ice.shape[3]))
        for at in np.ndindex(*base.shape[:2]):
            sums[at] = add @ self.ice[at]
            sums[at] -= (add @ base[at])[:, np.newaxis]
        return sums, None


class Chunk(Dense):
    """Few values: a few arrays of them stay in the processor's cache.

    Attributes
    ----------
    values : ndarray of shape (n_features, n_outputs, n_rows, n_cells)
        The curves, up to a constant for each row.
    """

    @cached_property
    def values(self):
        return self.ice

    @cached_property
    def moved(self):
        """ICE values minus the unmoved response."""
        return self.ice - self.rows.base[..., np.newaxis]

    @property
    def chances(self):
        """Probabilities that go with the values, of a shape that broadcasts."""
        return self.cells.probabilities[:, np.newaxis, np.newaxis, :]

    @property
    def multiplicity(self):
        """Numbers of grid values that go with the values, for `flatness`."""
        return self.cells.multiplicity

    def over_cells(self, values):
        """sum_k p[b, k] values[b, o, i, k]."""
        return np.matmul(values, self.chances[:, 0, :, :, np.newaxis])[..., 0]

    def over_rows(self, values):
        """sum_i w[i] values[b, o, i, k]."""
        return np.matmul(self.rows.weights, values)

    def distances(self, offsets=None):
        if offsets is None:
            distance = np.abs(self.moved)
        else:
            e = offsets[..., np.newaxis]
            distance = np.abs(self.moved - e) - np.abs(e)
        return self.over_cells(distance), self.over_rows(distance)

    def squares(self, offsets):
        # (d - e)^2 - e^2 = d (d - 2 e)
        moved = self.moved
        squares = moved - 2.0 * offsets[..., np.newaxis]
        squares *= moved
        return self.over_cells(squares), self.over_rows(squares)

    def extremes(self):
        return self.values.min(axis=-1), self.values.max(axis=-1)

    def deviations(self):
        return flatness(self.values, self.multiplicity, "std"), None

    def variances(self):
        # from the first value on: a constant curve is centred to exactly 0
        squares = self.values - self.values[..., :1]
        squares -= self.over_cells(squares)[..., np.newaxis]
        np.square(squares, out=squares)
        return self.over_cells(squares), self.over_rows(squares)

    def means(self, function, size=None):
        values = function(self)
        return self.over_cells(values), self.over_rows(values)

    def drifts(self):
        return self.over_cells(self.moved), self.over_rows(self.moved)

    def sums(self, weights):
        return np.matmul(weights, self.moved)

    def pairs(self):
        """O(n_cells log n_cells) for each row."""
        values, chances = self.values, self.chances
        n_pieces = values.shape[-1]
        if n_pieces == 2:
            gap = np.abs(values[..., 1:] - values[..., :1])
            both = 2.0 * chances.prod(axis=-1)
            return both * gap[..., 0], self.over_rows(gap * chances[..., ::-1])
        order = np.argsort(values, axis=-1, kind=_fastest_sort(values))
        order += np.arange(0, values.size, n_pieces).reshape(*values.shape[:3], 1)
        distance = values.ravel().take(order)
        gaps = np.diff(distance, axis=-1)
        below = _mass_below(chances, order)
        above = 1.0 - below
        # E|V' - V''| = 2 sum_k (v_(k+1) - v_(k)) P_k (1 - P_k)
        rows = 2.0 * np.einsum("...k,...k->...", gaps, below * above)
        # E|v_(1) - V| = sum_k gap_k (1 - P_k); each step right adds gap_k (2 P_k - 1)
        distance[..., 0] = np.einsum("...k,...k->...", gaps, above)
        np.multiply(gaps, below - above, out=distance[..., 1:])
        np.cumsum(distance, axis=-1, out=distance)
        by_cell = np.empty(values.shape)
        by_cell.ravel()[order.ravel()] = distance.ravel()
        return rows, self.over_rows(by_cell)


def _fastest_sort(curves):
    """The sort that merges runs, if the first curves rise and fall only a few times."""
    few = np.diff(curves[..., :4, :], axis=-1) > 0
    turns = np.count_nonzero(few[..., 1:] != few[..., :-1])
    return "stable" if 16 * turns < few.size else None


def _mass_below(chances, order):
    """P_k of each sorted curve; (1, 1, 1, k) if all cells are equally probable."""
    if chances.shape[2] == 1 and np.all(chances == chances[0, 0, 0, 0]):
        return np.cumsum(chances[:1], axis=-1)[..., :-1]
    chances = np.broadcast_to(chances, order.shape)
    return np.cumsum(chances.ravel().take(order), axis=-1)[..., :-1]


class Merging:
    """Merges the states of consecutive blocks of rows as they arrive."""

    def __init__(self):
        self._blocks, self._sums = {"rows": [], "apart": []}, None

    def add(self, state):
        """Take the next block's state."""
        for name, blocks in self._blocks.items():
            blocks.append(getattr(state, name))
        if self._sums is None:
            self._sums = state
            return
        for name in ("cells", "sketch"):
            total = getattr(self._sums, name)
            if total is not None:  # the first block's may be another's
                state = replace(state, **{name: total + getattr(state, name)})
        self._sums = state

    def merged(self):
        """The state of all blocks."""
        return replace(
            self._sums,
            **{name: self._joined(blocks) for name, blocks in self._blocks.items()},
        )

    @staticmethod
    def _joined(blocks):
        if blocks[0] is None or len(blocks) == 1:
            return blocks[0]
        return np.concatenate(blocks, axis=2)
