"""Text in pictures: names in lines, labels as wide as their axes, neutral colours."""

import re

import numpy as np

LINE, CHARACTER = 1.1, 0.6  # height and width of names, relative to the font's size
SMALLEST = 5.0  # points of the font of crowded rows
PAD = 2  # pixels between a label and the edge of its figure


def wrapped(name, longest, n_lines=None):
    """A name in as few lines of at most so many characters, of like lengths.

    Lines end after spaces, "_" and "+". Where there is no room for all words, those in
    the middle give way to "…", because the last ones tell names apart. Only a word that
    is longer than a line is cut itself.

    Parameters
    ----------
    name : str
    longest : int
        Characters of a line.
    n_lines : int, default=None
        At most; None: as many as the name takes.
    """
    words = [_cut(word, longest) for word in _words(str(name))]
    lines = _lines(words, longest)
    if n_lines is not None and len(lines) > n_lines:
        words = _kept(words, longest, n_lines)
        lines = _lines(words, longest)
    for shorter in range(longest - 1, max(map(len, words), default=0) - 1, -1):
        tighter = _lines(words, shorter)
        if len(tighter) > len(lines):
            break
        lines = tighter
    return "\n".join(line.strip() for line in lines)


def told_apart(names, longest, n_lines=None):
    """Several names as `wrapped`; those that would be equal are cut in the middle."""
    short = [wrapped(name, longest, n_lines) for name in names]
    return [
        wrapped(_cut(str(name), longest), longest) if short.count(one) > 1 else one
        for name, one in zip(names, short)
    ]


def _lines(words, longest):
    lines = [""]
    for word in words:
        if lines[-1] and len((lines[-1] + word).strip()) > longest:
            lines.append("")
        lines[-1] += word
    return lines


def _words(name):
    """Words with the separators behind them."""
    return re.findall(r"[\s_+]*[^\s_+]+[\s_+]*|[\s_+]+", name)


def _kept(words, longest, n_lines):
    """As many words from both ends as fit, with "…" between them; the last first."""
    for n in range(len(words) - 1, 0, -1):
        before, behind = words[: n // 2], words[-((n + 1) // 2) :]
        dropped = words[-len(behind) - 1]
        separator = dropped[len(dropped.rstrip("_+ ")) :]
        kept = [*before, "…" + separator, *behind]
        if len(_lines(kept, longest)) <= n_lines:
            return kept
    return words[-1:]


def _cut(word, longest):
    """At most so many characters of a word, from its beginning and its end."""
    if len(word.strip()) <= longest:
        return word
    word, behind = word.strip(), (longest - 1) // 2
    return word[: longest - 1 - behind] + "…" + word[len(word) - behind :]


def not_shown(left, n, what="entries", limit=""):
    """The lines that say how many of n things are not shown: one, or none."""
    verb = "is" if left == 1 else "are"
    return [f"{left} of {n} {what} {verb} not shown{limit}"] if left else []


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


def points(size="medium"):
    """A font's size in points, relative to `font.size` of the style in force."""
    from matplotlib.font_manager import FontProperties

    return FontProperties(size=size).get_size_in_points()


def line_inches():
    """Height of a line of text."""
    return LINE * points() / 72


def character_inches():
    """Width of a character, as a rule."""
    return CHARACTER * points() / 72


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


def fit_labels(axes):
    """Break the lines of the labels of axes where they are too long.

    A label that is longer than its axis has the room beside the axis, too, where the
    names of the other axis stand.

    Parameters
    ----------
    axes : iterable of matplotlib Axes
        With labels; lines end where those of names do, see `wrapped`.
    """
    axes = [one for ax in axes for one in (ax, *ax.child_axes)]
    # broken labels below the axes leave less height for those beside them
    for side in ("xaxis", "yaxis"):
        _fit([getattr(ax, side) for ax in axes])


def _fit(every):
    written = []
    for axis in every:
        lines = axis.get_label_text().split("\n")
        if any(lines):
            written.append((axis, lines))
            axis.set_label_text("\n".join(" " for _ in lines))  # to be laid out with
    for figure in {axis.label.figure for axis, _ in written}:
        figure.draw_without_rendering()
    for axis, lines in written:
        plain([axis.label])
        d = "xy".index(axis.axis_name)
        low, high = axis.axes.get_window_extent().get_points()[:, d]
        whole = axis.label.figure.bbox.get_points()[:, d]
        outer = axis.axes.get_tightbbox().get_points()[:, d]
        outer = np.clip(outer, whole[0] + PAD, whole[1] - PAD)
        centre = 0.5
        if max(_length(axis.label, line, d) for line in lines) > high - low:
            centre = (outer.mean() - low) / (high - low)
            low, high = outer
        fitting = [_fitting(axis.label, line, high - low, d) for line in lines]
        axis.set_label_text("\n".join(fitting))
        (axis.label.set_y if d else axis.label.set_x)(centre)


def _length(label, line, d):
    """Pixels of a line along an axis, as its label draws it."""
    label.set_text(line)
    return label.get_window_extent().size[d]


def _fitting(label, line, room, d):
    """A line in as many as it needs to fit into some pixels."""
    lines = [""]
    for word in _words(line):
        if lines[-1] and _length(label, (lines[-1] + word).strip(), d) > room:
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
    share : float, default=0.4
        Of the width for names, at most.
    n_lines : int, default=4
        Lines of text above and below the rows.
    """

    def __init__(self, ax, figsize, longest, share=0.4, n_lines=4):
        self.height, self.longest = None, longest
        around = 0.2 + n_lines * line_inches()
        if ax is not None:
            width, height = cell_inches(ax)
            self.height = height - around
            if ax.figure.get_layout_engine() is None:
                self.height = ax.get_window_extent().height / ax.figure.dpi
        elif figsize is not None:
            width, self.height = figsize[0], figsize[1] - around
        if self.height is not None:
            fits = int(share * width / character_inches())
            self.longest = min(longest, max(8, fits))

    def rows(self, names, height):
        """How many of the rows fit, at least one; `height` is relative to a bar's."""
        if self.height is None:
            return len(names)
        least = 1.2 * line_inches()
        return max(1, int(self.height / row_inches(names, height, least)))


def cell_inches(ax):
    """Inches of the part of its figure that axes were given."""
    size, spec = ax.figure.get_size_inches(), ax.get_subplotspec()
    if spec is None:
        return size
    grid = spec.get_gridspec()
    return size * [len(spec.colspan) / grid.ncols, len(spec.rowspan) / grid.nrows]


def row_inches(names, height, least=0.25):
    """Inches of each row, so that names do not touch."""
    most_lines = max((1 + name.count("\n") for name in names), default=1)
    return max(least * height, line_inches() * (most_lines + 0.5))
