"""Grids within parts of the rows: a row takes values of its own part only.

The move of an entry then holds the cells of one part after the other. With p[k] the
probability of cell k among the rows of its part and w the rows' weights,

    importance = sum_i w[i] sum_k p[k] h(ICE[i, k]),    k over the cells of row i's part

so that a single part gives the marginal measure.
"""

from dataclasses import dataclass, replace

import numpy as np

from skvarimp._response.grid import make_move


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
        of_part : Move
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
            of_part = move.at_cells(
                cells, probabilities=chances, codes=codes, parts=None
            )
            yield of_part, order[ends[g] : ends[g + 1]], cells


@dataclass(frozen=True, eq=False)
class Subgroups:
    """A grid made anew in each part of the rows; see `make_move`.

    Parameters
    ----------
    grid : {"all", "equidistant", "deciles"} or int
    parts : dict
        Entry -> ndarray of shape (n_samples,), the part of each row, from 0 on.
    """

    grid: object
    parts: dict

    def __call__(self, table, weights, entry, categorical_columns):
        """The move of an entry."""
        of_row = self.parts[entry]
        mass = np.bincount(of_row, weights)
        whole = make_move(table, weights, entry, self.grid, categorical_columns)
        if whole.codes is not None:
            return _observed_in_parts(whole, weights, of_row, mass)
        order = np.argsort(of_row, kind="stable")
        moves = []
        for rows in np.split(order, np.cumsum(np.bincount(of_row))[:-1]):
            of_part = weights[rows] / weights[rows].sum()
            one = table.part(rows, np.array(entry.columns))
            alone = replace(entry, columns=tuple(range(len(entry.columns))))
            moves.append(make_move(one, of_part, alone, self.grid))
        bounds = np.cumsum([0, *(move.n_cells for move in moves)])
        return replace(
            whole,
            values=np.concatenate([move.values for move in moves]),
            probabilities=np.concatenate([move.probabilities for move in moves]),
            parts=Parts(of_row, bounds, mass),
        )


def _observed_in_parts(whole, weights, of_row, mass):
    """The observed values of each part, from those of all rows."""
    key, codes = np.unique(of_row * whole.n_cells + whole.codes, return_inverse=True)
    part, cell = np.divmod(key, whole.n_cells)
    return whole.at_cells(
        cell,
        probabilities=np.bincount(codes, weights) / mass[part],
        codes=codes,
        parts=Parts(of_row, np.searchsorted(part, np.arange(len(mass) + 1)), mass),
    )


def donor_levels(walk, move, rows, theta):
    """What each cell's mean contribution is compared with: the mean of its donors.

    Parameters
    ----------
    walk : Walk
    move : Move
    rows : ndarray of shape (n_rows,)
        Mean contribution of each evaluated row.
    theta : float
        Their weighted mean.

    Returns
    -------
    float or ndarray of shape (n_cells,)
        `theta`, or the mean of each cell's part.
    """
    if move.parts is None:
        return theta
    part, masses = move.parts.of_row[walk.rows], move.parts.weights
    weighted = walk.weights * rows
    means = np.bincount(part, weighted, len(masses)) / masses
    return theta + means[move.parts.of_cell] - weighted.sum()
