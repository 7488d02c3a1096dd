"""Leave-out importance where the truth is known: intervals and p-values.

    python benchmarks/leave_out_coverage.py --samples 500

Correlated normal columns and a linear response with noise of variance 1. Leaving out
column j raises the residual variance by b_j^2 Var(x_j given the others). Printed for
each column: that truth, the mean estimate, its spread and mean standard error, the
share of 95% intervals that hold the truth, and of one-sided p-values at most 0.05.
Least squares has the closed form; the forest and the neighbours are refitted, their
truth is the mean of the estimates.
"""

import argparse

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor

from skvarimp import leave_out_importances

COEFFICIENTS = np.array([1.0, 0.5, 0.25, 0.1, 0.0, 0.0])


def sample(seed, n, correlation):
    """Rows, response and the true importances."""
    random = np.random.default_rng(seed)
    p = len(COEFFICIENTS)
    covariance = np.full((p, p), correlation) + (1 - correlation) * np.eye(p)
    X = random.standard_normal((n, p)) @ np.linalg.cholesky(covariance).T
    y = X @ COEFFICIENTS + random.standard_normal(n)
    return X, y, COEFFICIENTS**2 / np.diag(np.linalg.inv(covariance))


def study(estimator, n_samples, n, correlation=0.3, known=True, **options):
    """Print one line per number, one figure per column."""
    found, truth = [], None
    for seed in range(n_samples):
        X, y, truth = sample(seed, n, correlation)
        found.append(leave_out_importances(estimator, X, y, **options))
    values = np.array([one.importances for one in found])
    errors = np.array([one.standard_errors for one in found])
    bounds = np.array([one.interval().sort_values("entry") for one in found])
    lower, upper = bounds[:, :, 2].astype(float), bounds[:, :, 3].astype(float)
    rejected = np.array([one.pvalues <= 0.05 for one in found])
    if not known:
        truth = values.mean(axis=0)
    print(f"{estimator}, n = {n}, {n_samples} samples, {options}")
    for name, figures in {
        "truth": truth,
        "mean": values.mean(axis=0),
        "spread": values.std(axis=0),
        "mean error": errors.mean(axis=0),
        "coverage": ((lower <= truth) & (truth <= upper)).mean(axis=0),
        "p <= 0.05": rejected.mean(axis=0),
    }.items():
        print(
            f"  {name:12}", np.array2string(figures, precision=3, suppress_small=True)
        )


def main():
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--refits", type=int, default=100, help="samples of the others")
    arguments = parser.parse_args()
    for n in (100, 200, 500):
        study(LinearRegression(), arguments.samples, n)
    study(LinearRegression(), arguments.samples, 200, cv=10)
    study(LinearRegression(), arguments.samples, 200, correlation=0.7)
    study(Ridge(1.0), arguments.samples, 200)
    study(KNeighborsRegressor(10), arguments.refits, 200, known=False)
    forest = RandomForestRegressor(20, random_state=0)
    study(forest, arguments.refits // 4, 200, known=False, cv=3)


if __name__ == "__main__":
    main()
