"""From sums of leaves to the response: the link of an ensemble, row by row."""

import numpy as np

from skvarimp._response.responses.black_box import BlackBoxResponse


def links(response, table, rows, base, raw, members, moves):
    """The link of some rows: one for all members unless it asks the model.

    Parameters
    ----------
    response : TreeResponse
    table, rows, base : see `Response.curves`
    raw : ndarray of shape (n_raw, n_rows)
        Sums of the rows' own leaves.
    members : list of Member
    moves : sequence of Move
        By the members' positions.

    Returns
    -------
    list of Linked
    """
    of_rows = response, table, rows, base, raw
    if not response.link.discrete:
        return [link_of(*of_rows)]
    return [link_of(*of_rows, moves[m.position], m.first_values()) for m in members]


def link_of(response, table, rows, base, raw, move=None, value_of_cell=None):
    """The link of some rows as one entry moves through a grid value of each cell."""
    raw = raw + response.offset[:, np.newaxis]
    if not response.link.discrete:
        return Linked(response.link, raw, base)
    black_box = BlackBoxResponse(response.model, response.n_outputs)

    def asked(which, cells):
        return black_box.at(table, rows[which], move, value_of_cell[cells])

    return Linked(response.link, raw, base, response.doubt, asked)


class Linked:
    """Response moved minus unmoved, from raw outputs moved minus unmoved.

    Parameters
    ----------
    link : Link
    raw : ndarray of shape (n_raw, n_rows)
        Unmoved.
    base : ndarray of shape (n_outputs, n_rows)
        The model's own response, unmoved.
    doubt : float
        A label decided by no more is asked from the model itself, whose sum of the
        same numbers in another order may decide otherwise.
    ask : callable or None
        ask(rows, cells) -> (n_outputs, n), the model's own response at positions among
        the rows and cells, (n,); of a discrete link.
    """

    def __init__(self, link, raw, base, doubt=-1.0, ask=None):
        self.link, self.raw, self.doubt, self.ask = link, raw, doubt, ask
        # of a smooth link our own, so that what does not move is exactly 0
        self.unmoved = base if link.discrete else link(raw)[0]

    def __call__(self, moved, rows, cells):
        """(n_outputs, n) of moved (n_raw, n), rows and cells (n,)."""
        total = self.raw.take(rows, axis=1) + moved
        if not self.link.discrete:
            result, _ = self.link(total)
        else:
            result = self.link.decided(total)
            unsure = np.flatnonzero(self.link.lead(total) <= self.doubt)
            if len(unsure):
                result[:, unsure] = self.ask(rows[unsure], cells[unsure])
        return result - self.unmoved.take(rows, axis=1)
