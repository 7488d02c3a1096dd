"""Curves cut down to the cells of each row's own part of the rows.

The way down the trees finds a row's curve over all cells of an entry. A row whose
donors are those of its own part needs only the cells that these hold.
"""

import numpy as np

from skvarimp._response.shapes.steps import Steps


class PartCells:
    """The cells of one member in each part of the rows.

    Parameters
    ----------
    move : Move
        With parts.
    cell_of_value : ndarray of shape (n_values,)
        The cell, among those of all rows, of each of the move's values.
    n_cells : int
        Number of cells of all rows.

    Attributes
    ----------
    cell_of : ndarray of shape (n_cells_of_parts,)
        The cell, among those of all rows, of each cell of the parts.
    of_value : ndarray of shape (n_values,)
        The cell of the parts of each of the move's values.
    """

    def __init__(self, move, cell_of_value, n_cells):
        self.n_cells, self.of_row = n_cells, move.parts.of_row
        key = move.parts.of_cell * n_cells + cell_of_value
        self._key, self.of_value = np.unique(key, return_inverse=True)
        part, cell = np.divmod(self._key, n_cells)
        self.cell_of = cell.astype(np.int32)
        self.bounds = np.searchsorted(part, np.arange(len(move.parts.bounds)))
        self._codes = move.codes

    def spans(self, rows):
        """First cell and the one behind the last of some rows' parts, (2, n_rows)."""
        part = self.of_row[rows]
        return np.stack([self.bounds[part], self.bounds[part + 1]])

    def own(self, rows):
        """The cell of each row's own value; empty where the grid has values of its own.

        A row that is moved to its own value is not moved: exactly 0, not by rounding.
        """
        if self._codes is None:
            return np.empty(0, dtype=np.int64)
        return self.of_value[self._codes[rows]].astype(np.int64)

    def steps(self, steps, rows):
        """`Steps` over the cells of all rows cut down to those of the rows' own parts.

        Parameters
        ----------
        steps : Steps
        rows : ndarray of shape (n_rows,)
            Rows of the table.
        """
        bounds, cells, moved = _pieces_of(steps)
        row = np.repeat(np.arange(len(rows)), bounds[1] - bounds[0])
        spans = self.spans(rows)
        # the first cell of the row's part on each piece, and that on the next piece
        begin = np.searchsorted(
            self._key, self.of_row[rows][row] * self.n_cells + cells
        )
        end = np.append(begin[1:], 0)
        end[bounds[1] - 1] = spans[1]
        own = self.own(rows)
        if len(own):
            moved[:, (begin <= own[row]) & (own[row] < end)] = 0.0
        kept = np.flatnonzero(begin < end)
        first = np.searchsorted(kept, bounds[0])
        bounds = np.stack([first, np.append(first[1:], len(kept)), spans[1]])
        n_cells = len(self.cell_of)
        return Steps.of_pieces(bounds, begin[kept], moved[:, kept], n_cells, spans)


def _pieces_of(steps):
    """The bounds, cells and values that `Steps.of_pieces` makes steps of."""
    bounds = steps.starts + np.arange(steps.n_rows + 1)
    cells = np.zeros(bounds[-1], dtype=np.int64)
    cells[np.arange(len(steps.positions)) + steps.rows + 1] = steps.positions
    moved = np.empty((len(steps.first), bounds[-1]))
    for chunk in steps.chunks():
        part = steps.part(chunk)
        _, values, _ = part.pieces()
        filled = np.arange(values.shape[2]) <= np.diff(part.starts)[:, np.newaxis]
        moved[:, bounds[chunk.start] : bounds[chunk.stop]] = values[:, filled]
    return np.stack([bounds[:-1], bounds[1:]]), cells, moved
