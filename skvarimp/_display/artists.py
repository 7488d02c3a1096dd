"""Subclasses of matplotlib's: a text below an axis, ticks and their numbers.

Displays import this module only when they draw, because matplotlib is optional.
"""

import numpy as np
from matplotlib.dates import AutoDateLocator
from matplotlib.text import Annotation, Text
from matplotlib.ticker import AutoLocator, Formatter
from matplotlib.transforms import Bbox, IdentityTransform

from skvarimp._display.texts import PAD, points, text_inches

SMALLEST_POWER, LARGEST_POWER, MOST_DIGITS = -4, 5, 9  # of ten, written at ticks
WIDER = 1.2  # so much wider must an axis become to have more ticks
# steps of dates from second to month, for ranges just short of three of the next unit
LONGEST_STEPS = {
    freq: [*steps, last]
    for freq, steps, last in (
        (1, [1, 2, 3, 4, 6], 12),
        (3, [1, 2, 3, 7, 14, 21], 31),
        (4, [1, 2, 3, 4, 6, 12], 24),
        (5, [1, 5, 10, 15, 30], 60),
        (6, [1, 5, 10, 15, 30], 60),
    )
}  # of the frequencies of dateutil's rules


class Key(Annotation):
    """A text below the label of an axis, of which a layout heeds the height alone.

    Whatever becomes of the axes, it does not leave the figure sideways.

    Parameters
    ----------
    ax : matplotlib Axes
    color : color
    """

    def __init__(self, ax, color):
        style = {"xycoords": ("axes fraction", ax.xaxis.label), "va": "top"}
        style |= {"xytext": (0, -3), "textcoords": "offset points", "ha": "center"}
        style |= {"annotation_clip": False, "clip_on": False, "fontsize": "small"}
        style |= {"transform": IdentityTransform(), "color": color}
        super().__init__(" ", (0.5, 0), **style)
        self.set_parse_math(False)

    def get_tightbbox(self, renderer=None):
        box = super().get_tightbbox(renderer)
        middle = (box.x0 + box.x1) / 2  # axes do not shrink for a long key
        return Bbox.from_extents(middle, box.y0, middle + 1.0, box.y1)

    def update_positions(self, renderer):
        super().update_positions(renderer)
        whole, pixels = self.figure.bbox, self.figure.dpi / 72  # of a point
        shift = self.get_position()[0] * pixels
        low, high = Text.get_window_extent(self, renderer).intervalx - shift
        over = max(whole.x0 + PAD - low, 0.0) - max(high - whole.x1 + PAD, 0.0)
        if abs(over - shift) > 0.5:
            self.set_x(over / pixels)


class FewTicks(AutoLocator):
    """Ticks side by side are as few as their numbers have room for."""

    _last = None, 0.0, ()

    def __call__(self):
        ax = self.axis.axes
        width = ax.get_window_extent().width / ax.figure.dpi
        ticks = self._fitting(width)
        view = tuple(self.axis.get_view_interval())
        of_view, before, fewest = self._last
        # more ticks would need another layout, in which there would be fewer
        if view == of_view and width < WIDER * before and len(fewest) < len(ticks):
            return fewest
        self._last = view, width, ticks
        return ticks

    def _fitting(self, width):
        ticks, axis = np.asarray(super().__call__()), self.axis
        low, high = sorted(axis.get_view_interval())
        inside = ticks[(ticks >= low) & (ticks <= high)]
        if axis.axis_name != "x" or len(inside) < 2:
            return ticks
        size = points(axis.get_tick_params()["labelsize"])
        texts = axis.get_major_formatter().format_ticks(inside)
        widest = max(text_inches(text, size) for text in texts) + size / 72
        pitch = width * (inside[1] - inside[0]) / (high - low)
        every = int(np.ceil(widest / max(pitch, 1e-6 * widest)))
        return ticks[np.argmin(np.abs(ticks)) % every :: every]


class WithPowers(Formatter):
    """Numbers at ticks with powers of ten, as in 2.5e6."""

    _written = None

    def format_ticks(self, values):
        self._written = values
        return [self(value) for value in values]

    def __call__(self, x, pos=None):
        written = [x] if self._written is None else self._written
        places = np.asarray(written, dtype=np.float64)
        largest = np.abs(places).max(initial=0.0)
        power = int(np.floor(np.log10(largest))) if largest > 0 else 0
        power = 0 if SMALLEST_POWER < power < LARGEST_POWER else power
        step = np.diff(np.unique(places)).min(initial=np.inf) / 10.0**power
        shown, digits = places / 10.0**power, 0
        while digits < MOST_DIGITS and np.any(
            np.abs(shown - np.round(shown, digits)) > 1e-3 * step
        ):
            digits += 1
        text = f"{x / 10.0**power:.{digits}f}"
        text = f"{text}e{power}" if power and x != 0 else text
        return self.fix_minus(text)


class FewDates(AutoDateLocator):
    """Dates, as few as are asked for.

    Parameters
    ----------
    most : int
    """

    def __init__(self, most):
        super().__init__(minticks=3, maxticks=5)
        self.intervald = self.intervald | LONGEST_STEPS
        self._most = most

    def __call__(self):
        ticks = super().__call__()
        return ticks[:: -(-len(ticks) // self._most)]
