"""One step of a selection: refit, score and importances on every fold."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from skvarimp._base import BaseImportance


@dataclass
class Fold:
    """What one fold gives: a score, and importances or None."""

    score: float
    importances: np.ndarray | None


@dataclass
class Passed:
    """Metadata for each part, one array a parameter with an entry a row."""

    fit: dict
    importance: dict
    score: dict
    groups: np.ndarray | None


def routed(selector, params, n_samples):
    """Sort the metadata given to `fit`, with scikit-learn's routing on or off."""
    from sklearn import get_config

    params = {name: value for name, value in params.items() if value is not None}
    for name, value in params.items():
        if np.ndim(value) == 0 or len(value) != n_samples:
            raise ValueError(f"`{name}` must have {n_samples} entries, one a row of X.")
    params = {name: np.asarray(value) for name, value in params.items()}
    if get_config()["enable_metadata_routing"]:
        by_part = process_routing(selector, "fit", **params)
        groups = None
        if "splitter" in by_part:
            groups = by_part.splitter.split.get("groups")
        return Passed(
            dict(by_part.estimator.fit),
            dict(by_part.importance.fit) if "importance" in by_part else {},
            dict(by_part.scorer.score) if "scorer" in by_part else {},
            groups,
        )
    unknown = sorted(set(params) - {"sample_weight", "groups"})
    if unknown:
        raise TypeError(
            f"`fit` takes sample_weight and groups, got {unknown}. Other metadata "
            "needs sklearn.set_config(enable_metadata_routing=True)."
        )
    weight = {k: v for k, v in params.items() if k == "sample_weight"}
    takes = has_fit_parameter(selector.estimator, "sample_weight")
    return Passed(weight if takes else {}, weight, weight, params.get("groups"))


@dataclass
class Evaluation:
    """Refits an estimator on narrowing tables and looks at every fold.

    Attributes
    ----------
    estimator : estimator
        Cloned for each refit.
    importance : BaseImportance or callable
    scorer : callable
    y : ndarray
    splits : list of (ndarray, ndarray)
    passed : Passed
    n_jobs : int or None
    """

    estimator: object
    importance: object
    scorer: object
    y: np.ndarray
    splits: list
    passed: Passed
    n_jobs: int | None

    def folds(self, table, with_importance):
        """A `Fold` for each split of the table's rows."""
        calls = (
            delayed(_evaluate)(self, table, train, held_out, with_importance)
            for train, held_out in self.splits
        )
        return Parallel(n_jobs=self.n_jobs)(calls)

    def refit(self, table):
        """The estimator fitted on all rows."""
        return clone(self.estimator).fit(table.native, self.y, **self.passed.fit)


def _evaluate(step, table, train, held_out, with_importance):
    estimator = clone(step.estimator)
    estimator.fit(
        table.take(train).native, step.y[train], **_rows(step.passed.fit, train)
    )
    held = table.take(held_out)
    y = step.y[held_out]
    score = step.scorer(estimator, held.native, y, **_rows(step.passed.score, held_out))
    if not np.isfinite(score):
        raise ValueError(f"The scorer returned {score}; subsets cannot be compared.")
    if not with_importance:
        return Fold(float(score), None)
    if reads_training_rows(step.importance):
        held, held_out, y = table.take(train), train, step.y[train]
    importances = _importances(step, estimator, held, y, held_out)
    return Fold(float(score), importances)


def _rows(params, rows):
    return {name: value[rows] for name, value in params.items()}


def _importances(step, estimator, table, y, rows):
    importance = step.importance
    if isinstance(importance, BaseImportance):
        params = _rows(step.passed.importance, rows)
        fitted = clone(importance).fit(estimator, table.native, y, **params)
        values = fitted.importances_
    else:
        values = importance(estimator, table.native, y)
    values = np.asarray(values, dtype=np.float64)
    if values.shape != (table.n_columns,):
        raise ValueError(
            f"The importance must give one number for each of the {table.n_columns} "
            f"columns, got shape {values.shape}."
        )
    if not np.all(np.isfinite(values)):
        bad = table.column_names()[int(np.argmin(np.isfinite(values)))]
        raise ValueError(f"The importance of {bad!r} is NaN or infinite.")
    return values


def reads_training_rows(importance):
    """Whether a measure reads the fit itself and needs the rows it was fitted on."""
    reads = getattr(importance, "_reads_training_rows", False)
    return reads() if callable(reads) else reads


def check_can_serve(importance, estimator):
    """Raise before the first fit where a measure is known not to serve an estimator."""
    if not isinstance(importance, BaseImportance):
        return
    if importance.get_params(deep=False).get("features") is not None:
        raise ValueError(
            "The importance of a selector gives one number a column. Use it with "
            "features=None."
        )
    importance._validate_params()
    reason = importance._cannot_serve(estimator)
    if reason:
        raise TypeError(reason)


def smallest_good_enough(n_features, scores, performance_threshold):
    """Position of the smallest subset that scores well enough.

    score >= best - (1 - performance_threshold) |best|; of equally small subsets the
    better one.
    """
    n_features, scores = np.asarray(n_features), np.asarray(scores)
    best = scores.max()
    enough = best - (1.0 - performance_threshold) * abs(best)
    candidates = np.flatnonzero(scores >= enough)
    return candidates[np.lexsort((-scores[candidates], n_features[candidates]))[0]]


def check_named_columns(estimator, table, dropped):
    """Raise where a ColumnTransformer asks for a column that was dropped.

    Also where it asks by position: positions shift when a column goes.
    """
    if len(dropped) == 0:
        return
    gone = {table.column_names()[j] for j in dropped}
    for transformer in _column_transformers(estimator):
        for name, _, columns in transformer.transformers:
            if callable(columns):
                continue
            wanted = [columns] if isinstance(columns, str) else columns
            names = (
                [c for c in wanted if isinstance(c, str)] if np.iterable(wanted) else []
            )
            lost = sorted(gone.intersection(names))
            if lost:
                what = f"asks for the dropped column {lost[0]!r} by name"
            elif len(names) != np.size(wanted):
                what = "asks for columns by position, which shifts when others go"
            else:
                continue
            raise ValueError(
                f"The ColumnTransformer inside the estimator {what} (its part "
                f"{name!r}). Select columns by type with make_column_selector instead."
            )


def _column_transformers(estimator):
    parts = [estimator]
    if hasattr(estimator, "get_params"):
        parts += list(estimator.get_params(deep=True).values())
    found = {id(p): p for p in parts if isinstance(p, ColumnTransformer)}
    return list(found.values())
