"""Shapley values of known components, and errors of means over few repeats."""

from itertools import combinations, permutations
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import t

from skvarimp._data.statistics import Units
from skvarimp._measures.joint.game import Game, Repeats, row_shares
from skvarimp._response.coalitions import Family

RANDOM = np.random.RandomState(0)


@pytest.mark.parametrize(
    "largest",
    [
        [(0,), (2,)],
        [(0, 1), (1, 2)],
        [(0, 1, 2), (2, 3)],
        [(0, 1, 2, 3)],
        [(0, 1, 2), (3, 4, 5)],
    ],
)
def test_shares_of_rows_by_all_orders(largest):
    """What each feature adds to r^2 - (r - F_S)^2, the mean over all orders."""
    family = Family.below(largest)
    components, residuals = RANDOM.randn(len(family.sets), 3), RANDOM.randn(3)
    components[0] = 0.0  # F_0 - F_0
    members = sorted(set().union(*largest))

    def value(known):
        inside = [s for s, of in enumerate(family.sets) if s and set(of) <= set(known)]
        return residuals**2 - (residuals - components[inside].sum(axis=0)) ** 2

    orders = list(permutations(members))
    expected = np.zeros((len(members), 3))
    for order in orders:
        for m, e in enumerate(order):
            gain = value(order[: m + 1]) - value(order[:m])
            expected[members.index(e)] += gain / len(orders)
    found = row_shares(family, components, residuals)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_families_hold_all_subsets():
    """Of at most so many features, unless there are more sets than allowed."""
    family = Family.below([(2, 0, 1), (1, 4)])
    expected = [(), (0,), (1,), (2,), (4,), (0, 1), (0, 2), (1, 2), (1, 4), (0, 1, 2)]
    assert family.sets == expected
    assert family.sizes.tolist() == [len(members) for members in expected]
    assert Family.below([(2, 0, 1), (1, 4)], order=1).sets == expected[:5]
    inside = family.within(np.array([True, True, False, False, True]))
    known = {(), (0,), (1,), (4,), (0, 1), (1, 4)}
    assert inside.tolist() == [members in known for members in expected]
    # seven sets of three features, three of two
    assert Family.below([(0, 1, 2)], most=8)
    assert not Family.below([(0, 1, 2)], most=7)
    pairs = [(0, 1), (2, 3)]
    assert Family.below(pairs, most=6)
    assert not Family.below(pairs, most=5)


def test_components_add_up_to_the_means_of_their_subsets():
    """As F_S - F_0 is the sum of the components of all subsets of S."""
    family = Family.below([(0, 1, 2)])
    components = RANDOM.randn(8, 2, 3)
    components[0] = 0.0
    means = np.zeros_like(components)
    for s, members in enumerate(family.sets):
        for k in range(1, len(members) + 1):
            for some in combinations(members, k):
                means[s] += components[family.sets.index(some)]
    found = family.components(means)
    np.testing.assert_allclose(found, components, rtol=0, atol=1e-14)


def test_what_rows_donate_where_no_features_interact():
    """Minus 2 E(t - F_0) m_j in shares of the variance, the mean of two outputs."""
    game, weights = object.__new__(Game), RANDOM.dirichlet(np.ones(6))
    game.features, game.weights, game.scale = [0, 1, 2], weights, np.array([2.0, 5.0])
    game.family, game.components = Family.below([(0,), (2,)]), RANDOM.randn(3, 2, 6)
    game.base, game.target = RANDOM.randn(2, 2, 6)
    donated = np.zeros((3, 6))
    for e, component in zip((0, 2), game.components[1:]):
        for o in range(2):
            miss = np.sum(weights * game.target[o]) - np.sum(weights * game.base[o])
            donated[e] -= 2 * miss * component[o] / game.scale[o] / 2
    np.testing.assert_allclose(game.donated(), donated, rtol=1e-12)


def repeats_of(shares):
    """Repeats with one order for all rows; shares (n_repeats, n_features, 1)."""
    repeats = object.__new__(Repeats)
    in_step = SimpleNamespace(draws_donors=False)
    repeats.game = SimpleNamespace(holds_all=False, coalitions=in_step)
    repeats.n, repeats.shares = len(shares), shares
    repeats.known = np.zeros((shares.shape[1], 1, 1))
    return repeats


@pytest.mark.parametrize("n", [4, 5, 11])
def test_a_mean_of_few_repeats_errs_as_in_a_t_distribution(n):
    """A feature's variance counts n times, that of all that vary once."""
    shares = np.random.RandomState(0).randn(n, 3, 1) * [[1.0], [5.0], [0.0]]
    variances = shares[:, :2, 0].var(axis=0, ddof=1)
    pooled = ((n - 1) * variances + variances.mean()) / n
    expected = np.sqrt(pooled / n) * t(n - 1).std()
    errors = repeats_of(shares).drawing_errors
    np.testing.assert_allclose(errors, [*expected, 0.0], rtol=1e-13)


@pytest.mark.parametrize("n", [2, 3])
def test_the_variance_of_two_or_three_repeats_is_taken_four_times(n):
    """A t distribution with one or two degrees of freedom has none."""
    shares = np.random.RandomState(0).randn(n, 1, 1)
    expected = 2 * shares[:, 0, 0].std(ddof=1) / np.sqrt(n)
    np.testing.assert_allclose(repeats_of(shares).drawing_errors, expected, rtol=1e-13)


def test_one_repeat_has_no_error_and_none_has_the_error_zero():
    """Without repeats all shares are known."""
    assert np.isnan(repeats_of(np.ones((1, 2, 1))).drawing_errors).all()
    assert repeats_of(np.ones((0, 2, 1))).drawing_errors.tolist() == [0.0, 0.0]


def test_errors_of_rows_of_which_a_part_is_known():
    """By a loop: each row's values, and its part of what the drawn sum misses."""
    random = np.random.RandomState(1)
    shares, of_rows = random.randn(5, 3, 2), random.randn(5, 3, 7)
    weights = random.dirichlet(np.ones(7))
    repeats = object.__new__(Repeats)
    drawing = SimpleNamespace(draws_donors=True)
    repeats.game = SimpleNamespace(holds_all=True, coalitions=drawing, weights=weights)
    repeats.n, repeats.shares, repeats.known = 5, shares, np.zeros((3, 2, 7))
    totals = of_rows.sum(axis=1)
    repeats.of_rows = of_rows.sum(axis=0)
    repeats.row_squares = (of_rows**2).sum(axis=0)
    repeats.row_products = (of_rows * totals[:, np.newaxis]).sum(axis=0)
    repeats.totals = totals.sum(axis=0), (totals**2).sum(axis=0)

    sizes = (shares**2).sum(axis=0)
    part = (sizes / sizes.sum(axis=0)).mean(axis=1)
    for e, error in enumerate(repeats.drawing_errors):
        values = of_rows[:, e] - part[e] * totals
        expected = np.sqrt(weights**2 @ values.var(axis=0, ddof=1) / 5)
        assert error == pytest.approx(expected, rel=1e-12)


class Known(Repeats):
    """Repeats with numbers of our own: an importance of 8, a standard error of 0.3."""

    importances = np.array([[8.0], [2.0]])
    drawing_errors = None

    def __init__(self, n, draws_donors, complete=False):
        self.n, coalitions = n, SimpleNamespace(draws_donors=draws_donors)
        self.game = SimpleNamespace(coalitions=coalitions, complete=complete)

    def outcome(self):
        return SimpleNamespace(standard_errors=np.array([0.3, 0.003]))


@pytest.mark.parametrize(
    ("tol", "goals"), [("auto", (0.3 / 3, 0.005 * 8)), (0.01, (0.08, 0.08))]
)
def test_when_repeats_are_precise(tol, goals):
    """A third of the standard error or 0.5% of the largest importance, or a share."""
    repeats = Known(4, draws_donors=True)
    repeats.drawing_errors = 0.999 * np.array(goals)
    assert repeats.precise(tol)
    assert not repeats.precise(None)
    for e in range(2):
        repeats.drawing_errors = 0.999 * np.array(goals)
        repeats.drawing_errors[e] = 1.001 * goals[e]
        assert not repeats.precise(tol)


@pytest.mark.parametrize(("draws_donors", "least"), [(True, 4), (False, 10)])
def test_repeats_before_an_error_is_trusted(draws_donors, least):
    """More where all rows have one order; where all is known none is precise."""
    for n in (least - 1, least):
        repeats = Known(n, draws_donors)
        repeats.drawing_errors = np.zeros(2)
        assert repeats.precise("auto") == (n == least)
    repeats = Known(least, draws_donors, complete=True)
    repeats.drawing_errors = np.zeros(2)
    assert not repeats.precise("auto")


def known_repeats(n, labels=None, noise=1.0, holds_all=False):
    """Repeats of random numbers, what each brought, and the game."""
    random = np.random.RandomState(2)
    weights = random.dirichlet(np.ones(6))
    game = SimpleNamespace(weights=weights, holds_all=holds_all, scale=np.ones(2))
    game.coalitions = SimpleNamespace(draws_donors=True)
    game.base, game.spread, known = *random.randn(2, 2, 6), random.randn(3, 2, 6)
    game.known_shares, of_donated = lambda: known, random.randn(3, 6)
    game.donated = lambda: of_donated
    game.gains = lambda means: 3.0 * means
    repeats = Repeats(game, Units.of(weights, labels))
    level = random.randn(2, 3, 6)
    brought = []
    for _ in range(n):
        of_rows, of_donors = level + noise * random.randn(2, 3, 6)
        brought.append((random.randn(3, 2), of_rows, of_donors))
        repeats.add(*brought[-1])
    return repeats, known, brought, game


@pytest.mark.parametrize("noise", [0.1, 30.0])
@pytest.mark.parametrize("labels", [None, [0, 1, 1, 2, 0, 3]])
def test_what_repeats_add_up_to(labels, noise):
    """By loops over repeats and features: the noise of drawing is taken off."""
    repeats, known, brought, game = known_repeats(4, labels, noise)
    outcome, w = repeats.outcome(), game.weights
    groups = np.arange(6) if labels is None else np.array(labels)
    n_units = len(set(groups))
    importances = known @ w + np.mean([shares for shares, *_ in brought], axis=0)
    np.testing.assert_allclose(outcome.importances, importances, rtol=1e-12)
    for e in range(3):
        own = known[e].mean(axis=0)
        drawn = np.array([rows[e] + donors[e] for _, rows, donors in brought])
        drawn -= (drawn @ w)[:, np.newaxis]
        psi = own + drawn.mean(axis=0)
        psi -= w @ psi + importances[e] @ game.spread / 2
        units = [groups == g for g in range(n_units)]
        squares = sum(np.sum(w[unit] * psi[unit]) ** 2 for unit in units)
        of_repeats = [(drawn * w)[:, unit].sum(axis=1) for unit in units]
        noises = n_units / (n_units - 1) * np.var(of_repeats, axis=1, ddof=1) / 4
        squares = n_units / (n_units - 1) * squares - sum(noises)
        expected = np.sqrt(max(squares, np.sqrt(4 / 3 * sum(2 * noises**2))))
        assert outcome.standard_errors[e] == pytest.approx(expected, rel=1e-10)
        error = repeats.units.error(outcome.influences[e])
        assert error == pytest.approx(expected, rel=1e-10)
        assert w @ outcome.influences[e] == pytest.approx(0, abs=1e-12)
        rows = own + np.mean([rows[e] for _, rows, _ in brought], axis=0)
        shift = importances[e].mean() - w @ rows
        np.testing.assert_allclose(outcome.contributions[e], rows + shift, rtol=1e-10)


def test_one_repeat_tells_no_error_and_none_needs_no_drawing():
    """The noise of one repeat is unknown; without repeats all is known."""
    repeats, *_ = known_repeats(1)
    assert np.isnan(repeats.outcome().standard_errors).all()
    repeats, known, _, game = known_repeats(0)
    outcome, w = repeats.outcome(), game.weights
    np.testing.assert_allclose(outcome.importances, known @ w, rtol=1e-12)
    psi = known.mean(axis=1) + game.donated()
    psi -= (psi @ w)[:, np.newaxis] + known @ w @ game.spread / 2
    errors = [repeats.units.error(of_feature) for of_feature in psi]
    np.testing.assert_allclose(outcome.standard_errors, errors, rtol=1e-12)


def test_what_drawn_donors_miss_is_shared_by_squares():
    """The sum over the features is known where they hold all columns."""
    repeats, known, brought, game = known_repeats(4, holds_all=True)
    shares = np.array([of_repeat for of_repeat, *_ in brought])
    expected = known @ game.weights + shares.mean(axis=0)
    total = 3.0 * game.base @ game.weights
    for o in range(2):
        squares = (shares[:, :, o] ** 2).sum(axis=0)
        missing = total[o] - expected[:, o].sum()
        expected[:, o] += missing * squares / squares.sum()
    np.testing.assert_allclose(repeats.importances, expected, rtol=1e-12)
    assert repeats.importances.sum(axis=0) == pytest.approx(total, rel=1e-12)
