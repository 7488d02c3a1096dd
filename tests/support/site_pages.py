"""The pages of the site, and what their tables of contents list."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOC, EXAMPLES = ROOT / "doc", ROOT / "examples"


def listed_in(page):
    """Names in the toctrees of a page."""
    text = (DOC / f"{page}.rst").read_text("utf8")
    trees = re.findall(r"^\.\. toctree::\n((?:[ ].*\n|\n)*)", text, re.MULTILINE)
    lines = [line.strip() for tree in trees for line in tree.splitlines()]
    return [line for line in lines if line and not line.startswith(":")]
