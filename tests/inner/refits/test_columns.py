"""Columns that a fitted step has seen, as pandas names and slices them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import make_pipeline

from skvarimp._refits.columns import (
    Seen,
    Unknown,
    _check_grids,
    _side_by_side,
    rearranged,
)

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


def test_items_of_columns_follow_them():
    """One for each column there is now, in the container that they came in."""
    values = [10, 11, 12, 13, 14, 15]
    expected = [10, 11, 13, 14, 15, 14]
    assert SEEN.items(values) == expected
    assert SEEN.items(tuple(values)) == tuple(expected)
    found = SEEN.items(np.array(values))
    assert isinstance(found, np.ndarray)
    assert found.tolist() == expected
    by_name = {"a": 10, 2: 12, 4: 14, "e": 15}
    assert SEEN.items(by_name) == {"a": 10, 3: 14, 5: 14, "e": 15, "e copy": 15}
    with pytest.raises(Unknown, match="5 items for 6 columns"):
        SEEN.items(values[:5])


def test_sets_of_columns_without_any_left_go():
    """Unless all of them do."""
    assert SEEN.sets([[0, 2], ["c"], [4]]) == [[0], [3, 5]]
    assert SEEN.sets([]) == []
    with pytest.raises(Unknown, match="no column is left"):
        SEEN.sets([[2], ["c"]])


def test_a_part_of_the_columns():
    """Positions before are those within what the part was given."""
    part = SEEN.part([1, 2, 4], [1, 3, 5])
    assert part == Seen(3, [0, 2, 2], ["b", "c", "e"], ["b", "e", "e copy"])
    nameless = Seen(6, SEEN.sources, None, None).part([1, 2, 4], [1, 3, 5])
    assert nameless == Seen(3, [0, 2, 2], None, None)


ONE = Seen(2, [0, 0, 1], ["a", "b"], ["a", "a copy", "b"])
OTHER = Seen(3, [2], ["b", "c", "d"], ["d"])


def test_outputs_of_several_parts_stand_side_by_side():
    """Their names may tell the part."""
    both = _side_by_side([("one", ONE), ("other", OTHER)], True)
    assert (both.n_old, both.sources) == (5, [0, 0, 1, 4])
    assert both.old == ["one__a", "one__b", "other__b", "other__c", "other__d"]
    assert both.new == ["one__a", "one__a copy", "one__b", "other__d"]
    both = _side_by_side([("one", ONE), ("other", OTHER)], False)
    assert both.old == ["a", "b", "b", "c", "d"]
    assert both.new == ["a", "a copy", "b", "d"]


def test_outputs_whose_names_are_not_known():
    """A function makes the names, or a part has none."""
    made = _side_by_side([("one", ONE), ("other", OTHER)], "{transformer_name}".format)
    assert made == Seen(5, [0, 0, 1, 4], None, None)
    nameless = Seen(3, [0, 2, 1], None, None)
    assert _side_by_side([("one", ONE), ("other", nameless)], True) == Seen(
        5, [0, 0, 1, 2, 4, 3], None, None
    )


SEARCHED = [
    {"model__categorical_features": [[0], [1]]},
    [{"alpha": [1.0]}, {"a__b__monotonic_cst": [[0, 1], None]}],
    {"categorical_features": ["from_dtype", ["b"]]},
]


@pytest.mark.parametrize("grids", SEARCHED, ids=str)
def test_searches_among_columns_cannot_be_renumbered(grids):
    """Of a step's or of the model's own parameter, in any of several grids."""
    with pytest.raises(Unknown, match="candidates of"):
        _check_grids(grids)


def test_searches_of_other_parameters_stay():
    """Also of one that lists columns, where no candidate does."""
    _check_grids({"alpha": [1.0, 2.0], "model__hidden_layer_sizes": [(3,), (4,)]})
    _check_grids([{"categorical_features": ["from_dtype", None]}])
    _check_grids({"max_depth": 3})


class Takes(BaseEstimator):
    """Parameters that refer to columns, and one that nothing is known of."""

    def __init__(self, categorical_feature="auto", settings=None):
        self.categorical_feature, self.settings = categorical_feature, settings


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("name:b,e", "name:b,e,e copy"),
        ("1,4", "1,3,5"),
        ("(1, 4)", "(1,3,5)"),
        ("[4, 0]", "[3,5,0]"),
        ([1, 4], [1, 3, 5]),
    ],
)
def test_columns_as_a_text(given, expected):
    """Lists are written as they were, also within another estimator."""
    assert rearranged(Takes(given), SEEN).categorical_feature == expected
    within = rearranged(TransformedTargetRegressor(Takes(given)), SEEN)
    assert within.regressor.categorical_feature == expected
    (step,) = (one for _, one in rearranged(make_pipeline(Takes(given)), SEEN).steps)
    assert step.categorical_feature == expected


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"categorical_feature": "all of them"}, "'allofthem'"),
        ({"categorical_feature": 3}, "a single position"),
        ({"settings": {"columns": [1, 2]}}, "seems to list positions"),
        ({"settings": {"depth": ["a"]}}, "names some"),
        ({"settings": [[1.0] * k for k in range(6)]}, "it has 6 items"),
        ({"settings": np.zeros((2, 6))}, "it has 6 items"),
    ],
)
def test_what_may_be_columns_is_an_error(parameters, why):
    """With the parameter's name; what cannot be columns stays as it is."""
    (name,) = parameters
    with pytest.raises(Unknown, match=f"`{name}` of Takes refers to columns.*{why}"):
        rearranged(Takes(**parameters), SEEN)


@pytest.mark.parametrize(
    "settings", [{"depth": [1, 2]}, [[1.0], [1.0, 2.0]], {"rate": 0.1}, "b", 6]
)
def test_what_cannot_be_columns_stays(settings):
    """The estimator is the one that was given, and so is what is none."""
    given = Takes(settings=settings)
    assert rearranged(given, SEEN) is given
    function = abs
    assert rearranged(function, SEEN) is function
