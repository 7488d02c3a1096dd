"""What workers share and warn of."""

import os
import time
import warnings

import joblib
import numpy as np
import pytest
from combinations import BACKENDS
from sklearn.datasets import load_diabetes

import skvarimp
from skvarimp._running.tasks import Shared, in_order

X, Y = load_diabetes(return_X_y=True)
X, Y = X[:60, :3], Y[:60] / 100


class Warns:
    """Warns at every call."""

    def predict(self, X):
        """Zeros."""
        warnings.warn("sensor drifts", RuntimeWarning, stacklevel=1)
        return np.zeros(len(X))


@pytest.mark.parametrize("backend", BACKENDS)
def test_filters_of_warnings_hold_in_workers(backend):
    """What the caller ignores or turns into an error is so in every task."""
    measure = skvarimp.SensitivityImportance(scale=None, n_jobs=2)
    with joblib.parallel_config(backend=backend), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "sensor drifts", RuntimeWarning)
        assert not measure.fit(Warns(), X).importances_.any()
    shared = Shared()
    filters = warnings.filters
    with joblib.parallel_config(backend=backend):
        left = joblib.Parallel(n_jobs=2)(
            joblib.delayed(_warned)(shared, filters) for _ in range(4)
        )
    assert left == ["sensor drifts"] * 4


def _warned(shared, filters):
    with shared.settings():
        same_process = os.getpid() == shared._opened()[1]
        assert not same_process or warnings.filters is filters
        try:
            Warns().predict(X)
        except RuntimeWarning as error:  # as pytest is told
            return str(error)


class SlowlyPickled:
    """Lets other threads run while it is pickled."""

    def __reduce__(self):
        time.sleep(0.02)
        return SlowlyPickled, ()


@pytest.mark.parametrize("backend", BACKENDS)
def test_parts_may_change_while_tasks_are_made(backend):
    """What making a task stores in the parts does not meet the pickling of them."""
    parts = {k: SlowlyPickled() for k in range(5)}

    def tasks():
        for k in range(20):
            time.sleep(0.002)
            parts[f"task {k}"] = k
            yield k

    with joblib.parallel_config(backend=backend):
        done = dict(in_order(_part_of, tasks(), (parts,), n_jobs=2))
    assert done == {k: k in range(5) for k in range(20)}


def _part_of(task, parts):
    return task in parts
