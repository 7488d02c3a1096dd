"""What a selection costs beyond its refits, in time and memory.

Times are CPU seconds of this process: elapsed time on a machine that does other work
can make the refits alone look slower than the selection that contains them.

1. Madelon, a random forest of 100 trees, 500 columns at step=0.1: total over the
   summed time of the same refits alone, for two importances.
2. 100 000 sparse columns with a linear model: a path of one step.
3. Peak memory beyond X while eliminating columns, in copies of X.

    python benchmarks/selection_speed.py
"""

import argparse
import tracemalloc

import numpy as np
from data import NotAvailable, add_option, nips2003
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.model_selection import StratifiedShuffleSplit
from timer import once

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
    alone = 0.0
    for dropped in selector.path_["dropped"]:
        left[dropped] = False
        narrow = X[train][:, left]
        alone += seconds(clone(selector.estimator).fit, narrow, y[train])
    return alone + seconds(clone(selector.estimator).fit, X[:, left], y)


def seconds(function, *arguments):
    """CPU seconds of a call."""
    return once(function, *arguments)[1].cpu


def forest_ratio(X, y):
    """Total over refits alone, for the default importance and the forest's own."""
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
        total = seconds(selector.fit, X, y)
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
            first = seconds(selector.fit, X, y)
            fit = seconds(model.fit, X, y)
            print(
                f"{n_features} sparse columns, {label}, {type(model).__name__}: one "
                f"step {first:.2f} s, a fit alone {fit:.2f} s",
                flush=True,
            )


class FirstColumn(RegressorMixin, BaseEstimator):
    """Predicts the first column: a model that needs no memory of its own."""

    def fit(self, X, y):
        """Learn nothing."""
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        """The first column."""
        return X[:, [0]].toarray()[:, 0] if sparse.issparse(X) else X[:, 0]


def memory():
    """Peak while columns go, in copies of X, of models that need next to nothing."""
    random = np.random.default_rng(0)
    dense = random.standard_normal((5000, 2000))
    thin = sparse.random_array((20_000, 2000), density=0.05, rng=random).tocsr()
    few_draws = SensitivityImportance(
        contrast="observed", scale=None, estimation="sampled", n_draws=4
    )
    drivers = (
        ("callable", FirstColumn(), lambda model, X, y: np.arange(X.shape[1])[::-1]),
        ("default", SGDRegressor(max_iter=5, tol=None), None),
        ("black box", FirstColumn(), few_draws),
    )
    for form, X in (("dense", dense), ("CSR", thin), ("CSC", thin.tocsc())):
        size = X.nbytes if X is dense else sum(a.nbytes for a in (X.data, X.indices))
        y = X[:, [0]].toarray()[:, 0] if sparse.issparse(X) else X[:, 0].copy()
        for label, model, importance in drivers:
            if label == "black box" and X is not dense:
                continue
            selector = BackwardEliminationSelector(
                model,
                importance,
                min_features_to_select=X.shape[1] - 2,
                importance_threshold=0.0,
                random_state=0,
            )
            tracemalloc.start()
            selector.fit(X, y)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            print(
                f"memory, {form} {X.shape[0]} x {X.shape[1]}, {size / 1e6:.0f} MB, "
                f"{label}: peak {peak / 1e6:.0f} MB, {peak / size:.2f} copies of X",
                flush=True,
            )


def main():
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, default=100_000)
    add_option(parser)
    options = parser.parse_args()
    memory()
    sparse_first_step(options.columns)
    try:
        X, y, _, _ = nips2003("madelon", options.data)
    except NotAvailable as reason:
        print(f"skipped: {reason}")
        return
    forest_ratio(X, y)


if __name__ == "__main__":
    main()
