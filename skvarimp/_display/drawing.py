"""What the displays share: axes, checks of what is drawn, entries as named rows."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from skvarimp._display.text import (
    CHARACTER_INCHES,
    SMALLEST,
    Room,
    fit_labels,
    ink,
    plain,
    row_inches,
    wrapped,
)
from skvarimp._types import Axes

LARGEST_DRAWN = 1e100  # matplotlib squares what it draws

# Okabe and Ito's colours, told apart by colour-blind readers too.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#808080"]


def pyplot():
    """matplotlib's pyplot, or an ImportError that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "Plots need matplotlib. Install it with `pip install matplotlib`."
        ) from None
    return plt


def axes_for(ax, n, figsize, size, title=None, columns=3, what="panels", **grid):
    """Axes for n panels: those given, or new ones in a figure of its own.

    Parameters
    ----------
    ax : Axes, array-like of them, or None
    n : int
    figsize : (float, float) or None
        Of a figure of its own, in inches; None: `size`.
    size : (float, float)
    title : str, default=None
        Over the figure of its own, or over the first of the axes given.
    columns : int, default=3
        The most panels side by side in a new figure.
    what : str, default="panels"
        What the panels are, for the error where there are too few axes.
    **grid : dict
        Passed to matplotlib's `subplots`.

    Returns
    -------
    ndarray of at least n Axes
    """
    given = ax is not None
    if not given:
        shape = -(-n // columns), min(n, columns)
        how = {"figsize": figsize or size, "layout": "constrained"} | grid
        _, ax = pyplot().subplots(*shape, squeeze=False, **how)
        for unused in ax.ravel()[n:]:
            unused.set_visible(False)
    elif figsize is not None:
        raise ValueError(
            "`figsize` is the size of a figure of its own, but `ax` lies in one. Pass "
            "one of the two."
        )
    axes = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
    for one in axes:
        _check_axes(one)
    if len(axes) < n:
        raise ValueError(
            f"`ax` has {len(axes)} axes for {n} {what}. Pass one for each, or ax=None."
        )
    if title is not None:
        entitle = axes[0].set_title if given else axes[0].figure.suptitle
        plain([entitle(title)])
    return axes


def single_axes(ax, figsize, size, title=None):
    """The axes given, or those of a figure of its own; `size` unless `figsize`."""
    if np.size(ax) != 1:
        _check_axes(ax)
    return axes_for(ax, 1, figsize, size, title)[0]


def _check_axes(ax):
    if not hasattr(ax, "barh"):
        raise TypeError(
            f"`ax` must be matplotlib Axes, got {type(ax).__name__}. Leave it out for "
            "a figure of its own."
        )


def panel_axes(ax, n, figsize, panel, margins, title):
    """`axes_for` panels of one size, with margins beside all of them, in inches."""
    columns, rows = min(n, 3), -(-n // 3)
    size = panel[0] * columns + margins[0], panel[1] * rows + margins[1]
    return axes_for(ax, n, figsize, size, title)


def n_columns(ax):
    """How many panels stand side by side in the grid that an Axes is part of."""
    spec = ax.get_subplotspec()
    return 1 if spec is None else spec.get_gridspec().ncols


def drawable(values, shape, parameter):
    """Values as float64 of one shape; NaN stays out of the picture."""
    try:
        values = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"`{parameter}` must hold numbers to draw, got {values!r:.60}."
        ) from None
    if values.shape != shape:
        raise ValueError(
            f"`{parameter}` must have shape {shape} to go with the names, got "
            f"{values.shape}."
        )
    if np.any(np.abs(values) > LARGEST_DRAWN):
        raise ValueError(
            f"`{parameter}` holds infinity or numbers beyond {LARGEST_DRAWN:g}, which "
            "cannot be drawn. Rescale them."
        )
    return values


def check_count(parameter, value):
    """Raise unless the number of things to draw is a positive integer."""
    check_scalar(value, parameter, Integral, min_val=1)


def check_choice(parameter, value, allowed):
    """Raise unless a value is one of those allowed."""
    if value not in allowed:
        raise ValueError(f"`{parameter}` must be one of {allowed}, got {value!r}.")


def check_has(importance, attribute, measure):
    """Raise if a measure does not have what a display is to draw."""
    check_is_fitted(importance)
    if getattr(importance, attribute, None) is None:
        raise TypeError(
            f"There is no `{attribute}` to draw: this picture needs {measure}, got "
            f"{type(importance).__name__}."
        )


def columns_of(frame):
    """The columns of a frame of any library, name -> list."""
    return nw.from_native(frame, eager_only=True).to_dict(as_series=False)


LONGEST_LINE = 45  # of a name


class NamedRows:
    """The base of displays with one named row of marks per entry.

    A subclass chooses the rows in `_rows(most, longest)`, from the most rows and the
    longest line of a name. It returns the names of the rows, the lines of text below
    them and what `_mark(ax, keywords, *chosen)` draws; or it draws several panels by a
    `plot` of its own.
    """

    _most, _height = 30, 1.0  # entries; of a row, relative to that of one bar
    _in_units = True  # whether entries are ordered by what is drawn

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
            or 20 in `RowsDisplay`, or as many as fit into `ax` or `figsize`.
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
        names, below, *chosen = self._chosen(ax, max_entries, figsize, self._height)
        ax = single_axes(ax, figsize, row_size(names, self._height), title)
        self.ax_, self.figure_ = ax, ax.figure
        self._mark(ax, kwargs, *chosen)
        finish_rows(ax, names)
        ax.set_xlabel("\n".join(below))
        fit_labels([ax])
        return self

    def _chosen(self, ax, max_entries, figsize, height):
        """The rows asked for, or as many as there is room for."""
        most = self._most if max_entries is None else max_entries
        check_count("max_entries", most)
        first = None if ax is None else np.ravel(np.asarray(ax, dtype=object))[0]
        if first is not None:
            _check_axes(first)
        room = Room(first, figsize, LONGEST_LINE)
        found = self._rows(most, room.longest)
        if max_entries is None and (fit := room.rows(found[0], height)) < len(found[0]):
            found = self._rows(fit, room.longest)
        return found

    def _largest(self, values, most, longest, label):
        """Names of the rows with the largest values, the text below, and which."""
        order = np.argsort(-values, kind="stable")
        known, n = order[~np.isnan(values[order])], len(values)
        shown, below = known[:most], [label]
        if len(known) > most:
            limit = f", none above {values[shown[-1]]:.3g}" if self._in_units else ""
            below.append(f"{len(known) - most} of {n} entries are not shown{limit}")
        if len(known) < n:
            below.append(f"{n - len(known)} of {n} entries have no importance")
        return row_names(self.entry_names, shown, longest), below, shown


def row_names(entry_names, shown, longest):
    """The names of the entries shown, in lines that fit."""
    return [wrapped(entry_names[e], longest) for e in shown]


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
    inches = ax.get_window_extent().height / ax.figure.dpi / max(len(names), 1)
    for text in ax.get_yticklabels() if inches < row_inches(names, 0.0) else ():
        share = inches / row_inches(names, 0.0)
        text.set_fontsize(max(SMALLEST, share * text.get_fontsize()))


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
    longest = max(map(len, "\n".join(names).split("\n")))
    width = 0.4 + CHARACTER_INCHES * longest
    width += 4.4 if n_panels == 1 else 3.0 * n_panels
    return width, 1.1 + row_inches(names, height) * max(len(names), 1)


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
    ax.hlines(at, low, high, ink(0.75), linewidth=1.0)
    style = {"height": 0.6, "color": colors, "edgecolor": ink(0.75)}
    boxes = ax.barh(at, q3 - q1, left=q1, **(style | keywords))
    ax.vlines(median, at - 0.3, at + 0.3, ink(), linewidth=1.8, zorder=3)
    return boxes
