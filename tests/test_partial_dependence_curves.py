"""Curves of partial dependence as they are drawn, and their deciles."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from partial_dependence_models import frame_and_model

from skvarimp import PartialDependenceImportance


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
    assert len(imp.plot_curves(n_curves=2).curves) == 2
    with pytest.raises(ValueError, match="2 axes for 4 curves"):
        imp.plot_curves(axes=display.axes_[:2])
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
