"""The insides of other libraries' models are touched by the readers alone."""

import ast
from pathlib import Path

import pytest

import skvarimp

ROOT = Path(skvarimp.__file__).parent
READERS = ROOT / "_models" / "readers"
# Not of models: hooks for estimators' authors, and Python's own.
HOOKS = {
    "_validate_params",
    "_init_callback_context",
    "_parent_callback_ctx",
    "_skl_callbacks",
    "_skl_parameter_constraints",
    "_getframe",
    "_replace",  # of named tuples
}


def private(name):
    """Whether a name is one of those that a library keeps for itself."""
    return name.startswith("_") and not name.startswith("__")


def own_names(tree):
    """Names that a module defines: functions, classes, variables, attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(
            node.ctx, ast.Store
        ):
            yield node.id if isinstance(node, ast.Name) else node.attr


def used_names(tree):
    """Private attributes that a module reads, by a dot or by their name as a string."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            yield node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            named = node.func.id in ("getattr", "hasattr")
            constants = [a for a in node.args[1:2] if isinstance(a, ast.Constant)]
            yield from (a.value for a in constants if named)


def foreign_names(sources):
    """(file, name) of private attributes that no file of the package defines."""
    trees = {path: ast.parse(text) for path, text in sources.items()}
    own = {name for tree in trees.values() for name in own_names(tree)} | HOOKS
    return {
        (path, name)
        for path, tree in trees.items()
        for name in used_names(tree)
        if private(name) and name not in own
    }


@pytest.mark.thorough
def test_only_readers_name_private_attributes_of_models():
    """A new version of a library that renames one breaks one file, which warns."""
    sources = {path: path.read_text("utf8") for path in ROOT.rglob("*.py")}
    foreign = foreign_names(sources)
    assert any(READERS in path.parents for path, _ in foreign)  # it finds them there
    elsewhere = {
        (path.name, name) for path, name in foreign if READERS not in path.parents
    }
    assert not elsewhere


def test_the_search_finds_what_it_should():
    """By a dot and by a string; own names and parameters are no findings."""
    text = "class A:\n    _own = 1\n\ndef f(m):\n    return m._own, m._gamma, m.coef_\n"
    text += "\ndef g(m):\n    return getattr(m, '_probA', None), hasattr(m, 'fit')\n"
    assert foreign_names({"a": text}) == {("a", "_gamma"), ("a", "_probA")}
