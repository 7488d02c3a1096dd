"""Four exact importances of tree ensembles against permutation importance.

Pairs, observed, range and partial dependence, with standard errors, over all rows and
donors in one walk (`compare_importances`), against scikit-learn's
`permutation_importance(n_repeats=10, n_jobs=1)` on the same fitted model in the same
process. Equality with the model's own predictions first, then processor and wall time,
the best of a few runs each; memory is the growth of the process's largest size while
ours runs. "2 threads" is the wall time of one job over that of two: on a
machine with two free processors.

    python benchmarks/tree_speed.py [case ...] [--runs 3]
    SKVARIMP_COMPILED=0 python benchmarks/tree_speed.py    # plain NumPy
"""

import argparse
import os
import resource
import subprocess
import sys
import time

import numpy as np
from sklearn import ensemble
from sklearn.datasets import make_friedman1
from sklearn.inspection import permutation_importance

from skvarimp import (
    PartialDependenceImportance,
    SensitivityImportance,
    compare_importances,
)

ONE_THREAD = dict.fromkeys(
    ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1"
)
CASES = {
    "forest 1 000 x 10": (ensemble.RandomForestRegressor, 1_000, 10),
    "forest 5 000 x 20": (ensemble.RandomForestRegressor, 5_000, 20),
    "boosting 20 000 x 20": (ensemble.GradientBoostingRegressor, 20_000, 20),
    "boosting 100 000 x 20": (ensemble.GradientBoostingRegressor, 100_000, 20),
    "hist 100 000 x 20": (ensemble.HistGradientBoostingRegressor, 100_000, 20),
}


def measures(n_jobs=None):
    """What is computed in one walk."""
    exact = {"estimation": "exact", "scale": None, "n_jobs": n_jobs}
    return {
        "pairs": SensitivityImportance(**exact),
        "observed": SensitivityImportance(contrast="observed", **exact),
        "range": SensitivityImportance(contrast="range", **exact),
        "partial dependence": PartialDependenceImportance(n_jobs=n_jobs),
    }


def times(function):
    """(result, processor seconds, wall seconds)."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = function()
    return result, time.process_time() - cpu, time.perf_counter() - wall


def check(model, X, partial_dependence):
    """All four on a few rows against the model as a black box, one curve on all."""
    rows = X[:: len(X) // 60][:60]
    fast = compare_importances({"m": model}, rows, importances=measures())
    slow = compare_importances({"m": model.predict}, rows, importances=measures())
    slow = slow.loc[fast.index]
    np.testing.assert_allclose(fast.to_numpy(), slow.to_numpy(), rtol=1e-9, atol=1e-12)
    for j, (grid, averages) in enumerate(partial_dependence.curves_.values()):
        if j % 7:
            continue
        for k in (0, len(grid) // 2):
            moved = X.copy()
            moved[:, j] = grid[k]
            expected = model.predict(moved).mean()
            np.testing.assert_allclose(averages[k], expected, rtol=1e-9)


def largest():
    """Largest size of this process so far, in MB (Linux counts in kB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run_case(name, runs):
    """Print one row of the table."""
    kind, n, p = CASES[name]
    X, y = make_friedman1(n, p, noise=1.0, random_state=0)
    model = kind(random_state=0).fit(X, y)
    ours, threads, rival = [], [], []
    before = largest()
    for _ in range(runs):
        found, *spent = times(
            lambda: compare_importances({"m": model}, X, importances=measures())
        )
        ours.append(spent)
    extra = largest() - before
    fitted = found.fitted["m/partial dependence"]
    assert fitted.response_path_.startswith("trees")
    for _ in range(runs):
        _, *spent = times(
            lambda: compare_importances({"m": model}, X, importances=measures(2))
        )
        threads.append(spent[1])
    check(model, X, fitted)
    for _ in range(max(1, runs // 2)):
        _, *spent = times(
            lambda: permutation_importance(model, X, y, n_repeats=10, n_jobs=1)
        )
        rival.append(spent)
    (cpu, wall), (rival_cpu, rival_wall) = np.min(ours, axis=0), np.min(rival, axis=0)
    print(
        f"{name:24s} {cpu:8.2f} {wall:8.2f} {rival_cpu:10.2f} {rival_wall:10.2f} "
        f"{cpu / rival_cpu:8.3f} {wall / rival_wall:8.3f} {wall / min(threads):9.2f} "
        f"{extra:8.0f}  {fitted.response_path_}",
        flush=True,
    )


def main():
    """Run each case in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--alone", action="store_true", help="in this process")
    arguments = parser.parse_args()
    if arguments.alone:
        run_case(arguments.cases[0], arguments.runs)
        return
    print(
        f"{'seconds':24s} {'cpu':>8s} {'wall':>8s} {'rival cpu':>10s} "
        f"{'rival wall':>10s} {'ratio':>8s} {'of wall':>8s} {'2 threads':>9s} "
        f"{'MB more':>8s}",
        flush=True,
    )
    for case in arguments.cases:
        command = [sys.executable, __file__, case, "--alone"]
        command += ["--runs", str(arguments.runs)]
        subprocess.run(command, check=True, env={**os.environ, **ONE_THREAD})


if __name__ == "__main__":
    main()
