"""Refit an estimator and measure it: what selectors and refits have in common.

Seeds and splits are the same for any order of the work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags

from skvarimp._data.table import Table, as_table, has_tags, resolve_features
from skvarimp._data.validation import (
    CONSTRAINTS,
    check_class_labels,
    check_target,
    check_weights,
)
from skvarimp._measures.base import BaseImportance
from skvarimp._refits.measures import checked_instance, measure_constraint
from skvarimp._refits.metadata import Passed, routed, router_of
from skvarimp._response.rounds import feature_seeds
from skvarimp._results.importances import Circumstances, Importances
from skvarimp._results.words import Quantity, count, model_in_words
from skvarimp._running.guards import users_code, warn
from skvarimp._running.private_sklearn import (
    CallbackSupportMixin,
    validate_parameter_constraints,
)
from skvarimp._running.tasks import (
    Progress,
    set_callbacks,
    tasks_done,
    within_callbacks,
)

# A measure, its name for default parameters, or a function of one's own.
Measure: TypeAlias = BaseImportance | str | Callable[[Any, Any, Any], ArrayLike]


def check_refittable(estimator):
    """Raise TypeError unless an estimator can be cloned and fitted."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(
            "`estimator` must be an estimator with a `fit` method, which is cloned and "
            f"refitted, got {estimator!r:.60}. For one model fitted already use the "
            "measure's own `fit`."
        )


@dataclass(frozen=True)
class Refits:
    """An estimator and a measure, validated, with the rows to refit them on.

    Attributes
    ----------
    estimator : estimator or None
        None: nothing to fit, the measure looks at the data alone.
    measure : BaseImportance, callable or None
        None: nothing to measure, only `fitted` is asked.
    table : Table
    y : ndarray or None
    passed : Passed
        Metadata for the estimator, the measure and the scorer.
    """

    estimator: object
    measure: object
    table: Table
    y: np.ndarray | None
    passed: Passed

    def part(self, rows, columns=None):
        """The same on some rows (None: all of them), and on some columns."""
        if rows is None:
            table = self.table if columns is None else self.table.select(columns)
            return replace(self, table=table)
        table = self.table
        table = table.take(rows) if columns is None else table.part(rows, columns)
        y = None if self.y is None else self.y[rows]
        return replace(self, table=table, y=y, passed=self.passed.take(rows))

    def with_targets_of(self, order):
        """Row i gets the target and the sample weight of row order[i]."""
        passed = self.passed.take(order, ["sample_weight"])
        return replace(self, y=self.y[order], passed=passed)

    @users_code()
    def fitted(self, random=None):
        """The estimator, cloned with seeds and fitted; see `cloned`."""
        target = () if self.y is None else (self.y,)
        estimator = cloned(self.estimator, random)
        estimator.fit(self.table.native, *target, **self.passed.to_fit)
        return estimator

    def rows_to_measure(self, train, rows):
        """`train` for measures that read the fit itself, `rows` for all others."""
        reads = getattr(self.measure, "_reads_training_rows", False)
        return train if reads else rows

    def measured(self, estimator, random=None):
        """The importances of an estimator; NaN and infinity raise."""
        return self.importances_of(self._found(estimator, random))

    @users_code()
    def _found(self, estimator, random):
        """The measure fitted on an estimator, or what the user's function returns."""
        X, found = self.table.native, self.measure
        if not isinstance(found, BaseImportance):
            return found(estimator, X, self.y)
        found = cloned(found, random)
        return found.fit(estimator, X, self.y, **self.passed.measure)

    def refitted(self, train, rows, random):
        """The importances after `found_after_refit`."""
        return self.importances_of(self.found_after_refit(train, rows, random))

    def found_after_refit(self, train, rows, random):
        """Fit on the rows `train`, measure on `rows` (None: all of them).

        Every `random_state` that is None gets a seed from `random`, see `cloned`.
        """
        random = np.random.default_rng(random)
        estimator = None
        if self.estimator is not None:
            estimator = self.part(train).fitted(random)
        rows = self.rows_to_measure(train, rows)
        return self.part(rows)._found(estimator, random)

    def splits(self, splitter, random=None, weighted=True):
        """(train, held-out) positions of each split.

        Raises ValueError for parts that are empty or foreign and, if `weighted`, for
        those without any weight.

        Parameters
        ----------
        splitter : splitter
        random : Generator or None
            Seeds a splitter that shuffles without a seed of its own.
        weighted : bool
        """
        shuffles = random is not None and getattr(splitter, "shuffle", True)
        if shuffles and getattr(splitter, "random_state", 0) is None:
            splitter = copy(splitter)
            splitter.random_state = int(random.integers(2**31))
        n_samples, passed = self.table.n_samples, self.passed
        X = np.zeros((n_samples, 1))  # splitters look at its length only
        try:
            splits = list(splitter.split(X, self.y, passed.groups))
        except (TypeError, ValueError) as error:
            if "unpack" not in str(error):
                raise
            raise ValueError(
                "`cv` must give the positions of training and held-out rows, two "
                f"arrays per split, got {splitter.cv!r:.60}. Use for example cv=5."
            ) from None
        if not splits:
            raise ValueError("`cv` makes no split. Use for example cv=5.")
        splits = [tuple(_positions(p, n_samples) for p in split) for split in splits]
        weight = (passed.fit | passed.measure).get("sample_weight")
        if weight is None or not weighted:
            return splits
        for number, split in enumerate(splits):
            for part, rows in zip(("training", "held-out"), split):
                if not np.any(weight[rows]):
                    raise ValueError(
                        f"In fold {number} of `cv` the `sample_weight` of all {part} "
                        "rows is 0. Use folds that share the rows with weight."
                    )
        return splits

    def importances_of(self, measured):
        """What a fitted measure has found, or a function of the user's returns.

        Without what a measure has of single rows. NaN and infinity raise.

        Parameters
        ----------
        measured : BaseImportance or array-like of shape (n_columns,)
        """
        if isinstance(measured, BaseImportance):
            of_rows = {"influences": None, "row_effects": None, "rows": None}
            found = replace(measured.result_, **of_rows)
        else:
            values, n_columns = np.asarray(measured, dtype=float), self.table.n_columns
            if values.shape != (n_columns,):
                raise ValueError(
                    f"The measure must give one number for each of the {n_columns} "
                    f"columns, got shape {values.shape}."
                )
            name = getattr(self.measure, "__name__", "<lambda>")
            function = "a function" if name == "<lambda>" else f"the function {name}"
            found = Importances(
                self.table.column_names(),
                values,
                output_names=["importance"],
                quantity=Quantity("importance", f"what {function} returns"),
            )
        finite = np.isfinite(found.importances)
        if not finite.all():
            bad = found.features[finite.argmin()]
            raise ValueError(f"The importance of {bad!r} is NaN or infinite.")
        return found

    def circumstances(self, measured=None, n_folds=0, **said):
        """The model and the rows that were measured on, in words.

        Parameters
        ----------
        measured : list of ndarray of int, default=None
            The rows of each fold; None: all rows.
        n_folds : int, default=0
            0: the model was refitted on all rows.
        **said : dict
            Further attributes of `Circumstances`.
        """
        n = self.table.n_samples
        weights = (self.passed.fit | self.passed.measure).get("sample_weight")
        weights = check_weights(weights, n)
        if measured is not None:
            rows = [row for of_fold in measured for row in of_fold]
            weights = weights[np.unique(rows).astype(np.intp)]
        weights = weights[weights > 0]
        unfitted = clone(self.estimator, safe=False)  # None and functions stay
        model = model_in_words(unfitted)
        folds = f" in {count(n_folds, 'fold')}" if n_folds else ""
        reads = n_folds == 0 or self.rows_to_measure(True, False)
        given = {
            "model": f"{model} refitted{folds}" if model else "",
            "n_samples": len(weights),
            "rows": "training row" if reads else "held-out row",
            "weighted": len(np.unique(weights)) > 1,
            "fixed": "the fitted models are held fixed",
        }
        return Circumstances(**(given | said))

    def seeded_splits(self, splitter, random_state):
        """(train, held-out, seed) of each split."""
        random = generator(random_state)
        splits = self.splits(splitter, random)
        seeds = seeds_of(random, len(splits))
        return [(*split, seed) for split, seed in zip(splits, seeds)]


def check_comparable(results):
    """Raise ValueError where a result has other features or outputs than the first.

    Parameters
    ----------
    results : list of Importances
    """
    for number, other in enumerate(results[1:], start=2):
        for what, name in (("features", "features"), ("outputs", "output_names")):
            first, of_other = getattr(results[0], name), getattr(other, name)
            if first != of_other:
                raise ValueError(
                    f"The first refit has the {what} {first}, refit {number} has "
                    f"{of_other}: their importances cannot be compared. Use a splitter "
                    "that leaves every class in each training set, such as "
                    "StratifiedKFold."
                )


def mean_of(results):
    """The mean of several results of the same features; a single one as it is.

    Parameters
    ----------
    results : list of Importances
    """
    if len(results) == 1:
        return results[0]
    check_comparable(results)
    first = results[0]
    return Importances(
        first.features,
        np.mean([one.importances for one in results], axis=0),
        per_output=np.mean([one.per_output for one in results], axis=0),
        output_names=first.output_names,
        quantity=first.quantity,
    )


def generator(random_state):
    """One Generator from a seed, RandomState or Generator, which is consumed."""
    return np.random.default_rng(int(feature_seeds(random_state, 1)[0]))


def seeds_of(random, n):
    """One seed per refit, so that nothing depends on the order of the work."""
    return random.integers(2**63, size=n).tolist()


def cloned(part, random=None):
    """A clone, in which every `random_state` that is None gets a seed of its own.

    Parameters
    ----------
    part : estimator or BaseImportance
    random : Generator, int or None
        What draws the seeds, or its seed; None: nothing gets a seed.
    """
    part = clone(part)
    if random is not None:
        random = np.random.default_rng(random)
        for name, value in sorted(part.get_params(deep=True).items()):
            if value is None and name.split("__")[-1] == "random_state":
                part.set_params(**{name: int(random.integers(2**31))})
    return part


def _positions(rows, n_samples):
    rows = np.asarray(rows)
    if rows.dtype == bool and len(rows) == n_samples:
        rows = np.flatnonzero(rows)
    if rows.size == 0:
        raise ValueError("`cv` makes a split without training or held-out rows.")
    if rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= n_samples:
        raise ValueError(f"`cv` makes a split with rows that X does not have: {rows}.")
    return rows


def prepare(caller, given, **constraints):
    """Check what the user gave; returns the `Refits` and the splitter, or None.

    Parameters
    ----------
    caller : str
        Name of a function.
    given : dict
        All of its parameters.
    **constraints : dict
        Of those that not all functions have.
    """
    own = {"measure": [*measure_constraint, callable], "cv": ["cv_object"]}
    own["params"] = [Mapping, None]
    validate_parameter_constraints(CONSTRAINTS | own | constraints, given, caller)
    estimator, cv = given["estimator"], given["cv"]
    measure = checked_instance(given.get("measure"))
    if estimator is not None:
        check_refittable(estimator)
    table = as_table(given["X"])
    y = check_target(given["y"], table.n_samples, structured=True)
    if y is None and has_tags(estimator) and get_tags(estimator).target_tags.required:
        raise ValueError(
            f"y is required: {type(estimator).__name__} is refitted and learns from it."
        )
    classifier = estimator is not None and is_classifier(estimator)
    if classifier:
        check_class_labels(y)
    if isinstance(measure, BaseImportance):
        features = measure.get_params(deep=False).get("features")
        resolve_features(features, table.names, table.n_columns)
    splitter = None if isinstance(cv, str) else check_cv(cv, y, classifier=classifier)
    router = None
    if get_config()["enable_metadata_routing"]:  # else some estimators refuse it
        router = router_of(caller, estimator, measure, splitter=splitter)
    metadata = {name: given[name] for name in ("sample_weight", "groups")}
    metadata |= given["params"] or {}
    passed = routed(router, estimator, metadata, table.n_samples)
    return Refits(estimator, measure, table, y, passed), splitter


class Refitting(CallbackSupportMixin, BaseEstimator):
    """What callbacks are told about: functions have no `set_callbacks`."""


def run_refits(function, tasks, arguments, n_jobs, callbacks, least=1):
    """The results of function(task, *arguments), in order.

    Fewer than tasks where a callback asks to stop, or an interrupt after the first
    `least` tasks, without which there is no result.
    """
    runner = Refitting()
    set_callbacks(runner, callbacks)
    progress = Progress([runner], len(tasks), "refit")
    done = tasks_done(progress, function, tasks, arguments, n_jobs, least)
    return within_callbacks([runner], lambda: [result for _, result in done])


def warn_if_stopped(caller, n_done, n_planned, what):
    """Say how much is missing where a callback or an interrupt stopped a function."""
    if n_done < n_planned:
        warn(f"{caller} was stopped: {n_done} of {n_planned} {what} done.")
