"""What refits are given: the measure, the estimator and metadata."""

from dataclasses import dataclass

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import has_fit_parameter

from skvarimp._data.table import as_array
from skvarimp._data.validation import StrOptions, check_sample_weight, validate_params
from skvarimp._measures.accumulated_local_effects import ALEImportance
from skvarimp._measures.base import BaseImportance
from skvarimp._measures.coefficients.coefficients import CoefficientImportance
from skvarimp._measures.coefficients.weights import ConnectionWeightImportance
from skvarimp._measures.derivative import DerivativeImportance
from skvarimp._measures.filter_importance import FilterImportance
from skvarimp._measures.firm.firm import FIRMImportance
from skvarimp._measures.impurity.impurity import ImpurityImportance
from skvarimp._measures.joint.interaction import InteractionImportance
from skvarimp._measures.joint.shapley import ShapleyImportance
from skvarimp._measures.joint.sobol import SobolImportance
from skvarimp._measures.partial_dependence import PartialDependenceImportance
from skvarimp._measures.permutation import PermutationImportance
from skvarimp._measures.sensitivity import SensitivityImportance

MEASURES = {
    "ale": ALEImportance,
    "coefficient": CoefficientImportance,
    "connection_weight": ConnectionWeightImportance,
    "derivative": DerivativeImportance,
    "filter": FilterImportance,
    "firm": FIRMImportance,
    "impurity": ImpurityImportance,
    "interaction": InteractionImportance,
    "partial_dependence": PartialDependenceImportance,
    "permutation": PermutationImportance,
    "sensitivity": SensitivityImportance,
    "shapley": ShapleyImportance,
    "sobol": SobolImportance,
}


measure_constraint = [BaseImportance, StrOptions(set(MEASURES))]

# The method of each part that metadata may go to, in the order of `Passed`.
METHODS = dict(estimator="fit", measure="fit", scorer="score", splitter="split")


def named(measure, parameter="measure"):
    """An instance with default parameters for a name; anything else as it is.

    Parameters
    ----------
    measure : object
        As the user gave it.
    parameter : str
        What it was given as.

    Raises
    ------
    ValueError
        For an unknown name, with a list of those that are known.
    TypeError
        For a class in place of an instance.
    """
    if isinstance(measure, str):
        if measure not in MEASURES:
            raise ValueError(
                f"`{parameter}` names no measure: {measure!r}. Names are "
                f"{sorted(MEASURES)}."
            )
        return MEASURES[measure]()
    if isinstance(measure, type):
        name = measure.__name__
        raise TypeError(
            f"`{parameter}` must be an instance, got the class {name}. Use {name}()."
        )
    return measure


def checked_instance(measure):
    """The instance of a measure given by name or as it is, its parameters in range."""
    measure = named(measure)
    if isinstance(measure, BaseImportance):
        validate_params(measure)
    return measure


def check_one_a_column(measure):
    """A copy of the instance; raises unless it gives one number per column."""
    measure = checked_instance(measure)
    if not isinstance(measure, BaseImportance):
        return measure
    if measure.get_params(deep=False).get("features") is not None:
        raise ValueError(
            "The measure of a selector gives one number per column. Use it with "
            "features=None."
        )
    reason = measure._not_per_column()
    if reason:
        raise TypeError(reason)
    return clone(measure)


def check_refittable(estimator):
    """Raise TypeError unless an estimator can be cloned and fitted."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(
            "`estimator` must be an estimator with a `fit` method, which is cloned and "
            f"refitted, got {estimator!r:.60}. For one model fitted already use the "
            "measure's own `fit`."
        )


@dataclass
class Passed:
    """Metadata for each part, one array per parameter with a value per row."""

    fit: dict
    measure: dict
    score: dict
    groups: np.ndarray | None

    def take(self, rows, names=None):
        """The values of some rows, of all parameters but groups, or of some names."""
        parts = [
            {k: v[rows] if names is None or k in names else v for k, v in part.items()}
            for part in (self.fit, self.measure, self.score)
        ]
        return Passed(*parts, self.groups)


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
        by_part = process_routing(router, "fit", **params)
        given = {k: by_part.get(k, {}).get(method, {}) for k, method in METHODS.items()}
        groups = given.pop("splitter").get("groups")
        return Passed(*given.values(), groups)
    unknown = sorted(set(params) - {"sample_weight", "groups"})
    if unknown:
        raise TypeError(
            f"Only sample_weight and groups are passed on, got {unknown}. Other "
            "metadata needs sklearn.set_config(enable_metadata_routing=True)."
        )
    groups = params.pop("groups", None)
    takes = estimator is None or has_fit_parameter(estimator, "sample_weight")
    if params and not takes:
        raise ValueError(
            f"{type(estimator).__name__} takes no sample_weight. Leave it out, or "
            "route it after sklearn.set_config(enable_metadata_routing=True)."
        )
    return Passed(params, params, params, groups)


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
