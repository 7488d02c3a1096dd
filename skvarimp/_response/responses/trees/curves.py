"""All leaves that rows reach as features move: the descent in plain NumPy.

Each row goes down each tree by its own values. At every split it passes on a feature
that may move, the other child is what the row would meet with that feature's value
on the other side. From there on, if features move one at a time, the row goes by its
own values again, but both ways at splits on the same feature. The last edge on the
moved feature knows the codes of that feature that lead to a leaf.
"""

import numpy as np

from skvarimp._data.base_table import numbered
from skvarimp._response.contract import BlackBoxResponse
from skvarimp._response.steps import Steps
from skvarimp._running.memory import BLOCK, CACHE, HELD, even_slices, numbers_at_once


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
            path, node, _ = state = stack.pop()
            half = len(path) // 2
            if len(path) > most:
                stack += [[a[half:] for a in state], [a[:half] for a in state]]
                continue
            feature = self.table.feature.take(node)
            inner = feature >= 0
            if not inner.all():
                at_leaf, keep = np.flatnonzero(~inner), np.flatnonzero(inner)
                path, leaf, edge = reached = [a.take(at_leaf) for a in state]
                self.own[path[edge < 0]] = leaf[edge < 0]
                yield reached
                feature, state = feature.take(keep), [a.take(keep) for a in state]
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
        return (
            np.concatenate([path, path.take(both)]),
            np.concatenate([node, other]),
            np.concatenate([edge, other]),
        )

    def row(self, path):
        """The row of each path."""
        return self._rows.take(path)

    def changes(self, path, leaf):
        """Raw outputs at leaves minus those at the rows' own, (n_raw, n)."""
        values = self.table.values
        return values.take(leaf, axis=1) - values.take(self.own.take(path), axis=1)

    def raw(self):
        """Sum over the trees of the own leaves' values, (n_raw, n_rows)."""
        own = self.table.values.take(self.own, axis=1)
        return own.reshape(len(own), self.n_trees, self.n_rows).sum(axis=1)


def pieces_of(grids, codes):
    """Yield slices of rows and their pieces, as the kernel `Descent` finds them.

    Parameters
    ----------
    grids : TreeGrids
    codes : ndarray of shape (n_rows, n_features)
    """
    table, (_, marks, spans, first_cell, n_cells, _) = grids.table, grids.arrays
    n_strips = len(n_cells)
    # what an edge admits begins and ends
    jumps = numbers_at_once(BLOCK) // (2 * n_cells.max() * table.n_raw)
    most = max(1, min(rows_at_once(table, len(grids.trees)), jumps))
    for part, descent, path, leaf, edge in descents(
        table, codes, grids.trees, grids.moving, most
    ):
        off = np.flatnonzero(edge >= 0)
        path, edge = path.take(off), edge.take(off)
        row, changes = descent.row(path), descent.changes(path, leaf.take(off))
        start, end = spans.take(edge, axis=0).T
        visit, turn = numbered(end - start)
        mark = marks.take(start.take(visit) + turn)
        cell, sign = np.maximum(mark, ~mark), np.where(mark < 0, -1.0, 1.0)
        row, changes = row.take(visit), changes.take(visit, axis=1) * sign
        strip = np.searchsorted(first_cell, cell, side="right") - 1
        strip = strip.astype(np.min_scalar_type(n_strips))  # sorts faster
        order = np.argsort(strip, kind="stable")
        ends = np.searchsorted(strip[order], np.arange(1, n_strips))
        found = []
        for s, some in enumerate(np.split(order, ends)):
            own = row[some], cell[some] - first_cell[s], changes[:, some]
            steps = Steps.of_changes(*own, descent.n_rows, n_cells[s])
            for chunk, rows, cells, moved in steps.flat_pieces():
                found.append(((chunk.start + rows) * n_strips + s, cells, moved))
        curve, cells, moved = (np.concatenate(a, axis=-1) for a in zip(*found))
        order = np.argsort(curve, kind="stable")
        curves = np.arange(descent.n_rows)[:, np.newaxis] * n_strips
        starts = np.searchsorted(curve[order], curves + np.arange(n_strips + 1))
        cells = cells[order].astype(np.int32)
        yield part, starts, cells, moved[:, order], descent.raw()


class Linked:
    """Response moved minus unmoved of some rows, from raw outputs moved minus unmoved.

    A label that is decided by no more than the response's `doubt` is asked from the
    model itself, whose sum of the same numbers in another order may decide otherwise.

    Parameters
    ----------
    response : TreeResponse
        With a link.
    rows : Rows
    raw : ndarray of shape (n_raw, n_rows)
        Sums of the rows' own leaves.
    """

    def __init__(self, response, rows, raw):
        self.response, self.rows = response, rows
        self.link, self.raw = response.link, raw + response.offset[:, np.newaxis]
        # of a smooth link our own, so that what does not move is exactly 0
        self.unmoved = rows.base if self.link.discrete else self.link(self.raw)[0]

    def __call__(self, moved, rows, asked):
        """Link raw outputs moved minus unmoved.

        Parameters
        ----------
        moved : ndarray of shape (n_raw, n)
        rows : ndarray of shape (n,)
            Positions among the rows.
        asked : callable
            asked(at) yields (some of the positions at, move, value of each) for what
            the model itself is to decide.

        Returns
        -------
        ndarray of shape (n_outputs, n)
        """
        total = self.raw.take(rows, axis=1) + moved
        if not self.link.discrete:
            result, _ = self.link(total)
        else:
            result, response = self.link.decided(total), self.response
            black_box = BlackBoxResponse(response.model, response.n_outputs)
            unsure = np.flatnonzero(self.link.lead(total) <= response.doubt)
            for at, *cells_asked in asked(unsure):
                index = self.rows.index[rows[at]]
                result[:, at] = black_box.at(self.rows.table, index, *cells_asked)
        return result - self.unmoved.take(rows, axis=1)


class PartCells:
    """The cells of one member in each part of the rows.

    Parameters
    ----------
    move : Move
        With parts.
    cell_of_value : ndarray of shape (n_values,)
        The cell, among those of all rows, of each of the move's values.
    n_cells : int
        Number of cells of all rows.

    Attributes
    ----------
    of_value : ndarray of shape (n_values,)
        The cell of the parts of each of the move's values.
    """

    def __init__(self, move, cell_of_value, n_cells):
        self.n_cells, self.of_row = n_cells, move.parts.of_row
        key = move.parts.of_cell * n_cells + cell_of_value
        self._key, self.of_value = np.unique(key, return_inverse=True)
        part = self._key // n_cells
        self.bounds = np.searchsorted(part, np.arange(len(move.parts.bounds)))
        self._codes = move.codes

    def spans(self, rows):
        """First cell and the one behind the last of some rows' parts, (2, n_rows)."""
        part = self.of_row[rows]
        return np.stack([self.bounds[part], self.bounds[part + 1]])

    def cut(self, curves, rows):
        """One member's `Curves` cut down to the cells of the rows' own parts.

        Parameters
        ----------
        curves : Curves
            Over the cells of all rows.
        rows : ndarray of shape (n_rows,)
            Rows of the table.
        """
        first, (_, end_of_part) = curves.begins[:, 0], self.spans(rows)
        row, turn = numbered(curves.ends[:, 0] - first)
        at = first[row] + turn
        bounds = np.searchsorted(row, np.arange(len(rows) + 1))
        # the first cell of the row's part on each piece, and that on the next piece
        key = self.of_row[rows][row] * self.n_cells + curves.cells[at]
        begin = np.searchsorted(self._key, key)
        end = np.roll(begin, -1)
        end[bounds[1:] - 1] = end_of_part
        moved = curves.moved[:, at]
        if self._codes is not None:
            # a row moved to its own value is not moved: exactly 0, not by rounding
            own = self.of_value[self._codes[rows]][row]
            moved[:, (begin <= own) & (own < end)] = 0.0
        kept = np.flatnonzero(begin < end)
        bounds = np.searchsorted(kept, bounds)[:, np.newaxis]
        last, cells = end_of_part[:, np.newaxis], begin[kept].astype(np.int32)
        return type(curves)(bounds[:-1], bounds[1:], last, cells, moved[:, kept])
