"""What goes over the wire to a Dask cluster: per run, per task, per feature, per step.

Usage: ``OMP_NUM_THREADS=1 PYTHONPATH=. python benchmarks/dask_wire.py``. Starts a
cluster of two worker processes on this machine and counts the bytes that the process
of the client and the scheduler sends and receives. What the client sends to a worker
passes the scheduler and counts twice here; what a worker fetches from the other one
is not counted.
"""

import pickle

import dask.array as da
import joblib
import numpy as np
from distributed import Client, LocalCluster, wait
from distributed.comm import tcp
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor
from timer import once

from skvarimp import (
    BackwardEliminationSelector,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
)

sent, received = [], []


class Sum:
    """A model without a fast response."""

    def predict(self, X):
        """The sum of the columns."""
        return X.sum(axis=1)


def count_bytes():
    """Count what this process sends and receives from now on."""
    write, from_frames = tcp.TCP.write, tcp.from_frames

    async def counted_write(self, *arguments, **options):
        n_bytes = await write(self, *arguments, **options)
        sent.append(n_bytes)
        return n_bytes

    async def counted_read(frames, *arguments, **options):
        received.append(sum(memoryview(frame).nbytes for frame in frames))
        return await from_frames(frames, *arguments, **options)

    tcp.TCP.write, tcp.from_frames = counted_write, counted_read


def measured(action):
    """Bytes sent, bytes received and seconds of an action on the cluster."""
    sent.clear()
    received.clear()
    with joblib.parallel_config(backend="dask"):
        _, spent = once(action)
    return sum(sent), sum(received), spent.wall


def sampled(n_features):
    """One task per feature."""
    return SensitivityImportance(
        contrast="observed",
        estimation="sampled",
        n_draws=4,
        scale=None,
        features=list(range(n_features)),
        random_state=0,
    )


def report(name, n_rows, n_columns, size, n_tasks, result):
    """One line of the table."""
    n_sent, n_received, seconds = result
    print(
        f"{name:<34}{n_rows:>8}{n_columns:>6}{n_tasks:>7}{n_sent / 1e6:>10.2f}"
        f"{n_sent / size:>9.1f}{n_received / 1e6:>13.2f}"
        f"{1e3 * seconds / n_tasks:>11.1f}"
    )
    return n_sent


def report_partitions():
    """Rows that the workers make themselves: what passes besides them.

    Bytes a further partition costs, and bytes that do not depend on their number.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 20))
    y = X[:, 0] * X[:, 1] + X[:, 2]
    boosting = HistGradientBoostingRegressor(max_iter=100).fit(X, y)
    print(f"boosting of 100 trees: {len(pickle.dumps(boosting)) / 1e6:.2f} MB pickled")
    measures = {
        "pairs": SensitivityImportance(),
        "permutation": PermutationImportance(),
        "partial dependence": PartialDependenceImportance(grid=100),
    }
    for name, measure in measures.items():
        for n_rows, n_parts in ((20_000, 4), (20_000, 16), (20_000, 64), (80_000, 16)):
            chunks = (n_rows // n_parts, 20)
            rows = da.random.default_rng(0).standard_normal((n_rows, 20), chunks=chunks)
            target = rows[:, 0] * rows[:, 1] + rows[:, 2]
            result = measured(lambda m=measure, r=rows, t=target: m.fit(boosting, r, t))
            report(
                f"{name}, {n_parts} partitions",
                n_rows,
                20,
                rows.nbytes,
                n_parts,
                result,
            )


def main():
    """Print the table."""
    count_bytes()
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, Client(cluster) as client:
        wait(client.map(abs, range(4)))
        rng = np.random.default_rng(0)
        print(
            f"{'':<34}{'rows':>8}{'cols':>6}{'tasks':>7}{'MB sent':>10}"
            f"{'in X':>9}{'MB received':>13}{'ms/task':>11}"
        )
        X = rng.standard_normal((200, 20))
        measured(lambda: sampled(2).fit(Sum(), X))  # the workers import
        per_task = {}
        for n_rows in (1000, 10_000, 100_000):
            X = rng.standard_normal((n_rows, 20))
            counts = {}
            for n in (2, 20):
                result = measured(lambda X=X, n=n: sampled(n).fit(Sum(), X))
                counts[n] = report("black box, draws", n_rows, 20, X.nbytes, n, result)
            per_task[n_rows] = (counts[20] - counts[2]) / 18
        y = X[:, 0] + X[:, 1]
        forest = RandomForestRegressor(20, max_depth=6, random_state=0, n_jobs=1)
        forest.fit(X[:2000], y[:2000])
        for n_rows in (500, 2000):
            part = X[:n_rows, :4]
            exact = SensitivityImportance(scale=None, estimation="exact")
            result = measured(lambda exact=exact, part=part: exact.fit(Sum(), part))
            blocks = 4 * -(-(n_rows**2) // 1_000_000)
            report("black box, exact", n_rows, 4, part.nbytes, blocks, result)
        for n_rows in (1000, 5000):
            part = X[:n_rows]
            exact = SensitivityImportance(scale=None)
            result = measured(lambda exact=exact, part=part: exact.fit(forest, part))
            report("forest, exact", n_rows, 20, part.nbytes, 20, result)
        few = X[:2000, :8]
        for cv in (2, 8):
            selector = BackwardEliminationSelector(
                DecisionTreeRegressor(max_depth=5), cv=cv, random_state=0
            )
            result = measured(lambda s=selector: s.fit(few, y[:2000]))
            n_steps = len(selector.path_["score"])
            report(
                f"selector, {n_steps} steps", 2000, 8, few.nbytes, n_steps * cv, result
            )
        report_partitions()
        for n_rows, n_bytes in per_task.items():
            print(f"{n_rows:>8} rows: {n_bytes / 1e3:.1f} kB a further task")


if __name__ == "__main__":
    main()
