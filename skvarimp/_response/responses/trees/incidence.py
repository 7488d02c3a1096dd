"""Several columns of an ensemble moved together, by which leaves rows and cells meet.

A leaf's conditions split into those on the moved columns and all others. With

    A[i, l] = row i meets leaf l's conditions on the columns that stay,
    B[l, k] = the values of cell k meet those on the columns that move,

exactly one leaf of each tree has A[i, l] B[l, k] = 1, so that with v the leaves'
values and own(i, l) the leaf of l's tree that row i is in unmoved

    moved[i, k] = sum_l A[i, l] (v[l] - v[own(i, l)]) B[l, k].

Of the two, the one with fewer leaves a row (or a cell) is found by going down the
trees, both ways at every split it leaves open, and kept sparse; the other is dense,
some leaves at a time.
"""

import numpy as np
from scipy import sparse

from skvarimp._response.responses.trees.descent import descents, rows_at_once
from skvarimp._running.memory import HELD, even_slices, numbers_at_once

TRIED = 8  # rows and cells that the choice between the two is made on


class Group:
    """Columns that move together through some cells.

    Parameters
    ----------
    table : TreeTable
    features : list of int
    cells : ndarray of shape (n_cells, len(features))
        Distinct joint codes.
    """

    def __init__(self, table, features, cells):
        self.table, self.features, self.cells = table, features, cells
        self.moving = np.zeros(len(table.columns), dtype=bool)
        self.moving[features] = True
        self.staying = np.flatnonzero(~self.moving)
        self.trees = table.trees_with(self.moving)

    def moved(self, codes):
        """Raw outputs moved minus unmoved, (n_raw, n_rows, n_cells), of rows' codes."""
        result = np.zeros((self.table.n_raw, len(codes), len(self.cells)))
        if self._rows_reach_fewer(codes):
            self._add_by_rows(result, codes)
        else:
            self._add_by_cells(result, codes)
        return result

    def mean_moved(self, codes, weights):
        """sum_i weights[i] of `moved`, (n_raw, n_cells), a leaf at a time."""
        if self._rows_reach_fewer(codes):
            return self._mean_by_rows(codes, weights)
        return self._mean_by_cells(codes, weights)

    def _rows_reach_fewer(self, codes):
        """Whether a row meets fewer leaves' conditions than a cell does."""
        rows = codes[:: max(1, len(codes) // TRIED)][:TRIED]
        cells = self._codes_of_cells()
        cells = cells[:: max(1, len(cells) // TRIED)][:TRIED]
        of_rows = sum(len(leaf) for *_, leaf, _ in self._reached(rows, self.moving))
        of_cells = sum(len(leaf) for *_, leaf, _ in self._reached(cells, ~self.moving))
        return of_rows * len(cells) <= of_cells * len(rows)

    def _codes_of_cells(self):
        codes = np.zeros((len(self.cells), len(self.moving)), dtype=np.int32)
        codes[:, self.features] = self.cells
        return codes

    def _reached(self, codes, moving):
        """Yield (slice of rows, descent, path, leaf, edge): leaves that codes admit."""
        at_once = rows_at_once(self.table, len(self.trees))
        return descents(self.table, codes, self.trees, moving, at_once, together=True)

    def _changes(self, codes):
        """Yield (rows, descent, path, leaf, value minus own), own leaves left out."""
        for part, descent, *reached in self._reached(codes, self.moving):
            path, leaf, _, change = descent.off_own(*reached)
            yield part, descent, path, leaf, change

    def _add_by_rows(self, result, codes):
        for part, descent, path, leaf, changes in self._changes(codes):
            leaves, column = np.unique(leaf, return_inverse=True)
            rows, shape = descent.row(path), (descent.n_rows, len(leaves))
            incidence = [
                sparse.csc_array((change, (rows, column)), shape=shape)
                for change in changes
            ]
            for some, meets in self._meetings(leaves, self.features, self.cells):
                for of_output, of_rows in zip(result, incidence):
                    of_output[part] += of_rows[:, some] @ meets

    def _mean_by_rows(self, codes, weights):
        masses = np.zeros(self.table.values.shape)
        for part, descent, path, leaf, changes in self._changes(codes):
            weight = weights[part].take(descent.row(path))
            for mass, change in zip(masses, changes):
                mass += np.bincount(leaf, weight * change, len(mass))
        leaves = np.flatnonzero(masses.any(axis=0))
        result = np.zeros((len(masses), len(self.cells)))
        for some, meets in self._meetings(leaves, self.features, self.cells):
            result += masses[:, leaves[some]] @ meets
        return result

    def _by_cells(self):
        """Yield (slice of cells, leaves, B' as (n_cells, n_leaves))."""
        cells = self._codes_of_cells()
        for part, descent, path, leaf, _ in self._reached(cells, ~self.moving):
            leaves, column = np.unique(leaf, return_inverse=True)
            shape = (descent.n_rows, len(leaves))
            ones = np.ones(len(leaf))
            entries = (ones, (descent.row(path), column))
            yield part, leaves, sparse.csc_array(entries, shape=shape)

    def _add_by_cells(self, result, codes):
        for part, leaves, admitted in self._by_cells():
            others = codes[:, self.staying]
            for some, meets in self._meetings(leaves, self.staying, others):
                values = self.table.values[:, leaves[some]]
                for of_output, value in zip(result, values):
                    by_cell = admitted[:, some] @ (value[:, np.newaxis] * meets)
                    of_output[:, part] += by_cell.T
        result -= self.table.raw(codes, self.trees)[:, :, np.newaxis]
        # a row moved to its own values is exactly where it was
        own = _key(codes[:, self.features])[:, np.newaxis] == _key(self.cells)
        result[:, own] = 0.0

    def _mean_by_cells(self, codes, weights):
        result = np.empty((self.table.n_raw, len(self.cells)))
        for part, leaves, admitted in self._by_cells():
            others = codes[:, self.staying]
            masses = np.empty(len(leaves))
            for some, meets in self._meetings(leaves, self.staying, others):
                masses[some] = meets @ weights
            values = self.table.values[:, leaves] * masses
            result[:, part] = (admitted @ values.T).T
        own = self.table.raw(codes, self.trees) @ weights
        return result - own[:, np.newaxis]

    def _meetings(self, leaves, features, codes):
        """Yield (slice of leaves, which codes meet their conditions on features)."""
        edges = [self.table.last_edge(leaves, feature) for feature in features]
        step = max(1, numbers_at_once(HELD) // len(codes))
        for some in even_slices(len(leaves), step):
            meets = np.ones((some.stop - some.start, len(codes)), dtype=bool)
            for feature, edge, code in zip(features, edges, codes.T):
                if np.any(edge[some] >= 0):
                    meets &= self.table.admits(edge[some], feature, code)
            yield some, meets.astype(np.float64)


def _key(codes):
    """One value per row of codes, equal for equal rows."""
    codes = np.ascontiguousarray(codes, dtype=np.int32)
    return codes.view([("", np.int32)] * codes.shape[1]).ravel()
