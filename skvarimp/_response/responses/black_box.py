"""Any model at all, by batched prediction: the oracle of every other response."""

import numpy as np

from skvarimp._response.contract import Response
from skvarimp._running.memory import call_rows, even_slices


class BlackBoxResponse(Response):
    """Asks the model itself, some ten thousand rows per call.

    Parameters
    ----------
    model : Model
    n_outputs : int
    reason : str
        Why no faster response serves.
    """

    def __init__(self, model, n_outputs, reason=""):
        self.model = model
        self.n_outputs = n_outputs
        self.reason = reason
        self.path = f"black box ({reason})" if reason else "black box"

    def curves(self, table, rows, move, base):
        """See `Response.curves`."""
        n_cells = move.n_cells
        if move.codes is None:
            which = np.arange(len(rows) * n_cells)
        else:  # a row moved to its own value is the row itself
            own = move.codes[rows][:, np.newaxis] == np.arange(n_cells)
            which = np.flatnonzero(~own.ravel())
        ice = np.repeat(base[:, :, np.newaxis], n_cells, axis=2)
        flat = ice.reshape(len(base), -1)
        flat[:, which] = self.at(table, rows[which // n_cells], move, which % n_cells)
        return ice

    def curves_of(self, table, blocks):
        """Curves of a few rows for several small moves, in one call of the model.

        For some models, such as forests, a call costs more than a few thousand rows.

        Parameters
        ----------
        table : Table
        blocks : list of (rows, Move)

        Returns
        -------
        list of ndarray of shape (n_outputs, len(rows), n_cells)
        """
        cells = [all_cells(*block) for block in blocks]
        calls = [_moved_call(move, *at) for (_, move), at in zip(blocks, cells)]
        try:
            outputs = self.model(table.moved_together(calls)).T
        except ValueError:  # asked move by move, the message is more exact
            parts = [
                self.at(table, at[0], move, at[1])
                for (_, move), at in zip(blocks, cells)
            ]
        else:
            ends = np.cumsum([len(call[0]) for call in calls])
            parts = np.split(outputs, ends[:-1], axis=1)
        return [
            part.reshape(self.n_outputs, len(rows), move.n_cells)
            for part, (rows, move) in zip(parts, blocks)
        ]

    def at(self, table, rows, move, cells):
        """The response of single moved rows.

        result[o, m] = f_o(x_rows[m] with the entry at v_cells[m])

        Parameters
        ----------
        table : Table
        rows, cells : ndarray of shape (n,)
        move : Move

        Returns
        -------
        ndarray of shape (n_outputs, n)
        """
        result = np.empty((self.n_outputs, len(rows)))
        step = call_rows(table.n_columns, self.n_outputs)
        for part in even_slices(len(rows), step):
            moved = moved_rows(table, rows[part], move, cells[part])

            def where(m, start=part.start):
                at = move.values[cells[start + m]]
                at = at.tolist() if hasattr(at, "tolist") else at
                row = rows[start + m]
                return f"with {move.entry.name!r} set to {at!r}, in row {row} of X"

            result[:, part] = self.model(moved, where).T
        return result


def moved_rows(table, rows, move, cells):
    """Rows of a table with an entry moved to the given cells, in X's own container."""
    return table.moved(*_moved_call(move, rows, cells))


def _moved_call(move, rows, cells):
    """The arguments of `Table.moved`: rows, columns, donors, values."""
    columns, donors = move.entry.columns, move.donors
    donors = None if donors is None else donors[cells]
    if donors is not None and np.all(donors >= 0):
        return rows, columns, donors, None
    return rows, columns, donors, move.rows_of_values(cells)


def all_cells(rows, move):
    """Rows and cells of every row at every cell."""
    n_cells = move.n_cells
    return rows.repeat(n_cells), np.tile(np.arange(n_cells), len(rows))
