"""Draws in rounds: how many are enough, and rows drawn with all of the grid.

One Kalman filter per entry says when to stop. Its state is the importance, which
is constant: there is no process noise. Each draw measures it with a variance R, known
from the draws. From a diffuse start (P = infinity) the filter

    K = P / (P + R),   x <- x + K (z - x),   P <- (1 - K) P

is the running mean of the draws, and P = R / n_draws is its squared standard error
(Lemaire & Clérot, section II.C.1). It is kept in this form, with the latest estimate
of R. Rows drawn for the exact mean over the grid are their eqs. 4 and 5.
"""

from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from skvarimp._data.merging import merged
from skvarimp._response.engine import merged_states
from skvarimp._response.subgroups import donor_levels
from skvarimp._running.memory import slices

MIN_DRAWS = 100  # before R is trusted
EQUAL_DRAWS = 2000  # made before an entry whose draws are all equal may rest
EQUAL = 1e-12  # relative spread of draws that are equal up to rounding
RARE = 3.0  # not seen in n draws: a rate below 3 / n, at 95% (0.95 = 1 - e^-3)
MIN_INFORMATION = 100  # draws a standard error is estimated from, at least


@dataclass
class Batch:
    """Sums over draws of one entry; a + b is the batch of all their draws.

    Attributes
    ----------
    n_draws : int
    sums : ndarray of shape (n_outputs,)
        Of the draws, in units of the scale.
    deviation : float
        Sum of squared deviations of the draws' means over the outputs.
    largest : float
        Largest draw's mean over the outputs.
    influence : float
        Sum of the squares of all rows' weighted influences on the importance, estimated
        from these draws, times `information`.
    information : float
        How many draws, or pairs of draws, `influence` is estimated from.
    row_sums, cell_sums : ndarray of shape (n_rows,), (n_cells,) or None
        Sums of the draws' means over the outputs by row and by donor value, where the
        numbers of single rows are kept.
    """

    n_draws: int
    sums: np.ndarray
    deviation: float
    largest: float
    influence: float
    information: float
    row_sums: np.ndarray | None = None
    cell_sums: np.ndarray | None = None

    def __add__(self, other):
        both = merged(vars(self), vars(other))
        between = (other.mean - self.mean) ** 2 * self.n_draws * other.n_draws
        both["deviation"] += between / both["n_draws"]
        both["largest"] = max(self.largest, other.largest)
        return Batch(**both)

    @property
    def mean(self):
        """The filter's state, x."""
        return float(self.sums.mean()) / self.n_draws

    @property
    def error(self):
        """The filter's standard error, P ** (1/2); NaN for one draw."""
        if self.n_draws == 1:
            return np.nan
        return float(np.sqrt(self.deviation / (self.n_draws - 1) / self.n_draws))

    @property
    def varies(self):
        """Whether the draws differ by more than rounding."""
        spread = np.sqrt(self.deviation / self.n_draws)
        return bool(spread > EQUAL * abs(self.largest))

    def standard_error(self, units):
        """Sampling error of the importance; NaN where there are too few draws."""
        if self.information < MIN_INFORMATION:
            return np.nan
        squares = max(self.influence / self.information, 0.0)
        return float(units.error_of_squares(squares))


class Filters:
    """The filters of all entries and the rule that stops them.

    An entry rests once its standard error is below `tol` times the largest importance
    of all entries, after at least `MIN_DRAWS` draws. The error is estimated with
    caution: as if one more draw were as large as the largest change known, which is the
    range of the unmoved response or the largest draw of any entry. The reason: if draws
    are skewed, the first ones often miss the rare, large ones and look more even than
    they are. A rule that stops as soon as draws look precise would favour these.

    Draws that are all equal (all 0, say) do not prove that further ones are. Then at
    least `EQUAL_DRAWS` are made, or all that are allowed, and the error is 3 / n_draws
    times the largest change.

    Parameters
    ----------
    n_entries, n_outputs : int
    tol : float or None
        None: each entry makes `cap` draws.
    cap : int
        Largest number of draws of an entry.
    size : float, default=0.0
        How far the unmoved response reaches, in units of the scale.

    Attributes
    ----------
    batches : list of (Batch or None)
        All draws of each entry.
    importances : ndarray of shape (n_entries, n_outputs)
        Running means; NaN where nothing was drawn.
    n_draws : ndarray of int of shape (n_entries,)
    """

    def __init__(self, n_entries, n_outputs, tol, cap, size=0.0):
        self.tol, self.cap, self.size = tol, cap, size
        self.batches = [None] * n_entries
        self.importances = np.full((n_entries, n_outputs), np.nan)
        self.n_draws = np.zeros(n_entries, dtype=np.intp)
        self._mean, self._largest = np.zeros((2, n_entries))
        self._error = np.full(n_entries, np.nan)
        self._varies = np.zeros(n_entries, dtype=bool)
        self._goal = 0.0  # the error to get below, as known at the round's start

    def add(self, e, batch):
        """Take further draws of entry e; returns whether it rests for now."""
        total = batch if self.batches[e] is None else self.batches[e] + batch
        self.batches[e], self.importances[e] = total, total.sums / total.n_draws
        self.n_draws[e], self._mean[e] = total.n_draws, total.mean
        self._error[e], self._largest[e] = total.error, total.largest
        self._varies[e] = total.varies
        return bool(total.n_draws >= self.cap or self._precise(self._goal, e))

    @property
    def errors(self):
        """Standard errors of the running means, (n_entries,); NaN for one draw."""
        if self.tol is None:
            return self._error.copy()
        return np.where(self._varies, self._error, self._cautious_errors())

    def _cautious_errors(self, e=slice(None)):
        varies, n = self._varies[e], np.maximum(self.n_draws[e], 1)
        size = max(self.size, self._largest.max())
        unseen = np.where(varies, 1.0, RARE) * size / n
        return np.where(varies, np.hypot(self._error[e], unseen), unseen)

    def standard_errors(self, units):
        """Sampling errors of the importances, (n_entries,)."""
        errors = [b.standard_error(units) if b else np.nan for b in self.batches]
        return np.array(errors)

    @property
    def precise(self):
        """Whether each entry's cautious error is below the tolerance, (n_entries,)."""
        if self.tol is None or np.any(self.n_draws == 0):
            return self.n_draws >= self.cap
        return self._precise(self._tolerance())

    def _precise(self, goal, e=slice(None)):
        enough = np.where(self._varies[e], MIN_DRAWS, min(EQUAL_DRAWS, self.cap))
        return (self._cautious_errors(e) < goal) & (self.n_draws[e] >= enough)

    def wanted(self):
        """Further draws to make now, (n_entries,); 0 for entries that rest.

        As many as the error seems to need, but at most as many as were made so far:
        early estimates of the error are rough.
        """
        n, left = self.n_draws, self.cap - self.n_draws
        if self.tol is None:
            return left
        if np.any(n == 0):
            return np.where(n == 0, np.minimum(MIN_DRAWS, left), 0)
        self._goal = self._tolerance()
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self._cautious_errors() / self._goal
        by_bound = np.maximum(n * ratio, EQUAL_DRAWS)
        needed = np.where(self._varies, n * ratio**2, by_bound)
        more = np.ceil(np.fmax(np.fmin(1.05 * needed - n, n), n / 4)).astype(np.intp)
        return np.where(self.precise, 0, np.minimum(more, left))

    def _tolerance(self):
        return self.tol * self._mean.max()


def draw_in_rounds(filters, draw, progress):
    """Draw round by round until every filter rests; the largest importance counts.

    Parameters
    ----------
    filters : Filters
    draw : callable
        draw(wanted, number of the round) yields (entry, Batch).
    progress : Progress
        An entry that comes to rest is a step; may stop the draws.
    """
    resting = np.zeros(len(filters.batches), dtype=bool)
    number = 0
    while True:
        wanted = filters.wanted()
        now = (wanted == 0) & ~resting
        resting |= now
        if now.any() and progress.step(int(now.sum())):
            return
        if not wanted.any():
            return
        with closing(draw(wanted, number)) as batches:
            for e, batch in batches:
                rests = filters.add(e, batch) and not resting[e]
                resting[e] |= rests
                if rests and progress.step():
                    return
        number += 1


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


def row_draws(walk, random, n_jobs, wanted, number):
    """Yield (entry, Batch) of rows drawn by their weights, the same for all entries.

    As many as are wanted least.

    Parameters
    ----------
    walk : Walk
        Over all rows, of one request with one reduction.
    random : Generator
    n_jobs : int or None
    wanted : ndarray of int of shape (n_entries,)
    number : int
        Of the round.
    """
    active = np.flatnonzero(wanted)
    chances, n = walk.weights, wanted[active].min()
    rows = random.choice(len(chances), n, p=chances)
    # what is kept of the first half of the rows until the second half is in
    for part in slices(len(active), walk.base.size, np.inf, arrays=1):
        some = replace(walk, moves=walk.moves.subset(active[part]))
        for p, batch in _batches(some, rows, n_jobs):
            yield active[part][p], batch


def _batches(walk, rows, n_jobs):
    ((reduction,),), ((scale,),) = walk.reductions, walk.scales
    twofold = reduction.donor_factor and len(rows) > 1
    halves = np.array_split(rows, 2) if twofold else [rows]
    *before, last = [_Half.of(walk, half) for half in halves]
    kept = [{p: parts for p, *parts in half.states(n_jobs)} for half in before]
    with closing(last.states(n_jobs)) as arriving:
        for p, *parts in arriving:
            states = [half[p] for half in kept] + [parts]
            move = walk.moves[p]
            yield p, _batch([*before, last], states, move, reduction, scale)


@dataclass
class _Half:
    """A walk over drawn rows; each distinct one is evaluated once."""

    walk: object
    counts: np.ndarray
    n_rows: int  # of the whole walk
    chances: np.ndarray  # of each distinct row

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
        return cls(part, counts, len(walk.rows), walk.weights[rows])

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
    one = other = centred
    if len(halves) == 2 and move.codes is not None:
        # psi_i = (r_i - theta) + c (d_k(i) - theta). r_i is exact, and d_k is a mean
        # over the drawn rows: the product of two halves is unbiased for its square
        codes = move.codes[np.concatenate([half.walk.rows for half in halves])]
        donors = [_of_donors(*pair, move, scale, theta) for pair in zip(halves, states)]
        c = reduction.donor_factor
        one, other = (centred + c * donated[codes] for donated in donors)
    # a row is drawn with chance w_i, so that w_i psi_i^2 has the mean that is wanted
    weighted = counts * np.concatenate([half.chances for half in halves])
    influence = float(weighted @ (one * other))  # times n draws
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
