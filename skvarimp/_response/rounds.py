"""Draws in rounds, until the importances are precise; and rows drawn with all the grid.

Rows come in random order, block by block, and then again with further draws. The
running mean of a feature's draws is the state of a Kalman filter with a constant state
and a diffuse start, and the mean's standard error is that filter's (Lemaire & Clérot,
section II.C.1).
"""

from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from skvarimp._data.statistics import Units
from skvarimp._response.drawing import (
    FURTHER,
    left_out,
    root_mean_square,
    scaled_influences,
)
from skvarimp._response.reductions import Outcome
from skvarimp._response.walk import finished_positions
from skvarimp._running.guards import drawing_budget, warn
from skvarimp._running.memory import call_rows, even_slices
from skvarimp._running.tasks import Progress, in_order

AUTO_DRAWS = 6  # donors of each row
LEAST_DRAWS = 4  # two strata of two: one says nothing of pairs between strata
MOST_TIMES = 64  # with a `tol`, a row draws at most this many times `n_draws`
BLOCK_ROWS = 10_000  # drawn before it is asked whether they are enough
MOST_ROWS = 30_000  # drawn where `tol` is "auto"
CURVE_ROWS = 4000, 10_000  # of curves that a model is asked for: at least, at most
ENOUGH_ROWS = 2000  # of a model that is read, with the exact mean of each
LEAST_ROWS = 20  # before an error of drawing is trusted

SHARE_OF_ERROR = 1 / 3  # of the standard error, that drawing may add by default
SHARE_OF_LARGEST = 0.005  # of the largest importance, likewise
EQUAL = 1e-7  # relative spread of contributions that are equal up to rounding
EQUAL_DRAWS = 2000  # made before a feature whose draws are all equal may rest
NO_LIMIT = 2**53  # predictions
GAP = 4.0  # times the next smaller spread, a jump
RARE = 3.0  # not seen in n draws: a rate below 3 / n, at 95% (0.95 = 1 - e^-3)


@dataclass(frozen=True)
class Effort:
    """How much is drawn: rows, draws of each row, and when that is enough.

    Attributes
    ----------
    n_draws : int
        Of each row.
    tol : float, "auto" or None
        See `SensitivityImportance`.
    """

    n_draws: int
    tol: object

    @classmethod
    def of(cls, measure):
        """That of a measure with `n_draws` and `tol`."""
        n_draws = AUTO_DRAWS if measure.n_draws == "auto" else measure.n_draws
        return cls(n_draws, measure.tol)

    def most_rows(self, n_rows):
        """How many rows are drawn at most."""
        return min(n_rows, MOST_ROWS) if self.tol == "auto" else n_rows

    @property
    def most_draws(self):
        """How many draws a row makes at most."""
        return self.n_draws if self.tol in (None, "auto") else MOST_TIMES * self.n_draws

    def least_evaluations(self, n_rows):
        """Predictions of a feature without which nothing is known."""
        return min(self.n_draws, LEAST_DRAWS) * min(n_rows, LEAST_ROWS)

    def evaluations(self, n_rows):
        """Predictions of a feature if nothing stops the draws, at most."""
        return self.most_rows(n_rows) * self.most_draws

    def within(self, left, n_rows):
        """The effort that so many predictions of a feature allow.

        Where they do not allow the draws of all rows, each row makes fewer of them: the
        rows that are missing add more to the error.
        """
        if left >= self.n_draws * min(self.most_rows(n_rows), BLOCK_ROWS):
            return self
        return replace(self, n_draws=min(self.n_draws, LEAST_DRAWS))

    def step(self, n_rows, done, left):
        """What a feature draws next, or None where it may not draw more.

        Parameters
        ----------
        n_rows : int
        done : (int, int)
            How many rows were drawn, and how often each.
        left : float
            Predictions that the feature may still take.

        Returns
        -------
        (int, int, int, int) or None
            The first of the rows in their order and the one behind the last, draws that
            each has made before, and those to make.
        """
        drawn, before = done
        most = self.most_rows(n_rows)
        if drawn < most:
            more = BLOCK_ROWS if self.tol == "auto" else max(BLOCK_ROWS, drawn)
            more = int(min(more, most - drawn, left // self.n_draws))
            return (drawn, drawn + more, 0, self.n_draws) if more else None
        again = min(before, self.most_draws - before, 2 * (left // (2 * n_rows)))
        if again < LEAST_DRAWS:
            return None
        return 0, n_rows, before, int(again)


class Stopping:
    """The numbers of all features so far, and the rule that lets features rest.

    A feature rests once its error of drawing is small enough: below `tol` times the
    largest importance of all features; for "auto" below a third of its standard error
    or half a percent of the largest importance. The error is estimated with caution: as
    if one more draw were as large as the largest change known, which is the range of
    the unmoved response or the largest draw of any feature. The reason: if draws are
    skewed, the first ones often miss the rare, large ones and look more even than they
    are. A rule that stops as soon as draws look precise would favour these.

    Draws that are all equal (all 0, say) do not prove that further ones are. Then at
    least `EQUAL_DRAWS` are made, or all that are allowed, and the error is 3 / n_draws
    times the largest change.

    Contributions may jump, as the log loss does at a probability of 0, and draws may
    have met none of the jumps. The draws of all features tell what these may be: the
    first spread of a row's draws that is `GAP` times the next smaller one. The error
    says that `FURTHER` draws of such rows may have been missed.

    Parameters
    ----------
    n_features, n_outputs : int
    tol : float, "auto" or None
        None: nothing rests before its end.
    size : float
        How far the unmoved response reaches, in units of the scale.

    Attributes
    ----------
    outcome : Outcome
        Of all draws so far; NaN where nothing was drawn.
    known : ndarray of bool of shape (n_features,)
        Which features have no error of drawing, as nothing is left to draw.
    spreads : ndarray
        Of any rows, see `DrawnRows`.
    largest_spreads : ndarray of shape (n_features,)
    """

    def __init__(self, n_features, n_outputs, tol, size):
        self.tol, self.largest_change = tol, size
        self.spreads, self.largest_spreads = np.empty(0), np.zeros(n_features)
        self.known = np.zeros(n_features, dtype=bool)
        self.outcome = Outcome.of_no_draws(n_features, n_outputs)
        self.outcome.standard_errors = np.full(n_features, np.nan)

    def add(self, features, finished):
        """Take the numbers of some features from all of their draws."""
        self.outcome.store(features, finished)
        largest = float(np.max(finished.largest_draw))
        self.largest_change = max(self.largest_change, largest)

    def add_spreads(self, e, spreads):
        """Take what the draws of some rows of a feature were spread by."""
        self.spreads = np.union1d(self.spreads, spreads)
        largest = np.max(spreads, initial=0.0)
        self.largest_spreads[e] = max(self.largest_spreads[e], largest)

    @property
    def missed(self):
        """What draws of rows beyond a jump may add to the errors, (n_features,)."""
        smaller, larger = self.spreads[:-1], self.spreads[1:]
        jumps = np.append(larger[larger > GAP * smaller], np.inf)
        nearest = jumps[np.searchsorted(jumps, self.largest_spreads, side="right")]
        relevant = np.isfinite(nearest) & ~self.equal & ~self.known
        further = np.where(relevant, nearest, 0.0) * self.outcome.draw_share
        return np.sqrt(FURTHER) * further

    @property
    def equal(self):
        """Whether the draws of each feature differ by no more than rounding."""
        spread = self.outcome.monte_carlo_errors * np.sqrt(self.outcome.n_draws)
        return (spread <= EQUAL * self.largest_change) & ~self.known

    @property
    def errors(self):
        """Cautious errors of the running means, (n_features,)."""
        equal = self.equal
        unseen = np.where(equal, RARE, 1.0) * self.largest_change
        unseen = unseen * self.outcome.draw_share
        return np.where(
            equal, unseen, np.hypot(self.outcome.monte_carlo_errors, unseen)
        )

    @property
    def goals(self):
        """The errors to get below, (n_features,); NaN before the first draw."""
        largest = np.fmax.reduce(self.outcome.importances.mean(axis=1))
        if self.tol != "auto":
            return np.full(len(self.outcome.importances), self.tol * largest)
        tolerable = SHARE_OF_ERROR * self.outcome.standard_errors
        return np.fmax(tolerable, SHARE_OF_LARGEST * largest)

    @property
    def precise(self):
        """Whether the cautious error of each feature is small enough."""
        if self.tol is None:
            return np.zeros(len(self.outcome.importances), dtype=bool)
        enough = ~self.equal | (self.outcome.n_draws >= EQUAL_DRAWS)
        precise = (self.errors < self.goals) & enough & (self.outcome.n_draws > 0)
        return precise | self.known

    def ended(self, stopped, at_end, why):
        """The outcome; with a number as `tol` a warning says what is not precise.

        Parameters
        ----------
        stopped : bool
            Whether a callback or an interrupt ended the draws.
        at_end : ndarray of bool of shape (n_features,)
            Which features have made all their draws.
        why : str
            What else ended them.
        """
        if stopped:
            self.outcome.complete = at_end | self.precise
        rough = int(np.sum(~self.precise & (self.outcome.n_draws > 0)))
        fixed = self.tol in (None, "auto")
        errors = self.outcome.monte_carlo_errors
        errors = errors if fixed else np.where(self.equal, self.errors, errors)
        errors = np.hypot(errors, self.missed)
        self.outcome.monte_carlo_errors = errors
        if fixed:
            return self.outcome
        if rough:
            why = "before the draws were stopped" if stopped else why
            warn(
                f"tol={self.tol} was not reached for {rough} of {len(errors)} "
                f"features {why}; `monte_carlo_errors_` says how precise they are. Use "
                "a larger tol, or None for a fixed number of draws."
            )
        return self.outcome


def draw_in_rounds(draws, effort, measure, size):
    """Draw round by round until every feature rests; the `Outcome`.

    Parameters
    ----------
    draws : StrataDraws
    effort : Effort
    measure : BaseImportance
        Its `n_jobs` says where, and its callbacks see a step for each feature that
        comes to rest. They, or an interrupt, may stop the draws.
    size : float
        How far the unmoved response reaches, in units of the scale.
    """
    n_features, n_rows = len(draws.seeds), len(draws.order)
    rows_left = drawing_budget(measure)
    rows_left.require(n_features * effort.least_evaluations(n_rows))
    effort = effort.within(rows_left.left / n_features, n_rows)
    stopping = Stopping(n_features, len(draws.scale), effort.tol, size)
    found, ended = [None] * n_features, np.zeros(n_features, dtype=bool)
    most = 0, 0  # rows, and draws of each, to be said: of features that had to draw
    with Progress([measure], n_features) as progress, progress.until_interrupted():
        while not progress.stopped:
            active = np.flatnonzero(~(ended | stopping.precise))
            left, n_jobs = min(rows_left.left, NO_LIMIT), measure.n_jobs
            tasks = _tasks(effort, draws, active, found, left, n_jobs)
            if not tasks:
                progress.step(n_features - progress.n_done)
                break
            rows_left.spend(
                sum(len(es) * (at.stop - at.start) * k for es, at, _, k in tasks)
            )
            with closing(_one_by_one(draws, tasks, n_jobs)) as arriving:
                for e, new, before in arriving:
                    found[e] = _joined(found[e], new, before)
                    done = _done(found[e])
                    stopping.add([e], draws.finished(e, found[e]))
                    stopping.add_spreads(e, new.spreads)
                    known = found[e].exact and done[0] == n_rows
                    stopping.known[e] = known
                    ended[e] = known or effort.step(n_rows, done, NO_LIMIT) is None
                    most = most if found[e].exact and most[1] else max(most, done)
                    if ended[e]:
                        found[e] = None
                    if ended[e] or stopping.precise[e]:
                        draws.walk.moves.forget(e)
                    n_new = int((ended | stopping.precise).sum()) - progress.n_done
                    if n_new > 0 and progress.step(n_new):
                        break
    draws.done = f"{most[1]} draws of each of {rows_drawn(most[0], n_rows)}"
    why = f"within {effort.most_draws} draws of each row"
    if not ended.all():
        why = f"within max_evaluations={rows_left.most}"
    return stopping.ended(progress.stopped, ended, why)


def _done(found):
    """Rows of a feature that were drawn, and how often each."""
    return (0, 0) if found is None else (len(found.noise), found.n_draws)


def _joined(found, new, before):
    """What was found of a feature, with further rows or with further draws."""
    if found is None or (before and new.exact):  # all cells of all rows: no draws
        return new
    return found.with_further(new) if before else found.followed_by(new)


def _tasks(effort, draws, active, found, left, n_jobs):
    """What the next round draws.

    Parameters
    ----------
    effort : Effort
    draws : StrataDraws
    active : ndarray of int
        The features that do not rest.
    found : list of DrawnRows or None
        By feature.
    left : float
        Predictions that are left.
    n_jobs : int or None

    Returns
    -------
    list of tuple
        As `StrataDraws.draw` takes them.
    """
    steps = {}
    for e in active.tolist():
        step = effort.step(len(draws.order), _done(found[e]), left // len(active))
        if step is not None:
            steps.setdefault(step, []).append(e)
    at_once = call_rows(draws.walk.rows.table.n_columns, len(draws.walk.rows.base))
    tasks = []
    for (first, last, before, n_draws), features in steps.items():
        at_most = at_once // ((last - first) * n_draws)
        at_most = min(at_most, -(-len(features) // effective_n_jobs(n_jobs)))
        for some in even_slices(len(features), max(1, at_most)):
            tasks.append((features[some], slice(first, last), before, n_draws))
    return tasks


def _one_by_one(draws, tasks, n_jobs):
    """Yield (feature, `DrawnRows`, draws made before) of all features of all tasks."""
    with closing(in_order(draws.draw, tasks, (), n_jobs)) as arriving:
        for (features, _, before, _), found in arriving:
            for e, found_draws in zip(features, found):
                yield e, found_draws, before


def curve_rows(n_rows):
    """How many rows the curves of a model that is not read are means over."""
    least, most = CURVE_ROWS
    return min(n_rows, max(least, min(n_rows // 2, most)))


def rows_drawn(n_drawn, n_rows):
    """How many of the rows were drawn, in words."""
    return f"{n_drawn} of {n_rows} rows" if n_drawn < n_rows else f"{n_rows} rows"


@dataclass(frozen=True)
class DrawnUnits(Units):
    """The units of which some rows were drawn, without replacement.

    The sum over the rows drawn of w_i psi_i^2, with w_i their weights that sum to 1,
    stands for that over all rows. What rows of one group have in common is estimated
    from pairs of rows drawn.

    Attributes
    ----------
    shares : ndarray of shape (n_rows,) or None
        The weights of the rows drawn, which sum to 1.
    """

    shares: np.ndarray | None = None

    @classmethod
    def of_drawn(cls, units, rows, shares):
        """Of all units those of some rows, whose weights are `shares` now."""
        weights = units.weights[rows]
        groups = None if units.groups is None else units.groups[rows]
        return cls(units.n, np.sqrt(shares * weights), None, groups, shares=shares)

    def error(self, influences):
        squares = np.sum((self.weights * influences) ** 2, axis=-1)
        if self.groups is not None:
            drawn = self.shares * influences
            common = np.sum(self.sums(drawn) ** 2, axis=-1) - np.sum(drawn**2, axis=-1)
            # few rows must not pretend that rows of one group even each other out
            squares = squares + np.maximum(common, 0.0)
        return self.error_of_squares(squares)


@dataclass
class RowDraws:
    """Rows drawn at random, the same for all features, with all of the grid.

    Each round is the exact walk over the rows drawn so far. So its influences are those
    of the drawn rows.

    Parameters
    ----------
    walk : Walk
        Over all rows, of one request. Its first reduction gives the importances, and
        the last one the mean curves: `MeanCurve`, or the first itself.
    order : RowOrder
        Of the walk's rows.
    sizes : ndarray of shape (n_features,)
        Predictions that a row takes of each feature: its grid values, or 0.
    """

    walk: object
    order: object
    sizes: np.ndarray

    def further(self, features, n_drawn, n_jobs):
        """Yield (features, `Outcome`) from the first rows of the order.

        Parameters
        ----------
        features : ndarray of int
        n_drawn : int
            How many rows.
        n_jobs : int or None
        """
        (drawn, shares, chances), rows = self.order.first(n_drawn), self.walk.rows
        units = DrawnUnits.of_drawn(rows.units, drawn, shares)
        some_rows = rows.alone(drawn, units, shares)
        moves = self.walk.moves.subset(features)
        part = replace(self.walk, moves=moves, rows=some_rows, keep_rows=True)
        with closing(finished_positions(part, n_jobs)) as arriving:
            for positions, (finished, *others) in arriving:
                if others:
                    mean = others[-1]
                    finished.directions, finished.effects = (
                        mean.directions,
                        mean.effects,
                    )
                    finished.curves = mean.curves
                if finished.curves is not None:  # the level is known from all rows
                    rise = (rows.level - some_rows.level)[:, np.newaxis]
                    finished.curves = [curve + rise for curve in finished.curves]
                of_all = self._of_all(finished, drawn, shares, chances)
                yield features[list(positions)], of_all

    def _of_all(self, finished, drawn, shares, chances):
        """The numbers with the error of drawing, and of all rows if they are kept."""
        units, n = self.walk.rows.units, len(self.order)
        often = shares / self.walk.rows.weights[drawn]
        psi, contributions = finished.influences, finished.contributions
        if contributions is None:
            contributions = finished.through_curves
        finished.through_curves = None
        finished.monte_carlo_errors = np.sqrt(left_out(contributions, shares, chances))
        finished.n_draws = np.full(len(contributions), len(drawn))
        finished.largest_draw = np.abs(contributions).max(axis=1)
        finished.draw_share = root_mean_square(shares)
        # a row that was not drawn has 0, so that the weighted means are not biased
        every = np.zeros((2, len(contributions), n))
        every[:, :, drawn] = often * np.stack([psi, contributions])
        for psi, error in zip(every[0], finished.standard_errors):
            psi[:] = scaled_influences(psi, units, error)
        finished.skewness = units.skewness(every[0], finished.standard_errors)
        if not self.walk.keep_rows:
            return replace(finished, influences=None, contributions=None, effects=None)
        finished.influences = every[0]
        if finished.contributions is not None:
            finished.contributions = every[1]
        if finished.effects is not None:
            effects = np.full((*finished.effects.shape[:2], n), np.nan)
            effects[:, :, drawn] = finished.effects
            finished.effects = effects
        return finished


def rows_in_rounds(draws, n_first, tol, measure, size):
    """Draw rows, twice as many in each round, until every feature rests.

    Parameters
    ----------
    draws : RowDraws
    n_first : int
        Rows of the first round; without a number as `tol` there is no other.
    tol : float, "auto" or None
    measure : BaseImportance
        As in `draw_in_rounds`.
    size : float
        How far the unmoved response reaches, in units of the scale.

    Returns
    -------
    Outcome
    """
    n_features, n_rows = len(draws.sizes), len(draws.order)
    n_outputs = len(draws.walk.scales[0][0])
    stopping = Stopping(n_features, n_outputs, tol, size)
    rows_left, n_drawn = drawing_budget(measure), 0
    rows_left.require(min(n_rows, LEAST_ROWS) * int(draws.sizes.sum()))
    ended = np.zeros(n_features, dtype=bool)
    with Progress([measure], n_features) as progress, progress.until_interrupted():
        while not progress.stopped:
            active = np.flatnonzero(~stopping.precise)
            n_next = n_first if n_drawn == 0 else 2 * n_drawn
            cost = max(draws.sizes[active].sum(), 1)
            left = min(rows_left.left, NO_LIMIT)
            n_next = int(min(n_next, n_rows, left // cost))
            once = n_drawn and not isinstance(tol, float)
            if once or n_next <= n_drawn or not len(active):
                progress.step(n_features - progress.n_done)
                break
            n_drawn = n_next
            rows_left.spend(int(n_drawn * draws.sizes[active].sum()))
            with closing(draws.further(active, n_drawn, measure.n_jobs)) as arriving:
                for features, finished in arriving:
                    stopping.add(features, finished)
                    stopping.known[features] = n_drawn == n_rows
                    ended[features] = n_drawn == n_rows or not isinstance(tol, float)
                    n_new = int((ended | stopping.precise).sum()) - progress.n_done
                    if n_new > 0 and progress.step(n_new):
                        break
    why = f"within max_evaluations={rows_left.most}"
    return stopping.ended(progress.stopped, ended, why)


def rows_of_rounds(n_first, n_rows):
    """Rows that all rounds of `rows_in_rounds` ask for, if none is precise enough."""
    asked = n_drawn = min(n_first, n_rows)
    while n_drawn < n_rows:
        n_drawn = min(2 * n_drawn, n_rows)
        asked += n_drawn
    return asked


def feature_seeds(random_state, n):
    """One seed per feature, so that no draw depends on the order of the work."""
    if isinstance(random_state, np.random.Generator):
        return random_state.integers(2**32, size=n)
    return check_random_state(random_state).randint(2**32, size=n, dtype=np.uint32)
