"""Displays show the numbers they are given; matplotlib is imported when drawing."""

import numpy as np
import pytest
from literal_sequence import random_tables
from messages import says

from skvarimp.sequence import (
    MotifDisplay,
    OligomerHeatmapDisplay,
    OligomerWeights,
    PositionalOligomerImportance,
    SequenceLogoDisplay,
)

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture
def importance():
    """Importances of 2-mers over 6 positions."""
    weights = OligomerWeights(random_tables(np.random.default_rng(0), 6, 4, (1, 2, 3)))
    yield PositionalOligomerImportance(2).fit(weights)
    plt.close("all")


def test_heat_map_shows_the_largest_oligomers(importance):
    """Rows in descending order of their largest absolute importance."""
    display = importance.plot(n_oligomers=5)

    assert isinstance(display, OligomerHeatmapDisplay)
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    largest = np.abs(importance.importances_).max(axis=0)
    expected = importance.oligomers_[np.argsort(-largest)[:5]].tolist()
    assert labels == expected
    shown = display.ax_.images[0].get_array()
    np.testing.assert_array_equal(
        shown, [importance.score_of(oligomer) for oligomer in expected]
    )
    low, high = display.ax_.images[0].get_clim()
    assert low == -high == -np.abs(shown).max()


def test_heat_map_of_few_oligomers_and_of_nothing():
    """More rows asked for than there are; a score that is constant."""
    weights = OligomerWeights({1: np.zeros((3, 2))}, alphabet="AB")

    display = PositionalOligomerImportance(1).fit(weights).plot(n_oligomers=50)

    assert display.ax_.images[0].get_array().shape == (2, 3)
    plt.close(display.figure_)


def test_logo_has_the_heights_of_single_letters(importance):
    """Exact importances of order 1, stacked: positive ones up, negative ones down."""
    display = importance.plot_logo()

    single = PositionalOligomerImportance(1).fit(importance.weights_)
    np.testing.assert_array_equal(importance.of_letters(), single.importances_)
    heights = np.zeros((6, 4))
    for position, letter, patch in display.letters_:
        box = patch.get_path().get_extents()
        value = single.importances_[position, "ACGT".index(letter)]
        assert np.sign(box.y0 + box.y1) == np.sign(value)
        assert abs(box.x0 + box.x1 - 2 * position) < 1e-9
        heights[position, "ACGT".index(letter)] = box.height
    np.testing.assert_allclose(heights, np.abs(single.importances_), atol=1e-12)
    for position, values in enumerate(single.importances_):
        patches = [patch for k, _, patch in display.letters_ if k == position]
        top = max(patch.get_path().get_extents().y1 for patch in patches)
        assert top == pytest.approx(np.maximum(values, 0.0).sum())


def test_logo_of_letters_without_outline():
    """A space and no text at all are drawn as rectangles."""
    display = SequenceLogoDisplay([[1.0, 2.0, 3.0]], ["", " ", "A"]).plot()
    assert [letter for _, letter, _ in display.letters_] == ["", " ", "A"]


def test_logo_of_nothing():
    """NaN and 0 have no letters; no positions are an error."""
    display = SequenceLogoDisplay([[np.nan, 0.0]], "AB").plot()
    assert display.letters_ == []
    with pytest.raises(ValueError, match="`importances` is empty"):
        SequenceLogoDisplay(np.empty((0, 2)), "AB").plot()


@pytest.mark.parametrize("source", ["importance", "weights"])
def test_motif_display_draws_the_profile(importance, source):
    """Three lines and a band, into the axes given."""
    _, ax = plt.subplots()
    drawn = importance if source == "importance" else importance.weights_

    display = drawn.plot_motif("GA", ax=ax)

    assert isinstance(display, MotifDisplay)
    assert display.ax_ is ax
    profile = drawn.motif_profile("GA")
    expected = [profile.exact, profile.one_replaced, profile.two_replaced]
    for line, values in zip(ax.lines, expected, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), values)
    (band,) = ax.collections
    y = band.get_paths()[0].vertices[:, 1]
    high = profile.irrelevant_mean + profile.irrelevant_std
    assert y.max() == pytest.approx(high.max())
    assert profile.quantity in ax.get_ylabel()


def test_motif_of_one_letter(importance):
    """There is no second letter to replace."""
    single = PositionalOligomerImportance(1).fit(importance.weights_)

    assert len(single.plot_motif("A").ax_.lines) == 2


@pytest.mark.parametrize("n_oligomers", [0, -1])
def test_bad_number_of_rows(importance, n_oligomers):
    """At least one row."""
    with pytest.raises(ValueError, match=says("`n_oligomers` … at least 1, got")):
        importance.plot(n_oligomers=n_oligomers)
