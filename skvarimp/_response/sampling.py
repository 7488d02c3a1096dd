"""Random draws of (row, donor) in partitions, by the model's own prediction."""

from dataclasses import dataclass

import numpy as np

from skvarimp._data.statistics import divided
from skvarimp._response.drawing import N_BINS, donor_means
from skvarimp._response.mean_curves import direction
from skvarimp._response.reductions import Outcome
from skvarimp._running.memory import slices


@dataclass
class Drawn:
    """What the draws of some rows say of a feature.

    Attributes
    ----------
    importances : ndarray of shape (n_outputs,)
        The part of these rows.
    rows : tuple of ndarray, or list of Moments
        Each row's mean contribution and `Draw.unmoved`, (2, n_rows), its weight and its
        cell, (n_rows,); the cell `n_cells` for values that are no donors. Of rows in
        partitions `moments_by_weight` of all that.
    cells : ndarray of shape (4 + n_outputs, n_cells)
        Of the draws of each donor cell: count, weight, weighted mean over the outputs,
        weighted square of it, and weighted response, moved minus unmoved.
    noise : float
        Variances that drawing gives the rows' means, times the squared weights. NaN for
        one repeat, and so are the errors.
    """

    importances: np.ndarray
    rows: object
    cells: np.ndarray
    noise: float

    def direction(self, move, size):
        """Of the mean curve, (1, n_outputs), which is known in bins of its values.

        `size` is that of the outputs, (n_outputs,).
        """
        weights, sums = self.cells[1], self.cells[4:]
        if not move.ordered:
            return np.full((1, len(sums)), np.nan)
        chances, levels = move.probabilities, move.levels
        # the probabilities of each level sum to 1
        middle = np.cumsum(chances) - chances / 2 - levels
        bins = np.minimum(middle * N_BINS - 1e-9, N_BINS - 1).astype(int)
        drawn = move.known & (weights > 0)
        used, bins = np.unique((levels * N_BINS + bins)[drawn], return_inverse=True)
        of_bins = np.bincount(bins, weights[drawn])
        mean = np.stack([np.bincount(bins, s[drawn]) for s in sums]) / of_bins
        mass = np.bincount(bins, (move.chances / chances)[drawn]) / np.bincount(bins)
        chances = np.bincount(bins, chances[drawn])
        return direction(mean * mass, chances, size, used // N_BINS)[np.newaxis]

    def estimate(self, points, units, level, move, draw, n_donors=np.inf):
        """`Outcome`, and the influence of each point.

        Drawing inflates squares of estimates by its own variance, which is taken off.

        Parameters
        ----------
        points : tuple of ndarray
            Numbers, weights and cells of all rows, or of points in their place.
        units : Units
            Those of the points.
        level : float or ndarray of shape (n_cells,)
            What the donors' means are compared with.
        move : Move
        draw : Draw
        n_donors : float, default=inf
            How many rows were drawn as donors first.
        """
        (row_mean, unmoved), weights, codes = points
        theta = self.importances.mean()
        psi = row_mean - theta + draw.further_influence(theta, unmoved)
        terms, drawn, monte_carlo = psi, self.noise, self.noise
        if move.codes is not None:
            means, noise = donor_means(self.cells, level)
            factor, n_cells = draw.donor_factor, move.n_cells
            # rows whose values are no donors count through those whose values are
            masses = np.bincount(codes, weights, n_cells)[:n_cells]
            share = divided(move.chances, masses)
            terms = psi + factor * np.append(share * means, 0.0)[codes]
            # and those of one cell are donors together, or none of them is
            twice = (share**2 - share) * means**2 + share * noise
            of_squares = units.squares_by_cell(codes, n_cells + 1)[:n_cells]
            drawn = drawn + factor**2 * of_squares @ twice
            donated = factor**2 * (means**2 - noise)
            monte_carlo += np.maximum(move.chances @ donated, 0.0) / n_donors
            psi = psi + factor * np.append(means, 0.0)[codes]
        variance = np.sum(units.sums(units.weights * terms) ** 2) - drawn
        error = units.error_of_squares(np.maximum(variance, 0.0))
        return Outcome(self.importances, error, np.sqrt(monte_carlo)), psi


@dataclass(frozen=True)
class Uniform:
    """Random numbers of some rows: the same in any blocks of rows and of repeats.

    Parameters
    ----------
    seed : int
    n_repeats : int
        At most.
    n_all : int
        How many rows there are.
    rows : slice
        Those wanted.
    """

    seed: int
    n_repeats: int
    n_all: int
    rows: slice

    def numbers(self, repeats, n_moves):
        """Numbers in [0, 1) of a range of repeats, (n_moves, n_repeats, n_rows).

        One stream holds those of all rows, for one repeat after the other, for one
        donor after the other.
        """
        n_rows = self.rows.stop - self.rows.start
        numbers = np.empty((n_moves, len(repeats), n_rows))
        for m, of_move in enumerate(numbers):
            bits = np.random.PCG64(self.seed)
            random = np.random.Generator(bits)
            before = m * self.n_repeats + repeats[0]
            bits.advance(before * self.n_all + self.rows.start)
            for of_repeat in of_move:
                random.random(out=of_repeat)
                bits.advance(self.n_all - n_rows)
        return numbers


@dataclass
class DonorDraws:
    """Draws of every row with its donors, repeat by repeat.

    Parameters
    ----------
    walk : Walk
        Its response must be the black box; all rows of the table are evaluated.
    draw : Draw
    scale : ndarray of shape (n_outputs,)
    n_repeats : int
        At most.
    seeds : ndarray of shape (n_features,)
        One per feature, so that the numbers do not depend on n_jobs.
    """

    walk: object
    draw: object
    scale: np.ndarray
    n_repeats: int
    seeds: np.ndarray


@dataclass
class RepeatSums:
    """Sums over repeats, each with every row once; a + b has the repeats of both.

    Attributes
    ----------
    n_repeats : int
    outputs : ndarray of shape (n_outputs,)
        Of the weighted contributions.
    rows : ndarray of shape (2 + n_outputs, n_rows)
        By row, of the draws' means over the outputs, of their squares, and of the
        response, moved minus unmoved.
    cells : ndarray of shape (4 + n_outputs, n_cells)
        See `Drawn`.
    largest : float
        Largest size of a draw's mean over the outputs.
    """

    n_repeats: int
    outputs: np.ndarray
    rows: np.ndarray
    cells: np.ndarray
    largest: float = 0.0

    def __add__(self, other):
        *sums, largest = zip(vars(self).values(), vars(other).values())
        return RepeatSums(*map(sum, sums), max(largest))

    def drawn(self, walk, move, draw):
        """What they say of the feature, a `Drawn`."""
        row_mean, squares, *_ = self.rows / self.n_repeats
        within = np.maximum(squares - row_mean**2, 0.0)
        noise = within / (self.n_repeats - 1 or np.nan)  # one says nothing
        unmoved = np.broadcast_to(draw.unmoved(walk.base, walk.y), row_mean.shape)
        codes = None if move.codes is None else move.codes[walk.rows]
        return Drawn(
            self.outputs / self.n_repeats,
            (np.stack([row_mean, unmoved]), walk.weights, codes),
            self.cells,
            float(walk.weights**2 @ noise),
        )


def draws_of(walk, *how):
    """The `RepeatSums` of a range of repeats; `how` as of `asking_draws`."""
    asking, outputs = asking_draws(walk, *how), None
    try:
        while True:
            outputs = walk.response.at(walk.table, *asking.send(outputs))
    except StopIteration as end:
        return end.value


def asking_draws(walk, move, draw, scale, uniform, repeats):
    """The `RepeatSums` of a range of repeats, from `Uniform` random numbers.

    A generator: it yields the rows, the move and the cells that it asks the model for,
    and is sent the response there.
    """
    (n_rows, n_cells), weights = (len(walk.rows), move.n_cells), walk.weights
    total = None
    for part in slices(len(repeats), n_rows * draw.n_moves):
        numbers = uniform.numbers(repeats[part], draw.n_moves)
        n = numbers.shape[1]
        rows = np.tile(np.arange(n_rows), n)
        numbers = numbers.reshape(draw.n_moves, len(rows))
        cells = move.drawn(numbers, walk.rows[rows])
        values, drifts = yield from contributions(walk, move, draw, rows, cells)
        values = values / scale[:, np.newaxis]
        mean, w = values.mean(axis=0), weights[rows]
        by_row, of_cells = mean.reshape(n, n_rows), 0.0
        for drawn, drift in zip(cells, drifts):
            sums = (None, w, w * mean, w * mean**2, *(w * drift))
            of_cells += np.stack([np.bincount(drawn, of, n_cells) for of in sums])
        drift = drifts.sum(axis=0).reshape(-1, n, n_rows).sum(axis=1)
        of_rows = np.stack([by_row.sum(axis=0), (by_row**2).sum(axis=0), *drift])
        some = RepeatSums(n, values @ w, of_rows, of_cells, float(np.abs(mean).max()))
        total = some if total is None else total + some
    return total


def contributions(walk, move, draw, rows, cells):
    """Contribution of each draw, (n_outputs, n); distinct moved rows predicted once.

    And the response moved minus unmoved, (n_moves, n_outputs, n). A generator as
    `asking_draws`.
    """
    keys = rows * move.n_cells + cells
    distinct, inverse = np.unique(keys, return_inverse=True)
    row, cell = np.divmod(distinct, move.n_cells)
    response = walk.base[:, row]
    predict = np.ones(len(row), dtype=bool)
    if move.codes is not None:
        predict = move.codes[walk.rows[row]] != cell
    response[:, predict] = yield walk.rows[row[predict]], move, cell[predict]
    inverse = inverse.reshape(keys.shape)
    moved = [response[:, inverse[m]] for m in range(draw.n_moves)]
    y, base = None if walk.y is None else walk.y[rows], walk.base[:, rows]
    return draw.contribution(base, moved, y), np.stack(moved) - base
