"""Coverage of the 95% intervals that `interval()` gives, one study per measure."""

from itertools import product

import numpy as np
from scipy.stats import norm
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVR

from skvarimp import (
    FIRMImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    SobolImportance,
    leave_out_importances,
)
from skvarimp._data.table import ArrayTable, Feature
from skvarimp._measures.out_of_bag import OutOfBag
from skvarimp._measures.response_importance import Plan
from skvarimp._results.intervals import interval_ends
from skvarimp.feature_functions import Conjunction, Step
from studies.table import HEAD, Coverage

N_ROWS = 200


# FIRM: fixed scores on correlated normal columns. The population value is that of many
# rows, of the same estimator (the same number of bins).
def correlated(n, random):
    """Three normal columns, the first two with correlation 0.7."""
    X = random.standard_normal((n, 3))
    X[:, 1] = 0.7 * X[:, 0] + np.sqrt(0.51) * X[:, 1]
    return X


def curved(X):
    """A score with a light tail."""
    return np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.3 * X[:, 1]


def heavy(X):
    """A score with a heavy tail."""
    return np.sin(X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.5 * X[:, 0] * X[:, 2]


def rounded(X):
    """A feature of five values."""
    return np.clip(np.round(X[:, 0]), -2, 2)


FIRM_CASES = {
    "linear score, linear": ("linear", {"method": "linear"}),
    "linear score, gaussian": ("linear", {"method": "gaussian"}),
    "curved score, linear": ("curved", {"method": "linear"}),
    "curved score, linear, a group of two": (
        "curved",
        {"method": "linear", "features": [[0, 2]]},
    ),
    "curved score, binary": (
        "curved",
        {"method": "binary", "feature_functions": [Step(0, 0.3), Conjunction(0, 1)]},
    ),
    "curved score, means of five values": (
        "curved",
        {"method": "conditional_mean", "feature_functions": [rounded]},
    ),
    "curved score, means of ten bins": (
        "curved",
        {"method": "conditional_mean", "n_bins": 10},
    ),
    "SVR, gaussian": ("machine", {"method": "gaussian"}),
    "linear score, linear, standardised": (
        "linear",
        {"method": "linear", "standardize": True},
    ),
    "curved score, linear, standardised": (
        "curved",
        {"method": "linear", "standardize": True},
    ),
    "heavy-tailed score, linear": ("heavy", {"method": "linear"}),
    "heavy-tailed score, linear, standardised": (
        "heavy",
        {"method": "linear", "standardize": True},
    ),
}


def firm(samples=1000):
    """FIRM with each method on 200 rows."""
    random = np.random.default_rng(0)
    X = correlated(300, random)
    scores = {
        "linear": LinearRegression().fit(X, X @ [1.0, 0.5, -0.3]),
        "machine": SVR(C=3.0).fit(X, curved(X)),
        "curved": curved,
        "heavy": heavy,
    }
    print(HEAD)
    for name, (score, parameters) in FIRM_CASES.items():
        imp = FIRMImportance(**parameters)
        n = 20_000 if parameters["method"] == "gaussian" else 400_000
        imp.fit(scores[score], correlated(n, np.random.default_rng(1)))
        found = Coverage(imp.importances_)
        for seed in range(samples):
            rows = correlated(N_ROWS, np.random.default_rng(1000 + seed))
            found.add_fitted(imp.fit(scores[score], rows))
        found.report(name)


# Partial dependence and permutation: two inputs of mean 0 and variance 1.
GRID = np.array([-1.0, 0.0, 1.0, 2.0])


def additive(X):
    """A fixed model without interaction."""
    return X[:, 0] + 0.5 * X[:, 1]


def interacting(X):
    """A fixed model with an interaction."""
    return X[:, 0] * (1 + X[:, 1])


def shifted(X):
    """(x0 + 1) (1 + x1): both mean curves have slope 1, single ones |1 + z|."""
    return (X[:, 0] + 1) * (1 + X[:, 1])


def two_columns(seed, n=N_ROWS, f=interacting, law="normal"):
    """Rows, and y with the model's error and noise."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, 2))
    if law == "uniform":
        X = np.sqrt(12) * (random.random((n, 2)) - 0.5)
    return X, f(X) + 0.5 * X[:, 0] + random.standard_normal(n)


def partial_dependence(samples=1000):
    """Partial dependence on a fixed grid."""
    print(HEAD)
    for kind, slope in (("average", 1.0), ("individual", 1.1666303535)):  # E|1 + z|
        for statistic, flat in (("std", GRID.std(ddof=1)), ("range", np.ptp(GRID))):
            imp = PartialDependenceImportance(grid=GRID, statistic=statistic, kind=kind)
            found = Coverage(flat * slope)
            for seed in range(samples):
                found.add_fitted(imp.fit(shifted, two_columns(seed)[0]))
            found.report(f"{kind}, {statistic}")


# With d = f moved - f, the gain is E d^2 - 2 E d (y - f). y - f = 0.5 x0 + e, so that
# the mean unmoved loss is 1.25. Additive: 2 + 1 and 0.5. Interacting: E d^2 = 2 E (1 +
# x1)^2 = 4 and -2 E d (y - f) = E (1 + x1) x0^2 = 1 for x0; 2 E x0^2 = 2 for x1.
# Squares of products of normal inputs have heavy tails; uniform ones have none.
GAINS = [
    (additive, "normal", np.array([3.0, 0.5])),
    (interacting, "uniform", np.array([5.0, 2.0])),
    (interacting, "normal", np.array([5.0, 2.0])),
]


def permutation(samples=1000):
    """Permutation importance as difference and ratio, exact and sampled."""
    print(HEAD)
    for (f, law, gains), relative, estimation in product(
        GAINS, (False, True), ("exact", "sampled")
    ):
        found = Coverage(1 + gains / 1.25 if relative else gains)
        for seed in range(samples):
            imp = PermutationImportance(
                relative=relative, estimation=estimation, random_state=seed
            )
            found.add_fitted(imp.fit(f, *two_columns(seed, f=f, law=law)))
        kind = "ratio" if relative else "difference"
        found.report(f"{f.__name__}, {law}, {kind}, {estimation}")


def out_of_bag(samples=1000):
    """Out-of-bag permutation importance, with trees and roles of the rows fixed."""
    X, y = two_columns(10**6)
    forest = RandomForestRegressor(20, max_depth=4, random_state=0).fit(X, y)
    everything = np.arange(len(X))
    outside = [np.setdiff1d(everything, drawn) for drawn in forest.estimators_samples_]
    features = [Feature("x0", (0,)), Feature("x1", (1,))]
    measure = PermutationImportance(n_jobs=1)

    def outcome(X, y, rows):
        table, ones = ArrayTable(X), np.ones(len(X))
        trees = OutOfBag(forest.estimators_, rows, table, y, ones, "auto", "auto")
        return trees.outcome(Plan(None, features), measure)

    many = two_columns(10**7, 20_000)
    population = outcome(*many, [np.arange(20_000)] * 20).importances[:, 0]
    found = Coverage(population)
    for seed in range(samples):
        result = outcome(*two_columns(seed), outside)
        values, errors = result.importances[:, 0], result.standard_errors
        bounds = interval_ends(values, errors, result.skewness, 0.0, N_ROWS - 1, 0.95)
        found.add(values, errors, bounds)
    print(HEAD)
    found.report("out of bag, trees fixed")


def sensitivity(samples=1000):
    """Pairs and observed of x0 (1 + x1), whose importances are known."""
    # E|x0' - x0''| = 2 / sqrt(pi), times E|1 + x1|; E|x1' - x1''| E|x0| for x1
    means = [2 * norm.pdf(1) + 2 * norm.cdf(1) - 1, np.sqrt(2 / np.pi)]
    print(HEAD)
    for contrast in ("pairs", "observed"):
        imp = SensitivityImportance(contrast=contrast, scale=None)
        found = Coverage(2 / np.sqrt(np.pi) * np.array(means))
        for seed in range(samples):
            X = np.random.default_rng(seed).standard_normal((N_ROWS, 2))
            found.add_fitted(imp.fit(interacting, X))
        found.report(contrast)


# Sobol' indices: three functions of independent inputs with known indices.
G = np.array([0.0, 1.0, 4.5, 9.0, 99.0])
SLOPES = np.array([1.0, 2.0, 3.0])


def ishigami(X):
    """sin x0 + 7 sin^2 x1 + 0.1 x2^4 sin x0, inputs uniform between -pi and pi."""
    return np.sin(X[:, 0]) * (1 + 0.1 * X[:, 2] ** 4) + 7 * np.sin(X[:, 1]) ** 2


def g_function(X):
    """Product of (|4 x - 2| + a) / (1 + a), inputs uniform between 0 and 1."""
    return np.prod((np.abs(4 * X - 2) + G) / (1 + G), axis=1)


def linear(X):
    """Sum of slopes times standard normal inputs."""
    return X @ SLOPES


def ishigami_indices():
    """First-order and total indices (Ishigami and Homma 1990)."""
    first = 0.5 * (1 + 0.1 * np.pi**4 / 5) ** 2
    second = 49 / 8
    both = 0.01 * np.pi**8 * (1 / 18 - 1 / 50)
    first_order, total = [first, second, 0.0], [first + both, second, both]
    return np.array([first_order, total]) / (first + second + both)


def g_indices():
    """First-order and total indices (Sobol' 1993)."""
    parts = 1 / (3 * (1 + G) ** 2)
    all_together = np.prod(1 + parts)
    first = parts / (all_together - 1)
    return first, parts / (1 + parts) * all_together / (all_together - 1)


def linear_indices():
    """Both are the share of the squared slopes."""
    shares = SLOPES**2 / np.sum(SLOPES**2)
    return shares, shares


SOBOL_CASES = {
    "Ishigami": (
        ishigami,
        lambda random, n: random.uniform(-np.pi, np.pi, (n, 3)),
        ishigami_indices,
    ),
    "Sobol' g": (g_function, lambda random, n: random.random((n, 5)), g_indices),
    "linear": (linear, lambda random, n: random.normal(size=(n, 3)), linear_indices),
}


def sobol(samples=1000, rows=500):
    """First-order and total Sobol' indices; an index of 0 is a squared estimate."""
    print(HEAD)
    for name, (f, draw, indices) in SOBOL_CASES.items():
        for order, truth in zip(("first", "total"), indices()):
            found = Coverage(truth)
            for seed in range(samples):
                X = draw(np.random.default_rng(seed), rows)
                found.add_fitted(SobolImportance(order=order).fit(f, X))
            found.report(f"{name}, {order}")


# Leave out: correlated normal columns, a linear response with noise of variance 1.
# Leaving out column j raises the residual variance by b_j^2 Var(x_j given the others).
COEFFICIENTS = np.array([1.0, 0.5, 0.25, 0.1, 0.0, 0.0])


def linear_sample(seed, n, correlation):
    """Rows, response and the true importances."""
    random = np.random.default_rng(seed)
    p = len(COEFFICIENTS)
    covariance = np.full((p, p), correlation) + (1 - correlation) * np.eye(p)
    X = random.standard_normal((n, p)) @ np.linalg.cholesky(covariance).T
    y = X @ COEFFICIENTS + random.standard_normal(n)
    return X, y, COEFFICIENTS**2 / np.diag(np.linalg.inv(covariance))


def refitted(estimator, samples, n, correlation=0.3, known=True, **options):
    """Print a table of one estimator's leave-out importances."""
    found = Coverage()
    for seed in range(samples):
        X, y, truth = linear_sample(seed, n, correlation)
        one = leave_out_importances(estimator, X, y, **options)
        found.add(one.importances, one.standard_errors, ends_of(one), one.pvalues())
    found.truth = truth if known else None
    found.report(f"{estimator}, n = {n}, correlation {correlation} {options or ''}")


def ends_of(result):
    """Ends of the intervals of a `LeaveOutResult`, in order of features."""
    table = result.interval().sort_values("feature")
    return table["lower"].to_numpy(float), table["upper"].to_numpy(float)


def leave_out(samples=500, refits=100):
    """Leave-out importance: intervals and p-values, closed form and refits."""
    print(HEAD)
    for n in (100, 200, 500):
        refitted(LinearRegression(), samples, n)
    refitted(LinearRegression(), samples, 200, cv=10)
    refitted(LinearRegression(), samples, 200, correlation=0.7)
    refitted(Ridge(1.0), samples, 200)
    # the truth of the others is the mean of the estimates
    refitted(KNeighborsRegressor(10), refits, 200, known=False)
    forest = RandomForestRegressor(20, random_state=0)
    refitted(forest, refits // 4, 200, known=False, cv=3)


STUDIES = [firm, partial_dependence, permutation, out_of_bag, sensitivity, sobol]
STUDIES += [leave_out]
