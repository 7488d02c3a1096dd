"""From forms to responses, and the probe that each response must pass."""

import numpy as np

from skvarimp._data.table import FrameTable
from skvarimp._models.forms import (
    Additive,
    BehindSteps,
    Combined,
    KernelSum,
    Layers,
    NotReadable,
)
from skvarimp._models.registry import read
from skvarimp._models.trees import Trees
from skvarimp._response.grid import Move, make_move, side_by_side
from skvarimp._response.responses.additive import AdditiveResponse
from skvarimp._response.responses.black_box import BlackBoxResponse
from skvarimp._response.responses.columnwise import ColumnwiseResponse, Transformed
from skvarimp._response.responses.composite import CombinedResponse
from skvarimp._response.responses.kernel import kernel_response
from skvarimp._response.responses.linear import LinearResponse
from skvarimp._response.responses.network import NetworkResponse
from skvarimp._response.responses.trees.response import tree_response
from skvarimp._running.warn import warn
from skvarimp.exceptions import ResponseWarning


def _additive(model, form, table):
    _refuse_single(form, table)
    kind = AdditiveResponse if form.parts else LinearResponse
    return kind(model, form)


def _kernel_sum(model, form, table):
    _refuse_single(form, table)
    return kernel_response(model, form, table)


def _layers(model, form, table):
    _refuse_single(form, table)
    linear = form.collapsed()
    if linear is not None:
        return LinearResponse(model, linear)
    return NetworkResponse(model, form)


def _combined(model, form, table):
    members = [
        response_of(member, form, table)
        for member, form in zip(form.models, form.members)
    ]
    return CombinedResponse(model, form, members)


def _behind_steps(model, form, table):
    transformed = Transformed(form, table)
    inner = response_of(form.model, form.form, transformed.table)
    return ColumnwiseResponse(inner, transformed)


# The response of each kind of form: function(model, form, table).
RESPONSES = {
    Additive: _additive,
    KernelSum: _kernel_sum,
    Layers: _layers,
    Combined: _combined,
    BehindSteps: _behind_steps,
    Trees: tree_response,
}


def response_of(model, form, table):
    """The unprobed response of a form on a table, or NotReadable with the reason."""
    return RESPONSES[type(form)](model, form, table)


def lowered(model, table):
    """The unprobed fast response of a model, or NotReadable with the reason."""
    return response_of(model, read(model, table), table)


def _refuse_single(form, table):
    """Decline X without numbers, and models that would compute in single precision."""
    if isinstance(table, FrameTable):
        columns = [table.column(j).dtype for j in range(table.n_columns)]
        dtype = np.result_type(*columns)
    else:
        dtype = table.native.dtype
    if dtype.kind not in "fbiu":
        raise NotReadable("X has columns that are not numbers")
    if form.single and dtype.kind == "f" and dtype.itemsize <= 4:
        raise NotReadable("the model computes in single precision")


def respond(model, table, base, weights, entries):
    """The response that serves a model on a table: lowered and probed, or black box.

    Parameters
    ----------
    model : Model
    table : Table
    base : ndarray of shape (n_outputs, n_samples)
        The model's own response of the table's rows.
    weights : ndarray of shape (n_samples,)
    entries : list of Entry

    Returns
    -------
    Response
    """
    black_box = BlackBoxResponse(model, len(base))
    try:
        response = lowered(model, table)
        difference = probe(response, black_box, table, base, weights, entries)
    except NotReadable as declined:
        return BlackBoxResponse(model, len(base), str(declined))
    except FloatingPointError as error:
        return BlackBoxResponse(model, len(base), f"fast response: {error}")
    if difference is None:
        return response
    warn(
        f"The {response.path} response of {type(model.estimator).__name__} differs "
        f"from its own {model.method} {difference}; the slower black box is used.",
        ResponseWarning,
    )
    return BlackBoxResponse(model, len(base), "the fast response failed its probe")


PROBE_ROWS, PROBE_ENTRIES, PROBE_CELLS, PROBE_SEEN = 12, 8, 12, 500


def probe(response, black_box, table, base, weights, entries, rtol=1e-9):
    """Compare a response with the model's own output; None, or where they differ.

    Some rows, some entries spread over all, some of their observed values and the
    critical values that the response names (thresholds and their neighbours). A
    model that computes in single precision may differ by its rounding.
    """
    rtol = max(rtol, response.rounding)
    rows = _spread(len(weights), PROBE_ROWS)
    scale = np.abs(base).max() + np.ptp(base)
    moves = [
        _probe_move(response, table, weights, entries[e])
        for e in _spread(len(entries), PROBE_ENTRIES)
    ]
    curves = black_box.curves_of(table, rows, moves, base[:, rows])
    for move, own in zip(moves, curves):
        fast = response.curves(table, rows, move, base[:, rows])
        if fast.shape != own.shape:
            return f"in shape: {fast.shape} against {own.shape}"
        gap = np.abs(fast - own).max()
        if not gap <= rtol * max(scale, np.abs(own).max()):
            return f"by {gap:.3g} as {move.entry.name!r} moves"
    return None


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
            more = more[_spread(len(more), PROBE_CELLS)]
            values = np.unique(np.concatenate([values.astype(np.float64), more]))
            donors, k = None, len(values)
    return Move(entry, values, donors, np.full(k, 1 / k), None, categorical)


def _probe_donors(table, weights, entry):
    """Rows with a few different values of an entry, and whether it is categorical."""
    column = table.column(entry.columns[0])
    if len(entry.columns) > 1 or column.dtype.kind not in "fiu":
        full = make_move(table, weights, entry, "all")
        return full.donors[_spread(full.n_cells, PROBE_CELLS)], full.categorical
    # a missing value is both smallest and largest to NumPy
    ends = [column.argmin(), column.argmax()]
    some = np.concatenate([_spread(len(column), PROBE_SEEN), ends])
    _, first = np.unique(column[some], return_index=True)
    return some[first[_spread(len(first), PROBE_CELLS)]], False


def _spread(n, at_most):
    """Up to `at_most` positions spread over range(n)."""
    return np.unique(np.linspace(0, n - 1, min(n, at_most)).astype(int)) if n else []
