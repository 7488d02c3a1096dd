"""What the documentation promises of itself: reachable, built offline, true tables."""

import importlib.util
import posixpath
import re
from types import SimpleNamespace

import pytest
from test_documentation import DOC, EXAMPLES, listed_in
from test_registry import DECLINES, OURS, X, fitted

from skvarimp._data.table import as_table
from skvarimp._models.forms import NotReadable
from skvarimp._models.model import Model
from skvarimp._models.registry import REGISTRY
from skvarimp._response.lowering import lowered

WRITTEN = {"_build", "generated", "gallery"}  # while the site is built
NO_PAGES = {*WRITTEN, "_templates"}


def pages():
    """Every page of the sources, as toctrees name it."""
    paths = (path.relative_to(DOC) for path in DOC.rglob("*.rst"))
    return {p.with_suffix("").as_posix() for p in paths if p.parts[0] not in NO_PAGES}


def test_every_page_is_reachable_from_the_front_page():
    """By toctrees alone, from page to page."""
    reached, waiting = set(), ["index"]
    while waiting:
        page = waiting.pop()
        if page in reached or page == "gallery/index":
            reached.add(page)
            continue
        reached.add(page)
        folder = posixpath.dirname(page)
        waiting += [posixpath.join(folder, name) for name in listed_in(page)]
    assert reached == pages() | {"gallery/index"}


def module_of_site(name):
    """A Python file of the documentation as a module."""
    spec = importlib.util.spec_from_file_location(name, DOC / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_site_is_built_without_a_network():
    """Nothing is looked up elsewhere, no picture fetched, no data downloaded."""
    configuration = (DOC / "conf.py").read_text("utf8")
    assert "intersphinx" not in configuration
    for page in pages():
        text = (DOC / f"{page}.rst").read_text("utf8")
        assert not re.search(r"(image|figure|include|literalinclude):: *\w+://", text)
    for script in EXAMPLES.glob("*.py"):
        assert not re.search(r"fetch_|urlopen|https?://", script.read_text("utf8"))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """(package, name) -> the path that the page of supported models names."""
    folder = tmp_path_factory.mktemp("doc")
    site = module_of_site("generated_pages")
    site.write_supported_models(SimpleNamespace(srcdir=folder))
    text = (folder / "generated" / "supported_models.inc").read_text("utf8")
    row = r"^   \* - (.+)\n     - ``(.+)``\n     - (.+)$"
    return {
        (package, name): path
        for path, package, names in re.findall(row, text, re.MULTILINE)
        for name in re.findall(r"``(\w+)``", names)
    }


def test_the_table_of_models_is_the_registry(table):
    """Row by row."""
    assert set(table) == {(row.package, row.name) for row in REGISTRY}


LINEAR_TOO = {"kernel machine": "kernel|linear", "additive": "additive|linear"}
LIGHT = [
    row for row in OURS if not re.search("CV$|Halving|Bagging|AdaBoostC", row.name)
]


@pytest.mark.parametrize("row", LIGHT, ids=lambda row: row.name)
def test_the_table_names_the_path_taken(row, table):
    """Of every estimator that is no other one's search or ensemble."""
    model, path = Model(fitted(row)), table[row.package, row.name]
    if row.name in DECLINES:
        with pytest.raises(NotReadable):
            lowered(model, as_table(X))
        assert path.startswith("black box")
        return
    taken = lowered(model, as_table(X)).path
    if not path.startswith("that of"):  # the estimators inside
        own = path.partition(",")[0]
        assert re.match(LINEAR_TOO.get(own, own), taken)
