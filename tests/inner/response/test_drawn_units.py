"""Standard errors from some of the rows."""

import numpy as np
import pytest

from skvarimp._data.statistics import Units
from skvarimp._response.rounds import DrawnUnits


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
