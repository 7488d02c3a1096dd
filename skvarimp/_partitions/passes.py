"""One pass over partitions: a task for each, results merged in a tree."""

from functools import partial, reduce

from skvarimp._partitions.moments import merged
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
        self.tasks += dask.persist(task)


def passed_over(partitions, function, arguments, sent):
    """Merge function(partition, *arguments) over all partitions, two by two.

    Runs on the Dask scheduler in force: a cluster where there is a client, else
    threads. The arguments are sent once to each worker. Partial results are merged
    on the workers, always in the order of the partitions, so that the result does not
    depend on which task is done first.

    Parameters
    ----------
    partitions : list of Delayed
    function : callable
        Returns None for a partition without rows; else what `merged` takes.
    arguments : tuple
    sent : Sent
        What of the arguments the workers have already.

    Returns
    -------
    object
        None where no partition has rows.
    """
    import dask

    results = _tasks(partitions, function, arguments, sent)
    join, merging = dask.delayed(_joined, pure=False), Shared(partial(reduce, merged))
    while len(results) > 1:
        results = [
            join(results[start : start + FAN_IN], merging)
            for start in range(0, len(results), FAN_IN)
        ]
    (result,) = dask.compute(results[0])
    return result


def binned_over(partitions, function, arguments, n_bins, join, sent):
    """Join what function(partition, *arguments) gives of each bin, on some worker.

    The function returns a list with one result for each bin.
    """
    import dask

    of_partitions = _tasks(partitions, function, arguments, sent, n_bins)
    joined, joining = dask.delayed(_joined, pure=False), Shared(join)
    of_bins = [joined(list(of_bin), joining) for of_bin in zip(*of_partitions)]
    return list(dask.compute(*of_bins))


def _tasks(partitions, function, arguments, sent, n_bins=None):
    import dask

    shared = Shared(function, arguments, apart=sent.values)
    shared = dask.delayed(_same, pure=False)(shared)
    run = dask.delayed(_run, pure=False, nout=n_bins)
    return [run(one, shared, n_bins, *sent.tasks) for one in partitions]


def _same(shared):
    return shared


def _run(partition, shared, n_bins, *sent):
    function, arguments = shared.parts([one.parts()[0] for one in sent])
    with shared.settings(), no_overflow():
        result = function(partition, *arguments)
    return [None] * n_bins if result is None and n_bins else result


def _joined(results, joining):
    (join,) = joining.parts()
    results = [result for result in results if result is not None]
    with joining.settings(), no_overflow():
        return join(results) if results else None
