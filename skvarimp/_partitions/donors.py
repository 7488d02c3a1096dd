"""Values of features and targets over all partitions: counted, merged, bounded, drawn.

Trees need no more of the donors than their weight in each cell between two cuts, which
is exact whatever the number of rows. Of other models the distinct values are counted
while there are at most `MOST_VALUES` of them. Beyond that, those of a numeric column
become as many groups of neighbours of about equal weight, of which each merge shifts a
quantile by at most 1 / `MOST_VALUES`.

In draws each row draws the random numbers that it would draw in memory: those of its
place among all rows. Its donors are the observed values where all are known, with their
weights. Of more values they are those of a pool of `N_DONORS` rows, drawn from all
partitions by their weights.
"""

from dataclasses import dataclass, replace

import numpy as np

from skvarimp._data.base_table import ArrayTable, Table
from skvarimp._data.statistics import precise_cumsum
from skvarimp._data.table import Feature, stacked
from skvarimp._measures.problem import compared_with
from skvarimp._partitions.moments import Largest, Moments, moments_by_weight
from skvarimp._response.further_reductions import loss_of_rows
from skvarimp._response.grid import make_move
from skvarimp._response.sampling import Uniform, draws_of

MOST_VALUES = 2**13
BIN_VALUES = 2**22  # that one task puts in order, about: 64 MB with their weights
MOST_CELLS = 2**16  # of several columns, between the cuts of trees


@dataclass(frozen=True)
class ObservedValues:
    """Distinct values of a feature, and their weights.

    Attributes
    ----------
    feature : Feature
        Its `columns` are those of the rows.
    rows : Table
        One row per value: of numbers the feature's columns alone, of levels whole rows.
    masses : ndarray of shape (n_values,)
        Sums of weights as given.
    keys : ndarray of shape (n_values, n_keys) or None
        What tells the values apart, where it is not the values themselves.
    distinct : bool
        Whether each value has a row of its own.
    """

    feature: Feature
    rows: Table
    masses: np.ndarray
    keys: np.ndarray | None = None
    distinct: bool = True

    @classmethod
    def of(cls, table, feature, weights, keys=None):
        """Those of some rows.

        Parameters
        ----------
        table : Table
        feature : Feature
        weights : ndarray of shape (n_rows,)
        keys : ndarray of shape (n_rows, n_keys), default=None
        """
        rows, feature = _rows(table, feature)
        return cls(feature, rows, weights, keys).counted()

    def merged(self, other):
        """Those of two sets of rows."""
        keys = None if self.keys is None else np.concatenate([self.keys, other.keys])
        rows = stacked([self.rows, other.rows])
        masses = np.concatenate([self.masses, other.masses])
        distinct = self.distinct and other.distinct
        return ObservedValues(self.feature, rows, masses, keys, distinct).counted()

    def counted(self):
        """The same with one row per value, in the order of the values or keys."""
        codes, first = self._factorized(self.rows, self.keys)
        result = self._some(first, np.bincount(codes, self.masses, len(first)))
        return result if len(first) <= self._most else result._bounded()

    def _some(self, values, masses, distinct=True):
        """Only some of the values, with other masses."""
        keys = None if self.keys is None else self.keys[values]
        rows, distinct = self.rows.take(values), self.distinct and distinct
        return ObservedValues(self.feature, rows, masses, keys, distinct)

    @property
    def _most(self):
        """How many values are kept; the cells of one column are as many as its cuts."""
        if self.keys is None:
            return MOST_VALUES
        return np.inf if self.keys.shape[1] == 1 else MOST_CELLS

    def _factorized(self, rows, keys):
        if keys is None:
            return rows.factorize(self.feature.columns)
        return ArrayTable(keys).factorize(range(keys.shape[1]))

    def _bounded(self):
        """Neighbours of a numeric column joined; of others the first values only."""
        if not self.is_numeric or len(self.feature.columns) > 1:
            first = np.arange(self._most)
            return self._some(first, self.masses[first], distinct=False)
        numbers = ~np.isnan(self.rows.column(0).astype(np.float64))  # NaN is last
        masses = self.masses[numbers]
        middle = np.cumsum(masses) - masses / 2
        group = (middle * ((MOST_VALUES - 3) / masses.sum())).astype(np.intp)
        group[1:] += 1  # the ends keep rows of their own
        group[-1] += 1
        begins = np.flatnonzero(np.diff(group, prepend=-1))
        of_group = np.add.reduceat(masses, begins)
        ends = np.append(begins[1:], len(masses))
        rows = begins + (ends - begins) // 2
        missing = np.flatnonzero(~numbers)
        masses = np.concatenate([of_group, self.masses[missing]])
        return self._some(np.concatenate([rows, missing]), masses, distinct=False)

    @property
    def is_numeric(self):
        """Whether all columns hold numbers."""
        return not any(self.rows.has_levels(j) for j in self.feature.columns)

    def move(self, feature, grid, categorical_columns):
        """The feature's `Move` through a grid; its donors are `rows`.

        Parameters
        ----------
        feature : Feature
            As in X.
        grid : str, int, array-like or dict
        categorical_columns : frozenset of int
            Of X.
        """
        categorical = frozenset(
            own
            for own, column in zip(self.feature.columns, feature.columns)
            if column in categorical_columns
        )
        weights = self.masses / self.masses.sum()
        move = make_move(self.rows, weights, self.feature, grid, categorical)
        return replace(move, feature=feature)

    def cells_of(self, table, feature, move, keys=None):
        """The cell of each row's own value, (n_rows,), in a move through all values.

        `move.n_cells` for a value that was not observed.
        """
        rows, _ = _rows(table, feature)
        both = None if self.keys is None else np.concatenate([self.keys, keys])
        codes, first = self._factorized(stacked([self.rows, rows]), both)
        cell_of_code = np.full(len(first), move.n_cells)
        cell_of_code[codes[move.donors]] = np.arange(move.n_cells)
        return cell_of_code[codes[len(self.masses) :]]


def _rows(table, feature):
    """What is kept of a table's rows, and the feature there."""
    if any(table.has_levels(j) for j in feature.columns):
        return table, feature
    values = np.column_stack([table.column(j) for j in feature.columns])
    return ArrayTable(values), replace(feature, columns=tuple(range(values.shape[1])))


N_DONORS = MOST_VALUES  # of which any values can be counted


def draw_in(part, pooled, draws):
    """The `Drawn` of each feature from one partition, with the moments of its rows.

    And the largest size of the partition's responses.

    Parameters
    ----------
    part : Partition
    pooled : list of bool
        By feature, whether its donors come from the pool.
    draws : DonorDraws
        With a `PartitionedWalk`, whose model is the black box.
    """
    walk, draw, every = draws.walk, draws.draw, range(draws.n_repeats)
    rows, n_all = slice(*walk.spans[part.number]), walk.n_rows
    units, walk = part.units_of(walk.units), walk.of(part)
    result = []
    for e, from_pool in enumerate(pooled):
        uniform = Uniform(int(draws.seeds[e]), draws.n_repeats, n_all, rows)
        # two donors are the same row of a pool more often than of all rows
        distinct = 1 - 1 / N_DONORS if from_pool else 1.0
        of_distinct = draws.scale * distinct ** (draw.n_moves - 1)
        move = walk.moves[e]
        sums = draws_of(walk, move, draw, of_distinct, uniform, every)
        drawn = sums.drawn(walk, move, draw)
        moments = moments_by_weight(*drawn.rows, move.n_cells + 1, units)
        result.append(replace(drawn, rows=moments))
    return result, Largest(walk.size)


def pool_points(seed, weight):
    """Where the rows of the pool lie in the summed weights of all rows; ascending."""
    return np.sort(np.random.default_rng([seed, 1]).random(N_DONORS)) * weight


def pool_rows(part, points, spans):
    """The rows of a partition that are in the pool: number -> table.

    Parameters
    ----------
    part : Partition
    points : ndarray of shape (n_donors,)
        Between 0 and the weight of all rows, ascending.
    spans : dict
        Number of a partition -> weight of all rows before it, and up to its end.
    """
    begin, end = spans[part.number]
    mine = points[(points >= begin) & (points < end)]
    rows = np.searchsorted(begin + np.cumsum(part.weights)[:-1], mine, side="right")
    return {part.number: part.table.take(rows)} if len(rows) else {}


def response_moments(part, model):
    """`Moments` of each output of a part, and its largest size."""
    base = model.unmoved(part.table)
    moments = [Moments.of(row[np.newaxis], part.weights, None, 1) for row in base]
    return moments, Largest(np.abs(base).max(axis=1))


def compared_rows(part, model, n_outputs, row=...):
    """What the outputs are compared with, (n_outputs, n_rows), or one row of that."""
    needs_base = model.kind == "score" or model.clusters
    base = model.unmoved(part.table) if needs_base else [None] * n_outputs
    return compared_with(model, part.target, base)[row]


def counted_targets(part, model, n_outputs):
    """`ObservedValues` of what each output is compared with."""
    feature = Feature("value", (0,))
    return [
        ObservedValues.of(ArrayTable(of_one[:, np.newaxis]), feature, part.weights)
        for of_one in compared_rows(part, model, n_outputs)
    ]


def sum_of_losses(part, model, loss):
    """Weighted sum of the unmoved rows' losses, and their weight."""
    base = model.unmoved(part.table)
    return part.weights @ loss_of_rows(loss, part.target(), base), part.weights.sum()


def deviations(part, model, median):
    """Weighted sums of |y - median| and |y - f|."""
    y, weights = part.target().astype(np.float64), part.weights
    (base,) = model.unmoved(part.table)
    return weights @ np.abs(y - median), weights @ np.abs(y - base)


def bin_edges(observed, n_rows):
    """Values that part a column in bins of about `BIN_VALUES` rows."""
    values = observed.rows.column(0)
    n_bins = -(-n_rows // BIN_VALUES)
    below = np.cumsum(observed.masses)
    shares = np.arange(1, n_bins) / n_bins * below[-1]
    return np.unique(values[np.searchsorted(below, shares)])


def bin_integrals(values, weights, total):
    """Ends and mass of a bin, and the integrals of its mass and of its square."""
    order = np.argsort(values, kind="stable")
    values, up_to = values[order], precise_cumsum(weights[order]) / total
    gaps = np.diff(values)
    return values[0], values[-1], up_to[-1], gaps @ up_to[:-1], gaps @ up_to[:-1] ** 2


def rows_around(part, low, high):
    """Weights below and above a range, and by partition what lies inside."""
    y, weights = part.target().astype(np.float64), part.weights
    inside = (y >= low) & (y <= high)
    outside = np.array([weights @ (y < low), weights @ (y > high)])
    return outside, {part.number: (y[inside], weights[inside])}
