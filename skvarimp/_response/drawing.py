"""Importances from donors drawn in strata: a walk over cells of each row's own.

Row i cuts the values of a feature into strata of width W = 1 / (q - 1) from a random
start of its own: q - 2 whole ones, and one at each end, which are as wide as a whole
one together. It draws a donor u[r] in each, of a width w[r]. The inverse distribution
function of the row's cells takes u in [0, 1) to its value, and so serves ties, weights,
categories, joint values of groups and subgroups of donors alike. The mean of a function
h of the moved response,

    T[i] = sum_r w[r] h(u[r]),

has no bias. Two points at a distance d < W lie in different strata with probability
d / W, whatever the function, as the start is random. So the draws of neighbouring
strata tell by what those of one stratum would differ. With

    c[r] = max(0, W - d) / d,   d = u[r + 1] - u[r],

    N[i] = sum_r w[r] w[r + 1] c[r] (h(u[r + 1]) - h(u[r]))^2

is an estimate of the variance of T[i] without a bias. (Strata with a random start:
Breidt, "Markov chain designs for one-per-stratum sampling", Survey Methodology 21,
1995. One draw in each of q strata is more precise than two in each of q / 2.)

A mean over pairs of values of a symmetric kernel K with K(a, a) = 0 is

    T[i] = sum_(r != s) w[r] w[s] K(u[r], u[s]) + sum_r X[i, r],
    X[i, r] = 2 w[r] w[r + 1] c[r] K(u[r], u[r + 1]),

where neighbours stand for the pairs within the strata. Its N[i] takes
h(u[r]) = 2 sum_s w[s] K(u[r], u[s]). Draws also vary by what they have in common with
the values of their own stratum, of which a row's draws tell nothing. So, with T and X
the means of the T[i] and of X[i] = sum_r X[i, r] over the rows, N[i] is multiplied by
(T / (T - X))^`OWN`, and `WITHIN` (X[i] - X)^2 is added to it.

The function is the same all over a cell. So where a column has few cells, c is its mean
over all places that two draws may have in their cells and strata: a pair that happens
to be close does not weigh more than others. X[i] then differs less from row to row, and
the exponent is `OWN_OF_CELLS`. Where there are many cells, the mean of c is about c.

Close values without an order, joint values of groups among them, need not be alike, and
the few neighbours with a large c would decide. So where means over pairs move such
values, each of q / 2 fixed strata has two draws. With w[r] = 1 / q, c[r] = 1 for two
draws of one stratum and else c[r] = 0, all of the above holds.

What the rows have in common need not be drawn. A polynomial in u of degree `DEGREE`
whose mean is 0, fitted to half of the rows, is subtracted from the h of the other half,
of which it is independent: T[i] has no bias, and N[i] is that of what is left.

A feature with at most q cells takes all of them in each row, by their probabilities.
That costs no more, and is exact.

Rows come in a random order (`RowOrder`), in which heavy rows are early, and rows whose
unmoved response is far from the mean, as moves change these most. With v the weights of
the first m rows in their mean, and p[i] the chance of row i of being one of them, the
mean lacks the other rows. Its variance is

    m / (m - 1) sum_i (1 - p[i]) v[i]^2 (T[i] - c)^2 + sum_i p[i] v[i]^2 N[i],

with c the mean of T weighted by (1 - p) v. Where rows are drawn alike, p[i] = m / n and
c = mean T. The second sum is at most m / (m - 1) sum_i p[i] v[i]^2 (T[i] - c)^2, with c
the mean weighted by p v: draws are among what the rows differ by. That holds where many
rows count, (sum_i p[i] v[i]^2)^2 / sum_i p[i]^2 v[i]^4 of them: at least `COMMON_ROWS`.

Few large parts of such a sum, of rare draws or special rows, are often missing from it.
Draws that miss them give an estimate that is too small and looks precise. So parts as
large as the largest one are added, as Agresti and Coull add two successes to a count
("Approximate is better than exact", The American Statistician 52, 1998): `FURTHER` of
draws, and `FURTHER_ROWS` of rows, whose numbers are more uneven. Where many rows matter
alike, that changes next to nothing.

In the sum of the N, a part is at least what jumps as high as those between the row's
draws add on average, sum_r w[r] w[r + 1] (h(u[r + 1]) - h(u[r]))^2 / 6: no two draws
may have been near one. It is taken times the root mean square of v in place of v[i], as
the next such draw may be of a row of any weight.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.polynomial.legendre import legval, legvander
from scipy.special import xlogy

from skvarimp._data.statistics import divided
from skvarimp._response.mean_curves import direction
from skvarimp._response.reductions import Outcome
from skvarimp._response.shape import Cells, Chunk
from skvarimp._running.guards import budget, warn
from skvarimp._running.memory import slices

N_BINS = 10  # of equal probability, over which drawn responses are averaged
DEGREE = 4  # of the polynomial that the rows' functions have in common
FITTED_ROWS = 1000  # of each half, at least: a polynomial of few terms needs no more
COMMON_ROWS = 50  # before they tell anything of each other
OF_PAIRS = "pairs", "variances"  # primitives of a `Chunk` that are means over pairs
WITHIN = 1.1  # measured, as is the next: functions, trees and neighbours, of numbers
OWN, OWN_OF_CELLS = 3, 4.1  # and levels; 2 if draws differed in strata in proportion
JUMPS = 6.0  # of the height 1 at a place by chance: W^2 / 6 is their part in N
FURTHER = 2.0  # parts as large as the largest one, in errors of drawing
FURTHER_ROWS = 4.0  # and of rows that are not drawn; measured
LEAST_SIZE = 1e-9  # of W^2: what two draws may take where rounding decides nothing
DONOR_BINS = 2**13  # of neighbouring donors, whose mean contributions are averaged


@dataclass
class StrataPoints:
    """Points in [0, 1) that rows draw in strata of their own.

    Attributes
    ----------
    at, widths : ndarray of shape (n_draws, n_rows)
        The points and their weights, which sum to 1 for each row.
    nearness : ndarray of shape (n_draws - 1, n_rows)
        The c of neighbouring draws; see the module.
    own : float
        The exponent of what draws have in common with their own stratum.
    """

    at: np.ndarray
    widths: np.ndarray
    nearness: np.ndarray
    own: float = OWN

    @classmethod
    def drawn(cls, seed, n_rows, rows, before, n_draws):
        """Those of some rows, one in each of n_draws strata that start at random.

        One stream holds the numbers of all rows, so that those of a row are the same in
        any block of rows.

        Parameters
        ----------
        seed : int
        n_rows : int
            How many rows there are.
        rows : slice
            Those wanted.
        before : int
            Draws that each row has made before.
        n_draws : int
        """
        numbers = uniform_numbers(seed, n_rows, rows, before, n_draws + 1)
        ends = np.arange(-1.0, n_draws)[:, np.newaxis] + numbers[0]
        ends = np.clip(ends / (n_draws - 1), 0.0, 1.0)
        widths = np.diff(ends, axis=0)
        at = ends[:-1] + widths * numbers[1:]
        gaps = (n_draws - 1) * np.diff(at, axis=0)
        gaps = np.maximum(gaps, np.finfo(float).tiny)
        return cls(at, widths, np.maximum(1.0 - gaps, 0.0) / gaps)

    @classmethod
    def drawn_in_pairs(cls, seed, n_rows, rows, before, n_draws):
        """The same, but two in each of n_draws / 2 strata of equal probability."""
        numbers = uniform_numbers(seed, n_rows, rows, before, n_draws)
        stratum = np.arange(n_draws)[:, np.newaxis] // 2
        at = (stratum + numbers) / (n_draws // 2)
        nearness = np.ones(at[1:].shape)
        nearness[1::2] = 0.0
        return cls(at, np.full(at.shape, 1.0 / n_draws), nearness)

    def known_by_cells(self, begins, ends):
        """The same, with the mean nearness of draws anywhere in the same cells.

        Parameters
        ----------
        begins, ends : ndarray of shape (n_draws, n_rows)
            Of the cells of the draws, in [0, 1].
        """
        edges = np.cumsum(self.widths, axis=0)
        n_strata = len(edges) - 1
        ends = n_strata * np.minimum(ends, edges)
        begins = n_strata * np.maximum(begins, edges - self.widths)
        (a, c), (b, d) = (begins[:-1], begins[1:]), (ends[:-1], ends[1:])
        sizes = (b - a) * (d - c)
        sums = _second_integral(d - a) - _second_integral(c - a)
        sums += _second_integral(c - b) - _second_integral(d - b)
        wide = sizes > LEAST_SIZE
        nearness = np.where(wide, divided(sums, sizes), self.nearness)
        return StrataPoints(self.at, self.widths, nearness, OWN_OF_CELLS)

    def followed_by(self, other):
        """With those of other rows."""
        return StrataPoints(
            np.hstack([self.at, other.at]),
            np.hstack([self.widths, other.widths]),
            np.hstack([self.nearness, other.nearness]),
            self.own,
        )

    def between(self, values):
        """w[r] w[r + 1] (h[r + 1] - h[r])^2 of values h (n_draws, n_rows)."""
        return self.widths[:-1] * self.widths[1:] * np.diff(values, axis=0) ** 2

    def common(self, values):
        """What functions of the rows have in common, (n_outputs, n_draws, n_rows).

        It is fitted to each half of the rows for the other half. Of many rows, every
        second, third or further one of a half is enough.

        Parameters
        ----------
        values : ndarray of shape (n_outputs, n_draws, n_rows)
        """
        places, found = 2.0 * self.at - 1.0, np.empty(values.shape)
        step = 2 * max(1, self.at.shape[1] // (2 * FITTED_ROWS))
        for half in (0, 1):
            own, others = slice(half, None, 2), slice(1 - half, None, step)
            widths, known = self.widths[:, others], values[..., others]
            centred = known - (widths * known).sum(axis=1, keepdims=True)
            basis = legvander(places[:, others], DEGREE)[..., 1:].reshape(-1, DEGREE)
            weighted = widths.ravel() * basis.T
            products = weighted @ centred.reshape(len(values), -1).T
            factors = np.linalg.solve(weighted @ basis, products)
            factors = np.pad(factors, ((1, 0), (0, 0)))
            found[..., own] = legval(places[:, own], factors)
        return found


def _second_integral(gaps):
    """A second integral of c, of gaps in units of W; see the module."""
    gaps = np.clip(gaps, 0.0, 1.0)
    return xlogy(gaps, gaps) - gaps**2 / 2


def uniform_numbers(seed, n_rows, rows, before, n_numbers):
    """Numbers in [0, 1) of some rows, (n_numbers, n); see `StrataPoints`."""
    bits = np.random.PCG64(seed)
    bits.advance(2 * before * n_rows + rows.start * n_numbers)
    numbers = np.random.Generator(bits).random((rows.stop - rows.start, n_numbers))
    return np.ascontiguousarray(numbers.T)


class DrawnCurves(Chunk):
    """Responses of rows that are each moved to donors of their own.

    Where other shapes give sums over the rows, by cell, this one gives each draw's own
    number, (n_features, n_outputs, n_rows, n_draws).

    Parameters
    ----------
    rows, cells : see `Shape`
    ice : ndarray of shape (1, n_outputs, n_rows, n_draws)
        As all arrays of draws it lies in memory as (n_draws, n_rows): what is summed
        over few draws is then added up for many rows at once.
    points : StrataPoints

    Attributes
    ----------
    beside : ndarray of shape (n_outputs, n_draws, n_rows) or None
        Of pairs, the h of the module.
    close : ndarray of shape (n_outputs, n_draws - 1, n_rows) or None
        Of pairs, the K of neighbouring draws.
    """

    def __init__(self, rows, cells, ice, points):
        super().__init__(rows, cells, ice)
        self.points, self.beside, self.close = points, None, None

    def over_cells(self, values):
        return np.einsum("boik,ki->boi", values, self.points.widths)

    def over_rows(self, values):
        return values

    def pairs(self):
        return self._of_pairs(lambda a, b: np.abs(a - b))

    def variances(self):
        """A donor's own deviation is twice its part in the pairs, less the variance."""
        rows, per_draw = self._of_pairs(lambda a, b: (a - b) ** 2 / 2)
        return rows, 2 * per_draw - rows[..., np.newaxis]

    def _of_pairs(self, kernel):
        """Means of a kernel over the pairs, and for each draw; sets `beside`, `close`.

        A draw's own stratum is told by the draws of its neighbours.
        """
        draws = np.ascontiguousarray(np.moveaxis(self.ice[0], 2, 0))
        widths = self.points.widths[:, np.newaxis]  # (n_draws, 1, n_rows)
        nearness = self.points.nearness[:, np.newaxis]
        beside, own = np.zeros((2, *draws.shape))
        close = np.empty((len(nearness), *draws.shape[1:]))
        for r, near in enumerate(nearness):
            pairs = kernel(draws[r], draws[r + 1 :])
            beside[r] += (widths[r + 1 :] * pairs).sum(axis=0)
            beside[r + 1 :] += widths[r] * pairs
            own[r] += widths[r + 1] * near * pairs[0]
            own[r + 1] += widths[r] * near * pairs[0]
            close[r] = pairs[0]
        per_draw = np.moveaxis(beside + own, 0, 2)[np.newaxis]
        self.beside = 2 * beside.swapaxes(0, 1)
        self.close = close.swapaxes(0, 1)
        return self.over_cells(per_draw), per_draw


@dataclass
class DonorBins:
    """Cells of a move joined to bins of neighbours, where there are many cells.

    Attributes
    ----------
    of_cell : ndarray of shape (n_cells,)
        The bin of each cell. Bins hold cells of one level, missing values apart.
    probabilities, chances : ndarray of shape (n_bins,)
        As those of a `Move`.
    levels : ndarray of shape (n_bins,)
    known : ndarray of bool of shape (n_bins,)
        Which bins hold values that have an order.
    """

    of_cell: np.ndarray
    probabilities: np.ndarray
    chances: np.ndarray
    levels: np.ndarray
    known: np.ndarray

    @classmethod
    def of(cls, move):
        """Those of a move."""
        chances, levels = move.chances, move.levels
        known = move.known if move.ordered else np.zeros(move.n_cells, dtype=bool)
        begins = np.ones(move.n_cells, dtype=bool)
        if move.n_cells > DONOR_BINS:
            middle = np.cumsum(chances) - chances / 2
            keys = np.stack([(middle * DONOR_BINS).astype(np.intp), levels, known])
            begins[1:] = np.any(keys[:, 1:] != keys[:, :-1], axis=0)
        first = np.flatnonzero(begins)
        return cls(
            np.cumsum(begins) - 1,
            np.add.reduceat(move.probabilities, first),
            np.add.reduceat(chances, first),
            levels[first],
            known[first],
        )

    def direction(self, sums, size):
        """Of the mean curve, (1, n_outputs), which is known in bins of its values.

        Parameters
        ----------
        sums : ndarray of shape (4 + n_outputs, n_bins)
            See `DrawnRows`.
        size : ndarray of shape (n_outputs,)
            Largest response.
        """
        weights, sums = sums[1], sums[4:]
        drawn = self.known & (weights > 0)
        if not drawn.any():
            return np.full((1, len(sums)), np.nan)
        chances, levels = self.probabilities, self.levels
        # the probabilities of each level sum to 1
        middle = np.cumsum(chances) - chances / 2 - levels
        bins = np.minimum(middle * N_BINS - 1e-9, N_BINS - 1).astype(int)
        used, bins = np.unique((levels * N_BINS + bins)[drawn], return_inverse=True)
        weight_of_bin = np.bincount(bins, weights[drawn])
        mean = np.stack([np.bincount(bins, s[drawn]) for s in sums]) / weight_of_bin
        mass = np.bincount(bins, (self.chances / chances)[drawn]) / np.bincount(bins)
        chances = np.bincount(bins, chances[drawn])
        return direction(mean * mass, chances, size, used // N_BINS)[np.newaxis]


@dataclass
class Draws:
    """The draws of some rows, made at once.

    Attributes
    ----------
    points : StrataPoints
    values : ndarray of shape (n_outputs, n_draws, n_rows)
        The h of the module.
    close : ndarray of shape (n_outputs, n_draws - 1, n_rows) or None
        Of pairs, the K of neighbouring draws.
    means, moved, sums, largest : see `DrawnRows`
    """

    points: StrataPoints
    values: np.ndarray
    close: np.ndarray | None
    means: np.ndarray
    moved: np.ndarray
    sums: np.ndarray
    largest: float

    def followed_by(self, other):
        """With other rows, which follow these."""
        close = self.close
        if close is not None:
            close = np.concatenate([close, other.close], axis=2)
        return Draws(
            self.points.followed_by(other.points),
            np.concatenate([self.values, other.values], axis=2),
            close,
            np.concatenate([self.means, other.means], axis=1),
            np.concatenate([self.moved, other.moved], axis=1),
            self.sums + other.sums,
            max(self.largest, other.largest),
        )

    def summed(self):
        """The `DrawnRows`."""
        points, values, means = self.points, self.values, self.means
        n_draws, n_rows = points.at.shape
        widths = points.widths
        spreads = points.between(values.mean(axis=0)).sum(axis=0) / JUMPS
        if n_rows >= COMMON_ROWS:
            common = points.common(values)
            values = values - common
            means = means - (widths * common).sum(axis=1)
        between = points.between(values.mean(axis=0))
        noise = (points.nearness * between).sum(axis=0)
        if self.close is not None:
            close = points.nearness * self.close.mean(axis=0)
            close *= 2 * widths[:-1] * widths[1:]
            within, together = close.sum(axis=0), self.means.mean()
            noise *= divided(together, together - within.mean()) ** points.own
            noise += WITHIN * (within - within.mean()) ** 2
        return DrawnRows(
            n_draws,
            means,
            noise,
            np.sqrt(between.sum(axis=0) / JUMPS),
            self.moved,
            self.sums,
            self.largest,
            rounded_down(n_draws * np.sqrt(spreads)),
        )


@dataclass
class DrawnRows:
    """What the draws of some rows say of a feature.

    Attributes
    ----------
    n_draws : int
        Of each row.
    means : ndarray of shape (n_outputs, n_rows)
        Each row's mean contribution.
    noise : ndarray of shape (n_rows,)
        The variance by drawing of its mean over the outputs.
    jumps : ndarray of shape (n_rows,)
        The standard deviation that jumps as high as those between its draws add to
        that mean on average.
    moved : ndarray of shape (n_outputs_of_the_model, n_rows)
        Each row's mean response, moved minus unmoved.
    sums : ndarray of shape (4 + n_outputs_of_the_model, n_bins)
        Over the draws of each bin of donors: squared weight, weight, weighted mean
        contribution over the outputs, weighted square of it, and weighted response,
        moved minus unmoved.
    largest : float
        Largest size of a draw's contribution.
    spreads : ndarray
        `jumps` times `n_draws`, before anything in common is subtracted. Rounded down
        to three binary digits; sorted, each once.
    exact : bool
        Whether the rows took all cells, so that further draws add nothing.
    """

    n_draws: int
    means: np.ndarray
    noise: np.ndarray
    jumps: np.ndarray
    moved: np.ndarray
    sums: np.ndarray
    largest: float
    spreads: np.ndarray
    exact: bool = False

    def followed_by(self, other):
        """With other rows, which follow these."""
        return DrawnRows(
            self.n_draws,
            np.concatenate([self.means, other.means], axis=1),
            np.concatenate([self.noise, other.noise]),
            np.concatenate([self.jumps, other.jumps]),
            np.concatenate([self.moved, other.moved], axis=1),
            self.sums + other.sums,
            max(self.largest, other.largest),
            np.union1d(self.spreads, other.spreads),
            self.exact,
        )

    def with_further(self, other):
        """With further draws of the same rows."""
        n_draws = self.n_draws + other.n_draws
        a, b = self.n_draws / n_draws, other.n_draws / n_draws
        return DrawnRows(
            n_draws,
            a * self.means + b * other.means,
            a**2 * self.noise + b**2 * other.noise,
            np.hypot(a * self.jumps, b * other.jumps),
            a * self.moved + b * other.moved,
            self.sums + other.sums,
            max(self.largest, other.largest),
            np.union1d(self.spreads, other.spreads),
        )


@dataclass
class StrataDraws:
    """Draws of the features of a walk; see the module.

    Parameters
    ----------
    walk : Walk
        Over all rows, of one request.
    reduction : RowMean
    scale : ndarray of shape (n_outputs,)
        What importances are divided by.
    seeds : ndarray of shape (n_features,)
        One per feature, so that the numbers do not depend on the order of the work.
    order : RowOrder
        Of the evaluated rows.
    done : str
        What was drawn, in words.
    """

    walk: object
    reduction: object
    scale: np.ndarray
    seeds: np.ndarray
    order: object
    done: str = ""

    def draw(self, task):
        """`DrawnRows` of some features, from the same calls of the model.

        Parameters
        ----------
        task : (list of int, slice, int, int)
            The features, the rows as places in the order, draws that each of these has
            made before, and those to make.

        Returns
        -------
        list of DrawnRows
        """
        features, rows, before, n_draws = task
        most = max(1, len(self.scale) * n_draws * len(features))
        found = [None] * len(features)
        shares = self.order.shares(rows.stop)
        for part in slices(rows.stop - rows.start, most):
            some = slice(rows.start + part.start, rows.start + part.stop)
            news = self._draw_at_once(features, some, before, n_draws, shares[some])
            for at, new in enumerate(news):
                found[at] = new if found[at] is None else found[at].followed_by(new)
        return [one.summed() if isinstance(one, Draws) else one for one in found]

    def _draw_at_once(self, features, rows, before, n_draws, shares):
        walk, block = self.walk, self.walk.rows.block(self.order.rows[rows])
        block.weights = shares
        asked, every, moves = [], [], [walk.moves[e] for e in features]
        for e, move in zip(features, moves):
            # all cells, if there are no more of them than draws
            if move.n_cells <= n_draws and move.shared:
                cells = np.tile(np.arange(move.n_cells)[:, np.newaxis], len(block))
                points = None
            else:
                seed, n = int(self.seeds[e]), len(self.order)
                apart = self.reduction.primitive in OF_PAIRS and not move.ordered
                draw = StrataPoints.drawn_in_pairs if apart else StrataPoints.drawn
                points = draw(seed, n, rows, before, n_draws)
                cells = move.cells_at(points.at, block.index)
                if not apart and move.n_cells < MANY_CELLS * n_draws:
                    begins, ends = move.bounds_at(cells, block.index)
                    points = points.known_by_cells(begins, ends)
            asked.append(cells)
            every.append(points)
        block.base = np.ascontiguousarray(block.base)
        found = []
        curves = curves_at(walk.response, block, moves, asked)
        for move, cells, points, of_move in zip(moves, asked, every, curves):
            if points is None:
                found.append(self._summed_exactly(move, block, of_move))
            else:
                found.append(self._draws(move, block, cells, points, of_move))
        return found

    def _summed_exactly(self, move, rows, curves):
        """`DrawnRows` from the curves at all cells."""
        shape = Chunk(rows, Cells.of(move), curves[np.newaxis])
        state = self.reduction.reduce(shape)
        weights, n_outputs = rows.weights, state.cells.shape[1]
        scale = self.scale[:n_outputs, np.newaxis]
        means, cells = state.rows[0, :n_outputs] / scale, state.cells[0] / scale
        mean, total = cells.mean(axis=0), weights.sum()
        known = np.full(move.n_cells, weights @ weights), np.full(move.n_cells, total)
        numbers = *known, mean, 0.0 * mean, *(weights @ shape.moved[0])
        return DrawnRows(
            move.n_cells,
            means,
            *np.zeros((2, len(weights))),
            shape.over_cells(shape.moved)[0],
            np.stack(numbers),
            float(np.abs(means).max(initial=0.0)),
            np.empty(0),
            exact=True,
        )

    def _draws(self, move, rows, cells, points, curves):
        """`Draws` from the cells (n_draws, n_rows) at points, and the curves there."""
        draws = Cells(np.full((1, len(cells)), 1.0 / len(cells)))
        shape = DrawnCurves(rows, draws, curves[np.newaxis], points)
        state = self.reduction.reduce(shape)
        n_draws, scale = len(cells), self.scale[: state.cells.shape[1]]
        scale = scale[:, np.newaxis, np.newaxis]
        values, close = state.cells[0].swapaxes(1, 2) / scale, None
        per_draw = values.mean(axis=0)
        if shape.beside is not None:
            values, close = shape.beside / scale, shape.close / scale
        moved = curves.swapaxes(1, 2) - rows.base[:, np.newaxis]
        bins = DonorBins.of(move)
        at, n_bins = bins.of_cell[cells].ravel(), len(bins.chances)
        w = (n_draws * rows.weights * points.widths).ravel()
        flat, drifts = per_draw.ravel(), moved.reshape(len(moved), -1)
        numbers = (w**2, w, w * flat, w * flat**2, *(w * drifts))
        return Draws(
            points,
            values,
            close,
            state.rows[0][: len(values)] / scale[..., 0],
            np.einsum("oki,ki->oi", moved, points.widths),
            np.stack([np.bincount(at, values, n_bins) for values in numbers]),
            float(np.abs(per_draw).max(initial=0.0)),
        )

    def finished(self, e, found):
        """The `Outcome` of a feature from its `DrawnRows`, the first of the order."""
        walk, move, m = self.walk, self.walk.moves[e], found.means.shape[1]
        rows, units = walk.rows, walk.rows.units
        evaluated, n = self.order.rows[:m], len(self.order)
        w, v = rows.weights[evaluated], self.order.shares(m)
        importances, means = found.means @ v, found.means.mean(axis=0)
        theta = importances.mean()
        rho = means - theta
        drawn = self.order.chances(m)
        factors = drawn * v**2
        squares = factors * found.noise
        single = drawn * v * root_mean_square(v) * found.jumps**2
        noise = squares.sum() + FURTHER * max(squares.max(), single.max())
        if factors.sum() ** 2 >= COMMON_ROWS * (factors @ factors):
            noise = np.minimum(noise, left_out(means, v, 1.0 - drawn))
        error = np.sqrt(noise + left_out(means, v, drawn))
        psi = np.zeros(n)
        psi[evaluated] = (v / w) * rho
        # rows that are not evaluated count through those that are
        excess = (v * (v - w)) @ rho**2 + (v * w) @ found.noise
        bins = DonorBins.of(move)
        if move.codes is not None and self.reduction.donor_factor:
            factor, n_bins = self.reduction.donor_factor, len(bins.chances)
            levels = theta + gaps_of_levels(bins, found.sums)
            donated, mean_squares = donor_means(found.sums, levels)
            codes = bins.of_cell[move.codes[rows.index]]
            psi += factor * donated[codes]
            if not found.exact:
                weight_squares = units.squares_by_cell(codes, n_bins)
                excess += factor**2 * (weight_squares @ mean_squares)
        through_scale = self.reduction.through_scale(importances, rows, self.scale)
        psi += np.mean(through_scale / self.scale[:, np.newaxis], axis=0)
        variance = np.sum(units.weighted_sums(psi) ** 2) - excess
        standard = units.error_of_squares(max(variance, 0.0))
        psi = scaled_influences(psi, units, standard)
        finished = Outcome(self.reduction.offset + importances, standard, error)
        finished.n_draws, finished.largest_draw = m * found.n_draws, found.largest
        finished.draw_share = root_mean_square(v) / found.n_draws
        finished.skewness = units.skewness(psi, standard)
        finished.directions = bins.direction(found.sums, rows.size)
        if walk.keep_rows:
            self._keep_rows(finished, found, psi)
        return finished

    def _keep_rows(self, finished, found, psi):
        """Add the numbers of single rows: 0, or NaN, for those that were not drawn."""
        m, n = found.means.shape[1], len(self.order)
        evaluated = self.order.rows[:m]
        often = self.order.shares(m) / self.walk.rows.weights[evaluated]
        contributions = np.zeros((1, n))
        contributions[:, evaluated] = often * found.means.mean(axis=0)
        effects = np.full((1, len(found.moved), n), np.nan)
        effects[0][:, evaluated] = -found.moved
        finished.influences = psi[np.newaxis]
        finished.contributions = self.reduction.offset + contributions
        finished.effects = effects


def left_out(numbers, shares, chances):
    """Variance of means of numbers (..., m) of drawn rows, by what was not drawn.

    Parameters
    ----------
    numbers : ndarray of shape (..., m)
    shares, chances : ndarray of shape (m,)
        The weights of the rows in the mean, and how likely they are drawn.
    """
    missing, m = 1.0 - chances, len(shares)
    centre = divided(numbers @ (missing * shares), missing @ shares)
    squares = missing * (shares * (numbers - centre[..., np.newaxis])) ** 2
    sums = squares.sum(axis=-1) + FURTHER_ROWS * squares.max(axis=-1, initial=0.0)
    return m / max(m - 1, 1) * sums


def rounded_down(values):
    """Numbers to three binary digits; sorted, each once."""
    digits, powers = np.frexp(values)
    return np.unique(np.ldexp(np.floor(8.0 * digits), powers - 3))


def root_mean_square(values):
    """Of an array."""
    return float(np.sqrt(np.mean(np.square(values))))


def curves_at(response, rows, moves, cells):
    """The response of rows that each move to a few cells of their own.

    Parameters
    ----------
    response : BlackBoxResponse
    rows : Rows
    moves : list of Move
    cells : list of ndarray of shape (n_draws, n_rows)

    Returns
    -------
    list of ndarray of shape (n_outputs, n_rows, n_draws)
    """
    asked, places = [], []
    for move, own_cells in zip(moves, cells):
        at, cell = np.tile(np.arange(len(rows)), len(own_cells)), own_cells.ravel()
        place = slice(None)
        # each moved row once; of many cells hardly two are the same
        if move.n_cells < MANY_CELLS * len(own_cells):
            keys, place = np.unique(at * move.n_cells + cell, return_inverse=True)
            at, cell = np.divmod(keys, move.n_cells)
        moves_row = np.ones(len(at), dtype=bool)
        again = np.empty(0, dtype=np.intp)
        if move.codes is not None:  # a row moved to its own value is the row itself
            moves_row = move.codes[rows.index[at]] != cell
            again = np.flatnonzero(~moves_row)[:ASKED_AGAIN]
        moves_row[again] = True
        asked.append((rows.index[at[moves_row]], move, cell[moves_row]))
        places.append((at, moves_row, again, place))
    result = []
    for found, (at, moves_row, again, place), c in zip(
        response.at_several(rows.table, asked), places, cells
    ):
        known = rows.base[:, at]
        before = known[:, again]
        known[:, moves_row] = found
        same = rows.table.take(rows.index[at[again]])
        warn_if_changed(before, known[:, again], partial(response.model, same.native))
        known[:, again] = before
        found = known[:, place].reshape(len(known), *c.shape)
        result.append(found.swapaxes(1, 2))
    return result


ASKED_AGAIN = 3  # rows of a feature that are drawn with their own values
CHANGED = 1e-4  # of the response's size: single precision may differ by less


def warn_if_changed(before, after, ask):
    """Say so where a model predicts the same rows differently, and when it does.

    Parameters
    ----------
    before, after : ndarray of shape (n_outputs, n_rows)
        From calls with different rows beside them.
    ask : callable
        The model's outputs of these rows alone. It is called twice, unless the rows
        that the model may be asked for are limited.
    """
    if not _differ(before, after):
        return
    how = "from call to call, or with the rows that are predicted together"
    way_out = "Fix the model's seed, or leave out what looks at other rows"
    if budget().left == np.inf and _differ(ask(), ask()):
        how, way_out = "from call to call", "Fix the model's seed"
    elif budget().left == np.inf:
        how = "with the rows that are predicted together"
        way_out = "Leave out what looks at other rows"
    warn(  # without numbers, so that it is said once
        f"The model's predictions change {how}. Such changes are part of all "
        f"importances, also of columns that the model does not use. {way_out}."
    )


def _differ(before, after):
    """Whether outputs of the same rows differ by more than single precision may."""
    size = np.abs(before).max(initial=0.0)
    return np.any(np.abs(after - before) > CHANGED * size)


MANY_CELLS = 16  # times the draws
SEVERAL = 1.5  # draws of equal weight, whose spread is known


def gaps_of_levels(bins, sums):
    """Mean contribution of the donors of each bin's level, less that of all donors.

    Parameters
    ----------
    bins : DonorBins
    sums : ndarray of shape (4 + n_outputs, n_bins)
        See `DrawnRows`.

    Returns
    -------
    ndarray of shape (n_bins,)
    """
    _, weight, first, *_ = sums
    level_sums = np.bincount(bins.levels, first), np.bincount(bins.levels, weight)
    return divided(*level_sums)[bins.levels] - first.sum() / weight.sum()


def donor_means(sums, level):
    """Mean contribution of the donors of each bin minus a level, and its variance."""
    squares, weight, first, second, *_ = sums
    mean, count = divided(first, weight), divided(weight**2, squares)
    spread = np.maximum(divided(second, weight) - mean**2, 0.0)
    several = count > SEVERAL
    within = spread * divided(count, count - 1)
    pooled = within[several].mean() if several.any() else 0.0
    noise = divided(np.where(several, within, pooled), count)
    return np.where(count > 0, mean - level, 0.0), noise


def scaled_influences(psi, units, error):
    """Influences estimated from draws, with mean 0 and a standard error that is known.

    Drawing adds noise to each row's influence; it is shrunk by what the noise adds.
    """
    psi = psi - units.weights @ psi
    size = units.error(psi)
    return psi * (error / size if size > 0 else error)
