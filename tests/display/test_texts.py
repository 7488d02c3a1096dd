"""Names as wide as they are drawn: lines, what is cut, and how they stay different."""

from datetime import datetime, timedelta, timezone

import numpy as np
import pytest
from pictures import NAMES, names_of

plt = pytest.importorskip("matplotlib.pyplot")

from skvarimp._display.matrix import pair_matrix  # noqa: E402
from skvarimp._display.texts import (  # noqa: E402
    HINTING,
    TextRoom,
    block_inches,
    text_inches,
    unique_names,
    wrapped,
)
from skvarimp._display.times import as_times  # noqa: E402

FIVE = TextRoom(5, 1, len)  # one line of five characters


@pytest.mark.parametrize(
    "text", ["x0", "WWW iii", "od280/od315_of_diluted_wines", "ÄÖÜ"]
)
@pytest.mark.parametrize("size", [6.8, 10.0])
def test_width_is_that_of_the_drawn_text(text, size):
    """Within the share that is set apart for placing letters on pixels."""
    figure = plt.figure(dpi=200)
    drawn = figure.text(0, 0, text, fontsize=size)
    width = drawn.get_window_extent().width / 200
    pixel = 1 / 200
    assert text_inches(text, size) == pytest.approx(
        HINTING * width, rel=0.05, abs=pixel
    )
    plt.close(figure)


def test_height_is_that_of_the_drawn_lines():
    """Of one to three lines; a line above the first is not counted."""
    figure, heights = plt.figure(dpi=200), []
    for n in (1, 2, 3):
        text = "\n".join(["glyph"] * n)
        heights.append(figure.text(0, 0, text).get_window_extent().height / 200)
        assert block_inches(text) >= heights[-1] - 1 / 200
    line = block_inches("a\nb") - block_inches("a")
    assert line == pytest.approx(heights[2] - heights[1], abs=2 / 200)
    plt.close(figure)


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("abc def", ["abc", "def"]),
        ("a_b_c_d_e", ["a_b_", "c_d_e"]),
        ("a+b:c/d", ["a+b:", "c/d"]),
        ("血清総コレステ", ["血清総コ", "レステ"]),
        ("abcdefghijkl", ["abcd", "efgh", "ijkl"]),
    ],
)
def test_where_lines_end(name, lines):
    """After separators, between wide characters, else inside a word; of like widths."""
    found = wrapped(name, TextRoom(5, None, len)).split("\n")
    assert max(map(len, found)) <= 5
    assert "".join(found) == "".join(name.split())
    if len(name) < 10:
        assert found == lines


def test_names_lose_whole_words_from_their_middle():
    """Never all but the last: a name that is cut does not look like another name."""
    names = ["total_serum_cholesterol_at_visit_1", "region = north + urban, as is 2"]
    short = unique_names(names, TextRoom(15, 1, len))
    assert short == ["total_…_visit_1", "region = … is 2"]
    assert unique_names(["low HDL", "HDL"], FIVE) == ["lo…DL", "HDL"]
    assert wrapped("abcdefghij", FIVE) == "ab…ij"


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("room", [TextRoom(8, 1, len), TextRoom(12, 2, len)])
def test_different_names_stay_different(kind, room):
    """However narrow; what they share gives way to where they differ."""
    names = names_of(40, kind)
    short = unique_names(names, room)
    assert len(set(short)) == 40
    lines = [line for one in short for line in one.split("\n")]
    assert max(map(len, lines)) <= room.width
    for name, one in zip(names, short):
        assert one[0] == name[0]
    alike = [f"age of the patient, {k} years before the visit" for k in range(9)]
    assert all(str(k) in one for k, one in enumerate(unique_names(alike, room)))


def test_the_same_name_twice():
    """Is no reason to cut it elsewhere."""
    short = unique_names(["abcdefghij"] * 2, FIVE)
    assert short[0] == short[1]
    assert np.unique(short).size == 1


def test_times_with_a_zone_are_those_of_greenwich():
    """Ten o'clock two hours east of it is eight o'clock there."""
    zone = timezone(timedelta(hours=2))
    found = as_times([datetime(2020, 1, 2, 10, tzinfo=zone), datetime(2020, 1, 2)])
    expected = ["2020-01-02T08", "2020-01-02T00"]
    np.testing.assert_array_equal(found, np.array(expected, "datetime64[us]"))


def test_pairs_of_others_are_no_cells():
    """Only pairs of two names, on both sides of the diagonal."""
    pairs = [("a", "b"), ("a", "c")]
    matrix = pair_matrix(["b", "a"], pairs, [0.5, np.nan])
    np.testing.assert_array_equal(matrix, [[np.nan, 0.5], [0.5, np.nan]])
