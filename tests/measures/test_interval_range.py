"""Intervals stay where importances can be, and are no wider than they must be."""

import numpy as np
import pytest
from scipy.stats import t as student

from skvarimp import (
    FIRMImportance,
    ImpurityImportance,
    PermutationImportance,
    SensitivityImportance,
    ShapleyImportance,
    SobolImportance,
)
from skvarimp._data.statistics import Units
from skvarimp._results.intervals import corrected, uncorrected
from skvarimp.exceptions import ImportanceWarning

UNSCALED = {"scale": None, "estimation": "exact"}


def first(X):
    """The model: its first column."""
    return X[:, 0]


def ends(importance, feature=0):
    """Lower and upper end of a feature's interval."""
    table = importance.interval()
    name = importance.features_[feature]
    (row,) = table[table["feature"] == name][["lower", "upper"]].to_numpy()
    return row


@pytest.mark.parametrize("heavy", range(4))
@pytest.mark.parametrize("keep_rows", [False, True])
def test_one_heavy_row(heavy, keep_rows):
    """Two values between 0 and 3 differ by 1.5 on average at most."""
    X = np.tile([0.0, 1.0, 2.0, 3.0], 5)[:, np.newaxis]
    weights = np.where(np.arange(20) == heavy, 100.0, 1.0)
    effective = 119**2 / (100**2 + 19)
    measure = SensitivityImportance(keep_rows=keep_rows, **UNSCALED)
    with pytest.warns(ImportanceWarning, match=f"The 20 rows .* {effective:.1f} with"):
        measure.fit(first, X, sample_weight=weights)
    lower, upper = ends(measure)
    shares = weights / weights.sum()
    expected = shares @ np.abs(X - X.T) @ shares
    assert measure.importances_[0] == pytest.approx(expected, rel=1e-12)
    assert 0.0 <= lower < expected < upper <= 1.5


def test_moved_rows_that_reach_further():
    """Two columns cancel in all rows: the range of the predictions says nothing."""
    x = np.random.default_rng(0).normal(size=100)
    X = np.column_stack([x, -x])
    measure = SensitivityImportance(**UNSCALED).fit(lambda X: X.sum(axis=1), X)
    alone = SensitivityImportance(**UNSCALED).fit(first, X[:, :1])
    np.testing.assert_allclose(ends(measure), ends(alone), rtol=1e-9)


@pytest.mark.thorough
def test_uneven_weights():
    """Coverage and width, with lognormal weights of the rows.

    Of 300 samples 95% are 285, and 270 are four standard deviations fewer. Without a
    bound, the upper ends of a twentieth are more than seven times as far as they must.
    """
    random = np.random.default_rng(0)
    estimates, bounds = [], []
    for _ in range(300):
        X, weights = random.normal(size=(64, 1)), np.exp(1.5 * random.normal(size=64))
        units = weights.sum() ** 2 / (weights @ weights)
        if units < 10:
            continue
        measure = SensitivityImportance(**UNSCALED)
        measure.fit(first, X, sample_weight=weights)
        estimates.append(measure.importances_[0])
        bounds.append(ends(measure))
    lower, upper = np.transpose(bounds)
    true = 2.0 / np.sqrt(np.pi)
    n, inside = len(lower), np.sum((lower <= true) & (true <= upper))
    assert inside >= 0.95 * n - 4.0 * np.sqrt(n * 0.95 * 0.05)
    assert lower.min() >= 0.0
    spread = np.ptp(np.quantile(estimates, [0.025, 0.975]))
    assert np.quantile(upper - lower, 0.95) < 4.0 * spread


def test_dependent_sites():
    """One of ten sites makes the importance: an end at most twice as far off."""
    random = np.random.default_rng(0)
    sites = np.repeat(np.arange(10), 20)
    X = np.where(sites == 0, random.normal(size=200), 0.0)[:, np.newaxis]
    measure = SensitivityImportance(**UNSCALED).fit(first, X, groups=sites)
    lower, upper = ends(measure)
    (estimate,), (error,) = measure.importances_, measure.standard_errors_
    assert lower >= 0.0
    reach = student.ppf(0.975, 9) * error
    assert estimate + reach < upper <= estimate + 2.0 * reach * (1 + 1e-12)


def test_unused_column():
    """A standard deviation is not negative, and that of scores bounds it."""
    X = np.random.default_rng(0).normal(size=(100, 2))
    measure = FIRMImportance().fit(lambda X: X[:, 0] ** 2, X)
    estimate = measure.importances_[1]
    lower, upper = ends(measure, 1)
    assert lower >= 0.0
    assert estimate < upper <= np.ptp(X[:, 0] ** 2) / 2


def test_numbers_that_may_be_negative():
    """What can be below 0 is not cut there; each kind of measure says which it is."""
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 2))
    y = X[:, 0] + random.normal(size=60)
    found = PermutationImportance().fit(lambda X: X @ [1.0, 0.1], X, y)
    assert ends(found, 1)[0] < 0.0
    found = ShapleyImportance(loss="squared_error").fit(lambda X: X @ [1.0, 0.1], X, y)
    assert ends(found, 1)[0] < 0.0
    for measure, signed in [
        (ShapleyImportance(), False),
        (ShapleyImportance(loss="squared_error"), True),
        (ImpurityImportance(), False),
        (ImpurityImportance(rows="unseen"), True),
        (ImpurityImportance(rows="oob"), True),
        (PermutationImportance(relative=True), False),
        (PermutationImportance(), True),
        (SobolImportance(), False),
    ]:
        assert measure._may_be_negative == signed


def test_correction_is_bounded_and_undone():
    """Hall's transformation and its inverse, with the same bounds."""
    skews, quantiles = np.meshgrid([-3.0, -0.5, 0.0, 0.4, 2.0], [-2.5, -0.3, 0.4, 2.5])
    back = [uncorrected(q, g) for q, g in zip(quantiles.ravel(), skews.ravel())]
    inside = np.abs(back) > 1e-3
    again = corrected(np.array(back), skews.ravel())
    np.testing.assert_allclose(again[inside], quantiles.ravel()[inside], rtol=1e-9)
    assert np.all(np.abs(back) <= 2.0 * np.abs(quantiles.ravel()) * (1 + 1e-12))
    assert np.all(np.abs(uncorrected(2.0, np.array([-5.0, 5.0]), 0.25)) >= 1.5)


def test_understatement():
    """The mean squared error of normal rows with equal variances, by simulation.

    The relative error of a mean of 100 000 squares is below 2%.
    """
    random = np.random.default_rng(0)
    weights = np.array([0.4, 0.2, 0.1, 0.1, 0.1, 0.1])
    units, x = Units.of(weights), random.normal(size=(100_000, 6))
    errors = units.error(x - (x @ weights)[:, np.newaxis])
    true = np.sqrt(weights @ weights)
    ratio = true / np.sqrt(np.mean(errors**2))
    assert units.understatement == pytest.approx(ratio, rel=0.02)
    assert Units.of(np.full(7, 1 / 7)).understatement == pytest.approx(1.0)
