"""By plain NumPy: steps of curves, groups of columns that move together, and links.

`compiled_trees` has the kernels that find the same steps.
"""

from functools import partial

import numpy as np
from scipy import sparse

from skvarimp._response.contract import BlackBoxResponse
from skvarimp._response.responses.trees.curves import (
    descents,
    distinct,
    first_of_each,
    rows_at_once,
)
from skvarimp._running.memory import BLOCK, HELD, even_slices, numbers_at_once

TRIED = 8  # rows and cells that the choice between the two is made on


def steps_of_rows(table, codes, members, with_raw=False):
    """Yield the steps of some rows' curves, as each feature moves on its own.

    Parameters
    ----------
    table : TreeTable
    codes : ndarray of shape (n_rows, n_features)
    members : list of Member
        Each with a feature.
    with_raw : bool
        Whether the rows' own raw outputs are wanted, too.

    Yields
    ------
    steps : list of Steps
        Of each member, for so many rows that fit together.
    raw : ndarray of shape (n_raw, n_rows)
        Sums of the rows' own leaves, in all trees if `with_raw`.
    """
    moving = np.zeros(len(table.columns), dtype=bool)
    moving[[member.feature for member in members]] = True
    trees = np.arange(len(table.roots)) if with_raw else table.trees_with(moving)
    largest = max(member.n_cells for member in members)
    # what an edge admits begins and ends
    jumps = numbers_at_once(BLOCK) // (2 * largest * table.n_raw)
    at_once = max(1, min(rows_at_once(table, len(trees)), jumps))
    for _, descent, *reached in descents(table, codes, trees, moving, at_once):
        yield list(_steps_of_leaves(descent, reached, members)), descent.raw()


def _steps_of_leaves(descent, reached, members):
    """Yield the Steps of each member."""
    table = descent.table
    path, _, edge, changes = descent.off_own(*reached)
    feature = table.edge_feature.take(edge)
    order = np.argsort(feature.astype(table.small), kind="stable")
    row, changes = descent.row(path.take(order)), changes.take(order, axis=1)
    edge = table.edge_rank.take(edge.take(order))
    bounds = np.searchsorted(feature.take(order), np.arange(len(table.columns) + 1))
    for member in members:
        mine = slice(bounds[member.feature], bounds[member.feature + 1])
        yield member.steps_of(descent.n_rows, row[mine], edge[mine], changes[:, mine])


class Group:
    """Columns that move together through some cells.

    A leaf's conditions split into those on the moved columns and all others. With

        A[i, l] = row i meets leaf l's conditions on the columns that stay,
        B[l, k] = the values of cell k meet those on the columns that move,

    exactly one leaf of each tree has A[i, l] B[l, k] = 1, so that with v the leaves'
    values and own(i, l) the leaf of l's tree that row i is in unmoved

        moved[i, k] = sum_l A[i, l] (v[l] - v[own(i, l)]) B[l, k].

    Of the two, the one with fewer leaves a row (or a cell) is found by going down the
    trees, both ways at every split it leaves open, and kept sparse; the other is
    dense, some leaves at a time.

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

    def moved(self, codes, weights=None):
        """Raw outputs moved minus unmoved of rows' codes, (n_raw, n_rows, n_cells).

        With weights, their weighted sum over the rows, (n_raw, 1, n_cells).
        """
        n_rows = len(codes) if weights is None else 1
        result = np.zeros((self.table.n_raw, n_rows, len(self.cells)))
        if not self._rows_reach_fewer(codes):
            self._add_by_cells(result, codes, weights)
        elif weights is None:
            self._add_by_rows(result, codes)
        else:
            self._add_mean_by_rows(result, codes, weights)
        return result

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
        """Yield (rows, n_rows, row, leaf, value minus own), own leaves left out."""
        for part, descent, *reached in self._reached(codes, self.moving):
            path, leaf, _, change = descent.off_own(*reached)
            yield part, descent.n_rows, descent.row(path), leaf, change

    def _add_by_rows(self, result, codes):
        for part, n_rows, row, leaf, changes in self._changes(codes):
            leaves, column = np.unique(leaf, return_inverse=True)
            incidence = [
                sparse.csc_array((change, (row, column)), (n_rows, len(leaves)))
                for change in changes
            ]
            for some, meets in self._meetings(leaves, self.features, self.cells):
                for of_output, of_rows in zip(result, incidence):
                    of_output[part] += of_rows[:, some] @ meets

    def _add_mean_by_rows(self, result, codes, weights):
        masses = np.zeros(self.table.values.shape)
        for part, _, row, leaf, changes in self._changes(codes):
            weight = weights[part].take(row)
            for mass, change in zip(masses, changes):
                mass += np.bincount(leaf, weight * change, len(mass))
        leaves = np.flatnonzero(masses.any(axis=0))
        for some, meets in self._meetings(leaves, self.features, self.cells):
            result[:, 0] += masses[:, leaves[some]] @ meets

    def _add_by_cells(self, result, codes, weights):
        cells, others = self._codes_of_cells(), codes[:, self.staying]
        for part, descent, path, leaf, _ in self._reached(cells, ~self.moving):
            leaves, column = np.unique(leaf, return_inverse=True)
            entries = np.ones(len(leaf)), (descent.row(path), column)
            admitted = sparse.csc_array(entries, (descent.n_rows, len(leaves)))
            for some, meets in self._meetings(leaves, self.staying, others):
                if weights is not None:
                    meets = (meets @ weights)[:, np.newaxis]
                values = self.table.values[:, leaves[some]]
                for of_output, value in zip(result, values):
                    by_cell = admitted[:, some] @ (value[:, np.newaxis] * meets)
                    of_output[:, part] += by_cell.T
        raw = self.table.raw(codes, self.trees)
        if weights is not None:
            result -= (raw @ weights)[:, np.newaxis, np.newaxis]
            return
        result -= raw[:, :, np.newaxis]
        # a row moved to its own values is exactly where it was
        own = _key(codes[:, self.features])[:, np.newaxis] == _key(self.cells)
        result[:, own] = 0.0

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


def mean_of_group(response, table, rows, weights, features, codes):
    """Mean curves over the joint codes of any number of features."""
    cells, cell_of_value = distinct(codes)
    group = Group(response.trees, features, cells)
    mean = group.moved(response.codes.rows(table)[rows], weights)[:, 0]
    return mean[:, cell_of_value]


def group_curves(response, table, rows, move, base):
    """ICE curves of columns that move together."""
    features, codes = response.codes.grid(table, move)
    cells, cell_of_value = distinct(codes)
    own = response.codes.rows(table)[rows]
    moved = Group(response.trees, features, cells).moved(own)
    if response.link is not None:
        linked = Linked(response, table, rows, base, response.trees.raw(own))
        row, cell = np.divmod(np.arange(moved[0].size), len(cells))
        of_cells = move, first_of_each(cell_of_value)
        moved = linked(moved.reshape(len(moved), -1), row, cell, *of_cells)
        moved = moved.reshape(response.n_outputs, len(rows), len(cells))
    ice = np.add(base[:, :, np.newaxis], moved, out=moved)
    return ice[:, :, cell_of_value]


class Linked:
    """Response moved minus unmoved of some rows, from raw outputs moved minus unmoved.

    A label that is decided by no more than the response's `doubt` is asked from the
    model itself, whose sum of the same numbers in another order may decide otherwise.

    Parameters
    ----------
    response : TreeResponse
        With a link.
    table, rows, base : see `Response.curves`
    raw : ndarray of shape (n_raw, n_rows)
        Sums of the rows' own leaves.
    """

    def __init__(self, response, table, rows, base, raw):
        self.response, self.table, self.rows = response, table, rows
        self.link, self.raw = response.link, raw + response.offset[:, np.newaxis]
        # of a smooth link our own, so that what does not move is exactly 0
        self.unmoved = base if self.link.discrete else self.link(self.raw)[0]

    def __call__(self, moved, rows, cells, move=None, value_of_cell=None):
        """Link raw outputs moved minus unmoved.

        Parameters
        ----------
        moved : ndarray of shape (n_raw, n)
        rows, cells : ndarray of shape (n,)
            Rows are positions among the rows.
        move : Move or None
        value_of_cell : ndarray of shape (n_cells,) or None
            A value of the move in each cell; needed for a discrete link.

        Returns
        -------
        ndarray of shape (n_outputs, n)
        """
        total = self.raw.take(rows, axis=1) + moved
        if not self.link.discrete:
            result, _ = self.link(total)
        else:
            result, response = self.link.decided(total), self.response
            unsure = np.flatnonzero(self.link.lead(total) <= response.doubt)
            if len(unsure):
                asked = self.rows[rows[unsure]], move, value_of_cell[cells[unsure]]
                black_box = BlackBoxResponse(response.model, response.n_outputs)
                result[:, unsure] = black_box.at(self.table, *asked)
        return result - self.unmoved.take(rows, axis=1)

    def of_each(self, members, moves):
        """One function for all members, or for each its own if the model is asked.

        Parameters
        ----------
        members : list of Member
        moves : sequence of Move
            By the members' positions.
        """
        if not self.link.discrete:
            return [self]
        moved = [(moves[m.position], m.first_values()) for m in members]
        return [
            partial(self, move=move, value_of_cell=values) for move, values in moved
        ]
