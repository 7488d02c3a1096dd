"""Where curves step, found by halving.

If a curve has the same state at two values, it has it at all values in between: the
state is the set of nearest rows, or the label of scores that are lines. Between two
values with different states the middle one is looked at, and so on.
"""

import numpy as np


def halved(look, n_rows, n_cells):
    """The states of curves wherever they change.

    Parameters
    ----------
    look : callable
        look(rows, cells) gives the states (n, any) at a cell each, and whether a tie
        decides on them, (n,).
    n_rows, n_cells : int

    Returns
    -------
    rows, cells : ndarray of shape (n_found,)
        By row and then by cell, ascending; each row has cell 0.
    states : ndarray of shape (n_found, any)
        Each holds up to the row's next cell.
    tied : ndarray of shape (n_found,)
        For single cells: the next one is found, too.
    """
    rows = np.arange(n_rows)
    low, high = np.zeros_like(rows), np.full_like(rows, n_cells - 1)
    found = [(rows, low, *look(rows, low))]
    if n_cells > 1:
        found.append((rows, high, *look(rows, high)))
    at_low, at_high = found[0][2:], found[-1][2:]
    while True:
        alike = np.all(at_low[0] == at_high[0], axis=1)
        alike &= ~(at_low[1] | at_high[1])
        more = ~alike & (high - low > 1)
        rows, low, high = rows[more], low[more], high[more]
        if len(rows) == 0:
            break
        middle = (low + high) // 2
        looked = look(rows, middle)
        found.append((rows, middle, *looked))
        rows = np.concatenate([rows, rows])
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        at_low = [np.concatenate([a[more], b]) for a, b in zip(at_low, looked)]
        at_high = [np.concatenate([b, a[more]]) for a, b in zip(at_high, looked)]
    rows, cells, states, tied = (np.concatenate(parts) for parts in zip(*found))
    order = np.argsort(rows * n_cells + cells)
    return rows[order], cells[order], states[order], tied[order]
