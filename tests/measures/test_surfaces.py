"""Partial dependence on two inputs, and single rows' curves: numbers and pictures."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.collections import QuadMesh
from roundoff import roundoff
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skvarimp import CurvesDisplay, InteractionImportance, PartialDependenceImportance

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
X[:, 2] = np.round(X[:, 2])
WEIGHTS = RNG.uniform(0.5, 2.0, 60)


def mixed(X):
    """Two outputs."""
    return np.column_stack([X[:, 0] * X[:, 1] + X[:, 2], X[:, 3] ** 2 - X[:, 0]])


def literal(f, X, columns, values, weights):
    """Weighted mean response with two columns set, by a loop over the cells."""
    w = weights / weights.sum()
    result = []
    for first in values[0]:
        moved = X.copy()
        moved[:, columns[0]] = first
        result.append([])
        for second in values[1]:
            moved[:, columns[1]] = second
            result[-1].append(w @ f(moved))
    return np.array(result)


@pytest.mark.parametrize("grid", ["all", "deciles", 5])
def test_surfaces_equal_a_literal_loop(grid):
    """Several outputs, weights, at most 25 of the grid's values with both ends."""
    imp = PartialDependenceImportance(grid=grid, pairs=[(0, 1), ("x2", "x3")])
    imp.fit(mixed, X, sample_weight=WEIGHTS)
    assert list(imp.surfaces_) == [("x0", "x1"), ("x2", "x3")]
    for columns, surface in zip([(0, 1), (2, 3)], imp.surfaces_.values()):
        first, second, averages = surface
        sizes = [len(imp.curves_[f"x{j}"][0]) for j in columns]
        assert averages.shape[:2] == tuple(np.minimum(sizes, 25))
        for values, j in ((first, columns[0]), (second, columns[1])):
            grid_values = imp.curves_[f"x{j}"][0]
            assert np.isin(values, grid_values).all()
            assert {grid_values[0], grid_values[-1]} <= set(values)
        expected = literal(mixed, X, columns, (first, second), WEIGHTS)
        np.testing.assert_allclose(averages, expected, rtol=1e-10, atol=1e-12)
    assert PartialDependenceImportance().fit(mixed, X).surfaces_ is None


def frame_with_levels(library):
    """Text, missing values and numbers, with a model that takes them."""
    frame = pd.DataFrame(
        {
            "weather": RNG.choice(["clear", "light rain or snow", "clouds"], 80),
            "wind": np.where(RNG.random(80) < 0.2, np.nan, RNG.random(80)),
            "hour": RNG.integers(0, 24, 80),
        }
    )
    encode = make_column_transformer(
        (OneHotEncoder(), ["weather"]), remainder="passthrough"
    )
    y = frame["hour"] * (frame["weather"] == "clear") + frame["wind"].fillna(2.0)
    boosting = HistGradientBoostingRegressor(max_iter=10, min_samples_leaf=5)
    given = frame if library == "pandas" else pl.from_pandas(frame, nan_to_null=False)
    return frame, given, make_pipeline(encode, boosting).fit(given, y)


@pytest.mark.parametrize(
    "library", ["pandas", pytest.param("polars", marks=pytest.mark.thorough)]
)
def test_levels_and_missing_values(library):
    """Cells with their names, the missing value last."""
    frame, given, model = frame_with_levels(library)
    pairs = [("weather", "wind"), ("hour", "weather")]
    imp = PartialDependenceImportance(statistic="std", pairs=pairs).fit(model, given)
    levels, winds, averages = imp.surfaces_["weather", "wind"]
    assert list(levels) == ["clear", "clouds", "light rain or snow"]
    assert np.isnan(winds[-1])
    assert winds[-2] == frame["wind"].max()
    assert averages.shape == (3, len(winds))
    for k, wind in ((0, winds[0]), (-1, np.nan)):
        moved = frame.assign(weather="clouds", wind=wind)
        if library == "polars":
            moved = pl.from_pandas(moved, nan_to_null=False)
        assert averages[1, k] == pytest.approx(model.predict(moved).mean(), rel=1e-12)
    first, second = imp.plot_surfaces().axes_[:2]
    ticks = [tick.get_text() for tick in first.get_yticklabels()]
    assert ticks[-1] == "missing"
    assert len(ticks) <= 13
    ticks = [tick.get_text() for tick in second.get_yticklabels()]
    assert ticks == ["clear", "clouds", "light rain\nor snow"]
    assert second.get_xlabel() == "hour"
    assert second.get_ylabel() == "weather"
    plt.close("all")


def mesh_of(ax):
    """The coloured cells of a panel."""
    return next(c for c in ax.collections if isinstance(c, QuadMesh))


@pytest.mark.thorough
def test_surfaces_as_drawn():
    """Colours are the averages, on one scale; a panel per pair and output."""
    imp = PartialDependenceImportance(grid=6, pairs=[(0, 1), (2, 3)]).fit(mixed, X)
    display = imp.plot_surfaces()
    assert isinstance(display, CurvesDisplay)
    meshes = [mesh_of(ax) for ax in display.axes_[:4]]
    surfaces = [averages for *_, averages in imp.surfaces_.values()]
    for p, mesh in enumerate(meshes):
        expected = surfaces[p // 2][:, :, p % 2].T
        drawn = np.asarray(mesh.get_array()).reshape(expected.shape)
        np.testing.assert_array_equal(drawn, expected)
        assert mesh.get_clim() == meshes[0].get_clim()
    titles = [f"x0 and x1\n{name}" for name in imp.output_names_]
    assert [ax.get_title() for ax in display.axes_[:2]] == titles
    first = imp.surfaces_["x0", "x1"][0]
    assert display.axes_[0].get_xlim() == (first[0], first[-1])
    assert len(imp.plot_surfaces(max_features=1).axes_) < len(display.axes_)
    with pytest.raises(ValueError, match="4 panels"):
        imp.plot_surfaces(ax=display.axes_[:3])
    plt.close("all")


def test_interaction_part():
    """An additive model's surfaces are flat; a product's are the product, centred."""
    additive = LinearRegression().fit(X, X @ [1.0, -2.0, 0.5, 0.0])
    imp = PartialDependenceImportance(grid=5, pairs=[(0, 1)]).fit(additive, X)
    mesh = mesh_of(imp.plot_surfaces(effect="interaction").axes_[0])
    np.testing.assert_allclose(
        mesh.get_array(), 0.0, atol=roundoff(len(X), additive.predict(X))
    )

    imp.fit(lambda X: X[:, 0] * X[:, 1] + 7 * X[:, 0], X)
    first, second, _ = imp.surfaces_["x0", "x1"]
    mesh = mesh_of(imp.plot_surfaces(effect="interaction").axes_[0])
    expected = np.outer(second - second.mean(), first - first.mean())
    drawn = np.asarray(mesh.get_array()).reshape(expected.shape)
    np.testing.assert_allclose(drawn, expected, atol=1e-12)
    low, high = mesh.get_clim()
    assert low == -high
    plt.close("all")


@pytest.mark.thorough
def test_pairs_of_a_fitted_interaction():
    """From the strongest pairs to their pictures."""
    iris = load_iris(as_frame=True)
    forest = RandomForestClassifier(10, random_state=0).fit(iris.data, iris.target)
    interactions = InteractionImportance().fit(forest, iris.data)
    imp = PartialDependenceImportance(pairs=interactions.top_pairs(2))
    display = imp.fit(forest, iris.data).plot_surfaces()
    assert list(imp.surfaces_) == interactions.top_pairs(2)
    strongest = interactions.to_frame()["feature"][0]
    ax = display.axes_[0]
    assert f"{ax.get_xlabel()}:{ax.get_ylabel()}".replace("\n", " ") == strongest
    titles = [ax.get_title().splitlines() for ax in display.axes_[:3]]
    assert [title[-1] for title in titles] == ["class 0", "class 1", "class 2"]
    assert " ".join(titles[0][:-1]) == strongest.replace(":", " and ")
    plt.close("all")


def rows_drawn(ax):
    """Vertical positions of the lines of single rows."""
    return [line.get_ydata() for line in ax.get_lines() if line.get_linewidth() < 1]


def test_single_rows_centred():
    """Every curve starts at 0; the rows alone, the averages alone, both."""
    imp = PartialDependenceImportance(kind="individual", features=[0, 3])
    imp.fit(lambda X: X[:, 0] * X[:, 1] + 5 * X[:, 2], X)
    both = imp.plot_curves().axes_[0]
    assert len(rows_drawn(both)) == 25
    centred = imp.plot_curves(centred=True).axes_[0]
    assert np.all(np.array(rows_drawn(centred))[:, 0] == 0)
    assert centred.get_lines()[0].get_ydata()[0] == 0
    assert centred.get_ylabel() == "partial dependence\n(centred)"
    before = imp.individual_curves_["x0"][1]
    assert before[:, 0].any()  # what is stored stays as it was
    alone = imp.plot_curves(kind="individual").axes_[0]
    assert len(alone.get_lines()) == 25
    averages = imp.plot_curves(kind="average").axes_[0]
    assert len(averages.get_lines()) == 2
    low, high = averages.get_ylim()
    assert both.get_ylim()[0] < low < high < both.get_ylim()[1]
    plt.close("all")


def test_quantile_band():
    """Between two quantiles of the rows' curves, as an area or as bars of levels."""
    frame, given, model = frame_with_levels("pandas")
    imp = PartialDependenceImportance(kind="individual", statistic="std")
    display = imp.fit(model, given).plot_curves(band=0.8)
    panels = {ax.get_xlabel(): ax for ax in display.axes_}
    values, rows = imp.individual_curves_["hour"]
    low, high = np.quantile(rows[:, :, 0], [0.1, 0.9], axis=0)
    area = panels["hour"].collections[-1].get_paths()[0].vertices
    at = area[:, 0] == values[3]
    np.testing.assert_allclose(np.unique(area[at, 1]), np.unique([low[3], high[3]]))
    assert not rows_drawn(panels["hour"])
    _, rows = imp.individual_curves_["weather"]
    ends = np.quantile(rows[:, :, 0], [0.1, 0.9], axis=0).T
    bars = [s[:, 1] for s in panels["weather"].collections[-1].get_segments()]
    np.testing.assert_allclose(bars, ends)
    # the last value seen is drawn although the missing one comes after it
    values, _ = imp.individual_curves_["wind"]
    assert values[-2] == frame["wind"].max()
    plt.close("all")


def test_bad_input():
    """Before any work, naming the way out."""
    plain = PartialDependenceImportance(pairs=[(0, 1)]).fit(mixed, X)
    cases = [
        (lambda: plain.plot_curves(kind="individual"), "kind='individual'"),
        (lambda: plain.plot_curves(band=0.8), "kind='individual'"),
        (lambda: plain.plot_curves(kind="ice"), "`kind` must be one of"),
        (lambda: plain.plot_curves(band=80), "`band` must lie between 0 and 1"),
        (lambda: plain.plot_surfaces(effect="main"), "`effect` must be one of"),
        (lambda: plain.plot_surfaces(max_features=0), "max_features"),
    ]
    for draw, message in cases:
        with pytest.raises(ValueError, match=message):
            draw()
    without = PartialDependenceImportance().fit(mixed, X)
    with pytest.raises(TypeError, match="with `pairs`"):
        without.plot_surfaces()
    for parameters, message in (
        ({"pairs": [(0, 9)]}, "positions run from 0 to 3"),
        ({"pairs": [(0, 1)], "features": [[0, 2], [1]]}, "group 'x0\\+x2'"),
    ):
        with pytest.raises(ValueError, match=message):
            PartialDependenceImportance(**parameters).fit(mixed, X)
    plt.close("all")
