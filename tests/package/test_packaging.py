"""What a distribution says about itself, in the places that say it twice."""

import re
import tomllib
from pathlib import Path

import pytest

import skvarimp

ROOT = Path(skvarimp.__file__).parents[1]

pytestmark = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").exists(), reason="needs a checkout"
)


def read(name):
    """A file at the top of the checkout."""
    return (ROOT / name).read_text(encoding="utf-8")


def set_up_commands(name):
    """The lines that make an environment."""
    return re.findall(r"^    (python3 -m venv .*)$", read(name), re.MULTILINE)


def test_one_version():
    """In the package, its citation and the latest changes."""
    cited = re.search(r"^version: (\S+)$", read("CITATION.cff"), re.MULTILINE).group(1)
    latest = re.search(r"^(\d\S*) .*\n=+$", read("CHANGES.rst"), re.MULTILINE).group(1)
    assert cited == latest == skvarimp.__version__


def test_no_wheels_for_interpreters_without_a_lock():
    """The kernels are not tested there, and the page says so."""
    tags = re.search(r'^build = "(.*)"', read("pyproject.toml"), re.MULTILINE)[1]
    assert tags.split()
    assert all(re.fullmatch(r"cp3\d+-\*", tag) for tag in tags.split())
    page = read("doc/performance.rst")
    assert "there are no wheels for it" in page[page.index("free-threaded") :]


def test_contributors_get_the_readmes_two_commands():
    """Word for word."""
    assert len(set_up_commands("README.rst")) == 2
    assert set_up_commands("CONTRIBUTING.rst") == set_up_commands("README.rst")


def test_pages_that_are_pointed_to_exist():
    """Paths in CONTRIBUTING."""
    paths = re.findall(
        r"``((?:doc|tests|skvarimp|\.ci)/[^`]*)``", read("CONTRIBUTING.rst")
    )
    assert len(paths) >= 4
    for path in paths:
        assert (ROOT / path).exists(), path


def test_marked_as_typed():
    """PEP 561: type checkers read the hints of an installed package."""
    assert (ROOT / "skvarimp" / "py.typed").exists()


def test_actions_are_pinned():
    """By the hash of a commit: a tag can be moved to other code."""
    used = [
        line.split("uses:")[1].strip()
        for path in (ROOT / ".github/workflows").glob("*.yml")
        for line in path.read_text("utf8").splitlines()
        if "uses:" in line
    ]
    assert len(used) >= 10
    for action in used:
        assert re.fullmatch(r"[\w/.-]+@[0-9a-f]{40}  # v\d[\d.]*", action), action


def test_the_package_says_where_its_pages_are():
    """For those who have only installed it."""
    project = tomllib.loads(read("pyproject.toml"))["project"]
    assert skvarimp.__doc_url__ == project["urls"]["Documentation"]
