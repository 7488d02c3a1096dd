"""The documentation is complete, and a newcomer's first paste from each page works."""

import doctest
import importlib
import re
import textwrap
import time

import pytest
from site_pages import DOC, EXAMPLES, ROOT, listed_in

PUBLIC_MODULES = [
    "skvarimp",
    "skvarimp.exceptions",
    "skvarimp.extending",
    "skvarimp.feature_functions",
    "skvarimp.filters",
    "skvarimp.inspection",
    "skvarimp.sequence",
]

# Pages of the guide that need no code block.
NO_MEASURE = {
    "distributed",
    "extending",
    "measures_compared",
    "performance",
    "plots",
    "selection",
    "stability",
    "supported_models",
}


GUIDE = listed_in("guide")


def first_block(text):
    """The first block of Python in a page, as a reader would copy it, or None."""
    of_doctest = re.search(r"^>>> (?:.+\n?)+", text, re.MULTILINE)
    of_code = re.search(
        r"^\.\. code-block:: python\n\n((?:[ ]{3,}.*\n|\n)+)", text, re.MULTILINE
    )
    if of_doctest and not (of_code and of_code.start() < of_doctest.start()):
        examples = doctest.DocTestParser().get_examples(of_doctest[0])
        return "".join(example.source for example in examples)
    return textwrap.dedent(of_code[1]) if of_code else None


PAGES = sorted(
    page
    for page in [*GUIDE, *listed_in("extending"), *listed_in("validation"), "index"]
    if first_block((DOC / f"{page}.rst").read_text("utf8"))
)


OPTIONAL = {"survival": "sksurv"}  # page -> what it needs besides the test extra


@pytest.mark.thorough
@pytest.mark.parametrize("page", PAGES)
def test_first_code_block_runs_as_pasted(page):
    """By itself, and in less CPU time than a reader waits."""
    pytest.importorskip(OPTIONAL.get(page, "sklearn"))
    plt = pytest.importorskip("matplotlib.pyplot")
    source = first_block((DOC / f"{page}.rst").read_text("utf8"))
    start = time.process_time()
    exec(compile(source, f"{page}.rst", "exec"), {"__name__": "__main__"})
    assert time.process_time() - start < 10
    plt.close("all")


def test_measure_pages_have_a_first_block():
    """So that the test above leaves no measure out."""
    assert set(GUIDE) - NO_MEASURE <= set(PAGES)


@pytest.mark.parametrize("module", PUBLIC_MODULES)
def test_api_reference_has_every_public_name(module):
    """And no other."""
    text = (DOC / "api.rst").read_text("utf8")
    sections = re.split(r"^\.\. currentmodule:: (\S+)$", text, flags=re.MULTILINE)
    found = set()
    for name, section in zip(sections[1::2], sections[2::2]):
        if name == module:
            options = r":toctree: generated\n(?:   :template: .+\n)?\n"
            lists = re.findall(options + r"((?:   \w+\n)+)", section)
            found |= {
                feature.strip() for block in lists for feature in block.split("\n")
            }
    public = importlib.import_module(module).__all__
    assert found - {""} == set(public)


def test_no_reference_is_a_list():
    """A footnote of one line that begins with an initial would be item A, B, ..."""
    begins = re.compile(r"^ *\.\. \[\d+\] [A-Z]\. .*\n(?! *[^\s.])", re.MULTILINE)
    for path in [*DOC.glob("*.rst"), *(ROOT / "skvarimp").rglob("*.py")]:
        assert not begins.search(path.read_text("utf8")), path


def test_rows_of_tables_begin_once():
    """Text in the first column of a simple table begins a row: it has more cells."""
    for path in DOC.glob("**/*.rst"):
        for table in simple_tables(path.read_text("utf8")):
            rule, *lines = table.split("\n")
            start = rule.index("=", rule.index(" "))
            for line in lines:
                assert not line[:start].strip() or line[start:].strip(), (path, line)


def simple_tables(text):
    """Each with its three rules; the first column ends at the first gap of a rule."""
    return re.findall(
        r"^(=+ +=[= ]*\n(?:.+\n)+?=+ +=[= ]*\n(?:.+\n)+?=+ +=[= ]*)$", text, re.M
    )


def test_the_readme_leads_to_the_site():
    """A code host shows sources of pages without what stands in Sphinx's directives."""
    text = (DOC.parent / "README.rst").read_text("utf8")
    assert not re.findall(r"<[^>]*\.rst>", text)
    assert ".. plot::" not in text
    assert "/five_minutes.html>" in text


def test_every_display_has_a_picture():
    """On the page of all pictures, and on the page of its class."""
    page = (DOC / "plots.rst").read_text("utf8")
    for name in re.findall(r"^   (\w+Display)$", (DOC / "api.rst").read_text(), re.M):
        assert f".. plot:: pictures/{name}.py" in page, name
        assert (DOC / "pictures" / f"{name}.py").exists(), name


@pytest.mark.thorough
def test_a_report_in_five_minutes(tmp_path, monkeypatch):
    """The page ends in a saved figure and in a caption that its code has printed."""
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    start, path = time.perf_counter(), str(DOC / "five_minutes.rst")
    flags = doctest.NORMALIZE_WHITESPACE
    failed, _ = doctest.testfile(path, module_relative=False, optionflags=flags)
    assert failed == 0
    assert time.perf_counter() - start < 60
    assert (tmp_path / "importances.pdf").stat().st_size > 1000


@pytest.mark.thorough
@pytest.mark.parametrize("library", ["pandas", "polars", "array"])
def test_five_minutes_with_other_rows(library, tmp_path, monkeypatch):
    """The page's own calls take any library's rows and name the same features."""
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    text, scope = (DOC / "five_minutes.rst").read_text("utf8"), {}
    for example in doctest.DocTestParser().get_examples(text):
        source = example.source
        if "from skvarimp import" in source:  # the model and its rows are there
            scope |= in_library(library, scope)
        if ".fit(model, X_test" in source and library == "array":
            source = source.replace("y_test)", "y_test, feature_names=list(X))")
        exec(compile(source, "page", "single"), scope)
    importance = scope["importance"]
    assert importance.summary(1).count("s5 with 46.1% (95% interval 43.0%") == 1
    library = "pandas" if library == "array" else library
    assert type(importance.to_frame()).__module__.startswith(library)
    assert (tmp_path / "importances.pdf").stat().st_size > 1000


def in_library(library, scope):
    """The page's rows in a library, and its model fitted to them."""
    parts = {name: scope[name] for name in ("X_train", "X_test")}
    if library == "polars":
        from_pandas = pytest.importorskip("polars").from_pandas
        parts = {name: from_pandas(rows) for name, rows in parts.items()}
    elif library == "array":
        parts = {name: rows.to_numpy() for name, rows in parts.items()}
    return parts | {"model": scope["model"].fit(parts["X_train"], scope["y_train"])}


def test_gallery_stays_small():
    """Scripts of fewer than 100 lines."""
    scripts = sorted(EXAMPLES.rglob("*.py"))
    for script in scripts:
        assert len(script.read_text("utf8").splitlines()) < 100, script.name


RECIPES = sorted((EXAMPLES / "recipes").glob("*.py"))


def test_every_display_has_a_recipe():
    """Twenty or more, each of which begins with the plain picture."""
    names = re.findall(r"^   (\w+Display)$", (DOC / "api.rst").read_text(), re.M)
    made_by = {
        "CurvesDisplay": "plot_curves",
        "AssociationDisplay": "plot_association",
        "SelectionPathDisplay": "plot_path",
        "AllRelevantDisplay": "plot_history",
        "ComparisonDisplay": "compare_importances",
        "ImportanceDisplay": "SensitivityImportance",
        "MatrixDisplay": "InteractionImportance",
        "FoldsDisplay": "importance_across_folds",
        "CandidatesDisplay": "importance_across_candidates",
        "NullDisplay": "null_importances",
        "RanksDisplay": "rank_intervals",
        "DifferencesDisplay": "importance_difference",
        "RowsDisplay": "RowsDisplay",
        "DendrogramDisplay": "correlated_groups",
        "MotifDisplay": "plot_motif",
        "OligomerHeatmapDisplay": "PositionalOligomerImportance",
        "SequenceLogoDisplay": "plot_logo",
    }
    texts = [recipe.read_text("utf8") for recipe in RECIPES]
    for name in names:
        assert any(made_by.get(name, name) in text for text in texts), name
    assert len(RECIPES) >= 20
    for recipe, text in zip(RECIPES, texts):
        first = re.search(r"\.(plot\w*)\(|(\w+Display)\.", text)
        assert first[1] in ("plot", "plot_path", "plot_history"), recipe.name
        assert len(text.splitlines()) <= 40, recipe.name


@pytest.mark.thorough
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.stem)
def test_recipes_run(recipe):
    """Without a warning."""
    plt = pytest.importorskip("matplotlib.pyplot")
    exec(compile(recipe.read_text("utf8"), recipe.name, "exec"), {})
    assert plt.get_fignums()
    plt.close("all")


def test_readme_has_two_commands():
    """One that runs the main job, one that runs the tests."""
    readme = (ROOT / "README.rst").read_text("utf8")
    commands = re.findall(r"^    python3 -m venv.*$", readme, re.MULTILINE)
    assert len(commands) == 2
    assert "examples/quickstart.py" in commands[0]
    assert "pytest" in commands[1]
