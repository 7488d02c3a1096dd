"""Measures by name, for parameters that take an importance."""

from skvarimp._measures.accumulated_local_effects import ALEImportance
from skvarimp._measures.coefficients.coefficients import CoefficientImportance
from skvarimp._measures.coefficients.connection_weights import (
    ConnectionWeightImportance,
)
from skvarimp._measures.derivative import DerivativeImportance
from skvarimp._measures.filter_importance import FilterImportance
from skvarimp._measures.firm.firm import FIRMImportance
from skvarimp._measures.impurity.impurity import ImpurityImportance
from skvarimp._measures.interaction.interaction import InteractionImportance
from skvarimp._measures.partial_dependence import PartialDependenceImportance
from skvarimp._measures.permutation import PermutationImportance
from skvarimp._measures.sensitivity import SensitivityImportance
from skvarimp._measures.sobol import SobolImportance

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
    "sobol": SobolImportance,
}


def named(importance, parameter="importance"):
    """An instance with default parameters for a name; anything else as it is.

    Parameters
    ----------
    importance : object
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
    if isinstance(importance, str):
        if importance not in MEASURES:
            raise ValueError(
                f"`{parameter}` names no measure: {importance!r}. Names are "
                f"{sorted(MEASURES)}."
            )
        return MEASURES[importance]()
    if isinstance(importance, type):
        name = importance.__name__
        raise TypeError(
            f"`{parameter}` must be an instance, got the class {name}. Use {name}()."
        )
    return importance
