"""A fit over partitions that is interrupted: says so, and how many tasks are left.

A program of its own that does not inherit how the test runner takes the signal.
"""

import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

import dask.array as da
import distributed
import numpy as np

from skvarimp import SensitivityImportance
from skvarimp._partitions import partitions

HOME, FOLDER = os.getpid(), tempfile.TemporaryDirectory()
RUNNING = Path(FOLDER.name) / "running"


def slow(X):
    """Takes longer than anyone waits, on a worker."""
    if os.getpid() != HOME:
        RUNNING.touch()
        time.sleep(2)
    return X[:, 0]


def interrupt(thread):
    """Interrupt a thread once a worker is at work.

    Before that Dask may leave a task behind: its scheduler takes in a graph in a thread
    of its own, and passes over what the client has given up meanwhile.
    """
    while not RUNNING.exists():
        time.sleep(0.01)
    signal.pthread_kill(thread, signal.SIGINT)


def n_tasks(dask_scheduler):
    """How many tasks a scheduler knows."""
    return len(dask_scheduler.tasks)


def main():
    """Interrupt the main thread in the middle of a walk in another process."""
    X = np.random.default_rng(0).random((160, 5))
    partitions.MOST_DONORS = 20
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main_thread = (threading.get_ident(),)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(1)
        threading.Thread(target=interrupt, args=main_thread, daemon=True).start()
        try:
            measure = SensitivityImportance(scale=None, grid=3)
            measure.fit(slow, da.from_array(X, chunks=(40, 5)))
        except KeyboardInterrupt:
            sys.stdout.write("interrupted\n")
        deadline = time.monotonic() + 20
        while client.run_on_scheduler(n_tasks) and time.monotonic() < deadline:
            time.sleep(0.1)
        sys.stdout.write(f"{client.run_on_scheduler(n_tasks)} tasks left\n")


if __name__ == "__main__":
    main()
