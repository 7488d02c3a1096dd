"""Coverage of nominal 95% intervals of partial dependence and permutation importance.

    python benchmarks/flatness_coverage.py --samples 1000

Fixed models on samples of 200 rows, whose importances in the population are known: the
partial dependence on a fixed grid, the permutation importance as difference and ratio,
exact and sampled; and, with the trees of a forest held fixed, the out-of-bag one on
fresh rows.
"""

import argparse
from itertools import product

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from skvarimp import PartialDependenceImportance, PermutationImportance
from skvarimp._data.entries import Entry
from skvarimp._data.table import ArrayTable
from skvarimp._measures.out_of_bag import OutOfBag
from skvarimp._measures.problem import Plan

GRID = np.array([-1.0, 0.0, 1.0, 2.0])


def linear(X):
    """A fixed model without interaction."""
    return X[:, 0] + 0.5 * X[:, 1]


def interacting(X):
    """A fixed model with an interaction."""
    return X[:, 0] * (1 + X[:, 1])


def rows(seed, n=200, f=interacting, law="normal"):
    """Inputs of mean 0 and variance 1, and y with the model's error and noise."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, 2))
    if law == "uniform":
        X = np.sqrt(12) * (random.random((n, 2)) - 0.5)
    return X, f(X) + 0.5 * X[:, 0] + random.standard_normal(n)


def report(name, values, errors, population):
    """Coverage of each entry, and mean error over true spread."""
    values, errors = np.array(values), np.array(errors)
    inside = np.abs(values - population) < 1.96 * errors
    ratio = errors.mean(axis=0) / values.std(axis=0)
    print(f"{name:54s} {inside.mean(axis=0).round(3)}  {ratio.round(3)}")


def partial_dependence(n_samples):
    """(x0 + 1) (1 + x1): both mean curves have slope 1, single ones |1 + z|."""
    for kind, slope in (("average", 1.0), ("individual", 1.1666303535)):  # E|1 + z|
        for statistic, flat in (("std", GRID.std(ddof=1)), ("range", np.ptp(GRID))):
            imp = PartialDependenceImportance(grid=GRID, statistic=statistic, kind=kind)
            values, errors = [], []
            for seed in range(n_samples):
                imp.fit(lambda X: (X[:, 0] + 1) * (1 + X[:, 1]), rows(seed)[0])
                values.append(imp.importances_)
                errors.append(imp.standard_errors_)
            report(
                f"partial dependence, {kind}, {statistic}", values, errors, flat * slope
            )


# With d = f moved - f, the gain is E d^2 - 2 E d (y - f). y - f = 0.5 x0 + e, so that
# the mean unmoved loss is 1.25. Linear: 2 + 1 and 0.5. Interacting: E d^2 = 2 E (1 +
# x1)^2 = 4 and -2 E d (y - f) = E (1 + x1) x0^2 = 1 for x0; 2 E x0^2 = 2 for x1.
# Squares of products of normal inputs have heavy tails; uniform ones have none.
CASES = [
    (linear, "normal", np.array([3.0, 0.5])),
    (interacting, "uniform", np.array([5.0, 2.0])),
    (interacting, "normal", np.array([5.0, 2.0])),
]


def permutation(n_samples):
    """Difference and ratio, exact and sampled, of fixed models."""
    for (f, law, gains), relative, estimation in product(
        CASES, (False, True), ("exact", "sampled")
    ):
        values, errors = [], []
        for seed in range(n_samples):
            imp = PermutationImportance(
                relative=relative, estimation=estimation, random_state=seed
            ).fit(f, *rows(seed, f=f, law=law))
            drawn = imp.monte_carlo_errors_
            drawn = 0.0 if drawn is None else drawn
            values.append(imp.importances_)
            errors.append(np.hypot(imp.standard_errors_, drawn))
        name = f"{f.__name__}, {law}, {'ratio' if relative else 'difference'}"
        population = 1 + gains / 1.25 if relative else gains
        report(f"permutation, {name}, {estimation}", values, errors, population)


def out_of_bag(n_samples):
    """Trees and roles of the rows fixed, rows fresh; population from many rows."""
    X, y = rows(10**6)
    forest = RandomForestRegressor(20, max_depth=4, random_state=0).fit(X, y)
    everything = np.arange(len(X))
    outside = [np.setdiff1d(everything, drawn) for drawn in forest.estimators_samples_]
    entries = [Entry("x0", (0,)), Entry("x1", (1,))]

    def fit(X, y, of):
        table = ArrayTable(X)
        trees = OutOfBag(
            forest.estimators_, of, table, y, np.ones(len(X)), "auto", "auto"
        )
        measure = PermutationImportance(n_jobs=1)
        return trees.outcome(Plan(None, entries), measure)

    many = rows(10**7, 20_000)
    population = fit(*many, [np.arange(20_000)] * 20).importances[:, 0]
    values, errors = [], []
    for seed in range(n_samples):
        result = fit(*rows(seed), outside)
        values.append(result.importances[:, 0])
        errors.append(result.standard_errors)
    report("permutation, out of bag, trees fixed", values, errors, population)


def main():
    """Print the coverage."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1000)
    n_samples = parser.parse_args().samples
    print(f"{'200 rows':54s} coverage of x0, x1; mean standard error / true spread")
    partial_dependence(n_samples)
    permutation(n_samples)
    out_of_bag(n_samples)


if __name__ == "__main__":
    main()
