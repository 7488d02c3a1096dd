"""Figures of displays as SVG, for light and for dark pages."""

from __future__ import annotations

import warnings
from base64 import b64encode
from dataclasses import dataclass
from io import BytesIO

from skvarimp._display.drawing import pyplot

STYLES = {"light": "default", "dark": "dark_background"}


@dataclass(frozen=True)
class Picture:
    """A figure as two SVG files that a page can hold.

    Attributes
    ----------
    light, dark : str
        Data addresses of the figure for light and for dark pages.
    alt : str
        What the figure shows, for those who do not see it.
    least_width : str
        Below which it is scrolled sideways, in CSS.
    """

    light: str
    dark: str
    alt: str
    least_width: str


def picture(draw, alt, least_width="0"):
    """The figure that `draw` makes, as a `Picture`.

    Parameters
    ----------
    draw : callable
        draw() -> matplotlib Figure. It is called once for each style.
    alt : str
    least_width : str, default="0"
    """
    return Picture(*(_svg(draw, style) for style in STYLES.values()), alt, least_width)


def _svg(draw, style):
    """The address of one drawing."""
    plt = pyplot()
    settings = {"svg.hashsalt": "skvarimp", "axes.facecolor": "none"}
    # letters that the font lacks are left to the browser
    with (
        plt.style.context([style, settings]),
        warnings.catch_warnings(record=True) as seen,
    ):
        warnings.simplefilter("always")
        figure = draw()
        text = _saved(figure)
        if any("missing from font" in str(one.message) for one in seen):
            with plt.rc_context({"svg.fonttype": "none"}):
                text = _saved(figure)
        plt.close(figure)
    return f"data:image/svg+xml;base64,{b64encode(text).decode()}"


def _saved(figure):
    """The figure as SVG, without its date, so that equal reports are equal files."""
    file = BytesIO()
    figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    return file.getvalue()
