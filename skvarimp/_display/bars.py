"""`ImportanceDisplay`: importances as horizontal bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skvarimp._display.drawing import (
    COLORS,
    add_legend,
    check_choice,
    columns_of,
    directions_by_name,
    drawable,
)
from skvarimp._display.named_rows import NamedRows, mark_directions, write_spans
from skvarimp._display.text import ink, mixed
from skvarimp._types import Axes

PALE = 0.6  # the share of paper in bars of which a part is darker
PARTS = ["by itself", "with interactions"]
DOTS = {"marker": "o", "linestyle": "none", "markersize": 5.0}
ERROR_STYLE = {"fmt": "none", "elinewidth": 1.0, "capsize": 2.0}


@dataclass(eq=False, repr=False)
class ImportanceDisplay(NamedRows):
    """Importances as horizontal bars or dots, most important on top.

    Parameters
    ----------
    importances : array-like of shape (n_entries,)
        Lengths of the bars; NaN is not drawn.
    entry_names : sequence of str
        Names of the entries; long ones are wrapped, not cut off.
    label : str, default="importance"
        What the lengths are, below the bars.
    intervals : array-like of shape (n_entries, 2), default=None
        Lower and upper ends, drawn as lines; NaN: none. `from_importance` draws the
        95% intervals of `interval`.
    own : array-like of shape (n_entries,), default=None
        The part of each importance that the entry has by itself, drawn as a darker
        bar in front. The rest comes from interactions.
    lines : str, default="95% intervals"
        What the intervals are, said below the bars.
    ranks : array-like of shape (n_entries, 2), default=None
        Lowest and highest rank of each entry, written on the right.
    directions : array-like of shape (n_entries,), default=None
        Which way the response goes as values rise, as `directions_`: a triangle behind
        the name from 0.8 and from -0.8 on, a diamond in between; NaN and 0: none.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes drawn into.
    figure_ : matplotlib Figure
        Their figure.
    bars_ : matplotlib BarContainer or Line2D
        One bar or dot per entry shown, the most important first.
    errors_ : matplotlib ErrorbarContainer or None
        The intervals.

    See Also
    --------
    ComparisonDisplay : Several models and measures side by side.

    Examples
    --------
    >>> from skvarimp import ImportanceDisplay
    >>> display = ImportanceDisplay([0.2, 0.9], ["age", "bmi"]).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['bmi', 'age']
    """

    importances: ArrayLike
    entry_names: Sequence[str]
    _: KW_ONLY
    label: str = "importance"
    intervals: ArrayLike | None = None
    own: ArrayLike | None = None
    lines: str = "95% intervals"
    ranks: ArrayLike | None = None
    directions: ArrayLike | None = None

    @classmethod
    def from_importance(
        cls, importance: Any, *, label: str | None = None, **kwargs: Any
    ) -> Self:
        """Draw a fitted importance.

        Parameters
        ----------
        importance : importance instance
            Fitted.
        label : str, default=None
            Label below the bars; None: the measure's quantity and its unit.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : ImportanceDisplay
            The drawn display.
        """
        check_is_fitted(importance, "importances_")
        display = cls(
            importance.importances_,
            importance.entry_names_,
            label=importance._quantity() if label is None else label,
            intervals=np.column_stack(importance._ends()),
            directions=directions_by_name(importance, importance.entry_names_),
        )
        return display.plot(**kwargs)

    @classmethod
    def from_ranks(cls, frame: Any, **kwargs: Any) -> Self:
        """Draw the table of `rank_intervals`: simultaneous intervals and ranks.

        Parameters
        ----------
        frame : frame
            As `rank_intervals` returns it, in any library.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : ImportanceDisplay
            The drawn display.
        """
        table = columns_of(frame)
        display = cls(
            table["importance"],
            table["entry"],
            intervals=np.column_stack([table["lower"], table["upper"]]),
            lines="simultaneous intervals",
            ranks=np.column_stack([table["lowest_rank"], table["highest_rank"]]),
        )
        return display.plot(**kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Literal["bars", "dots"] = "bars",
        max_entries: int | None = None,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the rows, the most important entry on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure that is large enough.
        kind : {"bars", "dots"}, default="bars"
            A bar per entry, or a dot, which leaves all of its interval to be seen.
        max_entries : int, default=None
            Entries shown, the most important; a note says how many are not. None: 30,
            or as many as fit into `ax` or `figsize`.
        title : str, default=None
            Title of the picture.
        figsize : (float, float), default=None
            Width and height in inches of a figure of its own.
        **kwargs : dict
            Passed to `matplotlib.axes.Axes.barh`, or to `plot` of dots.

        Returns
        -------
        display : ImportanceDisplay
            This object.
        """
        check_choice("kind", kind, ["bars", "dots"])
        given = {"max_entries": max_entries, "title": title, "figsize": figsize}
        return super().plot(ax, kind=kind, **given, **kwargs)

    def _rows(self, most, longest):
        values = drawable(self.importances, (len(self.entry_names),), "importances")
        return *self._largest(values, most, longest, self.label), values

    def _mark(self, ax, own_figure, keywords, shown, values):
        as_dots, at = keywords.pop("kind") == "dots", np.arange(len(shown))
        color = COLORS[0] if self.own is None else mixed(COLORS[0], PALE, 0.0)
        style = {"color": color, "height": 0.7} | keywords
        if as_dots:
            style = DOTS | {"color": color} | keywords
        self.bars_ = _draw(ax, at, values[shown], as_dots, style)
        if self.own is not None:
            own = drawable(self.own, values.shape, "own")[shown]
            style = DOTS if as_dots else {"height": 0.4}
            alone = _draw(ax, at, own, as_dots, style | {"color": COLORS[0]})
            add_legend(ax, own_figure, [alone, self.bars_], PARTS)
        ends = drawn_ends(values, self.intervals)[shown]
        style = {"ecolor": COLORS[0], "capsize": 0.0} if as_dots else {}
        self.errors_ = draw_intervals(ax, at, values[shown], ends, **style)
        if self.ranks is not None:
            best, worst = drawable(self.ranks, (len(values), 2), "ranks")[shown].T
            write_spans(ax, best, worst, "rank")
        notes = [] if self.errors_ is None else [f"lines: {self.lines}"]
        if self.directions is None:
            return notes
        known = drawable(self.directions, values.shape, "directions")[shown]
        return notes + mark_directions(ax, known[:, np.newaxis])


def _draw(ax, at, values, as_dots, style):
    """Bars, or the dots at their ends."""
    return ax.plot(values, at, **style)[0] if as_dots else ax.barh(at, values, **style)


def drawn_ends(values, intervals):
    """Ends of intervals that the user gave, (n_entries, 2); NaN where there is none."""
    if intervals is None:
        return np.full((len(values), 2), np.nan)
    return drawable(intervals, (len(values), 2), "intervals")


def draw_intervals(ax, at, values, ends, **style):
    """Draw intervals about values; None where no end is known."""
    reach = np.abs(ends - values[:, np.newaxis])
    # neither NaN nor rounding of 0
    known = np.all(reach > 1e-9 * np.abs(values[:, np.newaxis]), axis=1)
    if not known.any():
        return None
    style = ERROR_STYLE | {"ecolor": ink(0.75)} | style
    return ax.errorbar(values[known], at[known], xerr=reach[known].T, **style)
