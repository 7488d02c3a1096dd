"""The page of supported models is the registry."""

import importlib
import importlib.util
import inspect
import re
from types import SimpleNamespace

import numpy as np
import pytest
from registry_models import OURS, X, fitted
from site_pages import DOC
from sklearn.linear_model import LogisticRegression
from sklearn.utils import all_estimators

from skvarimp import SensitivityImportance
from skvarimp._data.table import as_table
from skvarimp._models.model import Model
from skvarimp._models.registry import REGISTRY, UNREAD
from skvarimp._response.probe import fast_response


def module_of_site(name):
    """A Python file of the documentation as a module."""
    spec = importlib.util.spec_from_file_location(name, DOC / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The generated part of the page of supported models."""
    folder = tmp_path_factory.mktemp("doc")
    site = module_of_site("generated_pages")
    site.write_supported_models(SimpleNamespace(srcdir=folder))
    return (folder / "generated" / "supported_models.inc").read_text("utf8")


@pytest.fixture(scope="module")
def table(page):
    """(package, name) -> the path that the page names."""
    row = r"^   \* - (.+)\n     - ``(.+)``\n     - (.+)$"
    return {
        (package, name): path
        for path, package, names in re.findall(row, page, re.MULTILINE)
        for name in re.findall(r"``(\w+)``", names)
    }


def test_the_table_of_models_is_the_registry(table):
    """Row by row."""
    assert set(table) == {
        (package, n) for package, names in REGISTRY.items() for n in names
    }


EVERY = [
    kind
    for what in ("classifier", "regressor")
    for _, kind in all_estimators(type_filter=what)
]


def test_every_classifier_and_regressor_is_read_or_has_a_reason(page):
    """Also those that a new scikit-learn adds: they belong into one of both lists."""
    registered = {row.type for row in OURS}
    read = [kind for kind in EVERY if kind in registered]
    missing = {kind.__name__ for kind in EVERY} - {kind.__name__ for kind in read}
    reasons = {
        name: why for of_package in UNREAD.values() for name, why in of_package.items()
    }
    assert missing == reasons.keys()
    for name, reason in reasons.items():
        lines = [line for line in page.splitlines() if line.endswith(f": {reason}.")]
        assert sum(f"``{name}``" in line for line in lines) == 1, name


@pytest.mark.parametrize(
    ("package", "name"),
    [(package, name) for package, names in UNREAD.items() for name in names],
)
def test_the_reason_stands_in_the_path(package, name):
    """Of the types that are asked themselves."""
    kind = getattr(importlib.import_module(package), name)
    given = {"estimator": LogisticRegression(), "radius": 9.0}  # all rows are near
    asked = inspect.signature(kind).parameters
    model = kind(**{word: given[word] for word in given if word in asked})
    Z = X[:, :1] if name == "IsotonicRegression" else X
    y = np.digitize(X[:, 0], [1.0]).astype(float)
    y = np.column_stack([y, y]) if name.endswith("Chain") else y
    imp = SensitivityImportance(scale=None, estimation="exact", grid=3).fit(
        model.fit(Z, y), Z
    )
    assert imp.response_path_.startswith("black box")
    assert UNREAD[package][name] in imp.response_path_


LINEAR_TOO = {
    "kernel machine": "kernel|linear",
    "additive": "additive|linear",
}
LIGHT = [
    row for row in OURS if not re.search("CV$|Halving|Bagging|AdaBoostC", row.name)
]


@pytest.mark.parametrize("row", LIGHT, ids=lambda row: row.name)
def test_the_table_names_the_path_taken(row, table):
    """Of every estimator that is no other one's search or ensemble."""
    model, path = Model(fitted(row)), table[row.package, row.name]
    taken = fast_response(model, as_table(X)).path
    if not path.startswith("that of"):  # the estimators inside
        own = path.partition(",")[0]
        assert re.match(LINEAR_TOO.get(own, own), taken)
