"""Entries as named rows: the base of most displays, and marks that several draw."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from skvarimp._display.drawing import (
    beside_axes,
    check_count,
    first_axes,
    inches,
    kinds_of_direction,
    single_axes,
    with_fitting_text,
)
from skvarimp._display.text import (
    SMALLEST,
    Room,
    character_inches,
    fit_labels,
    ink,
    line_inches,
    not_shown,
    plain,
    row_inches,
    size_texts,
    told_apart,
)
from skvarimp._types import Axes

LONGEST_LINE = 45  # of a name
MARKERS = {"rising": "^", "falling": "v", "both": "d"}  # of directions
BOXES = "boxes: middle half, whiskers: lowest to highest"


class NamedRows:
    """The base of displays with one named row of marks per entry.

    A subclass chooses the rows in `_rows(most, longest)`, from the most rows and the
    longest line of a name. It returns the names of the rows, the lines of text below
    them and what `_mark(ax, own_figure, keywords, *chosen)` draws, which returns lines
    that say what its marks are; or it draws several panels by a `plot` of its own.
    """

    _most, _height = 30, 1.0  # entries; of a row, relative to that of one bar
    _n_lines = 4  # of text above and below the rows
    _in_units = True  # whether entries are ordered by what is drawn

    @with_fitting_text
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
            or 20 in `RowsDisplay` and 40 in `DendrogramDisplay`, or as many as fit
            into `ax` or `figsize`.
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
        own_figure = ax is None
        names, below, *chosen = self._chosen(ax, max_entries, figsize, self._height)
        ax = single_axes(
            ax, figsize, row_size(names, self._height, self._n_lines), title
        )
        self.ax_, self.figure_ = ax, ax.figure
        finish_rows(ax, names)
        notes = self._mark(ax, own_figure, kwargs, *chosen)
        ax.set_xlabel("\n".join([below[0], *notes, *below[1:]]))
        fit_labels(self.figure_.axes if own_figure else [ax])
        fit_names(ax, names)
        return self

    def _chosen(self, ax, max_entries, figsize, height, n_panels=1):
        """The rows asked for, or as many as there is room for."""
        most = self._most if max_entries is None else max_entries
        check_count("max_entries", most)
        ax, share = None if ax is None else first_axes(ax), 0.4 / n_panels**0.5
        room = Room(ax, figsize, LONGEST_LINE, share, self._n_lines)
        found = self._rows(most, room.longest)
        if max_entries is None and (fit := room.rows(found[0], height)) < len(found[0]):
            found = self._rows(fit, room.longest)
        return found

    def _largest(self, values, most, longest, label):
        """Names of the rows with the largest values, the text below, and which."""
        order = np.argsort(-values, kind="stable")
        known, n = order[~np.isnan(values[order])], len(values)
        shown, limit = known[:most], ""
        if self._in_units and len(shown):
            limit = f", none above {values[shown[-1]]:.3g}"
        below = [label, *not_shown(len(known) - len(shown), n, limit=limit)]
        if len(known) < n:
            below.append(f"{n - len(known)} of {n} entries have no importance")
        return row_names(self.entry_names, shown, longest), below, shown


def row_names(entry_names, shown, longest):
    """The names of the entries shown, in lines that fit, two where there is no room."""
    n_lines = 2 if longest < LONGEST_LINE else None
    return told_apart([str(entry_names[e]) for e in shown], longest, n_lines)


def finish_rows(ax, names):
    """Name the rows, leave room around them, draw a line at 0."""
    ax.set_yticks(range(len(names)), names)
    plain(ax.get_yticklabels())
    if names:
        ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right"]].set_visible(False)
    ax.axvline(0.0, color=ink(0.75), linewidth=0.8)
    ax.grid(axis="x", color=ink(0.1))
    ax.set_axisbelow(True)


def fit_names(ax, names):
    """Write the names of rows smaller where they would touch."""
    share = inches(ax)[1] / max(len(names), 1) / row_inches(names, 0.0)
    for text in ax.get_yticklabels() if share < 1 else ():
        text.set_fontsize(max(SMALLEST, share * text.get_fontsize()))


def write_spans(ax, best, worst, label):
    """Two numbers for each row, or one where they are equal, at the right."""
    spans = [f"{b:g}" if b == w else f"{b:g}–{w:g}" for b, w in zip(best, worst)]
    write_right(ax, spans, label)


def write_right(ax, texts, label):
    """A text for each row, at the right."""
    right = ax.secondary_yaxis("right")
    right.set_yticks(range(len(texts)), texts)
    right.set_ylabel(label)
    size_texts(right)
    right.tick_params(length=0)
    right.spines["right"].set_visible(False)


def row_size(names, height, n_lines, n_panels=1):
    """Inches of a figure that is tall enough for its rows and wide enough for names.

    Parameters
    ----------
    names : list of str
        One per row, in lines.
    height : float
        Of a row, relative to that of one bar.
    n_lines : int
        Of text above and below the rows.
    n_panels : int, default=1
        Panels side by side that share the names.

    Returns
    -------
    (float, float)
    """
    longest = max(map(len, "\n".join(names).split("\n")))
    width = 0.4 + character_inches() * longest
    width += 4.4 if n_panels == 1 else 3.0 * n_panels
    return width, 0.5 + line_inches() * n_lines + row_inches(names, height) * max(
        len(names), 1
    )


def mark_directions(ax, directions):
    """Mark the names of rows along whose values the response rises, falls, or both.

    Parameters
    ----------
    ax : matplotlib Axes
    directions : ndarray of shape (n_rows, n_models)
        A row whose models differ has the mark of both; NaN: not known.

    Returns
    -------
    list of str
        The line that says so, if there are marks.
    """
    kinds = kinds_of_direction(directions)
    if not kinds.any():
        return []
    style = {"linestyle": "none", "markersize": 4.0, "color": ink(0.6)}
    ax.tick_params(axis="y", pad=10.0)
    beside = beside_axes(ax, -6.0)
    for kind, marker in MARKERS.items():
        at = np.flatnonzero(kinds == kind)
        if len(at) == 0:  # an empty line has a place in the layout, too
            continue
        known = {"transform": beside, "clip_on": False, "marker": marker}
        ax.plot(np.zeros(len(at)), at, **style, **known)
    return ["triangles: rising or falling, diamonds: both"]


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
    rows = [row if len(row) else [np.nan] for row in rows]  # nothing to draw
    ends = [np.quantile(row, [0, 0.25, 0.5, 0.75, 1]) for row in rows]
    low, q1, median, q3, high = np.reshape(ends, (-1, 5)).T
    ax.hlines(at, low, high, ink(0.75), linewidth=1.0)
    style = {"height": 0.6, "color": colors, "edgecolor": ink(0.75)}
    boxes = ax.barh(at, q3 - q1, left=q1, **(style | keywords))
    ax.vlines(median, at - 0.3, at + 0.3, ink(), linewidth=1.8, zorder=3)
    return boxes
