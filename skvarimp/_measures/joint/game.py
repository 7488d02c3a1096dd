"""The game whose Shapley values the importances are: solved exactly, or by repeats.

The value of a coalition S of features is by how much knowing their values lowers the
squared error of the mean response F_S, for each row and output

    v_i(S) = (t_i - F_0)^2 - (t_i - F_S(x_i))^2,   t the target (y, or the response).

With the components F_S - F_0 = sum of m_T over T in S and r = t - F_0, each row's
Shapley values are the mean over q in (0, 1) of what feature j adds to the mean of v_i
over coalitions that hold each other feature with probability q. As the means of
products of components over such coalitions factor over the features,

    phi_j = int_0^1 2 r h_j - sum over V that hold j of
                (q - q^2)^(|V| - 1) h_V ((1 - 2 q) h_V + 2 h_(V - j)) dq,
    h_V(q) = sum over T that hold V of q^|T - V| m_T,

a polynomial in q, which Gauss' rule integrates exactly. It equals 2 r times the sum of
m_T / |T| over T that hold j, minus the sum of m_T m_T' / |T + T'| over all T, T' of
which one holds j, without the sum over pairs.

A repeat is a random order in which the features join, and its reverse. Where the
response knows the mean response of each coalition on the way, all rows have the same
order. From the gain of the coalition, that of its known components is taken off, whose
Shapley values are known. Other models are asked for each row in an order of its own,
with two donors k, l drawn by their weights:

    (t - f(x_iS, x_k,-S)) (t - f(x_iS, x_l,-S)) has the mean (t - F_S(x_i))^2.

Rows in orders of their own, with donors of their own, are drawn independently. So the
error of drawing follows from how much each row's values vary between repeats, with n
(R - 1) degrees of freedom where R repeats of n rows were made. Repeats in which all
rows have one order tell it by their own spread alone, which is too small in half of the
cases where there are few: its square is multiplied by (R - 1) / (R - 3), so that z-
values have the variance 1 (that of Student's distribution is (R - 1) / (R - 3)). As few
repeats may agree by chance, the mean square of all features counts as one repeat more.

Repeats also tell what the rows add to the sampling error as donors. Drawing adds noise
to the sums t_g of the influences of each group of rows (or of each row), see `Units`.
Repeats are independent, so that their spread tells the variance N_g of the noise in
t_g, whatever the rows of a group share in a repeat. The sum of the N_g is taken off the
squared standard error.

Were there nothing but noise, the difference would have the mean 0 and, over n repeats,
about the variance n / (n - 1) times the sum of 2 N_g^2. Its root is the least squared
error that is reported: less could not be told from noise.
"""

from contextlib import closing
from functools import partial
from itertools import pairwise

import numpy as np

from skvarimp._data.statistics import centred, divided, unit_of, variance
from skvarimp._response.coalitions import Family, mixed
from skvarimp._response.drawing import scaled_influences
from skvarimp._response.reductions import Outcome
from skvarimp._response.rounds import (
    SHARE_OF_ERROR,
    SHARE_OF_LARGEST,
    feature_seeds,
)
from skvarimp._running.guards import drawing_budget
from skvarimp._running.memory import call_slices, slices
from skvarimp._running.tasks import Progress, in_order

ROUNDING = 1e-13  # a standard deviation below this part of the response is rounding


class Game:
    """What the features explain of the target.

    The model, the table and the features are those of the problem; `coalitions` may
    know them behind transformers.

    Parameters
    ----------
    problem : Problem
    features : list of Feature
    target : ndarray of shape (n_outputs, n_rows)
    scaled : bool
        Whether importances are shares of the variance of the target.

    Attributes
    ----------
    weights : ndarray of shape (n_rows,)
    unit : float
        What all numbers of the game are in: squares of responses neither vanish nor
        overflow.
    base : ndarray of shape (n_outputs, n_rows)
        The unmoved response.
    target : ndarray of shape (n_outputs, n_rows)
    constant : ndarray of shape (n_outputs,), bool
        Whose target has no variance to share.
    scale : ndarray of shape (n_outputs,)
        Importances are divided by it.
    spread : ndarray of shape (n_outputs, n_rows)
        By how much each row moves `scale`, as a share of it; 0 if it is fixed.
    holds_all : bool
        Whether each column is in a feature: F_S of all features is the response.
    coalitions : Coalitions
    family : Family
        Whose components are known.
    components : ndarray of shape (n_sets, n_outputs, n_rows)
    complete : bool
        Whether all other components are 0.
    """

    coalitions = None

    def __init__(self, problem, features, target, scaled):
        self.model, self.table, self.features = problem.model, problem.table, features
        self.weights = weights = problem.weights
        self.unit = unit_of(np.stack([target, problem.base]))
        self.base, self.target = problem.base / self.unit, target / self.unit
        self.scale = variance(self.target, weights) if scaled else np.ones(len(target))
        least = ROUNDING * np.abs(self.target).max(axis=1)
        self.constant = self.scale <= least**2
        self.scale = np.where(self.constant, 1.0, self.scale)
        squares = centred(self.target, weights) ** 2 / self.scale[:, np.newaxis]
        self.spread = scaled * (squares - (squares @ weights)[:, np.newaxis])
        n_columns = sum(len(feature.columns) for feature in features)
        self.holds_all = n_columns == self.table.n_columns

    @property
    def rows_of_repeat(self):
        """How many rows a repeat asks the model for: two orders, two donors."""
        return 4 * (len(self.features) - self.holds_all) * len(self.weights)

    def affordable(self, order, n_repeats):
        """The family of an order if its components cost at most repeats, else None."""
        family, n_drawn = self.coalitions.family(order), 2 * (len(self.features) + 1)
        if family is None or self.coalitions.cost(family) > n_repeats * n_drawn:
            return None
        return family

    def know(self, orders, n_repeats):
        """Find the components of the first order that is affordable, or none."""
        found = ((self.affordable(order, n_repeats), order) for order in orders)
        found = (pair for pair in found if pair[0] is not None)
        self.family, order = next(found, (Family.below([]), 0))
        self.complete = self.family.sizes.max() < order  # no larger sets interact, then
        self.components = self.coalitions.components(self.family) / self.unit

    @property
    def level(self):
        """F_0, (n_outputs, 1)."""
        return (self.base @ self.weights)[:, np.newaxis]

    def gains(self, means):
        """v_i of the mean responses of a coalition, (n_outputs, n_rows), scaled."""
        lost = (self.target - self.level) ** 2 - (self.target - means) ** 2
        return lost / self.scale[:, np.newaxis]

    def donated(self):
        """What rows add to influences as donors where no features interact.

        Minus 2 E(t - F_0) m_j, the mean over the outputs, (n_features, n_rows).
        """
        result = np.zeros((len(self.features), len(self.weights)))
        errors = (self.target - self.level) @ self.weights / self.scale
        moved = np.einsum("o,soi->si", errors, self.components[1:])
        result[list(self.family.links)] = -2 * moved / len(errors)
        return result

    def known_shares(self):
        """Shapley values of rows in the game of the known components.

        Returns
        -------
        ndarray of shape (n_features, n_outputs, n_rows)
        """
        shares = np.zeros((len(self.features), self.base.size))
        components = self.components.reshape(-1, self.base.size)
        residuals = (self.target - self.level).ravel()
        for some in slices(self.base.size, len(components)):
            found = row_shares(self.family, components[:, some], residuals[some])
            shares[list(self.family.links), some] = found
        return shares.reshape(-1, *self.base.shape) / self.scale[:, np.newaxis]


def row_shares(family, components, residuals):
    """Shapley values of the rows, see the module.

    Parameters
    ----------
    family : Family
    components : ndarray of shape (n_sets, n_rows)
    residuals : ndarray of shape (n_rows,)

    Returns
    -------
    ndarray of shape (n_features_of_the_family, n_rows)
    """
    shares = np.zeros((len(family.links), len(residuals)))
    largest = min(2 * family.sizes.max(), len(family.links))  # union of two sets
    points, chances = np.polynomial.legendre.leggauss((largest + 2) // 2)
    for q, chance in zip((1 + points) / 2, chances / 2):
        sums = components.copy()
        for holding, without in family.links.values():
            sums[without] += q * sums[holding]
        factors = (q - q**2) ** (family.sizes - 1.0)
        for share, (holding, without) in zip(shares, family.links.values()):
            own = sums[holding]
            others = (1 - 2 * q) * own + 2 * sums[without]
            products = np.einsum("s,si,si->i", factors[holding], own, others)
            # the first set of a feature is the feature alone
            share += chance * (2 * residuals * own[0] - products)
    return shares


LEAST_REPEATS = 2  # of which one knows how much they differ
MIN_REPEATS = 4  # before an error of drawing is trusted, and for the rows as donors
MIN_IN_STEP = 10  # likewise, where all rows have one order


def estimate(game, units, measure):
    """The `Repeats` of a game of which some components are known.

    Parameters
    ----------
    game : Game
    units : Units
    measure : ShapleyImportance
        Its `n_repeats`, `max_evaluations`, `tol`, `random_state` and `n_jobs` say how,
        and its callbacks see each repeat.
    """
    repeats, n_repeats = Repeats(game, units), measure.n_repeats
    if game.complete and game.family.sizes.max() < 2:
        return repeats  # nothing is left to draw
    if game.coalitions.draws_donors:
        rows_left, each = drawing_budget(measure), game.rows_of_repeat
        rows_left.require(each, min(n_repeats, LEAST_REPEATS) * each)
        n_repeats = int(min(n_repeats, rows_left.left / max(each, 1)))
    elif game.complete:
        n_repeats = MIN_REPEATS
    seeds = feature_seeds(measure.random_state, n_repeats).tolist()
    progress = Progress([measure], n_repeats, "repeat")
    prefer = None if game.coalitions.draws_donors else game.coalitions.response.prefer
    found = in_order(repeated, seeds, (game,), measure.n_jobs, prefer)
    with progress, progress.until_interrupted(), closing(found) as arriving:
        for _, of_repeat in arriving:
            repeats.add(*of_repeat)
            if progress.step() or repeats.precise(measure.tol):
                break
    return repeats


def repeated(seed, game):
    """Shapley values from one order, or one for each row, and its reverse.

    Parameters
    ----------
    seed : int
    game : Game

    Returns
    -------
    shares : ndarray of shape (n_features, n_outputs)
        What the known components leave; so are those of the rows.
    of_rows, of_donors : ndarray of shape (n_features, n_rows)
        What rows add to the influences, evaluated and as donors: means over the
        outputs.
    """
    rng, weights = np.random.default_rng(seed), game.weights
    n_features, (n_outputs, n_rows) = len(game.features), game.base.shape
    values, n_orders, donors = partial(_exact_values, game), 1, ()
    if game.coalitions.draws_donors:
        donors, n_orders = rng.choice(n_rows, (2, n_rows), p=weights), n_rows
        values = partial(_drawn_values, game, donors)
    order = rng.permuted(np.tile(np.arange(n_features), (n_orders, 1)), axis=1).T
    drawn, rows = np.zeros((n_features, n_outputs + 1, n_rows)), np.arange(n_rows)
    for joins in (order, order[::-1]):
        when = np.argsort(joins, axis=0)
        for joining, (before, after) in zip(joins, pairwise(values(when))):
            drawn[joining, : len(before), rows] += 0.5 * (after - before).T
    shares, of_donors = drawn[:, :-1], drawn[:, -1]
    of_rows = shares.mean(axis=1)
    around = weights * centred(of_rows, weights)
    for k in donors:
        of_donors += [np.bincount(k, row, n_rows) / weights for row in around]
    left = 0.0 if game.complete else 1.0  # then all shares are known
    return left * shares @ weights, left * of_rows, of_donors


def _exact_values(game, when):
    """Yield values as features join, and what donors add, (n_outputs + 1, n_rows) each.

    `when` is of shape (n_features, 1): the place of each feature in the order.
    """
    per_row = game.weights / (len(game.base) * game.scale[:, np.newaxis])
    for n_joined in range(len(when) + 1):
        known = when[:, 0] < n_joined
        inside = game.family.within(known).astype(np.float64)
        means = game.level + np.tensordot(inside, game.components, 1)
        gain = np.zeros_like(means)
        if not game.complete:
            exact = game.coalitions.means(known) / game.unit
            gain, means = game.gains(exact) - game.gains(means), exact
        slope = 2 * per_row * (game.target - means)
        donated = game.coalitions.donated(known, slope).sum(axis=0) / game.unit
        yield np.vstack([gain, donated])


def _drawn_values(game, donors, when):
    """Yield values of each row's coalition, less a constant, (n_outputs, n_rows) each.

    `when` is of shape (n_features, n_rows): the places of the features in each row.
    """
    n_rows, n_columns = donors.shape[1], game.table.n_columns

    def value(outputs):  # of both donors, (n_outputs, 2, n_rows)
        errors = np.prod(game.target[:, np.newaxis] - outputs, axis=1)
        return -errors / game.scale[:, np.newaxis]

    joins = np.full((n_columns, n_rows), len(when))
    for feature, of_feature in zip(game.features, when):
        joins[list(feature.columns)] = of_feature
    yield value(game.base[:, donors])
    n_asked = len(when) - game.holds_all
    for some in call_slices(n_asked, n_columns, rows_each=donors.size):
        n_joined = np.arange(some.start + 1, some.stop + 1).reshape(-1, 1, 1, 1)
        taken = np.where(joins < n_joined, np.arange(n_rows), donors[:, np.newaxis])
        taken = taken.swapaxes(2, 3).reshape(-1, n_columns)
        outputs = mixed(game.model, game.table, taken) / game.unit
        shape = -1, len(n_joined), 2, n_rows
        yield from map(value, outputs.reshape(shape).swapaxes(0, 1))
    if game.holds_all:  # then a row is its own
        yield value(np.stack([game.base, game.base], axis=1))


class Repeats:
    """What repeats have found so far.

    Parameters
    ----------
    game : Game
    units : Units
        The independent rows, or groups of rows.
    """

    def __init__(self, game, units):
        self.game, self.units = game, units
        self.n, self.known = 0, game.known_shares()
        n_features, n_outputs, n_rows = self.known.shape
        self.shares = np.zeros((0, n_features, n_outputs))
        self.of_rows, self.psi = np.zeros((2, n_features, n_rows))
        # sums over the repeats, of the values of rows S and their sum T over features:
        # S^2, S T and T, T^2
        self.row_squares, self.row_products = np.zeros((2, n_features, n_rows))
        self.totals = np.zeros((2, n_rows))
        self.squares = np.zeros((n_features, units.n))

    def add(self, shares, of_rows, of_donors):
        """Take what `repeated` found."""
        psi = centred(of_rows + of_donors, self.game.weights)
        self.n += 1
        self.shares = np.concatenate([self.shares, shares[np.newaxis]])
        self.of_rows += of_rows
        total = of_rows.sum(axis=0)
        self.row_squares += of_rows**2
        self.row_products += of_rows * total
        self.totals += total, total**2
        self.psi += psi
        self.squares += self.units.terms(psi) ** 2

    @property
    def drawn(self):
        """What each repeat adds to the known shares, (n, n_features, n_outputs).

        Drawn donors miss some of the sum, which is known. Features get that by the size
        of what was drawn, so that those the model does not use keep 0.
        """
        game = self.game
        if not game.holds_all:
            return self.shares
        left = (game.gains(game.base) - self.known.sum(axis=0)) @ game.weights
        missing = left - self.shares.sum(axis=1, keepdims=True)
        return self.shares + self.parts_of_missing * missing

    @property
    def parts_of_missing(self):
        """Which part of what is missing each feature gets, (n_features, n_outputs)."""
        sizes = np.sum(self.shares**2, axis=0)
        return divided(sizes, sizes.sum(axis=0)) * float(self.game.holds_all)

    @property
    def importances(self):
        """(n_features, n_outputs)."""
        return self.known @ self.game.weights + self.drawn.sum(axis=0) / max(self.n, 1)

    @property
    def drawing_errors(self):
        """(n_features,); NaN for one repeat, and 0 if none is needed."""
        n = self.n
        if n < 2:
            return np.full(len(self.known), np.nan if n else 0.0)
        if not self.game.coalitions.draws_donors:
            few = (n - 1) / (n - 3) if n > 3 else 2.0**2
            squares = self.drawn.mean(axis=2).var(axis=0, ddof=1)
            # a few repeats may agree by chance: one more as of all features that vary
            varying = np.any(self.shares != 0, axis=(0, 2))
            if varying.any():
                squares[varying] += (squares[varying].mean() - squares[varying]) / n
            return np.sqrt(few / n * squares)
        part = self.parts_of_missing.mean(axis=1)[:, np.newaxis]
        first, second = self.totals
        squares = self.row_squares - self.of_rows**2 / n
        products = self.row_products - self.of_rows * first / n
        squares += part**2 * (second - first**2 / n) - 2 * part * products
        variances = np.maximum(squares, 0.0) @ self.game.weights**2
        return np.sqrt(variances / (n - 1) / n)

    def precise(self, tol):
        """Whether the error of drawing of each feature is small enough, see `Stopping`.

        Parameters
        ----------
        tol : float, "auto" or None
        """
        in_step = not self.game.coalitions.draws_donors  # all rows have one order
        if tol is None or self.n < (MIN_IN_STEP if in_step else MIN_REPEATS):
            return False
        largest, errors = self.importances.mean(axis=1).max(), self.drawing_errors
        if tol != "auto":
            return errors.max() <= tol * largest
        if self.game.complete:  # only standard errors are left to find
            return False
        goals = np.fmax(
            SHARE_OF_ERROR * self.outcome().standard_errors, SHARE_OF_LARGEST * largest
        )
        return bool(np.all(errors <= goals))

    def _errors(self, psi):
        """Standard errors from influences, without the noise of drawing; see above."""
        n = self.n
        noise = np.maximum(self.squares - self.units.terms(self.psi) ** 2 / n, 0.0)
        noise /= n * (n - 1 or np.nan)
        least = np.sqrt(2 * n / (n - 1 or np.nan) * np.sum(noise**2, axis=1))
        variance = self.units.error(psi) ** 2 - noise.sum(axis=1)
        return np.sqrt(np.maximum(variance, least))

    def outcome(self):
        """The `Outcome` of all repeats so far."""
        game, units, n = self.game, self.units, max(self.n, 1)
        importances, contributions = self.importances, self.known.mean(axis=1)
        psi = contributions + (self.psi / n if self.n else game.donated())
        psi = centred(psi, game.weights) - importances @ game.spread / len(game.base)
        errors = self._errors(psi) if self.n else units.error(psi)
        psi = [scaled_influences(one, units, error) for one, error in zip(psi, errors)]
        contributions += self.of_rows / n
        missing = importances.mean(axis=1) - contributions @ game.weights
        outcome = Outcome(importances, errors, self.drawing_errors)
        outcome.influences = np.array(psi)
        outcome.contributions = contributions + missing[:, np.newaxis]
        outcome.skewness = units.skewness(outcome.influences, errors)
        return outcome
