"""Displays show the numbers they are given; matplotlib is imported when drawing."""

import numpy as np
import pytest
from literal_sequence import random_tables

from skvarimp.sequence import (
    MotifDisplay,
    OligomerHeatmapDisplay,
    OligomerWeights,
    PositionalOligomerImportance,
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
    with pytest.raises(ValueError, match="`n_oligomers` must be at least 1"):
        importance.plot(n_oligomers=n_oligomers)
