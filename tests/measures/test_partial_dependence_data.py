"""Partial dependence of groups, categories, missing values and frames."""

import numpy as np
import polars as pl
import pytest
from partial_dependence_models import X, Y, frame_and_model
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

from skvarimp import PartialDependenceImportance
from skvarimp.exceptions import ResponseWarning

PAPER = "std_or_range"


def test_groups_move_jointly():
    """A group's grid is the rows' joint values; its curve is over them."""

    def f(X):
        return np.column_stack([X[:, 0] * X[:, 3], X[:, 1]])

    imp = PartialDependenceImportance(features={"both": [0, 3], "one": 1}).fit(f, X)
    values = np.unique(X[:, [0, 3]], axis=0)
    grid, averages = imp.curves_["both"]
    assert grid.shape == values.shape
    assert averages.shape == (len(values), 2)
    np.testing.assert_allclose(averages[:, 0], grid[:, 0] * grid[:, 1], atol=1e-14)
    np.testing.assert_allclose(
        imp.importances_per_output_[0],
        [(values[:, 0] * values[:, 1]).std(ddof=1), 0],
        rtol=1e-12,
    )
    assert imp.output_names_ == ["y0", "y1"]


def test_missing_value_is_one_more_value():
    """NaN stands last on the grid and counts once in the flatness."""
    data = X.copy()
    data[::7, 0] = np.nan
    model = HistGradientBoostingRegressor(max_iter=10, min_samples_leaf=5).fit(data, Y)
    imp = PartialDependenceImportance(features=[0]).fit(model, data)
    grid, averages = imp.curves_["x0"]
    assert np.isnan(grid[-1])
    assert not np.isnan(grid[:-1]).any()
    moved = data.copy()
    moved[:, 0] = np.nan
    np.testing.assert_allclose(averages[-1], model.predict(moved).mean(), rtol=1e-12)
    np.testing.assert_allclose(imp.importances_, averages.std(ddof=1), rtol=1e-10)


def test_each_level_counts_once_by_default():
    """The standard deviation over the levels, whatever their frequency."""
    frame, model = frame_and_model()
    imp = PartialDependenceImportance().fit(model, frame)
    assert set(imp.statistic_) == {"std"}
    for name in ("color", "flag", "size"):
        at, averages = imp.features_.index(name), imp.curves_[name][1]
        expected = averages.std(ddof=1)
        np.testing.assert_allclose(imp.importances_[at], expected, rtol=1e-12)


def test_categorical_features_use_the_range():
    """As in the paper: levels by eq. 6, numbers by eq. 5; a level alone scores 0."""
    frame, model = frame_and_model()
    with pytest.warns(ResponseWarning, match='statistic="std"'):
        imp = PartialDependenceImportance(statistic=PAPER).fit(model, frame)
    for name in ("color", "flag"):
        levels, averages = imp.curves_[name]
        assert sorted(levels) == sorted(frame[name].unique())
        for level, average in zip(levels, averages):
            moved = frame.assign(**{name: level})
            np.testing.assert_allclose(average, model.predict(moved).mean())
        at = imp.features_.index(name)
        np.testing.assert_allclose(imp.importances_[at], np.ptp(averages), rtol=1e-12)
    at = imp.features_.index("size")
    sizes = imp.curves_["size"][1]
    np.testing.assert_allclose(imp.importances_[at], sizes.std(ddof=1), rtol=1e-12)
    assert imp.importances_[imp.features_.index("same")] == 0
    assert list(imp.deciles_) == ["size"]
    with pytest.warns(ResponseWarning, match="categorical features, such as 'color'"):
        both = PartialDependenceImportance(statistic=PAPER, kind="individual").fit(
            model, frame
        )
    ice = np.array(
        [model.predict(frame.assign(color=c)) for c in imp.curves_["color"][0]]
    )
    np.testing.assert_allclose(both.importances_[0], np.ptp(ice, axis=0).mean())


@pytest.mark.parametrize("statistic", ["std", "range"])
def test_one_statistic_for_all_features_warns_of_nothing(statistic):
    """Asked for by name, it is the same for all; so it is where all are of a kind."""
    frame, model = frame_and_model()
    imp = PartialDependenceImportance(statistic=statistic).fit(model, frame)
    assert set(imp.statistic_) == {statistic}
    assert "statistic" not in imp.to_frame()
    alone = PartialDependenceImportance(statistic=PAPER, features=["color", "flag"])
    alone.fit(model, frame)
    assert alone.statistic_ == ["range", "range"]


def test_declared_categories_and_containers():
    """A numeric column named as categorical takes the range; polars as pandas."""
    frame, model = frame_and_model()
    reference = PartialDependenceImportance(statistic="std").fit(model, frame)
    again = PartialDependenceImportance(statistic="std").fit(model, pl.DataFrame(frame))
    np.testing.assert_allclose(again.importances_, reference.importances_, rtol=1e-12)
    tree = RandomForestRegressor(3, random_state=0).fit(X, Y)
    for categorical in ([3], ["x3"], np.array(3), np.arange(5) == 3):
        mixed = PartialDependenceImportance(
            statistic=PAPER, categorical_features=categorical
        )
        with pytest.warns(ResponseWarning, match="'x3'"):
            imp = mixed.fit(tree, X)
        shown = imp.to_frame().set_index("feature")["statistic"]
        assert dict(shown) == dict(zip(imp.features_, imp.statistic_))
        assert imp.statistic_ == ["std", "std", "std", "range", "std"]
        np.testing.assert_allclose(imp.importances_[3], np.ptp(imp.curves_["x3"][1]))
        np.testing.assert_allclose(
            imp.importances_[0], imp.curves_["x0"][1].std(ddof=1), rtol=1e-10
        )
