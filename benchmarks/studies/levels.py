"""How often an importance is found where there is none, and spreads that mislead."""

import warnings

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import RepeatedKFold, ShuffleSplit
from sklearn.tree import DecisionTreeRegressor
from timer import once

from skvarimp import (
    FIRMImportance,
    PermutationImportance,
    SensitivityImportance,
    importance_across_folds,
)
from skvarimp._measures import subgroup_trees
from studies.table import ends


def firm_levels(samples=400, rows=300):
    """How often FIRM takes identifiers that are noise for an effect.

    A normal score, and a column of k different strings that has nothing to do with it:
    the share of samples whose importance is more than three standard errors above 0,
    and the share whose importance cannot be estimated (NaN).
    """
    warnings.simplefilter("ignore")
    print(f"{'levels':>6} {'above 3 errors':>15} {'not estimated':>14}")
    for k in (3, 10, 30, 100, 150, 200, 235, 250, 299):
        random, found = np.random.default_rng(k), []
        for _ in range(samples):
            codes = np.concatenate([np.arange(k), random.integers(0, k, rows - k)])
            names = np.array([f"id{code}" for code in codes], dtype=object)
            score = random.standard_normal(rows)
            imp = FIRMImportance().fit(None, names[:, np.newaxis], score)
            value, error = imp.importances_[0], imp.standard_errors_[0]
            found.append(0.0 if error == 0 else value / error)
        found = np.array(found)
        print(f"{k:6d} {np.mean(found > 3):15.3f} {np.isnan(found).mean():14.3f}")


def conditional(
    samples=500,
    rows=500,
    trees=50,
    columns=2,
    slope=1.0,
    max_features=1.0,
    smallest=subgroup_trees.SMALLEST_PART,
    shape="line",
):
    """Level of the conditional test, and what the smallest part of the rows decides.

    y depends on x1 only, x2 goes along with x1 (correlation 0.9), further columns are
    noise. A forest is fitted on one half of the rows; on the other half the importance
    of x2 (squared error) has a 95% interval. All of it is seldom above 0 if the measure
    is honest: given x1, nothing is left to learn from x2.
    """
    subgroup_trees.SMALLEST_PART = smallest
    common = {
        "loss": "squared_error",
        "estimation": "exact",
        "features": [0, 1],
        "keep_rows": True,
    }
    measures = {
        "marginal": PermutationImportance(**common),
        "conditional": PermutationImportance(**common, conditional="subgroups"),
    }

    def draw(seed):
        random = np.random.default_rng(seed)
        X = random.normal(size=(rows, columns))
        X[:, 1] = 0.9 * X[:, 0] + 0.19**0.5 * X[:, 1]
        signal = X[:, 0] if shape == "line" else np.sin(2 * X[:, 0])
        y = slope * signal + random.normal(size=rows)
        forest = RandomForestRegressor(
            trees, max_features=max_features, random_state=int(random.integers(2**31))
        )
        half = rows // 2
        return forest.fit(X[:half], y[:half]), X[half:], y[half:]

    def study():
        found = {name: [] for name in measures}
        for seed in range(samples):
            data = draw(seed)
            for name, measure in measures.items():
                lower, _ = ends(measure.fit(*data))
                found[name].append([measure.importances_, lower])
        return found

    found, spent = once(study)
    print("measure      x1     x2     x2 above 0   x1 above 0")
    for name, drawn in found.items():
        means, lower = np.array(drawn).swapaxes(0, 1)
        x1, x2 = means.mean(axis=0)
        above_1, above_2 = (lower > 0).mean(axis=0)
        print(f"{name:11s}  {x1:.3f}  {x2:.4f}  {above_2:10.1%}  {above_1:10.1%}")
    print(f"{spent.cpu / samples:.2f} s per sample")


def folds(samples=150, rows=100):
    """Is the spread of importances over folds a standard error? No: by how much not.

    The standard error of the mean importance that the spread over folds would suggest,
    as a share of the true one (the spread of the mean over data sets): naively, sd /
    sqrt(number of folds), and after Nadeau and Bengio (2003), sd * sqrt(1 / number of
    folds + held-out rows / training rows). 1 would be right.
    """
    warnings.simplefilter("error")
    slopes = [1.0, 0.5, 0.0]
    models = {"linear": LinearRegression(), "tree": DecisionTreeRegressor(max_depth=3)}
    measures = {
        "permutation": PermutationImportance(),
        "sensitivity": SensitivityImportance(scale=None),
    }
    splitters = {  # all hold out a fifth
        "5 folds": 5,
        "5 folds, 3 times": RepeatedKFold(n_splits=5, n_repeats=3),
        "15 random splits": ShuffleSplit(15, test_size=0.2),
    }
    overlap = 0.2 / 0.8

    def shares(model, measure, splitter):
        means, variances = [], []
        for seed in range(samples):
            random = np.random.default_rng(seed)
            X = random.standard_normal((rows, len(slopes)))
            y = X @ slopes + random.standard_normal(rows)
            found = importance_across_folds(
                model, X, y, measure, splitter, random_state=seed
            )
            means.append(found.importances)
            variances.append(found.sd**2)
        n_folds = len(found.importances)
        ratio = np.sqrt(np.mean(variances, axis=0)) / np.std(means, axis=0, ddof=1)
        return ratio / np.sqrt(n_folds), ratio * np.sqrt(1 / n_folds + overlap)

    for name, model in models.items():
        for what, measure in measures.items():
            for which, splitter in splitters.items():
                naive, corrected = shares(model, measure, splitter)
                print(
                    f"{name:7} {what:12} {which:17} naive {naive.round(2)}  "
                    f"corrected {corrected.round(2)}",
                    flush=True,
                )


STUDIES = [firm_levels, conditional, folds]
