"""The order in which rows are drawn, by weight."""

import numpy as np
import pytest
from sklearn.base import clone

from skvarimp import SensitivityImportance
from skvarimp._response.rows import RowOrder

WEIGHTS = np.random.default_rng(0).exponential(size=60)
WEIGHTS[7] = 40.0
WEIGHTS /= WEIGHTS.sum()


@pytest.mark.parametrize("m", [1, 2, 20, 59])
def test_weights_of_the_first_rows(m):
    """Certain rows keep theirs, the others share the rest; all rows keep theirs."""
    order = RowOrder.drawn(WEIGHTS, 3, 60)
    assert sorted(order.rows) == list(range(60))
    shares, weights = order.shares(m), WEIGHTS[order.rows[:m]]
    assert shares.sum() == pytest.approx(1)
    certain = shares == weights
    np.testing.assert_allclose(shares[~certain], shares[~certain].max(), rtol=1e-14)
    assert np.all(shares[~certain] > WEIGHTS.min())
    np.testing.assert_array_equal(order.shares(60), WEIGHTS[order.rows])
    drawn, *ascending = order.first(m)
    np.testing.assert_array_equal(drawn, np.sort(order.rows[:m]))
    places = np.searchsorted(drawn, order.rows[:m])
    for found, expected in zip(ascending, (shares, order.chances(m))):
        np.testing.assert_array_equal(found[places], expected)


def test_even_weights_are_a_random_order():
    """Every row of the first ones counts alike, and each row is as likely there."""
    even, counts = np.full(20, 1 / 20), np.zeros(20)
    for seed in range(400):
        order = RowOrder.drawn(even, seed, 20)
        np.testing.assert_allclose(order.shares(5), 1 / 5, rtol=1e-12)
        counts[order.rows[:5]] += 1
    # binomial numbers with a deviation of sqrt(400 / 4 * 3 / 4)
    assert np.all(np.abs(counts - 100) < 4 * np.sqrt(75))


@pytest.mark.parametrize("n_most", [60, 50])
def test_means_over_the_first_rows_have_no_bias(n_most):
    """On average each row has its own weight; the heavy one is always there.

    A row that weighs v with the chance w / v has the variance w (v - w). Of 180 means,
    5 deviations are exceeded once in 10 000 times.
    """
    n_seeds, sizes = 2000, (10, 30, 50)
    sums = np.zeros((3, 60))
    for seed in range(n_seeds):
        order = RowOrder.drawn(WEIGHTS, seed, n_most)
        for total, m in zip(sums, sizes):
            shares = order.shares(m)
            assert shares[order.rows[:m] == 7] == pytest.approx(WEIGHTS[7])
            total[order.rows[:m]] += shares
    for total, m in zip(sums, sizes):
        heavier = np.maximum(order.least[m], WEIGHTS)
        room = 5 * np.sqrt(WEIGHTS * (heavier - WEIGHTS) / n_seeds)
        assert np.all(np.abs(total / n_seeds - WEIGHTS) <= room + 1e-12)


@pytest.mark.parametrize("n_most", [60, 37])
def test_rows_are_drawn_by_size(n_most):
    """With the chances that are said, and so a sum of w / p has no bias.

    The weights of the first rows sum to 1: certain rows keep theirs, and others share
    the rest by w / p. Means of these have the bias of a ratio, of the order of 1 / m.
    """
    times, n_seeds, m = np.linspace(1, 9, 60), 2000, 20
    counts, sums = np.zeros((2, 60))
    for seed in range(n_seeds):
        order = RowOrder.drawn(WEIGHTS, seed, n_most, times)
        rows, shares, chances = order.first(m)
        counts[rows] += 1 / chances
        sums[rows] += shares
        certain = chances == 1
        np.testing.assert_array_equal(shares[certain], WEIGHTS[rows[certain]])
        by_chance = (shares * chances / WEIGHTS[rows])[~certain]
        np.testing.assert_allclose(by_chance, by_chance[0], rtol=1e-12)
        assert shares.sum() == pytest.approx(1)
    sizes = WEIGHTS * times
    chances = sizes / np.maximum(sizes, order.least[m])
    assert chances.sum() == pytest.approx(m)
    room = 5 * np.sqrt((1 / chances - 1) / n_seeds)
    assert np.all(np.abs(counts / n_seeds - 1) <= room + 1e-12)
    room = WEIGHTS * (2 / m + 5 * np.sqrt((1 / chances - 1) / n_seeds))
    assert np.all(np.abs(sums / n_seeds - WEIGHTS) < room)


@pytest.mark.parametrize("weights", [WEIGHTS, np.full(60, 1 / 60)])
def test_rows_behind_the_most_are_not_asked_for(weights):
    """The chances of the first ones are those among all rows; others are not known."""
    some, every = (RowOrder.drawn(weights, 0, n_most) for n_most in (25, 60))
    assert len(some) == len(every) == 60
    assert len(set(some.rows.tolist())) == 25
    np.testing.assert_allclose(some.least, every.least[:26], rtol=1e-13)
    for ask in (some.first, some.shares, some.chances):
        ask(25)
        with pytest.raises(IndexError):
            ask(26)


def test_rows_of_a_far_response_are_drawn_for_certain():
    """Three of 200 have a response of 30, where others have about 1.

    They are 8 standard deviations from the mean, and matter as much as all others
    together. A row within two deviations has a size of 2, so that 80 rows lack no row
    beyond 2 * 197 / 77 = 5.1 deviations.
    """
    X = np.random.default_rng(0).normal(size=(200, 2))
    X[:3] = [1.0, 30.0], [1.0, 30.0], [-1.0, -30.0]

    def model(Z):
        return Z[:, 0] * Z[:, 1]

    how = {"scale": None, "contrast": "observed", "grid": 50, "keep_rows": True}
    measure = SensitivityImportance(estimation="exact", **how)
    exact = measure.fit(model, X).row_importances_[:3]
    measure.set_params(estimation="rows", n_draws=4)
    for seed in range(10):
        found = measure.set_params(random_state=seed).fit(model, X)
        assert found.n_draws_.tolist() == [80, 80]
        np.testing.assert_allclose(found.row_importances_[:3], exact, rtol=1e-12)


def test_first_rows_of_which_hardly_any_weigh():
    """Those of weight 1e-16 are last, and a sum of weights is 1 up to its rounding."""
    weights = np.repeat([0.1, 1e-17], 10)
    order = RowOrder.drawn(weights, 0, 20)
    assert set(order.rows[:10].tolist()) == set(range(10))
    for m in range(1, 21):
        assert order.shares(m).sum() == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("contrast", ["pairs", "observed"])
def test_heavy_rows_are_drawn_for_certain(contrast):
    """Only 40 of 400 rows have a weight to speak of: 80 drawn rows lack nothing."""
    random = np.random.default_rng(0)
    X, weights = random.normal(size=(400, 2)), np.full(400, 1e-10)
    weights[:40] = random.exponential(size=40) + 0.1

    def model(Z):
        return Z[:, 0] * np.exp(Z[:, 1])

    how = {"scale": None, "contrast": contrast, "grid": 50, "keep_rows": True}
    measure = SensitivityImportance(**how)
    exact = clone(measure).set_params(estimation="exact")
    exact.fit(model, X, sample_weight=weights)
    drawn = measure.set_params(estimation="rows", n_draws=4, random_state=0)
    drawn.fit(model, X, sample_weight=weights)
    assert drawn.n_draws_.tolist() == [80, 80]
    size = exact.importances_.max()
    assert np.all(drawn.monte_carlo_errors_ < 1e-6 * size)
    for name in ("importances_", "standard_errors_"):
        found, expected = getattr(drawn, name), getattr(exact, name)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    # those of rows without weight have no effect
    of_heavy = drawn.influences_[:40], exact.influences_[:40]
    np.testing.assert_allclose(*of_heavy, rtol=1e-5, atol=1e-6 * size)
