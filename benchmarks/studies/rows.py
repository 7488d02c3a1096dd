"""Intervals, rank intervals and tests of differences, from the numbers of single rows.

Models are fitted once and held fixed. The truth is the mean importance of 200 further
samples of 2000 rows, freed of the self-pairs.
"""

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

from skvarimp import (
    PermutationImportance,
    SensitivityImportance,
    importance_difference,
    rank_intervals,
)
from studies.table import ends

TRUTH_ROWS, TRUTH_PARTS = 400_000, 200


def normal(n, random):
    """Independent standard normal columns."""
    return random.normal(size=(n, 5))


def lognormal(n, random):
    """Independent lognormal columns, sigma 1."""
    return np.exp(normal(n, random))


def bernoulli(n, random):
    """The first column 1 in a tenth of the rows."""
    X = normal(n, random)
    X[:, 0] = random.random(n) < 0.1
    return X


def correlated(n, random):
    """Normal columns with correlation 0.7 between neighbours."""
    X = normal(n, random)
    for j in range(1, 5):
        X[:, j] = 0.7 * X[:, j - 1] + 0.51**0.5 * X[:, j]
    return X


def product(X):
    """A linear model with one product term."""
    return X[:, 0] + X[:, 1] + 0.5 * X[:, 2] + 0.5 * X[:, 0] * X[:, 1]


def near_ties(X):
    """Slopes that are nearly equal."""
    return X @ np.array([1.0, 0.98, 0.96, 0.5, 0.0])


def outcome(f, X, random):
    """The response with noise of standard deviation 1."""
    return f(X) + random.normal(size=len(X))


def tree_model(model, columns):
    """A model fitted to 1000 rows."""
    random = np.random.default_rng(7)
    X = columns(1000, random)
    return model.fit(X, outcome(product, X, random)).predict


def problems():
    """Name -> (model, distribution of the columns)."""
    forest = RandomForestRegressor(50, min_samples_leaf=5, random_state=0)
    boosting = HistGradientBoostingRegressor(max_iter=50, random_state=0)
    return {
        "linear, near ties": (near_ties, normal),
        "forest": (tree_model(forest, normal), normal),
        "boosting, correlated": (tree_model(boosting, correlated), correlated),
    }


def bound(f):
    """The estimator behind a bound `predict`, or the function."""
    return getattr(f, "__self__", f)


def measures():
    """Name -> measure with rows kept."""
    return {
        "pairs": SensitivityImportance(scale=None, keep_rows=True),
        "observed": SensitivityImportance(
            contrast="observed", scale=None, keep_rows=True
        ),
        "permutation": PermutationImportance(loss="squared_error", keep_rows=True),
    }


def truth(measure, f, columns):
    """Importances on many rows."""
    random = np.random.default_rng(99)
    parts, n = [], TRUTH_ROWS // TRUTH_PARTS
    for _ in range(TRUTH_PARTS):
        X = columns(n, random)
        parts.append(measure.fit(bound(f), X, outcome(product, X, random)).importances_)
    return np.mean(parts, axis=0) * n / (n - 1)


def intervals(samples=1000):
    """Coverage of plain and of skewness-corrected 95% intervals of the first column."""
    print("columns      measure       n   plain  interval()")
    for columns in (normal, lognormal, bernoulli):
        for name, measure in measures().items():
            true = truth(measure, product, columns)[0]
            for n in (50, 200, 1000):
                plain = corrected = 0
                for draw in range(samples):
                    random = np.random.default_rng(draw)
                    X = columns(n, random)
                    fit = measure.fit(product, X, outcome(product, X, random))
                    error = 1.96 * fit.standard_errors_[0]
                    plain += abs(fit.importances_[0] - true) <= error
                    row = fit.interval()
                    row = row[row["feature"] == "x0"].iloc[0]
                    corrected += row["lower"] <= true <= row["upper"]
                print(
                    f"{columns.__name__:12} {name:12} {n:4}  {plain / samples:.3f}  "
                    f"{corrected / samples:.3f}",
                    flush=True,
                )


def ranks(samples=1000):
    """Share of samples with all ranks inside, and with all intervals right at once."""
    print("problem                 measure       n   ranks  intervals  mean width")
    for problem, (f, columns) in problems().items():
        for name in ("pairs", "permutation"):
            measure = measures()[name]
            true = truth(measure, f, columns)
            for n in (200, 1000):
                inside = covered = width = 0
                for draw in range(samples):
                    random = np.random.default_rng(draw)
                    X = columns(n, random)
                    measure.fit(bound(f), X, outcome(product, X, random))
                    table = rank_intervals(measure).to_frame().sort_values("feature")
                    low, high = table["lowest_rank"], table["highest_rank"]
                    # equal importances share their ranks
                    larger = (true[:, None] < true - 1e-12).sum(axis=1)
                    smaller = (true[:, None] > true + 1e-12).sum(axis=1)
                    first, last = 1 + larger, len(true) - smaller
                    inside += np.all((low <= first) & (last <= high))
                    ends = table["lower"] <= true, true <= table["upper"]
                    covered += np.all(ends[0] & ends[1])
                    width += np.mean(high - low)
                print(
                    f"{problem:23} {name:12} {n:4}  {inside / samples:.3f}  "
                    f"{covered / samples:.3f}      {width / samples:.2f}",
                    flush=True,
                )


def differences(samples=1000):
    """Level with equal importances, power with a true difference of 4 errors."""
    print("n     level  power")
    measure, other = (measures()["observed"] for _ in range(2))
    for n in (200, 1000):
        # two models with equal importance of x0 that are no copies of each other
        def first(X):
            return X[:, 0] * (1 + 0.5 * np.sign(X[:, 1]))

        def second(X):
            return X[:, 0] * (1 + 0.5 * np.sign(X[:, 2]))

        # the error of a ratio of slopes grows with the slope: find 4 errors once
        some = normal(2000, np.random.default_rng(5))
        reference = measure.fit(first, some).influences_[:, 0]
        reference = reference - other.fit(second, some).influences_[:, 0]
        error = np.sqrt(np.mean(reference**2) / n)
        slope = 1.0 + 4.0 * error / measure.importances_[0]

        def third(X, slope=slope):
            return slope * X[:, 0] * (1 + 0.5 * np.sign(X[:, 1]))

        level = power = 0
        for draw in range(samples):
            X = normal(n, np.random.default_rng(draw))
            measure.fit(first, X)
            other.fit(second, X)
            table = importance_difference(measure, other).to_frame()
            level += table[table["feature"] == "x0"]["p_value"].iloc[0] <= 0.05
            measure.fit(third, X)
            table = importance_difference(measure, other).to_frame()
            power += table[table["feature"] == "x0"]["p_value"].iloc[0] <= 0.05
        print(f"{n:4}  {level / samples:.3f}  {power / samples:.3f}", flush=True)


def alike(values):
    """Five rows a group with correlation 0.5, from six independent rows a group."""
    n_groups = len(values) // 6
    shared, own = values[:n_groups], values[n_groups:]
    return np.sqrt(0.5) * (np.repeat(shared, 5, axis=0) + own)


def groups(samples=500, n_groups=60):
    """Coverage of 95% intervals where rows of a group are alike, five in each."""
    print("measure       feature  with groups  without")
    labels = np.repeat(np.arange(n_groups), 5)
    for name in ("pairs", "permutation"):
        measure = measures()[name]
        true, covered = truth(measure, product, normal), np.zeros((2, 5))
        for draw in range(samples):
            random = np.random.default_rng(draw)
            X = alike(random.normal(size=(6 * n_groups, 5)))
            y = product(X) + alike(random.normal(size=6 * n_groups))
            for k, given in enumerate((labels, None)):
                measure.fit(product, X, y, groups=given)
                lower, upper = ends(measure)
                covered[k] += (lower <= true) & (true <= upper)
        shares = np.column_stack([covered[:, :3], covered[:, :3].mean(axis=1)])
        for feature, share in zip(("x0", "x1", "x2", "mean"), shares.T / samples):
            line = f"{name:12}  {feature:5}  {share[0]:.3f}        {share[1]:.3f}"
            print(line, flush=True)


STUDIES = [intervals, ranks, differences, groups]
