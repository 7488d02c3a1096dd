"""Parts of the site that come from the code itself."""

import re
from itertools import groupby
from pathlib import Path

from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

from skvarimp import compare_importances
from skvarimp._models.registry import REGISTRY, UNREAD
from skvarimp._models.transformers import AFFINE, COLUMNWISE

# The order a reader meets the examples in; new ones come last.
GALLERY = [
    "quickstart.py",
    "correlated_features.py",
    "categorical_columns.py",
    "feature_selection.py",
    "interactions.py",
    "surrogates.py",
    "many_columns.py",
    "report_regression.py",
    "report_classification.py",
    "report_slow_model.py",
    "dna_motifs.py",
]

FAMILIES = {
    "arrays": "linear",
    "read_linear_naive_bayes": "additive",
    "read_bernoulli_naive_bayes": "additive",
    "read_categorical_naive_bayes": "additive",
    "read_constant": "additive",
    "sklearn_trees": "trees",
    "xgboost": "trees",
    "lightgbm": "trees",
    "catboost": "trees",
    "read_componentwise": "linear",
    "read_coxnet": "linear",
    "read_support_vectors": "kernel machine",
    "read_kernel_ridge": "kernel machine",
    "read_perceptron": "network",
    "read_pipeline": "column-wise steps, then that of the last step",
    "wrappers": "that of the estimators inside",
}


def gallery_position(filename):
    """Sort key of the examples."""
    name = Path(filename).name
    return (GALLERY.index(name) if name in GALLERY else len(GALLERY)), name


def guide_of_names():
    """Public name -> label of the page that has it in a line "API: ..." at its top."""
    pages = {}
    for path in sorted(Path(__file__).parent.glob("*.rst")):
        text = path.read_text("utf8")
        line = re.search(r"^API: (?:.+\n)+", text, re.MULTILINE)
        for name in re.findall(r"(\w+)`", line[0] if line else ""):
            pages[name] = re.match(r"\.\. _(\w+):", text)[1]
    return pages


def write_supported_models(app):
    """The table of models with a fast response, from the registry itself."""
    rows = [("Path", "Package", "Estimators")]
    models = sorted(
        (*_family(reader), package, name)
        for package, readers in REGISTRY.items()
        for name, reader in readers.items()
    )
    for (_, path, package), members in groupby(models, key=lambda model: model[:3]):
        names = ", ".join(f"``{name}``" for *_, name in members)
        rows.append((path, f"``{package}``", names))
    lines = [".. list-table::", "   :header-rows: 1", "   :widths: 20 30 50"]
    lines += ["   :class: long-names", ""]
    for row in rows:
        lines += [f"   {'*' if c == 0 else ' '} - {cell}" for c, cell in enumerate(row)]
    lines += ["", "Column-wise steps:", ""]
    for package, steps in _by_library(COLUMNWISE).items():
        lines.append(f"- {package}: {', '.join(steps)}.")
    lines.append("")
    mixing = ", ".join(_names(AFFINE))
    lines += [
        "Affine steps, in front of linear models, networks and kernels of inner",
        f"products: {mixing}.",
        "",
    ]
    lines += [
        "Classifiers and regressors of scikit-learn that use the black box:",
        "",
    ]
    reasons = {}
    for of_package in UNREAD.values():
        for name, reason in of_package.items():
            reasons.setdefault(reason, []).append(f"``{name}``")
    lines += [f"- {', '.join(names)}: {reason}." for reason, names in reasons.items()]
    target = Path(app.srcdir) / "generated" / "supported_models.inc"
    target.parent.mkdir(exist_ok=True)
    target.write_text("\n".join([*lines, ""]))


def write_notebook_table(app):
    """The table that a notebook shows of a comparison."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    forest = RandomForestRegressor(50, min_samples_leaf=5, random_state=0)
    models = {"linear": LinearRegression().fit(X, y), "forest": forest.fit(X, y)}
    target = Path(app.srcdir) / "generated" / "notebook_table.html"
    target.parent.mkdir(exist_ok=True)
    target.write_text(compare_importances(models, X, y)._repr_html_())


def _by_library(types):
    """Library -> names of its types, of a table package -> name -> rule."""
    names = {}
    for package, of_package in types.items():
        library = package.partition(".")[0]
        names.setdefault(library, []).extend(_names({package: of_package}))
    return names


def _names(types):
    """The types of a table, package -> name -> rule."""
    return [f"``{name}``" for of_package in types.values() for name in of_package]


def _family(reader):
    """The path of what a reader reads, after its place in the order above."""
    module, function = reader.split(".")
    path = FAMILIES.get(function) or FAMILIES.get(module, module)
    order = list(dict.fromkeys(FAMILIES.values()))
    place = order.index(path) if path in order else len(order)
    return place, path
