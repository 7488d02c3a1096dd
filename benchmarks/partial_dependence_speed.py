"""Partial dependence, Friedman's H and exact permutation importance: ratios of time.

    python benchmarks/partial_dependence_speed.py curves h
    python benchmarks/partial_dependence_speed.py permutation --sizes small
    python benchmarks/partial_dependence_speed.py woodelf hstats

`curves`: exact partial dependence of all features over every distinct value, beside
woodelf-explainer (where installed) over the same values and scikit-learn's brute
force on a grid of 100. `h`: Friedman's H of all 45 pairs of Friedman 1, and the
conditional standard deviations. `pairs`: Friedman's H of all pairs and in total of
XGBoost, 500 x 20, and the conditional standard deviations of all 1225 pairs of 50
columns, 100 000 rows. `woodelf`: the joint partial dependence of all 190 pairs,
XGBoost, 10 000 x 20, and the partial dependence of all columns, 100 000 x 50, beside
woodelf-explainer on its own points; aims: a ratio of 0.2, a difference of 1e-6 of the
largest value. `log_loss`: exact permutation importance by log loss of an XGBoost
classifier, 500 trees of depth 8, 10 000 x 50, beside its exact sensitivity; aim: 1.3.
`hstats`: Friedman's H of all 21 pairs at all rows, as the R package
hstats computes it, XGBoost, 500 x 7; aim: 0.15 seconds. `permutation`: the exact
squared-error permutation importance over all pairs of row and donor beside
scikit-learn's ten shuffles. Results are compared first; times are the best of several
runs, one process, one thread.
"""

import argparse
import warnings
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
from sklearn.datasets import make_friedman1
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.svm import SVR
from threadpoolctl import threadpool_limits
from timer import best, once

from skvarimp import (
    InteractionImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
)


def row(name, spent, reference):
    """One line of a table; ratios to the reference's times."""
    ratios = f"{spent.wall / reference.wall:8.3f} {spent.cpu / reference.cpu:8.3f}"
    print(f"{name:52s} {spent.wall:9.3f} s {ratios}")


def heading(title):
    """Of a table."""
    print(f"\n{title}\n{'':52s} {'wall':>11s} {'ratio':>8s} {'CPU':>8s}")


def curves(runs, n=1000, p=10):
    """All features' partial dependence, gradient boosting."""
    X, y = make_friedman1(n, n_features=p, noise=1.0, random_state=0)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(p)])
    model = GradientBoostingRegressor(random_state=0).fit(X, y)
    PartialDependenceImportance().fit(model, X[:50])  # compiles, or reads what was

    def brute():
        return [
            partial_dependence(model, X, [j], grid_resolution=100, method="brute")
            for j in range(p)
        ]

    imp, ours = best(runs, PartialDependenceImportance().fit, model, X)
    theirs = once(brute)[1] if n <= 1000 else ours
    heading(f"partial dependence, gradient boosting, 100 trees, {n} x {p}")
    if n <= 1000:
        row("scikit-learn, brute, grid of 100", theirs, theirs)
    row(f"skvarimp, every distinct value, {imp.response_path_}", ours, theirs)
    grid, averages = imp.curves_["x0"]
    some = grid[:: max(1, len(grid) // 100)]
    every = partial_dependence(model, X, [0], custom_values={0: some}, method="brute")
    ours_there = averages[np.isin(grid, some)]
    gap = np.abs(ours_there - every["average"][0]).max()
    print(f"largest difference from brute force over values of x0: {gap:.2g}")
    try:
        from woodelf.pdp import woodelf_fast_pdp
    except ImportError:
        print("woodelf-explainer is not installed: skipped")
        return
    points = frame.apply(np.sort)

    def woodelf():
        return woodelf_fast_pdp(model, points, frame, centered=True, verbose=False)

    found, other = best(runs, woodelf)
    row("woodelf-explainer, the same values", other, theirs)
    row("skvarimp, to woodelf-explainer", ours, other)
    gaps = []
    for name, centred in found.items():
        _, average = imp.curves_[name]
        average, centred = average - average.mean(), centred - centred.mean()
        gaps.append(np.abs(average - centred).max())
    print(f"largest difference between the two, curves centred: {max(gaps):.2g}")


def h(runs):
    """Interactions of all pairs of Friedman 1, gradient boosting, 1000 x 10."""
    X, y = make_friedman1(1000, noise=1.0, random_state=0)
    model = GradientBoostingRegressor(random_state=0).fit(X, y)
    print("\ninteractions of all 45 pairs, gradient boosting, 100 trees, 1000 x 10")
    for statistic in ("h", "conditional_std", "h_overall"):
        imp = InteractionImportance(statistic=statistic)
        fitted, spent = best(runs, imp.fit, model, X)
        print(
            f"{statistic:16s} {spent.wall:7.3f} s, CPU {spent.cpu:7.3f} s, "
            f"{fitted.response_path_}"
        )


def pairs(runs):
    """Interactions of XGBoost's trees: H of a few rows, deciles of many."""
    from xgboost import XGBRegressor

    for n, p, statistics in (
        (500, 20, ("h", "h_total")),
        (100_000, 50, ("conditional_std",)),
    ):
        X, y = make_friedman1(n, p, noise=1.0, random_state=0)
        model = XGBRegressor(n_estimators=100, max_depth=6, n_jobs=1).fit(X, y)
        print(f"\ninteractions, XGBoost, 100 trees of depth 6, {n} x {p}")
        for statistic in statistics:
            fit = partial(InteractionImportance(statistic=statistic).fit, model, X)
            fitted, spent = best(runs, fit)
            path = fitted.response_path_
            print(
                f"{statistic:16s} {spent.wall:7.3f} s, CPU {spent.cpu:7.3f} s, {path}"
            )


def xgboost(n, p, depth=6):
    """100 trees, fitted to Friedman 1, and its rows as a frame."""
    from xgboost import XGBRegressor

    X, y = make_friedman1(n, p, noise=1.0, random_state=0)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(p)])
    return XGBRegressor(n_estimators=100, max_depth=depth, n_jobs=1).fit(X, y), frame


def woodelf(runs):
    """woodelf-explainer's joint and single partial dependence, on the same points."""
    from woodelf.pdp import woodelf_pdp_joint

    model, X = xgboost(10_000, 20)
    pairs = list(combinations(X.columns, 2))
    found, theirs = best(runs, lambda: woodelf_pdp_joint(model, X, k=5, verbose=False))
    surfaces, first, second = found
    grid = {name: np.unique(first[pair]) for pair in pairs for name in pair[:1]}
    grid[X.columns[-1]] = np.unique(second[pairs[-1]])
    joint = PartialDependenceImportance(grid=grid, pairs=pairs)
    _, mine = best(runs, joint.fit, model, X)
    by_value = {pair: np.lexsort([second[pair], first[pair]]) for pair in pairs}
    compared(
        "all 190 pairs, 5 points each, 10 000 x 20",
        mine,
        theirs,
        [joint.surfaces_[pair][2].ravel() for pair in pairs],
        [surfaces[pair][by_value[pair]] for pair in pairs],
    )
    model, X = xgboost(100_000, 50)
    all_alone("100 000 x 50", model, X, runs)


def all_alone(size, model, X, runs):
    """The partial dependence of all columns, on woodelf-explainer's points."""
    from woodelf.pdp import woodelf_pdp

    quiet = {"centered": False, "verbose": False}
    found, theirs = best(runs, lambda: woodelf_pdp(model, X, k=100, **quiet))
    curves, points = found
    alone = PartialDependenceImportance(grid={c: points[c].to_numpy() for c in X})
    _, mine = best(runs, alone.fit, model, X)
    names = [name for name in X if name in curves]  # those that a tree splits on
    compared(
        f"all columns, 100 points each, {size}",
        mine,
        theirs,
        [alone.curves_[name][1] for name in names],
        [curves[name] for name in names],
    )


def compared(name, mine, theirs, values, others):
    """Lines of a table: times, their ratio, and how far the numbers are apart."""
    heading(f"XGBoost, 100 trees of depth 6, {name}")
    row("woodelf-explainer", theirs, theirs)
    row("skvarimp", mine, theirs)
    values, others = np.concatenate(values), np.concatenate(others)
    gap = np.abs(values - others).max() / np.abs(values).max()
    print(f"largest difference: {gap:.1e} of the largest (at most 1e-6)")


def hstats(runs):
    """Friedman's H of all pairs at all rows."""
    model, X = xgboost(500, 7, depth=5)
    imp = InteractionImportance(statistic="h")
    imp.fit(model, X)  # imports aside
    _, spent = best(runs, imp.fit, model, X)
    print("\nFriedman's H of all 21 pairs, XGBoost, 100 trees of depth 5, 500 x 7")
    print(
        f"{spent.wall:.3f} s, CPU {spent.cpu:.3f} s (at most 0.15), "
        f"{imp.response_path_}"
    )


def permutation_problems(sizes):
    """(name, model, n, p) as in the reductions' own benchmark."""
    small = [
        ("random forest, 100 trees", RandomForestRegressor(random_state=0), 1000, 10),
        ("gradient boosting", GradientBoostingRegressor(random_state=0), 20_000, 20),
        ("SVR", SVR(), 2000, 20),
        ("ridge", Ridge(), 5000, 20),
        ("logistic, probabilities", LogisticRegression(), 5000, 20),
        ("perceptron, 100 units", MLPRegressor(max_iter=30, random_state=0), 2000, 20),
    ]
    large = [
        ("random forest, 100 trees", RandomForestRegressor(random_state=0), 5000, 20),
        ("gradient boosting", GradientBoostingRegressor(random_state=0), 100_000, 20),
        (
            "hist gradient boosting",
            HistGradientBoostingRegressor(random_state=0),
            100_000,
            20,
        ),
    ]
    return {"small": small, "large": large, "all": small + large}[sizes]


def permutation(runs, sizes):
    """Exact squared error over all donors against ten shuffles per feature."""
    heading("permutation importance, ratio to scikit-learn's ten shuffles")
    for name, model, n, p in permutation_problems(sizes):
        X, y = make_friedman1(n, n_features=p, noise=1.0, random_state=0)
        if isinstance(model, LogisticRegression):
            y = y > np.median(y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        compare(f"{name}, {n} x {p}", model, X, y, runs)


def compare(name, model, X, y, runs):
    """One line of the table; scikit-learn, the slow one, runs once."""
    brier = isinstance(model, LogisticRegression)
    scoring = "neg_brier_score" if brier else "neg_mean_squared_error"
    exact = PermutationImportance(loss="squared_error", estimation="exact")

    def shuffles():
        return permutation_importance(
            model, X, y, scoring=scoring, n_repeats=10, random_state=0
        )

    _, ours = best(runs, exact.fit, model, X, y)
    found, theirs = once(shuffles)
    drawn = found.importances
    error = np.maximum(drawn.std(axis=1, ddof=1) / np.sqrt(10), 1e-12)
    off = np.max(np.abs(drawn.mean(axis=1) - exact.importances_) / error)
    row(f"{name}, {exact.response_path_}", ours, theirs)
    print(f"    scikit-learn's means within {off:.1f} of their standard errors")


def log_loss(runs):
    """Log loss and sensitivity walk through the same curves."""
    from xgboost import XGBClassifier

    X, y = make_friedman1(10_000, 50, noise=1.0, random_state=0)
    y = (y > np.median(y)).astype(int)
    model = XGBClassifier(n_estimators=500, max_depth=8, n_jobs=1).fit(X, y)
    loss = PermutationImportance(loss="log_loss", estimation="exact")
    sensitivity = SensitivityImportance(estimation="exact")
    loss.fit(model, X[:100], y[:100])  # imports aside
    heading("XGBoost, 500 trees of depth 8, 10 000 x 50, ratio to sensitivity")
    _, reference = best(runs, sensitivity.fit, model, X, y)
    found, spent = best(runs, loss.fit, model, X, y)
    row("sensitivity", reference, reference)
    row(f"permutation by log loss, {found.response_path_}", spent, reference)


def main():
    """Print the tables asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "tables", nargs="*", default=["curves", "h", "permutation"], metavar="TABLE"
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--sizes", choices=["small", "large", "all"], default="all")
    options = parser.parse_args()
    with threadpool_limits(1):
        if "curves" in options.tables:
            curves(options.runs)
            curves(options.runs, 20_000, 20)
        if "h" in options.tables:
            h(options.runs)
        if "pairs" in options.tables:
            pairs(options.runs)
        if "woodelf" in options.tables:
            woodelf(options.runs)
        if "log_loss" in options.tables:
            log_loss(options.runs)
        if "hstats" in options.tables:
            hstats(options.runs)
        if "permutation" in options.tables:
            permutation(options.runs, options.sizes)


if __name__ == "__main__":
    main()
