"""Several columns of an ensemble moved together, by which leaves rows and donors meet.

A leaf's conditions split into those on the moved columns and all others. With

    A[i, l] = row i meets leaf l's conditions on the columns that stay,
    B[l, k] = the values of cell k meet those on the columns that move,

exactly one leaf of each tree has A[i, l] B[l, k] = 1, so that with v the leaves'
values and own(i, l) the leaf of l's tree that row i is in unmoved

    moved[i, k] = sum_l A[i, l] (v[l] - v[own(i, l)]) B[l, k],

which is exactly 0 where the moved values lead to the row's own leaves.
"""

import numpy as np
from scipy import sparse

from skvarimp.response._tree_walk import Descent

PATHS = 2**16  # (row, tree) at a time
MEETINGS = 2**22  # numbers of B at a time: 32 MB


def moved_together(table, codes, features, cells):
    """Raw outputs moved minus unmoved.

    Parameters
    ----------
    table : TreeTable
    codes : ndarray of shape (n_rows, n_features)
        Of the rows.
    features : list of int
        Those that move.
    cells : ndarray of shape (n_cells, len(features))
        Codes of the values they move through.

    Returns
    -------
    ndarray of shape (n_raw, n_rows, n_cells)
    """
    result = np.zeros((table.n_raw, len(codes), len(cells)))
    for part, descent, path, leaf in _reached(table, codes, features):
        rows = descent.row(path)
        changes = _changes(table, descent, path, leaf)
        leaves, column = np.unique(leaf, return_inverse=True)
        shape = (descent.n_rows, len(leaves))
        incidence = [
            sparse.csc_array((change, (rows, column)), shape=shape)
            for change in changes
        ]
        for some, meets in _meetings(table, leaves, features, cells):
            for of_output, of_rows in zip(result, incidence):
                of_output[part] += of_rows[:, some] @ meets
    return result


def mean_moved_together(table, codes, weights, features, cells):
    """sum_i weights[i] of `moved_together`, (n_raw, n_cells), a leaf at a time."""
    n_nodes = len(table.feature)
    masses = np.zeros((table.n_raw, n_nodes))
    for part, descent, path, leaf in _reached(table, codes, features):
        weight = weights[part].take(descent.row(path))
        changes = _changes(table, descent, path, leaf)
        for mass, change in zip(masses, changes):
            mass += np.bincount(leaf, weight * change, n_nodes)
    leaves = np.flatnonzero(masses.any(axis=0))
    result = np.zeros((table.n_raw, len(cells)))
    for some, meets in _meetings(table, leaves, features, cells):
        result += masses[:, leaves[some]] @ meets
    return result


def _reached(table, codes, features):
    """Yield (rows, descent, path, leaf), the nonzeros of A off the rows' own leaves."""
    moving = np.zeros(len(table.columns), dtype=bool)
    moving[features] = True
    trees = table.trees_with(moving)
    at_once = max(1, PATHS // len(trees))
    for start in range(0, len(codes), at_once):
        part = slice(start, min(start + at_once, len(codes)))
        descent = Descent(table, codes[part], trees)
        path, leaf = descent.reachable(moving)
        other = np.flatnonzero(descent.own.take(path) != leaf)
        yield part, descent, path.take(other), leaf.take(other)


def _changes(table, descent, path, leaf):
    own = table.values.take(descent.own.take(path), axis=1)
    return table.values.take(leaf, axis=1) - own


def _meetings(table, leaves, features, cells):
    """Yield (slice of leaves, their rows of B)."""
    edges = [table.last_edge(leaves, feature) for feature in features]
    step = max(1, MEETINGS // len(cells))
    for start in range(0, len(leaves), step):
        some = slice(start, min(start + step, len(leaves)))
        meets = np.ones((some.stop - some.start, len(cells)), dtype=bool)
        for feature, edge, code in zip(features, edges, cells.T):
            meets &= table.admits(edge[some], feature, code)
        yield some, meets.astype(np.float64)
