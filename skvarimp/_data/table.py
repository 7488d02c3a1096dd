"""What the user passed: X in any container as a table, and the estimator.

Only the tables know frames and sparse formats. Frames go through narwhals. Rows that
memory does not hold are known by `ROWS_APART`, a list with one class, or none: then no
measure takes a Dask collection. Such rows have a `table` of some of them, a sample that
is enough for most measures. `problem`, `sums_in_trees`, `error_by` and
`weight` are for those that ask all rows.
"""

import numbers
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from numbers import Integral

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from skvarimp._data.base_table import (
    ArrayTable,
    LabelTexts,
    Table,
    column_names,
)
from skvarimp._data.frames import FrameTable
from skvarimp._data.sparse_table import SparseTable
from skvarimp._running.guards import users_code

RESPONSE_METHODS = ("predict_proba", "decision_function", "predict")

ROWS_APART = []


def as_table(X, feature_names=None):
    """Wrap X: array, frame, SciPy sparse matrix or array; of rows apart, their table.

    Parameters
    ----------
    X : object
        As the user passed it.
    feature_names : sequence of str, default=None
        Names for the columns of an X that has none.
    """
    if isinstance(X, Table):
        table = X
    elif are_apart(X):
        table = X.table
    elif sparse.issparse(X) and X.ndim == 2:
        table = SparseTable(X)
    elif is_frame(X):
        table = FrameTable(X)
    elif (values := as_array(X, "X")).ndim == 2:
        table = ArrayTable(values)
    else:
        raise ValueError(
            f"X must be 2-dimensional, (n_samples, n_features), got {_shape(X, values)}"
        )
    if feature_names is not None:
        table.names = check_feature_names(feature_names, table)
    return table


def is_frame(X):
    """Whether X is a frame or another table of named columns."""
    if hasattr(X, "collect_schema"):  # polars, also where it is lazy
        return True
    return hasattr(X, "columns") and (hasattr(X, "dtypes") or hasattr(X, "schema"))


def checked_frame(X):
    """Whether X is a frame; raises as `as_table` does where one cannot be used."""
    return is_frame(X) and as_table(X) is not None


def stacked(tables):
    """One table of several with the same columns, rows below each other."""
    if isinstance(tables[0], FrameTable):
        frames = [nw.maybe_reset_index(table.frame) for table in tables]
        return FrameTable(tables[0].handed_out(nw.concat(frames, how="vertical")))
    if isinstance(tables[0], SparseTable):
        return SparseTable(sparse.vstack([t.native for t in tables], format="csr"))
    return ArrayTable(np.concatenate([table.native for table in tables]))


def rows_of_target(y, rows):
    """Some rows of a target in the container, and with the types, that it came in."""
    if isinstance(y, list | tuple):
        return [y[row] for row in rows]
    known = nw.from_native(y, eager_only=True, allow_series=True, pass_through=True)
    return y[rows] if known is y else known[rows].to_native()


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


def taken(measures, X, y, sample_weight, groups, feature_names=None):
    """X, y, weights and groups as measures take them: in memory, or X of `ROWS_APART`.

    Parameters
    ----------
    measures : list of BaseImportance
    X, y, sample_weight, groups : object
        As the user passed them.
    feature_names : sequence of str, default=None
        Names for the columns of an X that has none.
    """
    if in_partitions(X):
        for kind in ROWS_APART:
            of_rows = y, sample_weight, groups
            return kind.taken(measures, X, *of_rows, feature_names)
    if feature_names is not None:
        X = as_table(X, feature_names)
    return X, y, sample_weight, groups


def are_apart(X):
    """Whether these are rows that memory does not hold."""
    return isinstance(X, tuple(ROWS_APART))


def check_fitted(estimator, X=None):
    """Raise for a class, and for an estimator that has not been fitted.

    Parameters
    ----------
    estimator : object
    X : object, default=None
        Rows, one of which an estimator is asked for that seems to be unfitted.
    """
    if isinstance(estimator, type):
        raise TypeError(
            f"`estimator` must be a fitted model, got the class {estimator.__name__}. "
            "Make an instance and fit it first."
        )
    if has_tags(estimator) and hasattr(estimator, "fit"):
        try:
            check_is_fitted(estimator)
        except NotFittedError:
            if X is None or not _responds(estimator, X):
                raise


def check_features_seen(estimator, table):
    """Raise ValueError where X has another width than the estimator was fitted on.

    More columns are fine if the estimator takes them: those that ask for columns by
    name do not mind others.
    """
    expected = getattr(estimator, "n_features_in_", None)
    if isinstance(expected, numbers.Integral) and expected == 0:
        # a model that CatBoost's `load_model` has read knows only its columns' names
        expected = len(getattr(estimator, "feature_names_", ())) or None
    if not isinstance(expected, numbers.Integral) or expected == table.n_columns:
        return
    if table.n_columns < expected or not _responds(estimator, table):
        raise ValueError(
            f"X has {table.n_columns} columns, but {type(estimator).__name__} was "
            f"fitted with {expected}. Pass the columns the estimator was fitted with."
        )


def _responds(estimator, X):
    """Whether a model has a response for the first row of X."""
    table = as_table(X.partitions[0].compute() if in_partitions(X) else X)
    row = table.take(np.arange(min(1, table.n_samples))).native
    for method in RESPONSE_METHODS:
        with users_code(), suppress(Exception):  # a model may raise anything
            getattr(estimator, method)(row)
            return True
    return False


def has_tags(estimator):
    """Whether an object takes part in scikit-learn's estimator protocol."""
    return hasattr(estimator, "__sklearn_tags__") and not isinstance(estimator, type)


def check_feature_names(feature_names, table):
    """Return names for the columns of a table that has none, as a list."""
    if table.names is not None and not isinstance(table.names, LabelTexts):
        raise ValueError(
            "`feature_names` names the columns of an array or a sparse matrix, but X "
            "has column names of its own. Leave `feature_names` out."
        )
    try:
        names = [] if isinstance(feature_names, str) else list(feature_names)
    except TypeError:
        names = []
    if len(names) != table.n_columns or not all(isinstance(n, str) for n in names):
        raise ValueError(
            f"`feature_names` must hold one string for each of the {table.n_columns} "
            f"columns of X, got {feature_names!r:.60}."
        )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"`feature_names` has the name {twice!r} more than once.")
    return names


def in_partitions(values):
    """Whether values are a Dask collection that has partitions."""
    return hasattr(values, "to_delayed")


def check_in_memory(values, name):
    """Raise TypeError for a Dask collection, which NumPy would load without a word.

    Also for one without partitions, such as those of xarray.
    """
    if hasattr(values, "__dask_graph__"):
        raise TypeError(
            f"{name} must be in memory, got a Dask collection. Pass "
            f"{name.strip('`')}.compute()."
        )


def as_array(values, name):
    """Values as an array of real numbers or objects, or an error that names them."""
    check_in_memory(values, name)
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is a masked array, whose masked values would be read as if they "
            f"were known. Pass {name}.filled(np.nan)."
        )
    try:
        values = np.asarray(values)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be an array with rows of one length, got {values!r:.60}."
        ) from None
    if values.dtype.kind in "cV":
        raise ValueError(
            f"{name} must hold real numbers or labels, got dtype {values.dtype}."
        )
    return values


@dataclass(frozen=True)
class Feature:
    """One column or one group of columns.

    Attributes
    ----------
    name : str
        Label in every result.
    columns : tuple of int
        Positions of the columns of X that move together.
    is_group : bool
        Given as a list of columns; values come jointly from one donor row.
    """

    name: str
    columns: tuple
    is_group: bool = False

    def together_with(self, other):
        """The columns of two features as one, called ``first:second``."""
        return Feature(f"{self.name}:{other.name}", self.columns + other.columns, True)


def together(features):
    """Several features as one."""
    return reduce(Feature.together_with, features)


def check_known(name, names, parameter):
    """Raise unless a name that a parameter gives is that of a feature."""
    if name not in names:
        shown = [*names] if len(names) <= 20 else [*list(names)[:20], "..."]
        raise ValueError(
            f"`{parameter}` names {name!r}, which is not among the {len(names)} "
            f"features: {shown}."
        )


def column_position(feature, names, n_columns, whose="seen by the estimator"):
    """Position of one column given by name or by (possibly negative) integer.

    Labels that are no strings name a column, too; an integer that means one column as
    a label and another as a position is refused.
    """
    if isinstance(names, LabelTexts) and not isinstance(feature, str | bool | np.bool_):
        if not isinstance(feature, Integral):
            if feature in names.labels:
                return names.labels.index(feature)
        elif not names.are_positions:
            _refuse_other_labels(int(feature), names, n_columns)
    if isinstance(feature, str):
        labels = column_names(names, n_columns)
        if feature in labels:
            return labels.index(feature)
        known = f"{labels!r:.300}"
    elif isinstance(feature, bool | np.bool_) or not isinstance(feature, Integral):
        raise TypeError(
            "`features` takes column names, integer positions (for a mask pass "
            f"np.flatnonzero(mask)), or lists of them, got {feature!r} of type "
            f"{type(feature).__name__}."
        )
    elif -n_columns <= feature < n_columns:
        return int(feature) % n_columns
    else:
        feature, known = int(feature), f"positions run from 0 to {n_columns - 1}"
    raise ValueError(
        f"Feature {feature!r} is not among the {n_columns} features {whose}: {known}."
    )


def _refuse_other_labels(feature, names, n_columns):
    """Raise where labels are integers and an integer is not the label of its place."""
    labels = names.labels
    if not any(isinstance(label, Integral) for label in labels):
        return
    inside = -n_columns <= feature < n_columns
    if inside and feature in labels and labels.index(feature) == feature % n_columns:
        return
    as_label = "no column"
    if feature in labels:
        as_label = f"the column at position {labels.index(feature)}"
    as_position = "no column"
    if inside:
        as_position = f"the column with the label {labels[feature]!r}"
    raise ValueError(
        f"{feature} in `features` is {as_label} as a label, and {as_position} as a "
        f"position. Name columns by the texts of their labels, such as {names[0]!r}."
    )


def resolve_columns(features, names, n_columns, whose="seen by the estimator"):
    """Positions from names, integers or a boolean mask; None means none."""
    if features is None:
        return frozenset()
    if isinstance(features, np.ndarray):
        features = features.tolist()  # of no dimension: one column
    features = [features] if isinstance(features, str | Integral) else list(features)
    if features and all(isinstance(f, bool | np.bool_) for f in features):
        if len(features) != n_columns:
            raise ValueError(
                f"`categorical_features` as a mask must have {n_columns} values, one "
                f"per column, got {len(features)}."
            )
        return frozenset(np.flatnonzero(features).tolist())
    return frozenset(column_position(f, names, n_columns, whose) for f in features)


def resolve_features(features, names, n_columns):
    """Features from the `features` parameter.

    Parameters
    ----------
    features : None, sequence or dict
        None: each column; a sequence of names, positions, or lists of them (groups),
        where `...` stands for each column that is not named; a dict label -> those.
    names : sequence of str or None
        Column names of X.
    n_columns : int
        Number of columns of X.

    Returns
    -------
    list of Feature
    """
    labels = column_names(names, n_columns)
    if n_columns == 0:
        raise ValueError("X has no columns.")
    if features is None:
        return [Feature(name, (j,)) for j, name in enumerate(labels)]
    if isinstance(features, str | Integral | set | frozenset) or (
        isinstance(features, np.ndarray) and features.ndim == 0
    ):
        raise TypeError(
            f"`features` must be in an order, in a list or a dict, got {features!r:.60}"
            ". Use features=[name] for one column."
        )
    if isinstance(features, Mapping):
        given = list(features.items())
    else:
        given = [(None, feature) for feature in features]
    n_rests = sum(feature is ... for _, feature in given)
    if n_rests > 1:
        raise ValueError(f"`features` has `...` {n_rests} times. Use it once.")
    if not given:
        raise ValueError("`features` is empty. Use features=None for every column.")

    resolved, rest_from = [], None
    for label, feature in given:
        if label is None and feature is ...:
            rest_from = len(resolved)
            continue
        is_group = isinstance(feature, list | tuple) or np.ndim(feature) > 0
        if isinstance(feature, tuple) and isinstance(names, LabelTexts):
            is_group = feature not in names.labels
        members = list(feature) if is_group else [feature]
        if not members:
            raise ValueError(f"`features` has an empty group, got {features!r:.60}.")
        columns = tuple(column_position(f, names, n_columns) for f in members)
        if len(set(columns)) < len(columns):
            twice = labels[Counter(columns).most_common(1)[0][0]]
            raise ValueError(f"`features` has a group with {twice!r} twice.")
        name = "+".join(labels[j] for j in columns) if label is None else str(label)
        resolved.append(Feature(name, columns, is_group and len(columns) > 1))
    if rest_from is not None:
        named = {j for feature in resolved for j in feature.columns}
        rest = [Feature(labels[j], (j,)) for j in range(n_columns) if j not in named]
        resolved[rest_from:rest_from] = rest
    _refuse_duplicates(resolved)
    return resolved


def _refuse_duplicates(features):
    name, count = Counter(feature.name for feature in features).most_common(1)[0]
    if count > 1:
        raise ValueError(
            f"`features` names the feature {name!r} {count} times. Name each feature "
            "once, or use a dict with labels of your own."
        )
    members, count = Counter(frozenset(e.columns) for e in features).most_common(1)[0]
    if count > 1:
        same = [e.name for e in features if frozenset(e.columns) == members]
        raise ValueError(f"`features` names the same columns twice: {same}.")
