"""A fit in worker processes that is interrupted: it tells what it keeps.

A program of its own that does not inherit how the test runner takes the signal. It
writes a line for each step; who reads it interrupts.
"""

import signal
import sys
import time

import numpy as np

from skvarimp import SensitivityImportance


class Slow:
    """Takes long to predict."""

    def predict(self, X):
        """The first column."""
        time.sleep(0.1)
        return X[:, 0]


class Steps:
    """A callback that tells of each step."""

    def setup(self, estimator, context):
        """See `FitCallback`."""

    def teardown(self, estimator, context):
        """See `FitCallback`."""

    def on_fit_task_begin(self, estimator, context):
        """See `FitCallback`."""

    def on_fit_task_end(self, estimator, context):
        """See `FitCallback`."""
        tell(context.task_name)


def tell(line):
    """Write a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main():
    """Tell of every step, and then how many features have an importance."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    X = np.random.default_rng(0).standard_normal((100, 60))
    measure = SensitivityImportance(scale=None, n_jobs=2, estimation="exact")
    measure.set_callbacks(Steps()).fit(Slow(), X)
    tell(f"{np.isfinite(measure.importances_).sum()} known")


if __name__ == "__main__":
    main()
