"""What a notebook shows of fitted objects."""

import re

import numpy as np
import pandas as pd
from notebook_bars import bars_behind
from sklearn.linear_model import Ridge

from skvarimp import (
    BackwardEliminationSelector,
    SensitivityImportance,
    compare_importances,
    importance_across_folds,
    leave_out_importances,
    null_importances,
)
from skvarimp._display.html import bars

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["age", "<b>bold</b>", "noise"])
y = 3 * X["age"] + X["<b>bold</b>"]
MODEL = Ridge().fit(X, y)


def html(shown):
    """The HTML that a notebook takes."""
    return shown._repr_mimebundle_()["text/html"]


def test_a_fitted_importance_shows_its_features_most_important_first():
    """Names are escaped, parameters folded away, the class's page linked."""
    fitted = SensitivityImportance().fit(MODEL, X, y)

    page = html(fitted)

    assert page.index("age") < page.index("&lt;b&gt;bold") < page.index("noise")
    assert "<b>bold" not in page
    assert "exact" in page
    assert "linear" in page
    assert "<summary>Parameters</summary>" in page
    assert "skvarimp.SensitivityImportance.html" in page
    assert repr(fitted) == "<SensitivityImportance(): exact, linear>"


def test_names_are_followed_by_marks_of_direction():
    """As in pictures: triangles where the response rises or falls, said in words."""
    falling = Ridge().fit(X, y - 2 * X["<b>bold</b>"] + X["noise"] * 0)
    page = html(SensitivityImportance().fit(falling, X, y))
    rows = re.findall(r"<tr><td title.*?</tr>", page)
    kinds = [
        re.search(r'<span title="(\w*)">(.?)</span>', row).groups() for row in rows
    ]
    assert kinds[:2] == [("rising", "▲"), ("falling", "▼")]
    assert "▲ rising, ▼ falling, ◆ both" in page
    assert "lines: 95% intervals" in page
    models = {"one": MODEL, "other": falling}
    page = compare_importances(models, X, y)._repr_html_()
    rows = re.findall(r"<tr><td title.*?</tr>", page)
    kinds = [re.search(r'<span title="(\w*)">', row)[1] for row in rows]
    assert kinds[:2] == ["rising", "both"]
    heads = re.findall(r"<tr>(<th.*?)</tr>", page)
    for head in heads:  # as many cells as the rows have
        spans = re.findall(r"<th(?: colspan=(\d))?>", head)
        assert sum(int(span or 1) for span in spans) == rows[0].count("<td")
    plain = SensitivityImportance(scale=None).fit(lambda Z: 0 * Z["age"], X)
    assert "rising" not in html(plain)


def test_an_unfitted_importance_shows_its_parameters():
    """As every scikit-learn estimator does."""
    page = html(SensitivityImportance(contrast="observed"))

    assert "observed" in page
    assert "track" not in page


def test_places_of_bars_and_lines():
    """In percent of the track, from the lowest end to the highest finite one.

    Two columns of bars have one scale. An infinite bar ends where the track does.
    """
    values = np.array([[-0.5, 1.0], [np.nan, np.inf]])
    lower = np.array([[-1.0, 0.5], [np.nan, np.nan]])
    column = bars("", values, lower, lower + 1.0, ["one", "other"])
    places = [
        re.findall(r'"(\w+)" style="left: (.*?)%; width: (.*?)%"', column.cells(e))
        for e in (0, 1)
    ]
    assert places[0] == [
        ("bar", "20.0", "20.0"),
        ("interval", "0.0", "40.0"),
        ("bar", "40.0", "40.0"),
        ("interval", "60.0", "40.0"),
    ]
    assert places[1] == [("bar", "40.0", "60.0")]


def test_only_the_first_features_of_many_are_shown():
    """A note says how many are left out."""
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(50, 100))
    fitted = SensitivityImportance().fit(
        Ridge().fit(wide, wide[:, 0]), wide, wide[:, 0]
    )

    page = html(fitted)

    assert page.count('class="track"') == 20
    assert "and 80 more" in page


def test_a_comparison_shows_one_row_per_feature_and_a_bar_column_per_model():
    """Bars of a measure have one scale."""
    models = {"a<": MODEL, "b": Ridge().fit(X, 0.5 * y)}
    compared = compare_importances(models, X, y)
    page = compared._repr_html_()

    assert page.count("<table>") == 1
    rows = re.findall(r"<tr><td title.*?</tr>", page)
    assert [row.count('class="track"') for row in rows] == [2, 2, 2]
    assert "a&lt;</th>" in page
    assert "relative mean change of the prediction" in page
    (drawn,) = bars_behind(compared).values()
    for e, (row, name) in enumerate(zip(rows, compared.features)):
        numbers = [float(cell) for cell in re.findall(r"<td>([\d.]+)</td>", row)]
        found = compared.results.values()
        shown = [one.importances[one.features.index(name)] for one in found]
        np.testing.assert_allclose(numbers, shown, atol=5e-4)
        assert drawn[0, e].tolist() == shown


def test_refits_show_the_spread_of_the_folds():
    """The bar is the mean, the line goes from the lowest to the highest fold."""
    random = np.random.default_rng(2)
    folds = importance_across_folds(Ridge(), X, y + random.normal(size=60))
    page, table = folds._repr_html_(), folds.to_frame()

    row = re.findall(r"<tr><td title.*?</tr>", page)[0]
    assert f"<td>{table['best_rank'].iloc[0]:g}</td>" in row
    shown = table.set_index("feature").loc[folds.features]
    (drawn,) = bars_behind(folds).values()
    np.testing.assert_array_equal(drawn.T, shown[["importance", "lowest", "highest"]])


def test_null_importances_show_p_values_and_the_band():
    """The band is that of 95% of the shuffled targets."""
    null = null_importances(
        Ridge(), X, y, measure="sensitivity", n_permutations=9, cv=2, random_state=0
    )
    page, table = null._repr_html_(), null.to_frame()

    rows = re.findall(r"<tr><td title.*?</tr>", page)
    for row, (_, feature) in zip(rows, table.iterrows()):
        assert f"<td>{feature['p_value']:.3f}</td>" in row
        assert f"<td>{feature['familywise_p_value']:.3f}</td>" in row
    assert "9 shuffled targets" in page
    (drawn,) = bars_behind(null).values()
    band = np.quantile(null.null, [0.025, 0.975], axis=0)
    np.testing.assert_array_equal(drawn, [null.importances, *band])


def test_a_selector_shows_what_it_kept():
    """And the score of the subset beside the best."""
    selector = BackwardEliminationSelector(Ridge(), random_state=0)
    assert "<td>kept</td>" not in html(selector)

    page = html(selector.fit(X, y))

    assert "age" in page
    assert f"{selector.n_features_} of 3" in page
    assert "<td>best score</td>" in page


def test_what_is_lost_without_an_feature_is_a_table_with_intervals():
    """Importance, standard error and p of each feature."""
    random = np.random.default_rng(1)
    found = leave_out_importances(Ridge(), X, y + random.normal(size=60))

    page = found._repr_html_()

    rows = re.findall(r"<tr><td title.*?</tr>", page)
    table = found.to_frame(0.95)
    assert len(rows) == 3
    assert page.index("age") < page.index("&lt;b&gt;bold") < page.index("noise")
    for row, (_, feature) in zip(rows, table.iterrows()):
        cells = re.findall(r"<td>(-?[\d.]+)</td>", row)
        for cell, name in zip(cells, ["importance", "standard_error", "p_value"]):
            assert cell == f"{feature[name]:.{len(cell.partition('.')[2])}f}"
    shown = table.set_index("feature").loc[found.features]
    (drawn,) = bars_behind(found).values()
    np.testing.assert_array_equal(drawn.T, shown[["importance", "lower", "upper"]])
