"""Weighted medians, quantiles and Gini's mean difference."""

import numpy as np
import pytest

from skvarimp._data.base_table import factorized, is_constant
from skvarimp._data.statistics import (
    Units,
    deciles,
    gini_mean_difference,
    quantile_positions,
)
from skvarimp._measures.problem import weighted_median
from skvarimp._measures.rows import RandomSampleUnits


def mean_pair_distance(v):
    """E|V' - V''| over all ordered pairs, self-pairs included."""
    v = np.asarray(v, dtype=float)
    return np.abs(v[:, None] - v[None, :]).mean()


def test_gini_mean_difference_and_median_with_weights():
    """Integer weights are repeated values; a constant is exactly 0."""
    v, counts = np.array([3.0, 1.0, 2.0, 1.0]), np.array([1, 2, 3, 1])
    repeated = np.repeat(v, counts)
    assert gini_mean_difference(v, counts / 7) == pytest.approx(
        mean_pair_distance(repeated), rel=1e-14
    )
    assert gini_mean_difference(np.full(9, 0.1), np.full(9, 1 / 9)) == 0
    for counts in ([1, 2, 3, 1], [1, 1, 1, 1], [0, 1, 2, 1], [4, 1, 1, 2]):
        expected = np.median(np.repeat(v, counts))
        assert weighted_median(v, np.array(counts) / 7) == pytest.approx(expected)


def test_gini_mean_difference_of_many_values():
    """200 000 steps of equal weight: rounding does not add up."""
    n = 200_000
    # of 0, 1, ..., n - 1: (n^2 - 1) / (3 n)
    expected = (n - 1 / n) / 3
    found = gini_mean_difference(np.arange(n, dtype=float), np.full(n, 1 / n))
    assert found == pytest.approx(expected, rel=1e-13)


def test_columns_of_objects():
    """True is another level than 1; a column of missing values is constant."""
    codes, first = factorized(np.array([1, True, 1, "1", True], dtype=object))
    assert codes[0] == codes[2]
    assert codes[1] == codes[4]
    assert sorted(first) == [0, 1, 3]
    missing = np.array([None, np.nan], dtype=object)
    assert is_constant(missing)
    assert not is_constant(np.append(missing, 0.0))
    assert deciles(np.full(3, np.nan), np.full(3, 1 / 3)).size == 0


def test_quantiles_of_very_many_values_of_equal_weight():
    """Rounding of a million added weights takes none to the next value."""
    n, at = 1_000_000, np.arange(1, 21) / 20
    found = quantile_positions(np.full(n, 1 / n), at)
    np.testing.assert_array_equal(found, np.arange(1, 21) * n // 20 - 1)


def test_freedom_of_errors_of_random_samples():
    """1 / f adds up from the samples and the rows: by hand, of even and other weights.

    Rows: f is (sum w^2)^2 / sum w^4 - 1; of an interval the geometric mean of that
    number and (sum w)^2 / sum w^2, minus 1.
    """
    for weights in (np.full(7, 1 / 7), np.array([4.0, 3.0, 2.0, 1.0, 1.0]) / 11):
        rows = Units(len(weights), weights, weights)
        samples = RandomSampleUnits(11, np.full(11, 1 / 11), None, of_rows=rows)
        of_squares = (weights**2).sum() ** 2 / (weights**4).sum()
        of_sums = weights.sum() ** 2 / (weights**2).sum()
        of_rows, of_interval = of_squares - 1, np.sqrt(of_squares * of_sums) - 1
        assert rows.freedom == pytest.approx(of_rows)
        assert rows.interval_freedom == pytest.approx(of_interval)
        expected = 1 / (1 / 10 + 1 / of_rows), 1 / (1 / 10 + 1 / of_interval)
        assert samples.freedom == pytest.approx(expected[0])
        assert samples.interval_freedom == pytest.approx(expected[1])
