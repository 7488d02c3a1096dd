"""Changes of the response from changes of the sum over the trees, through the link."""

import numpy as np


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
