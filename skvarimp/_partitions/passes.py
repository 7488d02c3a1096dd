"""One pass: a task for each partition; their results are merged in a tree."""

from contextlib import suppress

from skvarimp._running.guards import no_overflow
from skvarimp._running.tasks import Shared


def sent(value):
    """A task that holds a value for all partitions, on a cluster in its memory."""
    import dask

    with _large_tasks():
        (task,) = dask.persist(dask.delayed(Shared(value), pure=False))
    return task


def passed_over(items, function, *arguments):
    """Merge function(item, *arguments) over all items.

    Runs on the Dask scheduler in force: a cluster where there is a client, else
    threads. The arguments are sent once to each worker. Partial results are merged
    on the workers, always in the order of the items, so that the result does not
    depend on which task is done first.

    Parameters
    ----------
    items : list of Delayed
    function : callable
        Returns None where there is nothing to do, which may not be so everywhere; else
        what `merged` takes.
    *arguments : object
        Each may be what `sent` returns, in place of the value.
    """
    import dask
    import dask.bag

    every = function, *arguments
    shared = [one if dask.is_dask_collection(one) else sent(one) for one in every]
    run = dask.delayed(_run, pure=False)
    results = dask.bag.from_delayed([run(item, *shared) for item in items])
    with _large_tasks():
        return results.fold(merged).to_delayed(optimize_graph=False).compute()


def merged(first, second):
    """Join lists; of tuples merge what stands at the same place; add all else."""
    if isinstance(first, tuple):
        return tuple(map(merged, first, second))
    return first + second


def _large_tasks():
    """A context in which Dask does not warn of tasks that hold the donors.

    Such a task, unlike `Client.scatter`, outlives the worker that it ran on.
    """
    import dask

    with suppress(ImportError):
        import distributed  # noqa: F401 its defaults must be known before one is changed
    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"})


def _run(item, *shared):
    function, *arguments = [value for one in shared for value in one.parts()]
    with shared[0].settings(), no_overflow():
        result = function(item, *arguments)
    return [] if result is None else [result]
