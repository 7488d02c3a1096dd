"""The shape of curves that are `Steps`."""

from functools import cached_property

import numpy as np

from skvarimp._response.shapes.dense import Chunk
from skvarimp._response.shapes.shape import Shape
from skvarimp._response.shapes.steps import settled


class StepCurves(Shape):
    """Curves of one entry by their steps.

    Parameters
    ----------
    margins : Margins
        Of one entry.
    steps : Steps
    gap : float
        See `settled`.
    """

    def __init__(self, margins, steps, gap=0.0):
        Shape.__init__(self, margins)
        self.steps, self.gap = steps, gap

    def parts(self):
        """See `Shape.parts`."""
        for part in self.steps.chunks():
            yield Pieces(self.margins.part(part), self.steps.part(part), self.gap)

    def sums(self, weights):
        """See `Shape.sums`; forms no pieces."""
        return self.steps.over_rows(weights)[np.newaxis]

    def sums_by_group(self, weights, groups, n_groups):
        """See `Shape.sums_by_group`; forms no pieces."""
        return self.steps.by_group(weights, groups, n_groups)[np.newaxis], None


class Pieces(StepCurves, Chunk):
    """The values of some rows' curves on each row's own pieces.

    The arrays have as many "cells" as the row of most steps has pieces; `chances` and
    `multiplicity` say of each row's pieces how probable and how many values they are.

    Parameters
    ----------
    margins : Margins
    steps : Steps
    gap : float
        See `settled`.
    """

    def __init__(self, margins, steps, gap):
        super().__init__(margins, steps, gap)
        self.positions, moved, _ = steps.pieces()
        self.of_pieces = moved[np.newaxis]

    def _on_pieces(self, of_cells):
        """Sums over the cells of each piece, (n_rows, n_pieces)."""
        below = np.concatenate([[0.0], np.cumsum(of_cells[0])])
        return np.diff(below[self.positions], axis=1)

    @property
    def moved(self):
        """See `Chunk.moved`."""
        return self.of_pieces

    @property
    def values(self):
        """See `Chunk`."""
        return self.of_pieces

    @property
    def ice(self):
        """The response on each row's pieces, (1, n_outputs, n_rows, n_pieces)."""
        return settled(self.of_pieces + self.margins.base[..., np.newaxis], self.gap)

    @cached_property
    def chances(self):
        """See `Chunk.chances`."""
        return self._on_pieces(self.margins.probabilities)[np.newaxis, np.newaxis]

    @property
    def multiplicity(self):
        """Number of grid values on each piece, (1, n_rows, n_pieces)."""
        return self._on_pieces(self.margins.multiplicity)[np.newaxis]

    def over_cells(self, values):
        """See `Chunk.over_cells`."""
        return np.einsum("boik,boik->boi", values, self.chances)

    def over_rows(self, values):
        """See `Chunk.over_rows`; a curve is 0 on the cells that its row has not."""
        n_cells, weights = self.steps.n_cells, self.margins.weights
        at = self.positions.ravel()
        sums = np.empty((1, values.shape[1], n_cells))
        for o, of_output in enumerate(values[0]):
            jumps = np.diff(of_output, axis=1, prepend=0.0, append=0.0)
            jumps *= weights[:, np.newaxis]
            sums[0, o] = np.bincount(at, jumps.ravel(), n_cells + 1)[:n_cells]
        return np.cumsum(sums, axis=2, out=sums)
