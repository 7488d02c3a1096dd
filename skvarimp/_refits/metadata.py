"""Metadata that refits pass on to the estimator, the measure and others."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from numbers import Number

import numpy as np
from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import has_fit_parameter

from skvarimp._data.table import as_array
from skvarimp._data.validation import check_sample_weight
from skvarimp._measures.base import BaseImportance
from skvarimp._refits.columns import KNOWN, Unknown, renumbered
from skvarimp._refits.measures import named

# Metadata that is passed on without scikit-learn's routing, too.
PER_ROW = "sample_weight", "groups"
# The method of each part that metadata may go to, in the order of `Passed`.
METHODS = dict(estimator="fit", measure="fit", scorer="score", splitter="split")


@dataclass
class Passed:
    """Metadata for each part, one array per parameter with a value per row.

    Attributes
    ----------
    fit, measure, score : dict
    groups : ndarray of shape (n_samples,) or None
    whole : dict
        Further parameters of the estimator's `fit`, which are not per row.
    """

    fit: dict
    measure: dict
    score: dict
    groups: np.ndarray | None
    whole: dict = field(default_factory=dict)

    @property
    def to_fit(self):
        """All parameters of the estimator's `fit`."""
        return self.fit | self.whole

    def take(self, rows, names=None):
        """The values of some rows, of all parameters but groups, or of some names."""
        parts = [
            {k: v[rows] if names is None or k in names else v for k, v in part.items()}
            for part in (self.fit, self.measure, self.score)
        ]
        return Passed(*parts, self.groups, self.whole)

    def for_columns(self, seen):
        """The same for other columns; `Unknown` where that cannot be.

        Parameters
        ----------
        seen : Seen
            All columns of X, before and now.
        """
        whole = {}
        for name, value in self.whole.items():
            try:
                whole[name] = renumbered(name, value, seen)
            except Unknown as error:
                reason = f"`{name}`, given to `fit`, refers to columns: {error}"
                raise Unknown(reason) from None
        return replace(self, whole=whole)


def _is_whole(name, value):
    """Whether a parameter of `fit` is not per row: lists of columns, options."""
    if name in PER_ROW:
        return False
    if name.split("__")[-1] in KNOWN or isinstance(value, str | Number | Mapping):
        return True
    return isinstance(value, list | tuple) and any(isinstance(v, tuple) for v in value)


def _takes(estimator, name):
    """Whether an estimator's `fit` takes a parameter, itself or for a step of it."""
    step, _, of_step = name.partition("__")
    if of_step and isinstance(estimator, Pipeline) and step in estimator.named_steps:
        return True
    return estimator is not None and has_fit_parameter(estimator, name)


def routed(router, estimator, params, n_samples):
    """Sort the metadata given to `fit`, with scikit-learn's routing on or off.

    Raises where weights, given without routing, would not reach the estimator.

    Parameters
    ----------
    router : MetadataRouter, or an object that has one
    estimator : estimator or None
    params : dict
    n_samples : int
    """
    given = {name: value for name, value in params.items() if value is not None}
    whole = {
        name: given.pop(name) for name in list(given) if _is_whole(name, given[name])
    }
    params = {name: as_array(value, f"`{name}`") for name, value in given.items()}
    for name, value in params.items():
        if value.shape[:1] != (n_samples,):
            raise ValueError(
                f"`{name}` must have {n_samples} values, one per row of X, got shape "
                f"{value.shape}."
            )
    if "sample_weight" in params:
        weight = check_sample_weight(params["sample_weight"], n_samples)
        params["sample_weight"] = weight
    if get_config()["enable_metadata_routing"]:
        by_part = process_routing(router, "fit", **params, **whole)
        given = {k: by_part.get(k, {}).get(method, {}) for k, method in METHODS.items()}
        groups = given.pop("splitter").get("groups")
        to_fit = given["estimator"]
        whole = {name: to_fit.pop(name) for name in list(to_fit) if name in whole}
        return Passed(*given.values(), groups, whole)
    unknown = set(params) - set(PER_ROW)
    unknown |= {name for name in whole if not _takes(estimator, name)}
    if unknown:
        raise TypeError(
            "Only sample_weight and groups are passed on, besides parameters of the "
            f"estimator's `fit` that are not per row, got {sorted(unknown)}. Other "
            "metadata needs sklearn.set_config(enable_metadata_routing=True)."
        )
    groups = params.pop("groups", None)
    takes = estimator is None or has_fit_parameter(estimator, "sample_weight")
    if params and not takes:
        route = ""
        if isinstance(estimator, Pipeline):
            last = estimator.steps[-1]
            name = type(last[1]).__name__
            route = (
                f": `{last[0]}` requests it as {name}().set_fit_request("
                "sample_weight=True), and so does the measure"
            )
        raise ValueError(
            f"{type(estimator).__name__} takes no sample_weight. Leave it out, or "
            f"route it after sklearn.set_config(enable_metadata_routing=True){route}."
        )
    return Passed(params, params, params, groups, whole)


def router_of(owner, estimator, measure, **others):
    """A router of metadata to parts; those that request none may be anything.

    Parameters
    ----------
    owner : object or str
    estimator : estimator or None
    measure : BaseImportance, str, callable or None
    **others : object
        By the names of `METHODS`.
    """
    measure = named(measure)
    measure = measure if isinstance(measure, BaseImportance) else None
    parts = {"estimator": estimator, "measure": measure} | others
    router = MetadataRouter(owner=owner)
    for name, part in parts.items():
        to_method = MethodMapping().add(caller="fit", callee=METHODS[name])
        router.add(**{name: part}, method_mapping=to_method)
    return router
