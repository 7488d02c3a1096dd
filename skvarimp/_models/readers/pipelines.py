"""Pipelines: column-wise steps, then affine ones, then a model that is read."""

from dataclasses import replace

from skvarimp._data.base_table import spread_over
from skvarimp._data.table import as_table
from skvarimp._models.forms import BehindSteps, NotReadable
from skvarimp._models.model import Model
from skvarimp._models.registry import read
from skvarimp._models.transformers import (
    NotAffine,
    NotColumnwise,
    affine,
    sources,
)
from skvarimp._running.guards import users_code

READ_ROWS = 100  # transformed for the readers of what comes behind the steps


def read_pipeline(model, table):
    """Column-wise steps, then affine ones, then a model that is read."""
    pipeline = model.estimator
    if len(pipeline.steps) == 1:
        return read(Model(pipeline.steps[0][1], model.method), table)
    n_before, source, reason = _columnwise(pipeline, table)
    table = table.take(spread_over(table.n_samples, READ_ROWS))
    steps, behind = pipeline[:n_before], pipeline[n_before:]
    if not n_before:
        return _behind(model, table, reason)
    model = Model(behind, model.method)
    moved = _transformed(steps, table)
    if moved.n_columns != len(source):
        raise NotReadable("the columns behind the Pipeline's steps are not known")
    form = _behind(model, moved, reason)
    return BehindSteps(steps=steps, source=source, form=form, model=model)


def _columnwise(pipeline, table):
    """How many first steps work column by column, their sources, and why no more do."""
    reason = None
    for n_before in range(len(pipeline.steps) - 1, 0, -1):
        try:
            source = sources(pipeline[:n_before], table.n_columns, table.names)
            return n_before, source, reason
        except NotColumnwise as mixing:
            reason = str(mixing)
    return 0, None, reason


def _transformed(steps, table):
    with users_code():
        return as_table(steps.transform(table.copy()))


def _behind(model, table, reason):
    """The form of steps that mix columns and a model, or NotReadable with the reason.

    Affine steps are multiplied into models of weighted sums.
    """
    steps, last = model.estimator[:-1], model.estimator[-1]
    moved = _transformed(steps, table) if len(steps) else table
    form = read(Model(last, model.method), moved)
    if len(steps) == 0:
        return form
    try:
        wider = form.after(affine(steps, table.n_columns))
    except NotAffine:
        wider = None
    if wider is not None:
        return replace(wider, single=True)  # single precision of X stays single
    raise NotReadable(reason)
