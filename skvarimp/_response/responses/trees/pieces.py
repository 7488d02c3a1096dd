"""The curves of rows as values on pieces, for all moves of a walk.

The moves become flat arrays once (`TreeGrids`). The rows of each task go down the
trees, some at a time, by a compiled kernel or by plain NumPy, which find the same
pieces of all curves. Links are followed, and reductions run, on the pieces, or on
`Steps` where no kernel reduces.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from skvarimp._compiled import kernel
from skvarimp._response.responses.trees.curves import Linked, PartCells, pieces_of
from skvarimp._response.shape import Cells
from skvarimp._response.steps import Steps
from skvarimp._running.memory import BLOCK, CACHE, at_once

DESCENT = kernel("descent")
WORD = 64  # a strip's flat cells begin at a multiple of it


class TreeMove:
    """A move of at most one feature, its grid in cells.

    Parameters
    ----------
    table : TreeTable
    position : int or None
        Of the move among others.
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
    cell_on_way : ndarray of shape (n_values,)
        Which of these each value is in.
    parts : PartCells or None
        Where rows move through the values of their own part only: the cells that
        curves are reduced over are then those of the parts.
    cell_of_value : ndarray of shape (n_values,)
        Of the cells that curves are reduced over.
    cells : Cells
        The same cells, of one feature.
    """

    def __init__(self, table, position, move, features, codes):
        self.position, self.feature = position, features[0] if features else -1
        if not features:
            codes = np.zeros((move.n_cells, 1), dtype=np.uint8)
        self.table = table
        self.used, cells = _numbered(codes[:, 0])
        self.n_cells, self.parts = len(self.used), None
        self.cell_on_way = self.cell_of_value = cells
        if move.parts is not None:
            self.parts = PartCells(move, cells, self.n_cells)
            self.cell_of_value = self.parts.of_value
        self.cells = Cells.of(move).joined(self.cell_of_value)

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
        edge, steps, _ = edge_steps(self.table, self.feature, self.used)
        count = np.bincount(edge, minlength=len(self.table.edges_on[self.feature]))
        start = (np.cumsum(count) - count).astype(np.int32)
        return start, count.astype(np.int16), steps.astype(np.int32)

    @cached_property
    def factors(self):
        """As `edges`, of what an edge admits minus 1: from -1 at the first cell on."""
        start, count, steps = self.edges
        return start + np.arange(len(start)), count + 1, np.insert(steps, start, 0)

    def first_values(self):
        """The first grid value of each cell on the way down the trees."""
        return first_of_each(self.cell_on_way)


def _numbered(codes):
    """np.unique(codes, return_inverse=True) of small whole numbers, without a sort."""
    present = np.zeros(int(codes.max()) + 1, dtype=bool)
    present[codes] = True
    used = np.flatnonzero(present)
    numbers = np.cumsum(present) - 1
    return used, numbers.astype(np.min_scalar_type(len(used)))[codes]


def first_of_each(cell_of_value):
    """The first grid value of each cell."""
    return np.unique(cell_of_value, return_index=True)[1]


def distinct(codes):
    """Distinct rows, and which each row is."""
    cells, inverse = np.unique(codes, axis=0, return_inverse=True)
    return cells, inverse.ravel()


def edge_steps(table, feature, used):
    """Where what the edges on a feature admit begins and ends among cells.

    Returns
    -------
    edge : ndarray of shape (n_steps,)
        Among those on the feature, ascending.
    cell : ndarray of shape (n_steps,)
        Ascending for each edge. An end behind the last cell is left out.
    ends : ndarray of shape (n_steps,), bool
        Whether what the edge admits ends there.
    """
    edges = table.edges_on[feature]
    if table.categorical[feature]:
        inside = table.edge_sets[table.edge_set[edges]][:, used]
        edge, cell = np.nonzero(np.diff(inside, axis=1, prepend=False))
        return edge, cell, ~inside[edge, cell]
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
    edge, which = np.nonzero(np.array([some, ends, missing & ~on]).T)
    where = np.array([begin, end, np.full_like(begin, n_numbers)])
    return edge, where[which, edge], which == 1


class Curves(NamedTuple):
    """Curves of some rows on some strips, as kernels take them.

    Attributes
    ----------
    begins, ends : ndarray of shape (n_rows, n_strips)
        Row i has the pieces begins[i, s] to ends[i, s] of strip s.
    last : ndarray of shape (n_rows, n_strips)
        The cell behind the last piece.
    cells : ndarray of shape (n_pieces,)
        The first cell of each piece.
    moved : ndarray of shape (n_outputs, n_pieces)
        The response moved minus unmoved.
    """

    begins: np.ndarray
    ends: np.ndarray
    last: np.ndarray
    cells: np.ndarray
    moved: np.ndarray


class TreeGrids:
    """Members of a walk as flat arrays.

    Members of one feature with the same cells share a *strip*, through which the
    feature is moved once.

    Parameters
    ----------
    response : TreeResponse
        Behind a link rows go down all trees, else those alone with features that move,
        or one tree if there are none.
    members : list of TreeMove
        Those without a feature have one cell, to which no edge leads.

    Attributes
    ----------
    strip_of : ndarray of shape (n_members,)
        Of each member.
    firsts : list of TreeMove
        One of each strip.
    trees : ndarray of shape (n_trees,)
        That rows go down.
    arrays, given : tuple
        The members as flat arrays, and all that the kernel `Descent` is given.
    """

    def __init__(self, response, members):
        self.response, self.table, self.members = response, response.trees, members
        self.compiled, firsts = response.compiled, {}
        keys = [(member.feature, member.used.tobytes()) for member in members]
        for key, member in zip(keys, members):
            firsts.setdefault(key, member)
        number = {key: s for s, key in enumerate(firsts)}
        self.strip_of = np.array([number[key] for key in keys])
        self.firsts = list(firsts.values())
        n_cells = np.array([first.n_cells for first in self.firsts], dtype=np.int64)
        rounded = -(-n_cells // WORD) * WORD
        first_cell = np.cumsum(rounded) - rounded
        marks, spans = _marks(self.table, self.firsts, first_cell)
        opens = (spans[:, 0] < spans[:, 1]).view(np.uint8)
        self.arrays = opens, marks, spans, first_cell, n_cells, int(rounded.sum())
        features = [first.feature for first in self.firsts]
        self.moving = np.isin(np.arange(len(self.table.columns)), features)
        self.trees = self.table.trees_with(self.moving)
        if response.link is not None:
            self.trees = np.arange(len(self.table.roots))
        elif not len(self.trees):
            self.trees = np.arange(1)
        if self.compiled:
            forest = self.table.roots[self.trees], self.table.max_depth
            self.given = self.table.flat, forest, self.arrays

    def curves_of(self, rows, moves):
        """Yield the curves of rows, some at a time.

        Parameters
        ----------
        rows : Rows
        moves : sequence of Move
            By the members' positions.

        Yields
        ------
        part : slice
            Of the rows.
        curves : Curves
            Row by row and then strip by strip; overwritten by the next.
        """
        for part, curves, raw in self.pieces(self.response.codes.of(rows)):
            if self.response.link is not None:
                linked = Linked(self.response, rows.block(part), raw)
                curves = self._linked(curves, linked, moves)
            yield part, curves

    def pieces(self, codes):
        """Yield slices of rows, the `Curves` of their raw outputs, and these.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, n_features)

        Yields
        ------
        part : slice
        curves : Curves
        raw : ndarray of shape (n_raw, n_rows)
            Sums of the rows' own leaves, in the trees that they go down.
        """
        found = self._by_kernel(codes) if self.compiled else pieces_of(self, codes)
        for rows, starts, cells, moved, raw in found:
            begins, ends = starts[:, :-1], starts[:, 1:]
            last = np.broadcast_to(self.arrays[4], begins.shape)
            yield rows, Curves(begins, ends, last, cells, moved), raw

    def _by_kernel(self, codes):
        """Yield slices of rows and what `Descent.pieces` gives for them."""
        table, n_flat = self.table, self.arrays[-1]
        descent = DESCENT.Descent(*self.given)
        # all nodes are read once per call: many of them are worth many rows
        most = max(CACHE, min(BLOCK, 4 * len(table.feature)))
        codes = np.ascontiguousarray(codes, dtype=np.int32)
        first, per_row = 0, n_flat * table.n_raw  # at most
        while first < len(codes):
            rows = slice(first, min(first + at_once(per_row, most), len(codes)))
            starts, cells, moved, raw = descent.pieces(codes[rows])
            yield rows, starts, cells, moved, raw
            per_row = (len(cells) * len(moved)) // len(starts) + 1
            first = rows.stop

    def _linked(self, curves, linked, moves):
        """The curves of the response from those of raw outputs."""
        begins, ends = curves.begins, curves.ends
        rows = np.repeat(np.arange(len(begins)), ends[:, -1] - begins[:, 0])

        def asked(at):
            number = np.searchsorted(begins.ravel(), at, side="right") - 1
            for s in np.unique(number % len(self.firsts)):
                some, member = at[number % len(self.firsts) == s], self.firsts[s]
                values = member.first_values()[curves.cells[some]]
                yield some, moves[member.position], values

        *places, moved = curves
        return Curves(*places, linked(moved, rows, asked))

    def at(self, curves, cells):
        """Yield the curves of each member at values of its rows' own.

        Parameters
        ----------
        curves : Curves
        cells : list of ndarray of shape (n_times, n_rows or 1)
            Values of the members' moves.

        Yields
        ------
        ndarray of shape (n_outputs, n_times, n_rows)
            The response moved minus unmoved.
        """
        begins, ends, _, first_cells, moved = curves
        n_most = max(first.n_cells for first in self.firsts)
        keys = np.arange(begins.size).reshape(begins.shape) * n_most
        of_pieces = keys.ravel().repeat((ends - begins).ravel()) + first_cells
        for member, strip, values in zip(self.members, self.strip_of, cells):
            asked = keys[:, strip] + member.cell_on_way[values]
            yield moved[:, np.searchsorted(of_pieces, asked, side="right") - 1]

    def some_curves(self, curves, some, rows):
        """The curves of some members, over the cells that each row moves through.

        Parameters
        ----------
        curves : Curves
            Of all strips.
        some : sequence of int
            Members; one alone if it has parts.
        rows : ndarray of shape (n_rows,)
            Rows of the table.

        Returns
        -------
        Curves
        """
        strips, parts = self.strip_of[list(some)], self.members[some[0]].parts
        if np.all(np.diff(strips) == 1):  # then without a copy
            strips = slice(strips[0], strips[-1] + 1)
        begins, ends, last = (strip_numbers[:, strips] for strip_numbers in curves[:3])
        curves = Curves(begins, ends, last, curves.cells, curves.moved)
        return curves if parts is None else parts.cut(curves, rows)

    def joined_steps(self, rows, moves):
        """The `Steps` of the first member of all rows; arguments as of `curves_of`."""
        parts = self.curves_of(rows, moves)
        return Steps.joined(
            [self.steps(curves, 0, rows.index[part]) for part, curves in parts]
        )

    def steps(self, curves, m, rows):
        """The `Steps` of one member; arguments as of `some_curves`."""
        member = self.members[m]
        spans = None if member.parts is None else member.parts.spans(rows)
        own = self.some_curves(curves, [m], rows)
        bounds = np.hstack([own.begins, own.ends]).T
        n_cells = member.cells.probabilities.size
        return Steps.of_pieces(bounds, own.cells, own.moved, n_cells, spans)


def _marks(table, firsts, first_cell):
    """Where what the edges admit begins and ends, in the cells of all strips.

    Parameters
    ----------
    table : TreeTable
    firsts : list of TreeMove
        One of each strip.
    first_cell : ndarray of shape (n_strips,)

    Returns
    -------
    marks, spans : ndarray
        See `Descent`.
    """
    none = np.empty(0, dtype=np.int32)
    edges, marks = [none], [none]
    for first, start in zip(firsts, first_cell):
        if first.feature < 0:
            continue
        edge, cell, ends = edge_steps(table, first.feature, first.used)
        at = cell + start
        marks.append(np.invert(at, out=at, where=ends))
        edges.append(table.edges_on[first.feature][edge])
    edges, marks = np.concatenate(edges), np.concatenate(marks).astype(np.int32)
    if len({first.feature for first in firsts}) < len(firsts):
        together = np.argsort(edges, kind="stable")  # all marks of an edge
        edges, marks = edges[together], marks[together]
    spans = np.zeros((len(table.feature), 2), dtype=np.int64)
    spans[edges, 1] = np.arange(1, len(edges) + 1)  # the last one stays
    spans[:, 0] = spans[:, 1] - np.bincount(edges, minlength=len(spans))
    return marks, spans
