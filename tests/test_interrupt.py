"""Ctrl-C and a model that fails leave no process behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from skvarimp import SensitivityImportance

SCRIPT = """
import time
import numpy as np
from skvarimp import SensitivityImportance

class Slow:
    def predict(self, X):
        time.sleep(0.2)
        return X[:, 0]

X = np.random.default_rng(0).standard_normal((200, 40))
print("started", flush=True)
SensitivityImportance(scale=None, n_jobs=2).fit(Slow(), X)
print("finished", flush=True)
"""


def group_is_gone(group, seconds=10.0):
    """Whether every process of a group ends within some seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX")
def test_interrupt_leaves_no_process():
    """SIGINT to the main process only, while two workers are busy."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=Path(__file__).parents[1],
    )
    assert process.stdout.readline().strip() == "started"
    time.sleep(1.5)  # workers are up and sleeping in predict
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert "finished" not in out
    assert "KeyboardInterrupt" in err
    gone = group_is_gone(process.pid)
    if not gone:
        os.killpg(process.pid, signal.SIGKILL)
    assert gone


class FailsLater:
    """A model that raises its own error after some calls."""

    def predict(self, X):
        """Fail at rows moved to a large value."""
        if np.any(X[:, 1] > 2):
            raise RuntimeError("sensor offline")
        return X[:, 0]


def test_model_that_raises_gives_its_own_error():
    """The model's error comes through as it is; see test_hardening.py of workers."""
    X = np.column_stack([np.arange(30.0), np.full(30, 1.0)])
    imp = SensitivityImportance(scale=None, grid={"x1": [1.0, 3.0]})
    with pytest.raises(RuntimeError, match="sensor offline"):
        imp.fit(FailsLater(), X)
