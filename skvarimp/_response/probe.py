"""The probe that each response must pass: does it give the model's own numbers?

Two things are compared with the black box, on a few rows: curves, at values all over
the data and next to those where the response may jump; and the importances of one
entry, by the same walk that will run, with its closed forms and compiled kernels.
"""

from dataclasses import dataclass, replace

import numpy as np

from skvarimp._data.values import spread_over
from skvarimp._response.contract import Response, Walk
from skvarimp._response.engine import run_walk
from skvarimp._response.grid import Move, Moves, make_move, side_by_side
from skvarimp._response.reductions.reductions import Observed, Pairs, PartialDependence
from skvarimp._response.responses.black_box import BlackBoxResponse

ROWS, ENTRIES, CELLS, SEEN = 8, 8, 12, 500
WALKED_ROWS = 34  # enough cells for the closed forms of smooth links
EXACT = 1e-9
ROUNDING = 1e-7  # a smaller difference is a matter of digits


@dataclass(frozen=True)
class Difference:
    """By how much a response and its model differ.

    Attributes
    ----------
    gap : float
    size : float
        What is compared.
    where : str
    """

    gap: float
    size: float
    where: str

    @property
    def is_rounding(self):
        """Whether single precision or sums that cancel explain it."""
        return self.gap <= ROUNDING * self.size

    def __str__(self):
        return f"by {self.gap:.3g} {self.where}"


def probe(response, model, table, base, weights, entries, walked=True):
    """Compare a response with the model's own output; None, or a `Difference`.

    A model that computes in single precision may differ by its rounding.

    Parameters
    ----------
    response : Response
    model : Model
    table : Table
    base : ndarray of shape (n_outputs, n_samples)
    weights : ndarray of shape (n_samples,)
    entries : list of Entry
    walked : bool, default=True
        Whether to compare the importances of a walk, too.
    """
    black_box = BlackBoxResponse(model, len(base))
    rows = spread_over(len(weights), ROWS)
    some = [entries[e] for e in spread_over(len(entries), ENTRIES)]
    moves = [_probe_move(response, table, weights, entry) for entry in some]
    fast = [response.curves(table, rows, move, base[:, rows]) for move in moves]
    blocks = [(rows, move) for move in moves]
    moving = max(range(len(moves)), key=lambda m: np.ptp(fast[m], axis=-1).max())
    walk, few = None, spread_over(len(weights), WALKED_ROWS)
    if walked and np.ptp(fast[moving]) > 0:
        walk = _short_walk(response, table, few, base, weights, some[moving])
        move = walk.moves[0]
        blocks.append((few, replace(move, donors=few[move.donors], codes=None)))
    own = black_box.curves_of(table, blocks)
    difference = _compare_curves(response, moves, fast, own, base[:, rows])
    if difference is None and walk is not None:
        difference = _compare_walks(walk, own[-1])
    for layer in response.inside(table) if difference is None else ():
        difference = difference or _compare_inside(*layer, rows, base, weights, some)
    return difference


def _compare_curves(response, moves, fast, own, base):
    size = np.abs(base).max() + np.ptp(base)
    for move, one, other in zip(moves, fast, own):
        where = f"as {move.entry.name!r} moves"
        if one.shape != other.shape:
            where = f"{where}, in shape: {one.shape} against {other.shape}"
            return Difference(np.inf, 1.0, where)
        difference = _difference(response, one, other, size, where)
        if difference is not None:
            return difference
    return None


def _compare_inside(response, model, table, entry_behind, rows, base, weights, entries):
    """Curves behind steps, next to the thresholds that lie there."""
    if getattr(response, "critical_values", None) is None:
        return None
    behind = [entry_behind(entry) for entry in entries]
    moves = [
        _probe_move(response, table, weights, entry)
        for entry in behind
        if len(entry.columns) == 1
    ]
    base = base[:, rows]
    fast = [response.curves(table, rows, move, base) for move in moves]
    black_box = BlackBoxResponse(model, len(base))
    own = black_box.curves_of(table, [(rows, move) for move in moves])
    return _compare_curves(response, moves, fast, own, base)


def _short_walk(response, table, rows, base, weights, entry):
    """A walk of one entry over some rows alone."""
    table, weights = table.take(rows), weights[rows] / weights[rows].sum()
    base = np.ascontiguousarray(base[:, rows])
    reductions = [Pairs(), Observed(), PartialDependence.over("std", len(rows), 2)]
    return Walk(
        response,
        table,
        Moves(table, weights, [entry], ["all"], [frozenset()]),
        [reductions],
        np.arange(len(rows)),
        weights,
        base,
        float(len(rows)),
        None,
        [[np.ones(len(base))] * len(reductions)],
    )


def _compare_walks(walk, curves):
    """The importances of a walk's entry against those of the model's own curves."""
    size = np.abs(walk.base).max() + np.ptp(walk.base)
    own = replace(walk, response=_Curves(curves))
    try:
        fast, own = run_walk(walk)[0], run_walk(own)[0]
    except ValueError:  # numbers too large: the walk itself will say so
        return None
    for reduction, one, other in zip(walk.reductions[0], fast, own):
        where = f"in {type(reduction).__name__} of {walk.moves.entries[0].name!r}"
        difference = _difference(
            walk.response, one.importances, other.importances, size, where
        )
        if difference is not None:
            return difference
    return None


class _Curves(Response):
    """Curves that are known already."""

    def __init__(self, curves):
        self._curves, self.n_outputs = curves, len(curves)

    def curves(self, table, rows, move, base):
        """See `Response.curves`."""
        return self._curves[:, rows]


def _difference(response, fast, own, size, where):
    """Compare two arrays; a NaN on one side is a difference."""
    gap = np.abs(fast - own).max()
    size = max(size, np.abs(own).max())
    if gap <= max(EXACT, response.rounding) * size:
        return None
    return Difference(gap, size, where)


def _probe_move(response, table, weights, entry):
    """A few observed values, then critical ones next to where a response may jump."""
    donors, categorical = _probe_donors(table, weights, entry)
    k = len(donors)
    values = side_by_side([table.column(j)[donors] for j in entry.columns], k)
    if len(entry.columns) == 1:
        critical = getattr(response, "critical_values", None)
        more = np.empty(0)
        if critical is not None and values.dtype.kind in "fiub":
            more = np.asarray(critical(entry.columns[0]), dtype=np.float64)
        if len(more):
            more = more[spread_over(len(more), CELLS)]
            values = np.unique(np.concatenate([values.astype(np.float64), more]))
            donors, k = None, len(values)
    return Move(entry, values, donors, np.full(k, 1 / k), None, categorical)


def _probe_donors(table, weights, entry):
    """Rows with a few different values of an entry, and whether it is categorical."""
    column = table.column(entry.columns[0])
    if len(entry.columns) > 1 or column.dtype.kind not in "fiu":
        full = make_move(table, weights, entry, "all")
        return full.donors[spread_over(full.n_cells, CELLS)], full.categorical
    # a missing value is both smallest and largest to NumPy
    ends = [column.argmin(), column.argmax()]
    some = np.concatenate([spread_over(len(column), SEEN), ends])
    _, first = np.unique(column[some], return_index=True)
    return some[first[spread_over(len(first), CELLS)]], False
