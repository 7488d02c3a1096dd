"""From forms to responses."""

import numpy as np

from skvarimp._data.table import FrameTable
from skvarimp._models.array_forms import Additive, Layers, LowDegree
from skvarimp._models.forms import BehindSteps, Combined, NotReadable
from skvarimp._models.registry import read
from skvarimp._models.training_rows import KernelSum, Neighbours, WithinRadius
from skvarimp._models.trees import Trees
from skvarimp._response.probe import probe
from skvarimp._response.responses.black_box import BlackBoxResponse
from skvarimp._response.responses.composite import (
    ColumnwiseResponse,
    CombinedResponse,
    Transformed,
)
from skvarimp._response.responses.kernel import kernel_response
from skvarimp._response.responses.linear import AdditiveResponse, LinearResponse
from skvarimp._response.responses.neighbours import NeighboursResponse, RadiusResponse
from skvarimp._response.responses.projection import LowDegreeResponse, NetworkResponse
from skvarimp._response.responses.trees.response import tree_response
from skvarimp._running.guards import warn
from skvarimp.exceptions import ResponseWarning


def _additive(model, form):
    kind = AdditiveResponse if form.parts else LinearResponse
    return kind(model, form)


def _layers(model, form):
    linear = form.collapsed()
    if linear is not None:
        return LinearResponse(model, linear)
    return NetworkResponse(model, form)


def _combined(model, form, table):
    members = [response_of(inner, own, table) for own, inner in form.members]
    return CombinedResponse(model, form, members)


def _behind_steps(model, form, table):
    transformed = Transformed(form, table)
    inner = response_of(form.model, form.form, transformed.table)
    return ColumnwiseResponse(inner, transformed)


def _of_numbers(response):
    """How a response of plain arrays is made: for numbers in double precision."""

    def make(model, form, table):
        _refuse_single(form, table)
        return response(model, form)

    return make


def _kernel_sum(model, form, table):
    _refuse_single(form, table)
    return kernel_response(model, form, table)


# The response of each kind of form: function(model, form, table).
RESPONSES = {
    Additive: _of_numbers(_additive),
    KernelSum: _kernel_sum,
    Layers: _of_numbers(_layers),
    LowDegree: _of_numbers(LowDegreeResponse),
    Neighbours: _of_numbers(NeighboursResponse),
    WithinRadius: _of_numbers(RadiusResponse),
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
    """Decline an X without numbers, or a model that computes in single precision."""
    if isinstance(table, FrameTable):
        columns = [table.column(j).dtype for j in range(table.n_columns)]
        dtype = np.result_type(*columns)
    else:
        dtype = table.native.dtype
    if dtype.kind not in "fbiu":
        raise NotReadable("X has columns that are not numbers")
    if form.single and dtype.kind == "f" and dtype.itemsize <= 4:
        raise NotReadable("the model computes in single precision")


def respond(model, table, base, weights, entries, walked=True, lower=lowered):
    """The response that serves a model on a table: lowered and probed, or black box.

    Parameters
    ----------
    model : Model
    table : Table
    base : ndarray of shape (n_outputs, n_samples)
        The model's own response of the table's rows.
    weights : ndarray of shape (n_samples,)
    entries : list of Entry
    walked : bool, default=True
        Whether importances are wanted, whose walk is then probed as well.
    lower : callable, default=lowered
        lower(model, table) -> the lowered response; a caller hands out one it kept.

    Returns
    -------
    Response
    """
    name = type(model.estimator).__name__
    try:
        response = lower(model, table)
        difference = probe(response, model, table, base, weights, entries, walked)
    except NotReadable as declined:
        return BlackBoxResponse(model, len(base), str(declined))
    except FloatingPointError as error:
        return BlackBoxResponse(model, len(base), f"fast response: {error}")
    if difference is None:
        return response
    if difference.is_rounding:
        warn(
            f"The {response.path} response of {name} agrees with its own "
            f"{model.method} up to rounding, {difference}, but the rounding is larger "
            "than that of float64: sums cancel, or the model uses single precision. "
            "The slower black box is used.",
            ResponseWarning,
        )
        return BlackBoxResponse(model, len(base), "rounding of the fast response")
    warn(
        f"The {response.path} response of {name} differs from its own {model.method} "
        f"{difference}; the slower black box is used.",
        ResponseWarning,
    )
    return BlackBoxResponse(model, len(base), "the fast response failed its probe")
