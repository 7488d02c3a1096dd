"""How flat mean curves are, how that hangs on each value, and which rows are kept."""

import numpy as np
import pytest
from sklearn import config_context

from skvarimp._data.statistics import Units
from skvarimp._response.mean_curves import (
    BLOCK_ROWS,
    PartialDependence,
    directions,
    directions_of,
    flatness,
    flatness_slope,
    signed_groups,
)

RANDOM = np.random.RandomState(0)
SPREADS = {"std": lambda v: np.std(v, ddof=1), "range": np.ptp}


@pytest.mark.parametrize("statistic", SPREADS)
def test_flatness_counts_distinct_values(statistic):
    """A cell of three distinct values counts three times; one value says nothing."""
    counts, curves = RANDOM.randint(1, 4, (2, 5)), RANDOM.randn(2, 3, 5)
    expected = [
        [SPREADS[statistic](np.repeat(curve, m)) for curve in of_feature]
        for of_feature, m in zip(curves, counts)
    ]
    found = flatness(curves, counts, statistic)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    # each row with numbers of its own
    of_rows = RANDOM.randint(1, 4, (2, 3, 5))
    expected = [
        [SPREADS[statistic](np.repeat(*pair)) for pair in zip(*of_feature)]
        for of_feature in zip(curves, of_rows)
    ]
    found = flatness(curves, of_rows, statistic)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert flatness(np.array([[[5.0]]]), np.ones((1, 1)), statistic).tolist() == [[0.0]]


@pytest.mark.parametrize("statistic", SPREADS)
def test_slopes_of_flatness_are_derivatives(statistic):
    """By differences of each value; the flatness of a constant curve has none."""
    counts, curves = RANDOM.randint(1, 4, (2, 5)), RANDOM.randn(2, 3, 5)
    curves[1, 2] = 0.1
    slope = flatness_slope(curves, counts, statistic, np.ones(3))
    assert not slope[1, 2].any()
    slope, expected = slope.reshape(6, 5)[:5], np.empty((5, 5))
    for k in range(5):
        ends = []
        for h in (1e-6, -1e-6):
            moved = curves.copy()
            moved[..., k] += h
            ends.append(flatness(moved, counts, statistic).ravel()[:5])
        expected[:, k] = (ends[0] - ends[1]) / 2e-6
    # h^2 of the third derivative, and rounding of 1e-16 over h
    np.testing.assert_allclose(slope, expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(slope.sum(axis=1), 0.0, atol=1e-14)


@pytest.mark.parametrize("unit", [2.0**-60, 1.0, 2.0**60])
def test_tied_ends_share_the_slope_of_a_range(unit):
    """By their numbers of distinct values, also where they differ by rounding."""
    curve = unit * np.array([[[0.0, 2.0, 1.0, 2.0 + 1e-15, -1e-16]]])
    counts = np.array([[1.0, 3.0, 2.0, 1.0, 1.0]])
    slope = flatness_slope(curve, counts, "range", np.full(1, unit))
    expected = [-1 / 2, 3 / 4, 0.0, 1 / 4, -1 / 2]
    np.testing.assert_allclose(slope[0, 0], expected, rtol=1e-14)


@pytest.mark.parametrize(("n_rows", "n_groups"), [(60, 60), (200, 7), (13, 1)])
def test_groups_of_rows_are_even_and_signs_random(n_rows, n_groups):
    """Each row is in one group; always the same."""
    signs, groups = signed_groups(n_rows, n_groups)
    sizes = np.bincount(groups, minlength=n_groups)
    assert len(sizes) == n_groups
    assert sizes.max() - sizes.min() <= 1
    assert set(signs) == {-1.0, 1.0}
    # six standard errors of the number of signs
    assert abs(signs.sum()) < 6 * np.sqrt(n_rows)
    again = signed_groups(n_rows, n_groups)
    np.testing.assert_array_equal(again, [signs, groups])


def test_blocks_of_rows_have_groups_of_their_own():
    """Each of so many rows; the groups go on where the last block ended."""
    n_rows = 2 * BLOCK_ROWS + 5
    signs, groups = signed_groups(n_rows, n_rows)
    assert len(signs) == n_rows
    np.testing.assert_array_equal(np.sort(groups), np.arange(n_rows))
    for start in range(0, n_rows, BLOCK_ROWS):
        block = groups[start : start + BLOCK_ROWS]
        assert block.min() == start
        assert block.max() == min(start + BLOCK_ROWS, n_rows) - 1
    first, second = signs[:BLOCK_ROWS], signs[BLOCK_ROWS : 2 * BLOCK_ROWS]
    assert not np.array_equal(first, second)


@pytest.mark.parametrize(
    ("n_rows", "n_units", "n_groups"),
    [
        (30, None, 30),
        (1000, None, 200),
        (50000, None, 100),
        (10**6, None, 50),
        (1000, 1000, 200),
        (1000, 120, 120),
    ],
)
def test_how_many_groups_are_kept(n_rows, n_units, n_groups):
    """200 or as few as 50, such that all rows have 5 million numbers."""
    units = None if n_units is None else Units(n_units)
    kept = PartialDependence.over("std", n_rows, units=units)
    assert (kept.n_groups, kept.n_rows, kept.statistic) == (n_groups, n_rows, "std")
    assert PartialDependence.over("range", n_rows, n_groups=20).n_groups == 20


def test_groups_are_joined_where_memory_is_short():
    """An eighth of a block's memory holds sums, a quarter all rows by themselves."""
    many, few = PartialDependence("std", 200, 1000), PartialDependence("std", 200, 200)
    with config_context(working_memory=4):
        numbers = 2**20 / 8 / 8  # of one group, which fill the room
        assert many.n_kept(numbers / 128) == 128
        assert many.n_kept(numbers / 512) == 200
        assert many.n_kept(numbers) == 10  # least
        assert few.keeps_apart(2 * numbers / 200)
        assert not few.keeps_apart(2.01 * numbers / 200)
        assert not many.keeps_apart(1)
        assert few.n_kept(2 * numbers / 200) == 200
        assert few.n_kept(numbers / 16) == 16
    assert PartialDependence("std", 200, 1000, apart=True).keeps_apart(10**9)


def test_which_sums_are_kept():
    """Rows by themselves, or signed weights of those of a group."""
    weights, place = RANDOM.dirichlet(np.ones(8)), slice(4, 12)
    name, factors, groups, n_groups = PartialDependence("std", 20, 20).kept(
        place, weights, 5
    )
    assert (name, n_groups) == ("apart", 8)
    assert factors.tolist() == [1.0] * 8
    assert groups.tolist() == list(range(8))
    kept = PartialDependence("std", 6, 20)
    name, factors, groups, n_groups = kept.kept(place, weights, 5)
    signs, of_row = signed_groups(20, 6)
    assert (name, n_groups) == ("sketch", 6)
    np.testing.assert_array_equal(factors, signs[place] * weights)
    np.testing.assert_array_equal(groups, of_row[place])
    # rows of one unit have one sign and one group
    units = Units.of(np.full(20, 0.05), np.arange(20) // 2)
    signs, of_row = PartialDependence("std", 6, 20, units=units).signs_and_groups
    of_unit = signed_groups(10, 6)
    np.testing.assert_array_equal([signs[::2], of_row[::2]], of_unit)
    np.testing.assert_array_equal([signs[1::2], of_row[1::2]], of_unit)


def test_directions_are_sums_over_pairs_of_values():
    """Of rises over differences, each pair by the product of its probabilities."""
    curves, chances = RANDOM.randn(2, 3, 6), RANDOM.dirichlet(np.ones(6))
    curves[0, 1] = 2.0 + 1e-15 * RANDOM.randn(6)
    found = directions_of(curves, chances, np.full(3, 3.0))
    rises = curves[..., np.newaxis, :] - curves[..., np.newaxis]
    pairs = np.triu(np.outer(chances, chances), 1)
    expected = (rises * pairs).sum(axis=(2, 3)) / (abs(rises) * pairs).sum(axis=(2, 3))
    expected[0, 1] = 0.0  # flat but for rounding
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("levels", [[0, 0, 0, 0, 0, 0], [0, 0, 1, 1, 1, 3]])
@pytest.mark.parametrize(
    "cells", [None, [0, 0, 1, 1, 1, 2, 2, 3], [0, 0, 0, 0, 1, 1, 2, 2]]
)
def test_directions_within_levels_and_cells(cells, levels):
    """By loops over pairs of values of one level; a cell has one number."""
    known, curves = np.array([1, 1, 0, 1, 1, 1, 1, 0], dtype=bool), RANDOM.randn(2, 8)
    cells = None if cells is None else np.array(cells)
    by_value = curves if cells is None else curves[:, cells]
    chances, levels = RANDOM.dirichlet(np.ones(6)), np.array(levels)
    rise = spread = 0.0
    for k in range(6):
        for m in range(k + 1, 6):
            if levels[k] == levels[m]:
                gap = by_value[:, known][:, m] - by_value[:, known][:, k]
                rise += chances[k] * chances[m] * gap
                spread += chances[k] * chances[m] * np.abs(gap)
    orders = [(known, chances, levels), None]
    found = directions(orders, np.ones(2), cells, np.stack([curves, curves]))
    np.testing.assert_allclose(found[0], rise / spread, rtol=1e-12)
    assert np.isnan(found[1]).all()
