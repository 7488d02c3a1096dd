"""Features as named rows: the base of most displays, and marks that several draw."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skvarimp._display.drawing import (
    cell_inches,
    check_count,
    counted,
    first_axes,
    inches,
    ink,
    lay_out,
    not_shown,
    pale,
    plain,
    single_axes,
    size_texts,
    too_large,
    with_fitting_text,
    without_labels,
    write_key,
    write_labels,
    write_powers,
)
from skvarimp._display.texts import (
    TextRoom,
    block_inches,
    character_inches,
    line_inches,
    points,
    text_inches,
    unique_names,
)
from skvarimp._types import Axes

WIDEST = 26.0  # a line of a name, relative to the font's size
SMALLEST = 5.0  # points of the font of crowded rows
MOST_LINES = 3, 2  # of a name in a small figure: the first with which all rows fit
CROWDED = 0.8  # of the font's size is what names of crowded rows have at least
GAP = 0.2  # of a line, between the names of two rows
BESIDE_ROWS = 0.2  # of a row, above the first and below the last together
STEADY = 0.8  # a direction, from which on a response counts as rising or falling
MARKERS = {"rising": "^", "falling": "v", "both": "d"}  # of directions
BOXES = "boxes: middle half, whiskers: lowest to highest"


def result_of(importance):
    """The `Importances` of a fitted measure, or those that are given.

    Parameters
    ----------
    importance : measure or Importances
    """
    if not isinstance(importance, BaseEstimator):
        return importance
    check_is_fitted(importance, "importances_")
    return importance.result_


# Names of `max_features` in other libraries.
OTHER_NAMES = {"top", "max_display", "max_num_features", "n_features", "top_n", "k"}


def check_no_other_names(keywords):
    """Name `max_features` where another library's name for it is given."""
    for name in sorted(OTHER_NAMES & set(keywords)):
        raise TypeError(
            f"`plot` has no parameter {name!r}. Use max_features={keywords[name]!r}."
        )


class NamedRows:
    """The base of displays with one named row of marks per feature.

    A subclass chooses the rows in `_rows(most, room)`, from the most rows and the room
    of a name, see `TextRoom`. It returns the names of the rows, the lines of text below
    them and what `_mark(ax, own_figure, keywords, *chosen)` draws, which returns lines
    that say what its marks are; or it draws several panels by a `plot` of its own.
    """

    _most, _height = 30, 1.0  # features; of a row, relative to that of one bar
    _n_lines = 4  # of text above and below the rows
    _of_names = 0.4  # of the width for names, at most
    _in_units = True  # whether features are ordered by what is drawn
    _what = "features"  # what has one row

    @with_fitting_text
    def plot(
        self,
        ax: Axes | None = None,
        *,
        max_features: int | None = None,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the rows, the most important feature on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure that is large enough.
        max_features : int, default=None
            Features shown, the most important; a note says how many are not. None: 30,
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
        check_no_other_names(kwargs)
        own_figure = ax is None
        names, below, *chosen = self._chosen(ax, max_features, figsize, self._height)
        size = row_size(names, self._height, self._n_lines)
        ax = single_axes(ax, figsize, size, title)
        self.ax_, self.figure_ = ax, ax.figure
        finish_rows(ax, names)
        notes = self._mark(ax, own_figure, kwargs, *chosen)
        ax.set_xlabel(below[0])
        axes, notes = self.figure_.axes if own_figure else [ax], [*notes, *below[1:]]
        self.key_ = write_texts(ax, names, axes, notes)
        return self

    def _chosen(self, ax, max_features, figsize, height, n_panels=1):
        """The rows asked for, or as many as there is room for."""
        most = self._most if max_features is None else max_features
        check_count("max_features", most)
        share = self._of_names / n_panels**0.5
        room = Room(ax, figsize, share, self._n_lines)
        for n_lines in room.most_lines:
            found = self._rows(most, TextRoom(room.width, n_lines))
            fit = room.rows(found[0], height)
            if fit >= len(found[0]):
                return found
        if max_features is None:
            found = self._rows(fit, TextRoom(room.width, n_lines))
        return found

    def _largest(self, values, most, room, label):
        """Names of the rows with the largest values, the text below, and which."""
        order, n = np.argsort(-values, kind="stable"), len(values)
        known, limit = order[~np.isnan(values[order])], ""
        unknown = n - len(known)
        if not len(known):  # their names say what was asked for
            known = order
        shown = known[:most]
        if self._in_units and not np.isnan(values[shown]).any() and len(shown):
            limit = f", none above {values[shown[-1]]:.3g}"
        below = [label, *not_shown(len(known) - len(shown), n, self._what, limit)]
        if unknown:
            below.append(counted(unknown, n, self._what, "without an importance"))
        below += too_large(values, self._what)
        return row_names(self.feature_names, shown, room), below, shown


class Room:
    """What a figure that exists, or whose size is given, leaves for named rows.

    Parameters
    ----------
    ax : matplotlib Axes, several of them, or None
    figsize : (float, float) or None
        In inches. Without either the figure is made as large as its rows need.
    share : float, default=0.4
        Of the width for names, at most.
    n_lines : int, default=4
        Lines of text above and below the rows.

    Attributes
    ----------
    width, height : float
        Inches of a line of a name, and of all rows.
    most_lines : tuple of int or None
        How many lines a name may have: the first number with which all rows fit.
    """

    def __init__(self, ax, figsize, share=0.4, n_lines=4):
        self.height, self.width = np.inf, WIDEST * points() / 72
        self.most_lines = (None,)
        if ax is None and figsize is None:
            return
        width, height = figsize if ax is None else cell_inches(first_axes(ax))
        self.height = height - 0.2 - n_lines * line_inches()
        if ax is not None and first_axes(ax).figure.get_layout_engine() is None:
            self.height = inches(first_axes(ax))[1]
        fits = max(share * width, 8 * character_inches())
        if fits < self.width:
            self.width, self.most_lines = fits, MOST_LINES

    def rows(self, names, height):
        """How many of the rows fit, at least one; `height` is relative to a bar's.

        Names may be written somewhat smaller for that, see `fit_names`.
        """
        size = max(SMALLEST, CROWDED * points())
        need = row_inches(names, height, 1.2 * line_inches(), size)
        return int(np.clip(self.height / need - BESIDE_ROWS, 1, max(len(names), 1)))


def row_inches(names, height, least=0.25, size="medium"):
    """Inches of each row, so that neighbouring names do not touch.

    One name of several lines takes room from its neighbours' rows.
    """
    blocks = np.array([block_inches(name, size) for name in names] or [0.0])
    pairs = (blocks[1:] + blocks[:-1]) / 2
    need = pairs.max(initial=0.0) + GAP * line_inches()
    return max(least * height, need, blocks.max() / 1.5)


def row_names(feature_names, shown, room):
    """The names of the features shown, in lines that fit.

    Parameters
    ----------
    feature_names : sequence of str
    shown : sequence of int
    room : TextRoom
    """
    return unique_names([feature_names[e] for e in shown], room)


def finish_rows(ax, names):
    """Name the rows, leave room around them, draw a line at 0."""
    ax.set_yticks(range(len(names)), names)
    plain(ax.get_yticklabels())
    if names:
        beside = (1.0 + BESIDE_ROWS) / 2
        ax.set_ylim(len(names) - 1.0 + beside, -beside)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right"]].set_visible(False)
    write_powers(ax.xaxis)
    ax.axvline(0.0, color=ink(0.75), linewidth=0.8)
    ax.grid(axis="x", color=ink(0.1))
    ax.set_axisbelow(True)


def write_texts(ax, names, axes, notes):
    """Write the labels and the key of named rows, whose names then have room.

    Parameters
    ----------
    ax : matplotlib Axes
        With the names of the rows; the key is below it.
    names : list of str
    axes : iterable of matplotlib Axes
        All that have labels.
    notes : list of str
        See `write_key`.

    Returns
    -------
    matplotlib Annotation or None
        The key.
    """
    labels = without_labels(axes)
    fit_names(ax, names)
    write_labels(labels)
    key = write_key(ax, notes)
    fit_names(ax, names)
    return key


def fit_names(ax, names):
    """Write the names of rows smaller where they would touch."""
    lay_out(ax.figure)  # to know the height of the rows
    share = inches(ax)[1] / (max(len(names), 1) + BESIDE_ROWS) / row_inches(names, 0.0)
    if share >= 1:
        return
    for one in (ax, *ax.child_axes):
        for text in one.get_yticklabels():
            text.set_fontsize(max(SMALLEST, share * text.get_fontsize()))


def write_spans(ax, best, worst, label):
    """Two numbers for each row, or one where they are equal, at the right."""
    spans = [f"{b:g}" if b == w else f"{b:g}–{w:g}" for b, w in zip(best, worst)]
    write_right(ax, spans, label)


def write_right(ax, texts, label):
    """A text for each row, at the right, on an axis of its own, which is returned."""
    right = ax.secondary_yaxis("right")
    right.set_yticks(range(len(texts)), texts)
    right.set_ylabel(label)
    size_texts(right)
    right.tick_params(length=0)
    right.spines["right"].set_visible(False)
    return right


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
    width = 0.4 + max(map(text_inches, "\n".join(names).split("\n")))
    width += 4.4 if n_panels == 1 else 3.0 * n_panels
    of_rows = row_inches(names, height) * (max(len(names), 1) + BESIDE_ROWS)
    return width, 0.5 + line_inches() * n_lines + of_rows


def kinds_of_direction(directions):
    """Which way the response goes along each row's values: "rising", "falling", "both".

    Parameters
    ----------
    directions : ndarray of shape (n_rows, n_models)
        NaN: not known.

    Returns
    -------
    ndarray of str of shape (n_rows,)
        "both" also where the models differ; empty where nothing is known.
    """
    low, high = (f.reduce(directions, axis=1) for f in (np.fmin, np.fmax))
    moves = ~(np.isnan(low) | ((low == 0) & (high == 0)))
    of_rows = [~moves, low >= STEADY, high <= -STEADY]
    return np.select(of_rows, ["", "rising", "falling"], "both")


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
    for kind, marker in MARKERS.items():
        mark_names(ax, np.flatnonzero(kinds == kind), marker=marker)
    return ["triangles: rising or falling, diamonds: both"]


def mark_names(ax, at, **style):
    """Marks behind the names of some rows.

    Parameters
    ----------
    ax : matplotlib Axes
    at : sequence of int
        The rows.
    **style : dict
        Of the marks.

    Returns
    -------
    list of matplotlib Line2D
    """
    from matplotlib.transforms import offset_copy

    ax.tick_params(axis="y", pad=12.0)
    if not len(at):  # an empty line has a place in the layout, too
        return []
    at_end = ax.get_yaxis_transform()
    beside = offset_copy(at_end, ax.figure, x=-7.0, units="points")
    how = {"linestyle": "none", "markersize": 4.0, "color": ink(0.6)}
    how |= {"transform": beside, "clip_on": False} | style
    return ax.plot(np.zeros(len(at)), at, **how)


def draw_boxes(ax, rows, colors, keywords, height=0.6, above=0.0):
    """Whiskers, middle halves and medians of the values in each row.

    Parameters
    ----------
    ax : matplotlib Axes
    rows : sequence of ndarray
        From the top.
    colors : list of color
    keywords : dict
        Passed to barh.
    height, above : float
        Of the boxes, and between them and the middle of their rows.

    Returns
    -------
    matplotlib BarContainer
        The middle halves.
    """
    at = np.arange(len(rows)) - above
    rows = [row if len(row) else [np.nan] for row in rows]  # nothing to draw
    ends = [np.quantile(row, [0, 0.25, 0.5, 0.75, 1]) for row in rows]
    low, q1, median, q3, high = np.reshape(ends, (-1, 5)).T
    ax.hlines(at, low, high, ink(0.75), linewidth=1.0)
    style = {"height": height, "color": [pale(color)["color"] for color in colors]}
    style |= {"edgecolor": colors, "linewidth": 1.0}
    boxes = ax.barh(at, q3 - q1, left=q1, **(style | keywords))
    ends = at - height / 2, at + height / 2
    ax.vlines(median, *ends, ink(), linewidth=1.8, zorder=3)
    return boxes
