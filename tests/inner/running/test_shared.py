"""What workers share and warn of."""

import os
import warnings

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import skvarimp
from skvarimp._running.shared import Shared

X, Y = load_diabetes(return_X_y=True)
X, Y = X[:60, :3], Y[:60] / 100


class Warns:
    """Warns at every call."""

    def predict(self, X):
        """Zeros."""
        warnings.warn("sensor drifts", RuntimeWarning, stacklevel=1)
        return np.zeros(len(X))


@pytest.mark.parametrize("backend", ["loky", "threading"])
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
