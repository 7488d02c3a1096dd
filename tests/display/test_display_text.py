"""Texts of pictures: inside the figure, apart from each other, easy to read."""

from itertools import combinations as two_of
from unittest.mock import patch

import numpy as np
import pytest
from combinations import each, half
from pictures import PICTURES, drawn

from skvarimp import (
    AllRelevantDisplay,
    CurvesDisplay,
    ImportanceDisplay,
    RowsDisplay,
)

plt = pytest.importorskip("matplotlib.pyplot")
font_manager = pytest.importorskip("matplotlib.font_manager")

SMALL = (3.4, 2.6)  # inches of a picture in a journal's column
HARD = [  # kinds of names and of values, how many, size, style
    ("sixty", "spread", 20, SMALL, "default"),
    ("words", "negative", 3, SMALL, "dark_background"),
    ("japanese", "missing", 20, SMALL, "dark_background"),
    ("literal", "equal", 20, None, "default"),
    ("mixed", "huge", 20, SMALL, "dark_background"),
    ("mixed", "unknown", 3, SMALL, "default"),
    ("sixty", "huge", 100, SMALL, "default"),
    ("sixty", "missing", 20, None, "default"),
    ("japanese", "spread", 3, SMALL, "default"),
]
FONTS = {font.name for font in font_manager.fontManager.ttflist}
WITH_JAPANESE = sorted(FONTS & {"Noto Sans CJK JP", "IPAGothic"})[:1]
OF_PANELS = {"two_measures", "curves", "single_rows", "surfaces"}


@pytest.fixture(autouse=True)
def closed():
    """No figure is left open."""
    yield
    plt.close("all")


def drawn_texts(figure):
    """All texts that are drawn, each with its box in pixels."""
    from matplotlib.text import Text

    seen, draw = {}, Text.draw

    def record(text, renderer):
        if text.get_visible() and text.get_text().strip():
            seen[text] = text.get_window_extent(renderer)
        draw(text, renderer)

    with patch.object(Text, "draw", record):
        figure.draw_without_rendering()
    return seen


def assert_readable(figure):
    """Every text is inside the figure, none touches another, none is tiny.

    Returns the texts.
    """
    texts, whole = drawn_texts(figure), figure.bbox
    assert texts
    for text, box in texts.items():
        what = repr(text.get_text())
        assert box.x0 >= whole.x0 - 1, what
        assert box.y0 >= whole.y0 - 1, what
        assert box.x1 <= whole.x1 + 1, what
        assert box.y1 <= whole.y1 + 1, what
        assert text.get_fontsize() >= 4.5, what
    upright = {t: box for t, box in texts.items() if t.get_rotation() % 90 == 0}
    for (a, of_a), (b, of_b) in two_of(upright.items(), 2):
        width = min(of_a.x1, of_b.x1) - max(of_a.x0, of_b.x0)
        height = min(of_a.y1, of_b.y1) - max(of_a.y0, of_b.y0)
        # boxes have room for accents and descenders that few letters fill
        least = 0.2 * min(of_a.width, of_a.height, of_b.width, of_b.height)
        assert min(width, height) <= least, (a.get_text(), b.get_text())
    for ax in figure.axes:
        if ax.get_visible():  # what is drawn is not crowded out
            assert ax.get_window_extent().height > 0.25 * figure.dpi
    return texts


@pytest.mark.parametrize("name", half(PICTURES))
def test_layout_settles(name):
    """Drawing again, as saving does, leaves the panels where they are."""
    figure = drawn(name, 3, title="a title").figure_
    places = []
    for _ in range(3):
        figure.draw_without_rendering()
        places.append([ax.get_position().bounds for ax in figure.axes])
    pixel = 1.0 / figure.bbox.size.min()
    np.testing.assert_allclose(places[1:], places[:1] * 2, rtol=0, atol=pixel)


def luminance(color):
    """Relative luminance of sRGB, as in the web's contrast guidelines."""
    rgb = np.array(color[:3])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def assert_texts_stand_out(figure, texts, on_cells):
    """From the paper, at least 3 to 1; those on cells of a matrix have other paper."""
    from matplotlib.colors import to_rgba

    paper = luminance(figure.get_facecolor())
    for text in texts:
        if on_cells and text.axes is figure.axes[0] and text in text.axes.texts:
            continue
        low, high = sorted([luminance(to_rgba(text.get_color())), paper])
        assert (high + 0.05) / (low + 0.05) > 3, text.get_text()


@pytest.mark.parametrize(
    ("name", "style"), half(each(PICTURES, ["default", "dark_background"]))
)
def test_texts_of_small_pictures(name, style):
    """Twenty features at the width of a journal's column: apart, dark on light."""
    with plt.style.context(style):
        figure = drawn(name, 20, figsize=SMALL).figure_
        texts = assert_readable(figure)
        assert_texts_stand_out(figure, texts, name in ("matrix", "association"))


@pytest.mark.thorough
@pytest.mark.parametrize("size", [None, SMALL])
@pytest.mark.parametrize("n", [3, 20, 100])
@pytest.mark.parametrize("name", PICTURES)
def test_texts_of_pictures(name, n, size):
    """Few features and many, at the size that the display chooses and a small one."""
    assert_readable(drawn(name, n, figsize=size, title="a title").figure_)


@pytest.mark.filterwarnings("ignore:Glyph")  # where no font has Japanese
@pytest.mark.parametrize(("name", "hard"), half(each(PICTURES, HARD)))
def test_texts_beside_hard_names_and_values(name, hard):
    """Long, Japanese and literal names; values that are missing, equal or infinite."""
    names, values, n, figsize, style = hard
    family = [*plt.rcParams["font.family"], *WITH_JAPANESE]
    with plt.style.context(style), plt.rc_context({"font.family": family}):
        assert_readable(drawn(name, n, names, values, figsize=figsize).figure_)


@pytest.mark.parametrize(
    ("name", "n", "layout"),
    half(each(sorted(set(PICTURES) - OF_PANELS), [3, 100], ["constrained", None])),
)
def test_texts_in_axes_of_the_user(name, n, layout):
    """In the only axes of a small figure, whether it lays itself out or not."""
    figure, ax = plt.subplots(figsize=SMALL, layout=layout)
    drawn(name, n, ax=ax)
    assert_readable(figure)


@pytest.mark.parametrize("name", ["bars", "rows", "matrix", "path", "motif"])
def test_texts_in_parts_of_a_figure(name):
    """Axes may lie in a subfigure."""
    figure = plt.figure(figsize=(6.8, 2.6), layout="constrained")
    for part in figure.subfigures(1, 2):
        display = drawn(name, 3, ax=part.subplots())
        assert display.figure_ is part
    texts = assert_readable(figure)
    left = [text.get_text() for text in texts if text.figure is not part]
    assert left == [text.get_text() for text in texts if text.figure is part]


def test_one_row_of_curves_keeps_its_height():
    """Below it there is room for names of levels, notes and a legend."""
    figure = drawn("curves", 3, "sixty").figure_
    figure.draw_without_rendering()
    heights = [ax.get_window_extent().height / figure.dpi for ax in figure.axes]
    assert min(heights) > 1.2


def test_a_long_key_takes_no_width_from_the_axes():
    """It has more lines; what it says is the same."""
    widths = []
    for lines in ("95% intervals", "intervals that hold " + 20 * "very " + "surely"):
        intervals = [[0.5, 1.5], [1.5, 2.5]]
        display = ImportanceDisplay([1, 2], "ab", intervals=intervals, lines=lines)
        display.plot(figsize=SMALL)
        assert_readable(display.figure_)
        assert " ".join(display.key_.get_text().split()) == f"lines: {lines}"
        widths.append(display.ax_.get_window_extent().width)
    assert widths[0] == widths[1] > 0.5 * SMALL[0] * display.figure_.dpi


def test_rows_without_some_values():
    """A point that is not known is not drawn; the others spread as they would."""
    random = np.random.default_rng(0).normal(size=(40, 1))
    with_gaps = np.column_stack([np.append(random, np.nan), np.arange(41.0)])
    places = [
        RowsDisplay(rows, names, order_by=order)
        .plot()
        .points_[-1]
        .get_offsets()[:40, 1]
        for rows, names, order in ((random, "a", [1.0]), (with_gaps, "ab", [1.0, 2.0]))
    ]
    np.testing.assert_allclose(places[0], places[1] - 1.0)


def test_names_keep_what_tells_them_apart():
    """Their ends, however narrow the figure is; they break between words."""
    names = [f"total_serum_cholesterol_of_visit_{j}" for j in range(3)]
    display = ImportanceDisplay([3.0, 2.0, 1.0], names).plot(figsize=(1.8, 2.0))
    shown = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert [name[-1] for name in shown] == ["0", "1", "2"]
    wide = ImportanceDisplay([3.0, 2.0, 1.0], names).plot(figsize=SMALL)
    first = wide.ax_.get_yticklabels()[0].get_text()
    assert first == "total_serum_\ncholesterol_of_visit_0"


def test_intervals_stand_out_from_pale_bars():
    """Also on dark paper, on which pale bars are dark."""
    for style in ("default", "dark_background"):
        with plt.style.context(style):
            display = drawn("bars", 3)
        (pale, *_), (lines,) = display.bars_, display.errors_.lines[2]
        of_bar, of_line = pale.get_facecolor(), lines.get_edgecolor()[0]
        low, high = sorted([luminance(of_bar), luminance(of_line)])
        assert (high + 0.05) / (low + 0.05) > 3


def test_text_is_smaller_in_narrow_figures():
    """In all parts of the picture; the style of the user stays as it was."""
    before = plt.rcParams["font.size"]
    wide, narrow = (drawn("folds", 3, figsize=(w, 3.0)) for w in (5.0, 3.4))
    sizes = []
    for display in (wide, narrow):
        texts = drawn_texts(display.figure_)
        sizes.append([text.get_fontsize() for text in texts])
    np.testing.assert_allclose(max(sizes[0]), before)
    np.testing.assert_allclose(max(sizes[1]), 0.68 * before)
    assert plt.rcParams["font.size"] == before


def test_verdicts_colour_the_names():
    """Each as its box, with a line at the median of the largest copy."""
    display = drawn("all_relevant", 3)
    colors = {}
    for text, box in zip(display.ax_.get_yticklabels(), display.boxes_):
        colors[text.get_text()] = text.get_color(), box.get_facecolor()
    assert len({text for text, _ in colors.values()}) == 4
    for text, box in colors.values():
        assert np.argmax(text[:3]) == np.argmax(box[:3])
    dashed = [line for line in display.ax_.get_lines() if line.get_linestyle() == "--"]
    assert [line.get_xdata()[0] for line in dashed] == [0.5]


def test_a_column_without_any_round():
    """Has a name and no box."""
    values, states = [[np.nan, 1.0]] * 2, ["rejected", "selected"]
    display = AllRelevantDisplay(values, [0.4, 0.6], ["a", "b"], states).plot()
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == ["b", "largest copy", "a"]
    assert np.isnan(display.boxes_[2].get_width())


def test_categories_of_rows():
    """At most four are named, the others counted; grey only where values miss."""
    display = drawn("rows", 3)
    named = [text.get_text() for text in display.ax_.texts]
    assert named[-2] == "6 others"
    assert len(named) == 2 + 4 + 1
    assert named[-1] == "grey: missing"
    complete = RowsDisplay([[0.1], [0.2]], ["a"], values=[[1.0, 2.0]]).plot()
    assert complete.key_ is None


def test_panels_without_a_value():
    """A curve of NaN keeps its panel, and a note says that it is empty."""
    curves = [("a", [0.0, 1.0], [[0.0], [1.0]]), ("b", [0.0, 1.0], [[np.nan]] * 2)]
    display = CurvesDisplay(curves, ["y"]).plot()
    assert display.key_.get_text() == "1 of 2 panels is without a value"


def test_levels_have_no_order():
    """No line joins them, neither of averages nor of single rows."""
    levels = np.array(["north", "south", "west"])
    curve = "region", levels, [[1.0], [2.0], [0.5]]
    single = {"region": (levels, np.arange(12.0).reshape(4, 3, 1))}
    display = CurvesDisplay([curve], ["class yes"], individual=single).plot()
    lines = display.axes_[0].get_lines()
    assert len(lines) == 6  # averages, missing values, four rows
    assert all(
        line.get_linestyle() == "None" for line in lines if len(line.get_xdata())
    )
    label = display.axes_[0].get_ylabel().replace("\n", " ")
    assert label == "partial dependence, class yes"


INFINITE = [[np.inf, -np.inf, np.inf], [0.0, 1.0, np.inf], [-np.inf, 2.0]]


@pytest.mark.parametrize("grid", INFINITE)
def test_curves_over_infinite_values(grid):
    """What lies beside the values stands right of those that the axis has."""
    averages = np.arange(float(len(grid)))[:, np.newaxis]
    display = CurvesDisplay([("age", np.array(grid), averages)], ["y"]).plot()
    (ax,) = display.axes_
    assert np.all(np.isfinite(ax.get_xlim()))
