"""Curves of partial dependence as they are drawn, and their deciles."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from combinations import half
from partial_dependence_models import frame_and_model

from skvarimp import CurvesDisplay, DerivativeImportance, PartialDependenceImportance
from skvarimp._data.statistics import deciles_of_rows


def test_curves_are_drawn_least_flat_first():
    """Order, deciles on the axis, labels; groups are left out."""
    frame, model = frame_and_model()
    imp = PartialDependenceImportance(statistic="std").fit(model, frame)
    display = imp.plot_curves()
    names = [ax.get_xlabel() for ax in display.axes_[:4]]
    assert names == [imp.entry_names_[e] for e in np.argsort(imp.ranking_)]
    ax = display.axes_[names.index("size")]
    marks = [s[0, 0] for c in ax.collections for s in c.get_segments()]
    values = np.sort(frame["size"])
    assert len(marks) == 9
    for tenth, mark in zip(np.arange(1, 10) / 10, marks):
        assert np.mean(values < mark) <= tenth <= np.mean(values <= mark)
    line = ax.get_lines()[0]
    np.testing.assert_array_equal(line.get_xdata(), imp.curves_["size"][0])
    np.testing.assert_array_equal(line.get_ydata(), imp.curves_["size"][1])
    ticks = display.axes_[names.index("color")].get_xticklabels()
    assert [t.get_text() for t in ticks] == ["blue", "green", "red"]
    assert len({ax.get_ylim() for ax in display.axes_[:4]}) == 1
    few = imp.plot_curves(max_entries=2)
    assert len(few.axes_) == 2
    assert few.figure_.get_supxlabel() == "ticks: deciles\n2 of 4 entries are not shown"
    with pytest.raises(ValueError, match="2 axes for 4 panels"):
        imp.plot_curves(ax=display.axes_[:2])
    groups = PartialDependenceImportance(features=[["size", "flag"]]).fit(model, frame)
    with pytest.raises(ValueError, match="every entry is a group"):
        groups.plot_curves()
    plt.close("all")


@pytest.mark.parametrize("grid", ["all", "equidistant"])
def test_deciles_are_those_of_the_observed_values(grid):
    """Whatever the grid; rows of a weight count as often."""
    random = np.random.RandomState(0)
    Z = random.randint(0, 30, (80, 2)).astype(float)
    counts = random.randint(0, 3, 80)
    imp = PartialDependenceImportance(grid=grid)
    imp.fit(lambda X: X[:, 0], Z, sample_weight=counts)
    repeated = np.repeat(Z[:, 0], counts)
    expected = np.quantile(repeated, np.arange(1, 10) / 10, method="inverted_cdf")
    assert np.array_equal(imp.deciles_["x0"], expected)


@pytest.mark.parametrize(
    "change",
    [
        np.array,
        np.round,
        np.zeros_like,
        lambda x: np.exp(9 * x),
        lambda x: x * 5e307,
        lambda x: np.where(x > 1.5, np.inf, x),
    ],
)
def test_deciles_of_any_spread(change):
    """Even, tied, skewed and constant values, huge and infinite ones, some missing."""
    column = change(np.random.default_rng(0).normal(size=301))
    column[::10] = np.nan
    found = deciles_of_rows(column, np.ones(301))
    seen, tenths = column[~np.isnan(column)], np.arange(1, 10) / 10
    assert np.array_equal(found, np.quantile(seen, tenths, method="inverted_cdf"))


def test_individual_curves_are_single_rows():
    """Rows' own curves by the model itself, drawn behind their mean."""
    frame, model = frame_and_model()
    imp = PartialDependenceImportance(kind="individual", statistic="std")
    imp.fit(model, frame)
    display = imp.plot_curves()
    for name in ("size", "color", "flag"):
        values, curves = imp.individual_curves_[name]
        assert curves.shape == (len(frame), len(values), 1)
        moved = pd.concat([frame.assign(**{name: value}) for value in values])
        expected = model.predict(moved).reshape(len(values), len(frame)).T
        np.testing.assert_allclose(curves[:, :, 0], expected, rtol=1e-12)
        panel = next(ax for ax in display.axes_ if ax.get_xlabel() == name)
        average, _, *single = panel.get_lines()
        assert len(single) == 25
        np.testing.assert_array_equal(average.get_ydata(), imp.curves_[name][1])
        some = curves[np.linspace(0, len(frame) - 1, 25).round().astype(int)]
        np.testing.assert_array_equal([s.get_ydata() for s in single], some[:, :, 0])
        assert all(s.get_zorder() < average.get_zorder() for s in single)
        low, high = panel.get_ylim()
        assert low < curves.min()
        assert curves.max() < high
    plain = PartialDependenceImportance(statistic="std").fit(model, frame)
    assert plain.individual_curves_ is None
    assert len(plain.plot_curves().axes_[0].get_lines()) == 2
    plt.close("all")


@pytest.mark.parametrize(
    "library", ["pandas", pytest.param("polars", marks=pytest.mark.thorough)]
)
def test_dates_are_ordered_values(library):
    """The standard deviation, a line over time, and no warning beside numbers."""
    days = pd.date_range("2024-01-30", periods=60, freq="11D")
    frame = pd.DataFrame({"day": days, "size": np.arange(60) % 7.0})
    frame["lag"] = pd.to_timedelta(np.arange(60)[::-1] % 12, unit="D")
    given = frame if library == "pandas" else pl.DataFrame(frame)

    def model(rows):
        rows = pd.DataFrame(rows.to_dict() if library == "pandas" else rows.to_dicts())
        day = (rows["day"] - days[0]).dt.days.to_numpy()
        return 0.1 * day + rows["size"].to_numpy() + rows["lag"].dt.days.to_numpy()

    for grid in ("all", "deciles"):
        imp = PartialDependenceImportance(grid=grid).fit(model, given)
        assert imp.statistic_ == ["std"] * 3
        values, averages = imp.curves_["day"]
        assert len(values) == 60
        assert imp.importances_[0] == pytest.approx(averages.std(ddof=1))
        np.testing.assert_allclose(np.diff(averages), 1.1, rtol=1e-9)
        assert np.all(np.diff(imp.curves_["lag"][1]) > 0)  # 2 days before 10 days
    assert list(imp.deciles_) == ["size"]
    some = PartialDependenceImportance(grid={"day": list(values[:3])}).fit(model, given)
    assert some.importances_[0] == pytest.approx(1.1)
    panel = next(
        ax for ax in imp.plot_curves().axes_ if ax.get_xlabel().startswith("day")
    )
    line = panel.get_lines()[0]
    assert line.get_linestyle() == "-"
    np.testing.assert_allclose(np.diff(line.get_xdata()), 11.0)
    panel.figure.canvas.draw()
    assert "2024" in "".join(t.get_text() for t in panel.get_xticklabels())
    with pytest.raises(TypeError, match="'day' is a date"):
        DerivativeImportance().fit(model, given)
    plt.close("all")


@pytest.mark.parametrize("unit", half(["M8[D]", "M8[ns]", "object"]))
def test_days_without_a_time_are_drawn(unit):
    """In whatever type they come."""
    days = np.array(["2024-01-30", "2024-03-01", "2024-12-24"], dtype="M8[D]")
    curve = ("day", days.astype(unit), [[1.0], [2.0], [4.0]])
    (ax,) = CurvesDisplay([curve], ["y"]).plot().axes_
    ax.figure.canvas.draw()
    labels = [text.get_text() for text in ax.get_xticklabels()]
    assert labels == ["Apr", "Jul", "Oct", "2025"]
    plt.close("all")
