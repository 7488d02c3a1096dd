"""Sphinx configuration."""

import skvarimp

project = "skvarimp"
author = "the skvarimp developers"
copyright = "2026, the skvarimp developers"
release = version = skvarimp.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
default_role = "any"
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False
suppress_warnings = ["ref.any"]
html_theme = "pydata_sphinx_theme"
html_title = "skvarimp"
html_theme_options = {"show_prev_next": False}
