"""The page of supported models is the registry."""

import importlib.util
import re
from types import SimpleNamespace

import pytest
from test_documentation import DOC
from test_registry import DECLINES, OURS, X, fitted

from skvarimp._data.table import as_table
from skvarimp._models.forms import NotReadable
from skvarimp._models.model import Model
from skvarimp._models.registry import REGISTRY
from skvarimp._response.lowering import lowered


def module_of_site(name):
    """A Python file of the documentation as a module."""
    spec = importlib.util.spec_from_file_location(name, DOC / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
