"""The documentation is complete, and a newcomer's first paste from each page works."""

import doctest
import importlib
import re
import textwrap
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOC, EXAMPLES = ROOT / "doc", ROOT / "examples"
PUBLIC_MODULES = [
    "skvarimp",
    "skvarimp.exceptions",
    "skvarimp.extending",
    "skvarimp.feature_functions",
    "skvarimp.filters",
    "skvarimp.inspection",
    "skvarimp.sequence",
]

# Pages of the guide that need no code block.
NO_MEASURE = {
    "rows",
    "compiled",
    "distributed",
    "indices_to_pictures",
    "measures_compared",
    "needed",
    "performance",
    "selection",
    "stability",
    "supported_models",
}


def listed_in(page):
    """Names in the toctrees of a page."""
    text = (DOC / f"{page}.rst").read_text("utf8")
    trees = re.findall(r"^\.\. toctree::\n((?:[ ].*\n|\n)*)", text, re.MULTILINE)
    lines = [line.strip() for tree in trees for line in tree.splitlines()]
    return [line for line in lines if line and not line.startswith(":")]


GUIDE = listed_in("guide")


def first_block(text):
    """The first block of Python in a page, as a reader would copy it, or None."""
    of_doctest = re.search(r"^>>> (?:.+\n?)+", text, re.MULTILINE)
    of_code = re.search(
        r"^\.\. code-block:: python\n\n((?:[ ]{3,}.*\n|\n)+)", text, re.MULTILINE
    )
    if of_doctest and not (of_code and of_code.start() < of_doctest.start()):
        examples = doctest.DocTestParser().get_examples(of_doctest[0])
        return "".join(example.source for example in examples)
    return textwrap.dedent(of_code[1]) if of_code else None


PAGES = sorted(
    page
    for page in [*GUIDE, *listed_in("extending"), "index"]
    if first_block((DOC / f"{page}.rst").read_text("utf8"))
)


@pytest.mark.thorough
@pytest.mark.parametrize("page", PAGES)
def test_first_code_block_runs_as_pasted(page):
    """By itself, and in less CPU time than a reader waits."""
    plt = pytest.importorskip("matplotlib.pyplot")
    source = first_block((DOC / f"{page}.rst").read_text("utf8"))
    start = time.process_time()
    exec(compile(source, f"{page}.rst", "exec"), {"__name__": "__main__"})
    assert time.process_time() - start < 10
    plt.close("all")


def test_measure_pages_have_a_first_block():
    """So that the test above leaves no measure out."""
    assert set(GUIDE) - NO_MEASURE <= set(PAGES)


@pytest.mark.parametrize("module", PUBLIC_MODULES)
def test_api_reference_has_every_public_name(module):
    """And no other."""
    text = (DOC / "api.rst").read_text("utf8")
    sections = re.split(r"^\.\. currentmodule:: (\S+)$", text, flags=re.MULTILINE)
    found = set()
    for name, section in zip(sections[1::2], sections[2::2]):
        if name == module:
            lists = re.findall(r":toctree: generated\n\n((?:   \w+\n)+)", section)
            found |= {entry.strip() for block in lists for entry in block.split("\n")}
    public = importlib.import_module(module).__all__
    assert found - {""} == set(public)


def test_gallery_stays_small():
    """At most eight scripts of fewer than 100 lines."""
    scripts = sorted(EXAMPLES.glob("*.py"))
    assert len(scripts) <= 8
    for script in scripts:
        assert len(script.read_text("utf8").splitlines()) < 100, script.name


def test_readme_has_two_commands():
    """One that runs the main job, one that runs the tests."""
    readme = (ROOT / "README.rst").read_text("utf8")
    commands = re.findall(r"^    python3 -m venv.*$", readme, re.MULTILINE)
    assert len(commands) == 2
    assert "examples/quickstart.py" in commands[0]
    assert "pytest" in commands[1]
