"""One word per notion: every public signature, compared with one table of words."""

import importlib
import inspect
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import skvarimp

RESULTS = skvarimp.Importances, skvarimp.Comparison
DOC = Path(__file__).resolve().parents[2] / "doc"
MODULES = [
    "skvarimp",
    "skvarimp.filters",
    "skvarimp.feature_functions",
    "skvarimp.extending",
]
# Pictures have words of their own, and parts of measures those of their formulas.
# Functions alone make the objects that they return.
PARTS = {
    "Additive",
    "Form",
    "Link",
    "NotReadable",
    "Observed",
    "Plan",
    "Request",
    "State",
    "as_table",
    "check_target",
}


@pytest.fixture(scope="module")
def vocabulary():
    """The module with the table."""
    sys.path.insert(0, str(DOC))
    try:
        return importlib.import_module("vocabulary")
    finally:
        sys.path.remove(str(DOC))


def is_method(member):
    """Of a class or of its instances; no fitted attribute, which is a descriptor."""
    return inspect.isfunction(member) or inspect.ismethod(member)


def signatures():
    """Name -> parameters of what is public and the package's own."""
    found = {}
    for module in map(importlib.import_module, MODULES):
        for name in module.__all__:
            thing = getattr(module, name)
            if "_display" in thing.__module__ or name in PARTS:
                continue
            functions = {name: thing}
            if inspect.isclass(thing):
                if issubclass(thing, RESULTS):
                    functions = {}
                members = inspect.getmembers(thing, is_method)
                functions |= {f"{name}.{m}": f for m, f in members if m[0] != "_"}
            for where, function in functions.items():
                if function.__module__.startswith("skvarimp"):
                    found[where] = set(inspect.signature(function).parameters) - {
                        "self"
                    }
    return found


def test_every_parameter_is_a_word_of_the_table(vocabulary):
    """A new word is entered where all words stand, beside those it may repeat."""
    known, used = {*vocabulary.NOTIONS, *vocabulary.PARTICULAR}, signatures()
    new = {where: words - known for where, words in used.items() if words - known}
    assert not new
    assert known <= set().union(*used.values())  # and none that is no longer used


def test_no_notion_has_a_second_word(vocabulary):
    """Neither in a signature nor as the word of another notion."""
    others = [word for _, more in vocabulary.NOTIONS.values() for word in more]
    assert len(others) == len(set(others))
    words = set().union(*signatures().values())
    assert not words & set(others)
    assert not set(others) & {*vocabulary.NOTIONS, *vocabulary.PARTICULAR}


def test_a_second_word_is_found(vocabulary):
    """The word that permutation had for its rows until it was called `rows`."""

    def fit(subset=None):
        """Of the same notion as `rows`."""

    (new,) = inspect.signature(fit).parameters
    assert new not in {*vocabulary.NOTIONS, *vocabulary.PARTICULAR}
    assert new in vocabulary.NOTIONS["rows"][1]


def test_the_glossary_is_made_from_the_table(vocabulary, tmp_path):
    """Each word with its meaning; the page includes what is made."""
    vocabulary.write_vocabulary(SimpleNamespace(srcdir=tmp_path))
    made = (tmp_path / "generated" / "vocabulary.inc").read_text("utf8")
    for word, (what, _) in vocabulary.NOTIONS.items():
        assert f"   * - ``{word}``\n     - {what}." in made
    assert "include:: generated/vocabulary.inc" in (DOC / "glossary.rst").read_text()
