"""Text in pictures: names in lines, labels as wide as their axes, neutral colours."""

import re

import numpy as np

LINE_INCHES, CHARACTER_INCHES = 0.15, 0.085  # of names in matplotlib's default size
SMALLEST = 5.0  # points of the font of crowded rows


def wrapped(name, longest):
    """A name in lines of at most so many characters.

    Lines end after spaces, "_" and "+". A longer word keeps its beginning and its end,
    which tells it from other names.
    """
    lines = [""]
    for word in _words(str(name)):
        if lines[-1] and len((lines[-1] + word).strip()) > longest:
            lines.append("")
        lines[-1] += _shortened(word, longest)
    return "\n".join(line.strip() for line in lines)


def _words(name):
    """Words with the separators behind them."""
    return re.findall(r"[\s_+]*[^\s_+]+[\s_+]*|[\s_+]+", name)


def _shortened(word, longest):
    if len(word.strip()) <= longest:
        return word
    word, behind = word.strip(), (longest - 1) // 2
    return word[: longest - 1 - behind] + "…" + word[len(word) - behind :]


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


def fit_labels(axes):
    """Break the lines of the labels of axes that are longer than their axis.

    Parameters
    ----------
    axes : iterable of matplotlib Axes
        With labels; lines end where those of names do, see `wrapped`.
    """
    written = []
    for axis in (axis for ax in axes for axis in (ax.xaxis, ax.yaxis)):
        lines = axis.get_label_text().split("\n")
        if any(lines):
            written.append((axis, lines))
            axis.set_label_text("\n".join(" " for _ in lines))  # to be laid out with
    for figure in {axis.label.figure for axis, _ in written}:
        figure.draw_without_rendering()
    for axis, lines in written:
        plain([axis.label])
        box, across = axis.axes.get_window_extent(), axis.axis_name == "x"
        room = box.width if across else box.height
        fitting = [_fitting(axis.label, line, room, across) for line in lines]
        axis.set_label_text("\n".join(fitting))


def _fitting(label, line, room, across):
    """A line in as many as it needs to fit into some pixels, as the label draws it."""
    lines = [""]
    for word in _words(line):
        label.set_text((lines[-1] + word).strip())
        box = label.get_window_extent()
        if lines[-1] and (box.width if across else box.height) > room:
            lines.append("")
        lines[-1] += word
    return "\n".join(one.strip() for one in lines)


class Room:
    """What a figure that exists, or whose size is given, leaves for named rows.

    Parameters
    ----------
    ax : matplotlib Axes or None
    figsize : (float, float) or None
        In inches. Without either the figure is made as large as its rows need.
    longest : int
        Characters of a line of a name, at most.
    """

    BELOW = 0.9  # inches of the ticks, and of two lines of text

    def __init__(self, ax, figsize, longest):
        self.height, self.longest = None, longest
        if ax is not None:
            box = ax.get_window_extent()
            figsize = ax.figure.get_size_inches()
            self.height = box.height / ax.figure.dpi
        elif figsize is not None:
            self.height = max(figsize[1] - self.BELOW, 0.0)
        if self.height is not None:
            fits = int(0.4 * figsize[0] / CHARACTER_INCHES)
            self.longest = min(longest, max(8, fits))

    def rows(self, names, height):
        """How many of the rows fit, at least one; `height` is relative to a bar's."""
        if self.height is None:
            return len(names)
        return max(1, int(self.height / row_inches(names, height, least=0.0)))


def row_inches(names, height, least=0.25):
    """Inches of each row, so that names do not touch."""
    most_lines = max((1 + name.count("\n") for name in names), default=1)
    return max(least * height, LINE_INCHES * most_lines + 0.05)
