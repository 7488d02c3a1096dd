"""Rows spread over the leaves by a compiled kernel, as `masses` spreads them."""

import numpy as np

from skvarimp._compiled import kernel
from skvarimp._running.memory import BLOCK, CACHE, at_once, even_slices
from skvarimp._running.tasks import each

MASSES = kernel("masses")
# Kinds of rows are found for all rows. They serve lists of so many rows, and of one in
# so many of all.
LONG, SHARE = 512, 24


def count_masses(paths, rows, weights, masses, roots=None):
    """Do as `masses.count_masses`; threads may share the rows."""

    def counted(some):
        own = [np.zeros_like(of_order) for of_order in masses]
        lists = _lists(paths, rows, some, len(masses), roots)
        MASSES.count_masses(*lists, own, None if weights is None else weights[some])
        return own

    for own in each(counted, _slices(paths.table, rows)):
        for of_order, more in zip(masses, own):
            of_order += more


def add_found(paths, rows, amounts, sums, roots=None):
    """Do as `masses.add_found`."""
    for some in _slices(paths.table, rows, at_once(sums.shape[0] * sums.shape[1])):
        lists = _lists(paths, rows, some, 2, roots)
        MASSES.add_found(*lists, paths.features, amounts, sums[..., some])


def _slices(table, rows, most=np.inf):
    """Slices of at most some rows that go down together."""
    # all nodes are read once per slice: many of them are worth many rows
    numbers = max(CACHE, min(4 * BLOCK, 4 * len(table.feature)))
    step = min(most, at_once(table.max_depth + 2, numbers))
    return even_slices(rows.codes.shape[1], step)


def _lists(paths, rows, some, n_sizes, roots):
    """What the kernels are given for some rows: `Lists`, roots and codes."""
    table, n_rows = paths.table, some.stop - some.start
    firsts = [paths.first(size) for size in range(n_sizes)]
    how = table.flat, table.twigs, paths.rank, table.max_depth, firsts
    lists = MASSES.Lists(*how, n_rows, max(LONG, n_rows // SHARE))
    codes = np.ascontiguousarray(rows.codes[:, some])
    return lists, table.roots if roots is None else roots, codes
