"""What the shapes of curves have in common, and what each offers the reductions.

Index letters: b entry of the block, o output, i row, k cell. With ICE[i, k] the
response of row i with the entry moved to cell k, f[i] the response unmoved, p[k] the
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
deviations    rows                standard deviation over the grid's values, ddof=1
variances     rows, cells         sum_k p[k] e[i, k]^2, sum_i w[i] e[i, k]^2 with
                                  e[i, k] = ICE[i, k] - sum_l p[l] ICE[i, l]
means         rows, cells         sum_k p[k] h[i, k], sum_i w[i] h[i, k] for h a
                                  function of the curves
sums          cells               sum_i c[i] (ICE[i, k] - f[i])
sums_by_group sketch, basis       the same for each group of rows
============= =================== ==================================================

`rows` are (n_entries, n_outputs, n_rows), `cells` (n_entries, n_outputs, n_cells). A
shape offers those primitives that it knows a short way for, and raises `NeedsValues`
for others: its `parts` offer more of them, and the `Chunk` of `dense.py` all.

    pairs()
    distances(offsets=None)
        `offsets` are e, of shape (1 or n_entries, n_outputs, n_rows); None: 0.
    squares(offsets)
    extremes()
    deviations()
    variances()
    means(function, size=None)
        function(chunk) gives h of shape (n_entries, any number, n_rows, n_cells), from
        a `Chunk` of some rows, whose cells may be other values of the grid's range than
        the grid's own. `size` is the size of the numbers that h is a difference of,
        which sets its rounding; None where h is no analytic function of the curves.
    sums(weights)
        `weights` are c, of shape (n_rows,).
    sums_by_group(weights, groups, n_groups)
        `sketch` has shape (n_entries, n_outputs, n_groups, n_cells). `basis` is None,
        or a basis of curves as in `State`.
"""

from dataclasses import dataclass, replace

import numpy as np

from skvarimp._response.reductions.states import Merging


class NeedsValues(Exception):
    """What is asked for takes every value of the curves: ask the chunks."""


@dataclass
class Margins:
    """What is known of the rows and the cells of a block of curves.

    Attributes
    ----------
    base : ndarray of shape (1 or n_entries, n_outputs, n_rows)
        The response of the unmoved rows.
    weights : ndarray of shape (n_rows,)
        Row weights; over all blocks they sum to 1.
    rows : slice
        Which of the evaluated rows these are.
    probabilities : ndarray of shape (n_entries, n_cells)
    multiplicity : ndarray of shape (n_entries, n_cells)
        How many distinct grid values each cell holds.
    y : ndarray of shape (n_rows, ...) or None
    """

    base: np.ndarray
    weights: np.ndarray
    rows: slice
    probabilities: np.ndarray
    multiplicity: np.ndarray
    y: np.ndarray | None = None

    @property
    def n_rows(self):
        """Number of rows."""
        return len(self.weights)

    def part(self, part):
        """Those of a slice of the rows."""
        first = self.rows.start
        return replace(
            self,
            base=self.base[:, :, part],
            weights=self.weights[part],
            rows=slice(first + part.start, first + part.stop),
            y=None if self.y is None else self.y[part],
        )

    def parts(self, size):
        """Yield (slice, `part`) of at most `size` rows each."""
        for start in range(0, self.n_rows, size):
            part = slice(start, min(start + size, self.n_rows))
            yield part, self.part(part)


class Shape:
    """The curves of some rows; see the module's table.

    Parameters
    ----------
    margins : Margins

    Attributes
    ----------
    parallel : bool
        Whether the curves of all rows are one curve, shifted.
    """

    parallel = False

    def __init__(self, margins):
        self.margins = margins

    def parts(self):
        """Yield shapes of some of the rows each that offer more, in the end `Chunk`."""
        raise NotImplementedError

    def n_summed(self, n_cells):
        """Numbers that `sums_by_group` holds per output and group."""
        return n_cells

    def _unknown(self, *arguments, **options):
        """A primitive that this shape knows no short way for."""
        raise NeedsValues

    pairs = distances = squares = extremes = deviations = _unknown
    variances = means = sums = sums_by_group = _unknown


def reduced(reductions, shape):
    """The state of each reduction; those that need all values share the parts."""
    states = []
    for reduction in reductions:
        try:
            states.append(reduction.reduce(shape))
        except NeedsValues:
            states.append(None)
    left = [reductions[r] for r, state in enumerate(states) if state is None]
    merging = [Merging() for _ in left]
    for part in shape.parts() if left else ():
        for of_parts, state in zip(merging, reduced(left, part)):
            of_parts.add(state)
    merged = (of_parts.merged() for of_parts in merging)
    return [next(merged) if state is None else state for state in states]
