"""scikit-learn's functions, with one of the functions they call replaced."""

from inspect import unwrap
from types import FunctionType

from sklearn import get_config

from skvarimp._running.private_sklearn import (
    SLOW_PARTS,
    parameter_constraints,
    validate_parameter_constraints,
)


def slow_part(function, name):
    """What a function of scikit-learn calls by a (private) name, or None.

    Parameters
    ----------
    function : callable
        Perhaps wrapped by scikit-learn's decorators.
    name : str
        One of `SLOW_PARTS`.
    """
    assert name in SLOW_PARTS
    return unwrap(function).__globals__.get(name)


def rebound(function, name, replacement):
    """A copy of a function that calls a replacement by one of its global names.

    scikit-learn's own module is not touched, so that other threads and callers see
    nothing of it.
    """
    inner = unwrap(function)
    copy = FunctionType(
        inner.__code__,
        {**inner.__globals__, name: replacement},
        inner.__name__,
        inner.__defaults__,
        inner.__closure__,
    )
    copy.__kwdefaults__ = inner.__kwdefaults__
    return copy


def checked(function, params):
    """Raise as a function of scikit-learn would for parameters out of range."""
    constraints = parameter_constraints(function)
    if not get_config()["skip_parameter_validation"]:
        validate_parameter_constraints(constraints, params, function.__name__)
