"""What functions over refits are given, checked, and how they run their refits."""

from collections.abc import Mapping

from sklearn import get_config
from sklearn.base import BaseEstimator, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags

from skvarimp._data.table import as_table, has_tags, resolve_features
from skvarimp._data.validation import CONSTRAINTS, check_class_labels, check_target
from skvarimp._measures.base import BaseImportance
from skvarimp._running.guards import warn
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
from skvarimp._selection.checks import (
    check_refittable,
    checked_instance,
    importance_constraint,
    routed,
    router_of,
)
from skvarimp._selection.refits import Refits


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
    own = {"importance": [*importance_constraint, callable], "cv": ["cv_object"]}
    own["params"] = [Mapping, None]
    validate_parameter_constraints(CONSTRAINTS | own | constraints, given, caller)
    estimator, cv = given["estimator"], given["cv"]
    importance = checked_instance(given.get("importance"))
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
    if isinstance(importance, BaseImportance):
        features = importance.get_params(deep=False).get("features")
        resolve_features(features, table.names, table.n_columns)
    splitter = None if isinstance(cv, str) else check_cv(cv, y, classifier=classifier)
    router = None
    if get_config()["enable_metadata_routing"]:  # else some estimators refuse it
        router = router_of(caller, estimator, importance, splitter=splitter)
    metadata = {name: given[name] for name in ("sample_weight", "groups")}
    metadata |= given["params"] or {}
    passed = routed(router, estimator, metadata, table.n_samples)
    return Refits(estimator, importance, table, y, passed), splitter


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
