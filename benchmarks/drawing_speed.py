"""What default fits of models that take long cost, beside scikit-learn's shuffles.

    OMP_NUM_THREADS=1 python benchmarks/drawing_speed.py
    OMP_NUM_THREADS=1 python benchmarks/drawing_speed.py neighbours --scale 0.2

A perceptron, multinomial logistic regression and nearest neighbours: CPU (wall) seconds
of the default sensitivity and permutation importance, and of the partial dependence of
all columns, over those of `permutation_importance(n_repeats=5)`. Boosting on a million
rows: over one pass of `predict` over all rows. `--scale` is a share of the rows.
"""

import argparse

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from timer import once

from skvarimp import (
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
)

SHUFFLES = {"sensitivity": 1.5, "permutation": 1.5, "partial dependence": 10}
NEIGHBOURS = {"sensitivity": 1.3, "permutation": 1.3, "partial dependence": 12}
PASSES = {"sensitivity": 10, "permutation": 10}

# model, rows, columns, at most so many times the reference
PROBLEMS = {
    "perceptron": (MLPRegressor(max_iter=5, random_state=0), 20_000, 30, SHUFFLES),
    "logistic": (LogisticRegression(max_iter=10), 50_000, 100, SHUFFLES),
    "neighbours": (KNeighborsRegressor(), 5_000, 10, NEIGHBOURS),
    "boosting": (HistGradientBoostingRegressor(max_iter=200), 1_000_000, 50, PASSES),
}

MEASURES = {
    "sensitivity": SensitivityImportance(random_state=0),
    "permutation": PermutationImportance(random_state=0),
    "partial dependence": PartialDependenceImportance(),
}


def problem(name, scale):
    """A fitted model, its rows and their targets; five classes for the logistic one."""
    model, n_rows, n_columns, _ = PROBLEMS[name]
    random = np.random.default_rng(0)
    X = random.standard_normal((int(scale * n_rows), n_columns))
    y = X[:, 0] + X[:, 1] * X[:, 2] + random.standard_normal(len(X))
    if name == "logistic":
        y = np.digitize(y, np.quantile(y, [0.2, 0.4, 0.6, 0.8]))
    return model.fit(X[:50_000], y[:50_000]), X, y


def compare(name, scale):
    """Print the reference and the ratios of a problem."""
    model, X, y = problem(name, scale)
    if name == "boosting":
        _, reference = once(model.predict, X)
        print(f"{name}: a pass of predict takes {reference} s")
    else:
        _, reference = once(permutation_importance, model, X, y)
        print(f"{name}: five shuffles take {reference} s")
    for measure, most in PROBLEMS[name][3].items():
        _, spent = once(MEASURES[measure].fit, model, X, y)
        print(f"  {measure:18} {spent.to(reference)} times; wanted: at most {most}")
        print(f"  {'':18} {MEASURES[measure].response_path_}", flush=True)


def main():
    """Compare the problems asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--scale", type=float, default=1.0)
    given = parser.parse_args()
    for name in given.names or PROBLEMS:
        compare(name, given.scale)


if __name__ == "__main__":
    main()
