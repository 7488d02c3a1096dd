"""One pass: a task for each partition or some features; results merged in a tree."""

from contextlib import suppress
from functools import partial, reduce

from skvarimp._running.guards import no_overflow
from skvarimp._running.tasks import Shared

FAN_IN = 8  # results that one task merges


class Sent:
    """What all passes of a fit share, such as the model: sent once to each worker.

    Attributes
    ----------
    values : list of object
    tasks : list of Delayed
        Which hold them, on a cluster in its memory.
    """

    def __init__(self):
        self.values, self.tasks = [], []

    def add(self, value):
        """Send a value ahead of the passes that use it, if it was not yet."""
        import dask

        if any(value is known for known in self.values):
            return
        task = dask.delayed(_same, pure=False)(Shared(value))
        self.values.append(value)
        with _large_tasks():
            self.tasks += dask.persist(task)


def passed_over(items, function, arguments, sent):
    """Merge function(item, *arguments) over all items, two by two.

    Runs on the Dask scheduler in force: a cluster where there is a client, else
    threads. The arguments are sent once to each worker. Partial results are merged
    on the workers, always in the order of the items, so that the result does not
    depend on which task is done first.

    Parameters
    ----------
    items : list of Delayed, or of other objects
    function : callable
        Returns None where there is nothing to do; else what `merged` takes.
    arguments : tuple
    sent : Sent
        What of the arguments the workers have already.

    Returns
    -------
    object
        None where there was nothing to do.
    """
    import dask

    shared = Shared(function, arguments, apart=sent.values)
    shared = dask.delayed(_same, pure=False)(shared)
    run, join = dask.delayed(_run, pure=False), dask.delayed(_joined, pure=False)
    results = [run(one, shared, *sent.tasks) for one in items]
    merging = Shared(partial(reduce, merged))
    while len(results) > 1:
        results = [
            join(results[start : start + FAN_IN], merging)
            for start in range(0, len(results), FAN_IN)
        ]
    with _large_tasks():
        (result,) = dask.compute(results[0])
    return result


def merged(first, second):
    """Join dictionaries, which share no key; add all else. None stays None."""
    if isinstance(first, dict):
        return first | second
    if isinstance(first, tuple | list):
        return type(first)(map(merged, first, second))
    return None if first is None else first + second


def _large_tasks():
    """A context in which Dask does not warn of tasks that hold the donors.

    Such a task, unlike `Client.scatter`, outlives the worker that it ran on.
    """
    import dask

    with suppress(ImportError):
        import distributed  # noqa: F401 its defaults must be known before one is changed
    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"})


def _same(shared):
    return shared


def _run(item, shared, *sent):
    function, arguments = shared.parts([one.parts()[0] for one in sent])
    with shared.settings(), no_overflow():
        return function(item, *arguments)


def _joined(results, merging):
    (merge,) = merging.parts()
    results = [result for result in results if result is not None]
    with merging.settings(), no_overflow():
        return merge(results) if results else None
