"""Curves that are constant but for a few steps, another few for each row.

With d the response moved minus unmoved, of row i over the cells c of one feature:

    d[o, i, c] = first[o, i] + sum of jumps[o, s] over row i's steps s at or before c

A row's *pieces* are what lies between its steps. The reductions run over pieces, so
that an ensemble's thousands of cells cost only those a row's own curve needs.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import block_diag

from skvarimp._data.base_table import numbered
from skvarimp._data.statistics import running_sums
from skvarimp._response.shape import Chunk, Shape
from skvarimp._running.memory import CACHE, slices


@dataclass
class Steps:
    """The curves of some rows; see the module's formula.

    Attributes
    ----------
    first : ndarray of shape (n_outputs, n_rows)
    starts : ndarray of shape (n_rows + 1,)
        Row i has the steps starts[i] to starts[i + 1].
    positions : ndarray of shape (n_steps,)
        Cells at which they happen, ascending in each row, none at cell 0.
    jumps : ndarray of shape (n_outputs, n_steps)
    n_cells : int
    spans : ndarray of shape (2, n_rows) or None
        The first cell of each row's grid and the one behind its last, where rows move
        through some of the cells only. None: all rows move through all cells.
    """

    first: np.ndarray
    starts: np.ndarray
    positions: np.ndarray
    jumps: np.ndarray
    n_cells: int
    spans: np.ndarray | None = None

    @staticmethod
    def of_values(values, rows, cells, base, n_cells):
        """From the response at some cells, each of which holds up to the next.

        Parameters
        ----------
        values : ndarray of shape (n_outputs, n)
        rows, cells : ndarray of shape (n,)
            By row and then by cell, ascending; each row has cell 0.
        base : ndarray of shape (n_outputs, n_rows)
            The unmoved response.
        n_cells : int
        """
        begins = np.searchsorted(rows, np.arange(base.shape[1]))
        jumps = np.diff(values, axis=1, prepend=0.0)
        changes = jumps.any(axis=0)
        changes[begins] = False
        at = np.flatnonzero(changes)
        starts = np.searchsorted(rows[at], np.arange(base.shape[1] + 1))
        return Steps(values[:, begins] - base, starts, cells[at], jumps[:, at], n_cells)

    @staticmethod
    def of_changes(rows, cells, changes, n_rows, n_cells):
        """From changes of curves that start from 0, in any order.

        Parameters
        ----------
        rows, cells : ndarray of shape (n,)
        changes : ndarray of shape (n_outputs, n)
        n_rows, n_cells : int
        """
        key = rows * n_cells + cells
        there = np.zeros(n_rows * n_cells, dtype=bool)
        there[key] = there[::n_cells] = True
        at = np.flatnonzero(there)
        rank = np.cumsum(there)[key] - 1
        sums = np.stack([np.bincount(rank, c, len(at)) for c in changes])
        begins = np.searchsorted(at, np.arange(n_rows) * n_cells)
        steps = np.delete(np.arange(len(at)), begins)
        starts = np.append(begins - np.arange(n_rows), len(steps))
        positions = (at[steps] % n_cells).astype(np.int32)
        return Steps(sums[:, begins], starts, positions, sums[:, steps], n_cells)

    @staticmethod
    def together(parts):
        """The steps of several functions of the same rows, as outputs in turn."""
        n_rows, n_cells = parts[0].n_rows, parts[0].n_cells
        every, zero = np.arange(n_rows), np.zeros(n_rows, dtype=np.intp)
        rows = np.concatenate([np.append(every, part.rows) for part in parts])
        cells = np.concatenate([np.append(zero, part.positions) for part in parts])
        changes = block_diag(*(np.hstack([part.first, part.jumps]) for part in parts))
        return Steps.of_changes(rows, cells, changes, n_rows, n_cells)

    @staticmethod
    def joined(parts):
        """The steps of consecutive blocks of rows, as one."""
        ends = np.cumsum([part.starts[-1] for part in parts])
        starts = [parts[0].starts] + [
            part.starts[1:] + end for part, end in zip(parts[1:], ends)
        ]
        return Steps(
            np.concatenate([part.first for part in parts], axis=1),
            np.concatenate(starts),
            np.concatenate([part.positions for part in parts]),
            np.concatenate([part.jumps for part in parts], axis=1),
            parts[0].n_cells,
        )

    @staticmethod
    def of_pieces(bounds, cells, moved, n_cells, spans=None):
        """From values on pieces; row i has those of bounds[0, i] to bounds[1, i].

        Parameters
        ----------
        bounds : ndarray of shape (2 or more, n_rows)
        cells : ndarray of shape (n_pieces,)
            The first cell of each piece.
        moved : ndarray of shape (n_outputs, n_pieces)
        n_cells, spans
            See the class.
        """
        first = bounds[0]
        counts = bounds[1] - first - 1
        starts = np.concatenate([[0], np.cumsum(counts)])
        row, turn = numbered(counts)
        at = first[row] + 1 + turn
        jumps = moved[:, at] - moved[:, at - 1]
        return Steps(moved[:, first], starts, cells[at], jumps, n_cells, spans)

    @property
    def n_rows(self):
        """Number of rows."""
        return len(self.starts) - 1

    @property
    def rows(self):
        """The row of each step."""
        return np.repeat(np.arange(self.n_rows), np.diff(self.starts))

    def chunks(self):
        """Slices of rows of about `CACHE` pieces."""
        most = np.diff(self.starts).max(initial=0)
        return slices(self.n_rows, (int(most) + 1) * len(self.first), CACHE)

    def part(self, rows):
        """The steps of a slice of the rows."""
        starts = self.starts[rows.start : rows.stop + 1]
        steps = slice(starts[0], starts[-1])
        return Steps(
            self.first[:, rows],
            starts - starts[0],
            self.positions[steps],
            self.jumps[:, steps],
            self.n_cells,
            None if self.spans is None else self.spans[:, rows],
        )

    def pieces(self):
        """Rows padded to equally many pieces with pieces of no cells.

        Returns
        -------
        positions : ndarray of shape (n_rows, n_pieces + 1)
            First cell of each piece, and the end.
        moved : ndarray of shape (n_outputs, n_rows, n_pieces)
        at : ndarray of shape (n_steps,)
            Flat position of the piece behind each step.
        """
        counts = np.diff(self.starts)
        n_pieces = int(counts.max(initial=0)) + 1
        row, turn = numbered(counts)
        at = row * n_pieces + 1 + turn
        begin, end = (0, self.n_cells) if self.spans is None else self.spans
        positions = np.empty((self.n_rows, n_pieces + 1), dtype=np.intp)
        positions.T[:] = end
        positions[:, 0] = begin
        positions[row, turn + 1] = self.positions
        moved = np.zeros((len(self.first), self.n_rows * n_pieces))
        moved[:, ::n_pieces] = self.first
        moved[:, at] = self.jumps
        moved = moved.reshape(-1, self.n_rows, n_pieces)
        return positions, np.cumsum(moved, axis=2, out=moved), at

    def flat_pieces(self):
        """All pieces of some rows in a row, by chunks of rows.

        Yields
        ------
        chunk : slice
            Of the rows.
        rows, cells : ndarray of shape (n,)
            The row of each piece, counted from the chunk's first, and its first cell.
        moved : ndarray of shape (n_outputs, n)
            The function on the piece.
        """
        for chunk in self.chunks():
            positions, moved, at = self.part(chunk).pieces()
            n_outputs, n_rows, n_pieces = moved.shape
            at = np.sort(np.append(np.arange(n_rows) * n_pieces, at))
            rows, pieces = np.divmod(at, n_pieces)
            moved = moved.reshape(n_outputs, -1)[:, at]
            yield chunk, rows, positions[rows, pieces], moved

    def mapped(self, function):
        """The curves of function(d), computed once a piece.

        Parameters
        ----------
        function : callable
            function(moved, rows, cells) -> (n_outputs, n) of moved (n_raw, n), the
            values of d on pieces of the rows, of which `cells` is the first cell.
        """
        results = []
        for chunk, rows, cells, moved in self.flat_pieces():
            values = function(moved, chunk.start + rows, cells)
            unmoved = np.zeros((len(values), chunk.stop - chunk.start))
            results.append(Steps.of_values(values, rows, cells, unmoved, self.n_cells))
        return Steps.joined(results)

    def over_rows(self, weights):
        """sum_i weights[i] d[o, i, c], (n_outputs, n_cells)."""
        return self.by_group(weights, np.zeros(self.n_rows, dtype=np.intp), 1)[:, 0]

    def by_group(self, weights, groups, n_groups):
        """Sums of weights[i] d[o, i, c] over the rows of each group.

        Returns
        -------
        ndarray of shape (n_outputs, n_groups, n_cells)
        """
        rows = self.rows
        key = groups[rows] * self.n_cells + self.positions
        weight = weights[rows]
        sums = np.empty((len(self.first), n_groups, self.n_cells))
        for o, (first, jumps) in enumerate(zip(self.first, self.jumps)):
            at_steps = np.bincount(key, jumps * weight, n_groups * self.n_cells)
            sums[o] = at_steps.reshape(n_groups, -1)
            sums[o, :, 0] += np.bincount(groups, first * weights, n_groups)
        return np.cumsum(sums, axis=2, out=sums)


def settled(values, gap):
    """Values that are 0 or 1 but for rounding made so, in place.

    Parameters
    ----------
    values : ndarray
        Shares that are known to be 0, 1, or at least `gap` from both.
    gap : float
        0: nothing is known.
    """
    if gap > 0.0:
        whole = values > 0.5
        off = values - whole
        np.copyto(values, whole, where=np.abs(off, out=off) < gap / 2)
    return values


class StepCurves(Shape):
    """Curves of one feature by their steps.

    Parameters
    ----------
    rows, cells : see `Shape`
        The cells are those of one feature.
    steps : Steps
    gap : float
        See `settled`.
    """

    def __init__(self, rows, cells, steps, gap=0.0):
        Shape.__init__(self, rows, cells)
        self.steps, self.gap = steps, gap

    def parts(self):
        for part in self.steps.chunks():
            rows, steps = self.rows.block(part), self.steps.part(part)
            yield Pieces(rows, self.cells, steps, self.gap)

    def sums(self, weights):
        return self.steps.over_rows(weights)[np.newaxis]

    def sums_by_group(self, weights, groups, n_groups):
        """Forms no pieces."""
        return self.steps.by_group(weights, groups, n_groups)[np.newaxis], None


class Pieces(StepCurves, Chunk):
    """The values of some rows' curves on each row's own pieces.

    The arrays have as many "cells" as the row of most steps has pieces; `chances` and
    `multiplicity` say of each row's pieces how probable and how many values they are.

    Parameters
    ----------
    rows, cells : see `Shape`
    steps : Steps
    gap : float
        See `settled`.
    """

    def __init__(self, rows, cells, steps, gap):
        super().__init__(rows, cells, steps, gap)
        self.positions, moved, _ = steps.pieces()
        self.moved = self.values = moved[np.newaxis]

    def _on_pieces(self, numbers):
        """Sums over the cells of each piece, (n_rows, n_pieces)."""
        below = running_sums(numbers[0])
        return np.diff(below[self.positions], axis=1)

    @property
    def ice(self):
        """The response on each row's pieces, (1, n_outputs, n_rows, n_pieces)."""
        return settled(self.moved + self.rows.base[..., np.newaxis], self.gap)

    @cached_property
    def chances(self):
        return self._on_pieces(self.cells.probabilities)[np.newaxis, np.newaxis]

    @property
    def multiplicity(self):
        """Number of grid values on each piece, (1, n_rows, n_pieces)."""
        return self._on_pieces(self.cells.multiplicity)[np.newaxis]

    def over_cells(self, values):
        return np.einsum("boik,boik->boi", values, self.chances)

    def over_rows(self, values):
        """A curve is 0 on the cells that its row has not."""
        n_cells, weights = self.steps.n_cells, self.rows.weights
        at = self.positions.ravel()
        sums = np.empty((1, values.shape[1], n_cells))
        for o, by_row in enumerate(values[0]):
            jumps = np.diff(by_row, axis=1, prepend=0.0, append=0.0)
            jumps *= weights[:, np.newaxis]
            sums[0, o] = np.bincount(at, jumps.ravel(), n_cells + 1)[:n_cells]
        return np.cumsum(sums, axis=2, out=sums)
