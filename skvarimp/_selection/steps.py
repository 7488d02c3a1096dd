"""One step of a selection: refit, score and importances on every fold."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import has_fit_parameter

from skvarimp._data.validation import as_array, check_sample_weight
from skvarimp._measures.base import BaseImportance
from skvarimp._measures.scoring import is_finite_number
from skvarimp._running.guards import users_code
from skvarimp._running.private_sklearn import validate_params
from skvarimp._running.tasks import in_order
from skvarimp._selection.named import named

ONE_STANDARD_ERROR = "one_standard_error"
LEAST_WORKING_MEMORY = 64  # MiB; smaller blocks would take longer


@dataclass
class Passed:
    """Metadata for each part, one array per parameter with an entry per row."""

    fit: dict
    importance: dict
    score: dict
    groups: np.ndarray | None


def routed(router, estimator, params, n_samples):
    """Sort the metadata given to `fit`, with scikit-learn's routing on or off.

    Parameters
    ----------
    router : MetadataRouter, or an object that has one
    estimator : estimator or None
        Gets sample weights if it takes them, when routing is off.
    params : dict
    n_samples : int
    """
    params = {name: value for name, value in params.items() if value is not None}
    for name, value in params.items():
        if not np.iterable(value) or len(value) != n_samples:
            raise ValueError(
                f"`{name}` must have {n_samples} entries, one per row of X."
            )
    params = {name: as_array(value, f"`{name}`") for name, value in params.items()}
    if "sample_weight" in params:
        weight = check_sample_weight(params["sample_weight"], n_samples)
        params["sample_weight"] = weight
    if not params:
        return Passed({}, {}, {}, None)
    if get_config()["enable_metadata_routing"]:
        by_part = process_routing(router, "fit", **params)

        def given(part, method):
            return dict(by_part.get(part, {}).get(method, {}))

        return Passed(
            given("estimator", "fit"),
            given("importance", "fit"),
            given("scorer", "score"),
            given("splitter", "split").get("groups"),
        )
    unknown = sorted(set(params) - {"sample_weight", "groups"})
    if unknown:
        raise TypeError(
            f"Only sample_weight and groups are passed on, got {unknown}. Other "
            "metadata needs sklearn.set_config(enable_metadata_routing=True)."
        )
    weight = {k: v for k, v in params.items() if k == "sample_weight"}
    takes = estimator is not None and has_fit_parameter(estimator, "sample_weight")
    return Passed(weight if takes else {}, weight, weight, params.get("groups"))


def router_of(owner, estimator, importance):
    """A router of metadata to the fit of an estimator and of a measure; None has none.

    Parameters
    ----------
    owner : object or str
    estimator : estimator or None
    importance : BaseImportance, str, callable or None
    """
    router, importance = MetadataRouter(owner=owner), named(importance)
    to_fit = MethodMapping().add(caller="fit", callee="fit")
    if estimator is not None:
        router.add(estimator=estimator, method_mapping=to_fit)
    if isinstance(importance, BaseImportance):
        router.add(importance=importance, method_mapping=to_fit)
    return router


def check_takes_weights(estimator, passed):
    """Raise where weights, given without routing, would not reach the model."""
    if get_config()["enable_metadata_routing"] or passed.fit or not passed.importance:
        return
    raise ValueError(
        f"{type(estimator).__name__} takes no sample_weight. Leave it out, or route "
        "it after sklearn.set_config(enable_metadata_routing=True)."
    )


@dataclass
class Evaluation:
    """Refits an estimator on narrowing tables and looks at every fold.

    Attributes
    ----------
    estimator : estimator
        Cloned for each refit.
    importance : BaseImportance or callable
    scorer : callable
    table : Table
    y : ndarray
    splits : list of (ndarray, ndarray)
    passed : Passed
    n_jobs : int or None

    A subset of columns is cut out of the table fold by fold, so that there are never
    more copies of X than the rows of one fold.
    """

    estimator: object
    importance: object
    scorer: object
    table: object
    y: np.ndarray
    splits: list
    passed: Passed
    n_jobs: int | None

    def folds(self, columns, with_importance):
        """Some columns' score on each fold, and the mean importances or None."""
        shared = self, columns, with_importance
        folds = in_order(_fold, self.splits, shared, self.n_jobs)
        scores, importances = zip(*(fold for _, fold in folds))
        mean = np.mean(importances, axis=0) if with_importance else None
        return np.array(scores), mean

    def refit(self, columns):
        """The estimator fitted on all rows of some columns."""
        X = self.table.select(columns).native
        return clone(self.estimator).fit(X, self.y, **self.passed.fit)


@users_code()
def _fold(split, step, columns, with_importance):
    """Score of some columns on a fold, and their importances or None."""
    (train, held_out), table = split, step.table
    estimator = clone(step.estimator)
    estimator.fit(
        table.part(train, columns).native,
        step.y[train],
        **rows_of(step.passed.fit, train),
    )
    part, y = table.part(held_out, columns), step.y[held_out]
    params = rows_of(step.passed.score, held_out)
    score = step.scorer(estimator, part.native, y, **params)
    if not is_finite_number(score):
        raise ValueError(
            f"The scorer returned {score} for {len(held_out)} held-out rows; subsets "
            "cannot be compared. Use another `scoring`, or a `cv` that holds out more."
        )
    if not with_importance:
        return float(score), None
    rows = held_out
    if reads_training_rows(step.importance):
        part, y, rows = table.part(train, columns), step.y[train], train
    params = rows_of(step.passed.importance, rows)
    with config_context(working_memory=_working_memory(table)):
        found = measured(step.importance, estimator, part, y, params)
    return float(score), one_a_column(found, part)


def _working_memory(table):
    """MiB for the blocks of a measure: the setting, but not much more than X.

    Of the moved rows that a measure asks a model for at once, it makes an eighth.
    """
    X = table.native
    n_values = X.nnz if sparse.issparse(X) else table.n_samples * table.n_columns
    half_of_X_at_once = 4 * 8 * n_values / 2**20
    largest = max(LEAST_WORKING_MEMORY, half_of_X_at_once)
    return min(get_config()["working_memory"], largest)


def rows_of(params, rows):
    """Some rows of metadata that have one entry per row."""
    return {name: value[rows] for name, value in params.items()}


def measured(importance, estimator, table, y, params):
    """A measure fitted on rows of a table, or what a callable returned for them."""
    if isinstance(importance, BaseImportance):
        return clone(importance).fit(estimator, table.native, y, **params)
    return importance(estimator, table.native, y)


def one_a_column(found, table):
    """The importances that `measured` found, of shape (n_columns,), all finite."""
    values = np.asarray(getattr(found, "importances_", found), dtype=np.float64)
    if values.shape != (table.n_columns,):
        raise ValueError(
            f"The importance must give one number for each of the {table.n_columns} "
            f"columns, got shape {values.shape}."
        )
    check_finite(values, table.column_names())
    return values


def check_finite(values, names):
    """Raise ValueError that names the first entry without a finite importance."""
    if not np.all(np.isfinite(values)):
        bad = names[int(np.argmin(np.isfinite(values)))]
        raise ValueError(f"The importance of {bad!r} is NaN or infinite.")


def reads_training_rows(importance):
    """Whether a measure reads the fit itself and needs the rows it was fitted on."""
    return getattr(importance, "_reads_training_rows", False)


def checked_instance(importance):
    """The instance of a measure given by name or as it is, its parameters in range."""
    importance = named(importance)
    if isinstance(importance, BaseImportance):
        validate_params(importance)
    return importance


def check_refittable(estimator):
    """Raise TypeError unless an estimator can be cloned and fitted."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(
            "`estimator` must be an estimator with a `fit` method, which is cloned and "
            f"refitted, got {estimator!r:.60}. For one model fitted already use the "
            "importance's own `fit`."
        )


def check_one_a_column(importance):
    """A copy of the instance; raises unless it gives one number per column."""
    importance = checked_instance(importance)
    if not isinstance(importance, BaseImportance):
        return importance
    if importance.get_params(deep=False).get("features") is not None:
        raise ValueError(
            "The importance of a selector gives one number per column. Use it with "
            "features=None."
        )
    reason = importance._not_per_column()
    if reason:
        raise TypeError(reason)
    return clone(importance)


def score_needed(path, performance_threshold):
    """The score that a subset needs to be good enough.

    best - (1 - performance_threshold) |best|, or with "one_standard_error" the best
    minus the standard error of its mean over the folds (Breiman et al. 1984).
    """
    score, best = np.asarray(path["score"]), best_step(path)
    if performance_threshold == ONE_STANDARD_ERROR:
        folds = path["fold_scores"][best]
        return score[best] - folds.std(ddof=1) / np.sqrt(len(folds))
    return score[best] - (1.0 - performance_threshold) * abs(score[best])


def best_step(path):
    """Position of the best score on a path; of several the smallest subset."""
    return np.lexsort((path["n_features"], -np.asarray(path["score"])))[0]


def smallest_good_enough(path, needed):
    """Position of the smallest subset that scores at least as needed.

    Of equally small subsets the better one.
    """
    n_features, scores = np.asarray(path["n_features"]), np.asarray(path["score"])
    candidates = np.flatnonzero(scores >= needed)
    return candidates[np.lexsort((-scores[candidates], n_features[candidates]))[0]]


def check_named_columns(estimator, table, dropped):
    """Raise where a ColumnTransformer asks for a column that was dropped.

    Also where it asks by position: positions shift when a column goes.
    """
    if len(dropped) == 0:
        return
    gone = {table.column_names()[j] for j in dropped}
    for part, columns in _parts_that_name_columns(estimator):
        names = [column for column in columns if isinstance(column, str)]
        lost = sorted(gone.intersection(names))
        if lost:
            what = f"asks for the dropped column {lost[0]!r} by name"
        elif len(names) < len(columns):
            what = "asks for columns by position, which shifts when others go"
        else:
            continue
        raise ValueError(
            f"The ColumnTransformer inside the estimator {what} (its part {part!r}). "
            "Select columns by type with make_column_selector instead."
        )


def check_copies_reach(estimator):
    """Raise where a ColumnTransformer would not see copies of columns."""
    for part, _ in _parts_that_name_columns(estimator):
        raise ValueError(
            "The ColumnTransformer inside the estimator asks for the columns of its "
            f"part {part!r} by name or position, so that their shuffled copies would "
            "not reach the model. Select columns by type with make_column_selector "
            "instead."
        )


def _parts_that_name_columns(estimator):
    """(name, list of columns) of the parts of ColumnTransformers in an estimator."""
    inside = [estimator]
    if hasattr(estimator, "get_params"):
        inside += estimator.get_params(deep=True).values()
    for transformer in inside:
        if isinstance(transformer, ColumnTransformer):
            for part, _, columns in transformer.transformers:
                if not callable(columns):
                    several = np.iterable(columns) and not isinstance(columns, str)
                    yield part, list(columns) if several else [columns]
