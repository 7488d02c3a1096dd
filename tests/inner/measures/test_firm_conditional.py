"""FIRM's conditional means, block by block."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from skvarimp._measures.firm.conditional import (
    distinct_counts,
    number_of_bins,
    quantile_codes,
)


@given(
    values=st.lists(st.integers(-3, 3), min_size=2, max_size=40),
    n_bins=st.integers(2, 6),
)
def test_bins_keep_equal_values_together(values, n_bins):
    """Ascending, none empty, at most n_bins, and a function of the value."""
    x = np.array(values, dtype=float)
    codes = quantile_codes(x, np.full(len(x), 1 / len(x)), n_bins)
    assert set(codes) == set(range(codes.max() + 1))
    assert codes.max() < n_bins
    order = np.argsort(x)
    assert np.all(np.diff(codes[order]) >= 0)
    for v in set(values):
        assert len(set(codes[x == v])) == 1


def test_bins_of_distinct_values_are_of_equal_size():
    """1000 rows in 8 bins: 125 each."""
    x = np.random.default_rng(1).permutation(1000).astype(float)
    codes = quantile_codes(x, np.full(1000, 1e-3), 8)
    assert np.bincount(codes).tolist() == [125] * 8
    assert [number_of_bins("auto", n) for n in (4, 50, 100, 1000, 2000, 10**6)] == [
        *(2, 5, 10, 10, 12, 100)
    ]


@given(seed=st.integers(0, 10**6), limit=st.integers(2, 6))
@settings(max_examples=30)
def test_distinct_values_are_counted(seed, limit):
    """Exactly up to the limit, one more above it; NaN is one value."""
    random = np.random.default_rng(seed)
    F = random.integers(0, random.integers(1, 10, size=8), size=(50, 8)).astype(float)
    F[random.random(F.shape) < 0.02] = np.nan
    expected = [min(len(np.unique(column)), limit + 1) for column in F.T]
    assert distinct_counts(F, limit).tolist() == expected
