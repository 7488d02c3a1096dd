"""States that merge over partitions without a number per row.

A reduction that keeps a number of each row, r_i (one per output), needs of them in the
end the mean and, for the standard error, the variance of

    psi_i = a r_i + u[cell of row i] + constant

with a and u known only when all rows are in. Both follow from the weight and the mean
of r in each cell, and from the scatter of r within the cells: the rows may be replaced
by a few *points* with the same weights, means and scatter. `finish` of the reduction
then gives the numbers of all rows.
"""

from dataclasses import dataclass

import numpy as np

from skvarimp._data.statistics import divided
from skvarimp._response.states import State


@dataclass
class Moments:
    """Of numbers of rows by cell; sums of weighted products merge as Chan et al. do.

    Attributes
    ----------
    weights : ndarray of shape (n_cells,)
    means : ndarray of shape (n_numbers, n_cells)
    scatter : ndarray of shape (n_numbers, n_numbers)
        sum_i w_i (r_i - mean of its cell) (r_i - mean of its cell)^T.
    """

    weights: np.ndarray
    means: np.ndarray
    scatter: np.ndarray

    @classmethod
    def of(cls, numbers, weights, cells, n_cells):
        """Those of some rows.

        Parameters
        ----------
        numbers : ndarray of shape (n_numbers, n_rows)
        weights : ndarray of shape (n_rows,)
        cells : ndarray of shape (n_rows,) or None
            None: all in one.
        n_cells : int
        """
        if cells is None:
            cells, n_cells = np.zeros(len(weights), dtype=np.intp), 1
        # of no rows the counts are integers
        of_cell = np.bincount(cells, weights, n_cells).astype(np.float64)
        sums = [np.bincount(cells, weights * of_one, n_cells) for of_one in numbers]
        means = divided(np.reshape(sums, (-1, n_cells)), of_cell)
        # the division rounds; numbers that are equal have no scatter
        gaps = numbers - means[:, cells]
        return cls(of_cell, means, (weights * gaps) @ gaps.T)

    def merged(self, other):
        """Those of two sets of rows."""
        weights = self.weights + other.weights
        share = divided(other.weights, weights)
        gaps = other.means - self.means
        scatter = self.scatter + other.scatter
        scatter += (self.weights * share * gaps) @ gaps.T
        return Moments(weights, self.means + share * gaps, scatter)

    def points(self):
        """Weighted points with these moments.

        Returns
        -------
        numbers : ndarray of shape (n_numbers, n_points)
        weights : ndarray of shape (n_points,)
        cells : ndarray of shape (n_points,)
        """
        n_numbers, n_cells = self.means.shape
        values, vectors = np.linalg.eigh(self.scatter)
        roots = vectors * np.sqrt(np.maximum(values, 0.0))
        # the heaviest cell takes the scatter of all: pairs of points around its mean
        heaviest = int(np.argmax(self.weights))
        weight = self.weights[heaviest] / (2 * n_numbers)
        far = roots * np.sqrt(n_numbers / self.weights[heaviest])
        around = np.hstack([far, -far]) + self.means[:, [heaviest]]
        others = np.flatnonzero(np.arange(n_cells) != heaviest)
        return (
            np.hstack([self.means[:, others], around]),
            np.concatenate([self.weights[others], np.full(2 * n_numbers, weight)]),
            np.concatenate([others, np.full(2 * n_numbers, heaviest)]),
        )


@dataclass
class Merged:
    """A reduction's state over some rows of one position.

    Attributes
    ----------
    moments : Moments or None
        Of the reduction's own numbers of rows, if it keeps any, and of the squared
        deviations of the response, if it uses them.
    cells, sketch : ndarray or None
        As in `State`, of one entry.
    signed : ndarray of shape (n_groups, n_cells or 1) or None
        Signed sums of the roots of the weights, of each group of the sketch and each
        cell, where cells matter.
    signed_squares : ndarray of shape (n_outputs or 0, n_groups) or None
        Those times the squared deviations.
    """

    moments: Moments | None
    cells: np.ndarray | None
    sketch: np.ndarray | None
    signed: np.ndarray | None = None
    signed_squares: np.ndarray | None = None

    @classmethod
    def of(cls, state, reduction, weights, cells, n_cells, squares):
        """From the `State` of one position, over the grid's values.

        Parameters
        ----------
        state : State
        reduction : Reduction
        weights : ndarray of shape (n_rows,)
        cells : ndarray of shape (n_rows,) or None
            The cell of each row's own value.
        n_cells : int
        squares : ndarray of shape (n_outputs, n_rows)
            Squared deviations of the response from its mean.
        """
        state = state.on_cells()
        if not reduction.uses_squares:
            squares = squares[:0]
        own = squares[:0] if state.rows is None else state.rows[0]
        if state.sketch is None:
            numbers, moments = np.vstack([own, squares]), None
            if len(numbers):
                moments = Moments.of(numbers, weights, cells, n_cells)
            return cls(moments, state.cells, None)
        if cells is None or not reduction.uses_squares:
            cells, n_cells = 0, 1
        n_groups = state.sketch.shape[2]
        signs, groups = reduction.drawn
        group, roots = groups % n_groups, signs * np.sqrt(weights)
        place = group * n_cells + cells
        signed = np.bincount(place, roots, n_groups * n_cells)
        signed_squares = [np.bincount(group, roots * q, n_groups) for q in squares]
        signed_squares = np.reshape(signed_squares, (len(squares), n_groups))
        signed = signed.reshape(n_groups, n_cells)
        return cls(None, state.cells, state.sketch, signed, signed_squares)

    def points(self, reduction, n_outputs):
        """Points in place of rows, with which the reduction gives their numbers.

        Returns
        -------
        reduction : Reduction
            That of the points.
        state : State
        weights : ndarray of shape (n_points,)
        codes : ndarray of shape (1, n_points)
        squares : ndarray of shape (n_outputs, n_points)
        """
        numbers = np.zeros((0, 1))
        weights, codes = np.ones(1), np.zeros(1, dtype=np.intp)
        if self.signed is not None:
            reduction, numbers, codes = self._signed_points(reduction)
            weights = np.ones(len(codes))
        elif self.moments is not None:
            numbers, weights, codes = self.moments.points()
        n_squares = n_outputs if reduction.uses_squares else 0
        own, squares = np.split(numbers, [len(numbers) - n_squares])
        rows = own[np.newaxis] if len(own) else None
        state = State(rows, self.cells, self.sketch)
        return reduction, state, weights, codes[np.newaxis], squares

    def _signed_points(self, reduction):
        """One point per group and cell, and two per group with its squares.

        Those two have opposite signs, so that all but the squares cancels.
        """
        n_groups, n_cells = self.signed.shape
        groups, codes = np.divmod(np.arange(n_groups * n_cells), n_cells)
        every, ones = np.arange(n_groups), np.ones(n_groups)
        signs = np.concatenate([self.signed.ravel(), ones, -ones])
        groups = np.concatenate([groups, every, every])
        codes = np.concatenate([codes, np.zeros(2 * n_groups, dtype=np.intp)])
        squares = np.zeros((len(self.signed_squares), len(signs)))
        squares[:, self.signed.size : self.signed.size + n_groups] = self.signed_squares
        return reduction.of_sums(signs, groups, n_groups), squares, codes
