"""What the compiled descent is given, and the pieces of curves that come out.

The moves of one walk become flat arrays once (`Strips`); the rows of each task go down,
some at a time. Links are followed, and reductions run, on the pieces of all curves
(`TreePieces`), or on `Steps` where no kernel reduces.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from skvarimp._compiled import kernel
from skvarimp._models.tree_table import QUESTIONS
from skvarimp._response.losses import AbsoluteError, SquaredError
from skvarimp._response.mean_curves import (
    IndividualFlatness,
    MeanCurve,
    PartialDependence,
)
from skvarimp._response.reductions import Observed, Pairs, Range
from skvarimp._response.responses.trees.curves import edge_steps
from skvarimp._response.shapes.steps import Steps
from skvarimp._response.shares import OwnShare, TotalShare
from skvarimp._running.memory import BLOCK, CACHE, at_once

DESCENT = kernel("descent")
WORD = 64  # a member's flat cells begin at a multiple of it


@dataclass
class TreePieces:
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

    def linked(self, linked):
        """The pieces of the response from those of raw outputs.

        Parameters
        ----------
        linked : list of callable
            One for all members, or each its own.
        """
        if len(linked) == 1:
            moved = linked[0](self.moved, self.rows, self.cells)
            return TreePieces(self.starts, self.cells, moved)
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
        return TreePieces(self.starts, self.cells, moved)


class KernelCurves(NamedTuple):
    """Curves of some members as kernels take them, see `pieces.pyx`."""

    begins: np.ndarray
    ends: np.ndarray
    last: np.ndarray
    cells: np.ndarray
    moved: np.ndarray

    def steps(self, n_cells, spans=None):
        """Make the `Steps` of one member."""
        bounds = np.hstack([self.begins, self.ends]).T
        return Steps.of_pieces(bounds, self.cells, self.moved, n_cells, spans)


def steps_of_rows(table, codes, members, with_raw=False):
    """Do as `plain.steps_of_rows`."""
    plan = Strips(table, members, with_raw, apart=True)
    for _, pieces, raw in plan.pieces(codes):
        each = enumerate(plan.n_cells)
        yield [plan.on_strips(pieces, [m]).steps(n) for m, n in each], raw


class Strips:
    """Members of a walk as flat arrays.

    Members of one feature share a *strip*: the cells of all of them, through which the
    feature is moved once.

    Parameters
    ----------
    table : TreeTable
    members : list of Member
        Those without a feature have one cell, to which no edge leads.
    all_trees : bool, default=False
        Whether rows go down all trees, or those alone with features that move.
    apart : bool, default=False
        Whether each member has a strip of its own, that of its position in the list.

    Attributes
    ----------
    strip_of : ndarray of shape (n_members,)
        Of each member.
    cell_of : list of ndarray
        The strip's cells that are a member's.
    is_cut : list of bool
        Whether rows of a member do not move through all cells of its strip.
    way_of : list
        Equal for members whose curves are the same.
    n_cells : ndarray of shape (n_strips,), int64
    n_flat : int
        Of all strips, each from a multiple of 64 on.
    forest, arrays : tuple
        What `Descent` is given.
    """

    def __init__(self, table, members, all_trees=False, apart=False):
        self.table, self.flat, self.members = table, table.flat, members
        trees = np.arange(len(table.roots))
        if not all_trees:
            moving = [member.feature for member in members]
            trees = table.trees_with(np.isin(np.arange(len(table.columns)), moving))
        small = table.max_leaves <= QUESTIONS + 1
        twigs = table.twigs if small else None
        self.forest = table.roots[trees], table.max_depth, twigs
        keys = range(len(members)) if apart else [m.feature for m in members]
        strips = {}
        for key, member in zip(keys, members):
            strips.setdefault(key, []).append(member)
        number = {key: s for s, key in enumerate(strips)}
        self.strip_of = np.array([number[key] for key in keys])
        features = np.array([of_strip[0].feature for of_strip in strips.values()])
        codes = [[m.used for m in of_strip] for of_strip in strips.values()]
        used = [np.unique(np.concatenate(of_strip)) for of_strip in codes]
        self.cell_of = [
            np.searchsorted(used[s], m.used).astype(np.int32)
            for s, m in zip(self.strip_of, members)
        ]
        self.is_cut = [
            m.parts is not None or len(used[s]) > m.n_cells
            for s, m in zip(self.strip_of, members)
        ]
        self.way_of = [
            (s, m.used.tobytes()) if m.parts is None else m
            for s, m in zip(self.strip_of.tolist(), members)
        ]
        self.n_cells = np.array([len(codes) for codes in used], dtype=np.int64)
        rounded = -(-self.n_cells // WORD) * WORD
        first_cell, self.n_flat = np.cumsum(rounded) - rounded, int(rounded.sum())
        marks, spans = _marks(table, features, used, first_cell)
        opens = (spans[:, 0] < spans[:, 1]).view(np.uint8)
        self.arrays = opens, marks, spans, first_cell, self.n_cells, self.n_flat

    def on_strips(self, pieces, some):
        """The `KernelCurves` of some members over all cells of their strips."""
        strips = self.strip_of[some]
        if np.all(np.diff(strips) == 1):  # then without a copy
            strips = slice(strips[0], strips[-1] + 1)
        begins, ends = pieces.starts[:, :-1][:, strips], pieces.starts[:, 1:][:, strips]
        last = np.broadcast_to(self.n_cells[strips], begins.shape)
        return KernelCurves(begins, ends, last, pieces.cells, pieces.moved)

    def curves(self, pieces, some, rows):
        """The curves of some members, over the cells that each row moves through.

        Parameters
        ----------
        pieces : TreePieces
        some : list of int
            Members that are all cut, or none of them.
        rows : ndarray of shape (n_rows,)
            Rows of the table.

        Returns
        -------
        KernelCurves
        """
        curves = self.on_strips(pieces, some)
        if not self.is_cut[some[0]]:
            return curves
        cells, own = [], np.full((len(rows), len(some)), -1)
        spans = np.zeros((2, len(rows), len(some)), dtype=np.int64)
        for k, m in enumerate(some):
            parts = self.members[m].parts
            if parts is None:
                cells.append(self.cell_of[m])
                spans[1, :, k] = len(cells[-1])
                continue
            cells.append(self.cell_of[m][parts.cell_of])
            spans[:, :, k] = parts.spans(rows)
            if parts.has_own:
                own[:, k] = parts.own(rows)
        places = np.cumsum([0, *map(len, cells[:-1])])
        cut = DESCENT.cut(curves, spans, np.concatenate(cells), places, own)
        return KernelCurves(*cut)

    def pieces(self, codes):
        """Yield the curves of rows, some at a time.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, n_features)

        Yields
        ------
        rows : slice
        pieces : TreePieces
            Of the raw outputs; overwritten by the next.
        raw : ndarray of shape (n_raw, n_rows)
            Sums of the rows' own leaves, in the trees that they go down.
        """
        descent = DESCENT.Descent(self.flat, self.forest, self.arrays)
        # all nodes are read once per call: many of them are worth many rows
        most = max(CACHE, min(BLOCK, 4 * len(self.table.feature)))
        codes = np.ascontiguousarray(codes, dtype=np.int32)
        first, per_row = 0, self.n_flat * self.table.n_raw  # at most
        while first < len(codes):
            n_rows = at_once(per_row, most)
            rows = slice(first, min(first + n_rows, len(codes)))
            starts, cells, moved, raw = descent.pieces(codes[rows])
            yield rows, TreePieces(starts, cells, moved), raw
            per_row = (len(cells) * len(moved)) // len(starts) + 1
            first = rows.stop


def _marks(table, features, used, first_cell):
    """Where what the edges admit begins and ends, strip by strip.

    Parameters
    ----------
    table : TreeTable
    features : ndarray of shape (n_strips,)
    used : list of ndarray
        Codes of the cells of each strip.
    first_cell : ndarray of shape (n_strips,)

    Returns
    -------
    marks, spans : ndarray
        See `Descent`.
    """
    marks, n = [np.empty(0, dtype=np.int32)], 0
    spans = np.zeros((len(table.feature), 2), dtype=np.int64)
    for feature in np.unique(features[features >= 0]):
        edges, of_feature = [], []
        for s in np.flatnonzero(features == feature):
            count, cells = edge_steps(table, feature, used[s])
            begins = np.cumsum(count) - count
            at, ends = cells + first_cell[s], np.arange(len(cells))
            ends -= begins.repeat(count)
            np.invert(at, out=at, where=ends % 2 > 0)
            edges.append(np.arange(len(count)).repeat(count))
            of_feature.append(at)
        at = of_feature[0]
        if len(edges) > 1:  # all marks of an edge together
            order = np.argsort(np.concatenate(edges), kind="stable")
            at = np.concatenate(of_feature)[order]
            count = np.bincount(np.concatenate(edges), minlength=len(count))
        spans[table.edges_on(feature), 1] = n + np.cumsum(count)
        spans[table.edges_on(feature), 0] = n + np.cumsum(count) - count
        marks.append(at)
        n += len(at)
    return np.concatenate(marks).astype(np.int32), spans


# What the kernel `reduce`, or `means`, calls a reduction, by its exact type.
KINDS = {
    Pairs: "pairs",
    Observed: "distances",
    TotalShare: "variances",
    SquaredError: "squares",
    AbsoluteError: "distances",
    Range: "extents",
    IndividualFlatness: "deviations",
    PartialDependence: "means",
    OwnShare: "means",
    MeanCurve: "drifts",
}
