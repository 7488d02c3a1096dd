"""Coverage of nominal 95% intervals: standard errors and Monte Carlo errors.

    python benchmarks/interval_coverage.py --samples 1000

A fixed model f = x0 + x0 x1 on samples of 200 standard normal rows, whose importances
are known; and the sampled estimate of a nearest-neighbour model beside its exact value.
"""

import argparse

import numpy as np
from scipy.stats import norm
from sklearn.neighbors import KNeighborsRegressor

from skvarimp import SensitivityImportance


def interacting(X):
    """A fixed model with an interaction."""
    return X[:, 0] * (1 + X[:, 1])


def standard_errors(contrast, n_samples, n=200):
    """Share of samples whose interval holds the population value, and error ratio."""
    # E|x0' - x0''| = 2 / sqrt(pi), times E|1 + x1|; E|x1' - x1''| E|x0| for x1
    levels = [2 * norm.pdf(1) + 2 * norm.cdf(1) - 1, np.sqrt(2 / np.pi)]
    population = 2 / np.sqrt(np.pi) * np.array(levels)
    values, errors = [], []
    for seed in range(n_samples):
        X = np.random.default_rng(seed).standard_normal((n, 2))
        imp = SensitivityImportance(contrast=contrast, scale=None).fit(interacting, X)
        values.append(imp.importances_)
        errors.append(imp.standard_errors_)
    values, errors = np.array(values), np.array(errors)
    inside = np.abs(values - population) < 1.96 * errors
    return inside.mean(axis=0), errors.mean(axis=0) / values.std(axis=0)


def monte_carlo_errors(contrast, n_samples, n=100):
    """Share of seeds whose interval at ten repeats holds the exact value."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n, 3))
    model = KNeighborsRegressor(5).fit(X, interacting(X))
    parameters = {"contrast": contrast, "scale": None}
    exact = SensitivityImportance(estimation="exact", **parameters).fit(model, X)
    inside = []
    for seed in range(n_samples):
        drawn = SensitivityImportance(
            estimation="sampled", random_state=seed, **parameters
        ).fit(model, X)
        gap = np.abs(drawn.importances_ - exact.importances_)
        inside.append(gap < 1.96 * drawn.monte_carlo_errors_)
    return np.mean(inside, axis=0)


def main():
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1000)
    n_samples = parser.parse_args().samples
    for contrast in ("pairs", "observed"):
        coverage, ratio = standard_errors(contrast, n_samples)
        print(f"{contrast}: standard errors, n = 200: coverage {coverage.round(3)}, ")
        print(f"  mean standard error / true spread {ratio.round(3)}")
        coverage = monte_carlo_errors(contrast, n_samples)
        print(f"  Monte Carlo errors, ten repeats: coverage {coverage.round(3)}")


if __name__ == "__main__":
    main()
