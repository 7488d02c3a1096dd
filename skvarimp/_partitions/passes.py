"""One pass over partitions: a task for each, results merged in a tree."""

from contextlib import contextmanager
from functools import partial, reduce

from skvarimp._running.guards import no_overflow
from skvarimp._running.shared import Shared

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
        self.tasks += dask.persist(task)


def merged_over(partitions, function, arguments, merge, sent):
    """Merge function(partition, *arguments) over all partitions, two by two.

    Runs on the Dask scheduler in force: a cluster where there is a client, else
    threads. The arguments are sent once to each worker. Partial results are merged
    on the workers, always in the order of the partitions, so that the result does not
    depend on which task is done first.

    Parameters
    ----------
    partitions : list of Delayed
    function : callable
        Returns None for a partition without rows.
    arguments : tuple
    merge : callable
        merge(first, second) -> their merged result, which may reuse `first`.
    sent : Sent
        What of the arguments the workers have already.

    Returns
    -------
    object
        None where no partition has rows.
    """
    import dask

    results = _tasks(_run, partitions, function, arguments, sent)
    join, merging = dask.delayed(_merged, pure=False), Shared(partial(reduce, merge))
    while len(results) > 1:
        results = [
            join(results[start : start + FAN_IN], merging)
            for start in range(0, len(results), FAN_IN)
        ]
    (result,) = dask.compute(results[0])
    return result


def binned_over(partitions, function, arguments, n_bins, join, sent):
    """Join what function(partition, *arguments) gives for each bin.

    Parameters
    ----------
    partitions : list of Delayed
    function : callable
        Returns a list with one result per bin, or None for a partition without rows.
    arguments : tuple
    n_bins : int
    join : callable
        join(results) -> the result of one bin, on some worker.
    sent : Sent

    Returns
    -------
    list
        One result per bin.
    """
    import dask

    run = partial(_run_bins, n_bins)
    of_partitions = _tasks(run, partitions, function, arguments, sent, nout=n_bins)
    merged, merging = dask.delayed(_merged, pure=False), Shared(join)
    of_bins = [merged(list(of_bin), merging) for of_bin in zip(*of_partitions)]
    return list(dask.compute(*of_bins))


def _tasks(run, partitions, function, arguments, sent, **how):
    import dask

    shared = Shared(function, arguments, apart=sent.values)
    shared = dask.delayed(_same, pure=False)(shared)
    run = dask.delayed(run, pure=False, **how)
    return [run(partition, shared, *sent.tasks) for partition in partitions]


def _run_bins(n_bins, partition, shared, *sent):
    result = _run(partition, shared, *sent)
    return [None] * n_bins if result is None else result


def _same(shared):
    return shared


def _run(partition, shared, *sent):
    function, arguments = shared.parts([one.parts()[0] for one in sent])
    with shared.settings(), no_overflow():
        return function(partition, *arguments)


def _merged(results, merging):
    (merge,) = merging.parts()
    results = [result for result in results if result is not None]
    with merging.settings(), no_overflow():
        return merge(results) if results else None


@contextmanager
def naming(number):
    """Name the partition in the message of an error."""
    try:
        yield
    except Exception as error:
        message = error.args[0] if error.args else ""
        error.args = (f"Partition {number} of X: {message}", *error.args[1:])
        raise
