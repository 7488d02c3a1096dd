"""Coverage of nominal 95% intervals of FIRM at 200 rows.

    python benchmarks/firm_coverage.py --samples 2000

Fixed scores on correlated normal columns. The population value is that of 400 000
rows, of the same estimator (the same number of bins).
"""

import argparse

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.svm import SVR

from skvarimp import FIRMImportance
from skvarimp.feature_functions import Conjunction, Step


def draw(n, random):
    """Three normal columns, the first two with correlation 0.7."""
    X = random.standard_normal((n, 3))
    X[:, 1] = 0.7 * X[:, 0] + np.sqrt(0.51) * X[:, 1]
    return X


def curved(X):
    """A score with a light tail."""
    return np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.3 * X[:, 1]


def heavy(X):
    """A score with a heavy tail."""
    return np.sin(X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.5 * X[:, 0] * X[:, 2]


def rounded(X):
    """A feature of five values."""
    return np.clip(np.round(X[:, 0]), -2, 2)


def scores():
    """Fixed models by name."""
    random = np.random.default_rng(0)
    X = draw(300, random)
    linear = LinearRegression().fit(X, X @ [1.0, 0.5, -0.3])
    machine = SVR(C=3.0).fit(X, curved(X))
    return {"linear": linear, "curved": curved, "heavy": heavy, "machine": machine}


CASES = [
    ("linear", {"method": "linear"}),
    ("curved", {"method": "linear"}),
    ("curved", {"method": "linear", "features": [[0, 2]]}),
    ("curved", {"method": "binary", "feature_functions": [Step(0, 0.3)]}),
    ("curved", {"method": "binary", "feature_functions": [Conjunction(0, 1)]}),
    ("curved", {"method": "conditional_mean", "feature_functions": [rounded]}),
    ("curved", {"method": "conditional_mean", "n_bins": 10}),
    ("linear", {"method": "gaussian"}),
    ("machine", {"method": "gaussian"}),
    ("linear", {"method": "linear", "standardize": True}),
    ("curved", {"method": "linear", "standardize": True}),
    ("heavy", {"method": "linear"}),
    ("heavy", {"method": "linear", "standardize": True}),
]


def coverage(score, parameters, n_samples, n=200):
    """Population values, shares of intervals that hold them, error ratios."""
    imp = FIRMImportance(**parameters)
    n_population = 20_000 if parameters["method"] == "gaussian" else 400_000
    population = imp.fit(score, draw(n_population, np.random.default_rng(1)))
    population = population.importances_
    values, errors = [], []
    for seed in range(n_samples):
        imp.fit(score, draw(n, np.random.default_rng(1000 + seed)))
        values.append(imp.importances_)
        errors.append(imp.standard_errors_)
    values, errors = np.array(values), np.array(errors)
    inside = np.abs(values - population) <= 1.96 * errors
    return population, inside.mean(axis=0), errors.mean(axis=0) / values.std(axis=0)


def main():
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1000)
    n_samples = parser.parse_args().samples
    models = scores()
    print(f"{'score':8s} {'importance':24s} {'coverage':24s} {'error / spread':24s}")
    for name, parameters in CASES:
        found = coverage(models[name], parameters, n_samples)
        columns = [" ".join(f"{v:.3f}" for v in part) for part in found]
        shown = {k: v for k, v in parameters.items() if k != "feature_functions"}
        for function in parameters.get("feature_functions", []):
            shown["feature"] = getattr(function, "__name__", function)
        print(f"{name:8s} " + " ".join(f"{c:24s}" for c in columns), shown)


if __name__ == "__main__":
    main()
