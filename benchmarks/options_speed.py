"""What an option costs: CPU time and peak memory, as ratios to the fit without it.

    python benchmarks/options_speed.py conditional [--rows 5000]
    python benchmarks/options_speed.py keep_rows
    python benchmarks/options_speed.py groups

`conditional="subgroups"` of forests (the trees of the parts included), `keep_rows=True`
of models of several kinds, and `fit(groups=...)` of five rows each.
"""

import argparse
import tracemalloc
import warnings
from functools import partial

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVR
from threadpoolctl import threadpool_limits
from timer import best

from skvarimp import (
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
)

CONDITIONAL = {
    "pairs": SensitivityImportance(estimation="exact"),
    "permutation": PermutationImportance(estimation="exact"),
}
KEEP_ROWS = {
    "pairs": SensitivityImportance(scale=None, estimation="exact"),
    "range": SensitivityImportance(contrast="range", scale=None, estimation="exact"),
    "dependence": PartialDependenceImportance(),
    "permutation": PermutationImportance(estimation="exact"),
}


def forests(n):
    """Name -> (fitted model, X, y): forests of full depth and with leaves of 5 rows."""
    X, y = make_friedman1(n, 20, random_state=0)
    found = {}
    for leaf in (1, 5):
        forest = RandomForestRegressor(100, min_samples_leaf=leaf, random_state=0)
        found[f"forest, leaves of {leaf}"] = forest.fit(X, y), X, y
    return found


def kinds():
    """Name -> (fitted model, X, y), each with 10 columns."""
    random = np.random.default_rng(0)

    def fitted(model, n, classes=None):
        X = random.standard_normal((n, 10))
        y = X[:, 0] * (1 + X[:, 1]) + X[:, 2]
        y = y if classes is None else np.digitize(y, np.linspace(-1, 1, classes - 1))
        return model.fit(X, y) if hasattr(model, "fit") else model, X, y

    return {
        "callable, 600": fitted(lambda X: X[:, 0] * np.exp(X[:, 1]), 600),
        "linear, 20000": fitted(Ridge(), 20_000),
        "logistic, 5000": fitted(LogisticRegression(), 5000, 2),
        "softmax, 1000": fitted(LogisticRegression(), 1000, 3),
        "kernel, 1000": fitted(SVR(), 1000),
        "forest, 2000": fitted(RandomForestRegressor(50, max_depth=8), 2000),
        "boosting, 5000": fitted(HistGradientBoostingRegressor(), 5000),
    }


def compare(models, measures, groups=False, **option):
    """Print a line per model."""
    for name, data in models.items():
        given = {"groups": np.arange(len(data[1])) // 5} if groups else {}
        parts = []
        for label, measure in measures.items():
            with_option = clone(measure).set_params(**option)
            fits = partial(measure.fit, *data), partial(with_option.fit, *data, **given)
            before, after = (peak(fit) for fit in fits)  # imports and caches, too
            without, spent = (best(3, fit)[1] for fit in fits)
            ratio = f"{spent.cpu / without.cpu:.2f}, memory {after / before:.2f}"
            parts.append(f"{label} {ratio} ({without.cpu:.3f} s)")
        print(f"{name:22} {'  '.join(parts)}", flush=True)


def peak(fit):
    """Bytes that Python and NumPy hold at most during a fit."""
    tracemalloc.start()
    try:
        fit()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def main():
    """Print the ratios of one option."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("option", choices=["conditional", "keep_rows", "groups"])
    parser.add_argument("--rows", type=int, default=5000, help="of the forests")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    threadpool_limits(1)
    if given.option == "conditional":
        compare(forests(given.rows), CONDITIONAL, conditional="subgroups")
    elif given.option == "keep_rows":
        compare(kinds(), KEEP_ROWS, keep_rows=True)
    else:
        compare(kinds(), KEEP_ROWS, groups=True)


if __name__ == "__main__":
    main()
