"""From forms to responses, and the probe that each must pass.

The probe compares curves of a few rows with those of the black box, at values all over
the data and next to those where the response may jump. What reductions make of curves
does not depend on the model: tests compare it.
"""

from dataclasses import dataclass, replace

import numpy as np

from skvarimp._data.base_table import side_by_side, spread_over
from skvarimp._data.frames import FrameTable
from skvarimp._models.array_forms import Additive, KernelSum, Layers
from skvarimp._models.forms import BehindSteps, Combined, NotReadable
from skvarimp._models.registry import read
from skvarimp._models.trees import Trees
from skvarimp._response.contract import BlackBoxResponse
from skvarimp._response.grid import Move, make_move
from skvarimp._response.responses.composite import (
    ColumnwiseResponse,
    CombinedResponse,
)
from skvarimp._response.responses.kernels import kernel_response
from skvarimp._response.responses.linear import (
    AdditiveResponse,
    LabelResponse,
    LinearResponse,
)
from skvarimp._response.responses.networks import NetworkResponse
from skvarimp._response.responses.trees.response import TreeResponse
from skvarimp._running.guards import OverBudget, warn
from skvarimp.exceptions import ResponseWarning


def _additive(model, form, table):
    if form.parts:
        return AdditiveResponse(model, form)
    kind = LabelResponse if getattr(form.link, "convex", False) else LinearResponse
    return kind(model, form)


def _layers(model, form, table):
    linear = form.collapsed()
    if linear is not None:
        return _additive(model, linear, table)
    return NetworkResponse(model, form)


def _combined(model, form, table):
    members = [response_of(inner, own, table) for own, inner in form.members]
    return CombinedResponse(model, form, members)


def _behind_steps(model, form, table):
    return ColumnwiseResponse(form, table, response_of)


# The response of each kind of form: function(model, form, table). The first are of
# plain arrays and take numbers in double precision; the others see to their members.
OF_NUMBERS = {
    Additive: _additive,
    KernelSum: kernel_response,
    Layers: _layers,
}
RESPONSES = OF_NUMBERS | {
    Combined: _combined,
    BehindSteps: _behind_steps,
    Trees: TreeResponse,
}


def response_of(model, form, table):
    """The unprobed response of a form on a table, or NotReadable with the reason."""
    _refuse_single(form, table)
    return RESPONSES[type(form)](model, form, table)


def fast_response(model, table):
    """The unprobed fast response of a model, or NotReadable with the reason."""
    return response_of(model, read(model, table), table)


def _refuse_single(form, table):
    """Decline an X without numbers, or a model that computes in single precision."""
    if type(form) not in OF_NUMBERS:
        return
    if isinstance(table, FrameTable):
        columns = [table.column(j).dtype for j in range(table.n_columns)]
        dtype = np.result_type(*columns)
    else:
        dtype = table.native.dtype
    if dtype.kind not in "fbiu":
        raise NotReadable("X has columns that are not numbers")
    if form.single and dtype.kind == "f" and dtype.itemsize <= 4:
        raise NotReadable("the model computes in single precision")


def respond(problem, features):
    """The response that serves a model: read and probed, or the black box.

    Parameters
    ----------
    problem : Problem
        Its `rows` have the model's own outputs as `base`.
    features : list of Feature

    Returns
    -------
    Response
    """
    model, n_outputs = problem.model, len(problem.base)
    try:
        response = problem.fast_response
        probe(response, model, problem.table, problem, features)
        return response
    except NotReadable as declined:
        return BlackBoxResponse(model, n_outputs, str(declined))
    except OverBudget:
        reason = "max_evaluations leaves too few rows to probe a faster response"
        return BlackBoxResponse(model, n_outputs, reason)
    except FloatingPointError as error:
        return BlackBoxResponse(model, n_outputs, f"fast response: {error}")
    except Difference as difference:
        verb, reason = "differs from", "the fast response failed its probe"
        how = f"{difference}; the slower black box is used."
        if difference.gap <= ROUNDING * difference.size:
            verb, reason = "agrees with", "rounding of the fast response"
            how = (
                f"up to rounding, {difference}, but the rounding is larger than that "
                "of float64: sums cancel, or the model uses single precision. The "
                "slower black box is used."
            )
    which = f"The {response.path} response of {type(model.estimator).__name__}"
    warn(f"{which} {verb} its own {model.method} {how}", ResponseWarning)
    return BlackBoxResponse(model, n_outputs, reason)


ROWS, FEATURES, CELLS, SEEN = 8, 8, 12, 500
EXACT = 1e-9
ROUNDING = 1e-7  # a smaller difference is a matter of digits


@dataclass(eq=False)
class Difference(Exception):
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

    def __str__(self):
        return f"by {self.gap:.3g} {self.where}"


def probe(response, model, table, problem, features):
    """Compare a response with the model's own output; raises a `Difference`.

    A model that computes in single precision may differ by its rounding.

    Parameters
    ----------
    response : Response
    model : Model
        Whose response it is.
    table : Table
        What the model sees of the rows.
    problem : Problem
        Of these rows.
    features : list of Feature
    """
    rows = replace(problem.rows, table=table)
    some = list(_some_of_each_size(features))
    moves = [_probe_move(response, rows, feature) for feature in some]
    if response.inside:  # next to the thresholds that lie behind steps
        inner, inner_model, behind, feature_behind = response.inside(table)
        alone = [e for e in map(feature_behind, some) if len(e.columns) == 1]
        if inner.critical_values and alone:
            probe(inner, inner_model, behind, problem, alone)
    few = rows.block(spread_over(len(rows), ROWS))
    fast = response.curves_of(few, moves)
    own = BlackBoxResponse(model, len(rows.base)).curves_of(few, moves)
    _compare_curves(response, moves, fast, own, few.base)


def _some_of_each_size(features):
    """Yield a few features, some of each number of columns that move together."""
    by_size = {}
    for feature in features:
        by_size.setdefault(len(feature.columns), []).append(feature)
    at_most = max(1, FEATURES // len(by_size))
    for alike in by_size.values():
        for e in spread_over(len(alike), at_most):
            yield alike[e]


def _compare_curves(response, moves, fast, own, base):
    size = np.abs(base).max() + np.ptp(base)
    for move, one, other in zip(moves, fast, own):
        where = f"as {move.feature.name!r} moves"
        if one.shape != other.shape:
            where = f"{where}, in shape: {one.shape} against {other.shape}"
            raise Difference(np.inf, 1.0, where)
        gap, all_size = np.abs(one - other).max(), max(size, np.abs(other).max())
        # a NaN on one side is a difference
        if not gap <= max(EXACT, response.rounding) * all_size:
            raise Difference(gap, all_size, where)


def _probe_move(response, rows, feature):
    """A few observed values, then critical ones next to where a response may jump."""
    table = rows.table
    donors, categorical = _probe_donors(table, rows.weights, feature)
    k = len(donors)
    values = side_by_side([table.column(j)[donors] for j in feature.columns], k)
    jumps = response.critical_values and values.ndim == 1
    if jumps and values.dtype.kind in "fiub":
        more = np.asarray(
            response.critical_values(feature.columns[0]), dtype=np.float64
        )
        if len(more):
            more = more[spread_over(len(more), CELLS)]
            values = np.unique(np.concatenate([values.astype(np.float64), more]))
            donors, k = None, len(values)
    return Move(feature, values, donors, np.full(k, 1 / k), None, categorical)


def _probe_donors(table, weights, feature):
    """Rows with a few different values of a feature, and whether it is categorical."""
    column = table.column(feature.columns[0])
    if len(feature.columns) > 1 or column.dtype.kind not in "fiu":
        full = make_move(table, weights, feature, "all")
        return full.donors[spread_over(full.n_cells, CELLS)], full.categorical
    # a missing value is both smallest and largest to NumPy
    ends = [column.argmin(), column.argmax()]
    some = np.concatenate([spread_over(len(column), SEEN), ends])
    _, first = np.unique(column[some], return_index=True)
    return some[first[spread_over(len(first), CELLS)]], False
