"""Entries as named rows of a picture, the most important on top."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from skvarimp._display.drawing import Display, check_count, plain, single_axes, wrapped
from skvarimp._types import Axes

LONGEST_LINE = 45  # longer names are wrapped, never cut off


class NamedRows(Display):
    """The base of displays with one named row of marks per entry.

    A subclass chooses the rows in `_rows(max_entries)`, which returns the names of the
    rows, the lines of text below them and what `_mark(ax, keywords, *chosen)` draws.
    """

    _most, _height = 30, 1.0  # entries; of a row, relative to that of one bar

    def plot(
        self,
        ax: Axes | None = None,
        *,
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
        max_entries : int, default=None
            Entries shown, the most important; a note says how many are not. None: 30,
            or 20 in `RowsDisplay`.
        title : str, default=None
            Title of the picture.
        figsize : (float, float), default=None
            Width and height in inches of a figure of its own.
        **kwargs : dict
            Passed to the method of matplotlib's Axes that draws the marks: `scatter`
            in `RowsDisplay`, otherwise `barh`.

        Returns
        -------
        display : Display
            This object.
        """
        most = self._most if max_entries is None else max_entries
        check_count("max_entries", most)
        names, below, *chosen = self._rows(most)
        ax = single_axes(ax, figsize, row_size(names, self._height), title)
        self.ax_, self.figure_ = ax, ax.figure
        self._mark(ax, kwargs, *chosen)
        finish_rows(ax, names)
        ax.set_xlabel("\n".join(below))
        return self

    def _largest(self, values, most, label):
        """Names of the rows with the largest values, the text below, and which."""
        shown = most_important(values, most)
        below = [label, *not_shown(values, shown)]
        return row_names(self.entry_names, shown), below, shown


def most_important(values, max_entries):
    """Positions of the largest values, largest first; NaN never."""
    order = np.argsort(-values, kind="stable")
    return order[~np.isnan(values[order])][:max_entries]


def row_names(entry_names, shown):
    """The names of the entries shown, in lines that fit."""
    return [wrapped(entry_names[e], LONGEST_LINE) for e in shown]


def not_shown(values, shown, threshold=True):
    """What is not in the picture, as lines of text."""
    unknown = int(np.isnan(values).sum())
    left = len(values) - len(shown) - unknown
    lines = []
    if left:
        limit = (
            f", none above {values[shown[-1]]:.3g}" if threshold and len(shown) else ""
        )
        lines.append(f"{left} of {len(values)} entries are not shown{limit}")
    if unknown:
        lines.append(f"{unknown} of {len(values)} entries have no importance")
    return lines


def finish_rows(ax, names):
    """Name the rows, leave room around them, draw a line at 0."""
    ax.set_yticks(range(len(names)), names)
    plain(ax.get_yticklabels())
    if names:
        ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right"]].set_visible(False)
    ax.axvline(0.0, color="0.25", linewidth=0.8)
    ax.grid(axis="x", color="0.9")
    ax.set_axisbelow(True)


def row_size(names, height, n_panels=1):
    """Inches of a figure that is tall enough for its rows and wide enough for names.

    Parameters
    ----------
    names : list of str
        One per row, in lines.
    height : float
        Of a row, relative to that of one bar.
    n_panels : int, default=1
        Panels side by side that share the names.

    Returns
    -------
    (float, float)
    """
    lines = [name.split("\n") for name in names]
    longest = max((len(line) for of_name in lines for line in of_name), default=0)
    most_lines = max((len(of_name) for of_name in lines), default=1)
    row = max(0.25 * height, 0.2 * most_lines)
    width = 0.4 + 0.085 * longest + (4.4 if n_panels == 1 else 3.0 * n_panels)
    return width, 1.1 + row * max(len(names), 1)


def draw_boxes(ax, rows, colors, keywords):
    """Whiskers, middle halves and medians of the values in each row.

    Parameters
    ----------
    ax : matplotlib Axes
    rows : sequence of ndarray
        From the top.
    colors : str, or one for each row
    keywords : dict
        Passed to barh.

    Returns
    -------
    matplotlib BarContainer
        The middle halves.
    """
    at = np.arange(len(rows))
    ends = [np.quantile(row, [0, 0.25, 0.5, 0.75, 1]) for row in rows]
    low, q1, median, q3, high = np.reshape(ends, (-1, 5)).T
    ax.hlines(at, low, high, "0.25", linewidth=1.0)
    style = {"height": 0.6, "color": colors, "edgecolor": "0.25"}
    boxes = ax.barh(at, q3 - q1, left=q1, **(style | keywords))
    ax.vlines(median, at - 0.3, at + 0.3, "black", linewidth=1.8, zorder=3)
    return boxes
