"""Sphinx configuration."""

import sys
import tempfile
import warnings
from pathlib import Path

import skvarimp

sys.path.insert(0, str(Path(__file__).parent))  # generated_pages, vocabulary
sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # compare_measures
sys.path.append(f"{sys.path[-1]}/reproductions")  # which draw pictures

from generated_pages import (
    guide_of_names,
    write_notebook_table,
    write_supported_models,
)
from inventories import intersphinx_mapping, write_inventories
from vocabulary import write_vocabulary

project = "skvarimp"
author = "the skvarimp developers"
copyright = "2026, the skvarimp developers"
release = version = skvarimp.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "matplotlib.sphinxext.plot_directive",
    "sphinx-mathjax-offline",  # formulas without a network
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "gallery/*.ipynb", "sg_execution_times.rst"]
default_role = "any"
suppress_warnings = ["ref.any"]  # single backticks in docstrings are mostly code

write_inventories(Path(__file__).parent / "generated" / "inventories")
intersphinx_mapping = intersphinx_mapping("generated/inventories")

autosummary_generate = True
autosummary_context = {"guide": guide_of_names()}
autodoc_preserve_defaults = True  # as written, not as the objects that they make
autodoc_typehints = "none"  # the parameters' sections say more, and are read
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

copybutton_prompt_text = r">>> |\.\.\. "  # neither prompts nor results are copied
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "generated_pages.gallery_position",
    "doc_module": ("skvarimp",),
    "backreferences_dir": "generated/backreferences",
    "image_scrapers": ("matplotlib",),
    "image_srcset": ["2x"],
    "thumbnail_size": (560, 392),
    "nested_sections": False,
    "plot_gallery": "True",
    "download_all_examples": False,
    "show_signature": False,
    "capture_repr": (),  # what is to be seen is printed
    "min_reported_time": 1000,
    "write_computation_times": False,
    "remove_config_comments": True,
}
# Pictures in pages: their code is shown, runs on every build, and writes nowhere here.
plot_include_source = True
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = ["svg"]  # sharp at every size
plot_basedir = str(Path(__file__).parent)
plot_working_directory = tempfile.mkdtemp()

# An example that warns is an example to repair; matplotlib's backend draws to files.
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

html_theme = "pydata_sphinx_theme"
html_title = "skvarimp"
html_favicon = "_static/favicon.svg"
html_theme_options = {
    "logo": {"text": f"skvarimp {version}"},
    "github_url": "https://github.com/skvarimp/skvarimp",
    "show_prev_next": True,
    "header_links_before_dropdown": 5,
    "navbar_end": ["theme-switcher", "navbar-icon-links"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": []}
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]


def setup(app):
    """Generate before the pages are read."""
    app.connect("builder-inited", write_notebook_table)
    app.connect("builder-inited", write_supported_models)
    app.connect("builder-inited", write_vocabulary)
