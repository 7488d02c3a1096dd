"""Results that merge over partitions without a number per row.

A reduction that keeps a number of each row, r_i (one per output), needs of them in the
end the mean and, for the standard error, the variance of

    psi_i = a r_i + u[cell of row i] + constant

with a and u known only when all rows are in. Both follow from the weight and the mean
of r in each cell, and from the scatter of r within the cells: the rows may be replaced
by a few *points* with the same weights, means and scatter. `finish` of the reduction
then gives the numbers of all rows. Means weigh row i by w_i, but variances by w_i^2
(see `Units`), so that there are points for each of the two. Of rows that depend on each
other the sums within their groups are kept instead of the latter.
"""

from dataclasses import dataclass, is_dataclass

import numpy as np
from scipy import sparse

from skvarimp._data.statistics import Units, divided
from skvarimp._response.mean_curves import signed_groups
from skvarimp._response.reductions import State


def merged(first, second):
    """Merge two results: by a method of their own, by members, or by addition.

    Dictionaries are joined, and None stays None.
    """
    if hasattr(first, "merged"):
        return first.merged(second)
    if is_dataclass(first):
        return type(first)(**merged(vars(first), vars(second)))
    if isinstance(first, dict):
        both = first.keys() & second.keys()
        return first | second | {key: merged(first[key], second[key]) for key in both}
    if isinstance(first, tuple | list):
        return type(first)(map(merged, first, second))
    return None if first is None else first + second


@dataclass
class Largest:
    """Numbers of which a merge keeps the larger ones.

    Attributes
    ----------
    values : ndarray
    """

    values: np.ndarray

    def merged(self, other):
        """The larger ones of two results."""
        return Largest(np.maximum(self.values, other.values))


@dataclass
class Moments:
    """Moments of numbers of rows by cell; they merge as those of Chan et al. do.

    The scatter sum_i w_i (r_i - mean of its cell) (r_i - mean of its cell)^T is kept as
    its root, so that small numbers lose no digits beside large ones.

    Attributes
    ----------
    weights : ndarray of shape (n_cells,)
    means : ndarray of shape (n_numbers, n_cells)
    root : ndarray of shape (n_numbers, n_numbers)
        root @ root.T is the scatter.
    """

    weights: np.ndarray
    means: np.ndarray
    root: np.ndarray

    @classmethod
    def of(cls, numbers, weights, cells, n_cells):
        """Moments of some rows.

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
        return cls(of_cell, means, _triangle(np.sqrt(weights) * gaps))

    def merged(self, other):
        """Those of two sets of rows."""
        weights = self.weights + other.weights
        share = divided(other.weights, weights)
        gaps = other.means - self.means
        between = np.sqrt(self.weights * share) * gaps
        root = _triangle(np.hstack([self.root, other.root, between]))
        return Moments(weights, self.means + share * gaps, root)

    def points(self):
        """Weighted points with these moments.

        Returns
        -------
        numbers : ndarray of shape (n_numbers, n_points)
        weights : ndarray of shape (n_points,)
        cells : ndarray of shape (n_points,)
        """
        n_numbers, n_cells = self.means.shape
        # the heaviest cell takes the scatter of all: pairs of points around its mean
        heaviest = int(np.argmax(self.weights))
        weight = self.weights[heaviest] / (2 * n_numbers)
        far = self.root * np.sqrt(n_numbers / self.weights[heaviest])
        around = np.hstack([far, -far]) + self.means[:, [heaviest]]
        others = np.flatnonzero(np.arange(n_cells) != heaviest)
        return (
            np.hstack([self.means[:, others], around]),
            np.concatenate([self.weights[others], np.full(2 * n_numbers, weight)]),
            np.concatenate([others, np.full(2 * n_numbers, heaviest)]),
        )


MOST_SUMS = 10**6  # numbers kept for sums within groups
LEAST_BUCKETS = 100  # of groups, however many numbers: errors known to 7%


@dataclass
class GroupSums:
    """Sums of weighted numbers within groups of rows, which may lie in any partition.

    Many groups are added up with random signs in fewer *buckets*, of whose sums the
    squares have the same expectation.

    Attributes
    ----------
    numbers : ndarray of shape (n_numbers, n_buckets)
    weights : CSR of shape (n_buckets, n_cells)
    """

    numbers: np.ndarray
    weights: object

    @classmethod
    def of(cls, numbers, weights, cells, n_cells, units):
        """Those of some rows; parameters as of `moments_by_weight`."""
        if cells is None:
            cells, n_cells = np.zeros(len(weights), dtype=np.intp), 1
        most = max(LEAST_BUCKETS, MOST_SUMS // (n_cells + len(numbers)))
        n_buckets = min(units.n, most)
        signs, buckets = (
            of_one[units.groups]
            for of_one in signed_groups(units.n, n_buckets, 0, units.n)
        )
        signed = signs * weights
        sums = [np.bincount(buckets, signed * of_one, n_buckets) for of_one in numbers]
        shape = n_buckets, n_cells
        masses = sparse.coo_array((signed, (buckets, cells)), shape).tocsr()
        return cls(np.reshape(sums, (len(numbers), n_buckets)), masses)

    def points(self):
        """Weighted points in groups, with these sums within the groups.

        One per bucket and cell, where all numbers are 0; and two per bucket with its
        sums and with 0, of which the weights are 1 and -1, so that all else cancels.

        Returns
        -------
        numbers : ndarray of shape (n_numbers, n_points)
        weights : ndarray of shape (n_points,)
        cells, groups : ndarray of shape (n_points,)
        """
        found, (n_numbers, n_buckets) = self.weights.tocoo(), self.numbers.shape
        (rows, cells), every = found.coords, np.arange(n_buckets)
        ones = np.ones(n_buckets)
        nothing = np.zeros((n_numbers, found.nnz)), np.zeros((n_numbers, n_buckets))
        return (
            np.hstack([nothing[0], self.numbers, nothing[1]]),
            np.concatenate([found.data, ones, -ones]),
            np.concatenate([cells, np.zeros(2 * n_buckets, dtype=np.intp)]),
            np.concatenate([rows, every, every]),
        )


def moments_by_weight(numbers, weights, cells, n_cells, units=None):
    """`Moments` of rows by their weights, and by the squares of these.

    Where rows depend on each other, `GroupSums` in place of the latter.

    Parameters
    ----------
    numbers, weights, cells, n_cells
        As of `Moments.of`.
    units : Units, default=None
        With the group of each row; None for independent rows.
    """
    by_weight = Moments.of(numbers, weights, cells, n_cells)
    if units is not None:
        return [by_weight, GroupSums.of(numbers, weights, cells, n_cells, units)]
    return [by_weight, Moments.of(numbers, weights**2, cells, n_cells)]


def _triangle(columns):
    """The root of columns @ columns.T, (n_numbers, n_numbers), by their QR."""
    n_numbers, n = columns.shape
    if n < n_numbers:
        columns = np.hstack([columns, np.zeros((n_numbers, n_numbers - n))])
    return np.linalg.qr(columns.T, mode="r").T


def weighted_points(for_means, for_errors, units):
    """Points of both kinds, with what each weighs in means and in errors.

    Parameters
    ----------
    for_means : Moments
    for_errors : Moments or GroupSums
        Of the same rows, see `moments_by_weight`.
    units : Units
        Of all rows.

    Returns
    -------
    numbers : ndarray of shape (n_numbers, n_points)
    weights : ndarray of shape (n_points,)
        See `Sample`.
    cells : ndarray of shape (n_points,)
    units : Units
        Of the points.
    """
    numbers, weights, cells = for_means.points()
    again, roots, other_cells, *groups = for_errors.points()
    n = len(weights)
    groups = [np.append(np.zeros(n, dtype=np.intp), g) for g in groups]
    roots = np.sqrt(roots) if isinstance(for_errors, Moments) else roots
    return (
        np.hstack([numbers, again]),
        np.concatenate([weights, np.zeros(len(roots))]),
        np.concatenate([cells, other_cells]),
        Units(units.n, np.concatenate([np.zeros(n), roots]), None, *groups),
    )


@dataclass
class Merged:
    """A reduction's state over some rows of one position.

    Attributes
    ----------
    moments : list of Moments and GroupSums, or None
        Of the reduction's own numbers of rows, if it keeps any, and of the squared
        deviations of the response, if it uses them; see `moments_by_weight`.
    cells, sketch : ndarray or None
        As in `State`, of one feature.
    signed : ndarray of shape (n_groups, n_cells or 1) or None
        Signed sums of the weights, of each group of the sketch and each cell, where
        cells matter.
    signed_squares : ndarray of shape (n_outputs or 0, n_groups) or None
        Those times the squared deviations.
    """

    moments: list | None
    cells: np.ndarray | None
    sketch: np.ndarray | None
    signed: np.ndarray | None = None
    signed_squares: np.ndarray | None = None

    @classmethod
    def of(cls, state, reduction, of_rows, squares):
        """Take the `State` of one position, over the grid's values.

        Parameters
        ----------
        state : State
        reduction : Reduction
        of_rows : tuple
            The weights of the rows, the cell of each row's own value, the number of
            cells and the units, as `moments_by_weight` takes them.
        squares : ndarray of shape (n_outputs, n_rows)
            Squared deviations of the response from its mean.
        """
        weights, cells, n_cells, _ = of_rows
        if not reduction.uses_squares:
            squares = squares[:0]
        own = squares[:0] if state.rows is None else state.rows[0]
        if state.sketch is None:
            numbers, moments = np.vstack([own, squares]), None
            if len(numbers):
                moments = moments_by_weight(numbers, *of_rows)
            return cls(moments, state.cells, None)
        if cells is None or not reduction.uses_squares:
            cells, n_cells = 0, 1
        n_groups = state.sketch.shape[2]
        signs, groups = reduction.drawn
        group, signed_weights = groups % n_groups, signs * weights
        place = group * n_cells + cells
        signed = np.bincount(place, signed_weights, n_groups * n_cells)
        signed_squares = [
            np.bincount(group, signed_weights * q, n_groups) for q in squares
        ]
        signed_squares = np.reshape(signed_squares, (len(squares), n_groups))
        signed = signed.reshape(n_groups, n_cells)
        return cls(None, state.cells, state.sketch, signed, signed_squares)

    def points(self, reduction, n_outputs, units):
        """Points in place of rows, with which the reduction gives their numbers.

        Parameters
        ----------
        reduction : Reduction
        n_outputs : int
        units : Units
            Of all rows.

        Returns
        -------
        reduction : Reduction
            That of the points.
        state : State
        weights : ndarray of shape (n_points,)
            See `Sample`.
        codes : ndarray of shape (1, n_points)
        squares : ndarray of shape (n_outputs, n_points)
        units : Units
            Of the points.
        """
        numbers, weights = np.zeros((0, 1)), np.ones(1)
        codes = np.zeros(1, dtype=np.intp)
        if self.signed is not None:
            reduction, numbers, codes = self._signed_points(reduction)
            weights = np.ones(len(codes))
        of_points = Units(units.n, weights)
        if self.moments is not None:
            points = weighted_points(*self.moments, units)
            numbers, weights, codes, of_points = points
        n_squares = n_outputs if reduction.uses_squares else 0
        own, squares = np.split(numbers, [len(numbers) - n_squares])
        rows = own[np.newaxis] if len(own) else None
        state = State(rows, self.cells, self.sketch)
        return reduction, state, weights, codes[np.newaxis], squares, of_points

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
        return reduction.for_sums(signs, groups, n_groups), squares, codes
