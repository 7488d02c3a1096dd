"""Rows spread over the leaves by a compiled kernel, as `masses` spreads them."""

import numpy as np

from skvarimp._compiled import kernel
from skvarimp._running.memory import BLOCK, CACHE, at_once, even_slices

MASSES = kernel("masses")
# Kinds of rows are found for all rows. They serve lists of so many rows, and of one in
# so many of all.
LONG, SHARE = 512, 24


def count_masses(paths, rows, weights, masses, roots=None):
    """Do as `masses.count_masses`."""
    for some, *lists in _in_lists(paths, rows, len(masses), roots):
        of_rows = None if weights is None else weights[some]
        MASSES.count_masses(*lists, masses, of_rows)


def add_found(paths, rows, amounts, sums, roots=None):
    """Do as `masses.add_found`."""
    most = at_once(sums.shape[0] * sums.shape[1])
    for some, *lists in _in_lists(paths, rows, 2, roots, most):
        MASSES.add_found(*lists, paths.features, amounts, sums[..., some])


def _in_lists(paths, rows, n_sizes, roots, most=np.inf):
    """Yield slices of rows, and for the rows of each `Lists`, roots and codes."""
    table, firsts = paths.table, [paths.first(size) for size in range(n_sizes)]
    # all nodes are read once per slice: many of them are worth many rows
    numbers = max(CACHE, min(4 * BLOCK, 4 * len(table.feature)))
    step = min(most, at_once(table.max_depth + 2, numbers))
    how = table.flat, table.twigs, paths.rank, table.max_depth, firsts
    for some in even_slices(rows.codes.shape[1], step):
        n_rows = some.stop - some.start
        lists = MASSES.Lists(*how, n_rows, max(LONG, n_rows // SHARE))
        codes = np.ascontiguousarray(rows.codes[:, some])
        yield some, lists, table.roots if roots is None else roots, codes
