"""Many rows and columns: woodelf-explainer beside us, two workers beside one.

    python benchmarks/run.py --only Large
    python benchmarks/large.py memory    # on Linux; aim: at most 1.5 X + 300 MB
    python benchmarks/large.py deep

XGBoost, 100 trees of depth 6, 300 000 x 127, of which a third of the columns are
rounded to one decimal and a seventh are small counts: the partial dependence of all
columns at the points of woodelf-explainer (aim: half of its time, at most three times
the memory of X), and the exact mean distance of moved and unmoved response. Then the
four measures of `run.py` for a forest and for boosting. Aim: two workers are 1.7 times
as fast as one.

`memory`: what a fit of each of the large problems holds at most beside X and the model.
`deep`: the exact sensitivity of LightGBM, 100 trees of depth 12, 118 000 x 397.
"""

import argparse
import ctypes
import tracemalloc
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from problems import PROBLEMS
from threadpoolctl import threadpool_limits
from timer import best, once, timed

from skvarimp import PartialDependenceImportance, SensitivityImportance

TITLE = "Large data, one worker and two"
HEADER = (
    "Model",
    "Size",
    "Computation",
    "Seconds",
    "Rival, seconds",
    "Ours / rival",
    "Two workers: times as fast",
    "Extra memory / X",
)
RUNS = 2
TWO_WORKERS = [
    ("forest, 100 trees", 5000, 20),
    ("boosting, 100 trees", 100_000, 20),
]


def wide_problem(n=300_000, p=127):
    """XGBoost and its X, a frame."""
    from xgboost import XGBRegressor

    random = np.random.default_rng(0)
    X = random.normal(size=(n, p))
    X[:, ::3] = np.round(X[:, ::3], 1)
    X[:, 1::7] = random.poisson(3.0, size=X[:, 1::7].shape)
    linear = X[:, 5:40] @ random.normal(size=35)
    y = X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + 0.3 * linear + random.normal(size=n)
    model = XGBRegressor(n_estimators=100, max_depth=6, n_jobs=1).fit(X, y)
    return model, pd.DataFrame(X, columns=[f"x{j}" for j in range(p)])


def beside_rival(model, X):
    """All columns' partial dependence at a hundred points each: cells of a row."""
    from woodelf.pdp import woodelf_pdp

    quiet = {"centered": False, "verbose": False}
    (curves, points), theirs = once(lambda: woodelf_pdp(model, X, k=100, **quiet))
    alone = PartialDependenceImportance(grid={c: points[c].to_numpy() for c in X})
    alone.fit(model, X[:100])  # imports and caches aside
    _, one = best(RUNS, alone.fit, model, X)
    names = [name for name in X if name in curves]  # those that a tree splits on
    values = np.concatenate([alone.curves_[name][1] for name in names])
    gaps = np.abs(values - np.concatenate([curves[name] for name in names]))
    if not gaps.max() <= 1e-6 * np.abs(values).max():
        raise ValueError(f"Curves differ by {gaps.max():.2g}.")
    _, two = best(RUNS, alone.set_params(n_jobs=2).fit, model, X)
    tracemalloc.start()
    alone.set_params(n_jobs=1).fit(model, X)
    memory = tracemalloc.get_traced_memory()[1] / X.to_numpy().nbytes
    tracemalloc.stop()
    rival = str(theirs), one.to(theirs)
    return str(one), *rival, f"{one.wall / two.wall:.3g}", f"{memory:.2g}"


def two_workers(function, *arguments):
    """function(*arguments, n_jobs) without a rival: cells of a row."""
    _, one = timed(function, *arguments, 1)
    _, two = timed(function, *arguments, 2)
    return str(one), "", "", f"{one.wall / two.wall:.3g}", ""


def observed(model, X, n_jobs):
    """The exact mean distance of moved and unmoved response."""
    how = {"contrast": "observed", "estimation": "exact", "scale": None}
    return SensitivityImportance(**how, n_jobs=n_jobs).fit(model, X)


def large_rows(four):
    """Yield a row of the table and its `Timing`.

    Parameters
    ----------
    four : callable
        four(model, X, y, n_jobs) computes the four measures of `run.py`.
    """
    if find_spec("xgboost") and find_spec("woodelf"):
        model, X = wide_problem()
        name = "XGBoost, 100 trees of depth 6", f"{len(X)} x {X.shape[1]}"
        cells, spent = once(beside_rival, model, X)
        yield (*name, "partial dependence, 100 points", *cells), spent
        cells, spent = once(two_workers, observed, model, X)
        yield (*name, "observed", *cells), spent
    for problem in PROBLEMS:
        if (problem.name, problem.n, problem.p) in TWO_WORKERS:
            cells, spent = once(two_workers, four, *problem.fitted())
            name = problem.name, f"{problem.n} x {problem.p}"
            yield (*name, "four measures", *cells), spent


def deep_problem(n=118_000, p=397):
    """LightGBM and its X: deep trees, many columns, some of them counts."""
    from lightgbm import LGBMRegressor

    random = np.random.default_rng(0)
    X = random.normal(size=(n, p))
    X[:, ::4] = random.poisson(3.0, size=X[:, ::4].shape)
    y = X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + 0.3 * X[:, 3:60].sum(axis=1)
    y += X[:, 60] * X[:, 61] + random.normal(size=n)
    model = LGBMRegressor(
        n_estimators=100, max_depth=12, num_leaves=256, n_jobs=1, verbose=-1
    )
    model.fit(X[:30_000], y[:30_000])
    return model, pd.DataFrame(X, columns=[f"x{j}" for j in range(p)])


def deep():
    """Exact sensitivity of deep trees."""
    model, X = deep_problem()
    measure = SensitivityImportance(scale=None, estimation="exact")
    measure.fit(model, X[:100])  # imports aside
    fitted, spent = once(measure.fit, model, X)
    depth = model.booster_.trees_to_dataframe()["node_depth"].max() - 1
    print(f"sensitivity, depth {depth}, {fitted.response_path_}: {spent} s")


def held(function, *arguments):
    """MB that a call holds at most beside what was held before, and its seconds."""
    ctypes.CDLL(None).malloc_trim(0)  # what earlier calls left behind
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts from here
    before = _resident("VmRSS")
    _, spent = once(function, *arguments)
    return _resident("VmHWM") - before, spent


def _resident(name):
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{name}:")[1].split()[0]) / 1e3


def memory():
    """A line per large problem."""
    problems = {}
    if find_spec("xgboost"):
        problems["XGBoost of depth 6, 300000 x 127"] = wide_problem
    for p in PROBLEMS:
        if p.n >= 100_000:
            problems[f"{p.name}, {p.n} x {p.p}"] = p.fitted
    for name, make in problems.items():
        model, X, *_ = make()
        size, measures = np.asarray(X).nbytes / 1e6, {}
        for contrast in ("pairs", "observed"):
            measures[contrast] = SensitivityImportance(
                contrast=contrast, estimation="exact", scale=None
            )
        measures["dependence"] = PartialDependenceImportance()
        for kind, measure in measures.items():
            measure.fit(model, X[:100])  # imports aside
            peak, spent = held(measure.fit, model, X)
            verdict = "ok" if peak <= 1.5 * size + 300 else "TOO MUCH"
            memory_cells = f"{peak:6.0f} MB beside {size:4.0f} MB of X, {verdict}"
            print(f"{name:45} {kind:10} {memory_cells}, {spent} s", flush=True)


def main():
    """Print one of the tables that `run.py` has no room for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", choices=["memory", "deep"])
    given = parser.parse_args()
    with threadpool_limits(1):
        {"memory": memory, "deep": deep}[given.table]()


if __name__ == "__main__":
    main()
