"""How long the search for all surrogates takes, against growing the forest itself.

    OMP_NUM_THREADS=1 python benchmarks/surrogate_speed.py [--repeats 5] [--jobs 2]

One process each unless `--jobs` says otherwise; the best of several repeats, as the
times are of seconds and the machine may be shared. Every problem runs in a process of
its own, so that its peak memory is its own. Before any time is taken, the importances
without surrogates are compared with the forest's `feature_importances_`.
"""

import argparse
import platform
import resource
import subprocess
import sys
import time

import numpy as np
import sklearn
from sklearn.datasets import make_classification, make_friedman1
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import skvarimp
from skvarimp import ImpurityImportance

PROBLEMS = [
    ("classification", 1000, 10),
    ("regression", 1000, 10),
    ("classification", 10_000, 20),
    ("regression", 10_000, 20),
]


def make_problem(kind, n_samples, n_features):
    """Forest of 100 trees of unlimited depth, and its data."""
    if kind == "classification":
        X, y = make_classification(
            n_samples, n_features, n_informative=5, flip_y=0.2, random_state=0
        )
        return RandomForestClassifier(100, random_state=0), X, y
    X, y = make_friedman1(n_samples, n_features, noise=1.0, random_state=0)
    return RandomForestRegressor(100, random_state=0), X, y


def best_of(repeats, action):
    """Smallest wall and CPU seconds over repeats."""
    times = []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        action()
        times.append((time.perf_counter() - wall, time.process_time() - cpu))
    return np.min(times, axis=0)


def resident():
    """Largest resident memory so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(problem, convention, repeats, n_jobs):
    """One row of the table."""
    forest, X, y = make_problem(*problem)
    fit = best_of(repeats, lambda: forest.fit(X, y))
    plain = ImpurityImportance(convention="sklearn").fit(forest).importances_
    np.testing.assert_allclose(plain, forest.feature_importances_, rtol=1e-10)
    importance = ImpurityImportance(
        surrogates=True, convention=convention, n_jobs=n_jobs
    )
    before = resident()
    importance.fit(forest, X, y)
    extra = resident() - before
    record = importance.surrogate_splits_.nbytes / 2**20
    n_surrogates = len(importance.surrogate_splits_)
    search = best_of(repeats, lambda: importance.fit(forest, X, y))
    n_nodes = sum(tree.tree_.node_count for tree in forest.estimators_)
    return fit, search, extra, record, n_nodes, n_surrogates


def row(problem, options):
    """The table's line for one problem."""
    fit, search, extra, record, n_nodes, n_surrogates = measure(
        problem, options.convention, options.repeats, options.jobs
    )
    kind, n_samples, n_features = problem
    # Workers of joblib live on; their CPU time is not seen from here.
    cpu = f"{search[1] / fit[1]:.2f}" if options.jobs == 1 else "-"
    return (
        f"{kind + f' {n_samples} x {n_features}':<28}{n_nodes:>9}{n_surrogates:>12}"
        f"{fit[0]:>8.2f}{search[0]:>10.2f}{search[0] / fit[0]:>7.2f}"
        f"{cpu:>11}{extra:>10.0f}{record:>11.0f}"
    )


def main():
    """Print the table, every line from a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--convention", default="matlab")
    parser.add_argument("--only", type=int, help="number of one problem, 0 to 3")
    options = parser.parse_args()
    if options.only is not None:
        print(row(PROBLEMS[options.only], options))
        return
    print(
        f"skvarimp {skvarimp.__version__}, scikit-learn {sklearn.__version__}, NumPy "
        f"{np.__version__}, Python {platform.python_version()}, {platform.machine()}; "
        f"convention {options.convention}, n_jobs {options.jobs}, best of "
        f"{options.repeats}"
    )
    print(
        f"{'problem':<28}{'nodes':>9}{'surrogates':>12}{'fit s':>8}{'search s':>10}"
        f"{'ratio':>7}{'CPU ratio':>11}{'extra MB':>10}{'record MB':>11}",
        flush=True,
    )
    for number in range(len(PROBLEMS)):
        command = [sys.executable, *sys.argv, "--only", str(number)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
