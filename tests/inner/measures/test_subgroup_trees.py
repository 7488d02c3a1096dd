"""Which columns a tree of subgroups may split on, and how small its parts get."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import f_oneway

from skvarimp import SensitivityImportance
from skvarimp._data.table import Feature, as_table
from skvarimp._measures.subgroup_trees import Predictors, target_of

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
