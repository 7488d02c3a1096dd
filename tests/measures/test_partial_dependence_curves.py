"""Curves of partial dependence as they are drawn, and their deciles."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from combinations import half
from literal import curve, standard_error
from messages import says
from partial_dependence_models import X, Y, frame_and_model
from roundoff import roundoff
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

from skvarimp import (
    ALEImportance,
    CurvesDisplay,
    DerivativeImportance,
    PartialDependenceImportance,
)
from skvarimp._data.statistics import deciles, distinct_masses


def test_curves_are_drawn_least_flat_first():
    """Order, deciles on the axis, labels; groups are left out."""
    frame, model = frame_and_model()
    imp = PartialDependenceImportance(statistic="std").fit(model, frame)
    display = imp.plot_curves()
    names = [ax.get_xlabel() for ax in display.axes_[:4]]
    assert names == [imp.features_[e] for e in np.argsort(imp.ranking_)]
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
    few = imp.plot_curves(max_features=2)
    assert len(few.axes_) == 2
    assert (
        few.figure_.get_supxlabel() == "ticks: deciles\n2 of 4 features are not shown"
    )
    with pytest.raises(ValueError, match="2 axes for 4 panels"):
        imp.plot_curves(ax=display.axes_[:2])
    groups = PartialDependenceImportance(features=[["size", "flag"]]).fit(model, frame)
    with pytest.raises(ValueError, match=says("no curve … group … `curves_`")):
        groups.plot_curves()
    plt.close("all")


MODELS = {
    "trees": GradientBoostingRegressor(n_estimators=5, random_state=0),
    "linear": LinearRegression(),
    "black box": KNeighborsRegressor(3),
}


@pytest.mark.parametrize("kind", ["average", "individual"])
@pytest.mark.parametrize("name", MODELS)
def test_errors_of_curves_are_those_of_means_over_rows(name, kind):
    """The rows' responses at a value, with weights and with groups of rows."""
    model, weights = MODELS[name].fit(X, Y), np.arange(len(X)) % 3
    measure = PartialDependenceImportance(curve_errors=True, kind=kind, features=[0, 3])
    for of_rows in ({"sample_weight": weights}, {"groups": np.arange(len(X)) // 3}):
        imp = measure.fit(model, X, **of_rows)
        for j, feature in enumerate(imp.features_):
            grid, averages = imp.curves_[feature]
            errors = imp.curve_errors_[feature]
            known = np.flatnonzero(~np.isnan(errors))
            assert errors.shape == averages.shape
            assert len(known) == min(len(grid), 50)
            assert {0, len(grid) - 1} <= set(known)

            def response(rows):
                return model.predict(rows)[:, np.newaxis]

            some = known[:: len(known) // 4]
            column = [0, 3][j]
            ice = [
                curve(response, X, i, [column], grid[some, np.newaxis])[:, 0]
                for i in range(len(X))
            ]
            ice = np.array(ice)
            w = of_rows.get("sample_weight")
            psi = ice - np.average(ice, axis=0, weights=w)
            if w is None:  # the mean of a group stands for its rows
                psi = psi.reshape(-1, 3, len(some)).mean(axis=1)
            expected = standard_error(psi, w)
            atol = roundoff(3 * len(X), ice)
            np.testing.assert_allclose(errors[some], expected, rtol=0, atol=atol)
    assert measure.set_params(curve_errors=False).fit(model, X).curve_errors_ is None


def test_curve_errors_are_asked_for_by_a_boolean():
    """Anything else is refused before the model is asked."""
    with pytest.raises(ValueError, match="'curve_errors' parameter"):
        PartialDependenceImportance(curve_errors="yes").fit(LinearRegression(), X)


def test_bands_are_intervals_of_the_mean_curve():
    """Two and a bit standard errors on both sides, straight lines between the known."""
    weights = np.random.default_rng(0).random(120)
    rows = np.column_stack([np.linspace(0.0, 1.0, 120), weights])
    measure = PartialDependenceImportance(curve_errors=True, features=[0], grid="all")
    imp = measure.fit(lambda Z: np.exp(Z[:, 0]) * Z[:, 1], rows)
    errors, (_, averages) = imp.curve_errors_["x0"], imp.curves_["x0"]
    known = ~np.isnan(errors)
    assert known.sum() == 50
    display = imp.plot_curves()
    assert "bands: 95% intervals" in display.figure_.get_supxlabel()
    path = display.axes_[0].collections[0].get_paths()[0].vertices
    upper = path[1:121, 1].max(), path[:, 1].max()
    reach = 1.98 * errors[-1]  # Student's quantile of 119 degrees of freedom
    np.testing.assert_allclose(upper[1], averages[-1] + reach, rtol=1e-3)
    assert len(np.unique(path[:, 0])) == 120
    assert "95%" not in imp.plot_curves(centred=True).figure_.get_supxlabel()
    plt.close("all")


def test_curves_in_axes_of_the_user_say_what_their_bands_are():
    """Below the first axes, as the notes of bars are."""
    measure = PartialDependenceImportance(curve_errors=True)
    imp = measure.fit(LinearRegression().fit(X, Y), X)
    _, axes = plt.subplots(1, 2, layout="constrained")
    display = imp.plot_curves(axes, max_features=2)
    first, second = (ax.get_xlabel() for ax in axes)
    most = [imp.features_[e] for e in np.argsort(imp.ranking_)[:2]]
    assert [first, second] == most
    key = " ".join(display.key_.get_text().split())
    assert "bands: 95% intervals" in key
    assert "3 of 5 features are not shown" in key
    plt.close("all")


@pytest.mark.parametrize(
    "imp",
    [
        PartialDependenceImportance(grid="all"),
        PartialDependenceImportance(grid="equidistant"),
        ALEImportance(),
    ],
)
def test_deciles_are_those_of_the_observed_values(imp):
    """Whatever the grid; rows of a weight count as often."""
    random = np.random.RandomState(0)
    Z = random.randint(0, 30, (80, 2)).astype(float)
    counts = random.randint(0, 3, 80)
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
    found = deciles(*distinct_masses(column, np.ones(301)))
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
    with pytest.raises(TypeError, match=r"'day' can have no importance.* dates"):
        DerivativeImportance(features=["day"]).fit(model, given)
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
