"""Columns that a fitted step has seen, as pandas names and slices them."""

import numpy as np
import pandas as pd
import pytest

from skvarimp._refits.columns import Seen, Unknown

NAMES = list("abcdef")
# the third is gone, the fifth is there twice
SEEN = Seen(6, [0, 1, 3, 4, 5, 4], NAMES, ["a", "b", "d", "e", "f", "e copy"])
FRAME = pd.DataFrame(np.zeros((1, 6)), columns=NAMES)
SLICES = [
    slice("b", "e"),
    slice("b", None),
    slice(None, "c"),
    slice("b", "f", 2),
    slice("f", None, None),
    slice("d", "b"),
]


@pytest.mark.parametrize("columns", SLICES)
def test_slices_by_name_end_with_their_last(columns):
    """As those of a frame by `loc`."""
    assert SEEN.listed(columns) == FRAME.loc[:, columns].columns.tolist()


@pytest.mark.parametrize(
    "columns", [slice(1, 4), slice(None, -2), slice(None, None, 3)]
)
def test_slices_by_position_end_before_their_last(columns):
    """As those of a list."""
    assert SEEN.listed(columns) == list(range(6))[columns]


def test_masks_are_positions():
    """One item for each column that was; ones and zeros are positions."""
    assert SEEN.listed([True, False, True, False, False, np.True_]) == [0, 2, 5]
    assert SEEN.listed([1, 0]) == [1, 0]
    assert SEEN.listed([]) == []
    with pytest.raises(Unknown, match="5 items for 6 columns"):
        SEEN.listed([True] * 5)


def test_where_columns_are_now():
    """In the order asked for; what is gone is nowhere, a copy beside its column."""
    assert SEEN.some([4, -6, "b", 2, "e"]) == [3, 5, 0, "b", "e", "e copy"]
    assert SEEN.now(4) == [3, 5]
    assert SEEN.now(2) == []
    assert [SEEN.position(c) for c in (-1, "c", 0, 5)] == [5, 2, 0, 5]
    for column in (6, -7, "z", 1.0):
        with pytest.raises(Unknown, match="which is no column of X"):
            SEEN.position(column)
