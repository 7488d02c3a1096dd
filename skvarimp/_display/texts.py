"""Texts as wide as they are drawn: measured, broken into lines, cut, told apart."""

from __future__ import annotations

import re
import warnings
from ast import literal_eval
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

LINE, CHARACTER = 1.2, 0.6  # height and width of Latin text, relative to its size
LINE_SPACING = 1.2  # of matplotlib, relative to the height of letters
HINTING = 1.05  # texts may be so much wider at another resolution
PAD = 2  # pixels between a text and the edge of its figure
MOST_WORDS, WORDS_SHARE = 30, 0.6  # of cut names; of the characters that would fit
# Characters after which a line may end, and those of scripts without spaces, between
# any two of which it may.
SEPARATORS, WIDE, CLOSING = r"\s_+/:", "⺀-鿿＀-￯", "、。，．・）」』】ー"
_WORD = re.compile(
    f"[{SEPARATORS}]*(?:[{WIDE}][{CLOSING}]*|[^{SEPARATORS}{WIDE}]+)[{SEPARATORS}]*"
    f"|[{SEPARATORS}]+"
)


def points(size="medium"):
    """A font's size in points, relative to `font.size` of the style in force."""
    from matplotlib.font_manager import FontProperties

    return FontProperties(size=size).get_size_in_points()


def line_inches():
    """Height of a line of text."""
    return LINE * points() / 72


def character_inches():
    """Width of a Latin character, as a rule."""
    return CHARACTER * points() / 72


def text_inches(text, size="medium", family=None):
    """Width of one line, in the style in force.

    Parameters
    ----------
    text : str
    size : float or str, default="medium"
        In points, or relative to `font.size`.
    family : str, default=None
        Of the font; None: that of the style.
    """
    advances = _letters(family)
    ems = sum(advances[letter][0] for letter in text)
    return HINTING * ems * points(size) / 72


def block_inches(text, size="medium"):
    """Height of the lines of a text, in the style in force."""
    letters, spacing = _letters(None), 0.0
    for line in text.split("\n"):
        tallest = max((letters[letter][1] for letter in line), default=0.0)
        spacing += max(LINE, LINE_SPACING * tallest)
    return spacing * points(size) / 72


def _letters(family):
    from matplotlib import rcParams

    families = [family or rcParams["font.family"]]
    families += [rcParams[f"font.{kind}"] for kind in ("sans-serif", "serif")]
    return _measured(str(families))


@lru_cache(maxsize=32)
def _measured(families):
    """Letters, measured when they are first asked for, in the fonts in force."""
    return _Letters(literal_eval(families)[0])


class _Letters(dict):
    """Letter -> advance and height, relative to the size of a font."""

    def __init__(self, family):
        from matplotlib.font_manager import FontProperties

        self._font = FontProperties(family=family, size=100.0)

    def __missing__(self, letter):
        from matplotlib.textpath import text_to_path

        size = partial(
            text_to_path.get_text_width_height_descent, prop=self._font, ismath=False
        )
        with warnings.catch_warnings():  # drawing says what glyphs the font lacks
            warnings.simplefilter("ignore")
            one, many = size(letter), size(11 * letter)  # without the ends of the first
        self[letter] = (many[0] - one[0]) / 1000.0, one[1] / 100.0
        return self[letter]


@dataclass(frozen=True)
class TextRoom:
    """What there is for a text.

    Parameters
    ----------
    width : float
        Of a line, in the unit of `measure`.
    n_lines : int, default=None
        At most; None: as many as the text takes.
    measure : callable, default=None
        Text -> its width; None: inches in the font of the style in force.
    """

    width: float
    n_lines: int | None = None
    measure: Callable[[str], float] | None = None

    def lines(self, words):
        """Words in lines; words that are wider than a line are split."""
        measure, lines = self.measure or text_inches, [""]
        width = self.width
        for word in words:
            if measure((lines[-1] + word).strip()) <= width:
                lines[-1] += word
                continue
            lines += [""] if lines[-1] else []
            while measure(word.strip()) > width and len(word.strip()) > 1:
                part = _beginning(word, width, measure)
                lines[-1:] = [part, ""]
                word = word[len(part) :]
            lines[-1] += word
        return lines

    def holds(self, text):
        """Whether a text needs no more lines than there are."""
        return self.n_lines is None or len(self.lines(words_of(text))) <= self.n_lines


def _beginning(word, width, measure):
    """As many characters of a word as fit into a line, at least one."""
    low, high = 1, len(word) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if measure(word[:middle].strip()) <= width:
            low = middle
        else:
            high = middle - 1
    return word[:low]


def words_of(text):
    """Words with the separators behind them."""
    return _WORD.findall(text)


def wrapped(name, room):
    """A name in few lines of like widths.

    Lines end after spaces, "_", "+", "/" and ":", and between the characters of
    Chinese and Japanese. Where there is no room for all words, those in the middle give
    way to "…", because both the first and the last ones tell names apart.

    Parameters
    ----------
    name : str
    room : TextRoom
    """
    return _in_lines(_shortened(str(name), room), room)


def unique_names(names, room):
    """Several names as `wrapped`; different names stay different.

    Those that would be equal are cut at another place, or numbered where that does not
    help.

    Parameters
    ----------
    names : sequence of str
    room : TextRoom
    """
    names = [str(name) for name in names]
    short = [_shortened(name, room) for name in names]
    for alike in _alike(names, short):
        own = [_around_difference(name, room) for name in _differing(names, alike)]
        if len(set(own)) < len({names[e] for e in alike}):
            own = [_cut(names[e], room, f" ({e + 1})") for e in alike]
        for e, one in zip(alike, own):
            short[e] = one
    return [_in_lines(one, room) for one in short]


def _alike(names, short):
    """Lists of places of different names that are shown alike."""
    places = {}
    for e, one in enumerate(short):
        places.setdefault(one, []).append(e)
    return [at for at in places.values() if len({names[e] for e in at}) > 1]


def _differing(names, alike):
    """Each name in three parts: the first and the last are those of all."""
    of_all = [names[e] for e in alike]
    before = _in_common(of_all)
    behind = _in_common([name[before:][::-1] for name in of_all])
    return [
        (name[:before], name[before : len(name) - behind], name[len(name) - behind :])
        for name in of_all
    ]


def _in_common(names):
    """How many characters all names begin with."""
    first, last = min(names), max(names)
    pairs = enumerate(zip(first, last))
    return next((k for k, (a, b) in pairs if a != b), min(len(first), len(last)))


def _around_difference(parts, room):
    """The beginning of a name and what surrounds the part in which it differs."""
    before, own, behind = parts

    def cut(n):
        rest = max(n - len(own), 0)
        first, near = -(-rest // 3), rest // 3
        left = before
        if len(before) > first + near:
            left = before[:first] + "…" + before[len(before) - near :]
        last = rest - first - near
        return left + own + (behind if len(behind) <= last else behind[:last] + "…")

    return _longest(cut, len("".join(parts)), room)


def _in_lines(text, room):
    """The lines of a text, as narrow as they can be without more of them."""
    words = words_of(text)
    lines = room.lines(words)
    low, high = 0.0, room.width
    for _ in range(7 if len(lines) > 1 else 0):
        middle = (low + high) / 2
        tighter = TextRoom(middle, measure=room.measure).lines(words)
        # only where words end, too
        whole = len(tighter) <= len(lines) and "".join(tighter) == text
        if whole and _breaks(tighter, words) <= _breaks(lines, words):
            lines, high = tighter, middle
        else:
            low = middle
    return "\n".join(line.strip() for line in lines)


def _breaks(lines, words):
    """How many lines end inside a word."""
    ends = set(np.cumsum([len(word) for word in words]).tolist())
    return sum(end not in ends for end in np.cumsum([len(line) for line in lines]))


def _shortened(name, room):
    """A name without the words, or the characters, for which there is no room."""
    if room.holds(name):
        return name
    words, by_character = words_of(name), _cut(name, room)
    for n in range(min(len(words) - 1, MOST_WORDS), 1, -1):
        # as many from both ends, or as nearly as many as there is room for
        for first in sorted(range(1, n), key=lambda k: abs(2 * k - n)):
            before, behind = words[:first], words[len(words) - (n - first) :]
            dropped = words[first + len(words) - n - 1]
            separator = dropped[len(dropped.rstrip("_+/: ")) :]
            kept = "".join([*before, "…" + separator, *behind])
            if room.holds(kept):
                # unless one long word would take nearly all of the others
                enough = len(kept) > WORDS_SHARE * len(by_character)
                return kept if enough else by_character
    return by_character


def _cut(name, room, end=""):
    """As many characters as fit of the beginning and the end, at least two."""

    def cut(n):
        return name[: -(-n // 2)] + "…" + name[len(name) - n // 2 :] + end

    return _longest(cut, len(name), room)


def _longest(cut, most, room):
    """The longest of the texts cut(2), cut(3), ... for which there is room."""
    low, high = 2, max(2, most - 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if room.holds(cut(middle)) else (low, middle - 1)
    return cut(low)
