"""Work of several steps that drives scikit-learn's callbacks, which may stop it."""

from contextlib import closing

from skvarimp._running.parallel import in_order
from skvarimp._running.private_sklearn import callback_context, with_callbacks


def within_callbacks(measures, action):
    """Run an action so that every measure's callbacks are torn down afterwards."""
    if not measures:
        return action()
    return with_callbacks(lambda _: within_callbacks(measures[1:], action))(measures[0])


def set_callbacks(on, callbacks):
    """Set the callback, or the list of them, that a function was given; None: none."""
    if callbacks is not None:
        if not hasattr(on, "set_callbacks"):
            raise TypeError("`callbacks` need scikit-learn 1.9 or newer.")
        several = isinstance(callbacks, list | tuple)
        on.set_callbacks(*(callbacks if several else [callbacks]))


def steps_of(measures, function, tasks, arguments, n_jobs, task_name="entry"):
    """Yield (task, function(task, *arguments)) until a callback asks to stop.

    Each task is one step of the progress that the callbacks of the measures see.
    """
    results = in_order(function, tasks, arguments, n_jobs)
    with Progress(measures, len(tasks), task_name) as progress, closing(results):
        for task, result in results:
            yield task, result
            if progress.step():
                return


class Progress:
    """Drives the callbacks of measures that share work of `n_steps` steps."""

    def __init__(self, measures, n_steps, task_name="entry"):
        self.task_name = task_name
        contexts = [
            (measure, callback_context(measure, n_steps)) for measure in measures
        ]
        self.contexts = [pair for pair in contexts if pair[1] is not None]

    def __enter__(self):
        for measure, context in self.contexts:
            context.call_on_fit_task_begin(estimator=measure)
        return self

    def step(self, n_done=1):
        """Report steps done; returns whether a callback asks to stop."""
        stop = False
        for measure, context in self.contexts:
            for _ in range(n_done):
                step = context.subcontext(task_name=self.task_name)
                step.call_on_fit_task_begin(estimator=measure)
                stop |= bool(step.call_on_fit_task_end(estimator=measure))
        return stop

    def __exit__(self, *failure):
        for measure, context in self.contexts:
            context.call_on_fit_task_end(estimator=measure)
