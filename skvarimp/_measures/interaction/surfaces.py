"""The mean response at pairs of values, for a picture."""

import numpy as np

from skvarimp._data.base_table import is_missing
from skvarimp._measures.interaction.statistics import MeanCurves, together

SURFACE_VALUES = 25  # of each column, at most


def spread_cells(move, most):
    """Choose at most so many cells, equally spaced, with both ends and missing values.

    Returns
    -------
    ndarray of int
    """
    last = move.values[-1] if move.values.ndim == 1 else 0.0
    n_known = move.n_cells - is_missing(last)
    cells = np.linspace(0, n_known - 1, min(n_known, most)).round().astype(np.intp)
    return np.union1d(cells, np.arange(max(n_known, 0), move.n_cells))


def joint_dependence(plan, request):
    """Mean response over the rows at each value of two columns.

    Parameters
    ----------
    plan : Plan
        Its `own` are positions of the entries of each pair.
    request : Request
        Of each column at most `SURFACE_VALUES` are used, spread over the grid.

    Returns
    -------
    dict
        (name, name) -> (values of the first, values of the second, averages of shape
        (n_first, n_second) or (n_first, n_second, n_outputs)).
    """
    problem, entries, pairs = plan.problem, plan.entries, plan.own
    joint = [together([entries[j], entries[k]]) for j, k in pairs]
    curves = MeanCurves.over(problem, joint, n_columns=2)
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
    some = spread_cells(move, SURFACE_VALUES)
    share = move.probabilities[some]
    return move.at_cells(some, probabilities=share / share.sum(), codes=None)
