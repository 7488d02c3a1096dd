"""Displays of importances over folds and of shuffled targets."""

import numpy as np
import pytest

from skvarimp import FoldImportances, FoldsDisplay, NullDisplay, NullImportances


def test_plot_of_folds():
    """Boxes by mean, ranks at the right, a note for what is not shown."""
    table = np.array([[1.0, 5.0, 0.0], [2.0, 4.0, 0.5], [3.0, 6.0, -0.5]])
    names = ["a", "b $ 5", "c"]
    folds = FoldImportances(names, table.mean(axis=0), by_fold=table)
    display = folds.plot(max_features=2)
    display.figure_.canvas.draw()
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["b $ 5", "a"]
    left = [bar.get_x() for bar in display.boxes_]
    np.testing.assert_allclose(left, [4.5, 1.5])
    np.testing.assert_allclose([bar.get_width() for bar in display.boxes_], [1.0, 1.0])
    assert "1 of 3 features is not shown" in " ".join(display.key_.get_text().split())
    (ranks,) = display.ax_.child_axes
    assert [t.get_text() for t in ranks.get_yticklabels()] == ["1", "2"]
    same = folds.plot(ax=display.ax_)
    assert same.figure_ is display.figure_


def test_plot_of_null():
    """A row per feature, the most important first: a dot, and 95% of the null."""
    null = np.random.default_rng(0).exponential(size=(19, 4))
    own = np.array([1.0, 9.0, 0.0, 2.0])
    found = NullImportances(["a", "b", "c", "d $"], own, null=null)
    display = found.plot(max_features=3)
    display.figure_.canvas.draw()
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["b", "d $", "a"]
    shown = [1, 3, 0]
    np.testing.assert_array_equal(display.dots_.get_xdata(), own[shown])
    low, high = np.quantile(null[:, shown], [0.025, 0.975], axis=0)
    ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in display.bands_]
    np.testing.assert_allclose(ends, np.column_stack([low, high]))
    np.testing.assert_array_equal(found._lines()[0][:, shown], [low, high])
    (right,) = display.ax_.child_axes
    pvalues = zip(found.pvalues()[shown], found.familywise_pvalues[shown])
    expected = [f"{p:.2g} ({familywise:.2g})" for p, familywise in pvalues]
    assert [t.get_text() for t in right.get_yticklabels()] == expected
    assert "1 of 4 features is not shown" in " ".join(display.key_.get_text().split())
    constant = NullImportances(["a"], np.zeros(1), null=np.zeros((19, 1)))
    constant.plot().figure_.canvas.draw()


@pytest.mark.parametrize(
    ("display", "arguments", "message"),
    [
        (FoldsDisplay([[1.0, 2.0]], ["a"]), {}, "shape"),
        (
            FoldsDisplay([[1.0]], ["a"]),
            {"max_features": 0},
            "max_features == 0, must be >= 1",
        ),
        (NullDisplay([("a", 1.0, [], 1.0, 1.0)]), {}, "no null importance"),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_displays_refuse_what_cannot_be_drawn(display, arguments, message):
    """Before matplotlib sees it."""
    with pytest.raises(ValueError, match=message):
        display.plot(**arguments)
