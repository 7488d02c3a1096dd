"""From the leaves that rows visit to the steps of their curves."""

from functools import cached_property

import numpy as np

from skvarimp._data.table import ArrayTable
from skvarimp._data.values import numbers_if_possible
from skvarimp._response.responses.trees.descent import descents, rows_at_once
from skvarimp._response.shapes.steps import Steps
from skvarimp._running.memory import BLOCK, Memo, numbers_at_once


class TreeCodes:
    """A table and its moves as trees see them: codes of values.

    Parameters
    ----------
    trees : TreeTable

    Attributes
    ----------
    feature_of : dict
        Column of X -> feature of the tree table, if any tree splits on it.
    """

    def __init__(self, trees):
        self.trees = trees
        self.feature_of = {j: u for u, j in enumerate(trees.columns.tolist())}
        # the table itself and the few rows of a probe
        self._coded = Memo(most=2, travels=True)

    def rows(self, table):
        """Codes of a table's rows, (n_samples, n_features), made once a table."""
        return self._coded.get(table, lambda: self.trees.codes_of(table))

    def grid(self, table, move):
        """Features that move, and the codes of the grid's values.

        Returns
        -------
        features : list of int
        codes : ndarray of shape (n_values, len(features))
        """
        members = [
            (self.feature_of[j], m)
            for m, j in enumerate(move.entry.columns)
            if j in self.feature_of
        ]
        features = [u for u, _ in members]
        codes = np.empty((move.n_cells, len(features)), dtype=np.int32)
        donors, values = move.donors_of_columns, move.rows_of_values(slice(None))
        single = isinstance(table, ArrayTable) and table.native.dtype.kind == "f"
        for of_feature, (u, m) in zip(codes.T, members):
            if np.all(donors[:, m] >= 0):
                of_feature[:] = self.rows(table)[donors[:, m], u]
                continue
            numbers = numbers_if_possible(values[:, m])
            if single:  # as they are put into X
                numbers = numbers.astype(table.native.dtype)
            of_feature[:] = self.trees.codes(u, numbers)
        return features, codes

    def keys(self, table, entry):
        """Codes of an entry's own values, (n_samples, n_keys): equal in one cell."""
        features = self.features(entry)
        if not features:
            return np.zeros((table.n_samples, 1), dtype=np.int32)
        return self.rows(table)[:, features]

    def features(self, entry):
        """The features among an entry's columns."""
        return [self.feature_of[j] for j in entry.columns if j in self.feature_of]

    def is_group(self, entry):
        """Whether an entry has several columns that trees split on."""
        return len(self.features(entry)) > 1


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

    def steps_of(self, buffer, n_rows, row, edge, changes):
        """The `Steps` of rows from the leaves they visit as the feature moves.

        Parameters
        ----------
        buffer : ndarray of shape (n_raw, at least n_rows * n_cells)
            Zeros, to work in; zeros again afterwards.
        n_rows : int
        row, edge : ndarray of shape (n_visits,)
            Edges counted among those on the feature.
        changes : ndarray of shape (n_raw, n_visits)
            By how much the visited leaf differs from the row's own.
        """
        width = self.n_cells
        buffer = buffer[:, : n_rows * width]
        self._scatter(buffer, row * np.int64(width), edge, changes)
        any_jump = buffer[0] != 0
        for of_output in buffer[1:]:
            any_jump |= of_output != 0
        first = buffer[:, ::width].copy()
        any_jump[::width] = False
        at = np.flatnonzero(any_jump)
        jumps = buffer.take(at, axis=1)
        buffer[:, at] = 0.0
        buffer[:, ::width] = 0.0
        row_starts = np.arange(n_rows + 1) * width
        starts = np.searchsorted(at, row_starts)
        positions = at - np.repeat(row_starts[:-1], np.diff(starts))
        return Steps(first, starts, positions.astype(np.int32), jumps, width)

    def _scatter(self, buffer, first, edge, changes):
        """Add up steps; what an edge admits begins and ends by turns."""
        start, count, steps = self.edges
        start, count = start.take(edge), count.take(edge)
        s, visit = 0, np.flatnonzero(count)
        while len(visit):
            key = first.take(visit) + steps.take(start.take(visit) + s)
            for of_output, change in zip(buffer, changes):
                if s % 2:
                    np.subtract.at(of_output, key, change.take(visit))
                else:
                    np.add.at(of_output, key, change.take(visit))
            s += 1
            visit = np.flatnonzero(count > s)


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
    jumps = numbers_at_once(BLOCK) // (largest * table.n_raw)
    at_once = max(1, min(rows_at_once(table, len(trees)), jumps))
    buffer = np.zeros((table.n_raw, min(at_once, len(codes)) * largest))
    for _, descent, *reached in descents(table, codes, trees, moving, at_once):
        steps = list(_steps_of_leaves(descent, reached, members, buffer))
        yield steps, descent.raw()


def _steps_of_leaves(descent, reached, members, buffer):
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
        of_member = row[mine], edge[mine], changes[:, mine]
        yield member.steps_of(buffer, descent.n_rows, *of_member)


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

    def own(self, rows):
        """The cell of each row's own value; empty where the grid has values of its own.

        A row that is moved to its own value is not moved: exactly 0, not by rounding.
        """
        if self._codes is None:
            return np.empty(0, dtype=np.int64)
        return self.of_value[self._codes[rows]].astype(np.int64)

    def steps(self, steps, rows):
        """`Steps` over the cells of all rows cut down to those of the rows' own parts.

        Parameters
        ----------
        steps : Steps
        rows : ndarray of shape (n_rows,)
            Rows of the table.
        """
        bounds, cells, moved = _pieces_of(steps)
        row = np.repeat(np.arange(len(rows)), bounds[1] - bounds[0])
        spans = self.spans(rows)
        # the first cell of the row's part on each piece, and that on the next piece
        begin = np.searchsorted(
            self._key, self.of_row[rows][row] * self.n_cells + cells
        )
        end = np.append(begin[1:], 0)
        end[bounds[1] - 1] = spans[1]
        own = self.own(rows)
        if len(own):
            moved[:, (begin <= own[row]) & (own[row] < end)] = 0.0
        kept = np.flatnonzero(begin < end)
        first = np.searchsorted(kept, bounds[0])
        bounds = np.stack([first, np.append(first[1:], len(kept)), spans[1]])
        n_cells = len(self.cell_of)
        return Steps.of_pieces(bounds, begin[kept], moved[:, kept], n_cells, spans)


def _pieces_of(steps):
    """The bounds, cells and values that `Steps.of_pieces` makes steps of."""
    bounds = steps.starts + np.arange(steps.n_rows + 1)
    cells = np.zeros(bounds[-1], dtype=np.int64)
    cells[np.arange(len(steps.positions)) + steps.rows + 1] = steps.positions
    moved = np.empty((len(steps.first), bounds[-1]))
    for chunk in steps.chunks():
        part = steps.part(chunk)
        _, values, _ = part.pieces()
        filled = np.arange(values.shape[2]) <= np.diff(part.starts)[:, np.newaxis]
        moved[:, bounds[chunk.start] : bounds[chunk.stop]] = values[:, filled]
    return np.stack([bounds[:-1], bounds[1:]]), cells, moved
