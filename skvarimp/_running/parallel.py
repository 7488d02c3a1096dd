"""`in_order`: the one way to hand work to joblib."""

import warnings
from collections import deque
from contextlib import suppress

from joblib import Parallel, delayed, effective_n_jobs

from skvarimp._running.arithmetic import no_overflow
from skvarimp._running.shared import Shared


def in_order(function, tasks, arguments=(), n_jobs=None, prefer=None, require=None):
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
    require : {None, "sharedmem"}, default=None
        "sharedmem" if the function changes its arguments.

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

    how = {"n_jobs": n_jobs, "prefer": prefer, "require": require}
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


def _guarded(shared, task):
    function, arguments = shared.parts()
    # here, where a worker does not share the caller's settings
    with shared.settings(), no_overflow():
        return function(task, *arguments)
