"""Standard errors from some of the rows, and what their draws may have missed."""

from types import SimpleNamespace

import numpy as np
import pytest

from skvarimp._data.statistics import Units
from skvarimp._response.rounds import DrawnUnits, Stopping, rows_of_rounds


@pytest.mark.parametrize("common", [True, False])
def test_all_rows_in_groups_err_as_their_groups_do(common):
    """As sums over groups, but no less than rows that are independent."""
    random = np.random.default_rng(0)
    groups = np.repeat(np.arange(6), 4)
    weights = random.uniform(0.5, 2.0, 24)
    weights /= weights.sum()
    influences = random.normal(size=(2, 6))[:, groups]  # a group moves together
    if not common:  # or evens itself out
        influences = influences * np.tile([1.0, -1.0], 12) / weights
    units = Units.of(weights, groups)
    drawn = DrawnUnits.of_drawn(units, np.arange(24), weights)
    by_row = weights * influences
    by_group = by_row.reshape(2, 6, 4).sum(axis=2)
    squares = np.sum((by_group if common else by_row) ** 2, axis=1)
    expected = np.sqrt(6 / 5 * squares)
    np.testing.assert_allclose(drawn.error(influences), expected, rtol=1e-13)


def test_draws_may_have_missed_the_next_jump():
    """By a spread over four times the next smaller one; two draws of it are added."""
    draws = SimpleNamespace(
        spreads=np.array([1.0, 1.5, 6.5, 7.0, 28.0, 28.5, 120.0]),
        largest_spreads=np.array([0.5, 1.5, 7.0, 28.0, 120.0, 1.5, 1.5]),
        equal=np.arange(7) == 5,
        known=np.arange(7) == 6,
        outcome=SimpleNamespace(draw_share=0.5),
    )
    # 7 to 28 is no jump: it is four times as far, and no more
    expected = np.array([6.5, 6.5, 120.0, 120.0, 0.0, 0.0, 0.0])
    found = Stopping.missed.fget(draws)
    np.testing.assert_allclose(found, np.sqrt(2.0) * 0.5 * expected, rtol=1e-15)


def test_rows_of_rounds():
    """10, then 20, then all 25 rows: each round asks for its rows anew."""
    assert rows_of_rounds(10, 25) == 10 + 20 + 25
    assert rows_of_rounds(30, 25) == 25
