"""Importances from random draws of (row, donor), by the model's own prediction."""

from contextlib import closing
from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_random_state

from skvarimp._response.rounds import Batch
from skvarimp._response.states import Finished
from skvarimp._response.subgroups import between_parts, donor_levels
from skvarimp._running.memory import slices
from skvarimp._running.tasks import in_order


def scaled_influences(psi, weights, variance):
    """Influences estimated from draws, with mean 0 and the variance that is known.

    Drawing adds noise to each row's influence; it is shrunk by what the noise adds.
    """
    psi = psi - weights @ psi
    size = weights @ psi**2
    return psi * np.sqrt(variance / size) if size > 0 else psi


class Tally:
    """Running sums of draws, by row and by donor cell."""

    def __init__(self, n_rows, n_outputs, n_cells):
        self.per_output = np.zeros((n_outputs, n_rows))
        self.row_sums = np.zeros((2, n_rows))  # of the mean over outputs, its square
        self.cell_sums = np.zeros((4, n_cells))  # count, weight, weighted mean, square

    def add(self, rows, cells, values, weights, repeats):
        """Add draws; `values` (n_outputs, n) with every row once per repeat."""
        shape = (len(values), repeats, -1)
        self.per_output += values.reshape(shape).sum(axis=1)
        mean = values.mean(axis=0)
        by_row = mean.reshape(repeats, -1)
        self.row_sums += by_row.sum(axis=0), (by_row**2).sum(axis=0)
        weights = weights[rows]
        n_cells = self.cell_sums.shape[1]
        for drawn in cells:
            for s, what in enumerate(
                (None, weights, weights * mean, weights * mean**2)
            ):
                self.cell_sums[s] += np.bincount(drawn, what, minlength=n_cells)

    def of_rows(self, n_repeats):
        """Each row's mean, and the variance that drawing gives it, of several draws."""
        row_mean = self.row_sums[0] / n_repeats
        within = self.row_sums[1] / n_repeats - row_mean**2
        return row_mean, np.maximum(within, 0.0) / max(n_repeats - 1, 1)

    def estimate(self, walk, move, draw, n_repeats):
        """`Finished` from the sums of all rows."""
        weights = walk.weights
        importances = self.per_output @ weights / n_repeats
        n_draws = n_repeats * len(weights)
        row_mean, noise = self.of_rows(n_repeats)
        if n_repeats == 1:
            rows = (np.full(len(weights), np.nan), row_mean) if walk.keep_rows else ()
            return Finished(importances, np.nan, np.nan, n_draws, *rows)
        monte_carlo = np.sqrt(np.sum(weights**2 * noise))
        theta = importances.mean()
        unmoved = draw.unmoved(walk.base, walk.y)
        psi = row_mean - theta + draw.further_influence(theta, unmoved)
        variance = weights @ (psi**2 - noise)
        if move.codes is not None:
            donors = DonorMeans.of(
                self.cell_sums, donor_levels(walk, move, row_mean, theta)
            )
            codes, factor = move.codes[walk.rows], draw.donor_factor
            own = weights, codes, psi
            variance += donors.share_of_variance(*own, move.chances, factor)
            psi = psi + factor * donors.means[codes]
        variance = max(variance, 0.0)
        rows = ()
        if walk.keep_rows:
            rows = scaled_influences(psi, weights, variance), row_mean
        error = np.sqrt(variance / walk.total_weight)
        return Finished(importances, error, monte_carlo, n_draws, *rows)


@dataclass
class DonorMeans:
    """What the draws say of the donors.

    Attributes
    ----------
    means, noise : ndarray of shape (n_cells,)
        Each cell's mean contribution as donor minus that of all, and the variance
        that drawing gives it.
    """

    means: np.ndarray
    noise: np.ndarray

    @classmethod
    def of(cls, cell_sums, level):
        """From the sums of a `Tally`; minus `level`, (n_cells,) or a number."""
        count, weight, first, second = cell_sums
        safe = np.where(weight > 0, weight, 1.0)
        mean = np.where(weight > 0, first / safe - level, 0.0)
        spread = np.where(weight > 0, second / safe - (first / safe) ** 2, 0.0)
        several = count > 1
        within = np.maximum(spread, 0.0) * count / np.maximum(count - 1, 1)
        pooled = within[several].mean() if several.any() else 0.0
        within = np.where(several, within, pooled)
        return cls(mean, np.where(count > 0, within / np.maximum(count, 1), 0.0))

    def share_of_variance(self, weights, codes, psi, chances, factor):
        """What rows' parts as donors add to the variance of their influences.

        Parameters
        ----------
        weights, codes, psi : ndarray of shape (n_rows,)
            Weight of each row, its own cell (`n_cells` and above: none), and its
            influence as evaluated row.
        chances : ndarray of shape (n_cells,)
            How likely a row drawn by its weight has each cell.
        factor : int
            How much of a row's influence is that as donor.

        Returns
        -------
        float
            Drawing inflates squares of estimates by its own variance, which is taken
            off.
        """
        n_cells = len(self.means)
        masses, own = (
            np.bincount(codes, of_rows, n_cells)[:n_cells]
            for of_rows in (weights, weights * psi)
        )
        own = np.divide(own, masses, out=np.zeros(n_cells), where=masses > 0)
        squares = factor**2 * (self.means**2 - self.noise)
        return chances @ (2 * factor * own * self.means + squares)


def entry_seeds(random_state, n):
    """One seed per entry, so that no draw depends on the order of the work."""
    if isinstance(random_state, np.random.Generator):
        return random_state.integers(2**32, size=n)
    return check_random_state(random_state).randint(2**32, size=n, dtype=np.uint32)


def sample_repeats(position, walk, draw, scale, n_repeats, seeds):
    """Draw every row once per repeat, its donors by their probabilities.

    Parameters
    ----------
    position : int
        The move.
    walk : Walk
        Its response must be the black box; all rows of the table are evaluated.
    draw : Draw
    scale : ndarray of shape (n_outputs,)
    n_repeats : int
    seeds : ndarray of shape (n_positions,)
        One per position, so that the numbers do not depend on n_jobs.

    Returns
    -------
    Finished
    """
    move = walk.moves[position]
    random = np.random.default_rng(int(seeds[position]))
    tally = tallied(walk, move, draw, scale, n_repeats, random, len(walk.rows))
    return tally.estimate(walk, move, draw, n_repeats)


def tallied(walk, move, draw, scale, n_repeats, random, n_all):
    """The `Tally` of draws of every row, once per repeat, out of `n_all` rows."""
    n_rows = len(walk.rows)
    tally = Tally(n_rows, len(scale), move.n_cells)
    for part in slices(n_repeats, n_all * draw.n_moves):
        repeats = part.stop - part.start
        rows = np.tile(np.arange(n_rows), repeats)
        cells = draw_cells(random, move, walk.rows[rows], draw.n_moves)
        values = contributions(walk, move, draw, rows, cells) / scale[:, np.newaxis]
        tally.add(rows, cells, values, walk.weights, repeats)
    return tally


def draw_by(probabilities, random, size):
    """Positions drawn by their probabilities, with replacement."""
    upper = np.cumsum(probabilities)
    return np.searchsorted(upper[:-1], random.random(size), side="right")


def draw_cells(random, move, rows, n_moves):
    """Cells drawn by their probabilities, in each row's own part.

    Parameters
    ----------
    random : Generator
    move : Move
    rows : ndarray of shape (n,)
        Rows of the table.
    n_moves : int

    Returns
    -------
    ndarray of shape (n_moves, n)
    """
    size = n_moves, len(rows)
    if move.parts is None:
        return draw_by(move.probabilities, random, size)
    # the probabilities of each part sum to 1
    part, bounds = move.parts.of_row[rows], move.parts.bounds
    upper = np.cumsum(move.probabilities)
    cells = np.searchsorted(upper[:-1], part + random.random(size), side="right")
    return np.clip(cells, bounds[part], bounds[part + 1] - 1)


def contributions(walk, move, draw, rows, cells):
    """Contribution of each draw, (n_outputs, n); distinct moved rows predicted once."""
    keys = rows * move.n_cells + cells
    distinct, inverse = np.unique(keys, return_inverse=True)
    row, cell = np.divmod(distinct, move.n_cells)
    response = walk.base[:, row]
    predict = np.ones(len(row), dtype=bool)
    if move.codes is not None:
        predict = move.codes[walk.rows[row]] != cell
    response[:, predict] = walk.response.at(
        walk.table, walk.rows[row[predict]], move, cell[predict]
    )
    inverse = inverse.reshape(keys.shape)
    moved = [response[:, inverse[m]] for m in range(draw.n_moves)]
    y = None if walk.y is None else walk.y[rows]
    return draw.contribution(walk.base[:, rows], moved, y)


def of_single_rows(batch, walk, move, donor_factor):
    """Influences and contributions of single rows from a `Batch` of draws.

    The mean of each row, and of each donor value, is the sum of its draws divided by
    their expected number. This is 0 for rows that were not drawn, and unbiased, so that
    the weighted mean of the contributions is the importance.

    Returns
    -------
    influences, contributions : ndarray of shape (n_rows,)
    """
    theta, n = batch.mean, batch.n_draws
    contributions = batch.row_sums / (n * walk.weights)
    psi = contributions - theta
    if donor_factor and move.codes is not None:
        donors = batch.cell_sums / (n * move.chances)
        donors -= donor_levels(walk, move, contributions, theta)
        psi += donor_factor * donors[move.codes[walk.rows]]
    variance = batch.standard_error(1.0) ** 2
    return scaled_influences(psi, walk.weights, variance), contributions


@dataclass
class DonorDraws:
    """Single draws of a row by its weight together with its donors.

    This is the first heuristic of Lemaire & Clérot, section II.C: rows and donors are
    drawn together, and each draw is independent of the others.

    Parameters
    ----------
    walk : Walk
        Of one request; its response must be the black box.
    draw : Draw
    scale : ndarray of shape (n_outputs,)
    seeds : ndarray of shape (n_entries,)
    n_jobs : int or None
    """

    walk: object
    draw: object
    scale: np.ndarray
    seeds: np.ndarray
    n_jobs: int | None = None

    def __call__(self, wanted, number):
        """Yield (entry, Batch) of as many draws as wanted of each."""
        tasks = [(e, int(wanted[e]), number) for e in np.flatnonzero(wanted)]
        arguments = (self.walk, self.draw, self.scale, self.seeds)
        with closing(in_order(draw_batch, tasks, arguments, self.n_jobs)) as arriving:
            for task, batch in arriving:
                yield task[0], batch


def draw_batch(task, walk, draw, scale, seeds):
    """Batch of draws of one entry; task: (entry, number of draws, round)."""
    e, n_draws, number = task
    move = walk.moves[e]
    random = np.random.default_rng([int(seeds[e]), number])
    total = None
    for part in slices(n_draws, draw.n_moves):
        n = part.stop - part.start
        rows = draw_by(walk.weights, random, n)
        cells = draw_cells(random, move, walk.rows[rows], draw.n_moves)
        values = contributions(walk, move, draw, rows, cells) / scale[:, np.newaxis]
        mean = values.mean(axis=0)
        centred = mean - mean.mean()
        batch = Batch(
            n,
            values.sum(axis=1),
            float(centred @ centred),
            float(np.abs(mean).max()),
            influence(walk, move, draw, rows, cells, centred),
            n * (n - 1) / 2 * float(np.sum(walk.weights**2)),
        )
        if walk.keep_rows:
            batch.row_sums = np.bincount(rows, mean, len(walk.weights))
            of_moves = [np.bincount(drawn, mean, move.n_cells) for drawn in cells]
            batch.cell_sums = np.mean(of_moves, axis=0)
        total = batch if total is None else total + batch
    return total


def influence(walk, move, draw, rows, cells, values):
    """Variance of the rows' influence psi, from draws that share a row or a donor.

    With r_i the mean contribution of row i, d_k that of donor value k and c the
    donor factor, psi_i = (r_i - theta) + c (d_k(i) - theta). Products of two
    different draws t, s of the same row estimate r_i^2, of the same donor d_k^2, and
    of t's row with s's donor r_i d_k(i); each is divided by its chance to coincide.
    Within parts d_k is compared with the mean of the part. The variance of these means
    is subtracted; it is estimated from draws whose rows share a part.

    Parameters
    ----------
    rows : ndarray of shape (n,)
    cells : ndarray of shape (n_moves, n)
    values : ndarray of shape (n,)
        Contributions minus their mean.
    """
    n, n_rows = len(values), len(walk.weights)
    pairs = max(n * (n - 1), 1)
    total = np.bincount(rows, values, n_rows)
    own = np.bincount(rows, values**2, n_rows)
    of_rows = np.sum((total**2 - own) / walk.weights) / pairs
    if move.codes is None or not draw.donor_factor:
        return float(of_rows)
    m, n_cells, chance = len(cells), move.n_cells, move.chances
    code = move.codes[walk.rows[rows]]
    donated = sum(np.bincount(drawn, values, n_cells) for drawn in cells)
    own = sum(
        np.bincount(a[a == b], values[a == b] ** 2, n_cells)
        for a in cells
        for b in cells
    )
    of_donors = np.sum((donated**2 - own) / chance) / (pairs * m**2)
    received = np.bincount(code, values, n_cells)
    own = sum(
        np.bincount(code[code == a], values[code == a] ** 2, n_cells) for a in cells
    )
    crossed = np.sum((received * donated - own) / chance) / (pairs * m)
    between = between_parts(walk, move, rows, values) / pairs
    c = draw.donor_factor
    donated = 2 * c * (crossed - between) + c**2 * (of_donors - between)
    return float(of_rows + donated)
