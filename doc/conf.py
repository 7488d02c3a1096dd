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


def write_supported_models(app):
    """The table of models with a fast response, from the registry itself."""
    from pathlib import Path

    from skvarimp.response._column_sources import columnwise_types
    from skvarimp.response._lowering import REGISTRY

    families = {
        "_linear": "linear",
        "_trees": "trees",
        "_kernel": "kernel machine",
        "_network": "network",
        "_columnwise": "column-wise steps, then that of the last step",
        "_composite": "that of the estimators inside",
    }
    lines = [".. list-table::", "   :header-rows: 1", ""]
    rows = [("Package", "Estimator", "Path")]
    rows += [
        (
            f"``{x.package}``",
            f"``{x.name}``",
            families.get(x.module, x.module.strip("_")),
        )
        for x in sorted(REGISTRY, key=lambda x: (x.package, x.name))
    ]
    for row in rows:
        lines += [f"   {'*' if c == 0 else ' '} - {cell}" for c, cell in enumerate(row)]
    steps = ", ".join(f"``{kind.__name__}``" for kind in columnwise_types())
    lines += ["", f"Column-wise steps: {steps}.", ""]
    target = Path(app.srcdir) / "generated" / "supported_models.inc"
    target.parent.mkdir(exist_ok=True)
    target.write_text("\n".join(lines))


def setup(app):
    """Generate before the pages are read."""
    app.connect("builder-inited", write_supported_models)
