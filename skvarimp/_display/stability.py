"""Displays of importances over refits: boxes of folds, bands of null models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skvarimp._display.drawing import COLORS, drawable
from skvarimp._display.named_rows import (
    BOXES,
    NamedRows,
    draw_boxes,
    row_names,
    write_right,
    write_spans,
)
from skvarimp._display.text import ink, not_shown

FEW_FOLDS = 30  # so many are drawn one by one as well


@dataclass(eq=False, repr=False)
class FoldsDisplay(NamedRows):
    """Importances in each fold as horizontal boxes, the largest mean on top.

    A box spans the middle half of the folds, with a bar at the median. Its whiskers end
    at the lowest and the highest importance. Up to 30 folds are also drawn as dots. The
    best and the worst rank of each entry stand on the right.

    Parameters
    ----------
    importances : array-like of shape (n_folds, n_entries)
        Importances of each fold.
    entry_names : sequence of str
        Names of the entries; long ones are wrapped, not cut off.
    ranks : array-like of shape (n_folds, n_entries), default=None
        Rank of each entry in each fold; None: no ranks are written.
    label : str, default="importance"
        What the positions are, below the boxes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes drawn into.
    figure_ : matplotlib Figure
        Their figure.
    boxes_ : matplotlib BarContainer
        The middle halves, one per entry shown.

    See Also
    --------
    importance_across_folds : Makes the numbers.

    Examples
    --------
    >>> from skvarimp import FoldsDisplay
    >>> display = FoldsDisplay([[0.2, 0.9], [0.4, 0.7]], ["age", "bmi"]).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['bmi', 'age']
    """

    importances: ArrayLike
    entry_names: Sequence[str]
    _: KW_ONLY
    ranks: ArrayLike | None = None
    label: str = "importance"

    _height, _n_lines = 1.2, 5

    @classmethod
    def from_folds(
        cls, folds: Any, *, label: str = "importance", **kwargs: Any
    ) -> Self:
        """Draw what `importance_across_folds` returned.

        Parameters
        ----------
        folds : FoldImportances
            Importances of every fold.
        label : str, default="importance"
            What the positions are.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : FoldsDisplay
            The drawn display.
        """
        given = {"ranks": folds.ranks, "label": label}
        return cls(folds.importances, folds.entry_names, **given).plot(**kwargs)

    def _rows(self, most, longest):
        shape = (max(len(self.importances), 1), len(self.entry_names))
        values = drawable(self.importances, shape, "importances")
        label = f"{self.label} ({len(values)} folds)"
        return *self._largest(values.mean(axis=0), most, longest, label), values

    def _mark(self, ax, own_figure, keywords, shown, values):
        self.boxes_ = draw_boxes(ax, values[:, shown].T, COLORS[4], keywords)
        notes = [BOXES]
        if len(values) <= FEW_FOLDS:
            at = np.broadcast_to(np.arange(len(shown)), (len(values), len(shown)))
            ax.plot(values[:, shown], at, "o", color=ink(0.85), ms=2.8, zorder=4)
            notes = ["dots: folds, " + BOXES]
        if self.ranks is not None:
            ranks = drawable(self.ranks, values.shape, "ranks")[:, shown]
            write_spans(ax, ranks.min(axis=0), ranks.max(axis=0), "rank, best–worst")
        return notes


@dataclass(eq=False, repr=False)
class NullDisplay(NamedRows):
    """Importances as dots, with the bands of those for shuffled targets.

    A band spans the middle 95% of the importances for shuffled targets. The p-value
    and the family-wise p-value of each entry stand on the right.

    Parameters
    ----------
    panels : list of (str, float, ndarray, float, float)
        For each row its name, the importance, the null importances of shape
        (n_permutations,), the p-value and the family-wise p-value, from the top.
    label : str, default="importance"
        What the positions are.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes drawn into.
    figure_ : matplotlib Figure
        Their figure.
    bands_ : matplotlib BarContainer
        The bands, one per row.
    dots_ : matplotlib Line2D
        The importances.

    See Also
    --------
    null_importances : Makes the numbers.

    Examples
    --------
    >>> from skvarimp import NullDisplay
    >>> display = NullDisplay([("age", 3.0, [0.5, 1.0, 1.5], 0.25, 0.25)]).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['age']
    """

    panels: Sequence[tuple[str, float, ArrayLike, float, float]]
    _: KW_ONLY
    label: str = "importance"

    @classmethod
    def from_null(cls, null: Any, *, label: str = "importance", **kwargs: Any) -> Self:
        """Draw what `null_importances` returned, the most important entries first.

        Parameters
        ----------
        null : NullImportances
            Importances beside those for shuffled targets.
        label : str, default="importance"
            What the positions are.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : NullDisplay
            The drawn display.
        """
        columns = null.importances, null.null.T, null.pvalues, null.familywise_pvalues
        of_entries = list(zip(null.entry_names, *columns))
        panels = [of_entries[e] for e in np.argsort(null.ranking, kind="stable")]
        return cls(panels, label=label).plot(**kwargs)

    def _rows(self, most, longest):
        if len(self.panels) == 0:
            raise ValueError("There is no entry to draw: `panels` is empty.")
        names = [name for name, *_ in self.panels]
        rows = [_read(*panel) for panel in self.panels[:most]]
        below = [self.label, *not_shown(len(names) - len(rows), len(names))]
        return row_names(names, range(len(rows)), longest), below, np.array(rows)

    def _mark(self, ax, own_figure, keywords, rows):
        at, (own, low, high, pvalues, familywise) = np.arange(len(rows)), rows.T
        ax.use_sticky_edges = False  # bands do not begin at the edge
        style = {"height": 0.6, "color": COLORS[4]}
        self.bands_ = ax.barh(at, high - low, left=low, **(style | keywords))
        (self.dots_,) = ax.plot(own, at, "o", color=COLORS[1], ms=5.0, zorder=4)
        texts = [f"{p:.2g} ({f:.2g})" for p, f in zip(pvalues, familywise)]
        write_right(ax, texts, "p-value (family-wise)")
        return ["dots: true y, bands: 95% of shuffled y"]


def _read(name, importance, null, pvalue, familywise):
    """Importance, ends of the band and p-values of one row."""
    null = drawable(null, (np.size(null),), "panels")
    if null.size == 0:
        raise ValueError(f"There is no null importance of {name!r} to draw.")
    importance = float(drawable(importance, (), "panels"))
    return importance, *np.quantile(null, [0.025, 0.975]), pvalue, familywise
