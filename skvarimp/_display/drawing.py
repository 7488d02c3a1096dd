"""What the displays share: matplotlib when it is needed, names that fit."""

import numbers
import textwrap
from contextlib import contextmanager

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils.validation import check_is_fitted

LARGEST_DRAWN = 1e100  # matplotlib squares what it draws

# Okabe and Ito's colours, told apart by colour-blind readers too.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"]


def pyplot():
    """matplotlib's pyplot, or an ImportError that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "Plots need matplotlib. Install it with `pip install matplotlib`."
        ) from None
    return plt


def single_axes(ax, figsize):
    """The axes given, or new ones in a figure of so many inches."""
    if ax is None:
        _, ax = pyplot().subplots(figsize=figsize, layout="constrained")
    return check_axes(ax)


def check_axes(ax, parameter="ax"):
    """The Axes given; TypeError where it is something else."""
    if not hasattr(ax, "barh"):
        kind = "an array of Axes" if isinstance(ax, np.ndarray) else type(ax).__name__
        raise TypeError(
            f"`{parameter}` must be matplotlib Axes, got {kind}. Leave it out for a "
            "figure of its own."
        )
    return ax


@contextmanager
def keywords_for(method, keywords):
    """Name the keywords that a matplotlib method, such as barh, does not take."""
    try:
        yield
    except (AttributeError, TypeError) as error:
        if not keywords:
            raise
        raise TypeError(
            f"Keywords are passed to matplotlib's {method}, which does not take "
            f"{sorted(keywords)} as given: {error}. Titles and sizes are set on the "
            "display's `ax_` and `figure_`."
        ) from None


def panel_axes(axes, n, things, panel, margins):
    """Axes for n panels: those given, or new ones in rows of at most three.

    Parameters
    ----------
    axes : array-like of matplotlib Axes or None
    n : int
    things : str
        What the panels show, in the plural; the caller's `n_things` limits them.
    panel, margins : (float, float)
        Width and height in inches, of each panel and beside all of them.

    Returns
    -------
    ndarray of at least n Axes
    """
    if axes is None:
        columns, rows = min(n, 3), -(-n // 3)
        size = panel[0] * columns + margins[0], panel[1] * rows + margins[1]
        _, axes = pyplot().subplots(
            rows, columns, figsize=size, squeeze=False, layout="constrained"
        )
        for ax in axes.ravel()[n:]:
            ax.set_visible(False)
    axes = np.atleast_1d(np.asarray(axes, dtype=object)).ravel()
    for ax in axes:
        check_axes(ax, "axes")
    if len(axes) < n:
        raise ValueError(
            f"`axes` has {len(axes)} axes for {n} {things}. Use n_{things} to draw "
            "fewer."
        )
    return axes


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
    """Raise where a number of things to draw is no positive integer."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise TypeError(
            f"`{parameter}` must be an integer, got {value!r} of type "
            f"{type(value).__name__}."
        )
    if value < 1:
        raise ValueError(f"`{parameter}` must be at least 1, got {value}.")


def check_has(importance, attribute, measure):
    """Raise where a display is asked to draw what a measure does not have."""
    check_is_fitted(importance)
    if getattr(importance, attribute, None) is None:
        raise TypeError(
            f"There is no `{attribute}` to draw: it takes {measure}, got "
            f"{type(importance).__name__}."
        )


def wrapped(name, longest):
    """A name in lines of at most so many characters, never cut off."""
    return "\n".join(textwrap.wrap(str(name), longest)) or str(name)


def plain(texts):
    """Show texts as they are: a "$" in a name is a dollar."""
    for text in texts:
        text.set_parse_math(False)


def columns_of(frame):
    """The columns of a frame of any library, name -> list."""
    return nw.from_native(frame, eager_only=True).to_dict(as_series=False)
