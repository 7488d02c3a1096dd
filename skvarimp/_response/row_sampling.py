"""Importances from random rows, exact over the grid: Lemaire & Clérot, eqs. 4, 5."""

from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from skvarimp._response.engine import merged_states
from skvarimp._response.kalman import Batch
from skvarimp._response.sampling import draw_by
from skvarimp._response.subgroups import donor_levels
from skvarimp._running.memory import slices

MIN_ROWS = 100  # per repeat


def rows_per_repeat(n_samples, n_cells):
    """Rows drawn per repeat: about n_samples moved rows per entry, and at least 100.

    Parameters
    ----------
    n_samples : int
    n_cells : ndarray of shape (n_entries,)
        Number of grid values of each entry.
    """
    return max(MIN_ROWS, int(np.ceil(n_samples / np.mean(n_cells))))


@dataclass
class RowDraws:
    """Draws of rows by their weights: the same rows for all entries still drawn.

    Parameters
    ----------
    walk : Walk
        Over all rows, of one request with one reduction.
    random : Generator
    n_jobs : int or None
    """

    walk: object
    random: np.random.Generator
    n_jobs: int | None = None

    def __call__(self, wanted, number):
        """Yield (entry, Batch) of the smallest number of draws wanted."""
        active = np.flatnonzero(wanted)
        rows = draw_by(self.walk.weights, self.random, wanted[active].min())
        # what is kept of the first half of the rows until the second half is in
        for part in slices(len(active), self.walk.base.size, np.inf, arrays=1):
            yield from self._batches(active[part], rows)

    def _batches(self, active, rows):
        ((reduction,),), ((scale,),) = self.walk.reductions, self.walk.scales
        walk = replace(self.walk, moves=self.walk.moves.subset(active))
        twofold = reduction.donor_factor and len(rows) > 1
        halves = np.array_split(rows, 2) if twofold else [rows]
        *before, last = [_Half.of(walk, half) for half in halves]
        kept = [{p: parts for p, *parts in half.states(self.n_jobs)} for half in before]
        with closing(last.states(self.n_jobs)) as arriving:
            for p, *parts in arriving:
                states = [half[p] for half in kept] + [parts]
                move = walk.moves[p]
                batch = _batch([*before, last], states, move, reduction, scale)
                yield active[p], batch


@dataclass
class _Half:
    """A walk over drawn rows; each distinct one is evaluated once."""

    walk: object
    counts: np.ndarray
    n_rows: int  # of the whole walk

    @classmethod
    def of(cls, walk, drawn):
        rows, counts = np.unique(drawn, return_counts=True)
        part = replace(
            walk,
            rows=rows,
            weights=counts / len(drawn),
            base=np.ascontiguousarray(walk.base[:, rows]),
            y=None if walk.y is None else walk.y[rows],
        )
        return cls(part, counts, len(walk.rows))

    def states(self, n_jobs):
        """Yield (position, each row's contribution, each cell's mean or None)."""
        with closing(merged_states(self.walk, n_jobs)) as merged:
            for positions, (state,) in merged:
                for b, p in enumerate(positions):
                    cells = None if state.cells is None else state.cells[b]
                    yield p, state.rows[b], cells


def _batch(halves, states, move, reduction, scale):
    counts = np.concatenate([half.counts for half in halves])
    values = np.concatenate([rows for rows, _ in states], axis=1)
    values = values / scale[:, np.newaxis]
    mean = values.mean(axis=0)
    n = int(counts.sum())
    theta = counts @ mean / n
    centred = mean - theta
    deviation = float(counts @ centred**2)
    influence = deviation / n
    if len(halves) == 2 and move.codes is not None:
        # psi_i = (r_i - theta) + c (d_k(i) - theta). r_i is exact, and d_k is a mean
        # over the drawn rows: the product of two halves is unbiased for its square
        codes = move.codes[np.concatenate([half.walk.rows for half in halves])]
        donors = [_of_donors(*pair, move, scale, theta) for pair in zip(halves, states)]
        c = reduction.donor_factor
        one, other = (centred + c * donated[codes] for donated in donors)
        influence = float(counts @ (one * other)) / n
    largest = float(np.abs(mean).max())
    batch = Batch(n, values @ counts, deviation, largest, influence, n)
    if halves[0].walk.keep_rows:
        rows = np.concatenate([half.walk.rows for half in halves])
        batch.row_sums = np.bincount(rows, counts * mean, halves[0].n_rows)
        if all(cells is not None for _, cells in states):
            batch.cell_sums = move.probabilities * sum(
                half.counts.sum() * (cells / scale[:, np.newaxis]).mean(axis=0)
                for half, (_, cells) in zip(halves, states)
            )
    return batch


def _of_donors(half, state, move, scale, theta):
    """Mean contribution of each cell as donor minus that of all donors, (n_cells,)."""
    rows, cells = ((part / scale[:, np.newaxis]).mean(axis=0) for part in state)
    if move.parts is not None:  # sums over the rows of the cell's part only
        cells = cells / move.parts.weights[move.parts.of_cell]
    return cells - donor_levels(half.walk, move, rows, theta)
