"""What the displays share: matplotlib when it is needed, names that fit."""

from __future__ import annotations

import textwrap
from numbers import Integral
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from skvarimp._types import AnyEstimator, Matrix

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


class Display:
    """The base of displays: each can start from a model and data.

    `_comparing.from_estimator` says what each class computes from them.
    """

    _made: Any  # _made(estimator, X, y, **options) -> what `_draw` takes
    _draw = "from_importance"  # the class method that draws it

    @classmethod
    def from_estimator(
        cls,
        estimator: AnyEstimator,
        X: Matrix,
        y: ArrayLike | None = None,
        *,
        ax: Any = None,
        max_entries: int | None = None,
        title: str | None = None,
        figsize: tuple[float, float] | None = None,
        **options: Any,
    ) -> Self:
        """Compute what this display shows from a model and data, and draw it.

        Parameters
        ----------
        estimator : object
            A fitted model. Displays of refits and of selections take an estimator
            and clone it; `ComparisonDisplay` takes several models, as
            `compare_importances` does.
        X : {array-like, frame, sparse} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Target, if the measure needs one.
        ax : matplotlib Axes or array-like of them, default=None
            Axes to draw into; None makes a figure.
        max_entries : int, default=None
            The most entries shown; None: the display's own limit.
        title : str, default=None
            Title of the picture.
        figsize : (float, float), default=None
            Width and height in inches of a figure of its own.
        **options : dict
            Passed to the function that computes the numbers: `importance`, for
            example, takes the name of a measure or an instance, and `cv` the folds.

        Returns
        -------
        display : Display
            The drawn display.
        """
        drawing = {"ax": ax, "title": title, "figsize": figsize}
        if max_entries is not None:
            drawing["max_entries"] = max_entries
        made = cls._made(estimator, X, y, **options)
        return getattr(cls, cls._draw)(*made, **drawing)


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


def wrapped(name, longest):
    """A name in lines of at most so many characters, never cut off."""
    return "\n".join(textwrap.wrap(str(name), longest)) or str(name)


def plain(texts):
    """Show texts literally: a "$" in a name is a dollar sign."""
    for text in texts:
        text.set_parse_math(False)


def columns_of(frame):
    """The columns of a frame of any library, name -> list."""
    return nw.from_native(frame, eager_only=True).to_dict(as_series=False)
