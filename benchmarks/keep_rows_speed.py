"""CPU time of fits with `keep_rows=True` against fits without, as ratios.

python benchmarks/keep_rows_speed.py
"""

import time
import warnings

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVR

from skvarimp import (
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
)

MEASURES = {
    "pairs": SensitivityImportance(scale=None, estimation="exact"),
    "range": SensitivityImportance(contrast="range", scale=None, estimation="exact"),
    "dependence": PartialDependenceImportance(),
    "permutation": PermutationImportance(estimation="exact"),
}


def models():
    """Name -> (fitted model, X, y), each with 10 columns."""
    random = np.random.default_rng(0)

    def rows(n):
        X = random.standard_normal((n, 10))
        return X, X[:, 0] * (1 + X[:, 1]) + X[:, 2]

    def fitted(model, n, classes=None):
        X, y = rows(n)
        y = y if classes is None else np.digitize(y, np.linspace(-1, 1, classes - 1))
        return model.fit(X, y), X, y

    X, y = rows(600)
    return {
        "callable, 600": (lambda X: X[:, 0] * np.exp(X[:, 1]), X, y),
        "linear, 20000": fitted(Ridge(), 20_000),
        "logistic, 5000": fitted(LogisticRegression(), 5000, 2),
        "softmax, 1000": fitted(LogisticRegression(), 1000, 3),
        "kernel, 1000": fitted(SVR(), 1000),
        "forest, 2000": fitted(RandomForestRegressor(50, max_depth=8), 2000),
        "boosting, 5000": fitted(HistGradientBoostingRegressor(), 5000),
    }


def seconds(measure, *data, n=5):
    """Median CPU time of a fit."""
    times = []
    for _ in range(n):
        start = time.process_time()
        measure.fit(*data)
        times.append(time.process_time() - start)
    return np.median(times)


def main():
    """Print a line per model."""
    warnings.simplefilter("ignore")
    for name, data in models().items():
        parts = []
        for label, measure in MEASURES.items():
            plain = type(measure)(**measure.get_params())
            kept = type(measure)(**{**measure.get_params(), "keep_rows": True})
            kept.fit(*data)
            without, with_rows = seconds(plain, *data), seconds(kept, *data)
            parts.append(f"{label} {with_rows / without:.2f} ({without:.3f} s)")
        print(f"{name:16} {'  '.join(parts)}", flush=True)


if __name__ == "__main__":
    main()
