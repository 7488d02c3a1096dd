"""The rooms of the package: which may import which, and how large they are."""

import ast
import inspect
from collections import Counter
from pathlib import Path

import pytest

import skvarimp
from skvarimp._response.lowering import Response  # with all that derive from it

ROOT = Path(skvarimp.__file__).parent
FLOORS = (  # each imports those before it
    "_running",
    "_compiled",
    "_data",
    "_models",
    "_response",
    "_display",
    "_measures",
    "_selection",
    "_stability",
    "_comparing",
    "_partitions",  # so no room imports it
)
FREE = {"exceptions", "_types", "feature_functions"}  # any room may import these
LINES, MODULES, METHODS = 400, 16, 12

SOURCES = {
    path.relative_to(ROOT): path.read_text("utf8") for path in ROOT.rglob("*.py")
}


def imported_rooms(source):
    """The names right below `skvarimp` that a module imports, wherever in its text."""
    for node in ast.walk(ast.parse(source)):
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
        ("def f():\n    import skvarimp._selection.path", "_selection"),
        ("from skvarimp import filters", "filters"),
    ],
)
def test_an_upward_import_is_found(line, room):
    """Of a name, of a module within a function, and of a public module."""
    found = upward_imports({Path("_models/a.py"): line})
    assert list(found) == [("_models/a.py", room)]


def test_no_module_is_long():
    """In Python or in Cython."""
    paths = [*ROOT.rglob("*.py"), *ROOT.rglob("*.pyx")]
    lengths = {path: len(path.read_text("utf8").splitlines()) for path in paths}
    assert not {path.as_posix(): n for path, n in lengths.items() if n > LINES}


def test_no_class_name_is_used_twice():
    """One word for each notion, in all rooms."""
    classes = Counter(
        node.name
        for source in SOURCES.values()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
    )
    assert not {name: n for name, n in classes.items() if n > 1}


def test_no_folder_is_full():
    """Modules that lie in one folder, without its `__init__`."""
    counts = Counter(p.parent.as_posix() for p in SOURCES if p.name != "__init__.py")
    assert not {folder: n for folder, n in counts.items() if n > MODULES}


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


def subclasses(kind):
    """A class and all that derive from it."""
    return [kind, *(c for below in kind.__subclasses__() for c in subclasses(below))]


@pytest.mark.parametrize("kind", subclasses(Response), ids=lambda kind: kind.__name__)
def test_a_response_fits_on_a_page(kind):
    """No response class has more than twelve methods of its own."""
    own = [value for value in vars(kind).values() if inspect.isroutine(value)]
    assert len(own) <= METHODS
