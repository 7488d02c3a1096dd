"""The probe that each response must pass: does it give the model's own numbers?

Two things are compared with the black box, on a few rows. Curves, at values spread over
the data and next to where the response may jump; and the importances of one entry by
the same walk that will run, closed forms and compiled kernels included.
"""

from dataclasses import dataclass, replace

import numpy as np

from skvarimp._response.contract import Walk
from skvarimp._response.engine import run_walk
from skvarimp._response.grid import Move, Moves, make_move, side_by_side
from skvarimp._response.reductions.reductions import Observed, Pairs, PartialDependence
from skvarimp._response.responses.black_box import BlackBoxResponse

ROWS, ENTRIES, CELLS, SEEN = 8, 8, 12, 500
WALKED_ROWS = 34  # enough cells for the closed forms of smooth links
EXACT = 1e-9
ROUNDING = 1e-7  # below it a difference is one of digits, not of numbers


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
    rows = _spread(len(weights), ROWS)
    some = [entries[e] for e in _spread(len(entries), ENTRIES)]
    difference, moving = _compare_curves(
        response, black_box, table, rows, base[:, rows], weights, some
    )
    for layer in response.inside(table) if difference is None else ():
        difference = difference or _compare_inside(*layer, rows, weights, some)
    if walked and difference is None and moving is not None:
        difference = _compare_walks(response, black_box, table, base, weights, moving)
    return difference


def _compare_curves(response, black_box, table, rows, base, weights, entries):
    """A difference or None, and the entry whose curves move most or None."""
    moves = [_probe_move(response, table, weights, entry) for entry in entries]
    curves = black_box.curves_of(table, rows, moves, base)
    size, moving, most = np.abs(base).max() + np.ptp(base), None, 0.0
    for move, own in zip(moves, curves):
        fast = response.curves(table, rows, move, base)
        where = f"as {move.entry.name!r} moves"
        if fast.shape != own.shape:
            where = f"{where}, in shape: {fast.shape} against {own.shape}"
            return Difference(np.inf, 1.0, where), None
        difference = _difference(response, fast, own, size, where)
        if difference is not None:
            return difference, None
        if np.ptp(own, axis=2).max() > most:
            moving, most = move.entry, np.ptp(own, axis=2).max()
    return None, moving


def _compare_inside(response, model, table, entry_behind, rows, weights, entries):
    """Curves behind steps, where thresholds of their own lie."""
    if getattr(response, "critical_values", None) is None:
        return None
    behind = [entry_behind(entry) for entry in entries]
    behind = [entry for entry in behind if len(entry.columns) == 1]
    base = np.ascontiguousarray(model(table.take(rows).native).T)
    black_box = BlackBoxResponse(model, len(base))
    return _compare_curves(response, black_box, table, rows, base, weights, behind)[0]


def _compare_walks(response, black_box, table, base, weights, entry):
    """The importances of one entry over some rows, by the walk itself."""
    rows = _spread(len(weights), WALKED_ROWS)
    table, weights = table.take(rows), weights[rows] / weights[rows].sum()
    base = np.ascontiguousarray(base[:, rows])
    reductions = [Pairs(), Observed(), PartialDependence.over("std", len(rows), 2)]
    walk = Walk(
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
    size = np.abs(base).max() + np.ptp(base)
    try:
        fast, own = (
            run_walk(replace(walk, response=r))[0] for r in (response, black_box)
        )
    except ValueError:  # numbers too large: the walk itself is to say so
        return None
    for reduction, one, other in zip(reductions, fast, own):
        where = f"in {type(reduction).__name__} of {entry.name!r}"
        difference = _difference(
            response, one.importances, other.importances, size, where
        )
        if difference is not None:
            return difference
    return None


def _difference(response, fast, own, size, where):
    """Two arrays compared; a NaN on one side is a difference."""
    gap = np.abs(fast - own).max()
    size = max(size, np.abs(own).max())
    if gap <= max(EXACT, response.rounding) * size:
        return None
    return Difference(gap, size, where)


def _probe_move(response, table, weights, entry):
    """A few observed values, then critical ones next to where a response may jump."""
    donors, categorical = _probe_donors(table, weights, entry)
    k = len(donors)
    if len(entry.columns) > 1:
        columns = [table.column(j)[donors] for j in entry.columns]
        values = side_by_side(columns)
    else:
        values = table.column(entry.columns[0])[donors]
        critical = getattr(response, "critical_values", None)
        more = np.empty(0)
        if critical is not None and values.dtype.kind in "fiub":
            more = np.asarray(critical(entry.columns[0]), dtype=np.float64)
        if len(more):
            more = more[_spread(len(more), CELLS)]
            values = np.unique(np.concatenate([values.astype(np.float64), more]))
            donors, k = None, len(values)
    return Move(entry, values, donors, np.full(k, 1 / k), None, categorical)


def _probe_donors(table, weights, entry):
    """Rows with a few different values of an entry, and whether it is categorical."""
    column = table.column(entry.columns[0])
    if len(entry.columns) > 1 or column.dtype.kind not in "fiu":
        full = make_move(table, weights, entry, "all")
        return full.donors[_spread(full.n_cells, CELLS)], full.categorical
    # a missing value is both smallest and largest to NumPy
    ends = [column.argmin(), column.argmax()]
    some = np.concatenate([_spread(len(column), SEEN), ends])
    _, first = np.unique(column[some], return_index=True)
    return some[first[_spread(len(first), CELLS)]], False


def _spread(n, at_most):
    """Up to `at_most` positions spread over range(n)."""
    return np.unique(np.linspace(0, n - 1, min(n, at_most)).astype(int)) if n else []
