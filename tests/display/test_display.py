"""Pictures of importances: what they show, that it can be read, and its limits."""

import subprocess
import sys
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from combinations import half
from messages import says
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Lasso, LinearRegression, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.tree import DecisionTreeRegressor

import skvarimp.sequence
from skvarimp import (
    ALEImportance,
    AllRelevantSelector,
    BackwardEliminationSelector,
    ComparisonDisplay,
    ImportanceDisplay,
    Importances,
    ImpurityImportance,
    InteractionImportance,
    MatrixDisplay,
    PermutationImportance,
    RowsDisplay,
    SensitivityImportance,
    compare_importances,
    importance_across_candidates,
    importance_across_folds,
    importance_by_cohort,
    importance_difference,
    null_importances,
    rank_intervals,
)

plt = pytest.importorskip("matplotlib.pyplot")

from skvarimp._display.named_rows import WIDEST  # noqa: E402
from skvarimp._display.texts import points, text_inches  # noqa: E402

X, Y = load_diabetes(return_X_y=True, as_frame=True)
X, Y = X.iloc[:40], Y[:40]
MODELS = {"ridge": Ridge(0.1).fit(X, Y), "lasso": Lasso(1.0).fit(X, Y)}


@pytest.fixture(autouse=True)
def closed():
    """No figure is left open."""
    yield
    plt.close("all")


def fitted(**parameters):
    """A sensitivity importance of the ridge regression."""
    return SensitivityImportance(**parameters).fit(MODELS["ridge"], X, Y)


def labels(ax):
    """Names of the rows from top to bottom."""
    texts = zip(ax.get_yticks(), ax.get_yticklabels())
    ordered = sorted(texts, key=lambda pair: pair[0])
    lower, upper = ax.get_ylim()
    assert lower > upper  # the first row is on top
    return [text.get_text() for _, text in ordered]


def key(display):
    """What the small print below the label says."""
    return " ".join(display.key_.get_text().split()) if display.key_ else ""


def assert_legible(display):
    """Every text is inside the figure and no two row names overlap."""
    figure = display.figure_
    figure.draw_without_rendering()
    whole = figure.bbox
    for ax in figure.axes:
        texts = [t for t in ax.get_yticklabels() if t.get_visible() and t.get_text()]
        texts = texts if ax.yaxis.get_tick_params()["labelleft"] else []
        boxes = [t.get_window_extent() for t in texts]
        for box in [*boxes, ax.xaxis.label.get_window_extent()]:
            assert box.x0 >= whole.x0 - 0.5
            assert box.x1 <= whole.x1 + 0.5
            assert box.y0 >= whole.y0 - 0.5
            assert box.y1 <= whole.y1 + 0.5
        spans = sorted((box.y0, box.y1) for box in boxes)
        assert all(b[0] >= a[1] - 1.0 for a, b in pairwise(spans))
        assert all(t.get_fontsize() >= 8 for t in texts)
        assert ax.get_window_extent().width > 100  # room for the bars


def test_bars_are_sorted_with_their_errors():
    """Most important on top, length and 95% interval as computed."""
    imp = fitted()
    display = imp.plot()
    assert isinstance(display, ImportanceDisplay)
    assert display.figure_ is display.ax_.figure
    order = np.argsort(imp.ranking_)
    assert labels(display.ax_) == [imp.features_[e] for e in order]
    widths = [bar.get_width() for bar in display.bars_]
    np.testing.assert_allclose(widths, imp.importances_[order])
    (segments,) = (c.get_segments() for c in display.errors_.lines[2])
    ends = imp.interval()[["lower", "upper"]].to_numpy()
    np.testing.assert_allclose([segment[:, 0] for segment in segments], ends)
    assert display.ax_.get_xlabel() == imp._quantity()
    marks = "triangles: rising or falling, diamonds: both"
    assert key(display) == f"lines: 95% intervals · {marks}"
    display.ax_.set_xlabel("another label")
    assert key(display) == f"lines: 95% intervals · {marks}"
    assert display.ax_.get_xlim()[1] > max(widths)
    assert_legible(display)


def test_thirty_names_of_forty_characters_are_legible():
    """And of 42 features the thirty most important, with a note."""
    random = np.random.RandomState(0)
    names = [f"feature {j:02d} ".ljust(40, "x") for j in range(42)]
    assert {len(name) for name in names} == {40}
    values = random.uniform(size=42)
    display = ImportanceDisplay(
        values, names, intervals=np.outer(values, [0.9, 1.1]), label="share"
    ).plot()
    assert_legible(display)
    order = np.argsort(-values)[:30]
    assert labels(display.ax_) == [names[e] for e in order]
    limit = f"{values[order[-1]]:.3g}"
    note = f"12 of 42 features are not shown, none above {limit}"
    assert display.ax_.get_xlabel() == "share"
    assert key(display) == f"lines: 95% intervals · {note}"
    assert len(display.plot(max_features=5).bars_) == 5
    assert len(display.plot(max_features=50).bars_) == 42
    assert "not shown" not in key(display)


def test_numbers_stand_at_the_ends_of_bars():
    """As many places each, inside the axes and beyond intervals, or none at all."""
    values, ends = [1.0, 0.0314, -0.5, 0.0], [[0.8, 1.7], [0, 0.1], [-1, 0], [0, 0]]
    names = list("abcd")
    for size in ((6.4, 3.0), (3.4, 2.4)):
        display = ImportanceDisplay(values, names, intervals=ends).plot(figsize=size)
        display.figure_.draw_without_rendering()
        first, *texts = display.ax_.texts
        assert first is display.key_
        assert [t.get_text() for t in texts] == ["1.00", "0.03", "0.00", "-0.50"]
        whole = display.ax_.get_window_extent()
        boxes = [text.get_window_extent() for text in texts]
        assert all(whole.x0 - 1 <= b.x0 and b.x1 <= whole.x1 + 1 for b in boxes)
        beyond = display.ax_.transData.transform([[1.7, 0.0], [-1.0, 3.0]])[:, 0]
        assert boxes[0].x0 > beyond[0]
        assert boxes[-1].x1 < beyond[1]
    assert len(display.plot(values=False).ax_.texts) == 1


def test_values_that_are_too_large_to_draw():
    """Their names stay with a number instead of a bar, and a note says why."""
    values = [1.0, np.inf, 1e200]
    display = ImportanceDisplay(values, list("abc")).plot()
    assert labels(display.ax_) == ["b", "c", "a"]
    texts = [text.get_text() for text in display.ax_.texts[1:]]
    assert set(texts) == {"inf", "1.0e+200", "1.00"}
    assert key(display) == "2 of 3 features are too large to draw"
    matrix = MatrixDisplay([[1.0, np.inf], [0.0, 1.0]], ["a", "b"]).plot()
    assert key(matrix) == "grey: too large to draw"
    of_models = {"one": [1.0, np.inf, 3.0], "other": [1.0, 2.0, 3.0]}
    comparison = ComparisonDisplay({"loss": of_models}, list("abc")).plot()
    assert labels(comparison.ax_) == ["b", "c", "a"]
    assert key(comparison) == "1 of 3 features is too large to draw"


def test_the_key_stays_inside_figures_without_a_layout():
    """The axes become shorter where it would leave the figure."""
    figure, ax = plt.subplots(figsize=(4.0, 2.0))
    display = fitted().plot(ax)
    figure.draw_without_rendering()
    assert key(display).startswith("lines: 95% intervals")
    assert display.key_.get_window_extent().y0 >= 0


def test_longer_names_are_wrapped_and_read_literally():
    """No character is lost; a dollar sign is no formula."""
    names = ["the price in $ of x_1 and $y$ " * 5, "snake_case" * 12, "short"]
    display = ImportanceDisplay([3.0, 2.0, 1.0], names).plot()
    for shown, name in zip(labels(display.ax_), names):
        assert "".join(shown.split()) == "".join(name.split())
        assert max(map(text_inches, shown.split("\n"))) <= WIDEST * points() / 72
    assert_legible(display)


def test_missing_numbers():
    """NaN importances are counted, NaN errors left out, none at all is no error."""
    values = [0.5, np.nan, 1.0, 0.0]
    ends = [[0.4, 0.6], [np.nan, np.nan], [np.nan, np.nan], [0.0, 0.0]]
    display = ImportanceDisplay(values, list("abcd"), intervals=ends).plot()
    assert labels(display.ax_) == ["c", "a", "d"]
    assert "1 of 4 features is without an importance" in key(display)
    assert len(display.errors_.lines[2][0].get_segments()) == 1
    assert ImportanceDisplay(values, list("abcd")).plot().errors_ is None
    unknown = ImportanceDisplay([np.nan] * 2, ["a", "b"]).plot()
    assert labels(unknown.ax_) == ["a", "b"]
    assert key(unknown) == "2 of 2 features are without an importance"
    negative = ImportanceDisplay([0.5, -0.2], ["a", "b"]).plot()
    assert negative.ax_.get_xlim()[0] < -0.2


def test_axes_label_and_style_of_the_user():
    """Drawn where asked, `barh` keywords win over ours."""
    _, (left, right) = plt.subplots(1, 2)
    display = fitted().plot(ax=right, label="D / D_y", color="0.5", height=0.3)
    assert display.ax_ is right
    assert not left.patches
    assert right.get_xlabel() == "D / D_y"
    assert display.bars_[0].get_height() == 0.3
    other = ImportanceDisplay.from_importance(fitted(), ax=left, max_features=3)
    assert len(other.bars_) == 3
    with pytest.raises(NotFittedError):
        ImportanceDisplay.from_importance(SensitivityImportance())


MEASURES = {
    "pairs": SensitivityImportance(),
    "group": SensitivityImportance(features={"age": 0, "serum": [4, 5, 6, 7, 8, 9]}),
}


def test_dots():
    """With all of their intervals, which may hold for all features together."""
    ranks = rank_intervals(fitted(keep_rows=True))
    table = ranks.to_frame()
    display = ImportanceDisplay.from_importance(ranks, kind="dots")
    assert labels(display.ax_) == table["feature"].tolist()
    np.testing.assert_array_equal(display.bars_.get_xdata(), table["importance"])
    ends = [s[:, 0] for s in display.errors_.lines[2][0].get_segments()]
    np.testing.assert_allclose(ends, table[["lower", "upper"]])
    with pytest.raises(ValueError, match=says("`kind` … 'bars', 'dots' … got 'boxes'")):
        display.plot(kind="boxes")


@pytest.mark.parametrize("figsize", [None, (3.4, 4.0)], ids=str)
def test_ranks(figsize):
    """Lines are the ranks allowed, dots the ranks; the unit stands below."""
    ranks = rank_intervals(fitted(keep_rows=True), confidence=0.9)
    display = ranks.plot(figsize=figsize, max_features=5)
    table = ranks.to_frame().head(5)
    assert labels(display.ax_) == table["feature"].tolist()
    np.testing.assert_array_equal(display.dots_.get_xdata(), table["rank"])
    drawn = [line[:, 0] for line in display.lines_.get_segments()]
    np.testing.assert_array_equal(drawn, table[["lowest_rank", "highest_rank"]])
    assert "90%" in key(display)
    assert "5 of 10 features are not shown" in key(display)
    text = display.ax_.get_xlabel().replace("\n", " ")
    assert text == f"rank by {ranks.quantity.label}"
    if figsize is None:
        assert_legible(display)


@pytest.mark.parametrize("figsize", [None, (3.4, 4.0)], ids=str)
def test_differences(figsize):
    """Points and joint intervals around 0, the largest on top; the unit below."""
    first, second = (
        PermutationImportance(keep_rows=True).fit(model, X, Y)
        for model in MODELS.values()
    )
    found = importance_difference(first, second)
    display = found.plot(figsize=figsize, max_features=4)
    table = found.to_frame().head(4)
    assert labels(display.ax_) == table["feature"].tolist()
    drawn = display.points_.get_offsets()[:, 0]
    np.testing.assert_allclose(drawn, table["difference"])
    ends = np.array([s[:, 0] for s in display.lines_.get_segments()])
    assert np.all(ends[:, 0] <= table["lower"])  # wider than each by itself
    assert np.all(ends[:, 1] >= table["upper"])
    text = display.ax_.get_xlabel().replace("\n", " ")
    assert text == "difference of the increase of the squared error"
    assert "joint 95% intervals" in key(display)
    if figsize is None:
        assert_legible(display)


def test_comparison_has_a_panel_a_measure():
    """One scale per measure; every number is that of the table."""
    table = compare_importances(MODELS, X, Y, MEASURES)
    display = table.plot()
    assert isinstance(display, ComparisonDisplay)
    labels_below = [ax.get_xlabel() for ax in display.axes_]
    below = "lines: 95% intervals", "triangles: rising or falling, diamonds: both"
    assert labels_below == ["pairs", "group"]
    assert key(display) == " · ".join(below)
    assert display.ax_ is display.axes_[0]
    shown = labels(display.ax_)
    assert sorted(shown) == sorted(table.features)
    assert set(display.bars_) == {(m, e) for m in MEASURES for e in MODELS}
    for (measure, model), bars in display.bars_.items():
        widths = np.array([bar.get_width() for bar in bars])
        fitted = table.fitted[model, measure]
        known = dict(zip(fitted.features_, fitted.importances_))
        np.testing.assert_allclose(widths, [known.get(name, np.nan) for name in shown])
        drawn = display.errors_[measure, model].lines[2][0].get_segments()
        assert len(drawn) == np.sum(fitted.standard_errors_ > 1e-12)
    colors = {bars[0].get_facecolor() for bars in display.bars_.values()}
    assert len(colors) == 2
    texts = [t.get_text() for t in display.figure_.legends[0].get_texts()]
    assert texts == list(MODELS)
    assert_legible(display)


def test_comparison_order_and_top():
    """Mean share of each column's largest; a note on what is left out."""
    importances = {
        "m": {"a": [1.0, 10.0, 4.0], "b": [0.0, 0.1, 0.1]},
        "n": {"a": [5.0, np.nan, 0.0]},
    }
    display = ComparisonDisplay(importances, ["one", "two", "three"])
    display.plot(max_features=2)
    # shares: one (.1, 0, 1), two (1, 1, -), three (.4, 1, 0)
    assert labels(display.ax_) == ["two", "three"]
    assert key(display) == "1 of 3 features is not shown"
    assert set(display.bars_) == {("m", "a"), ("m", "b"), ("n", "a")}
    assert set(display.errors_.values()) == {None}


def test_comparison_axes_and_errors():
    """One axes per measure, else an error."""
    table = compare_importances(MODELS, X, Y, MEASURES)
    _, axes = plt.subplots(1, 2)
    display = table.plot(ax=axes)
    assert display.axes_[1] is axes[1]
    assert [t.get_text() for t in axes[0].get_legend().get_texts()] == list(MODELS)
    with pytest.raises(ValueError, match="1 axes for 2 panels"):
        table.plot(ax=axes[0])


def test_cohorts_side_by_side():
    """A colour for each cohort; bars and lines are those of the table."""
    cohorts = np.where(X["age"] > 0, "older", "younger")
    found = importance_by_cohort(fitted(keep_rows=True), cohorts)
    table, display = found.to_frame(), found.plot()
    panel, shown = found.quantity.label, labels(display.ax_)
    assert set(display.bars_) == {(panel, c) for c in ("older", "younger")}
    for (_, cohort), bars in display.bars_.items():
        of_cohort = table[table["cohort"] == cohort].set_index("feature").loc[shown]
        widths = [bar.get_width() for bar in bars]
        np.testing.assert_allclose(widths, of_cohort["importance"])
        lines = display.errors_[panel, cohort].lines[2][0].get_segments()
        ends = of_cohort[["lower", "upper"]].to_numpy()
        np.testing.assert_allclose([line[:, 0] for line in lines], ends)
    assert_legible(display)


def test_names_with_a_slash():
    """Models and measures are known by their names, not by where a "/" stands."""
    measures = {"pairs / y": SensitivityImportance()}
    models = {"ridge, 1/2": MODELS["ridge"]}
    display = compare_importances(models, X, Y, measures).plot()
    assert set(display.bars_) == {("pairs / y", "ridge, 1/2")}


def test_many_models_are_told_apart():
    """Colours of the Okabe-Ito palette first, then hatches."""
    importances = {"m": {f"model {k}": [1.0, 0.5] for k in range(16)}}
    display = ComparisonDisplay(importances, ["a", "b"]).plot()
    looks = {
        (bars[0].get_facecolor(), bars[0].get_hatch())
        for bars in display.bars_.values()
    }
    assert len(looks) == 16
    assert_legible(display)


def relative_luminance(color):
    """Of sRGB, as in the web's contrast guidelines."""
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color[:3]
    ]
    return np.dot([0.2126, 0.7152, 0.0722], linear)


# Dichromats' view of linear RGB (Viénot, Brettel & Mollon 1999).
DICHROMAT = {
    "protan": [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
    "deutan": [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
}


@pytest.mark.parametrize("kind", DICHROMAT)
def test_colours_differ_for_the_colour_blind(kind):
    """The first four models' colours stay apart in a dichromat's view."""
    from matplotlib.colors import to_rgb

    from skvarimp._display.drawing import COLORS

    seen = []
    for color in COLORS[:4]:
        linear = np.array([((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)])
        view = np.clip(np.array(DICHROMAT[kind]) @ linear, 0, 1)
        seen.append(view ** (1 / 2.4))
    for a in range(4):
        for b in range(a):
            assert np.linalg.norm(seen[a] - seen[b]) > 0.1
    # bars against white: at least 3 to 1
    assert 1.05 / (relative_luminance(to_rgb(COLORS[0])) + 0.05) > 3


FEW = X[["age", "bmi", "bp", "s5"]]
TREE = DecisionTreeRegressor(max_depth=3, random_state=0).fit(FEW, Y)


def fitted_to_tree(measure):
    """A measure fitted on the tree."""
    return measure.fit(TREE, FEW, Y)


# display -> a function that draws it, from keywords of the picture
DISPLAYS = {
    "ImportanceDisplay": lambda: fitted().plot,
    "ComparisonDisplay": lambda: compare_importances(MODELS, X, Y).plot,
    "CurvesDisplay": lambda: fitted_to_tree(ALEImportance()).plot_curves,
    "MatrixDisplay": lambda: fitted_to_tree(InteractionImportance()).plot,
    "AssociationDisplay": lambda: (
        fitted_to_tree(ImpurityImportance(surrogates=True)).plot_association
    ),
    "RanksDisplay": lambda: rank_intervals(fitted(keep_rows=True)).plot,
    "DifferencesDisplay": lambda: (
        importance_difference(fitted(keep_rows=True), fitted(keep_rows=True)).plot
    ),
    "RowsDisplay": lambda: partial(
        RowsDisplay.from_importance, fitted(keep_rows=True), X
    ),
    "FoldsDisplay": lambda: (
        importance_across_folds(Ridge(), FEW, Y, measure="sensitivity", cv=3).plot
    ),
    "CandidatesDisplay": lambda: (
        importance_across_candidates(
            {"ridge": (Ridge().fit(FEW, Y), 1.0)}, FEW, Y, within=0.0
        ).plot
    ),
    "NullDisplay": lambda: (
        null_importances(
            Ridge(), FEW, Y, measure="sensitivity", n_permutations=4, cv=3
        ).plot
    ),
    "SelectionPathDisplay": lambda: (
        BackwardEliminationSelector(TREE).fit(FEW, Y).plot_path
    ),
    "AllRelevantDisplay": lambda: (
        AllRelevantSelector(TREE, max_iter=6).fit(FEW, Y).plot_history
    ),
    "DendrogramDisplay": lambda: skvarimp.correlated_groups(FEW).plot,
}


def oligomer_weights():
    """Of a machine that knows one pair of letters."""
    weights = np.zeros((5, 4))
    weights[2, 1] = 1.0
    return skvarimp.sequence.OligomerWeights({2: weights}, alphabet="AB")


DISPLAYS |= {
    "SequenceLogoDisplay": lambda: (
        skvarimp.sequence.PositionalOligomerImportance(2)
        .fit(oligomer_weights())
        .plot_logo
    ),
    "MotifDisplay": lambda: partial(oligomer_weights().plot_motif, "AB"),
    "OligomerHeatmapDisplay": lambda: (
        skvarimp.sequence.PositionalOligomerImportance(2).fit(oligomer_weights()).plot
    ),
}


def test_every_display_is_tried():
    """And public."""
    public = [*skvarimp.__all__, *skvarimp.sequence.__all__]
    assert set(DISPLAYS) == {n for n in public if n.endswith("Display")}


@pytest.mark.parametrize("name", half(DISPLAYS))
def test_title_and_size(name):
    """A title and a size reach the figure; with axes there is no size."""
    draw = DISPLAYS[name]()
    drawn = draw(title="a $ title", figsize=(9.0, 7.0))
    assert type(drawn).__name__ == name
    assert drawn.figure_.get_suptitle() == "a $ title"
    assert tuple(drawn.figure_.get_size_inches()) == (9.0, 7.0)
    drawn.figure_.draw_without_rendering()
    legends = drawn.figure_.legends
    title = drawn.figure_._suptitle.get_window_extent()
    assert not any(title.overlaps(legend.get_window_extent()) for legend in legends)
    axes = getattr(drawn, "axes_", None)
    axes = axes if axes is not None else drawn.ax_
    with pytest.raises(ValueError, match=says("`figsize` … `ax` … one of the two")):
        draw(ax=axes, figsize=(9.0, 7.0))


def test_importance_by_name():
    """Names stand for default parameters; unknown ones are answered with a list."""
    with pytest.raises(ValueError, match=r"names no measure: 'shap'.*'permutation'"):
        compare_importances(MODELS, X, Y, "shap")
    with pytest.raises(TypeError, match=r"Use SensitivityImportance\(\)"):
        compare_importances(MODELS, X, Y, SensitivityImportance)


@pytest.mark.parametrize(("n", "length"), [(10, 5), (9, 5), (3, 3)])
def test_legends_are_read_row_by_row(n, length):
    """No row is longer than the others but the last: 5 and 5 of ten outputs."""
    names = [str(number) for number in range(n)]
    found = Importances(["a", "b"], np.ones(2), per_output=np.ones((2, n)))
    found.output_names = names
    figure = found.plot(per_output=True).figure_
    figure.canvas.draw()
    texts = figure.legends[0].get_texts()
    places = {t.get_text(): t.get_window_extent() for t in texts}
    by_row = sorted(places, key=lambda name: (-round(places[name].y0), places[name].x0))
    assert by_row == names
    rows = [round(places[name].y0) for name in by_row]
    assert all(rows.count(y) == length for y in rows[:length])
    assert len(set(rows)) <= 2


def test_outputs_beside_each_other():
    """A table and a bar for each output, in place of their mean."""
    model = Ridge(0.1).fit(X, np.column_stack([Y, -(Y**2)]))
    imp = SensitivityImportance().fit(model, X, np.column_stack([Y, -(Y**2)]))
    display = imp.plot(per_output=True)
    table = imp.to_frame(per_output=True)
    assert list(table.columns) == [
        "feature",
        "output",
        "importance",
        "standard_error",
        "rank",
    ]
    for o, output in enumerate(imp.output_names_):
        of_output = table[table["output"] == output].set_index("feature")
        found = of_output.loc[imp.features_]
        np.testing.assert_array_equal(
            found["importance"], imp.importances_per_output_[:, o]
        )
        assert (
            found["rank"].tolist()
            == found["importance"].rank(ascending=False).astype(int).tolist()
        )
        (bars,) = (b for (_, model), b in display.bars_.items() if model == output)
        widths = [bar.get_width() for bar in bars]
        np.testing.assert_allclose(
            widths, of_output.loc[labels(display.ax_)].iloc[:, 1]
        )
    assert_legible(display)


def test_many_models_are_dots():
    """Ten models of thirty features: one line per feature, no taller than for few."""
    random = np.random.default_rng(0)
    importances = {"m": {f"model {k}": random.uniform(size=30) for k in range(10)}}
    names = [f"feature {j}" for j in range(30)]
    display = ComparisonDisplay(importances, names).plot()
    width, height = display.figure_.get_size_inches()
    assert height < 3 * width
    dots = display.bars_["m", "model 3"]
    order = [names.index(name) for name in labels(display.ax_)]
    np.testing.assert_array_equal(dots.get_xdata(), importances["m"]["model 3"][order])
    assert_legible(display)
    few = ComparisonDisplay(importances, names).plot(max_features=6)
    assert len(few.bars_["m", "model 3"]) == 6
    with pytest.raises(ValueError, match="`kind` must be"):
        display.plot(kind="lines")


def test_heat_maps():
    """Light to dark in even steps, numbers of one format, the largest sums of rows."""
    cells = MatrixDisplay([[1.0, 0.5], [0.5, 1.0]], ["a", "b"]).plot().ax_.collections
    colors = cells[-1].cmap(np.linspace(0, 1, 64))
    light = [116 * relative_luminance(c) ** (1 / 3) - 16 for c in colors]
    steps = -np.diff(light)
    assert light[0] > 95
    assert light[-1] > 25
    assert steps.min() > 0.7 * steps.max()
    display = MatrixDisplay([[0.1234, 0.004], [0.12, 12.5]], ["a", "b"]).plot()
    assert [t.get_text() for t in display.ax_.texts] == ["0", "0", "0", "12"]
    triangle = MatrixDisplay([[1.0, 0.5], [0.5, 2.0]], ["a", "b"]).plot()
    assert [t.get_text() for t in triangle.ax_.texts] == ["1.0", "0.5", "2.0"]
    small = MatrixDisplay([[0.1234, 0.004], [0.12, 0.1]], ["a", "b"]).plot()
    assert [t.get_text() for t in small.ax_.texts] == ["0.12", "0.00", "0.12", "0.10"]
    tiny = MatrixDisplay([[1e-7, 2e-9]] * 2, ["a", "b"]).plot()
    assert [t.get_text() for t in tiny.ax_.texts] == ["1e-07", "2e-09"] * 2
    rows = X.iloc[:, :6]
    model = DecisionTreeRegressor(max_depth=4, random_state=0).fit(rows, Y)
    pairs = InteractionImportance(grid=3).fit(model, rows, Y)
    drawn = pairs.plot(max_features=3)
    sums = np.nansum(pairs.matrix_, axis=1)
    largest = sorted(np.argsort(-sums)[:3])
    expected = [pairs.matrix_names_[e] for e in largest]
    assert [t.get_text() for t in drawn.ax_.get_yticklabels()] == expected
    assert key(drawn) == "3 of 6 features are not shown"


def test_zero_is_white_among_values_of_both_signs():
    """Colours diverge from 0, wherever it lies between the values."""
    display = MatrixDisplay([[1.0, -0.25], [-0.25, 1.0]], ["a", "b"]).plot()
    cells = display.ax_.collections[-1]
    assert cells.norm([-1.0, -0.25, 0.0, 1.0]).tolist() == [0.0, 0.375, 0.5, 1.0]
    assert relative_luminance(cells.cmap(0.5)) > 0.9


def test_small_values_of_a_matrix_have_colours():
    """A quarter of the largest value has the colour at half of the scale."""
    display = MatrixDisplay([[0.0, 0.25], [0.25, 1.0]], ["a", "b"]).plot()
    cells = display.ax_.collections[-1]
    assert cells.norm(0.25) == pytest.approx(0.5)
    signed = MatrixDisplay([[0.0, -1.0], [-1.0, 1.0]], ["a", "b"]).plot()
    assert signed.ax_.collections[-1].norm(0.0) == pytest.approx(0.5)


@pytest.mark.thorough
def test_pairs_of_many_features_are_bars():
    """More than twelve features show the strongest pairs unless a matrix is wanted."""
    rows = np.random.default_rng(0).random((8, 13))
    imp = InteractionImportance(grid=2).fit(lambda Z: Z[:, 0] * Z[:, 1], rows)
    bars = imp.plot()
    assert isinstance(bars, ImportanceDisplay)
    assert labels(bars.ax_)[0] == "x0:x1"
    assert isinstance(imp.plot(kind="matrix"), MatrixDisplay)
    few = InteractionImportance(grid=2, features=range(12))
    few.fit(lambda Z: Z[:, 0] * Z[:, 1], rows)
    assert isinstance(few.plot(), MatrixDisplay)
    with pytest.raises(ValueError, match=says("`kind` … 'bars' … got 'dots'")):
        imp.plot(kind="dots")


def test_a_matrix_of_zeros_is_drawn_in_the_lightest_colour():
    """Its colour scale starts at 0, too."""
    cells = MatrixDisplay(np.zeros((3, 3)), ["a", "b", "c"]).plot().ax_.collections[-1]
    assert cells.get_clim() == (0.0, 1.0)


QUANTITIES = {
    "sensitivity": "mean change of the prediction",
    "ale": "accumulated local effect",
    "coefficient": "t or Wald statistic",
    "derivative": "root mean square slope",
    "filter": "f_regression",
    "firm": "expected score",
    "impurity": "decrease of the impurity",
    "partial_dependence": "partial dependence",
    "permutation": "increase of the squared error",
    "sobol": "share of the variance",
    "connection_weight": "products of weights",
    "interaction": "given the other",
    "shapley": "share of the variance of predictions",
}


@pytest.mark.parametrize("name", QUANTITIES)
def test_axes_name_the_quantity(name):
    """What the number is, of every measure by name."""
    from skvarimp._refits.measures import MEASURES

    assert set(QUANTITIES) == set(MEASURES)
    model = LinearRegression()
    if name == "impurity":
        model = DecisionTreeRegressor(max_depth=3)
    if name == "connection_weight":
        model = MLPRegressor(
            hidden_layer_sizes=[3], solver="lbfgs", max_iter=10_000, tol=1e-2
        )
    fitted = MEASURES[name]().fit(model.fit(FEW, Y), FEW, Y)
    shown = fitted.plot()
    beside = [ax.get_ylabel() for ax in shown.figure_.axes]  # of the colours of pairs
    label = " ".join([shown.ax_.get_xlabel(), *beside])
    assert QUANTITIES[name] in label.replace("\n", " ")
    assert len(shown.label.split()) <= 6


@pytest.mark.thorough
def test_neither_matplotlib_nor_pandas_is_needed_to_fit():
    """Without them everything else works and the error says what to install."""
    code = """
import sys
sys.modules["matplotlib"] = sys.modules["pandas"] = None
from skvarimp import ImportanceDisplay, SensitivityImportance
imp = SensitivityImportance(scale=None).fit(lambda X: [x[0] for x in X], [[1.], [2.]])
try:
    imp.plot()
except ImportError as error:
    assert "pip install matplotlib" in str(error)
else:
    raise SystemExit(1)
from skvarimp.sequence import OligomerWeights, PositionalOligomerImportance
weights = OligomerWeights({1: [[1, 0]]}, alphabet="AB")
assert PositionalOligomerImportance(1).fit(weights).score_of("A")[0] == 0.5
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def marks(ax):
    """Marker -> the rows that have it."""
    return {
        line.get_marker(): line.get_ydata().tolist()
        for line in ax.get_lines()
        if line.get_marker() in {"^", "v", "d"}
    }


def test_names_are_marked_with_directions():
    """Triangles from 0.8 on; none for 0 and NaN; names stay as they are."""
    names, directions = list("abcdef"), [1.0, -0.8, 0.79, 0.0, np.nan, -0.1]
    display = ImportanceDisplay(np.arange(6)[::-1], names, directions=directions)
    ax = display.plot().ax_
    assert labels(ax) == names
    assert marks(ax) == {"^": [0], "v": [1], "d": [2, 5]}
    assert key(display) == "triangles: rising or falling, diamonds: both"
    assert_legible(display)
    assert marks(ImportanceDisplay([1.0, 2.0], ["a", "b"]).plot().ax_) == {}
    unknown = ImportanceDisplay([1.0, 2.0], ["a", "b"], directions=[np.nan, 0.0])
    assert unknown.plot().key_ is None


def test_models_must_agree_on_a_direction():
    """Two models that differ: the mark of both; one that does not use a column."""
    bars = {"m": {"first": [3.0, 2.0, 1.0], "second": [3.0, 2.0, 1.0]}}
    directions = [[1.0, 0.9], [1.0, -1.0], [-1.0, np.nan]]
    display = ComparisonDisplay(bars, list("abc"), directions=directions).plot()
    assert marks(display.ax_) == {"^": [0], "v": [2], "d": [1]}
