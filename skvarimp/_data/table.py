"""X in the user's own container, seen as rows to take and columns to move.

Only the tables know frames and sparse formats. Frames go through narwhals.
"""

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from skvarimp._data.base_table import ArrayTable, Table
from skvarimp._data.frame_table import FrameTable
from skvarimp._data.sparse_table import SparseTable
from skvarimp._data.validation import as_array, check_feature_names


def as_table(X, feature_names=None):
    """Wrap X: array, frame, SciPy sparse matrix or array.

    Parameters
    ----------
    X : object
        As the user passed it.
    feature_names : sequence of str, default=None
        Names for the columns of an X that has none.
    """
    table = _wrapped(X)
    if feature_names is not None:
        table.names = check_feature_names(feature_names, table)
    return table


def _wrapped(X):
    if isinstance(X, Table):
        return X
    if sparse.issparse(X) and X.ndim == 2:
        return SparseTable(X)
    if is_frame(X):
        return FrameTable(X)
    values = as_array(X, "X")
    if values.ndim != 2:
        raise ValueError(
            f"X must be 2-dimensional, (n_samples, n_features), got {_shape(X, values)}"
        )
    return ArrayTable(values)


def stacked(tables):
    """One table of several with the same columns, rows below each other."""
    if isinstance(tables[0], FrameTable):
        frames = [nw.maybe_reset_index(table.frame) for table in tables]
        return FrameTable(tables[0].handed_out(nw.concat(frames, how="vertical")))
    if isinstance(tables[0], SparseTable):
        return SparseTable(sparse.vstack([t.native for t in tables], format="csr"))
    return ArrayTable(np.concatenate([table.native for table in tables]))


def is_frame(X):
    """Whether X is a frame or another table of named columns."""
    if hasattr(X, "collect_schema"):  # polars, also where it is lazy
        return True
    return hasattr(X, "columns") and (hasattr(X, "dtypes") or hasattr(X, "schema"))


def checked_frame(X):
    """Whether X is a frame; raises as `as_table` does where one cannot be used."""
    return is_frame(X) and as_table(X) is not None


def rows_of_target(y, rows):
    """Some rows of a target in the container, and with the types, that it came in."""
    if is_frame(y):
        return FrameTable(y).take(rows).native
    if isinstance(y, list | tuple):
        return [y[row] for row in rows]
    series = nw.from_native(y, series_only=True, pass_through=True)
    return series[rows].to_native() if isinstance(series, nw.Series) else y[rows]


def _shape(X, values):
    """What an X is that has not two dimensions, and the way out."""
    if sparse.issparse(X) or values.ndim > 2:
        return f"{X.ndim} dimension(s). Pass a matrix, one row per sample."
    if values.ndim == 0:
        return f"{X!r:.40} of type {type(X).__name__}. Pass an array or a frame."
    if len(values) and all(isinstance(v, str) for v in values[:100]):
        return (
            "one text per row. Importances are those of the columns that the "
            "vectorizer makes of the texts: pass the model behind it and the "
            "transformed rows, for a pipeline fit(pipeline[-1], "
            "pipeline[:-1].transform(X), y, "
            "feature_names=pipeline[:-1].get_feature_names_out())."
        )
    if hasattr(X, "to_frame"):
        return f"a {type(X).__name__}. Pass X.to_frame(), or X[[name]]."
    return "1 dimension. Reshape one column with X.reshape(-1, 1)."
