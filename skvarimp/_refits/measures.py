"""Measures by name, and what refits ask of the one they are given."""

from sklearn.base import clone

from skvarimp._data.validation import StrOptions, validate_params
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
