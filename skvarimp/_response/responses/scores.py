"""What linear, kernel and network responses share: links of scores of numbers."""

import numpy as np

from skvarimp._response.contract import Response
from skvarimp._response.responses.black_box import BlackBoxResponse


class ScoreResponse(Response):
    """outputs = link(scores), with scores known for any values of any columns.

    A subclass implements `scores`.

    Parameters
    ----------
    model : Model
        Asked itself where the link jumps within rounding.
    link : callable
        See `links.py`.
    n_scores : int
    """

    def __init__(self, model, link, n_scores):
        self.link, self.n_scores = link, n_scores
        self.n_outputs = link.n_outputs(n_scores)
        self.black_box = BlackBoxResponse(model, self.n_outputs)

    def uses(self, columns):
        """Which of the columns the scores depend on, a mask."""
        return np.ones(len(columns), dtype=bool)

    def changes(self, move):
        """Whether a move changes any score; if not, importances are exactly 0.

        It does not where no column is used, or all that are used hold one value.
        """
        used = self.uses(move.entry.columns)
        if not used.any():
            return False
        return move.codes is None or np.ptp(numeric_values(move)[:, used], axis=0).any()

    def scores(self, table, rows, move):
        """Scores of moved rows, (n_scores, n_rows, n_cells)."""
        raise NotImplementedError

    def curves(self, table, rows, move, base):
        """See `Response.curves`."""
        if not self.changes(move):
            return np.repeat(base[:, :, np.newaxis], move.n_cells, axis=2)
        with np.errstate(over="ignore"):
            scores = self.scores(table, rows, move)
        return self.linked(scores, table, rows, move, base)

    def linked(self, scores, table, rows, move, base):
        """Curves from scores; the model itself is asked where the link is in doubt."""
        with np.errstate(over="ignore"):
            ice, doubtful = self.link(scores)
            total = ice.sum()
        if not np.isfinite(total):  # the model itself says what is wrong
            doubtful = ~np.all(np.isfinite(ice), axis=0)
        if doubtful is not None and doubtful.any():
            i, k = np.nonzero(doubtful)
            ice[:, i, k] = self.black_box.at(table, rows[i], move, k)
        return own_cells_unmoved(ice, rows, move, base)


def own_cells_unmoved(ice, rows, move, base):
    """Put the unmoved response where a row is moved to its own value."""
    if move.codes is not None:
        ice[:, np.arange(len(rows)), move.codes[rows]] = base
    return ice


def numeric_values(move):
    """The values of a move as float64, (n_cells, n_columns)."""
    return move.rows_of_values(slice(None)).astype(np.float64)


def own_values(table, rows, columns):
    """The rows' own values of some columns as float64, (n_rows, n_columns)."""
    own = [table.column(j)[rows] for j in columns]
    return np.column_stack(own).astype(np.float64, copy=False)
