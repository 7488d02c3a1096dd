"""Type hints of the public surface: complete, resolvable, and true."""

import importlib
import inspect
import math
import re
import runpy
import typing
from pathlib import Path

import pytest
from public_classes import MODULES, VALIDATED

from skvarimp.extending import BaseImportance


def public_callables():
    """Name and function of everything public that takes arguments."""
    found = {}
    for module in map(importlib.import_module, MODULES):
        for name in module.__all__:
            member = getattr(module, name)
            if inspect.isfunction(member):
                found[name] = member
                continue
            for kind in member.__mro__:
                if kind.__module__.startswith("skvarimp"):
                    found |= of_class(kind)
    return found


def of_class(kind):
    """The constructor and the public methods and properties of one class."""
    found = {}
    for name, value in vars(kind).items():
        if name.startswith("_") and name not in ("__init__", "__call__"):
            continue
        if isinstance(value, classmethod | staticmethod):
            value = value.__func__
        if isinstance(value, property):
            value = value.fget
        value = getattr(value, "fn", value)  # scikit-learn's `available_if`
        if inspect.isfunction(value):
            found[f"{kind.__name__}.{name}"] = value
    return found


CALLABLES = public_callables()


def test_the_surface_is_found():
    """Constructors, methods behind decorators, properties, functions."""
    assert {
        "SensitivityImportance.__init__",
        "BaseImportance.fit",
        "Delegating.predict_proba",
        "NullImportances.familywise_pvalues",
        "null_importances",
        "OligomerWeights.from_estimator",
        "auc",
    } <= set(CALLABLES)
    assert len(CALLABLES) > 100


@pytest.mark.parametrize("name", CALLABLES)
def test_signatures_are_fully_annotated(name):
    """Every parameter and what is returned; the names resolve at run time."""
    function = CALLABLES[name]
    signature = inspect.signature(function)
    bare = [
        parameter.name
        for parameter in list(signature.parameters.values())
        if parameter.annotation is parameter.empty
        and parameter.name not in ("self", "cls")
    ]
    assert bare == []
    assert signature.return_annotation is not signature.empty
    assert "return" in typing.get_type_hints(function)


PUBLIC = CALLABLES | {
    name: member
    for module in map(importlib.import_module, MODULES)
    for name, member in vars(module).items()
    if name in module.__all__ and inspect.isclass(member)
}
# name, other : type, default=value, of which the type may go on in a second line
DEFAULT = re.compile(r"^ *(\w+(?:, \w+)*) : .*?(?:\n.*?)?default=(.+)$", re.MULTILINE)


@pytest.mark.parametrize("name", PUBLIC)
def test_documented_defaults_are_those_of_the_signature(name):
    """A constant, as the docstring writes it."""
    parameters = inspect.signature(PUBLIC[name]).parameters
    for names, written in DEFAULT.findall(PUBLIC[name].__doc__ or ""):
        for parameter in set(names.split(", ")) & set(parameters):
            default = parameters[parameter].default
            if isinstance(default, str | int | float | None):
                assert eval(written, {"inf": math.inf}) == default


def test_documented_defaults_are_found():
    """Also of several parameters in a line."""
    doc = "    seed, n : int or\n        None, default=3\n    x : float, default=1.5"
    assert DEFAULT.findall(doc) == [("seed, n", "3"), ("x", "1.5")]


@pytest.mark.parametrize("name", CALLABLES)
def test_signatures_can_be_read(name):
    """What `help` shows has the names of this package, not what they stand for."""
    shown = str(inspect.signature(CALLABLES[name]))
    assert "numpy._typing" not in shown


def parts(hint):
    """The members of a union, aliases resolved."""
    if typing.get_origin(hint) is typing.Literal:
        return set(typing.get_args(hint))
    members = typing.get_args(hint)
    union = type(int | str), typing.Union
    if members and (typing.get_origin(hint) in union or isinstance(hint, union[:1])):
        return set().union(*map(parts, members))
    return {hint}


@pytest.mark.parametrize("kind", VALIDATED, ids=lambda kind: kind.__name__)
def test_hints_say_what_is_validated(kind):
    """The words, None and numbers of the hints are those that `fit` takes."""
    hints = typing.get_type_hints(kind.__init__)
    shared = getattr(kind, "_shared_constraints", {}).items()
    all_constraints = {name: c for name, c in shared if name in hints}
    all_constraints |= kind._parameter_constraints
    for name, constraints in all_constraints.items():
        hint = parts(hints[name])
        if typing.Any in hint or str in hint:
            continue
        words = {member for member in hint if isinstance(member, str)}
        allowed = set().union(
            *(c.options for c in constraints if hasattr(c, "options"))
        )
        assert words == allowed, f"{kind.__name__}.{name}"
        nothing = None in constraints or "random_state" in constraints
        nothing |= "cv_object" in constraints
        assert (type(None) in hint) == nothing, f"{kind.__name__}.{name}"
        assert (bool in hint) == ("boolean" in constraints), f"{kind.__name__}.{name}"


MEASURES = [kind for kind in VALIDATED if issubclass(kind, BaseImportance)]


@pytest.mark.parametrize("kind", MEASURES, ids=lambda kind: kind.__name__)
def test_other_words_than_those_of_the_hints_are_refused(kind):
    """Of every parameter that takes words; the message names it and lists them."""
    for name, hint in typing.get_type_hints(kind.__init__).items():
        words = {member for member in parts(hint) if isinstance(member, str)}
        if not words or str in parts(hint):
            continue
        with pytest.raises(ValueError, match=f"'{name}' parameter of") as refused:
            kind(**{name: "another"}).fit(None, [[0.0], [1.0]], [0.0, 1.0])
        assert all(repr(word) in str(refused.value) for word in words)


@pytest.mark.parametrize("kind", VALIDATED, ids=lambda kind: kind.__name__)
def test_defaults_are_of_their_hint(kind):
    """A default word is among the hint's words, None among its members."""
    hints = typing.get_type_hints(kind.__init__)
    for parameter in inspect.signature(kind.__init__).parameters.values():
        default, members = parameter.default, parts(hints.get(parameter.name))
        if default is parameter.empty or parameter.name == "self":
            continue
        if default is None or isinstance(default, str):
            member = type(None) if default is None else default
            assert member in members or str in members, parameter.name
        else:
            number = type(default) in members or float in members
            assert number, parameter.name


def test_common_results_are_typed():
    """What every fitted measure has."""
    hints = typing.get_type_hints(BaseImportance)
    assert {"importances_", "standard_errors_", "ranking_", "features_"} <= set(hints)


def test_the_script_for_type_checkers_runs():
    """What `mypy --strict` accepts works, too."""
    runpy.run_path(str(Path(__file__).parents[1] / "support/typed_user_script.py"))
