"""Moves of a feature within parts of the rows, given what predicts it, or with another.

Within parts a row takes values of its own part only. The move then holds the cells of
one part after the other. With p[k] the probability of cell k among the rows of its part
and w the rows' weights,

    importance = sum_i w[i] sum_k p[k] h(ICE[i, k]),    k over the cells of row i's part

so that a single part gives the marginal measure.

A feature may also move to a prediction from the other columns plus the residual of
another row. With m[i] the prediction of a feature's numbers in row i and
e[k] = x[k] - m[k] the residual of row k, row i takes the value

    v[i, k] = m[i] + e[k]

(Watson & Wright 2021, "Testing conditional independence in supervised learning
algorithms", Machine Learning 110, and Chamma, Engemann & Thirion 2023). Cell k is donor
k. Numbers alone have one level, to which all donors belong. Categories, and whether a
number is missing, are levels: row i first draws a level by its own probabilities, and
then a donor of that level, whose categories it takes as they are.
"""

from dataclasses import dataclass, replace

import numpy as np

from skvarimp._data.base_table import side_by_side
from skvarimp._data.statistics import divided
from skvarimp._response.grid import Move, make_move


@dataclass(frozen=True, eq=False)
class Parts:
    """Which part of the rows each row of a table belongs to, and the parts' cells.

    Attributes
    ----------
    of_row : ndarray of shape (n_samples,)
        Counted from 0; no part is empty.
    bounds : ndarray of shape (n_parts + 1,)
        Part g has the cells bounds[g] to bounds[g + 1] of the move.
    weights : ndarray of shape (n_parts,)
        Of their rows; sum to 1.
    """

    of_row: np.ndarray
    bounds: np.ndarray
    weights: np.ndarray

    @property
    def cells_per_row(self):
        """Number of cells that a row moves through, on average over the rows."""
        return np.diff(self.bounds)[self.of_row].mean()

    @property
    def of_cell(self):
        """The part of each cell, (n_cells,)."""
        return np.repeat(np.arange(len(self.weights)), np.diff(self.bounds))

    def split(self, move, rows):
        """The move and the rows of each part.

        Parameters
        ----------
        move : Move
            With these parts.
        rows : ndarray of shape (n_rows,)
            Rows of the table.

        Yields
        ------
        move_in_part : Move
            Of the part's cells; its `codes` hold for the part's rows only.
        at : ndarray of int
            Positions of the part's rows in `rows`, ascending.
        cells : slice
            The part's cells.
        """
        part = self.of_row[rows]
        order = np.argsort(part, kind="stable")
        ends = np.searchsorted(part[order], np.arange(len(self.weights) + 1))
        codes = None if move.codes is None else move.codes - self.bounds[self.of_row]
        for g in np.flatnonzero(np.diff(ends)):
            cells = slice(self.bounds[g], self.bounds[g + 1])
            chances = move.probabilities[cells]
            move_in_part = move.at_cells(
                cells, probabilities=chances, codes=codes, parts=None
            )
            yield move_in_part, order[ends[g] : ends[g + 1]], cells


@dataclass(frozen=True, eq=False)
class Subgroups:
    """A grid made anew in each part of the rows; see `make_move`.

    Parameters
    ----------
    grid : {"all", "equidistant", "deciles"} or int
    parts : dict
        Feature -> ndarray of shape (n_samples,), the part of each row, from 0 on.
    """

    grid: object
    parts: dict

    def __call__(self, table, weights, feature, categorical_columns):
        """The move of a feature."""
        part_of_row = self.parts[feature]
        mass = np.bincount(part_of_row, weights)
        whole = make_move(table, weights, feature, self.grid, categorical_columns)
        if whole.codes is not None:
            return _observed_in_parts(whole, weights, part_of_row, mass)
        order = np.argsort(part_of_row, kind="stable")
        moves = []
        for rows in np.split(order, np.cumsum(np.bincount(part_of_row))[:-1]):
            own_weights = weights[rows] / weights[rows].sum()
            one = table.part(rows, np.array(feature.columns))
            alone = replace(feature, columns=tuple(range(len(feature.columns))))
            moves.append(make_move(one, own_weights, alone, self.grid))
        bounds = np.cumsum([0, *(move.n_cells for move in moves)])
        return replace(
            whole,
            values=np.concatenate([move.values for move in moves]),
            probabilities=np.concatenate([move.probabilities for move in moves]),
            parts=Parts(part_of_row, bounds, mass),
        )


def _observed_in_parts(whole, weights, part_of_row, mass):
    """The observed values of each part, from those of all rows."""
    keys = part_of_row * whole.n_cells + whole.codes
    key, codes = np.unique(keys, return_inverse=True)
    part, cell = np.divmod(key, whole.n_cells)
    return whole.at_cells(
        cell,
        probabilities=np.bincount(codes, weights) / mass[part],
        codes=codes,
        parts=Parts(part_of_row, np.searchsorted(part, np.arange(len(mass) + 1)), mass),
    )


@dataclass(frozen=True, eq=False)
class ResidualMove(Move):
    """A move whose values depend on the row, see the module.

    The cells of one level follow those of another; within a level their `probabilities`
    sum to 1.

    Attributes
    ----------
    centres : ndarray of shape (n_samples, n_columns)
        What is predicted of each column of the feature; NaN for categories.
    numeric : ndarray of bool of shape (n_columns,)
        Which columns hold numbers; categories come from the donor.
    bounds : ndarray of shape (n_levels + 1,)
        Level l has the cells bounds[l] to bounds[l + 1].
    chances_of_levels : ndarray of shape (n_samples, n_levels)
        The rows' probabilities.
    level_weights : ndarray of shape (n_levels,)
        Of the donors; sum to 1.
    """

    centres: np.ndarray = None
    numeric: np.ndarray = None
    bounds: np.ndarray = None
    chances_of_levels: np.ndarray = None
    level_weights: np.ndarray = None

    @property
    def shared(self):
        return len(self.level_weights) == 1

    @property
    def chances(self):
        return self.probabilities * self.level_weights[self.levels]

    @property
    def levels(self):
        return np.repeat(np.arange(len(self.level_weights)), np.diff(self.bounds))

    def cells_at(self, points, rows):
        upper = np.cumsum(self.chances_of_levels, axis=1)
        level = np.zeros(points.shape, dtype=np.intp)
        for end in upper[:, :-1].T:
            level += points >= end[rows]
        chance = self.chances_of_levels[rows, level]
        before = upper[rows, level] - chance
        within = np.clip(divided(points - before, chance), 0.0, 1.0)
        ends = np.cumsum(self.probabilities)  # each level's probabilities sum to 1
        cells = np.searchsorted(ends[:-1], level + within, side="right")
        return np.clip(cells, self.bounds[level], self.bounds[level + 1] - 1)

    def bounds_at(self, cells, rows):
        level = self.levels[cells]
        chance = self.chances_of_levels[rows, level]
        before = np.cumsum(self.chances_of_levels, axis=1)[rows, level] - chance
        return (before + chance * bound for bound in super().bounds_at(cells, rows))

    def replaced(self, rows, cells):
        values = self.values_at(rows, cells)
        donors = None
        if not self.numeric.all():
            donors = np.where(self.numeric, -1, self.donors[cells][:, np.newaxis])
        return rows, self.feature.columns, donors, values

    def values_at(self, rows, cells):
        values = self.rows_of_values(cells)
        if not self.numeric.any():
            return values
        values = values.copy()
        values[:, self.numeric] += self.centres[rows][:, self.numeric]
        return values


def product_move(first, second):
    """Two moves at once: every value of one with every value of the other.

    Parameters
    ----------
    first, second : Move
        On columns not shared.

    Returns
    -------
    Move
        Its cell k * second.n_cells + l is cell k of the first, cell l of the second.
    """
    k, l = np.divmod(np.arange(first.n_cells * second.n_cells), second.n_cells)
    both = first.rows_of_values(k), second.rows_of_values(l)
    values = side_by_side([column for rows in both for column in rows.T], len(k))
    donors = np.hstack([first.donors_of_columns[k], second.donors_of_columns[l]])
    probabilities = first.probabilities[k] * second.probabilities[l]
    feature = first.feature.together_with(second.feature)
    categorical = first.categorical and second.categorical
    return Move(feature, values, donors, probabilities, None, categorical)
