"""Importances of rows in Parquet files: time and memory on Dask's workers.

Usage: ``OMP_NUM_THREADS=1 PYTHONPATH=. python benchmarks/dask_rows.py FOLDER [--rows N]
[--trees N] [--workers N] [--limit GB] [--measures NAME ...]``. Makes N rows of 20
columns as Parquet files of 100 000 rows in FOLDER (6 million are about 1 GB), fits a
boosting on 200 000 of them, and takes five measures, or those named, of all columns:

- of a sample of 100 000 rows in memory;
- of all rows, on a local cluster of so many workers, of one thread and so much memory
  each. A worker that takes more is killed.

Prints wall time, the largest memory of a worker and of this process, and standard
errors, whose ratio says what more rows than a sample are good for.
"""

import argparse
import resource
from pathlib import Path

import dask.dataframe as dd
import joblib
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster
from sklearn.ensemble import HistGradientBoostingRegressor
from timer import once

from skvarimp import (
    ALEImportance,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    compare_importances,
)

COLUMNS, FILE_ROWS, TRAINING_ROWS = 20, 100_000, 200_000
MEASURES = {
    "pairs": SensitivityImportance(estimation="exact"),
    "observed": SensitivityImportance(contrast="observed", estimation="exact"),
    "permutation": PermutationImportance(estimation="exact"),
    "partial dependence": PartialDependenceImportance(grid=100),
    "ALE": ALEImportance(),
}


def make(folder, n_rows, n_trees):
    """Write Parquet files, and a model fitted on the first of them; return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(-(-n_rows // FILE_ROWS)):
        path = folder / f"part{number:05}.parquet"
        if not path.exists():
            frame_of(number).to_parquet(path)
    model = folder / f"model{n_trees}.joblib"
    if not model.exists():
        files = [frame_of(number) for number in range(TRAINING_ROWS // FILE_ROWS)]
        frame = pd.concat(files)
        boosting = HistGradientBoostingRegressor(max_iter=n_trees, random_state=0)
        joblib.dump(boosting.fit(frame.drop(columns="y"), frame["y"]), model)
    return joblib.load(model)


def frame_of(number):
    """The rows of one file: correlated normal columns, of which half make y."""
    rng = np.random.default_rng(number)
    X = rng.standard_normal((FILE_ROWS, COLUMNS))
    X[:, 1:] = 0.8 * X[:, 1:] + 0.6 * X[:, :-1]
    y = X[:, 0] * X[:, 1] + 3 * np.sin(X[:, 2]) + X[:, 3:10].sum(axis=1)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(COLUMNS)])
    return frame.assign(y=y + rng.standard_normal(FILE_ROWS))


def errors_of(model, frame, names):
    """Standard errors by measure, relative to the importance, of the first column."""
    X, y = frame.drop(columns="y"), frame["y"]
    measures = {name: MEASURES[name] for name in names}
    found, spent = once(compare_importances, {"": model}, X, y, measures)
    results = [found.results["", name] for name in names]
    return [one.standard_errors[0] / one.importances[0] for one in results], spent


def peak_memory():
    """The largest memory of this process, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    """Make the files, run on them and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=6_000_000)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--limit", type=float, default=1.2)
    parser.add_argument("--measures", nargs="+", choices=MEASURES, default=MEASURES)
    options = parser.parse_args()
    model = make(options.folder, options.rows, options.trees)
    files = sorted(options.folder.glob("*.parquet"))[: options.rows // FILE_ROWS]
    sample, spent = errors_of(model, pd.read_parquet(files[-1]), options.measures)
    print(f"{FILE_ROWS:,} rows in memory: {spent.wall:.0f} s", flush=True)
    limit = int(options.limit * 1e9)
    cluster = LocalCluster(
        n_workers=options.workers,
        threads_per_worker=1,
        memory_limit=limit,
        dashboard_address=None,
    )
    with cluster, Client(cluster) as client:
        frame = dd.read_parquet(files, split_row_groups=False)
        every, spent = errors_of(model, frame, options.measures)
        of_worker = max(client.run(peak_memory).values())
    print(
        f"{options.rows:,} rows on {options.workers} workers: {spent.wall:.0f} s; a "
        f"worker takes at most {of_worker:.0f} MB, this process {peak_memory():.0f} MB"
    )
    for name, one, both in zip(options.measures, every, sample):
        print(
            f"standard error of {name}: {one:.2%} of the importance, sample {both:.2%}"
        )


if __name__ == "__main__":
    main()
