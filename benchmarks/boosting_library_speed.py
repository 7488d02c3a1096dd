"""Four exact importances of XGBoost, LightGBM and CatBoost models.

Pairs, observed, range and partial dependence, with standard errors, over all rows and
donors in one walk (`compare_importances`), against scikit-learn's
`permutation_importance(n_repeats=10, n_jobs=1)` on the same fitted model in the same
process, all of it on one thread. Equality with the model's own predictions first (to
XGBoost's single precision), then processor time, the best of a few runs each, without
the compilation of kernels. Libraries that are not installed are left out.

    python benchmarks/boosting_library_speed.py [library ...] [--runs 3] [--rows 20000]
"""

import argparse
import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.inspection import permutation_importance
from tree_speed import ONE_THREAD, measures, times

from skvarimp import compare_importances

TREES = 100
# relative to each importance and to the largest one
TOLERANCES = {"xgboost": (1e-4, 1e-5), "lightgbm": (1e-9, 1e-12)}
TOLERANCES["catboost"] = TOLERANCES["lightgbm"]


def unfitted(library):
    """A model of a library on one thread, with its own defaults and 100 trees."""
    if library == "xgboost":
        from xgboost import XGBRegressor

        return XGBRegressor(n_estimators=TREES, n_jobs=1, random_state=0)
    if library == "lightgbm":
        from lightgbm import LGBMRegressor

        return LGBMRegressor(n_estimators=TREES, n_jobs=1, random_state=0, verbose=-1)
    from catboost import CatBoostRegressor

    return CatBoostRegressor(
        iterations=TREES,
        thread_count=1,
        random_seed=0,
        verbose=0,
        allow_writing_files=False,
    )


def check(library, model, X, partial_dependence):
    """All four on a few rows against the model as a black box, one curve on all."""
    rtol, atol = TOLERANCES[library]
    rows = X[:: len(X) // 60][:60]
    fast = compare_importances({"m": model}, rows, importances=measures())
    slow = compare_importances({"m": model.predict}, rows, importances=measures())
    slow = slow.loc[fast.index, list(fast.fitted)].to_numpy()
    fast = fast[list(fast.fitted)].to_numpy()
    np.testing.assert_allclose(fast, slow, rtol=rtol, atol=atol * np.abs(slow).max())
    grid, averages = next(iter(partial_dependence.curves_.values()))
    for k in (0, len(grid) // 2):
        moved = X.copy()
        moved[:, 0] = grid[k]
        expected = model.predict(moved).astype(float).mean()
        np.testing.assert_allclose(averages[k], expected, rtol=rtol)


def run_library(library, n_rows, runs):
    """Print one row of the table."""
    X, y = make_friedman1(n_rows, 20, noise=1.0, random_state=0)
    model = unfitted(library).fit(X, y)

    def ours():
        return compare_importances({"m": model}, X, importances=measures())

    found = ours()
    fitted = found.fitted["m/partial dependence"]
    assert fitted.response_path_.startswith("trees"), fitted.response_path_
    check(library, model, X, fitted)
    own = min(times(ours)[1] for _ in range(runs))
    rival = min(
        times(lambda: permutation_importance(model, X, y, n_repeats=10, n_jobs=1))[1]
        for _ in range(max(1, runs // 2))
    )
    print(
        f"{library:12s} {fitted.response_path_:18s} {own:8.2f} {rival:10.2f} "
        f"{own / rival:8.2f}",
        flush=True,
    )


def main():
    """Run each library in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("libraries", nargs="*", default=list(TOLERANCES))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--alone", action="store_true", help="in this process")
    arguments = parser.parse_args()
    if arguments.alone:
        run_library(arguments.libraries[0], arguments.rows, arguments.runs)
        return
    print(
        f"{'cpu seconds':12s} {'path':18s} {'ours':>8s} {'rival':>10s} {'ratio':>8s}",
        flush=True,
    )
    for library in arguments.libraries:
        if find_spec(library) is None:
            print(f"{library:12s} is not installed", flush=True)
            continue
        command = [sys.executable, __file__, library, "--alone"]
        command += ["--runs", str(arguments.runs), "--rows", str(arguments.rows)]
        subprocess.run(command, check=True, env={**os.environ, **ONE_THREAD})


if __name__ == "__main__":
    main()
