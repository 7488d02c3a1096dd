"""Random signs and groups of rows, for sums of squares from few signed sums."""

from dataclasses import replace
from functools import cached_property, lru_cache

import numpy as np

BLOCK_ROWS = 2**16  # drawn together


@lru_cache(maxsize=2)  # reductions are made anew for each entry
def signed_groups(n_rows, n_groups, start, stop):
    """The signs of some rows, and the groups in which they are added up.

    They are drawn for one block of rows after another, so that a row always gets the
    same ones, whichever part of the rows is asked for.

    Parameters
    ----------
    n_rows : int
        All rows.
    n_groups : int
        At most `n_rows`; with as many groups as rows each holds one row.
    start, stop : int
        The first row asked for, and the first one behind.

    Returns
    -------
    signs : ndarray of shape (n_part,)
        -1.0 or 1.0.
    groups : ndarray of shape (n_part,)
    """
    first = start // BLOCK_ROWS * BLOCK_ROWS
    signs, groups = [], []
    for block in range(first, stop, BLOCK_ROWS):
        n_block = min(BLOCK_ROWS, n_rows - block)
        # fixed seeds: standard errors must not vary between runs
        random = np.random.RandomState(block // BLOCK_ROWS)
        groups.append((block + random.permutation(n_block)) % n_groups)
        signs.append(random.choice([-1.0, 1.0], n_block))
    mine = slice(start - first, stop - first)
    return np.concatenate(signs)[mine], np.concatenate(groups)[mine]


class SignedRows:
    """What a reduction of `n_rows` rows in `n_groups` groups knows of their signs.

    Its field `part` says which rows it is for; None: all.
    """

    def of_part(self, part):
        """The reduction for a walk over some of the rows, with signs as for all."""
        return replace(self, part=part)

    def of_sums(self, signed, groups, n_groups):
        """The reduction for sums of all rows by group, instead of the rows."""
        reduction = replace(self, n_rows=len(signed), n_groups=n_groups)
        vars(reduction)["_drawn"] = signed, groups
        return reduction

    @cached_property
    def signs(self):
        """The sign of each row, (n_rows,)."""
        return self._drawn[0]

    @cached_property
    def groups(self):
        """The group of each row, (n_rows,)."""
        return self._drawn[1]

    @cached_property
    def _drawn(self):
        part = self.part or slice(0, self.n_rows)
        return signed_groups(self.n_rows, self.n_groups, part.start, part.stop)
