"""What the displays share: axes, the size of their text, checks of what is drawn."""

from __future__ import annotations

from functools import wraps
from numbers import Integral

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils.validation import check_is_fitted

from skvarimp._display.text import character_inches, plain, size_texts

LARGEST_DRAWN = 1e100  # matplotlib squares what it draws
FULL_WIDTH, SMALLEST_SHARE = 5.0, 0.6  # inches; of the font in narrow figures

# Okabe and Ito's colours, told apart by colour-blind readers too.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#808080"]
STEADY = 0.8  # a direction, from which on a response counts as rising or falling
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
            width = first_axes(ax).figure.get_figwidth()
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
        size_texts(one)
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
    width = ax.figure.get_figwidth() if own_figure else inches(ax)[0]
    longest = max(map(len, labels))
    # the longest label, with room for its mark
    n = int(0.95 * width / (character_inches() * (0.85 * longest + 6)))
    style = {"ncols": max(1, min(n, len(labels))), "fontsize": "small"}
    style |= {"frameon": False, "columnspacing": 1.2}
    style |= {"title": heading, "title_fontsize": "small"}
    place = {"loc": f"outside {end} center"}
    if not own_figure:
        place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
        place = {"loc": "best"} if ax.get_title() else place
    to = ax.figure if own_figure else ax
    plain(to.legend(handles, labels, **style, **place).get_texts())


def inches(ax):
    """Width and height of axes."""
    return ax.get_window_extent().size / ax.figure.dpi


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
    whole = isinstance(value, Integral)
    if whole and value >= 1:
        return
    raise (ValueError if whole else TypeError)(
        f"`{parameter}` must be a whole number of at least 1, got {value!r}."
    )


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


def beside_axes(ax, points):
    """The transform of places so many points to the right of the left end, by row."""
    pyplot()
    from matplotlib.transforms import offset_copy

    at_end = ax.get_yaxis_transform()
    return offset_copy(at_end, ax.figure, x=points, units="points")


def directions_by_name(measure, names):
    """Directions of a fitted measure, (n_names,); NaN where it has none."""
    known = getattr(measure, "directions_", None)
    by_name = {} if known is None else dict(zip(measure.entry_names_, known))
    return np.array([by_name.get(name, np.nan) for name in names], dtype=np.float64)


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


def ends_by_name(measure, names):
    """Ends of a fitted measure's intervals, (n_names, 2); NaN where it has none."""
    by_name = dict(zip(measure.entry_names_, np.column_stack(measure._ends())))
    return np.array([by_name.get(name, np.full(2, np.nan)) for name in names])
