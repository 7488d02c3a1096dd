"""Count the words of the user guide and of benchmarks and validation, without code.

    python doc/count_words.py doc/_build/html

counts what a reader sees on each built page (tables included, blocks of code and
generated lists left out), and fails if it is more than ``LIMIT`` words in all.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

LIMIT = 24_000
PARTS = ("guide", "validation")  # and every page that their toctrees name
LEFT_OUT = ("highlight", "toctree-wrapper", "headerlink", "generated-list", "math")
VOID = {"area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "wbr"}


class Article(HTMLParser):
    """The text of one page between its <article> tags."""

    def __init__(self):
        super().__init__()
        self.text, self.open = [], []

    def handle_starttag(self, tag, attrs):
        """Elements inside one that is left out are left out as well."""
        if tag in VOID:
            return
        classes = dict(attrs).get("class") or ""
        inside = bool(self.open) or (tag == "article" and "bd-article" in classes)
        if inside:
            out = tag in ("script", "style") or any(c in classes for c in LEFT_OUT)
            self.open.append(out or (bool(self.open) and self.open[-1]))

    def handle_endtag(self, tag):
        """Close the innermost element."""
        if self.open and tag not in VOID:
            self.open.pop()

    def handle_data(self, data):
        """Keep what is seen."""
        if self.open and not self.open[-1]:
            self.text.append(data)


def pages():
    """The pages of both parts, in order."""
    for part in PARTS:
        yield part
        text = (Path(__file__).parent / f"{part}.rst").read_text("utf8")
        for tree in re.findall(r"^\.\. toctree::\n((?:[ ].*\n|\n)*)", text, re.M):
            lines = map(str.strip, tree.splitlines())
            yield from (line for line in lines if line and line[0] != ":")


def words(page):
    """The number of words on one built page."""
    article = Article()
    article.feed(page.read_text("utf8"))
    return len("".join(article.text).split())


if __name__ == "__main__":
    counts = {name: words(Path(sys.argv[1]) / f"{name}.html") for name in pages()}
    for name, count in counts.items():
        print(f"{count:6}  {name}")
    print(f"{sum(counts.values()):6}  in all")
    sys.exit(sum(counts.values()) > LIMIT)
