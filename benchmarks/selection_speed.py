"""What a selection costs beyond its refits, in time and memory.

Times are CPU seconds of this process: elapsed time on a machine that does other work
can make the refits alone look slower than the selection that contains them.

1. Madelon, a random forest of 100 trees, 500 columns at step=0.1: total over the
   summed time of the same refits alone, for two importances.
2. 100 000 sparse columns with a linear model: a path of one step.
3. Peak memory beyond X while eliminating columns of a dense X, in copies of X.

    python benchmarks/selection_speed.py
"""

import argparse
import time
import tracemalloc

import numpy as np
from data import NotAvailable, add_option, nips2003
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.naive_bayes import GaussianNB

from skvarimp import (
    BackwardEliminationSelector,
    CoefficientImportance,
    ImpurityImportance,
    SensitivityImportance,
)


def refits_alone(selector, X, y):
    """Seconds of the fits that a selection makes, over the same rows and columns."""
    splitter = StratifiedShuffleSplit(1, test_size=0.3, random_state=0)
    train, _ = next(splitter.split(X, y))
    left = np.ones(X.shape[1], dtype=bool)
    seconds = 0.0
    for dropped in selector.path_["dropped"]:
        left[dropped] = False
        narrow = X[train][:, left]
        seconds += timed(lambda: clone(selector.estimator).fit(narrow, y[train]))  # noqa: B023
    return seconds + timed(lambda: clone(selector.estimator).fit(X[:, left], y))


def timed(call):
    """CPU seconds of a call."""
    start = time.process_time()
    call()
    return time.process_time() - start


def forest_ratio(X, y):
    """Total over refits for the default importance and the forest's own."""
    for label, importance in (
        ("default", None),
        ("impurity", ImpurityImportance(convention="sklearn")),
    ):
        selector = BackwardEliminationSelector(
            RandomForestClassifier(100, random_state=0),
            importance,
            step=0.1,
            random_state=0,
        )
        total = timed(lambda: selector.fit(X, y))  # noqa: B023
        alone = refits_alone(selector, X, y)
        print(
            f"forest, {label:9} {len(selector.path_['score'])} steps: {total:7.1f} s, "
            f"refits alone {alone:7.1f} s, ratio {total / alone:.2f}",
            flush=True,
        )


def sparse_first_step(n_features):
    """Seconds of one step (two fits, a refit on all rows too), and of a fit alone."""
    random = np.random.default_rng(0)
    X = sparse.random_array((1000, n_features), density=0.005, rng=random).tocsr()
    y = (X @ random.standard_normal(n_features) > 0).astype(int)
    for label, importance in (
        ("default", SensitivityImportance(contrast="observed", scale=None)),
        ("coefficients", CoefficientImportance(statistic="absolute")),
    ):
        for model in (LogisticRegression(), SGDClassifier(random_state=0)):
            selector = BackwardEliminationSelector(
                model,
                importance,
                step=1,
                importance_threshold=0.0,
                min_features_to_select=n_features - 1,
                random_state=0,
            )
            first = timed(lambda: selector.fit(X, y))  # noqa: B023
            fit = timed(lambda: model.fit(X, y))  # noqa: B023
            print(
                f"{n_features} sparse columns, {label}, {type(model).__name__}: one "
                f"step {first:.2f} s, a fit alone {fit:.2f} s",
                flush=True,
            )


def memory(n_samples, n_features):
    """Peak beyond X, in copies of X, of a model that keeps no rows."""
    X = np.random.default_rng(0).standard_normal((n_samples, n_features))
    y = (X[:, 0] > 0).astype(int)
    model = GaussianNB()
    tracemalloc.start()
    model.fit(X, y)
    own = tracemalloc.get_traced_memory()[1]
    for label, importance in (
        ("held-out rows", lambda model, X, y: X.var(axis=0)),
        ("default", None),
    ):
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        BackwardEliminationSelector(model, importance, step=0.3, random_state=0).fit(
            X, y
        )
        peak = tracemalloc.get_traced_memory()[1] - before
        print(
            f"memory, {n_samples} rows, {label}: peak {peak / 1e6:.0f} MB, "
            f"{peak / X.nbytes:.2f} copies of X, "
            f"{(peak - own) / X.nbytes:.2f} beyond the estimator's fit",
            flush=True,
        )
    tracemalloc.stop()


def main():
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, default=100_000)
    add_option(parser)
    options = parser.parse_args()
    memory(4000, 300)
    memory(16000, 300)
    sparse_first_step(options.columns)
    try:
        X, y, _, _ = nips2003("madelon", options.data)
    except NotAvailable as reason:
        print(f"skipped: {reason}")
        return
    forest_ratio(X, y)


if __name__ == "__main__":
    main()
