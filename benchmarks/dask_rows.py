"""Importances of rows in Parquet files: time, memory, two workers against one.

Usage: ``OMP_NUM_THREADS=1 PYTHONPATH=. python benchmarks/dask_rows.py FOLDER [--rows N]
[--memory-rows N] [--workers N]``. Makes N rows of 20 columns as Parquet files in FOLDER
(20 million are about 3 GB), fits a boosting of 100 trees on 200 000 of them, and takes
four exact measures of all columns:

- in memory, on `--memory-rows` rows: the cost per row that the rest is compared with;
- in partitions on Dask's synchronous scheduler, at several numbers of rows: processor
  time against n times that cost, and the largest memory of the process;
- with --workers: on a cluster of one and of several processes, wall time and the
  largest memory of each worker.

Every run is a process of its own, so that its largest memory is its own.
"""

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path

import dask
import dask.dataframe as dd
import joblib
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from timer import once

from skvarimp import (
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
}


def make(folder, n_rows):
    """Write Parquet files, and a model fitted on the first of them."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(-(-n_rows // FILE_ROWS)):
        path = folder / f"part{number:05}.parquet"
        if not path.exists():
            frame_of(number).to_parquet(path)
    model = folder / "model.joblib"
    if not model.exists():
        files = [frame_of(number) for number in range(TRAINING_ROWS // FILE_ROWS)]
        frame = pd.concat(files)
        boosting = HistGradientBoostingRegressor(max_iter=100, random_state=0)
        joblib.dump(boosting.fit(frame.drop(columns="y"), frame["y"]), model)


def frame_of(number):
    """The rows of one file: correlated normal columns, of which half make y."""
    rng = np.random.default_rng(number)
    X = rng.standard_normal((FILE_ROWS, COLUMNS))
    X[:, 1:] = 0.8 * X[:, 1:] + 0.6 * X[:, :-1]
    y = X[:, 0] * X[:, 1] + 3 * np.sin(X[:, 2]) + X[:, 3:10].sum(axis=1)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(COLUMNS)])
    return frame.assign(y=y + rng.standard_normal(FILE_ROWS))


def run(folder, how, n_rows):
    """One run in a process of its own: seconds, processor seconds, memory in MB."""
    command = [
        sys.executable,
        __file__,
        str(folder),
        "--one",
        how,
        "--rows",
        str(n_rows),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def one(folder, how, n_rows):
    """Print one run as JSON."""
    files = sorted(folder.glob("*.parquet"))[: n_rows // FILE_ROWS]
    model = joblib.load(folder / "model.joblib")
    read = pd.concat(map(pd.read_parquet, files)) if how == "memory" else None
    frame = read if how == "memory" else dd.read_parquet(files, split_row_groups=False)
    X, y = frame.drop(columns="y"), frame["y"]
    report = {}

    def compare():
        table, spent = once(compare_importances, model, X, y, MEASURES)
        report["wall"], report["cpu"] = spent.wall, spent.cpu
        exact = table.filter(regex="(pairs|observed|permutation)$")
        report["sum"] = float(exact.sum().sum())  # partial dependence has bins

    if how in {"memory", "partitions"}:
        with dask.config.set(scheduler="synchronous"):
            compare()
    else:
        from distributed import Client, LocalCluster

        cluster = LocalCluster(
            n_workers=int(how), threads_per_worker=1, dashboard_address=None
        )
        with cluster, Client(cluster) as client:
            client.run(lambda: __import__("skvarimp"))
            compare()
            peaks = client.run(peak_memory)
            report["worker memory"] = max(peaks.values())
    report["memory"] = peak_memory()
    print(json.dumps(report))


def peak_memory():
    """The largest memory of this process, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def show(name, n_rows, report, per_row):
    """One line of the table."""
    ratio = report["cpu"] / n_rows / per_row
    print(
        f"{name:<14}{n_rows:>12,}{report['wall']:>9.1f} s{report['cpu']:>9.1f} s"
        f"{1e6 * report['cpu'] / n_rows:>9.1f} us{ratio:>7.2f}"
        f"{report['memory']:>8.0f} MB{report.get('worker memory', 0):>8.0f} MB",
        flush=True,
    )


def main():
    """Make the files and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--memory-rows", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--one")
    options = parser.parse_args()
    if options.one:
        one(options.folder, options.one, options.rows)
        return
    make(options.folder, options.rows)
    print(f"{'':<14}{'rows':>12}{'wall':>11}{'CPU':>11}{'per row':>12}{'ratio':>7}")
    memory = run(options.folder, "memory", options.memory_rows)
    per_row = memory["cpu"] / options.memory_rows
    show("in memory", options.memory_rows, memory, per_row)
    sizes = [options.rows // 20, options.rows // 4, options.rows]
    sizes = [max(n // FILE_ROWS, 1) * FILE_ROWS for n in sizes]
    for n_rows in sorted({*sizes, options.memory_rows}):
        report = run(options.folder, "partitions", n_rows)
        show("partitions", n_rows, report, per_row)
        if n_rows == options.memory_rows:
            gap = abs(report["sum"] / memory["sum"] - 1)
            print(f"{'':<14}exact measures differ from those in memory by {gap:.1e}")
    if options.workers:
        one_worker, more = (
            run(options.folder, str(workers), sizes[1])
            for workers in (1, options.workers)
        )
        print(
            f"{sizes[1]:,} rows: {one_worker['wall']:.1f} s on one worker, "
            f"{more['wall']:.1f} s on {options.workers}, ratio "
            f"{one_worker['wall'] / more['wall']:.2f}; a worker takes at most "
            f"{more['worker memory']:.0f} MB, the client {more['memory']:.0f} MB"
        )


if __name__ == "__main__":
    main()
