"""Random signs and groups of rows, for sums of squares from few signed sums."""

from dataclasses import replace
from functools import cached_property

import numpy as np

BLOCK_ROWS = 2**16  # drawn together


def signed_groups(n_rows, n_groups, part=None):
    """The signs of some rows, and the groups in which they are added up.

    They are drawn block by block of rows, so that those of a row are the same whichever
    part of the rows is asked for.

    Parameters
    ----------
    n_rows : int
        All rows.
    n_groups : int
        At most `n_rows`; as many groups as rows hold one each.
    part : slice, default=None
        The rows asked for; None: all.

    Returns
    -------
    signs : ndarray of shape (n_part,)
        -1.0 or 1.0.
    groups : ndarray of shape (n_part,)
    """
    part = part or slice(0, n_rows)
    first = part.start // BLOCK_ROWS * BLOCK_ROWS
    signs, groups = [], []
    for start in range(first, part.stop, BLOCK_ROWS):
        n_block = min(BLOCK_ROWS, n_rows - start)
        # fixed seeds: standard errors must not vary between runs
        random = np.random.RandomState(start // BLOCK_ROWS)
        groups.append((start + random.permutation(n_block)) % n_groups)
        signs.append(random.choice([-1.0, 1.0], n_block))
    mine = slice(part.start - first, part.stop - first)
    return np.concatenate(signs)[mine], np.concatenate(groups)[mine]


class SignedRows:
    """What a reduction of `n_rows` rows in `n_groups` groups knows of their signs.

    Its field `part` says of which rows, None: of all.
    """

    def of_part(self, part):
        """For the walk over some of the rows, with the signs and groups of all."""
        return replace(self, part=part)

    def of_sums(self, signed, groups, n_groups):
        """For sums of all rows by group, in place of the rows."""
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
        return signed_groups(self.n_rows, self.n_groups, self.part)
