"""The response of unmoved rows, and what importances are divided by."""

import numpy as np

from skvarimp._data.statistics import gini_mean_difference
from skvarimp._data.validation import is_structured
from skvarimp._data.values import as_columns
from skvarimp._running.memory import call_rows, even_slices


def unmoved_response(model, table):
    """The response at every row, (n_outputs, n_samples).

    The model gets copies, which it may change. A large X goes block by block: it may be
    a memory map larger than the memory.
    """
    parts = even_slices(table.n_samples, call_rows(table.n_columns))
    if len(parts) <= 1:
        return np.ascontiguousarray(model.unmoved(table.copy()).T)
    rows = [np.arange(part.start, part.stop) for part in parts]
    first = model.unmoved(table.take(rows[0]).native).T
    others = [model(table.take(part).native).T for part in rows[1:]]
    return np.hstack([first, *others])


def spread(values, weights):
    """Largest minus smallest value (Clementine, step 4)."""
    return float(np.ptp(values))


# D of Huh & Lee, step 4, over all pairs of rows; the range of Clementine
STATISTICS = {"pairs": gini_mean_difference, "range": spread}


def compared_with(model, y, base):
    """What the outputs are compared with, (n_outputs, n_samples)."""
    if model.kind == "score" or model.clusters:
        return base
    if y is None:
        raise ValueError(
            "scale='auto' divides by the spread of y, got no y: pass y, or scale=None "
            "for importances in the units of the response."
        )
    if is_structured(y):
        raise ValueError(
            "scale='auto' needs a number or a label per row, but y has the fields "
            f"{list(y.dtype.names)}. {_WAY_OUT}"
        )
    if model.kind in {"probability", "label"}:
        targets = model.class_indicators(y)
    else:
        try:
            targets = as_columns(y).astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"scale='auto' needs a numeric y, got dtype {y.dtype}."
                f"{_no_classes(model)} {_WAY_OUT}"
            ) from None
    if targets is None or targets.shape[1] != len(base):
        shape = y.shape if targets is None else targets.shape
        raise ValueError(
            f"scale='auto' needs one column of y for each output, got y {shape} for "
            f"{len(base)} outputs.{_no_classes(model)} {_WAY_OUT}"
        )
    return targets.T


def checked_scale(model, statistics):
    """The divisors from the statistic of each output's values."""
    scale = np.array(statistics)
    if model.kind == "score" or model.clusters:
        return np.where(scale > 0, scale, 1.0)  # a constant response: 0 / 1
    if np.any(scale == 0):
        name = model.output_names[int(np.argmin(scale))]
        what = "y is" if len(scale) == 1 else f"y's part for output {name!r} is"
        raise ValueError(f"{what} constant, so scale='auto' is 0. {_WAY_OUT}")
    return scale


_WAY_OUT = "Use scale=None for importances in the units of the response."


def _no_classes(model):
    """What is missing in a callable whose outputs are meant as scores of classes."""
    if model.method != "__call__":
        return ""
    return (
        " A callable has no `classes_` that say which class each output stands for: "
        "pass the classifier itself, or an object with `predict_proba` and `classes_`."
    )
