"""Numbers and lists of names as they stand in a sentence."""

from __future__ import annotations

import numpy as np

MOST_NAMES = 8  # in a sentence


def number(value):
    """A number to three digits."""
    if not np.isfinite(value):
        return str(value)
    rounded = float(f"{value:.3g}")
    if rounded == 0.0:
        return "0"
    if 1e-4 <= abs(rounded) < 1e6:
        places = max(0, 2 - int(np.floor(np.log10(abs(rounded)))))
        return f"{rounded:,.{places}f}"
    return f"{rounded:.2e}"


def with_interval(value, lower, upper):
    """A number with its 95% interval, where that is known."""
    if not (np.isfinite(lower) and np.isfinite(upper)):
        return f"{number(value)} (no interval known)"
    return f"{number(value)} ({number(lower)} to {number(upper)})"


def listed(names, most=MOST_NAMES, last="and"):
    """Names in a sentence: "a", "a and b", "a, b and c", "a, b and 7 more"."""
    names = [str(name) for name in names]
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def counted(n, noun, several=None):
    """A count with its noun: "1 row", "20 000 rows"."""
    shown = f"{n:,}".replace(",", " ")
    return f"{shown} {noun if n == 1 else several or noun + 's'}"
