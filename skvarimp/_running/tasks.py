"""Tasks through joblib, and the progress that scikit-learn's callbacks see and stop."""

import warnings
from collections import deque
from contextlib import closing, contextmanager, suppress

from joblib import Parallel, delayed, effective_n_jobs

from skvarimp._running.guards import (
    is_part_of_other_work,
    no_overflow,
    undivided,
    warn,
)
from skvarimp._running.private_sklearn import callback_context, with_callbacks
from skvarimp._running.shared import Shared


def in_order(function, tasks, arguments=(), n_jobs=None, prefer=None):
    """Yield (task, function(task, *arguments)) in the order of the tasks, via joblib.

    Results arrive while later tasks run, so that few are held; a backend that cannot
    hand out results one by one gives them all at once. A consumer may close the
    generator: then no more tasks are sent, and those under way are waited for (a
    worker that is killed at its work complains).

    Parameters
    ----------
    function : callable
    tasks : iterable
        Sent one by one.
    arguments : tuple, default=()
        What all tasks share; sent to each worker once.
    n_jobs : int or None, default=None
    prefer : {None, "threads"}, default=None
        "threads" serves functions that let go of the interpreter.

    Yields
    ------
    task, result
    """
    shared = Shared(function, arguments)
    if effective_n_jobs(n_jobs) == 1:  # without joblib's overhead
        for task in tasks:
            yield task, _guarded(shared, task)
        return
    sent = deque()  # kept here: a worker need not send its task back
    closed = False

    def calls():
        for task in tasks:
            if closed:
                return
            sent.append(task)
            yield delayed(_guarded)(shared, task)

    how = {"n_jobs": n_jobs, "prefer": prefer}
    try:
        parallel = Parallel(**how, return_as="generator")
    except ValueError:  # "Backend ... does not support return_as"
        parallel = Parallel(**how)
    with warnings.catch_warnings():  # models in threads may mix up the filters
        # joblib's thread that manages workers warns when idle ones leave as new work
        # comes. As an error the warning would end that thread, and we wait forever.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs were given")
        results = iter(parallel(calls()))
        try:
            for result in results:
                yield sent.popleft(), result
        except GeneratorExit:
            closed = True
            with suppress(Exception):
                deque(results, maxlen=0)
        finally:
            if hasattr(results, "close"):
                results.close()


@undivided
def _guarded(shared, task):
    function, arguments = shared.parts()
    # here, where a worker does not share the caller's settings
    with shared.settings(), no_overflow():
        return function(task, *arguments)


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


def tasks_done(
    measures, function, tasks, arguments, n_jobs, task_name="entry", least=1
):
    """Yield (task, function(task, *arguments)) until a callback or Ctrl-C stops it.

    The callbacks of the measures see the progress, task by task. With fewer than
    `least` tasks done, an interrupt is raised.
    """
    results = in_order(function, tasks, arguments, n_jobs)
    with (
        Progress(measures, len(tasks), task_name) as progress,
        progress.until_interrupted(least),
        closing(results),
    ):
        for task, result in results:
            yield task, result
            if progress.step():
                return


class Progress:
    """Drives the callbacks of measures that share work of `n_steps` steps.

    Attributes
    ----------
    n_done : int
        Steps done so far.
    stopped : bool
        Whether a callback asked to stop, or an interrupt did.
    """

    def __init__(self, measures, n_steps, task_name="entry"):
        self.n_steps, self.task_name = n_steps, task_name
        self.n_done, self.stopped = 0, False
        contexts = [(one, callback_context(one, n_steps)) for one in measures]
        self.contexts = [pair for pair in contexts if pair[1] is not None]

    def __enter__(self):
        for measure, context in self.contexts:
            context.call_on_fit_task_begin(estimator=measure)
        return self

    def step(self, n_done=1):
        """Report steps done; returns whether a callback asks to stop."""
        self.n_done += n_done
        stop = False
        for measure, context in self.contexts:
            for _ in range(n_done):
                step = context.subcontext(task_name=self.task_name)
                step.call_on_fit_task_begin(estimator=measure)
                stop |= bool(step.call_on_fit_task_end(estimator=measure))
        self.stopped |= stop
        return stop

    @contextmanager
    def until_interrupted(self, least=1):
        """Let Ctrl-C end a block as a callback's stop does, with a warning.

        With fewer than `least` steps done in the block the interrupt is raised, and
        also where the work is part of other work: that ends as a whole.
        """
        before = self.n_done
        try:
            yield
        except KeyboardInterrupt:
            if self.n_done < before + least or is_part_of_other_work():
                raise
            self.stopped = True
            warn(
                f"Interrupted after {self.n_done} of {self.n_steps} steps, "
                f"{self.task_name} by {self.task_name}. What they found is kept."
            )

    def __exit__(self, *failure):
        for measure, context in self.contexts:
            context.call_on_fit_task_end(estimator=measure)
