"""Importances from random draws of (row, donor), by the model's own prediction."""

from contextlib import closing
from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_random_state

from skvarimp._data.statistics import divided
from skvarimp._data.units import Units
from skvarimp._response.rounds import Batch
from skvarimp._response.states import Finished
from skvarimp._response.subgroups import donor_levels
from skvarimp._running.memory import slices
from skvarimp._running.tasks import in_order


def scaled_influences(psi, units, error):
    """Influences estimated from draws, with mean 0 and a standard error that is known.

    Drawing adds noise to each row's influence; it is shrunk by what the noise adds.
    """
    psi = psi - units.weights @ psi
    size = units.error(psi)
    return psi * (error / size) if size > 0 else psi


@dataclass
class Drawn:
    """What the draws of some rows say of an entry.

    Attributes
    ----------
    importances : ndarray of shape (n_outputs,)
        The part of these rows.
    rows : tuple of ndarray, or list of Moments
        Each row's mean contribution and `Draw.unmoved`, (2, n_rows), its weight and its
        cell, (n_rows,); the cell `n_cells` for values that are no donors. Of rows in
        partitions `moments_by_weight` of all that.
    cells : ndarray of shape (4, n_cells)
        Of the draws of each donor cell: count, weight, weighted mean over the outputs,
        and weighted square of it.
    noise : float
        Variances that drawing gives the rows' means, times the squared weights.
    """

    importances: np.ndarray
    rows: object
    cells: np.ndarray
    noise: float

    def estimate(self, points, level, move, draw, n_repeats, n_rows, n_donors=np.inf):
        """`Finished`, and the influence of each point.

        Drawing inflates squares of estimates by its own variance, which is taken off.

        Parameters
        ----------
        points : tuple of ndarray
            All rows, or points in their place, as `weighted_points` gives them.
        level : float or ndarray of shape (n_cells,)
            What the donors' means are compared with.
        move : Move
        draw : Draw
        n_repeats : int
        n_rows : int
            How many rows there are.
        n_donors : float, default=inf
            How many rows were drawn as donors first.
        """
        (row_mean, unmoved), weights, roots, codes = points
        theta = self.importances.mean()
        psi = row_mean - theta + draw.further_influence(theta, unmoved)
        squares = roots**2
        variance, monte_carlo = squares @ psi**2 - self.noise, self.noise
        if move.codes is not None:
            means, noise = _donor_means(self.cells, level)
            factor, n_cells = draw.donor_factor, move.n_cells
            masses, of_squares, own = (
                np.bincount(codes, of_rows, n_cells)[:n_cells]
                for of_rows in (weights, squares, squares * psi)
            )
            # rows whose values are no donors count through those whose values are
            share = divided(move.chances, masses)
            donated = factor**2 * (means**2 - noise)
            crossed = 2 * factor * own * means
            variance += share @ (crossed + of_squares * donated)
            monte_carlo += max(move.chances @ donated, 0.0) / n_donors
            psi = psi + factor * np.append(means, 0.0)[codes]
        error = Units(n_rows).error_of_squares(max(variance, 0.0))
        errors = error, np.sqrt(monte_carlo)
        if n_repeats == 1:
            errors, psi = np.full(2, np.nan), np.full(len(weights), np.nan)
        return Finished(self.importances, *errors, n_repeats * n_rows), psi


def _donor_means(cell_sums, level):
    """Mean contribution of each cell as donor minus a level, and its variance."""
    count, weight, first, second = cell_sums
    mean = divided(first, weight)
    spread = np.maximum(divided(second, weight) - mean**2, 0.0)
    several = count > 1
    within = spread * count / np.maximum(count - 1, 1)
    pooled = within[several].mean() if several.any() else 0.0
    noise = divided(np.where(several, within, pooled), count)
    return np.where(count > 0, mean - level, 0.0), noise


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
    n_rows = len(walk.rows)
    drawn = draws_of(walk, move, draw, scale, n_repeats, random, n_rows)
    numbers, weights, codes = drawn.rows
    level = donor_levels(walk, move, numbers[0], drawn.importances.mean())
    points = numbers, weights, walk.units.weights, codes
    finished, psi = drawn.estimate(points, level, move, draw, n_repeats, n_rows)
    if walk.keep_rows:
        error = finished.standard_errors
        finished.influences = scaled_influences(psi, walk.units, error)
        finished.contributions = numbers[0]
    return finished


def draws_of(walk, move, draw, scale, n_repeats, random, n_all):
    """The `Drawn` of every row, once per repeat, out of `n_all` rows."""
    (n_rows, n_cells), weights = (len(walk.rows), move.n_cells), walk.weights
    per_output = np.zeros((len(scale), n_rows))
    of_rows = np.zeros((2, n_rows))  # of the mean over the outputs, and its square
    of_cells = np.zeros((4, n_cells))
    for part in slices(n_repeats, n_all * draw.n_moves):
        repeats = part.stop - part.start
        rows = np.tile(np.arange(n_rows), repeats)
        cells = draw_cells(random, move, walk.rows[rows], draw.n_moves)
        values = contributions(walk, move, draw, rows, cells) / scale[:, np.newaxis]
        per_output += values.reshape(len(scale), repeats, n_rows).sum(axis=1)
        mean, w = values.mean(axis=0), weights[rows]
        by_row = mean.reshape(repeats, n_rows)
        of_rows += by_row.sum(axis=0), (by_row**2).sum(axis=0)
        for drawn in cells:
            sums = (None, w, w * mean, w * mean**2)
            of_cells += [np.bincount(drawn, what, n_cells) for what in sums]
    row_mean = of_rows[0] / n_repeats
    within = np.maximum(of_rows[1] / n_repeats - row_mean**2, 0.0)
    noise = within / max(n_repeats - 1, 1)
    unmoved = np.broadcast_to(draw.unmoved(walk.base, walk.y), row_mean.shape)
    codes = None if move.codes is None else move.codes[walk.rows]
    return Drawn(
        per_output @ weights / n_repeats,
        (np.stack([row_mean, unmoved]), weights, codes),
        of_cells,
        float(weights**2 @ noise),
    )


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
    uniform, upper = random.random((n_moves, len(rows))), np.cumsum(move.probabilities)
    if move.parts is None:
        return np.searchsorted(upper[:-1], uniform, side="right")
    # the probabilities of each part sum to 1
    part, bounds = move.parts.of_row[rows], move.parts.bounds
    cells = np.searchsorted(upper[:-1], part + uniform, side="right")
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
    error = batch.standard_error(walk.units)
    return scaled_influences(psi, walk.units, error), contributions


def donor_draws(walk, draw, scale, seeds, n_jobs, wanted, number):
    """Yield (entry, Batch) of as many draws as wanted of each in a round.

    A row is drawn by its weight together with its donors, independently of other draws:
    the first heuristic of Lemaire & Clérot, section II.C.

    Parameters
    ----------
    walk : Walk
        Of one request; its response must be the black box.
    draw : Draw
    scale : ndarray of shape (n_outputs,)
    seeds : ndarray of shape (n_entries,)
    n_jobs : int or None
    wanted : ndarray of int of shape (n_entries,)
    number : int
        Of the round.
    """
    tasks = [(e, int(wanted[e]), number) for e in np.flatnonzero(wanted)]
    arguments = walk, draw, scale, seeds
    with closing(in_order(draw_batch, tasks, arguments, n_jobs)) as arriving:
        for (e, *_), batch in arriving:
            yield e, batch


def draw_batch(task, walk, draw, scale, seeds):
    """Batch of draws of one entry; task: (entry, number of draws, round)."""
    e, n_draws, number = task
    move = walk.moves[e]
    random = np.random.default_rng([int(seeds[e]), number])
    total = None
    for part in slices(n_draws, draw.n_moves):
        n = part.stop - part.start
        rows = random.choice(len(walk.weights), n, p=walk.weights)
        cells = draw_cells(random, move, walk.rows[rows], draw.n_moves)
        values = contributions(walk, move, draw, rows, cells) / scale[:, np.newaxis]
        mean = values.mean(axis=0)
        centred = mean - mean.mean()
        information = n * (n - 1) / 2 * float(np.sum(walk.weights**2))
        batch = Batch(
            n,
            values.sum(axis=1),
            float(centred @ centred),
            float(np.abs(mean).max()),
            influence(walk, move, draw, rows, cells, centred) * information,
            information,
        )
        if walk.keep_rows:
            batch.row_sums = np.bincount(rows, mean, len(walk.weights))
            of_moves = [np.bincount(drawn, mean, move.n_cells) for drawn in cells]
            batch.cell_sums = np.mean(of_moves, axis=0)
        total = batch if total is None else total + batch
    return total


def influence(walk, move, draw, rows, cells, values):
    """Sum of (w_i psi_i)^2 over the rows, from products of two different draws.

    With r_i the mean contribution of row i, d_k that of donor value k and c the
    donor factor, psi_i = (r_i - theta) + c (d_k(i) - theta). A draw t of value v
    estimates psi_i by v a_i(t) without bias, where

        a_i(t) = [i is t's row] / w_i + c [i holds a donor of t] / (m P_k)

    with m the donors of a draw and P_k the chance of a donor value. So the sum over all
    ordered pairs of draws estimates psi_i^2. It is the square of the sum of all draws
    less each draw's own square. Within parts d_k is compared with the mean of the part,
    to which a draw whose row is in the part adds 1 / W, the part's weight.

    Parameters
    ----------
    rows : ndarray of shape (n,)
    cells : ndarray of shape (n_moves, n)
    values : ndarray of shape (n,)
        Contributions minus their mean.
    """
    n, w, c = len(values), walk.weights, draw.donor_factor
    squares, pairs = walk.units.weights**2, max(n * (n - 1), 1)
    psi = np.bincount(rows, values, len(w)) / w
    own = np.ones(n)  # the sum over i of (w_i a_i(t))^2
    if c and move.codes is not None:
        m, codes, by_chance = len(cells), move.codes[walk.rows], c / move.chances
        in_cell = np.bincount(codes, squares, move.n_cells)
        of_cells = sum(np.bincount(drawn, values, move.n_cells) for drawn in cells)
        psi += (by_chance * of_cells / m)[codes]
        for a in cells:
            own += 2.0 / m * (w[rows] * by_chance[a]) * (a == codes[rows])
            for b in cells:
                own += (by_chance[a] ** 2 * in_cell[a]) * (a == b) / m**2
        if move.parts is not None:
            part, masses = move.parts.of_row[walk.rows], move.parts.weights
            of_part, in_part = part[rows], np.bincount(part, squares, len(masses))
            psi -= c * (np.bincount(of_part, values, len(masses)) / masses)[part]
            level = c / masses[of_part]
            own += level * (level * in_part[of_part] - 2.0 * w[rows])
            for a in cells:
                own -= 2.0 / m * level * by_chance[a] * in_cell[a]
    return float(squares @ psi**2 - values**2 @ own) / pairs
