"""Which of many combinations run by default; the others are marked `thorough`.

Each function returns rows for `pytest.mark.parametrize`.
"""

import os
from itertools import combinations, product

import pytest
from _pytest.mark import ParameterSet

# where tasks run, for `joblib.parallel_config`; each worker process imports all anew
BACKENDS = ["threading", pytest.param("loky", marks=pytest.mark.thorough)]


def _rows(every, by_default):
    """All rows as parameters, those that do not run by default with the marker."""
    return [
        pytest.param(*row, marks=[] if chosen else pytest.mark.thorough)
        for row, chosen in zip(every, by_default)
    ]


def examples(n):
    """How many examples of hypothesis: fewer by default than where all tests run."""
    return max(1, 2 * n // 5) if os.environ["HYPOTHESIS_PROFILE"] == "suite" else n


def half(rows):
    """All rows; by default the first and the last of each four: neighbours are alike.

    Of rows of the functions below, half of those that would run by default.
    """
    chosen, n = [], 0
    for row in rows:
        if not isinstance(row, ParameterSet):
            row = pytest.param(*(row if isinstance(row, tuple) else (row,)))
        if not row.marks:
            marks = [] if n % 4 in (0, 3) else pytest.mark.thorough
            row = pytest.param(*row.values, marks=marks, id=row.id)
            n += 1
        chosen.append(row)
    return chosen


def each(*axes):
    """The full product; by default every value of every axis runs at least once.

    For axes whose combinations other tests cover: the axes run side by side, the
    shorter ones repeated.
    """
    axes = [list(axis) for axis in axes]
    n = max(map(len, axes))
    chosen = {tuple(i % len(axis) for axis in axes) for i in range(n)}
    places = list(product(*(range(len(axis)) for axis in axes)))
    return _rows(product(*axes), [place in chosen for place in places])


def pairwise(*axes):
    """The full product; by default any two values of two axes meet at least once.

    What fails, nearly always fails by one value or by two values together. Greedy: the
    next row is the first one with the most pairs that have not met.
    """
    axes = [list(axis) for axis in axes]
    places = list(product(*(range(len(axis)) for axis in axes)))
    pairs = {place: set(combinations(enumerate(place), 2)) for place in places}
    missing, chosen = set().union(*pairs.values()), set()
    while missing:
        best = max(places, key=lambda place: len(pairs[place] & missing))
        missing -= pairs[best]
        chosen.add(best)
    return _rows(product(*axes), [place in chosen for place in places])


def one_per(key, rows):
    """All rows; by default only the first one of each value of `key(*row)` runs."""
    rows = [tuple(row) for row in rows]
    keys = [key(*row) for row in rows]
    return _rows(rows, [k not in keys[:i] for i, k in enumerate(keys)])
