"""How long the search for all surrogates takes, against growing the forest itself.

    OMP_NUM_THREADS=1 PYTHONPATH=. python benchmarks/surrogate_speed.py \\
        [--repeats 5] [--jobs 2]

Every problem runs in a process of its own, so that its peak memory is its
own; one worker unless `--jobs` says otherwise. Times are the best of several repeats,
as CPU seconds and as seconds on the clock, the latter for a quiet machine only.
Before any time is taken, the importances without surrogates are compared with the
forest's `feature_importances_`.
"""

import argparse
import platform
import resource
import subprocess
import sys

import numpy as np
import sklearn
from sklearn.datasets import make_classification, make_friedman1
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from timer import best

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


def resident():
    """Largest resident memory so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def surrogates_of(forest, X, y, **options):
    """Importances with surrogates."""
    return ImpurityImportance(surrogates=True, **options).fit(forest, X, y)


def measure(problem, repeats, options):
    """One row of the table."""
    forest, X, y = make_problem(*problem)
    _, fit = best(repeats, forest.fit, X, y)
    plain = ImpurityImportance(convention="sklearn").fit(forest).importances_
    np.testing.assert_allclose(plain, forest.feature_importances_, rtol=1e-10)
    before = resident()
    importance = surrogates_of(forest, X, y, **options)
    extra = resident() - before
    record = importance.surrogate_splits_.nbytes / 2**20
    n_surrogates = len(importance.surrogate_splits_)
    _, search = best(repeats, lambda: surrogates_of(forest, X, y, **options))
    n_nodes = sum(tree.tree_.node_count for tree in forest.estimators_)
    kind, n_samples, n_features = problem
    # Workers in processes live on; their CPU time is not seen from here.
    cpu = f"{'-':>8}{'-':>7}"
    if options["n_jobs"] == 1:
        cpu = f"{search.cpu:>8.2f}{search.cpu / fit.cpu:>7.2f}"
    return (
        f"{kind + f' {n_samples} x {n_features}':<28}{n_nodes:>9}"
        f"{n_surrogates:>11}{fit.cpu:>8.2f}{cpu}"
        f"{fit.wall:>8.2f}{search.wall:>8.2f}{search.wall / fit.wall:>7.2f}"
        f"{extra:>9.0f}{record:>9.0f}"
    )


def main():
    """Print the table, every line from a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--convention", default="matlab")
    parser.add_argument("--only", type=int, help="one problem, from 0")
    options = parser.parse_args()
    measured = {"convention": options.convention, "n_jobs": options.jobs}
    if options.only is not None:
        problem = PROBLEMS[options.only]
        print(measure(problem, options.repeats, measured))
        return
    print(
        f"skvarimp {skvarimp.__version__}, scikit-learn {sklearn.__version__}, NumPy "
        f"{np.__version__}, Python {platform.python_version()}, {platform.machine()}; "
        f"convention {options.convention}, n_jobs {options.jobs}, best of "
        f"{options.repeats}"
    )
    print(f"{'':<48}{'CPU':<23}{'clock':<23}{'memory, MB':>18}")
    print(
        f"{'problem':<28}{'nodes':>9}{'surrogates':>11}"
        f"{'fit s':>8}{'search':>8}{'ratio':>7}{'fit s':>8}{'search':>8}{'ratio':>7}"
        f"{'extra':>9}{'record':>9}",
        flush=True,
    )
    for number in range(len(PROBLEMS)):
        one = ["--only", str(number)]
        subprocess.run([sys.executable, *sys.argv, *one], check=True)


if __name__ == "__main__":
    main()
