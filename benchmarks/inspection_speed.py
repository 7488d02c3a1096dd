"""`skvarimp.inspection` against scikit-learn's functions of the same names.

Nine model families, 2000 rows x 20 columns, one thread, processor time. The numbers of
both are compared before their times. Prints, for `permutation_importance(n_repeats=10)`
and for `partial_dependence` of every column, the seconds of each and their ratio::

    OMP_NUM_THREADS=1 python benchmarks/inspection_speed.py
    OMP_NUM_THREADS=1 python benchmarks/inspection_speed.py ridge logistic --rows 1000
"""

import argparse

import numpy as np
import sklearn.inspection as theirs
from sklearn.datasets import make_friedman1
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.svm import SVR
from timer import timed

import skvarimp.inspection as ours

X, Y = make_friedman1(2000, n_features=20, noise=1.0, random_state=0)
LABELS = np.digitize(Y, np.quantile(Y, [0.3, 0.7]))
FAMILIES = {
    "ridge": (Ridge(), Y),
    "logistic": (LogisticRegression(), LABELS),
    "forest": (RandomForestRegressor(random_state=0), Y),
    "forest, 3 classes": (RandomForestClassifier(random_state=0), LABELS),
    "gradient boosting": (GradientBoostingRegressor(random_state=0), Y),
    "histogram boosting": (HistGradientBoostingClassifier(random_state=0), LABELS),
    "support vectors": (SVR(), Y),
    "neighbours": (KNeighborsRegressor(), Y),
    "network": (MLPRegressor(max_iter=100, random_state=0), Y),
}


def permutation(module, model, X, y):
    """(n_columns, 10) importances."""
    found = module.permutation_importance(model, X, y, n_repeats=10, random_state=0)
    return found.importances


def curves(module, model, X, y):
    """(n_columns, n_outputs, 100) averages."""
    found = [
        module.partial_dependence(model, X, [j], method="brute")
        for j in range(X.shape[1])
    ]
    return np.array([of_column.average for of_column in found])


def main():
    """Print a table of each function."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("families", nargs="*", default=list(FAMILIES))
    parser.add_argument("--rows", type=int, default=2000, help="at most 2000")
    parser.add_argument("--ours", action="store_true", help="time ours only")
    options = parser.parse_args()
    for function in (permutation, curves):
        print(f"\n{function.__name__:20}  sklearn s  skvarimp s  ratio")
        ratios = []
        for family in options.families:
            model, y = FAMILIES[family]
            data = X[: options.rows], y[: options.rows]
            model.fit(*data)
            found, fast = timed(function, ours, model, *data)
            if options.ours:
                print(f"{family:20}  {'':9}  {fast.cpu:10.3f}")
                continue
            expected, slow = timed(function, theirs, model, *data)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
            ratios.append(fast.cpu / slow.cpu)
            print(f"{family:20}  {slow.cpu:9.3f}  {fast.cpu:10.3f}  {ratios[-1]:5.2f}")
        if ratios:
            print(f"median {np.median(ratios):.2f}, largest {max(ratios):.2f}")


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    main()
