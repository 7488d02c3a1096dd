"""The rooms of the package: which may import which, and how they are named."""

import ast
import importlib
import inspect
import os
import shutil
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

import skvarimp

ROOT = Path(skvarimp.__file__).parent
FLOORS = (  # each imports those before it
    "_running",
    "_compiled",
    "_data",
    "_models",
    "_response",
    "_display",
    "_results",
    "_measures",
    "_refits",
    "_comparing",
    "_report",
    "_partitions",  # so no room imports it
)
FREE = {"exceptions", "_types", "feature_functions"}  # any room may import these

parse = cache(ast.parse)
SOURCES = {
    path.relative_to(ROOT): path.read_text("utf8") for path in ROOT.rglob("*.py")
}


def imported_rooms(source):
    """The names right below `skvarimp` that a module imports, wherever in its text."""
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "skvarimp":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names = [alias.name for alias in node.names]
            modules = names if isinstance(node, ast.Import) else [node.module or ""]
            yield from (m.split(".")[1] for m in modules if m.startswith("skvarimp."))


def upward_imports(sources):
    """(module, room) for every import of a room that does not lie below."""
    for path, source in sources.items():
        room = path.parts[0]
        if room in FLOORS:
            allowed = {room, *FLOORS[: FLOORS.index(room)], *FREE}
            found = set(imported_rooms(source)) - allowed
            yield from ((path.as_posix(), name) for name in sorted(found))


def test_rooms_import_downwards_only():
    """A room knows those below it; none knows the public modules on top."""
    assert not list(upward_imports(SOURCES))


@pytest.mark.parametrize(
    ("line", "room"),
    [
        ("from skvarimp._measures.base import BaseImportance", "_measures"),
        ("def f():\n    import skvarimp._refits.path", "_refits"),
        ("from skvarimp import filters", "filters"),
    ],
)
def test_an_upward_import_is_found(line, room):
    """Of a name, of a module within a function, and of a public module."""
    found = upward_imports({Path("_models/a.py"): line})
    assert list(found) == [("_models/a.py", room)]


def imported_modules(source, modules):
    """Modules of the package that a module imports, for type hints, too."""
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in modules else node.module for name in names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def in_circles(sources):
    """The modules that import themselves by way of others."""
    parts = {path: path.with_suffix("").parts for path in sources}
    names = {path: ".".join(["skvarimp", *of]) for path, of in parts.items()}
    names = {path: name.removesuffix(".__init__") for path, name in names.items()}
    reached = {
        names[path]: set(imported_modules(source, set(names.values())))
        for path, source in sources.items()
    }
    for middle in reached:  # Warshall's closure
        for others in reached.values():
            if middle in others:
                others |= reached[middle]
    return {name for name, others in reached.items() if name in others}


def test_no_modules_import_each_other():
    """Not even where one import is for type hints alone."""
    assert not in_circles(SOURCES)


def test_a_circle_is_found():
    """Of three modules, one of which imports for type hints; a fourth is outside."""
    sources = {
        Path("a.py"): "from skvarimp.b import f",
        Path("b.py"): "if TYPE_CHECKING:\n    from skvarimp import c",
        Path("c.py"): "def f():\n    import skvarimp.a",
        Path("d.py"): "import skvarimp.a",
    }
    assert in_circles(sources) == {"skvarimp.a", "skvarimp.b", "skvarimp.c"}


def test_no_class_name_is_used_twice():
    """One word for each notion, in all rooms."""
    classes = Counter(
        node.name
        for source in SOURCES.values()
        for node in ast.walk(parse(source))
        if isinstance(node, ast.ClassDef)
    )
    assert not {name: n for name, n in classes.items() if n > 1}


def test_every_room_says_what_it_is_for():
    """In the docstring of its `__init__`."""
    folders = {path.parent for path in SOURCES}
    silent = [
        folder.as_posix()
        for folder in folders
        if not ast.get_docstring(ast.parse(SOURCES.get(folder / "__init__.py", "")))
    ]
    assert not silent
    assert set(FLOORS) <= {folder.as_posix() for folder in folders}


def test_each_method_is_described():
    """By itself, by the method it overrides, or by its namesake beside it."""
    missing = []
    for path in SOURCES:
        parts = ["skvarimp", *path.with_suffix("").parts]
        module = importlib.import_module(".".join(parts).removesuffix(".__init__"))
        methods = [
            (name, inspect.getdoc(getattr(kind, name)))
            for kind in vars(module).values()
            if inspect.isclass(kind) and kind.__module__ == module.__name__
            if not kind.__name__.startswith("_")
            for name in vars(kind)
            if not name.startswith("_") and inspect.isfunction(getattr(kind, name))
        ]
        described = {name for name, text in methods if text}
        missing += [(path, name) for name, _ in methods if name not in described]
    assert not missing, missing


WITHOUT_PARTITIONS = """
import numpy as np
import skvarimp
from skvarimp import FIRMImportance, ImpurityImportance, SensitivityImportance
from sklearn.tree import DecisionTreeRegressor

X = np.random.default_rng(0).normal(size=(40, 3))
tree = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, X[:, 1])
measures = SensitivityImportance(), FIRMImportance(), ImpurityImportance(rows="unseen")
for measure in measures:
    assert np.argmax(measure.fit(tree, X, X[:, 1]).importances_) == 1
print(skvarimp.__file__)
"""


@pytest.mark.thorough
def test_package_works_without_the_room_of_partitions(tmp_path):
    """Its folder and the two lines that add it to `ROWS_APART` are all there is."""
    copy = tmp_path / "skvarimp"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(copy / "_partitions")
    lines = (copy / "__init__.py").read_text("utf8").splitlines()
    kept = [line for line in lines if "Partitions" not in line]
    assert len(lines) - len(kept) == 2
    (copy / "__init__.py").write_text("\n".join(kept), "utf8")
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_PARTITIONS],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert Path(run.stdout.strip()) == copy / "__init__.py"
