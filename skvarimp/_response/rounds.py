"""Draws in rounds, until the importances are precise; and rows drawn with all the grid.

An importance is estimated by the running mean of its draws, which is the state of a
Kalman filter with a constant state and a diffuse start, and the mean's standard error
is that filter's (Lemaire & Clérot, section II.C.1).
"""

from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from sklearn.utils import check_random_state

from skvarimp._data.statistics import Units
from skvarimp._response.reductions import Outcome
from skvarimp._response.walk import finished_positions
from skvarimp._running.guards import drawing_budget, warn
from skvarimp._running.tasks import Progress

MIN_DRAWS = 100  # before an error of drawing is trusted
EQUAL_DRAWS = 2000  # made before a feature whose draws are all equal may rest
EQUAL = 1e-7  # relative spread of draws that are equal up to rounding
RARE = 3.0  # not seen in n draws: a rate below 3 / n, at 95% (0.95 = 1 - e^-3)
MIN_REPEATS = 2  # one says nothing of the error of drawing donors


class RunningMeans:
    """The running means of all features, their errors, and the rule that stops them.

    A feature rests once its error of drawing is below `tol` times the largest
    importance of all features, after at least `MIN_DRAWS` draws. The error is estimated
    with caution: as if one more draw were as large as the largest change known, which
    is the range of the unmoved response or the largest draw of any feature. The reason:
    if draws are skewed, the first ones often miss the rare, large ones and look more
    even than they are. A rule that stops as soon as draws look precise would favour
    these.

    Draws that are all equal (all 0, say) do not prove that further ones are. Then at
    least `EQUAL_DRAWS` are made, or all that are allowed, and the error is 3 / n_draws
    times the largest change. Draws of every row are equal if they are so in each row.

    Parameters
    ----------
    n_features, n_outputs : int
    tol : float or None
        None: each feature makes `n_repeats` repeats.
    n_repeats : int
        The largest number of repeats of a feature.
    draws_each : int
        Draws of a repeat.
    size : float, default=0.0
        How far the unmoved response reaches, in units of the scale.

    Attributes
    ----------
    outcome : Outcome
        Of all draws so far; NaN where nothing was drawn.
    """

    def __init__(self, n_features, n_outputs, tol, n_repeats, draws_each, size=0.0):
        self.tol, self.n_repeats, self.draws_each = tol, n_repeats, draws_each
        self.outcome = Outcome.drawn(n_features, n_outputs)
        self.largest_change = size

    def add(self, features, finished):
        """Take the numbers of some features from all of their draws."""
        self.outcome.store(features, finished)
        largest = float(np.max(finished.largest_draw))
        self.largest_change = max(self.largest_change, largest)

    @property
    def equal(self):
        """Whether the draws of each feature differ by no more than rounding."""
        spread = self.outcome.monte_carlo_errors * np.sqrt(self.outcome.n_draws)
        return spread <= EQUAL * self.largest_change

    @property
    def errors(self):
        """Cautious errors of the running means, (n_features,); NaN for one repeat."""
        n, equal = np.maximum(self.outcome.n_draws, 1), self.equal
        unseen = np.where(equal, RARE, 1.0) * self.largest_change / n
        return np.where(
            equal, unseen, np.hypot(self.outcome.monte_carlo_errors, unseen)
        )

    @property
    def goal(self):
        """The error to get below; NaN before the first draw."""
        importances = self.outcome.importances.mean(axis=1)
        return self.tol * np.fmax.reduce(importances)

    @property
    def precise(self):
        """Whether the cautious error is below the tolerance."""
        cap = self.n_repeats * self.draws_each
        enough = np.where(self.equal, min(EQUAL_DRAWS, cap), MIN_DRAWS)
        return (self.errors < self.goal) & (self.outcome.n_draws >= enough)

    @property
    def resting(self):
        """Whether each feature needs no further draws, or may make none."""
        at_end = self.done == self.n_repeats
        return at_end if self.tol is None else at_end | self.precise

    @property
    def done(self):
        """Repeats of each feature so far."""
        return self.outcome.n_draws // self.draws_each

    def wanted(self):
        """Further repeats to make now, (n_features,); 0 for features that rest.

        As many as the error seems to need, but at most twice as many as were made so
        far: early estimates of the error are rough.
        """
        done, left = self.done, self.n_repeats - self.done
        if self.tol is None:
            return left
        least = max(MIN_REPEATS, -(-MIN_DRAWS // self.draws_each))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.errors / self.goal
        by_bound = np.maximum(done * ratio, EQUAL_DRAWS / self.draws_each)
        needed = np.where(self.equal, by_bound, done * ratio**2)
        more = np.fmax(np.fmin(1.05 * needed - done, 2 * done), done / 3)
        more = np.where(done == 0, least, np.ceil(more)).astype(np.intp)
        return np.where(self.resting, 0, np.minimum(more, left))

    def ended(self, stopped, most=np.inf):
        """The outcome; a warning says which features are not precise.

        Parameters
        ----------
        stopped : bool
            Whether a callback or an interrupt ended the draws.
        most : float
            `max_evaluations`.
        """
        if stopped:
            self.outcome.complete = self.resting
        if self.tol is None:
            return self.outcome
        errors = self.outcome.monte_carlo_errors
        rough = int(np.sum(~self.precise & (self.outcome.n_draws > 0)))
        self.outcome.monte_carlo_errors = np.where(self.equal, self.errors, errors)
        if rough:
            n_draws = self.n_repeats * self.draws_each
            why = f"within n_repeats={self.n_repeats} ({n_draws} draws per feature)"
            if stopped:
                why = "before the draws were stopped"
            elif self.wanted().any():
                why = f"within max_evaluations={most}"
            warn(
                f"tol={self.tol} was not reached for {rough} of {len(errors)} "
                f"features {why}; `monte_carlo_errors_` says how precise they are. Use "
                "a larger n_repeats or tol."
            )
        return self.outcome


def draw_in_rounds(means, draws, measure):
    """Draw round by round until every feature rests; the `Outcome`.

    Parameters
    ----------
    means : RunningMeans
    draws : DonorDraws or RowDraws
    measure : BaseImportance
        Its `n_jobs` says where, and its callbacks see a step for each feature that
        comes to rest. They, or an interrupt, may stop the draws.
    """
    resting, rows_left = means.resting, drawing_budget(measure)
    rows_left.require(draws.rows_needed(means.done, np.minimum(means.wanted(), 1)))
    with Progress([measure], len(resting)) as progress, progress.until_interrupted():
        while not progress.stopped:
            needed = partial(draws.rows_needed, means.done)
            wanted = rows_left.affordable(means.wanted(), needed)
            if not wanted.any():
                progress.step(len(resting) - progress.n_done)
                break
            rows_left.spend(needed(wanted))
            further = draws.further(means.done, wanted, measure.n_jobs)
            with closing(further) as arriving:
                for features, finished in arriving:
                    means.add(features, finished)
                    resting |= means.resting
                    n_new = int(resting.sum()) - progress.n_done
                    if n_new and progress.step(n_new):
                        break
    return means.ended(progress.stopped, rows_left.most)


MIN_ROWS = 100  # per repeat


def rows_per_repeat(n_samples, n_cells):
    """Rows drawn per repeat: about n_samples moved rows per feature, and at least 100.

    Parameters
    ----------
    n_samples : int
    n_cells : ndarray of shape (n_features,)
        Number of grid values of each feature.
    """
    return max(MIN_ROWS, int(np.ceil(n_samples / np.mean(n_cells))))


@dataclass(frozen=True)
class DrawnUnits(Units):
    """The units of which some rows were drawn, row i with chance w_i.

    The mean over the draws of w_i psi_i^2 is the sum over all rows of (w_i psi_i)^2.
    What rows of one group have in common is estimated from pairs of draws.

    Attributes
    ----------
    counts : ndarray of shape (n_rows,)
        How often each of the rows was drawn.
    """

    counts: np.ndarray | None = None

    @classmethod
    def of_drawn(cls, units, rows, counts):
        """Of all units those of some rows."""
        roots = np.sqrt(counts / counts.sum() * units.weights[rows])
        groups = None if units.groups is None else units.groups[rows]
        return cls(units.n, roots, None, groups, counts=counts)

    def error(self, influences):
        squares = np.sum((self.weights * influences) ** 2, axis=-1)
        if self.groups is not None:
            drawn, n = self.counts * influences, self.counts.sum()
            common = np.sum(self.sums(drawn) ** 2, axis=-1) - np.sum(drawn**2, axis=-1)
            # few draws must not pretend that rows of one group even each other out
            squares = squares + np.maximum(common, 0.0) / (n * (n - 1))
        return self.error_of_squares(squares)


@dataclass
class RowDraws:
    """Rows drawn by their weights, the same for all features, with all of the grid.

    Each round is the exact walk over the rows drawn so far, each distinct one evaluated
    once. So its influences are those of the drawn rows.

    Parameters
    ----------
    walk : Walk
        Over all rows, of one request with one reduction and `MeanCurve`.
    rows : ndarray of shape (n_repeats, n_rows_per_repeat)
        Those of each repeat, at most.
    sizes : ndarray of shape (n_features,)
        Number of grid values of each feature.
    """

    walk: object
    rows: np.ndarray
    sizes: np.ndarray

    def rows_needed(self, done, wanted):
        """How many rows the model is asked for; parameters as of `further`."""
        if not self.walk.response.asks_model:
            return 0
        n_repeats, active = self._next(done, wanted)
        return int(len(np.unique(self.rows[:n_repeats])) * self.sizes[active].sum())

    @staticmethod
    def _next(done, wanted):
        """As many repeats as are wanted least, and the features that have fewer."""
        active = np.flatnonzero(wanted)
        n_repeats = (done + wanted)[active].min(initial=np.iinfo(np.intp).max)
        return n_repeats, active[done[active] < n_repeats]

    def further(self, done, wanted, n_jobs):
        """Yield (features, `Outcome`) after as many repeats as are wanted least.

        Parameters as of `DonorDraws.further`.
        """
        n_repeats, active = self._next(done, wanted)
        drawn, counts = np.unique(self.rows[:n_repeats], return_counts=True)
        shares = counts / counts.sum()
        part = replace(
            self.walk,
            moves=self.walk.moves.subset(active),
            rows=drawn,
            weights=shares,
            base=np.ascontiguousarray(self.walk.base[:, drawn]),
            units=DrawnUnits.of_drawn(self.walk.units, drawn, counts),
            y=None if self.walk.y is None else self.walk.y[drawn],
            keep_rows=True,
        )
        with closing(finished_positions(part, n_jobs)) as arriving:
            for positions, (finished, mean) in arriving:
                finished.directions, finished.effects = mean.directions, mean.effects
                yield active[list(positions)], self._of_all(finished, drawn, counts)

    def _of_all(self, finished, drawn, counts):
        """The numbers with the error of drawing, and of all rows if they are kept."""
        of_rows, n = finished.contributions, counts.sum()
        centred = of_rows - (of_rows @ (counts / n))[:, np.newaxis]
        finished.monte_carlo_errors = np.sqrt(centred**2 @ counts / (n - 1) / n)
        finished.n_draws = np.full(len(of_rows), n)
        finished.largest_draw = np.abs(of_rows).max(axis=1)
        # a row that was not drawn has 0, so that the weighted means are not biased
        often = counts / (n * self.walk.weights[drawn])
        every = np.zeros((2, len(of_rows), len(self.walk.rows)))
        every[:, :, drawn] = often * np.stack([finished.influences, of_rows])
        for psi, error in zip(every[0], finished.standard_errors):
            psi[:] = scaled_influences(psi, self.walk.units, error)
        errors, units = finished.standard_errors, self.walk.units
        finished.skewness = units.skewness(every[0], errors)
        if not self.walk.keep_rows:
            return replace(finished, influences=None, contributions=None)
        influences, contributions = every
        effects = np.full((*finished.effects.shape[:2], every.shape[2]), np.nan)
        effects[:, :, drawn] = finished.effects
        return replace(
            finished,
            effects=effects,
            influences=influences,
            contributions=contributions,
        )


def scaled_influences(psi, units, error):
    """Influences estimated from draws, with mean 0 and a standard error that is known.

    Drawing adds noise to each row's influence; it is shrunk by what the noise adds.
    """
    psi = psi - units.weights @ psi
    size = units.error(psi)
    return psi * (error / size if size > 0 else error)


def feature_seeds(random_state, n):
    """One seed per feature, so that no draw depends on the order of the work."""
    if isinstance(random_state, np.random.Generator):
        return random_state.integers(2**32, size=n)
    return check_random_state(random_state).randint(2**32, size=n, dtype=np.uint32)
