"""Refit an estimator on some rows and measure it on some rows, again and again.

What `importance_across_folds`, `null_importances` and `leave_out_importances` have in
common.
"""

from dataclasses import dataclass, replace

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MethodMapping

from skvarimp._data.entries import resolve_features
from skvarimp._data.table import Table, as_table
from skvarimp._data.validation import (
    StrOptions,
    check_class_labels,
    check_sample_weight,
    check_target,
    has_tags,
    n_jobs_constraint,
    random_state_constraint,
)
from skvarimp._measures.base import BaseImportance
from skvarimp._running.guards import users_code
from skvarimp._running.private_sklearn import (
    CallbackSupportMixin,
    validate_parameter_constraints,
)
from skvarimp._running.tasks import set_callbacks, steps_of, within_callbacks
from skvarimp._selection.named import MEASURES
from skvarimp._selection.splits import (
    generator,
    seeded,
    seeded_splitter,
    seeds_of,
    splits_of,
)
from skvarimp._selection.steps import (
    Passed,
    check_finite,
    check_refittable,
    check_takes_weights,
    checked_instance,
    measured,
    one_a_column,
    reads_training_rows,
    routed,
    router_of,
    rows_of,
)

CONSTRAINTS = {
    "importance": [BaseImportance, StrOptions(set(MEASURES)), callable],
    "cv": ["cv_object"],
    "n_jobs": n_jobs_constraint,
    "random_state": random_state_constraint,
}


@dataclass(frozen=True)
class Measured:
    """The importances of one refit.

    Attributes
    ----------
    entry_names : list of str
    output_names : list of str
    importances : ndarray of shape (n_entries,)
    per_output : ndarray of shape (n_entries, n_outputs)
    """

    entry_names: list
    output_names: list
    importances: np.ndarray
    per_output: np.ndarray

    @classmethod
    def of(cls, found, table):
        """From what `measured` found; NaN and infinity raise."""
        if isinstance(found, BaseImportance):
            check_finite(found.importances_, found.entry_names_)
            return cls(
                found.entry_names_,
                found.output_names_,
                found.importances_,
                found.importances_per_output_,
            )
        values = one_a_column(found, table)
        return cls(table.column_names(), ["importance"], values, values[:, np.newaxis])

    def check_agrees(self, other, where):
        """Raise ValueError where another refit has other entries or outputs."""
        for what, own, of_other in (
            ("entries", self.entry_names, other.entry_names),
            ("outputs", self.output_names, other.output_names),
        ):
            if own != of_other:
                raise ValueError(
                    f"The first refit has the {what} {own}, {where} has {of_other}: "
                    "their importances cannot be compared. Use a splitter "
                    "that leaves every class in each training set, such as "
                    "StratifiedKFold."
                )


@dataclass(frozen=True)
class Refits:
    """An estimator and a measure, validated, with the rows to refit them on.

    Attributes
    ----------
    estimator : estimator or None
        None: nothing to fit, the measure looks at the data alone.
    importance : BaseImportance, callable or None
        None: nothing to measure, only `fitted` is asked.
    table : Table
    y : ndarray or None
    passed : Passed
        Metadata for the estimator and the measure.
    """

    estimator: object
    importance: object
    table: Table
    y: np.ndarray | None
    passed: Passed

    @users_code()
    def measure(self, train, rows, random):
        """Fit on the rows `train`, measure on `rows` (None: all of them).

        Every `random_state` that is None gets a seed from the Generator `random`.
        """
        if reads_training_rows(self.importance):
            rows = train
        estimator = None if self.estimator is None else self.fitted(train, random)
        importance = self.importance
        if isinstance(importance, BaseImportance):
            importance = seeded(clone(importance), random)
        table, y = self._some(rows)
        params = self._params("importance", rows)
        return Measured.of(measured(importance, estimator, table, y, params), table)

    @users_code()
    def fitted(self, train, random):
        """The estimator, cloned and fitted on the rows `train` (None: all of them).

        Every `random_state` that is None gets a seed from the Generator `random`.
        """
        estimator = seeded(clone(self.estimator), random)
        table, y = self._some(train)
        target = () if y is None else (y,)
        estimator.fit(table.native, *target, **self._params("fit", train))
        return estimator

    def _some(self, rows):
        if rows is None:
            return self.table, self.y
        return self.table.take(rows), None if self.y is None else self.y[rows]

    def _params(self, part, rows):
        params = getattr(self.passed, part)
        return params if rows is None else rows_of(params, rows)

    def splits(self, splitter):
        """(train, held-out) positions of each split, see `splits_of`."""
        passed = self.passed
        weight = (passed.fit | passed.importance).get("sample_weight")
        return splits_of(splitter, self.table.n_samples, self.y, passed.groups, weight)

    def seeded_splits(self, splitter, random_state):
        """(train, held-out, seed) of each split."""
        random = generator(random_state)
        splits = self.splits(seeded_splitter(splitter, random))
        seeds = seeds_of(random, len(splits))
        return [(*split, seed) for split, seed in zip(splits, seeds)]

    def with_targets_of(self, order):
        """Row i gets the target and the sample weight of row order[i]."""
        fit, importance = (
            {k: v[order] if k == "sample_weight" else v for k, v in part.items()}
            for part in (self.passed.fit, self.passed.importance)
        )
        passed = replace(self.passed, fit=fit, importance=importance)
        return replace(self, y=self.y[order], passed=passed)


def prepare(caller, estimator, importance, X, y, cv, sample_weight, groups, params):
    """Check what the user gave; returns the `Refits` and the splitter, or None."""
    importance = checked_instance(importance)
    if estimator is not None:
        check_refittable(estimator)
    table = as_table(X)
    y = check_target(y, table.n_samples, structured=True)
    if y is None and has_tags(estimator) and get_tags(estimator).target_tags.required:
        raise ValueError(
            f"y is required: {type(estimator).__name__} is refitted and learns from it."
        )
    if sample_weight is not None:
        sample_weight = check_sample_weight(sample_weight, table.n_samples)
    classifier = estimator is not None and is_classifier(estimator)
    if classifier:
        check_class_labels(y)
    if isinstance(importance, BaseImportance):
        features = importance.get_params(deep=False).get("features")
        resolve_features(features, table.names, table.n_columns)
    splitter = None if isinstance(cv, str) else check_cv(cv, y, classifier=classifier)
    given = {"sample_weight": sample_weight, "groups": groups, **(params or {})}
    router = None
    if get_config()["enable_metadata_routing"]:  # else some estimators refuse it
        router = router_of(caller, estimator, importance)
        if splitter is not None:
            to_split = MethodMapping().add(caller="fit", callee="split")
            router.add(splitter=splitter, method_mapping=to_split)
    passed = routed(router, estimator, given, table.n_samples)
    if estimator is not None:
        check_takes_weights(estimator, passed)
    return Refits(estimator, importance, table, y, passed), splitter


def check_parameters(caller, constraints, given):
    """Raise in scikit-learn's style for a parameter that is out of its range."""
    validate_parameter_constraints(CONSTRAINTS | constraints, given, caller)


class Refitting(CallbackSupportMixin, BaseEstimator):
    """What callbacks are told about: functions have no `set_callbacks`."""


def run_refits(function, tasks, arguments, n_jobs, callbacks):
    """The results of function(task, *arguments), in order.

    Fewer than tasks where a callback asks to stop.
    """
    runner = Refitting()
    set_callbacks(runner, callbacks)

    def run():
        done = steps_of([runner], function, tasks, arguments, n_jobs, "refit")
        return [result for _, result in done]

    return within_callbacks([runner], run)
