"""What the displays share: axes, texts that fit, neutral colours, checks."""

from __future__ import annotations

from functools import partial, wraps
from numbers import Integral

import numpy as np
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from skvarimp._display.texts import (
    HINTING,
    PAD,
    TextRoom,
    points,
    text_inches,
    unique_names,
    wrapped,
)

LARGEST_DRAWN = 1e100  # matplotlib squares what it draws
TOO_LARGE = "too large to draw"
FULL_WIDTH, SMALLEST_SHARE = 5.0, 0.6  # inches; of the font in narrow figures
HALO = 2.0  # points of paper around lines that cross bars
BESIDE_LABEL = 4.0  # of a legend: mark and gaps, relative to the font's size
SMALL = partial(text_inches, size="small")

# Okabe and Ito's colours, told apart by colour-blind readers too.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#808080"]
CONTRAST = 3.1  # of lines and marks with their paper, a little above the 3 to 1 asked
PALE = 0.7  # the share of paper in bars on which lines and marks lie
DIVERGING = "RdBu_r"  # of values of both signs, for colour-blind readers, too


def pyplot():
    """matplotlib's pyplot, or an ImportError that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "Plots need matplotlib. Install it with `pip install matplotlib`."
        ) from None
    return plt


def with_fitting_text(plot):
    """Let a display's `plot` write smaller in figures narrower than 5 inches."""

    @wraps(plot)
    def drawn(self, ax=None, *, figsize=None, **keywords):
        plt, width = pyplot(), FULL_WIDTH
        if ax is not None:
            width = inches(first_axes(ax).figure)[0]
        elif figsize is not None:
            width = figsize[0]
        share = np.clip(width / FULL_WIDTH, SMALLEST_SHARE, 1.0)
        with plt.rc_context({"font.size": share * plt.rcParams["font.size"]}):
            return plot(self, ax, figsize=figsize, **keywords)

    return drawn


def first_axes(ax):
    """The axes given, or the first of them."""
    first = next(iter(np.ravel(np.asarray(ax, dtype=object))), None)
    _check_axes(first)
    return first


def axes_for(ax, n, figsize, size, title=None, columns=3, **grid):
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
        size_texts(one)
    if len(axes) < n:
        raise ValueError(
            f"`ax` has {len(axes)} axes for {n} panels. Pass one for each, or ax=None."
        )
    if title is not None:
        entitle = axes[0].set_title if given else axes[0].figure.suptitle
        width = inches(axes[0])[0] if given else inches(axes[0].figure)[0] - 0.2
        size = entitle(" ").get_fontsize()
        room = TextRoom(width, measure=partial(text_inches, size=size))
        plain([entitle(wrapped(title, room))])
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


def add_legend(ax, own_figure, handles, labels, end="lower", heading=None):
    """One legend: outside all panels of a figure of its own, else above the axes.

    Parameters
    ----------
    ax : matplotlib Axes
    own_figure : bool
    handles : list of matplotlib artists
    labels : list of str
    end : {"lower", "upper"}, default="lower"
        Of the figure of its own.
    heading : str, default=None
        Lines over the labels.
    """
    width = inches(ax.figure if own_figure else ax)[0]
    em = points("small") / 72
    labels = unique_names(labels, TextRoom(width - 4.0 * em, 2, SMALL))
    columns = _legend_columns(labels, width / em)
    order = [e for column in columns for e in column]
    handles, labels = [handles[e] for e in order], [labels[e] for e in order]
    style = {"ncols": len(columns), "fontsize": "small"}
    style |= {"frameon": False, "columnspacing": 1.2}
    style |= {"title": heading, "title_fontsize": "small"}
    place = {"loc": f"outside {end} center"}
    if not own_figure:
        place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
        place = {"loc": "best"} if ax.get_title() else place
    to = ax.figure if own_figure else ax
    legend = to.legend(handles, labels, **style, **place)
    legend.get_title().set_color(ink(0.65))
    plain(legend.get_texts())


def _legend_columns(labels, width):
    """Which labels stand in each column of a legend that is read row by row.

    All rows but the last have the same length, and are as long as fits into a width,
    relative to the font's size.
    """
    widths = [max(map(SMALL, label.split("\n"))) * 72 for label in labels]
    widths = np.array(widths) / points("small") + BESIDE_LABEL
    each = np.arange(len(labels))
    for n_rows in range(1, len(labels) + 1):
        n = -(-len(labels) // n_rows)
        # matplotlib fills columns one by one, the first ones with one more
        columns = [each[c::n] for c in range(n)]
        if sum(widths[column].max() for column in columns) + 2.0 < width:
            return columns
    return [each]


def write_key(ax, notes):
    """What marks are and what is not shown: small and grey, below the label of an axis.

    It is a text of its own, so that another label does not erase it. Axes of a figure
    that does not lay itself out become smaller where texts would leave the figure.

    Parameters
    ----------
    ax : matplotlib Axes
        With its label, see `fit_labels`.
    notes : list of str

    Returns
    -------
    matplotlib Annotation or None
    """
    keep_inside(ax)
    if not notes:
        return None
    from skvarimp._display.artists import Key

    key, figure = ax.add_artist(Key(ax, ink(0.65))), ax.figure
    low, high = ax.get_window_extent().intervalx
    text, length = " · ".join(notes), partial(_pixels, key, 0)
    if length(text) > high - low:
        left, right = np.add(figure.bbox.intervalx, [PAD, -PAD])
        outer = np.clip(ax.get_tightbbox().intervalx, left, right)
        key.xy = (outer.mean() - low) / (high - low), 0
        low, high = outer
    lines = wrapped(text, TextRoom((high - low) / HINTING, measure=length)).split("\n")
    # a line neither begins nor ends with what stands between two notes
    key.set_text("\n".join(line.strip(" ·") for line in lines))
    keep_inside(ax)
    return key


def keep_inside(ax):
    """Make axes smaller where nothing else keeps their texts inside the figure.

    Parameters
    ----------
    ax : matplotlib Axes
        Of any figure; a figure that lays itself out needs nothing.
    """
    from matplotlib.transforms import Bbox

    figure = ax.figure
    if figure.get_layout_engine() is not None:
        return
    lay_out(figure)
    outer, whole = ax.get_tightbbox().get_points(), figure.bbox.get_points()
    low = np.maximum(whole[0] + PAD - outer[0], 0.0) / figure.bbox.size
    high = np.maximum(outer[1] - whole[1] + PAD, 0.0) / figure.bbox.size
    box = ax.get_position().get_points()
    most = 0.4 * (box[1] - box[0])
    box += [np.minimum(low, most), -np.minimum(high, most)]
    ax.set_position(Bbox(box))


def write_powers(axis):
    """Let the ticks of an axis say powers of ten, as in 2.5e6, not a text at its end.

    Ticks side by side are as few as their numbers have room for.

    Parameters
    ----------
    axis : matplotlib Axis
    """
    from skvarimp._display.artists import FewTicks

    axis.set_major_locator(FewTicks())
    axis.set_major_formatter(powers())


def powers():
    """A formatter of ticks that writes powers of ten behind each number."""
    from skvarimp._display.artists import WithPowers

    return WithPowers()


def inches(part):
    """Width and height of axes, or of a figure or a part of it."""
    return part.get_window_extent().size / part.figure.dpi


def n_columns(ax):
    """How many panels stand side by side in the grid that an Axes is part of."""
    spec = ax.get_subplotspec()
    return 1 if spec is None else spec.get_gridspec().ncols


def drawable(values, shape, parameter):
    """Values as float64 of one shape, NaN where they are too large to draw."""
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
    return np.where(np.abs(values) > LARGEST_DRAWN, np.nan, values)


def number_format(largest, digits=2):
    """So many digits of the largest number, and as many places of all others."""
    if largest is np.ma.masked or not 0 < largest < np.inf:
        return "{:.0f}"
    places = digits - 1 - int(np.floor(np.log10(largest)))
    return f"{{:.{max(places, 0)}f}}" if -3 < places < 6 else f"{{:.{digits - 2}e}}"


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


def not_shown(left, n, what="features", limit=""):
    """The lines that say how many of n things are not shown: one, or none."""
    return [f"{counted(left, n, what, 'not shown')}{limit}"] if left else []


def too_large(values, what="features"):
    """The lines that say how many of the values are not drawn: one, or none."""
    beyond = np.count_nonzero(np.abs(values) > LARGEST_DRAWN)
    return [counted(beyond, len(values), what, TOO_LARGE)] if beyond else []


def counted(some, n, what, state):
    """How many of n things are in a state."""
    return f"{some} of {n} {what} {'is' if some == 1 else 'are'} {state}"


def plain(texts):
    """Show texts literally: a "$" in a name is a dollar sign."""
    for text in texts:
        text.set_parse_math(False)


def ink(share=1.0):
    """A neutral colour of the style in force, from its background, 0, to its text."""
    from matplotlib import rcParams
    from matplotlib.colors import to_rgba

    paper = np.array(to_rgba(rcParams["axes.facecolor"]))
    if paper[3] == 0:  # the axes are transparent
        paper = np.array(to_rgba(rcParams["figure.facecolor"]))
    text = np.array(to_rgba(rcParams["text.color"]))
    return tuple(np.append((1 - share) * paper[:3] + share * text[:3], 1.0))


def size_texts(ax):
    """Give labels and ticks of axes the sizes of the style in force."""
    from matplotlib import rcParams

    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set_size(rcParams["axes.labelsize"])
        size = points(rcParams[f"{axis.axis_name}tick.labelsize"])
        axis.set_tick_params(labelsize=size)  # of ticks to come, too
        axis.offsetText.set_size(size)


def mixed(color, share, other=1.0):
    """A colour with a share of the text's, or of another `ink`."""
    from matplotlib.colors import to_rgb

    return tuple(
        (1 - share) * np.array(to_rgb(color)) + share * np.array(ink(other)[:3])
    )


def contrast(first, second):
    """Of two colours, 1 to 21, as in the web's guidelines for contents.

    Parameters
    ----------
    first, second : color
    """
    low, high = sorted([_luminance(first), _luminance(second)])
    return (high + 0.05) / (low + 0.05)


def _luminance(color):
    from matplotlib.colors import to_rgb

    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def hue(k):
    """The k-th colour, with more of the text's colour where the paper is too alike."""
    color, paper = COLORS[k % len(COLORS)], ink(0.0)
    shares = np.linspace(0.0, 1.0, 21)
    mixes = [mixed(color, share) for share in shares]
    return next((mix for mix in mixes if contrast(mix, paper) >= CONTRAST), mixes[-1])


def pale(color):
    """A colour of bars on which lines and marks lie; its edge has the full colour."""
    return {"color": mixed(color, PALE, 0.0), "edgecolor": color, "linewidth": 0.8}


def thin(color):
    """As pale as a thin line can be."""
    mixes = [mixed(color, share, 0.0) for share in np.linspace(0.6, 0.0, 13)]
    return next((m for m in mixes if contrast(m, ink(0.0)) >= CONTRAST), mixes[-1])


def fill_band(ax, at, low, high, color, **style):
    """A band between two lines, which are thin."""
    from matplotlib.colors import to_rgba

    style |= {"facecolor": to_rgba(color, 0.25), "edgecolor": thin(color), "lw": 0.6}
    ax.fill_between(at, low, high, zorder=1, **style)


def with_halo(artists, width=1.0):
    """Give lines an edge of paper, so that they are seen on what they cross.

    Parameters
    ----------
    artists : iterable of matplotlib artists
    width : float, default=1.0
        Of the lines, in points.
    """
    from matplotlib.patheffects import withStroke

    for artist in artists:
        stroke = withStroke(linewidth=width + HALO, foreground=ink(0.0))
        artist.set_path_effects([stroke])


def fit_labels(axes):
    """Break the lines of the labels of axes where they are too long.

    Parameters
    ----------
    axes : iterable of matplotlib Axes
        With labels; lines end where those of names do, see `wrapped`.
    """
    write_labels(without_labels(axes))


def without_labels(axes):
    """Blank lines for the labels of axes, so that their lengths change no layout.

    Parameters
    ----------
    axes : iterable of matplotlib Axes

    Returns
    -------
    list of (Axis, list of str)
        The lines, for `write_labels`.
    """
    every, written = [one for ax in axes for one in (ax, *ax.child_axes)], []
    for axis in [axis for ax in every for axis in (ax.xaxis, ax.yaxis)]:
        lines = axis.get_label_text().split("\n")
        if any(lines):
            written.append((axis, lines))
            axis.set_label_text("\n".join(" " for _ in lines))
    return written


def write_labels(written):
    """Write labels in lines that are short enough.

    A label that is longer than its axis has the room beside the axis, too, where the
    names of the other axis stand.

    Parameters
    ----------
    written : list of (Axis, list of str)
        See `without_labels`.
    """
    figures = {axis.label.figure for axis, _ in written}
    for figure in figures:
        lay_out(figure)
    for d in (0, 1):
        grown = [_write(*one, d) for one in written if one[0].axis_name == "xy"[d]]
        # broken labels below the axes leave less height for those beside them, and
        # those less width for the key
        for figure in figures if any(grown) else ():
            lay_out(figure)


def _write(axis, lines, d):
    """Write one label; whether it has more lines than it had."""
    plain([axis.label])
    low, high = axis.axes.get_window_extent().get_points()[:, d]
    whole = axis.label.figure.bbox.get_points()[:, d]
    outer = axis.axes.get_tightbbox().get_points()[:, d]
    outer = np.clip(outer, whole[0] + PAD, whole[1] - PAD)
    length, centre = partial(_pixels, axis.label, d), 0.5
    if max(map(length, lines)) > high - low:
        centre = (outer.mean() - low) / (high - low)
        low, high = outer
    room = TextRoom((high - low) / HINTING, measure=length)
    broken = "\n".join(wrapped(line, room) for line in lines)
    axis.set_label_text(broken)
    (axis.label.set_y if d else axis.label.set_x)(centre)
    return broken.count("\n") >= len(lines)


def lay_out(figure):
    """Let the whole of a figure find the places of what it shows, if it has changed."""
    whole = figure.figure
    if whole.stale:
        whole.draw_without_rendering()


def _pixels(label, d, line):
    """Pixels of a line along an axis, as its label draws it."""
    label.set_text(line)
    return label.get_window_extent().size[d]


def cell_inches(ax):
    """Inches of the part of its figure that axes were given."""
    size, spec = inches(ax.figure), ax.get_subplotspec()
    if spec is None:
        return size
    grid = spec.get_gridspec()
    return size * [len(spec.colspan) / grid.ncols, len(spec.rowspan) / grid.nrows]
