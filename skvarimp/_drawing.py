"""What the displays share: matplotlib when it is needed, names that fit."""

import numbers
import textwrap

import numpy as np
from sklearn.utils.validation import check_is_fitted

LARGEST_DRAWN = 1e100  # matplotlib squares what it draws


def pyplot():
    """matplotlib's pyplot, or an ImportError that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "Plots need matplotlib. Install it with `pip install matplotlib`."
        ) from None
    return plt


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
