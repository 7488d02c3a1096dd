"""A callback that notes what it is told, and may stop or fail."""

import pytest


class Recorder:
    """Notes what happens; asks to stop once `stop_after` steps have ended.

    A step is a task of one name: an "feature", a "refit", a "step" of a selection.
    """

    def __init__(self, stop_after=None, fail_after=None, step="feature", error=None):
        self.error = error or RuntimeError("the callback failed")
        pytest.importorskip("sklearn.callback")  # new in scikit-learn 1.9
        self.stop_after, self.fail_after, self.step = stop_after, fail_after, step
        self.events, self.contexts = [], []

    def setup(self, estimator, context):
        """See `FitCallback`."""
        self.events.append("setup")
        self.max_subtasks = context.max_subtasks

    def teardown(self, estimator, context):
        """See `FitCallback`."""
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        """See `FitCallback`."""
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context):
        """See `FitCallback`."""
        self.events.append(f"end {context.task_name}")
        self.contexts.append(context)
        of_step = context.task_name == self.step
        if of_step and self.fail_after is not None and self.steps >= self.fail_after:
            raise self.error
        return self.stop_after is not None and self.steps >= self.stop_after

    @property
    def steps(self):
        """Steps ended."""
        return self.events.count(f"end {self.step}")
