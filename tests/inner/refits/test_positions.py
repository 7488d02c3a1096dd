"""The rows of a split, as `cv` may give them."""

import numpy as np
import pytest
from messages import says

from skvarimp._refits.refits import _positions


@pytest.mark.parametrize(
    "rows",
    [[1, 3], np.array([1, 3], dtype=np.uint8), [False, True, False, True, False]],
)
def test_positions_and_masks(rows):
    """A mask has one item for each row of X."""
    np.testing.assert_array_equal(_positions(rows, 5), [1, 3])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "without training or held-out rows"),
        ([False] * 5, "without training or held-out rows"),
        ([0, 5], "rows that X does not have"),
        ([-1, 0], "rows that X does not have"),
        ([0.0, 1.0], "rows that X does not have"),
        ([True] * 4, "rows that X does not have"),
    ],
)
def test_rows_that_are_none_of_x(rows, message):
    """None, too many, negative, no whole numbers, or a mask of another length."""
    with pytest.raises(ValueError, match=says(message)):
        _positions(rows, 5)
