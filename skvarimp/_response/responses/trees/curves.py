"""All leaves that rows reach as features move, and what the moves of a feature are.

Each row goes down each tree by its own values. At every split it passes on a feature
that may move, the other child is what the row would meet with that feature's value
on the other side. From there on, if features move one at a time, the row goes by its
own values again, but both ways at splits on the same feature. The last edge on the
moved feature knows the codes of that feature that lead to a leaf.
"""

from functools import cached_property

import numpy as np

from skvarimp._data.base_table import numbered
from skvarimp._response.shapes.steps import Steps
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
        return (
            np.concatenate([path, path.take(both)]),
            np.concatenate([node, other]),
            np.concatenate([edge, other]),
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


class Member:
    """A move of at most one feature, its grid in cells.

    Parameters
    ----------
    table : TreeTable
    position : int
    move : Move
    features : list of at most one int
        Features of the tree table that move.
    codes : ndarray of shape (n_values, len(features))
        Codes of the grid's values.

    Attributes
    ----------
    feature : int
        -1: none that any tree knows.
    used : ndarray of shape (n_cells,)
        Codes of the cells.
    n_cells : int
        Number of cells on the way down the trees.
    parts : PartCells or None
        Where rows move through the values of their own part only: the cells that
        curves are reduced over are then those of the parts.
    cell_of_value : ndarray of shape (n_values,)
        Of the cells that curves are reduced over.
    probabilities, multiplicity : ndarray
        Of the same cells.
    """

    def __init__(self, table, position, move, features, codes):
        self.position, self.feature = position, features[0] if features else -1
        if not features:
            codes = np.zeros((move.n_cells, 1), dtype=np.uint8)
        self.table = table
        self.used, cells = _numbered(codes[:, 0])
        self.n_cells, self.parts = len(self.used), None
        if move.parts is not None:
            self.parts = PartCells(move, cells, self.n_cells)
            cells = self.parts.of_value
        self.cell_of_value = cells.astype(np.min_scalar_type(int(cells.max())))
        self.probabilities = np.bincount(cells, move.probabilities)
        self.multiplicity = np.bincount(cells).astype(np.float64)

    @cached_property
    def edges(self):
        """The steps of each edge on the feature: where the cells it admits begin, end,
        begin again ...

        Returns
        -------
        start, count : ndarray of shape (n_edges,)
        steps : ndarray of shape (n_steps,)
            Cells.
        """
        count, steps = edge_steps(self.table, self.feature, self.used)
        start = (np.cumsum(count) - count).astype(np.int32)
        return start, count.astype(np.int16), steps.astype(np.int32)

    @cached_property
    def factors(self):
        """As `edges`, of what an edge admits minus 1: from -1 at the first cell on."""
        start, count, steps = self.edges
        return start + np.arange(len(start)), count + 1, np.insert(steps, start, 0)

    def first_values(self):
        """The first grid value of each cell on the way down the trees."""
        values = first_of_each(self.cell_of_value)
        return (
            values if self.parts is None else values[first_of_each(self.parts.cell_of)]
        )

    def steps_of(self, n_rows, row, edge, changes):
        """The `Steps` of rows from the leaves they visit as the feature moves.

        Parameters
        ----------
        n_rows : int
        row, edge : ndarray of shape (n_visits,)
            Edges counted among those on the feature.
        changes : ndarray of shape (n_raw, n_visits)
            By how much the visited leaf differs from the row's own.
        """
        start, count, steps = self.edges
        visit, turn = numbered(count.take(edge))
        cells = steps.take(start.take(edge).take(visit) + turn)
        # what an edge admits begins and ends by turns
        changes = changes.take(visit, axis=1) * (1 - 2 * (turn % 2))
        return Steps.of_changes(row.take(visit), cells, changes, n_rows, self.n_cells)


def _numbered(codes):
    """np.unique(codes, return_inverse=True) of small whole numbers, without a sort."""
    present = np.zeros(int(codes.max()) + 1, dtype=bool)
    present[codes] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[codes]


def first_of_each(cell_of_value):
    """The first grid value of each cell."""
    return np.unique(cell_of_value, return_index=True)[1]


def distinct(codes):
    """Distinct rows, and which each row is."""
    cells, inverse = np.unique(codes, axis=0, return_inverse=True)
    return cells, inverse.ravel()


def edge_steps(table, feature, used):
    """How many steps each edge on a feature has among cells, and all in a row.

    Returns
    -------
    count : ndarray of shape (n_edges,)
    at : ndarray of shape (count.sum(),)
        Cells where what an edge admits begins and ends by turns; an end behind the
        last cell is left out.
    """
    edges = table.edges_on(feature)
    if table.categorical[feature]:
        inside = table.edge_sets[table.edge_set[edges]][:, used]
        changes = np.diff(inside, axis=1, prepend=False)
        return changes.sum(axis=1), np.nonzero(changes)[1]
    # cells in order: codes of numbers, then perhaps that of missing values
    missing_code = table.missing_code[feature]
    is_used = np.zeros(missing_code + 1, dtype=bool)
    is_used[used] = True
    before = np.cumsum(is_used) - is_used  # cells before that of each code
    n_numbers = before[missing_code]
    some_missing = n_numbers < len(used)
    begin, end = before[table.low[edges]], before[table.high[edges]]
    some = end > begin
    missing = table.admits_missing[edges] & some_missing
    on = some & (end == n_numbers) & missing  # from the numbers into the missing cell
    ends = some & ~on & (end < len(used))
    where = np.column_stack([begin, end, np.broadcast_to(n_numbers, begin.shape)])
    there = np.column_stack([some, ends, missing & ~on])
    return there.sum(axis=1), where[there]


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
    cell_of : ndarray of shape (n_cells_of_parts,)
        The cell, among those of all rows, of each cell of the parts.
    of_value : ndarray of shape (n_values,)
        The cell of the parts of each of the move's values.
    """

    def __init__(self, move, cell_of_value, n_cells):
        self.n_cells, self.of_row = n_cells, move.parts.of_row
        key = move.parts.of_cell * n_cells + cell_of_value
        self._key, self.of_value = np.unique(key, return_inverse=True)
        part, cell = np.divmod(self._key, n_cells)
        self.cell_of = cell.astype(np.int32)
        self.bounds = np.searchsorted(part, np.arange(len(move.parts.bounds)))
        self._codes = move.codes

    def spans(self, rows):
        """First cell and the one behind the last of some rows' parts, (2, n_rows)."""
        part = self.of_row[rows]
        return np.stack([self.bounds[part], self.bounds[part + 1]])

    @property
    def has_own(self):
        """Whether the grid holds each row's own value."""
        return self._codes is not None

    def own(self, rows):
        """The cell of each row's own value, where the grid holds it.

        A row that is moved to its own value is not moved: exactly 0, not by rounding.
        """
        return self.of_value[self._codes[rows]].astype(np.int64)

    def steps(self, steps, rows):
        """`Steps` over the cells of all rows cut down to those of the rows' own parts.

        Parameters
        ----------
        steps : Steps
        rows : ndarray of shape (n_rows,)
            Rows of the table.
        """
        chunks, of_chunks, *pieces = zip(*steps.flat_pieces())
        row = np.concatenate([c.start + own for c, own in zip(chunks, of_chunks)])
        cells, moved = (np.concatenate(parts, axis=-1) for parts in pieces)
        bounds = steps.starts + np.arange(steps.n_rows + 1)
        spans = self.spans(rows)
        # the first cell of the row's part on each piece, and that on the next piece
        begin = np.searchsorted(
            self._key, self.of_row[rows][row] * self.n_cells + cells
        )
        end = np.append(begin[1:], 0)
        end[bounds[1:] - 1] = spans[1]
        if self.has_own:
            own = self.own(rows)
            moved[:, (begin <= own[row]) & (own[row] < end)] = 0.0
        kept = np.flatnonzero(begin < end)
        first = np.searchsorted(kept, bounds[:-1])
        bounds = np.stack([first, np.append(first[1:], len(kept)), spans[1]])
        n_cells = len(self.cell_of)
        return Steps.of_pieces(bounds, begin[kept], moved[:, kept], n_cells, spans)
