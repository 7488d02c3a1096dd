"""What drawn rows tell of the donors of each bin, by loops over the draws."""

from types import SimpleNamespace

import numpy as np
import pytest

from skvarimp._data.statistics import Units
from skvarimp._response.drawing import (
    donor_means,
    gaps_of_levels,
    scaled_influences,
)

RANDOM = np.random.RandomState(0)


def sums_of(draws, weights):
    """Sums over the draws of each bin: w^2, w, w v, w v^2, and one more."""
    pairs = list(zip(draws, weights))
    return np.array(
        [
            [np.sum(w**2) for _, w in pairs],
            [np.sum(w) for _, w in pairs],
            [np.sum(w * v) for v, w in pairs],
            [np.sum(w * v**2) for v, w in pairs],
            [0.0] * len(pairs),
        ]
    )


def test_means_of_donors_and_their_noise():
    """One draw takes the mean variance of the bins with several; none says nothing."""
    draws = [RANDOM.randn(k) for k in (3, 1, 0, 5, 2)]
    weights = [np.full(len(of_bin), 0.2) for of_bin in draws]
    level = RANDOM.randn(5)
    means, noise = donor_means(sums_of(draws, weights), level)
    variances = [np.var(draws[b], ddof=1) for b in (0, 3, 4)]
    expected = np.zeros((2, 5))
    for b, of_bin in enumerate(draws):
        if len(of_bin):
            own = np.var(of_bin, ddof=1) if len(of_bin) > 1 else np.mean(variances)
            expected[:, b] = of_bin.mean() - level[b], own / len(of_bin)
    np.testing.assert_allclose(means, expected[0], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(noise, expected[1], rtol=1e-12, atol=1e-14)


def test_draws_of_unequal_weight_count_as_fewer():
    """(sum w)^2 / sum w^2 of them; below one and a half no spread is known."""
    draws = [np.array([1.0, 4.0]), np.array([2.0, 3.0])]
    weights = [np.array([1.0, 1.0]), np.array([1.0, 0.1])]
    _, noise = donor_means(sums_of(draws, weights), np.zeros(2))
    assert noise[0] == pytest.approx(4.5 / 2, rel=1e-12)
    count = 1.1**2 / 1.01  # 1.2: the variance of the other bin
    assert noise[1] == pytest.approx(4.5 / count, rel=1e-12)
    weights[1] = np.array([1.0, 0.5])
    _, noise = donor_means(sums_of(draws, weights), np.zeros(2))
    count = 1.5**2 / 1.25  # 1.8
    spread = np.average((draws[1] - 7 / 3) ** 2, weights=weights[1])
    assert noise[1] == pytest.approx(spread / (count - 1), rel=1e-12)


def test_single_draws_tell_no_noise():
    """No bin has several: nothing is taken off."""
    draws, weights = [np.array([2.0]), np.array([5.0])], [np.ones(1)] * 2
    means, noise = donor_means(sums_of(draws, weights), np.array([1.0, 1.0]))
    assert means.tolist() == [1.0, 4.0]
    assert noise.tolist() == [0.0, 0.0]


def test_bins_of_one_level_have_one_mean():
    """Less that of all donors."""
    draws = [RANDOM.randn(k) for k in (3, 1, 4, 5)]
    weights = [RANDOM.uniform(0.5, 1.0, len(of_bin)) for of_bin in draws]
    levels = np.array([0, 1, 0, 2])
    found = gaps_of_levels(SimpleNamespace(levels=levels), sums_of(draws, weights))
    everyone = np.average(np.concatenate(draws), weights=np.concatenate(weights))
    for b in range(4):
        alike = np.flatnonzero(levels == levels[b])
        values, w = (np.concatenate([of[a] for a in alike]) for of in (draws, weights))
        expected = np.average(values, weights=w) - everyone
        assert found[b] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("labels", [None, [0, 0, 1, 2, 2, 2]])
def test_influences_are_scaled_to_an_error_that_is_known(labels):
    """Their weighted mean is 0; influences that are all 0 stay so."""
    weights, psi = RANDOM.dirichlet(np.ones(6)), RANDOM.randn(6)
    units = Units.of(weights, labels)
    found = scaled_influences(psi, units, 0.3)
    assert units.error(found) == pytest.approx(0.3, rel=1e-12)
    assert weights @ found == pytest.approx(0.0, abs=1e-15)
    assert np.corrcoef(found, psi)[0, 1] == pytest.approx(1.0, rel=1e-12)
    assert not scaled_influences(np.zeros(6), units, 0.3).any()
    assert np.isnan(scaled_influences(psi, units, np.nan)).all()
