"""Partial dependence for pictures: on two columns at once, and on some values."""

from dataclasses import replace

import numpy as np

from skvarimp._data.values import is_missing
from skvarimp._measures.interaction.statistics import MeanCurves, together

VALUES = 25  # of each column, at most


def spread_cells(move, most):
    """At most so many cells, equally spaced with both ends; also a missing value's.

    Returns
    -------
    ndarray of int
    """
    last = move.values[-1] if move.values.ndim == 1 else 0.0
    n_known = move.n_cells - is_missing(last)
    cells = np.linspace(0, n_known - 1, min(n_known, most)).round().astype(np.intp)
    return np.union1d(cells, np.arange(max(n_known, 0), move.n_cells))


def check_columns(entries, pairs):
    """Raise where an entry of a pair is a group, which has no axis."""
    for entry in (entries[e] for pair in pairs for e in pair):
        if len(entry.columns) > 1:
            raise ValueError(
                f"`pairs` names the group {entry.name!r}, which has no single axis to "
                "be drawn on. Use pairs of columns."
            )


def joint_dependence(problem, entries, pairs, request):
    """Mean response over the rows at each value of two columns.

    Parameters
    ----------
    problem : Problem
    entries : list of Entry
    pairs : list of (int, int)
        Positions of the entries.
    request : Request
        Of each column at most `VALUES` are used, spread over the grid.

    Returns
    -------
    dict
        (name, name) -> (values of the first, values of the second, averages of shape
        (n_first, n_second) or (n_first, n_second, n_outputs)).
    """
    joint = [together([entries[j], entries[k]]) for j, k in pairs]
    curves = MeanCurves.of(problem, problem.response(joint), 2)
    level = problem.base @ problem.weights
    moves = {}
    for e in {e for pair in pairs for e in pair}:
        moves[e] = _thinned(problem.move(entries[e], request))
    result = {}
    for j, k in pairs:
        averages = np.moveaxis(curves.on_grid(moves[j], moves[k]), 0, -1) + level
        averages = averages[..., 0] if len(level) == 1 else averages
        names = entries[j].name, entries[k].name
        result[names] = moves[j].values, moves[k].values, averages
    return result


def _thinned(move):
    """The move with some of its values, both ends among them."""
    some = spread_cells(move, VALUES)
    share = move.probabilities[some]
    return replace(
        move,
        values=move.values[some],
        donors=None if move.donors is None else move.donors[some],
        probabilities=share / share.sum(),
        codes=None,
    )
