"""Importances from donors drawn in strata: a walk over cells of each row's own.

The values of a feature are cut into R strata of equal probability. Row i draws two
donors A[r], B[r] in each stratum r, independently of each other. With u = (r + U) / R,
U uniform in [0, 1), the inverse distribution function of the row's cells serves ties,
weights, categories, joint values of groups and subgroups of donors alike. The mean
over the 2 R donors of a function h of the moved response,

    T[i] = (1 / 2R) sum_r (h(A[r]) + h(B[r])),

has no bias. As A[r] and B[r] may stand for each other, its variance is estimated by

    N[i] = (1 / 4R^2) sum_r (h(A[r]) - h(B[r]))^2.

A mean over pairs of values of a symmetric kernel K with K(a, a) = 0 is

    T[i] = (1 / R^2) (sum_r K(A[r], B[r]) + sum_(r != s) M[r, s]),

with M[r, s] the mean of K over the four pairs of a draw of r and one of s. Let D[r] be
by how much T[i] R^2 changes beside the other strata if B[r] takes the place of A[r],
and I[r, s] = K(A[r], A[s]) - K(A[r], B[s]) - K(B[r], A[s]) + K(B[r], B[s]). The sum of
D[r]^2 counts what pairs of draws have in common twice, so that the estimate is

    N[i] = (1 / R^4) (c (sum_r D[r]^2 - sum_(r < s) I[r, s]^2 / 4)
                      + sum_r K(A[r], B[r])^2 / 2),   c = 1 + `WITHIN` / (R - 1).

The last sum is of the pairs within the strata, whose variance two draws do not tell: it
is half of the mean square for two equally frequent values, and a third for numbers of
equal density. Such a pair also varies together with its draws' part beside the other
strata: values at the outer end of a stratum are far from both. Of that, two draws of a
row tell nothing either. But donors of about equal values do, in different rows. 4 / R^4
times that covariance, summed over the strata, is added to the mean of the N[i]; c is
for what single rows have beyond it.

A feature with at most 2 R cells takes all of them in each row, by their probabilities.
That costs no more, and is exact.

Rows come in a random order (`RowOrder`), in which heavy rows are early, and rows whose
unmoved response is far from the mean, as moves change these most. With v the weights of
the first m rows in their mean, and p[i] the chance of row i of being one of them, the
mean lacks the other rows. Its variance is

    m / (m - 1) sum_i (1 - p[i]) v[i]^2 (T[i] - c)^2 + sum_i p[i] v[i]^2 N[i],

with c the mean of T weighted by (1 - p) v. Where rows are drawn alike, p[i] = m / n and
c = mean T.

Few large parts of such a sum, of rare draws or special rows, are often missing from it.
Draws that miss them give an estimate that is too small and looks precise. So to each of
the two sums `FURTHER` parts as large as the largest one are added, as Agresti and Coull
add two successes to a count ("Approximate is better than exact", The American
Statistician 52, 1998). Where many rows matter alike, that changes next to nothing. In
the sum of the N, single draws count as parts, too: a draw moves T[i] by
d = (h - T[i]) / 2R, which N[i] does not tell where both draws of a stratum have met a
jump. Its part is p[i] v[i] d^2 times the root mean square of v, as the next such draw
may be of a row of any weight. Pairs have N[i] alone.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from skvarimp._data.statistics import divided
from skvarimp._response.mean_curves import direction
from skvarimp._response.reductions import Outcome
from skvarimp._response.shape import Cells, Chunk
from skvarimp._running.guards import budget, warn
from skvarimp._running.memory import slices

N_BINS = 10  # of equal probability, over which drawn responses are averaged
WITHIN = 0.3  # measured: functions, trees and neighbours, of numbers and levels
FURTHER = 2.0  # parts as large as the largest one, in errors of drawing
DONOR_BINS = 2**13  # of neighbouring donors, whose mean contributions are averaged


def strata(seed, n_rows, rows, before, n_draws):
    """Points in [0, 1) for the draws of some rows, (n_draws, n): two in each stratum.

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
    bits = np.random.PCG64(seed)
    bits.advance(before * n_rows + rows.start * n_draws)
    random = np.random.Generator(bits).random((rows.stop - rows.start, n_draws))
    return (np.arange(n_draws) // 2 + random).T / (n_draws // 2)


class DrawnCurves(Chunk):
    """Responses of rows that are each moved to donors of their own.

    Along the last axis follow A[0], B[0], A[1], B[1] and so on. Where other shapes give
    sums over the rows, by cell, this one gives each draw's own number, (n_features,
    n_outputs, n_rows, n_draws).

    Parameters
    ----------
    rows, cells : see `Shape`
    ice : ndarray of shape (1, n_outputs, n_rows, n_draws)
    scale : ndarray of shape (n_outputs,)
        What importances are divided by.

    Attributes
    ----------
    noise : ndarray of shape (n_rows,) or None
        Variance that drawing gives the rows' mean over the outputs, of pairs.
    beside, within : ndarray of shape (n_rows, n_draws) or None
        The parts of that mean that a draw has with those of other strata, and with the
        other one of its own.
    """

    def __init__(self, rows, cells, ice, scale):
        super().__init__(rows, cells, ice)
        self.scale, self.noise = scale, None
        self.beside = self.within = None

    def over_rows(self, values):
        return values

    def pairs(self):
        return self._of_pairs(lambda a, b: np.abs(a - b))

    def variances(self):
        """A donor's own deviation is twice its part in the pairs, less the variance."""
        rows, per_draw = self._of_pairs(lambda a, b: (a - b) ** 2 / 2)
        return rows, 2 * per_draw - rows[..., np.newaxis]

    def _of_pairs(self, kernel):
        """Means of a kernel over the pairs, and for each draw; sets `noise`."""
        draws = np.ascontiguousarray(np.moveaxis(self.ice[0], 2, 0))
        a, b = draws[::2], draws[1::2]  # (n_strata, n_outputs, n_rows)
        factors, n_strata = 1.0 / (len(self.scale) * self.scale), len(a)

        def between(x, y):
            return kernel(x[:, np.newaxis], y[np.newaxis])

        def mean(pairs):
            return np.einsum("...oi,o->...i", pairs, factors)

        aa, ab, bb = between(a, a), between(a, b), between(b, b)
        ba, same = ab.swapaxes(0, 1), np.arange(n_strata)
        own, common = mean(ab[same, same]), mean(aa - ab - ba + bb)
        of_a, of_b = aa + ab, bb + ba
        # a draw has one partner in its own stratum, and two in each other one
        of_a[same, same] *= 2.0
        of_b[same, same] *= 2.0
        of_a, of_b = of_a.mean(axis=1) / 2, of_b.mean(axis=1) / 2
        common[same, same] = 0.0
        beside = np.stack([mean(of_a), mean(of_b)]) / n_strata - own / n_strata**2
        squares = ((beside[0] - beside[1]) ** 2).sum(axis=0)
        squares -= (common**2).sum(axis=(0, 1)) / (8 * n_strata**4)
        own = own / n_strata**2
        factor = 1 + WITHIN / (n_strata - 1)
        self.noise = factor * squares + (own**2).sum(axis=0) / 2
        self.beside = beside.T.reshape(len(draws[0, 0]), -1)
        self.within = np.repeat(own.T, 2, axis=1)
        per_draw = np.moveaxis(np.stack([of_a, of_b], axis=1), (0, 1), (2, 3))
        rows = (of_a + of_b).mean(axis=0) / 2
        return rows[np.newaxis], per_draw.reshape(self.ice.shape)


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
    farthest : ndarray of shape (n_rows,)
        By how much one of its draws moves that mean, at most; of pairs, the root of the
        noise.
    moved : ndarray of shape (n_outputs_of_the_model, n_rows)
        Each row's mean response, moved minus unmoved.
    pooled : list of (float, ndarray of shape (4, n_strata, N_BINS))
        Of pairs, for each round of draws: its share of them, and over the draws in bins
        of the strata: count, and sums of `DrawnCurves.beside`, `within` and their
        product.
    sums : ndarray of shape (4 + n_outputs_of_the_model, n_bins)
        Over the draws of each bin of donors: count, weight, weighted mean contribution
        over the outputs, weighted square of it, and weighted response, moved minus
        unmoved.
    largest : float
        Largest size of a draw's contribution.
    spreads : ndarray
        What the draws of a row are spread by: roots of the sums of the squared gaps
        between A and B. Rounded down to three binary digits; sorted, each once.
    exact : bool
        Whether the rows took all cells, so that further draws add nothing.
    """

    n_draws: int
    means: np.ndarray
    noise: np.ndarray
    farthest: np.ndarray
    moved: np.ndarray
    pooled: list
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
            np.concatenate([self.farthest, other.farthest]),
            np.concatenate([self.moved, other.moved], axis=1),
            [(a, mine + its) for (a, mine), (_, its) in zip(self.pooled, other.pooled)],
            self.sums + other.sums,
            max(self.largest, other.largest),
            np.union1d(self.spreads, other.spreads),
            self.exact,
        )

    def covariance(self):
        """What the pairs within strata add to the variance of a row on average."""
        found = 0.0
        for share, (count, beside, within, product) in self.pooled:
            n_draws = count.sum(axis=1, keepdims=True)
            mean_beside = beside.sum(axis=1, keepdims=True) / n_draws
            mean_within = within.sum(axis=1, keepdims=True) / n_draws
            product = product - mean_within * beside - mean_beside * within
            product = product + count * mean_beside * mean_within
            beside, within = beside - count * mean_beside, within - count * mean_within
            # products of two different draws of a bin
            crossed = (beside * within - product) / np.maximum(count - 1, 1) / n_draws
            found += 4 * share**2 * crossed.sum()
        return found

    def with_further(self, other):
        """With further draws of the same rows."""
        n_draws = self.n_draws + other.n_draws
        a, b = self.n_draws / n_draws, other.n_draws / n_draws
        return DrawnRows(
            n_draws,
            a * self.means + b * other.means,
            a**2 * self.noise + b**2 * other.noise,
            np.maximum(a * self.farthest, b * other.farthest),
            a * self.moved + b * other.moved,
            [(a * c, sums) for c, sums in self.pooled]
            + [(b * c, sums) for c, sums in other.pooled],
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
        return found

    def _draw_at_once(self, features, rows, before, n_draws, shares):
        walk, block = self.walk, self.walk.rows.block(self.order.rows[rows])
        block.weights = shares
        asked, places, moves = [], [], [walk.moves[e] for e in features]
        for e, move in zip(features, moves):
            # all cells, if there are no more of them than draws
            if move.n_cells <= n_draws and move.shared:
                asked.append(
                    np.tile(np.arange(move.n_cells)[:, np.newaxis], len(block))
                )
                places.append(None)
                continue
            points = strata(int(self.seeds[e]), len(self.order), rows, before, n_draws)
            asked.append(move.cells_at(points, block.index))
            places.append((points.T * (n_draws // 2 * N_BINS)).astype(np.intp))
        block.base = np.ascontiguousarray(block.base)
        curves = curves_at(walk.response, block, moves, asked)
        found = []
        for move, cells, found_there, place in zip(moves, asked, curves, places):
            if place is None:
                found.append(self._summed_exactly(move, block, found_there))
            else:
                found.append(self._summed(move, block, cells, place, found_there))
        return found

    def _summed_exactly(self, move, rows, curves):
        """`DrawnRows` from the curves at all cells."""
        shape = Chunk(rows, Cells.of(move), curves[np.newaxis])
        state = self.reduction.reduce(shape)
        weights, n_outputs = rows.weights, state.cells.shape[1]
        scale = self.scale[:n_outputs, np.newaxis]
        means, cells = state.rows[0, :n_outputs] / scale, state.cells[0] / scale
        mean, total = cells.mean(axis=0), weights.sum()
        known = np.full(move.n_cells, len(weights)), np.full(move.n_cells, total)
        numbers = *known, mean, 0.0 * mean, *(weights @ shape.moved[0])
        return DrawnRows(
            move.n_cells,
            means,
            *np.zeros((2, len(weights))),
            shape.over_cells(shape.moved)[0],
            [],
            np.stack(numbers),
            float(np.abs(means).max(initial=0.0)),
            np.empty(0),
            exact=True,
        )

    def _summed(self, move, rows, cells, places, curves):
        """`DrawnRows` from the cells (n_draws, n_rows) and the curves there.

        Places (n_rows, n_draws) are bins of the points that were drawn.
        """
        draws = Cells(np.full((1, len(cells)), 1.0 / len(cells)))
        shape = DrawnCurves(rows, draws, curves[np.newaxis], self.scale)
        state = self.reduction.reduce(shape)
        means, per_draw, weights = state.rows[0], state.cells[0], rows.weights
        n_outputs = len(per_draw)
        means = means[:n_outputs] / self.scale[:n_outputs, np.newaxis]
        factors = 1.0 / (n_outputs * self.scale[:n_outputs])
        per_draw = np.einsum("oik,o->ik", per_draw, factors)
        n_draws, noise, pooled = per_draw.shape[1], shape.noise, []
        if noise is not None:
            pooled = [(1.0, pooled_sums(places, shape.beside, shape.within))]
            farthest = np.sqrt(np.maximum(noise, 0.0))
        else:
            gaps = per_draw[:, ::2] - per_draw[:, 1::2]
            noise = (gaps**2).sum(axis=1) / n_draws**2
            centred = per_draw - per_draw.mean(axis=1, keepdims=True)
            farthest = np.abs(centred).max(axis=1) / n_draws
        moved = curves - rows.base[:, :, np.newaxis]
        bins = DonorBins.of(move)
        at, n_bins = bins.of_cell[cells.T].ravel(), len(bins.chances)
        w = np.repeat(weights, n_draws)
        flat, drifts = per_draw.ravel(), moved.reshape(len(moved), -1)
        numbers = (None, w, w * flat, w * flat**2, *(w * drifts))
        return DrawnRows(
            n_draws,
            means,
            noise,
            farthest,
            moved.mean(axis=2),
            pooled,
            np.stack([np.bincount(at, values, n_bins) for values in numbers]),
            float(np.abs(per_draw).max(initial=0.0)),
            rounded_down(n_draws * np.sqrt(np.maximum(noise, 0.0))),
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
        # no covariance takes off more than is known to be there
        pooled = (v @ v) * found.covariance()
        pooled = max(pooled, -0.75 * max(float(v**2 @ found.noise), 0.0))
        drawn = self.order.chances(m)
        squares = drawn * v**2 * found.noise
        single = drawn * v * root_mean_square(v) * found.farthest**2
        error = with_further(squares, np.maximum(squares, single))
        error += (drawn * v) @ v / (v @ v) * pooled
        error = np.sqrt(error + left_out(means, v, drawn))
        psi = np.zeros(n)
        psi[evaluated] = (v / w) * rho
        # rows that are not evaluated count through those that are
        noise = (v * w) @ found.noise + (v @ w) / (v @ v) * pooled
        excess = (v * (v - w)) @ rho**2 + noise
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


def pooled_sums(places, beside, within):
    """Count and sums over draws by bins of the strata, (4, n_strata, N_BINS).

    Parameters
    ----------
    places : ndarray of int of shape (n_rows, n_draws)
    beside, within : ndarray of shape (n_rows, n_draws)
        See `DrawnCurves`.
    """
    places, n_bins = places.ravel(), places.shape[1] // 2 * N_BINS
    numbers = None, beside.ravel(), within.ravel(), (beside * within).ravel()
    sums = [np.bincount(places, values, n_bins) for values in numbers]
    return np.reshape(sums, (4, -1, N_BINS))


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
    return m / max(m - 1, 1) * with_further(squares, squares)


def with_further(squares, further):
    """Sums (...) of squared parts (..., n_rows), with further ones; see the module."""
    total = np.maximum(squares.sum(axis=-1), 0.0)  # a difference of sums, of pairs
    return total + FURTHER * further.max(axis=-1, initial=0.0)


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
        keys = (np.arange(len(rows)) * move.n_cells + own_cells).T.ravel()
        # each moved row once; of many cells hardly two are the same
        if move.n_cells < MANY_CELLS * len(own_cells):
            keys, place = np.unique(keys, return_inverse=True)
        else:
            place = slice(None)
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
        result.append(known[:, place].reshape(len(known), len(rows), len(c)))
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
    count, weight, first, second, *_ = sums
    mean = divided(first, weight)
    spread = np.maximum(divided(second, weight) - mean**2, 0.0)
    several = count > 1
    within = spread * count / np.maximum(count - 1, 1)
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
