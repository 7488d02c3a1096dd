"""One adapter per rival: what it computes, and our measure of the same thing.

Each module has `NAME`, `ESTIMAND`, `run(model, X, y)` -> (n_features,), `ours(model,
X, y)` -> (n_features,) of the same estimand, and `same(theirs, ours)` -> (bool, text),
which says how close the two must come. `PACKAGE` names what has a version, and
`work_left(X)` says how many times the work of `run` the rival's own is, where that is
not once. A problem names the rivals that it is given to.
"""

import importlib

NAMES = [
    "sklearn_permutation",
    "sklearn_partial_dependence",
    "model_diagnostics",
    "hidimstat_pfi",
    "dalex_parts",
    "alibi_variance",
    "woodelf_partial_dependence",
    "shap_tree",
]


def available():
    """(module or None, name, reason) of each rival."""
    result = []
    for name in NAMES:
        try:
            module = importlib.import_module(f"rivals.{name}")
            module.load()
            result.append((module, name, ""))
        except Exception as error:  # not installed, or broken by its dependencies
            text = str(error) or type(error).__name__
            result.append((None, name, text.splitlines()[0]))
    return result
