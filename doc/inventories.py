"""Where the pages of other packages are, without asking their sites.

Inventories are made from the installed packages. They hold all public names.
"""

import importlib
import pkgutil
import zlib
from pathlib import Path

SITES = {  # package -> address of its site, page of a name
    "sklearn": ("https://scikit-learn.org/stable/", "modules/generated/{}.html"),
    "numpy": ("https://numpy.org/doc/stable/", "reference/generated/{}.html"),
    "pandas": ("https://pandas.pydata.org/docs/", "reference/api/{}.html"),
}
HEAD = "# Sphinx inventory version 2\n# Project: {}\n# Version:\n# zlib\n"


def intersphinx_mapping(folder):
    """Package -> (address, file of its inventory)."""
    return {name: (site, f"{folder}/{name}.inv") for name, (site, _) in SITES.items()}


def write_inventories(folder):
    """One file per package, in Sphinx's format."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for package, (_, page) in SITES.items():
        lines = []
        for module, name in sorted(_public(package)):
            place = page.format(f"{module}.{name}")
            lines.append(f"{module}.{name} py:{_kind(name)} 1 {place} -\n")
        text = zlib.compress("".join(lines).encode())
        (folder / f"{package}.inv").write_bytes(HEAD.format(package).encode() + text)


def _kind(name):
    return "class" if name[0].isupper() or name == "ndarray" else "function"


def _public(package):
    """(module, name) of what a package and its public subpackages list."""
    modules = [importlib.import_module(package)]
    if package == "sklearn":  # the others list all at the top
        names = [m.name for m in pkgutil.iter_modules(modules[0].__path__)]
        public = [n for n in names if n[0] != "_" and n != "conftest"]
        modules = [importlib.import_module(f"{package}.{name}") for name in public]
    for module in modules:
        yield from ((module.__name__, name) for name in getattr(module, "__all__", ()))
