"""What the documentation promises of itself: reachable, built offline, true tables."""

import posixpath
import re

from test_documentation import DOC, EXAMPLES, listed_in

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
    configuration = (DOC / "conf.py").read_text("utf8")
    assert "intersphinx" not in configuration
    for page in pages():
        text = (DOC / f"{page}.rst").read_text("utf8")
        assert not re.search(r"(image|figure|include|literalinclude):: *\w+://", text)
    for script in EXAMPLES.glob("*.py"):
        assert not re.search(r"fetch_|urlopen|https?://", script.read_text("utf8"))
