"""Shapley importance beside sage-importance and hidimstat.

    python benchmarks/shapley_speed.py [problem ...]

sage-importance has the same estimand, by random orders of the columns and 512 rows as
background. Its error is measured against the exact values over all rows, after some
orders and after four times as many. What it would need for our error is not measured:
it follows from its longer run and error ~ 1 / CPU^(1/2), which favours it, since a
background of some rows has an error that orders do not lower. hidimstat's PFI averages
losses of shuffled columns, which is another estimand: only its time is shown.
"""

import sys
import warnings

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import Ridge
from timer import once

from skvarimp import ShapleyImportance

PROBLEMS = {  # model, rows, how many orders sage draws
    "ridge": (Ridge(), 5_000, 512),
    "depth 3": (GradientBoostingRegressor(random_state=0), 20_000, 128),
    "depth 6": (GradientBoostingRegressor(max_depth=6, random_state=0), 5_000, 128),
}
BACKGROUND = 512


def data(n_rows, n_columns=20):
    """Main effects, interactions of two and three columns, and noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] ** 2 * (X[:, 4] > 0)
    return X, y + 0.3 * X[:, 5:10].sum(axis=1) + 0.5 * rng.normal(size=n_rows)


def by_sage(model, X, y, n_orders):
    """SAGE values as shares of the variance of y."""
    import sage

    some = np.random.default_rng(0).choice(len(X), BACKGROUND, replace=False)
    imputer = sage.MarginalImputer(model.predict, X[some])
    estimator = sage.PermutationEstimator(imputer, "mse", random_state=0)
    how = {"detect_convergence": False, "n_permutations": n_orders, "bar": False}
    values = estimator(X, y, batch_size=64, verbose=False, **how).values
    return values / y.var()


def by_hidimstat(model, X, y):
    """Permutation importance of ten shuffles."""
    from hidimstat import PFI
    from sklearn.metrics import mean_squared_error

    measure = PFI(model, loss=mean_squared_error, n_permutations=10, random_state=0)
    measure.fit(X, y)
    return measure.importance(X, y)


def compare(name):
    """Print one table, of CPU seconds."""
    model, n_rows, n_orders = PROBLEMS[name]
    X, y = data(n_rows)
    model.fit(X, y)
    how = {"loss": "squared_error", "random_state": 0}
    ShapleyImportance(**how).fit(model, X[:100], y[:100])  # imports
    exact, timing = once(ShapleyImportance(estimation="exact", **how).fit, model, X, y)
    largest = exact.importances_.max()
    print(f"{name}, {n_rows} x {X.shape[1]}, R2 {exact.total_:.3f}")
    print(f"  exact                        {timing.cpu:9.2f} s", flush=True)

    def error_of(values):
        return np.sqrt(np.mean((values - exact.importances_) ** 2)) / largest

    for n_repeats in () if name == "ridge" else (2, 10):
        drawn = ShapleyImportance(estimation="sampled", n_repeats=n_repeats, **how)
        drawn, ours = once(drawn.fit, model, X, y)
        error = error_of(drawn.importances_)
        print(
            f"  drawn, {n_repeats:3d} repeats           {ours.cpu:9.2f} s, error "
            f"{error:.5f} of the largest, by itself "
            f"{drawn.monte_carlo_errors_.max() / largest:.5f}",
            flush=True,
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        errors = []
        for n in (n_orders, 4 * n_orders):
            values, of_sage = once(by_sage, model, X, y, n)
            errors.append(error_of(values))
            print(
                f"  sage, {n:4d} orders            {of_sage.cpu:9.2f} s, error "
                f"{errors[-1]:.5f} of the largest",
                flush=True,
            )
        if errors[1] > 0.9 * errors[0]:
            print("  sage: what is left is the error of its background")
        elif name != "ridge":
            ratio = of_sage.cpu * (errors[1] / error) ** 2 / ours.cpu
            print(f"  sage at the error of the last drawn: {ratio:.0f} times its CPU")
        _, of_shuffles = once(by_hidimstat, model, X, y)
        print(f"  hidimstat PFI, another estimand {of_shuffles.cpu:6.2f} s", flush=True)


if __name__ == "__main__":
    for name in sys.argv[1:] or PROBLEMS:
        compare(name)
