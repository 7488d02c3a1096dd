"""What the compiled descent is given, and the pieces of curves that come out.

The moves of one walk become flat arrays once (`Plan`); the rows of each task go down,
some at a time. Links are followed, and reductions run, on the pieces of all curves
(`Pieces`), or on `Steps` where no kernel reduces.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from skvarimp._compiled import masses as kernels
from skvarimp._compiled.descent import Descent
from skvarimp._response.shapes.steps import Steps
from skvarimp._running.memory import BLOCK, CACHE, at_once, slices

WORD = 64  # a member's flat cells begin at a multiple of it
QUESTIONS = 8  # splits of trees so small that all answers to them are remembered,
ANSWERS = 2**23  # and how many answers of codes to splits there may be, in bytes


@dataclass
class Pieces:
    """The curves of some rows as values on pieces, for all members of a plan.

    Attributes
    ----------
    starts : ndarray of shape (n_rows, n_members + 1)
        Row i has the pieces starts[i, m] to starts[i, m + 1] of member m.
    cells : ndarray of shape (n_pieces,)
        The first cell of each piece.
    moved : ndarray of shape (n_outputs, n_pieces)
        The response moved minus unmoved.
    """

    starts: np.ndarray
    cells: np.ndarray
    moved: np.ndarray

    @property
    def rows(self):
        """The row of each piece."""
        return np.repeat(np.arange(len(self.starts)), np.ptp(self.starts, axis=1))

    def curves(self, m, n_cells):
        """The curves of member m, as kernels take them: bounds, cells, moved."""
        bounds = np.empty((3, len(self.starts)), dtype=np.int64)
        bounds[:2], bounds[2] = self.starts[:, m : m + 2].T, n_cells
        return bounds, self.cells, self.moved

    def linked(self, linked):
        """The pieces of the response from those of raw outputs.

        Parameters
        ----------
        linked : list of Linked
            One for all members, or each its own.
        """
        if len(linked) == 1:
            moved = linked[0](self.moved, self.rows, self.cells)
            return Pieces(self.starts, self.cells, moved)
        rows, parts = self.rows, []
        member = np.diff(self.starts, axis=1).ravel()
        member = np.tile(np.arange(len(linked)), len(self.starts)).repeat(member)
        order = np.argsort(member, kind="stable")
        ends = np.searchsorted(member[order], np.arange(len(linked) + 1))
        for of_member, (first, end) in zip(linked, pairwise(ends)):
            at = order[first:end]
            parts.append(of_member(self.moved[:, at], rows[at], self.cells[at]))
        moved = np.empty((len(parts[0]), len(rows)))
        moved[:, order] = np.concatenate(parts, axis=1)
        return Pieces(self.starts, self.cells, moved)

    def steps(self, m, n_cells):
        """The `Steps` of member m."""
        return Steps.of_pieces(*self.curves(m, n_cells), n_cells)


def steps_of_rows(table, codes, members, with_raw=False):
    """As `curves.steps_of_rows`."""
    plan = Plan(table, members)
    parts, raw = {member.position: [] for member in members}, []
    for _, pieces, own in plan.pieces(codes, with_raw):
        for m, member in enumerate(plan.members):
            parts[member.position].append(pieces.steps(m, member.n_cells))
        raw.append(own)
    steps = {position: Steps.joined(of_one) for position, of_one in parts.items()}
    return steps, np.concatenate(raw, axis=1) if with_raw else None


def count_masses(paths, roots, codes, weights, masses):
    """As `masses.count_masses`."""
    table = paths.table
    codes = np.ascontiguousarray(codes, dtype=np.int32)
    firsts = [paths.first(size) for size in range(len(masses))]
    for rows in slices(codes.shape[1], table.max_depth + 2, 4 * BLOCK):
        kernels.count_masses(
            table.flat,
            roots,
            paths.rank,
            table.max_depth,
            np.ascontiguousarray(codes[:, rows]),
            weights[rows],
            firsts,
            masses,
        )


class Plan:
    """Members of a walk as flat arrays.

    Parameters
    ----------
    table : TreeTable
    members : list of Member
        Each with a feature.
    """

    def __init__(self, table, members):
        self.table, self.members, self._forests = table, members, {}
        self.moving = np.zeros(len(table.columns), dtype=bool)
        self.moving[[member.feature for member in members]] = True
        n_cells = np.array([member.n_cells for member in members], dtype=np.int64)
        rounded = -(-n_cells // WORD) * WORD
        first_cell, n_flat = np.cumsum(rounded) - rounded, int(rounded.sum())
        opens = np.zeros(len(table.feature), dtype=np.uint8)
        for member in members:
            opens[table.edges_on(member.feature)[member.count > 0]] = True
        marks, first_mark = self._marks(first_cell)
        self.arrays = opens, marks, first_mark, first_cell, n_cells, n_flat

    def _marks(self, first_cell):
        """The marks of all edges, edge after edge, and where each edge's begin."""
        n_marks = np.zeros(len(self.table.feature), dtype=np.int64)
        for member in self.members:
            n_marks[self.table.edges_on(member.feature)] += member.count
        first_mark = np.concatenate([[0], np.cumsum(n_marks)])
        marks, free = np.empty(first_mark[-1], dtype=np.int32), first_mark[:-1].copy()
        for first, member in zip(first_cell, self.members):
            edges = self.table.edges_on(member.feature)
            number = np.arange(len(member.steps))
            at = number + np.repeat(free[edges] - member.start, member.count)
            ends = (number - np.repeat(member.start, member.count)) % 2 == 1
            cells = (member.steps + first).astype(np.int32)
            marks[at] = np.where(ends, ~cells, cells)
            free[edges] += member.count
        return marks, first_mark

    def forest(self, all_trees):
        """All trees, or those with features that move, as `Descent` reads them."""
        if all_trees not in self._forests:
            self._forests[all_trees] = self._forest(all_trees)
        return self._forests[all_trees]

    def _forest(self, all_trees):
        table = self.table
        which = np.arange(len(table.roots))
        if not all_trees:
            which = table.trees_with(self.moving)
        questions = np.empty((len(which), 0), dtype=np.int32)
        if table.max_leaves - 1 <= QUESTIONS:
            inner = table.feature[table.feature >= 0]
            if (table.missing_code + 1)[inner].sum() <= ANSWERS:
                questions = _inner_nodes(table)[which]
        return np.ascontiguousarray(table.roots[which]), questions, table.max_depth

    def pieces(self, codes, with_raw):
        """Yield the curves of rows, some at a time.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, n_features)
        with_raw : bool
            Whether the rows' own raw outputs are wanted, too.

        Yields
        ------
        rows : slice
        pieces : Pieces
            Of the raw outputs; overwritten by the next.
        raw : ndarray of shape (n_raw, n_rows)
            Sums of the rows' own leaves.
        """
        descent = Descent(self.table.flat, self.forest(with_raw), self.arrays)
        # all nodes are read once per call: many of them are worth many rows
        most = max(CACHE, min(BLOCK, 4 * len(self.table.feature)))
        codes, first, n_rows = np.ascontiguousarray(codes, dtype=np.int32), 0, 1
        while first < len(codes):
            rows = slice(first, min(first + n_rows, len(codes)))
            starts, cells, moved, raw = descent.pieces(codes[rows])
            yield rows, Pieces(starts, cells, moved), raw
            per_row = (len(cells) * len(moved)) // len(starts) + 1
            n_rows = min(4 * n_rows, at_once(per_row, most))
            first = rows.stop

    def along(self, codes, slopes):
        """Products of rows' curves with numbers of the cells.

        result[m][o, i] = sum_k slopes[m][o, k] (curve of row i, moved minus unmoved)

        Parameters
        ----------
        codes : ndarray of shape (n_rows, n_features)
        slopes : list of ndarray of shape (n_raw, n_cells)
            Of each member.

        Returns
        -------
        ndarray of shape (n_members, n_raw, n_rows)
        """
        *_, first_cell, _, n_flat = self.arrays
        behind = np.zeros((n_flat, self.table.n_raw))
        for first, slope in zip(first_cell, slopes):
            sums = np.cumsum(slope[:, ::-1], axis=1)[:, ::-1]
            behind[first : first + sums.shape[1]] = sums.T
        words = np.arange(0, n_flat, WORD)
        member = np.searchsorted(first_cell, words, side="right") - 1
        descent = Descent(self.table.flat, self.forest(False), self.arrays)
        codes = np.ascontiguousarray(codes, dtype=np.int32)
        return descent.along(codes, behind, member.astype(np.int32)).transpose(1, 2, 0)


def _inner_nodes(table):
    """The inner nodes of each tree, then -1, (n_trees, most of a tree)."""
    nodes = np.flatnonzero(table.feature >= 0)
    tree = table.tree[nodes]
    first = np.searchsorted(tree, np.arange(len(table.roots)))
    result = np.full((len(table.roots), table.max_leaves - 1), -1, dtype=np.int32)
    result[tree, np.arange(len(nodes)) - first[tree]] = nodes
    return result
