"""The error of a mean over repeats, of which there are few."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import t

from skvarimp._measures.joint.game import Repeats


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
