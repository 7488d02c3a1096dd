"""Exact sensitivity of a survival forest against shuffles and concordance.

Equality with the forest as a black box first, on some of the rows. Then processor
seconds of all rows and columns on one thread: the exact `SensitivityImportance` with
its standard errors, and scikit-learn's `permutation_importance(n_repeats=10)` with the
model's own score. The shuffles of a few columns are timed and counted for all.

    python benchmarks/survival_speed.py [--rows 5000] [--columns 20] [--shuffled 2]
"""

import argparse

import numpy as np
from sklearn.inspection import permutation_importance
from sksurv.ensemble import RandomSurvivalForest
from sksurv.util import Surv
from threadpoolctl import threadpool_limits
from timer import once

from skvarimp import SensitivityImportance


def data(n_rows, n_columns):
    """Five columns matter; times in days, a third of them censored."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, n_columns))
    hazard = np.exp(X[:, 0] + X[:, 1] * X[:, 2] - 0.5 * X[:, 3] + 0.3 * X[:, 4] ** 2)
    time, censored = random.exponential(100 / hazard), random.exponential(200, n_rows)
    observed = np.ceil(np.minimum(time, censored)).clip(max=365)
    return X, Surv.from_arrays(time <= censored, observed)


def exact(model, X):
    """Over all pairs of rows, in units of the risk."""
    return SensitivityImportance(scale=None, estimation="exact").fit(model, X)


def check(model, X):
    """The largest relative difference from the black box."""
    fast, slow = exact(model, X), exact(model.predict, X)
    assert fast.response_path_.startswith("trees"), fast.response_path_
    assert slow.response_path_.startswith("black box")
    gap = np.abs(fast.importances_ - slow.importances_) / slow.importances_.max()
    return gap.max()


def main():
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--shuffled", type=int, default=2)
    given = parser.parse_args()
    X, y = data(given.rows, given.columns)
    model = RandomSurvivalForest(
        100, min_samples_leaf=15, low_memory=True, n_jobs=1, random_state=0
    )
    model, fitting = once(model.fit, X, y)
    print(f"fit of the forest: {fitting.cpu:.1f} s, {given.rows} x {given.columns}")
    print(
        f"largest difference from the black box, 150 rows: {check(model, X[:150]):.1e}"
    )
    _, ours = once(exact, model, X)
    print(f"exact sensitivity with standard errors: {ours.cpu:.2f} s")

    class Few:
        """The forest as a model of its first columns, the others held."""

        def fit(self, X, y):
            """Do nothing: the forest is fitted."""

        def score(self, columns, y):
            """The forest's own."""
            return model.score(np.hstack([columns, X[:, given.shuffled :]]), y)

    few = X[:, : given.shuffled]
    _, theirs = once(lambda: permutation_importance(Few(), few, y, n_repeats=10))
    theirs = theirs.cpu * given.columns / given.shuffled
    print(f"ten shuffles of each column: {theirs:.1f} s, {theirs / ours.cpu:.0f} times")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
