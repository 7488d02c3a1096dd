"""Which columns a tree of subgroups may split on, and how small its parts get."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import f_oneway

from skvarimp import SensitivityImportance
from skvarimp._data.table import Feature, as_table
from skvarimp._measures.subgroup_trees import (
    Predictors,
    _bins,
    _largest,
    _summable,
    explained,
    target_of,
)

N, N_COLUMNS = 160, 7
EQUAL = np.full(N, 1 / N)
FIRST = Feature("x0", (0,))


def columns_near_the_bound(seed):
    """Columns of which the first depends on the others more, less or not at all."""
    random = np.random.RandomState(seed)
    X = random.randn(N, N_COLUMNS)
    X[:, 0] += X[:, 1:] @ random.uniform(0.0, 0.6, N_COLUMNS - 1)
    return X


@pytest.mark.parametrize("seed", range(8))
def test_the_candidates_are_those_an_f_test_finds(seed):
    """Eighths of each column are the groups; the bound is 0.001 of all together."""
    X, found = columns_near_the_bound(seed), {}
    for j in range(1, N_COLUMNS):
        eighths = np.argsort(np.argsort(X[:, j])) * 8 // N
        statistic, p = f_oneway(*(X[eighths == k, 0] for k in range(8)))
        if p * (N_COLUMNS - 1) < 0.001:
            found[j] = statistic
    expected = sorted(sorted(found, key=found.get)[-4:])
    table = as_table(X)
    target = target_of(table, FIRST, EQUAL, frozenset())
    nearest = Predictors.of(table, EQUAL).nearest(FIRST, target, EQUAL, N)
    assert nearest.tolist() == expected


def by_f_tests(x, groups, n_tests):
    """The four groupings on which x depends most, of those with p below 0.001 / n."""
    found = {}
    for j, of_column in groups.items():
        statistic, p = f_oneway(*(x[of_column == k] for k in np.unique(of_column)))
        if p * n_tests < 0.001:
            found[j] = statistic
    return sorted(sorted(found, key=found.get)[-4:])


@pytest.mark.parametrize("shift", np.linspace(0.3, 1.2, 10))
def test_a_candidate_of_two_values_by_an_f_test(shift):
    """Two groups leave one degree of freedom between them."""
    random = np.random.RandomState(0)
    two = np.arange(N) % 2
    X = np.column_stack([random.randn(N) + shift * two, two])
    table = as_table(X)
    target = target_of(table, FIRST, EQUAL, frozenset())
    nearest = Predictors.of(table, EQUAL).nearest(FIRST, target, EQUAL, N)
    _, p = f_oneway(X[two == 0, 0], X[two == 1, 0])
    assert len(nearest) == (p < 0.001)


@pytest.mark.parametrize("seed", range(6))
def test_the_candidates_among_sparse_columns(seed):
    """Rows that store nothing are a group beside the eighths of the others."""
    X, groups = columns_near_the_bound(seed), {}
    held = np.random.RandomState(seed).rand(N, N_COLUMNS) < 0.5
    held[:, 0] = True
    X[~held] = 0.0
    X[:, 0] += 0.3 * X[:, 1:].sum(axis=1)
    for j in range(1, N_COLUMNS):
        stored = X[held[:, j], j]
        ranks, of_column = np.argsort(np.argsort(stored)), np.full(N, -1)
        of_column[held[:, j]] = ranks * 8 // len(stored)
        groups[j] = of_column
    expected = by_f_tests(X[:, 0], groups, N_COLUMNS - 1)
    table = as_table(sparse.csr_array(X))
    target = target_of(table, FIRST, EQUAL, frozenset())
    nearest = Predictors.of(table, EQUAL).nearest(FIRST, target, EQUAL, N)
    assert nearest.tolist() == expected
    # and as numbers: the values themselves
    np.testing.assert_array_equal(
        Predictors.of(table, EQUAL).columns.toarray(), X.astype(np.float32)
    )


@pytest.mark.parametrize("seed", range(3))
def test_weights_are_numbers_of_rows_for_candidates(seed):
    """The bins, the sums and the degrees of freedom are those of repeated rows."""
    X, groups = columns_near_the_bound(seed), {}
    counts = np.random.RandomState(seed).randint(1, 4, N)
    weights, Z = counts / counts.sum(), np.repeat(X, counts, axis=0)
    for j in range(1, N_COLUMNS):
        below = [counts[X[:, j] < x].sum() for x in X[:, j]]
        groups[j] = np.repeat(np.array(below) * 8 // counts.sum(), counts)
    expected = by_f_tests(Z[:, 0], groups, N_COLUMNS - 1)
    table = as_table(X)
    target = target_of(table, FIRST, weights, frozenset())
    found = Predictors.of(table, weights)
    assert found.nearest(FIRST, target, weights, counts.sum()).tolist() == expected


def test_bins_begin_at_eighths_of_the_weight():
    """By the weight of all smaller values: at 0, 1/8, ..., and never a ninth."""
    codes = np.array([1, 0, 3, 2, 1, 4])
    weights = np.array([1, 1, 2, 9, 2, 1]) / 16  # below: 0, 1, 4, 13, 15 of 16
    assert _bins(codes, weights).tolist() == [0, 0, 6, 2, 0, 7]
    assert _bins(np.arange(24), np.full(24, 1 / 24)).tolist() == [*np.arange(24) // 3]
    nothing_beside = _bins(np.arange(2), np.array([1.0, 1e-12]))
    assert nothing_beside.tolist() == [0, 7]


def test_the_largest_values_are_taken_in_order():
    """Values that differ by rounding are equal: the first comes first."""
    values = np.array([3.0, 5.0, 1.0, 5.0 + 1e-12, 4.0])
    assert _largest(values, 2).tolist() == [1, 3]
    assert _largest(1e-200 * values, 4).tolist() == [1, 3, 4, 0]
    values[3] += 1e-7
    assert _largest(values, 1).tolist() == [3]
    assert _largest(np.zeros(3), 2).tolist() == [0, 1]


@pytest.mark.parametrize(("below", "first"), [(4e-10, 0), (6e-10, 1)])
def test_values_are_equal_to_nine_digits_of_the_largest(below, first):
    """The first of two, unless the second is larger by more."""
    for unit in (1.0, 2.0**-40):
        assert _largest(unit * np.array([1.0 - below, 1.0]), 1).tolist() == [first]


@pytest.mark.parametrize(("short", "second"), [(0.5e-9, 1), (2e-9, 0)])
def test_an_eighth_that_rounding_makes_smaller_is_one(short, second):
    """A billionth of a bin is missing at most."""
    weights = np.array([(1 - short) / 8, (7 + short) / 8])
    assert _bins(np.arange(2), weights).tolist() == [0, second]


@pytest.mark.parametrize("size", [1.0, 1024.0])
def test_a_column_that_varies_by_rounding_is_no_target(size):
    """Its standard deviation is below 1e-12 of its largest value."""
    half = np.repeat([0.0, 1.0], N // 2)[:, np.newaxis]
    for deviations, expected in [(0.95e-12, 0.0), (1.05e-12, 1.0)]:
        x = size * (1.0 + 2 * deviations * half)
        target = target_of(as_table(x), FIRST, EQUAL, frozenset())
        signs = expected * np.where(half > 0, 1.0, -1.0)
        np.testing.assert_allclose(target, signs, rtol=0.01)


def test_the_share_between_parts_of_two_targets():
    """By hand: weighted means of the parts, targets of mean 0."""
    weights, parts = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0, 1, 0, 1])
    target = np.array([[1.0, 2.0], [-2.0, 0.0], [3.0, 1.0], [1.0, -3.0]])
    target -= weights @ target
    between = 0.0
    for part in (0, 1):
        mass = weights[parts == part].sum()
        means = weights[parts == part] @ target[parts == part] / mass
        between += mass * np.sum(means**2)
    expected = between / np.sum(weights @ target**2)
    assert explained(target, parts, weights) == pytest.approx(expected, rel=1e-14)
    assert explained(target, 0 * parts, weights) == 0.0
    assert explained(0 * target, parts, weights) == 0.0


@pytest.mark.parametrize(("n", "n_targets", "bits"), [(1000, 2, 20), (1024, 1, 21)])
def test_sums_of_rounded_targets_are_exact(n, n_targets, bits):
    """Of them and of their squares, in 52 bits: 1000 rows of two targets need 11."""
    random = np.random.RandomState(0)
    target = random.randn(n, n_targets)
    target /= np.sqrt(np.mean(target**2, axis=0))
    counts = np.ones(n)
    rounded = _summable(target, counts)
    np.testing.assert_array_equal(rounded, np.round(target * 2.0**bits) / 2.0**bits)
    for values in (rounded, rounded**2):
        for one in values.T:
            assert one.sum() == one[random.permutation(n)].sum() == math.fsum(one)
    finest = _summable(target, np.full(n, 1e9))  # 16 bits are kept in any case
    np.testing.assert_array_equal(finest, np.round(target * 2.0**16) / 2.0**16)


def test_missing_values_have_an_indicator():
    """Among the numbers they are the mean of the others."""
    x = np.array([1.0, np.nan, 4.0, 1.0, np.nan, 2.0])
    target = target_of(
        as_table(x[:, np.newaxis]), FIRST, np.full(6, 1 / 6), frozenset()
    )
    filled = (
        np.array([1.0, 2.0, 4.0, 1.0, 2.0, 2.0]) - 2.0
    )  # 2 is the mean of the known
    missing = np.array([0, 1, 0, 0, 1, 0]) - 1 / 3
    expected = np.column_stack([filled, missing])
    expected /= np.sqrt((expected**2).mean(axis=0))
    np.testing.assert_allclose(target, expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("n_levels", [20, 21])
def test_twenty_levels_have_indicators_of_a_common_variance(n_levels):
    """The rarest of 21 levels has none."""
    codes = np.repeat(np.arange(n_levels), np.arange(n_levels) + 1)
    n = len(codes)
    X = pd.DataFrame({"x0": pd.Categorical([f"level {c:02}" for c in codes])})
    target = target_of(as_table(X), FIRST, np.full(n, 1 / n), frozenset())
    kept = np.arange(n_levels)[::-1][:20]
    indicators = 1.0 * (codes[:, np.newaxis] == kept)
    indicators -= indicators.mean(axis=0)
    indicators /= np.sqrt((indicators**2).mean(axis=0).sum())
    np.testing.assert_allclose(target, indicators, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(("n", "n_parts"), [(30, 2), (29, 1)])
def test_a_part_has_at_least_fifteen_rows(n, n_parts):
    """30 rows can be halved, 29 cannot."""
    x = np.arange(n, dtype=float)
    imp = SensitivityImportance(conditional="subgroups", scale=None).fit(
        lambda X: X[:, 0], np.column_stack([x, x**2])
    )
    sizes = np.bincount(imp.subgroups_["x0"])
    assert len(sizes) == n_parts
    assert sizes.min() >= 15


@pytest.mark.parametrize("unit", [1e-300, 1e-20, 1e20, 1e300])
def test_the_unit_of_a_column_decides_nothing(unit):
    """Its squares would be 0 or infinite; powers of ten round each number once."""
    x = np.random.RandomState(0).randn(N, 1) + 1.0
    target = target_of(as_table(x), FIRST, EQUAL, frozenset())
    expected = (x - x.mean()) / x.std()
    np.testing.assert_allclose(target, expected, rtol=1e-12, atol=1e-14)
    moved = target_of(as_table(unit * x), FIRST, EQUAL, frozenset())
    np.testing.assert_allclose(moved, expected, rtol=1e-12, atol=1e-14)
