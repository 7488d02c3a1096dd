"""Texts of pictures: inside the figure, apart from each other, easy to read."""

from functools import partial
from itertools import combinations as two_of
from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pytest
from combinations import each
from scipy.cluster.hierarchy import average

from skvarimp import (
    AllRelevantDisplay,
    AssociationDisplay,
    ComparisonDisplay,
    CurvesDisplay,
    DendrogramDisplay,
    FoldsDisplay,
    ImportanceDisplay,
    MatrixDisplay,
    NullDisplay,
    RowsDisplay,
    SelectionPathDisplay,
)
from skvarimp.sequence import MotifDisplay, MotifProfile, OligomerHeatmapDisplay

plt = pytest.importorskip("matplotlib.pyplot")

SMALL = (3.4, 2.6)  # inches of a picture in a journal's column
LONG = "region = north + urban, as the register of dwellings has it", "of two words"


@pytest.fixture(autouse=True)
def closed():
    """No figure is left open."""
    yield
    plt.close("all")


def names_of(n):
    """Short names, long ones, and very long ones that differ at their ends."""
    forms = "x{}", "total_serum_cholesterol_{}", LONG[0] + " {}"
    return [forms[j % 3].format(j) for j in range(n)]


def values_of(n):
    """Importances, the largest first."""
    return np.linspace(1.0, 0.01, n)


def bars(n):
    """Bars with parts, intervals and ranks."""
    values = values_of(n)
    return ImportanceDisplay(
        values,
        names_of(n),
        intervals=np.multiply.outer(values, [0.8, 1.2]),
        label="standard deviation of accumulated local effect",
        own=0.5 * values,
        ranks=[(j + 1, j + 3) for j in range(n)],
    )


def dots(n):
    """Dots with marks of direction."""
    values, directions = values_of(n), np.resize([1.0, -1.0, np.nan], n)
    intervals = np.multiply.outer(values, [0.8, 1.2])
    given = {"intervals": intervals, "directions": directions, "label": "importance"}
    display = ImportanceDisplay(values, names_of(n), **given)
    display.plot = partial(display.plot, kind="dots")
    return display


def comparison(n, measures=("increase of the squared error",)):
    """Three models under each measure."""
    models = "Ridge", "RandomForestRegressor", "HistGradientBoostingRegressor"
    of_measure = {model: values_of(n) for model in models}
    intervals = {models[0]: np.multiply.outer(values_of(n), [0.8, 1.2])}
    return ComparisonDisplay(
        dict.fromkeys(measures, of_measure),
        names_of(n),
        intervals=dict.fromkeys(measures, intervals),
    )


def two_measures(n):
    """Two panels."""
    measures = "increase of the squared error", "relative range of the prediction"
    return comparison(n, measures)


def rows(n):
    """Points of numbers, some missing, and of few and many categories."""
    random = np.random.default_rng(0)
    numbers = np.where(random.random(60) < 0.1, np.nan, random.random(60))
    levels = random.choice(["male", "female"], 60)
    many = random.choice([f"region number {k}" for k in range(9)], 60)
    values = [(numbers, levels, many)[j % 3] for j in range(n)]
    shown = random.normal(values_of(n), 0.1, (60, n))
    return RowsDisplay(shown, names_of(n), values=values)


def effects(n):
    """Points on both sides of 0, some features without values."""
    random = np.random.default_rng(0)
    shown, numbers = random.normal(0.0, values_of(n), (60, n)), random.random(60)
    values = [None if j % 3 == 2 else numbers for j in range(n)]
    label = "effect of the row's own value on the response"
    return RowsDisplay(shown, names_of(n), values=values, label=label, signed=True)


def folds(n):
    """Boxes with ranks."""
    values = np.outer(np.linspace(0.8, 1.2, 5), values_of(n))
    ranks = np.arange(1, n + 1) + np.arange(5)[:, np.newaxis]
    return FoldsDisplay(values, names_of(n), ranks=ranks)


def all_relevant(n):
    """Columns of all three states."""
    values = np.outer(np.linspace(0.8, 1.2, 9), values_of(n))
    states = [["selected", "tentative", "rejected"][3 * j // n] for j in range(n)]
    return AllRelevantDisplay(values, np.linspace(0.4, 0.6, 9), names_of(n), states)


def matrix(n):
    """A symmetric matrix."""
    values = np.add.outer(values_of(n), values_of(n)) ** 3
    np.fill_diagonal(values, np.nan)
    return MatrixDisplay(values, names_of(n), "importance of one given the other")


def association(n):
    """A matrix that is not symmetric."""
    return AssociationDisplay(np.random.default_rng(0).random((n, n)), names_of(n))


def dendrogram(n):
    """Groups of three columns, which join far from each other."""
    places = np.repeat(np.arange(n), 3)[:n] * 10.0 + np.linspace(0.0, 1.0, n)
    linkage = average(places[:, np.newaxis] / (places.max() + 1.0))
    return DendrogramDisplay(linkage, names_of(n), threshold=0.9)


def null(n):
    """Bands and p-values."""
    band = np.linspace(-0.1, 0.1, 19)
    panels = zip(names_of(n), values_of(n))
    return NullDisplay([(name, value, band, 0.05, 0.5) for name, value in panels])


def path(n):
    """As many steps as features."""
    sizes = np.arange(1, n + 1)
    folds = 0.8 - 0.3 / sizes[:, np.newaxis] + [-0.02, 0.0, 0.02]
    score = folds.mean(axis=1)
    given = {"n_features": sizes, "score": score, "fold_scores": folds}
    return SelectionPathDisplay(chosen=n, needed=0.6, **given)


def curves(n):
    """Lines with bands, and levels in every third panel."""
    grid = np.linspace(0.0, 1.0, 9)
    levels = np.array(["north", "south", "the far east", "west"])
    drawn = []
    for j, name in enumerate(names_of(n)):
        of_feature = levels if j % 3 == 1 else grid
        drawn.append(
            (name, of_feature, np.column_stack([np.arange(len(of_feature))] * 2))
        )
    deciles = {name: grid for name, of_feature, _ in drawn if len(of_feature) == 9}
    display = CurvesDisplay(drawn, ["class benign", "class malignant"], deciles)
    display.intervals = {name: (mean - 1, mean + 1) for name, _, mean in drawn}
    return display


def motif(n):
    """A profile over as many positions."""
    values = np.linspace(-1.0, 1.0, n)
    lines = values, 0.5 * values, 0.2 * values, 0.0 * values, np.full(n, 0.1)
    return MotifDisplay(MotifProfile("GATTACA", "weight", np.arange(n), *lines))


def oligomers(n):
    """As many words of letters."""
    words = ["".join("ACGT"[k // 4**d % 4] for d in range(5)) for k in range(n)]
    values = np.random.default_rng(0).normal(size=(30, n))
    return OligomerHeatmapDisplay(values, words)


def surfaces(n):
    """Neighbouring features in pairs."""
    grid, names = np.linspace(0.0, 1.0, 9), names_of(n + 1)
    averages = np.add.outer(grid, grid)[:, :, np.newaxis]
    of_pairs = [((a, b), grid, grid, averages) for a, b in pairwise(names)]
    return CurvesDisplay([], ["class malignant"], surfaces=of_pairs)


PICTURES = {
    picture.__name__: picture
    for picture in (
        bars,
        dots,
        comparison,
        two_measures,
        rows,
        effects,
        folds,
        all_relevant,
        matrix,
        association,
        dendrogram,
        null,
        path,
        curves,
        surfaces,
        motif,
        oligomers,
    )
}


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


@pytest.mark.parametrize("name", PICTURES)
def test_layout_settles(name):
    """Drawing again, as saving does, leaves the panels where they are."""
    figure = PICTURES[name](3).plot(title="a title").figure_
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
    ("name", "style"), each(PICTURES, ["default", "dark_background"])
)
def test_texts_of_small_pictures(name, style):
    """Twenty features at the width of a journal's column: apart, dark on light."""
    with plt.style.context(style):
        figure = PICTURES[name](20).plot(figsize=SMALL).figure_
        texts = assert_readable(figure)
        assert_texts_stand_out(figure, texts, name in ("matrix", "association"))


@pytest.mark.thorough
@pytest.mark.parametrize("size", [None, SMALL])
@pytest.mark.parametrize("n", [3, 20, 100])
@pytest.mark.parametrize("name", PICTURES)
def test_texts_of_pictures(name, n, size):
    """Few features and many, at the size that the display chooses and a small one."""
    assert_readable(PICTURES[name](n).plot(figsize=size, title="a title").figure_)


@pytest.mark.thorough
@pytest.mark.parametrize("n", [3, 100])
@pytest.mark.parametrize(
    "name", [n for n in PICTURES if n not in ("two_measures", "curves", "surfaces")]
)
def test_texts_in_axes_of_the_user(name, n):
    """In the only axes of a small figure that lays itself out."""
    figure, ax = plt.subplots(figsize=SMALL, layout="constrained")
    PICTURES[name](n).plot(ax)
    assert_readable(figure)


def test_names_keep_what_tells_them_apart():
    """Their ends, however narrow the figure is; they break between words."""
    names = [f"total_serum_cholesterol_of_visit_{j}" for j in range(3)]
    display = ImportanceDisplay([3.0, 2.0, 1.0], names).plot(figsize=(1.8, 2.0))
    shown = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert [name[-1] for name in shown] == ["0", "1", "2"]
    wide = ImportanceDisplay([3.0, 2.0, 1.0], names).plot(figsize=SMALL)
    first = wide.ax_.get_yticklabels()[0].get_text()
    assert first == "total_serum_\ncholesterol_of_visit_0"


def test_names_lose_whole_words():
    """From the middle; names that would be the same are cut inside a word instead."""
    names = ["total_serum_cholesterol_at_visit_1", "region = north + urban, as is 2"]
    values = np.ones((2, 2))
    ax = MatrixDisplay(values, names).plot(figsize=SMALL).ax_
    shown = [text.get_text() for text in ax.get_yticklabels()]
    assert shown == ["total_…_visit_1", "region = … is 2"]
    alike = ["age_in_years_of_the_patient", "weight_in_years_of_the_patient"]
    ax = MatrixDisplay(values, alike).plot(figsize=(2.4, 2.4)).ax_
    first, second = (text.get_text() for text in ax.get_yticklabels())
    assert first != second
    assert (first[0], second[0]) == ("a", "w")


def test_intervals_stand_out_from_pale_bars():
    """Also on dark paper, on which pale bars are dark."""
    for style in ("default", "dark_background"):
        with plt.style.context(style):
            display = bars(3).plot()
        (pale, *_), (lines,) = display.bars_, display.errors_.lines[2]
        of_bar, of_line = pale.get_facecolor(), lines.get_edgecolor()[0]
        low, high = sorted([luminance(of_bar), luminance(of_line)])
        assert (high + 0.05) / (low + 0.05) > 3


def test_text_is_smaller_in_narrow_figures():
    """In all parts of the picture; the style of the user stays as it was."""
    before = plt.rcParams["font.size"]
    wide, narrow = (folds(3).plot(figsize=(w, 3.0)) for w in (5.0, 3.4))
    sizes = []
    for display in (wide, narrow):
        texts = drawn_texts(display.figure_)
        sizes.append([text.get_fontsize() for text in texts])
    np.testing.assert_allclose(max(sizes[0]), before)
    np.testing.assert_allclose(max(sizes[1]), 0.68 * before)
    assert plt.rcParams["font.size"] == before


def test_verdicts_colour_the_names():
    """Each as its box, with a line at the median of the largest copy."""
    display = all_relevant(3).plot()
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
    display = rows(3).plot()
    named = [text.get_text() for text in display.ax_.texts]
    assert named[-2] == "6 others"
    assert len(named) == 2 + 4 + 1
    assert named[-1] == "grey: missing"
    complete = RowsDisplay([[0.1], [0.2]], ["a"], values=[[1.0, 2.0]]).plot()
    assert complete.key_ is None


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
    assert display.axes_[0].get_ylabel() == "partial dependence, class yes"
