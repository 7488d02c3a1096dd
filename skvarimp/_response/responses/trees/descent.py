"""All leaves that rows reach as features move, in one walk down all trees.

Each row goes down each tree by its own values. At every split it passes on a feature
that may move, the other child is what the row would meet with that feature's value
on the other side. From there on, if features move one at a time, the row goes by its
own values again, but both ways at splits on the same feature. The last edge on the
moved feature knows the codes of that feature that lead to a leaf.
"""

import numpy as np
from scipy import sparse

from skvarimp._running.memory import BLOCK, CACHE, HELD, even_slices, numbers_at_once

TRIED = 8  # rows and cells that the choice between the two is made on


def rows_at_once(table, n_trees):
    """How many rows go down some trees of a table together."""
    paths, codes = numbers_at_once(CACHE), numbers_at_once(HELD)
    return max(1, min(paths // n_trees, codes // max(1, len(table.columns))))


def descents(table, codes, trees, moving, at_once, together=False):
    """Yield (slice of rows, Descent, path, leaf, edge): leaves that some rows reach.

    Parameters
    ----------
    table, codes, trees : see `Descent`
    moving, together : see `Descent.leaves`
    at_once : int
        Rows, at most; there are fewer where they reach too many leaves.
    """
    waiting = even_slices(len(codes), at_once)[::-1]
    while waiting:
        part = waiting.pop()
        descent, reached, n_reached = Descent(table, codes[part], trees), [], 0
        for some in descent.leaves(moving, together):
            reached.append(some)
            n_reached += len(some[0])
            if n_reached > numbers_at_once(BLOCK) and descent.n_rows > 1:
                middle = (part.start + part.stop) // 2
                waiting += [slice(middle, part.stop), slice(part.start, middle)]
                break
        else:
            yield part, descent, *(np.concatenate(parts) for parts in zip(*reached))


class Descent:
    """Some rows in some trees of a table.

    Parameters
    ----------
    table : TreeTable
    codes : ndarray of shape (n_rows, n_features)
        Codes of the rows.
    trees : ndarray of shape (n_trees,)
        The trees to go down.

    Attributes
    ----------
    own : ndarray of shape (n_trees * n_rows,)
        The leaf of each path (tree by tree, so that what is read of one tree stays in
        the cache), once all `leaves` were seen.
    """

    def __init__(self, table, codes, trees):
        self.table = table
        self.codes = np.ascontiguousarray(codes, dtype=np.int32).ravel()
        self.n_rows, self.n_trees = len(codes), len(trees)
        self.roots = table.roots[trees]
        self.any_missing = bool(np.any(codes == table.missing_code))
        rows = np.arange(self.n_rows, dtype=np.int32)
        self._rows = np.tile(rows, self.n_trees)
        self.first = self._rows * np.int32(len(table.columns))  # of a path in the codes
        self.own = np.empty(self.n_rows * self.n_trees, dtype=np.int32)

    def leaves(self, moving, together=False):
        """Yield (path, leaf, edge) of leaves reached as features move; fills `own`.

        A path is tree * n_rows + row; the edge is the last one on the moved feature,
        -1 where the path leads to the row's own leaf.

        Parameters
        ----------
        moving : ndarray of shape (n_features,)
            Which features move.
        together : bool
            Whether they move together, or each on its own.
        """
        path, most = np.arange(len(self.own), dtype=np.int32), numbers_at_once(CACHE)
        stack = [(path, np.repeat(self.roots, self.n_rows), np.full_like(path, -1))]
        while stack:
            state = stack.pop()
            half = len(state[0]) // 2
            if len(state[0]) > most:
                stack += [
                    tuple(a[half:] for a in state),
                    tuple(a[:half] for a in state),
                ]
                continue
            feature = self.table.feature.take(state[1])
            inner = feature >= 0
            if not inner.all():
                at_leaf, keep = np.flatnonzero(~inner), np.flatnonzero(inner)
                path, leaf, edge = reached = tuple(a.take(at_leaf) for a in state)
                self.own[path[edge < 0]] = leaf[edge < 0]
                yield reached
                feature, state = feature.take(keep), tuple(a.take(keep) for a in state)
            if len(feature):
                stack.append(self._below(*state, feature, moving, together))

    def _below(self, path, node, edge, feature, moving, together):
        """The children gone to, then the other ones where both are met."""
        children = self.table.children
        code = self.codes.take(self.first.take(path) + feature)
        left = self.table.goes_left(node, feature, code, self.any_missing)
        both = moving.take(feature)
        if not together:
            both &= (edge < 0) | (self.table.edge_feature.take(edge) == feature)
        both = np.flatnonzero(both)
        other = children.take((2 * node + ~left).take(both))
        node = children.take(2 * node + left)
        edge[both] = np.where(edge.take(both) < 0, -1, node.take(both))
        return tuple(
            np.concatenate(parts)
            for parts in ((path, path.take(both)), (node, other), (edge, other))
        )

    def row(self, path):
        """The row of each path."""
        return self._rows.take(path)

    def off_own(self, path, leaf, edge):
        """What is off the rows' own paths, and raw outputs there minus their own."""
        off = np.flatnonzero(edge >= 0)
        path, leaf, edge = path.take(off), leaf.take(off), edge.take(off)
        values = self.table.values
        changes = values.take(leaf, axis=1) - values.take(self.own.take(path), axis=1)
        return path, leaf, edge, changes

    def raw(self):
        """Sum over the trees of the own leaves' values, (n_raw, n_rows)."""
        own = self.table.values.take(self.own, axis=1)
        return own.reshape(len(own), self.n_trees, self.n_rows).sum(axis=1)


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
