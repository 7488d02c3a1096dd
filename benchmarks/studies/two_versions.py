"""CPU time of fits by this checkout, beside another version of the package.

    pip install --no-deps --target ../other git+file://$PWD@COMMIT
    python benchmarks/studies/two_versions.py ../other
    python benchmarks/studies/two_versions.py ../other --work pairs --models forest

A process for each version makes the same calls for the same fitted models, in turns,
so that a busy machine slows both. The median of the ratios is printed, and by how much
the importances differ, relative to the largest. (asv builds an environment for each
commit, and times one commit after the other.)
"""

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import make_friedman1
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

ROOT = Path(__file__).resolve().parents[2]
WORK = "pairs", "observed", "drop-in"
SECONDS = 4.0  # of both versions together for one line, about


def boosted(library, name, **options):
    """A model of a library that may not be there."""
    return lambda: getattr(__import__(library), name)(**options)


ONE = {"n_jobs": 1}
QUIET = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
MODELS = {  # the model, rows, columns
    "ridge": (Ridge, 10_000, 20),
    "logistic": (LogisticRegression, 10_000, 20),
    "softmax": (LogisticRegression, 5000, 20),
    "tree": (lambda: DecisionTreeRegressor(random_state=0), 5000, 20),
    "forest": (lambda: RandomForestRegressor(100, max_depth=9), 5000, 20),
    "boosting": (GradientBoostingRegressor, 10_000, 20),
    "histogram boosting": (HistGradientBoostingRegressor, 10_000, 20),
    "XGBoost": (boosted("xgboost", "XGBRegressor", **ONE), 10_000, 20),
    "LightGBM": (
        boosted("lightgbm", "LGBMRegressor", **ONE, verbose=-1),
        10_000,
        20,
    ),
    "CatBoost": (boosted("catboost", "CatBoostRegressor", **QUIET), 10_000, 20),
    "support vectors": (SVR, 2000, 20),
    "perceptron": (lambda: MLPRegressor(max_iter=20, random_state=0), 5000, 20),
    "sparse ridge": (Ridge, 800, 100_000),
    "sparse logistic": (LogisticRegression, 800, 100_000),
    "sparse perceptron": (
        lambda: MLPClassifier((10,), "tanh", max_iter=3, random_state=0),
        800,
        100_000,
    ),
}


def fitted(name):
    """(model, X, y) of a name in `MODELS`."""
    make, n, p = MODELS[name]
    random, model = np.random.default_rng(0), make()
    if p > 1000:
        X = sparse.random_array((n, p), density=0.01, format="csr", rng=random)
        X.data[:] = np.ceil(3 * X.data)
        y = X[:, : p // 10].sum(axis=1) + random.normal(size=n)
    else:
        X, y = make_friedman1(n, p, noise=1.0, random_state=0)
    if hasattr(model, "predict_proba"):
        y = np.digitize(y, np.quantile(y, [1 / 3, 2 / 3] if name == "softmax" else 0.5))
    return model.fit(X, y), X, y


def serve(work, file):
    """Make a call for each line of standard input; print its time and numbers."""
    warnings.simplefilter("ignore")
    from skvarimp import SensitivityImportance
    from skvarimp.inspection import permutation_importance

    model, X, y = pickle.loads(Path(file).read_bytes())
    for _ in sys.stdin:
        start = time.process_time()
        if work == "drop-in":
            found = permutation_importance(model, X, y, random_state=0)
            found = found.importances_mean
        else:
            measure = SensitivityImportance(contrast=work, scale=None, random_state=0)
            found = measure.fit(model, X).importances_
        seconds = time.process_time() - start
        print(pickle.dumps((seconds, np.asarray(found))).hex(), flush=True)


def started(folder, *arguments):
    """A process that imports the package from a folder."""
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment = {**os.environ, "PYTHONPATH": str(folder), **one_thread}
    command = [sys.executable, __file__, folder, "--serve", *map(str, arguments)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=environment, cwd=folder, **pipes)


def asked(process):
    """(seconds, importances) of one more call."""
    process.stdin.write("\n")
    process.stdin.flush()
    return pickle.loads(bytes.fromhex(process.stdout.readline()))


def compared(other, work, file):
    """Print a line of figures for a fitted model in a file."""
    both = [started(folder, work, file) for folder in (other, ROOT)]
    (theirs, before), (ours, now) = map(asked, both)  # the first call warms up
    n_turns = int(np.clip(SECONDS / (theirs + ours), 1, 40))
    times = np.array([[asked(process)[0] for process in both] for _ in range(n_turns)])
    for process in both:
        process.stdin.close()
        process.wait()
    theirs, ours = np.median(times, axis=0)
    ratio, gap = np.median(times[:, 1] / times[:, 0]), np.abs(now - before).max()
    print(
        f"{work:10s}{theirs:10.4f} s{ours:10.4f} s{ratio:8.2f}"
        f"   differ by {gap / np.abs(before).max():.0e}   {n_turns} turns",
        flush=True,
    )


def main():
    """Compare the work and the models that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, help="the folder of the other version")
    parser.add_argument("--work", nargs="+", choices=WORK, default=WORK)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(*given.serve)
        return
    print("CPU seconds of the other version, of this one, and their ratio")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.pkl"
        for name in given.models:
            try:
                file.write_bytes(pickle.dumps(fitted(name)))
            except ImportError as error:
                print(f"{name}: {error}")
                continue
            print(name)
            for work in given.work:
                compared(given.other.resolve(), work, file)


if __name__ == "__main__":
    main()
