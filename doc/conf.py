"""Sphinx configuration."""

import sys
import warnings
from pathlib import Path

import skvarimp

sys.path.insert(0, str(Path(__file__).parent))  # generated_pages, vocabulary

project = "skvarimp"
author = "the skvarimp developers"
copyright = "2026, the skvarimp developers"
release = version = skvarimp.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # formulas without a network
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "gallery/*.ipynb", "sg_execution_times.rst"]
default_role = "any"
suppress_warnings = ["ref.any"]  # single backticks in docstrings are mostly code

autosummary_generate = True
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
    "plot_gallery": "True",
    "download_all_examples": False,
    "show_signature": False,
    "capture_repr": (),  # what is to be seen is printed
    "min_reported_time": 1000,
    "write_computation_times": False,
    "remove_config_comments": True,
}
# An example that warns is an example to repair; matplotlib's backend draws to files.
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

html_theme = "pydata_sphinx_theme"
html_title = "skvarimp"
html_theme_options = {
    "show_prev_next": False,
    "header_links_before_dropdown": 5,  # leaves the search box room for one line
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": [], "which_measure": [], "glossary": [], "changes": []}
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["wide_tables.css"]


def setup(app):
    """Generate before the pages are read."""
    from generated_pages import write_supported_models
    from vocabulary import write_vocabulary

    app.connect("builder-inited", write_supported_models)
    app.connect("builder-inited", write_vocabulary)
