"""What the documentation promises of itself: reachable, built offline, true tables."""

import posixpath
import re

from site_pages import DOC, EXAMPLES, ROOT, listed_in

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


def test_the_site_is_built_without_a_network():
    """Nothing is looked up elsewhere, no picture fetched, no data downloaded."""
    inventories = {}
    exec((DOC / "inventories.py").read_text("utf8"), inventories)
    for _, (_, inventory) in inventories["intersphinx_mapping"]("folder").items():
        assert inventory.startswith("folder")
    for page in pages():
        text = (DOC / f"{page}.rst").read_text("utf8")
        assert not re.search(r"(image|figure|include|literalinclude):: *\w+://", text)
    for script in EXAMPLES.rglob("*.py"):
        assert not re.search(r"fetch_|urlopen|https?://", script.read_text("utf8"))


def test_each_benchmark_is_listed():
    """In the README of the benchmarks, studies of `coverage.py` included."""
    listed = (ROOT / "benchmarks" / "README.rst").read_text("utf8")
    for path in [*ROOT.glob("benchmarks/*.py"), *ROOT.glob("benchmarks/*/__init__.py")]:
        name = path.name if path.parent.name == "benchmarks" else path.parent.name
        assert f"``{name}" in listed, name
    for module in ROOT.glob("benchmarks/studies/*.py"):
        text = module.read_text("utf8")
        names = ",".join(re.findall(r"^STUDIES \+?= \[(.*)\]", text, re.MULTILINE))
        for name in re.findall(r"\w+", names):
            assert f"   * - ``{name}``\n" in listed, name
