"""Pipelines: column-wise steps in front of a form, affine steps multiplied into it."""

from dataclasses import replace

from skvarimp._data.table import as_table
from skvarimp._data.values import spread_over
from skvarimp._models.affine import NotAffine, affine
from skvarimp._models.column_sources import NotColumnwise, sources
from skvarimp._models.forms import BehindSteps, NotReadable
from skvarimp._models.model import Model
from skvarimp._models.readers.kernels import feature_map, is_feature_map
from skvarimp._models.readers.low_degree.quadratics import is_polynomial, polynomial
from skvarimp._models.registry import read
from skvarimp._running.guards import users_code

READ_ROWS = 100  # transformed for the readers of what comes behind the steps


def read_pipeline(model, table):
    """Column-wise steps, then affine ones, then a model that is read."""
    pipeline = model.estimator
    if pipeline.steps[-1][1] is None or isinstance(pipeline.steps[-1][1], str):
        raise NotReadable("the last step of the Pipeline is no estimator")
    if len(pipeline.steps) == 1:
        return read(Model(pipeline.steps[0][1], model.method), table)
    table = table.take(spread_over(table.n_samples, READ_ROWS))
    n_before, source, reason = _columnwise(pipeline, table)
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
    n_steps, reason = len(pipeline.steps) - 1, None
    for n_before in range(n_steps, 0, -1):
        try:
            source = sources(pipeline[:n_before], table.n_columns, table.names)
        except NotColumnwise as mixed:
            reason = str(mixed)
        else:
            return n_before, source, reason
    return 0, None, reason


def _transformed(steps, table):
    with users_code():
        return as_table(steps.transform(table.copy()))


def _behind(model, table, reason):
    """The form of affine steps and a model, or NotReadable with the reason."""
    pipeline = model.estimator
    inner = Model(pipeline[-1], model.method)
    maps = [
        m
        for m, (_, step) in enumerate(pipeline.steps)
        if is_polynomial(step) or is_feature_map(step)
    ]
    if maps:
        steps, step = pipeline[: maps[0]], pipeline[maps[0]]
        behind = Model(pipeline[maps[0] + 1 :], model.method)
        mapped = _transformed(pipeline[: maps[0] + 1], table)
        through = polynomial if is_polynomial(step) else feature_map
        form = through(step, _behind(behind, mapped, reason))
    else:
        steps = pipeline[:-1]
        form = read(inner, _transformed(steps, table) if len(steps) else table)
    if len(steps) == 0:
        return form
    try:
        form = form.after(affine(steps, table.n_columns))
    except NotAffine:
        raise NotReadable(reason) from None
    if form is None:
        raise NotReadable(reason)
    return replace(form, single=True)  # single precision of X stays single
