"""The first code that a reader runs, in exactly the environment it is told to make."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import skvarimp

ROOT = Path(skvarimp.__file__).parents[1]
PAGES = ["README.rst", "doc/index.rst", "doc/five_minutes.rst"]
NOT_COPIED = ".git", "build", "dist", "*.so", "__pycache__", "*.egg-info", ".hypothesis"

pytestmark = pytest.mark.skipif(
    not (ROOT / "README.rst").exists(), reason="needs a checkout"
)

RUN = """
import doctest, sys
from pathlib import Path

text, scope = Path(sys.argv[1]).read_text("utf8"), {}
examples = doctest.DocTestParser().get_examples(text)
for example in examples:
    exec(compile(example.source, "page", "single"), scope)
print(f"ran {len(examples)} examples")
"""


def installed(page):
    """What the first install line of a page installs, as arguments of pip."""
    text = (ROOT / page).read_text("utf8")
    return tuple(shlex.split(re.search(r"^    pip install (.+)$", text, re.M)[1]))


def test_each_page_says_what_to_install():
    """Before its first example, and the same everywhere."""
    for page in PAGES:
        text = (ROOT / page).read_text("utf8")
        assert text.index("    pip install ") < text.index(">>> ")
    assert len({installed(page) for page in PAGES}) == 1
    command = f".venv/bin/pip install {shlex.join(installed(PAGES[0]))} &&"
    assert command in (ROOT / "README.rst").read_text("utf8")


@pytest.fixture(scope="module")
def fresh_python(tmp_path_factory):
    """The interpreter of an environment with what the pages install, and no more."""
    folder = tmp_path_factory.mktemp("fresh")
    checkout = folder / "checkout"
    shutil.copytree(ROOT, checkout, ignore=shutil.ignore_patterns(*NOT_COPIED))
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", *installed(PAGES[0])]
    subprocess.run(pip, check=True, cwd=checkout)
    return python


def run(python, folder, *arguments):
    """What a script prints, in a folder without the package beside it."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        [python, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=env | {"MPLBACKEND": "Agg"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize("page", PAGES)
def test_first_examples_run_where_the_install_line_was_followed(
    page, fresh_python, tmp_path
):
    """Nothing is missing, such as pandas for a frame."""
    assert "examples" in run(fresh_python, tmp_path, "-c", RUN, str(ROOT / page))


@pytest.mark.thorough
def test_quickstart_runs_where_the_install_line_was_followed(fresh_python, tmp_path):
    """The script that the pages point to."""
    script = str(ROOT / "examples" / "quickstart.py")
    assert "GoFit" in run(fresh_python, tmp_path, script)
