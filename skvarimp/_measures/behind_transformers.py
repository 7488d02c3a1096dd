"""Measures that read a fitted model, for a pipeline that ends in that model.

The measure reads the last estimator with the transformed X. Each transformed column
comes from one input column, which gets its number.
"""

from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from skvarimp._data.base_table import column_names
from skvarimp._data.table import as_table, check_fitted
from skvarimp._measures.rows import constant_columns, fingerprint, store_rows
from skvarimp._models.model import frames_named
from skvarimp._models.registry import unwrapped
from skvarimp._models.transformers import NO_SOURCE, NotColumnwise, sources
from skvarimp._results.words import listed

# attributes of the inner fit that are about its own columns and rows
OF_COLUMNS = {"n_features_in_", "feature_names_in_", "row_importances_", "result_"}


def has_transformers(estimator):
    """Whether a model is a pipeline, with transformers before its last estimator."""
    return isinstance(unwrapped(estimator), Pipeline)


def before_transformed_target(estimator, y):
    """The model inside a TransformedTargetRegressor, and y as that model saw it."""
    if y is not None:
        columns = np.asarray(y)
        if columns.ndim == 1:
            columns = columns.reshape(-1, 1)
        y = np.asarray(estimator.transformer_.transform(columns))
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
    return estimator.regressor_, y


def set_columns(measure, estimator, X):
    """Check a model, and set what a measure that may do without X knows of its columns.

    Returns
    -------
    labels : list of str
        Names of the columns; of an X without names, those the model was fitted with.
    table : Table or None
        None without X.
    """
    names = getattr(estimator, "feature_names_in_", None)
    if X is not None:
        table = as_table(X)
        features = measure._set_features(table, None, estimator)
        if table.names is not None or names is None:
            return [feature.name for feature in features], table
        n_features = table.n_columns
    else:
        table, n_features = None, getattr(estimator, "n_features_in_", None)
        check_fitted(estimator)
    if n_features is None:
        raise ValueError(
            f"X is needed to name the columns of {type(estimator).__name__}, which has "
            "no `n_features_in_`."
        )
    measure._set_input(n_features, names)
    return column_names(names, n_features), table


def fit_behind_transformers(
    measure, estimator, X, y, sample_weight, more=None, join=None
):
    """Fit a measure on the end of a pipeline and count by its input columns.

    Numbers of several columns of one input are added, unless the measure knows better.

    Parameters
    ----------
    measure : ImpurityImportance, CoefficientImportance or ConnectionWeightImportance
    estimator : Pipeline, or a search or the like around one
    X, y, sample_weight : as in `fit`
    more : dict, default=None
        Passed to the measure's own `fit`.
    join : callable, default=None
        (inner, labels, importances) -> (n_features, n_outputs): the importances of the
        inputs, from the measure as fitted to the last step, the names of the inputs,
        and the added importances. None: these.
    """
    labels, table = set_columns(measure, estimator, X)
    pipeline, inner = unwrapped(estimator), clone(measure)
    transformers, last = _without_samplers(pipeline[:-1]), pipeline[-1]
    names, n_columns = getattr(measure, "feature_names_in_", None), len(labels)
    source = _sources(measure, transformers, n_columns, names)
    of_rows = getattr(measure, "rows", "training") != "training"
    if of_rows:
        inner.set_params(keep_rows=True)
    with frames_named(estimator, None if X is None else table.native):
        behind = None if X is None else transformers.transform(table.native)
    inner._inputs = [np.flatnonzero(source == j) for j in range(n_columns)]
    encoded = _encoded_names(transformers, names, behind, len(source))
    given = {"sample_weight": sample_weight, "feature_names": encoded, **(more or {})}
    try:
        inner.fit(last, behind, y, **given)
    except ValueError as error:
        samplers = [name for name, step in pipeline.steps if _draws_rows(step)]
        if samplers:
            error.add_note(
                f"The pipeline's step {listed(map(repr, samplers))} drew other rows "
                f"while it was fitted: they are what {type(last).__name__} was fitted "
                "on. Pass these rows and pipeline[-1], or use a measure that needs no "
                "training data."
            )
        raise
    for name, value in vars(inner).items():
        if name.endswith("_") and name not in OF_COLUMNS:
            setattr(measure, name, value)
    by_input = partial(_joined, source, n_columns)
    several = by_input(np.ones(len(source))) > 1
    for name in ("signed_importances_", "coefficient_errors_"):
        if getattr(inner, name, None) is not None:  # known of an only column
            of_input = by_input(getattr(inner, name))
            of_input[several] = np.nan
            setattr(measure, name, of_input)
    how = {}
    if of_rows:
        some = table.take(np.flatnonzero(inner.result_.rows.kept))
        rows = replace(
            inner.result_.rows,
            influences=by_input(inner.result_.rows.influences.T).T,
            contributions=by_input(inner.result_.rows.contributions.T).T,
            fingerprint=fingerprint(some),
            constant=constant_columns(some),
        )
        errors = rows.units.error(rows.influences.T)
        how = {"standard_errors": errors, "units": rows.units}
    importances = by_input(inner.importances_per_output_)
    if join is not None:
        importances = join(inner, labels, importances)
    measure._store(importances, labels, inner.output_names_, **how)
    if of_rows and measure.keep_rows:
        store_rows(measure, rows)


def _draws_rows(step):
    """Whether a step only draws other rows while a pipeline is fitted."""
    return hasattr(step, "fit_resample") and not hasattr(step, "transform")


def _without_samplers(steps):
    """Steps without those that only draw other rows while the pipeline is fitted."""
    kept = [(name, step) for name, step in steps.steps if not _draws_rows(step)]
    if len(kept) == len(steps.steps):
        return steps
    return Pipeline(kept or [("same", "passthrough")])


def _sources(measure, transformers, n_columns, names):
    """The input column of each column that the last estimator is given."""
    name, way_out = (
        type(measure).__name__,
        "Pass the last step, with X as transformed by the steps before: pipeline[-1] "
        "and pipeline[:-1].transform(X).",
    )
    try:
        source = sources(
            transformers, n_columns, None if names is None else list(names)
        )
    except NotColumnwise as declined:
        raise TypeError(
            f"{name} reads the inside of one model, got a Pipeline whose steps mix "
            f"columns: {declined}. {way_out}"
        ) from None
    if getattr(measure, "surrogates", False) and len(np.unique(source)) < len(source):
        raise TypeError(
            f"{name} with surrogates has no associations of inputs that are several "
            f"columns behind the steps of a Pipeline. {way_out}"
        )
    return source


def _encoded_names(transformers, names, behind, n_columns):
    """Names of the transformed columns, None where they have names or nobody knows."""
    if behind is None or hasattr(behind, "columns"):
        return None
    try:
        encoded = transformers.get_feature_names_out(names)
    except (AttributeError, ValueError):  # a step names nothing
        return None
    if encoded is None:  # of a passthrough without names
        return None
    unique = len(set(encoded)) == len(encoded) == n_columns
    return encoded if unique else None


def _joined(source, n_columns, values):
    """Numbers of transformed columns, (n_behind, ...), added up by input columns."""
    result, kept = np.zeros((n_columns, *values.shape[1:])), source != NO_SOURCE
    np.add.at(result, source[kept], values[kept])
    return result
