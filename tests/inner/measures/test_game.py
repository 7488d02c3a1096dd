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
