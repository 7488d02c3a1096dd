"""Displays of importances over refits: boxes of folds, histograms of null models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skvarimp._display.drawing import (
    COLORS,
    NamedRows,
    check_count,
    draw_boxes,
    drawable,
    n_columns,
    panel_axes,
)
from skvarimp._display.text import fit_labels, ink, plain, wrapped

LONGEST_TITLE = 28
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

    _height = 1.2

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

    def _mark(self, ax, keywords, shown, values):
        self.boxes_ = draw_boxes(ax, values[:, shown].T, COLORS[4], keywords)
        if len(values) <= FEW_FOLDS:
            at = np.broadcast_to(np.arange(len(shown)), (len(values), len(shown)))
            ax.plot(values[:, shown], at, "o", color=ink(0.85), ms=2.8, zorder=4)
        if self.ranks is not None:
            _write_ranks(ax, drawable(self.ranks, values.shape, "ranks")[:, shown])


def _write_ranks(ax, ranks):
    """The best and worst rank of each row, at the right."""
    spans = [
        f"{best:g}" if best == worst else f"{best:g}–{worst:g}"
        for best, worst in zip(ranks.min(axis=0), ranks.max(axis=0))
    ]
    right = ax.secondary_yaxis("right")
    right.set_yticks(range(len(spans)), spans)
    right.set_ylabel("rank, best–worst")
    right.tick_params(length=0)
    right.spines["right"].set_visible(False)


@dataclass(eq=False, repr=False)
class NullDisplay:
    """Histograms of the importances for shuffled targets, one panel per entry.

    A line marks the importance for the true target, and the text gives its p-values.

    Parameters
    ----------
    panels : list of (str, float, ndarray, float, float)
        For each panel its title, the importance, the null importances of shape
        (n_permutations,), the p-value and the family-wise p-value.
    label : str, default="importance"
        What the positions are.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        The panels drawn.
    figure_ : matplotlib Figure
        Their figure.

    See Also
    --------
    null_importances : Makes the numbers.

    Examples
    --------
    >>> from skvarimp import NullDisplay
    >>> display = NullDisplay([("age", 3.0, [0.5, 1.0, 1.5], 0.25, 0.25)]).plot()
    >>> display.axes_[0].get_title(loc="left")
    'age'
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

    def plot(
        self,
        ax: Any = None,
        *,
        max_entries: int | None = 9,
        bins: int = 20,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the panels.

        Parameters
        ----------
        ax : matplotlib Axes or array-like of them, default=None
            At least one per panel; None makes a figure.
        max_entries : int or None, default=9
            Panels drawn, the first ones; None: all.
        bins : int, default=20
            Bars of each histogram.
        title : str, default=None
            Title of the picture.
        figsize : (float, float), default=None
            Width and height in inches of a figure of its own.
        **kwargs : dict
            Passed to `matplotlib.axes.Axes.hist`.

        Returns
        -------
        display : NullDisplay
            This object.
        """
        if len(self.panels) == 0:
            raise ValueError("There is no entry to draw: `panels` is empty.")
        if max_entries is not None:
            check_count("max_entries", max_entries)
        check_count("bins", bins)
        panels, own_figure = self.panels[:max_entries], ax is None
        n = len(panels)
        self.axes_ = panel_axes(ax, n, figsize, (3.0, 2.3), (0.3, 0.2), title)[:n]
        self.figure_ = self.axes_[0].figure
        for ax, panel in zip(self.axes_, panels):
            _draw_null(ax, panel, bins, kwargs)
            ax.set_xlabel(self.label)
        if own_figure:
            handles = self.axes_[0].get_legend_handles_labels()
            for ax in self.axes_[:: n_columns(self.axes_[0])]:
                ax.set_ylabel("permutations")
            place = "outside upper right" if title is None else "outside lower right"
            self.figure_.legend(*handles, loc=place, ncols=2, frameon=False)
        fit_labels(self.axes_)
        return self


def _draw_null(ax, panel, bins, keywords):
    name, importance, null, pvalue, familywise = panel
    null = drawable(null, (np.size(null),), "panels")
    importance = float(drawable(importance, (), "panels"))
    if null.size == 0:
        raise ValueError(f"There is no null importance of {name!r} to draw.")
    style = {"color": COLORS[4], "edgecolor": ink(0.0), "linewidth": 0.4} | keywords
    ax.hist(null, bins=bins, label="shuffled y", **style)
    ax.axvline(importance, color=COLORS[1], linewidth=2.0, label="y as it is")
    low, high = min(np.min(null), importance), max(np.max(null), importance)
    margin = 0.05 * (high - low) or 0.05 * max(abs(high), 1.0)
    ax.set_xlim(low - margin, high + margin)
    ax.locator_params(axis="x", nbins=4)
    ax.set_ylim(top=1.5 * ax.get_ylim()[1])  # room for the two lines of text
    side, at = ("left", 0.03) if importance > (low + high) / 2 else ("right", 0.97)
    text = f"p = {pvalue:.2g}\nfamily-wise {familywise:.2g}"
    style = {"ha": side, "va": "top", "fontsize": "small"}
    ax.text(at, 0.97, text, transform=ax.transAxes, **style)
    plain([ax.set_title(wrapped(name, LONGEST_TITLE), loc="left", fontsize="medium")])
    ax.spines[["top", "right"]].set_visible(False)
