"""Tasks through joblib: what they share, and the progress that callbacks see and stop.

What all tasks of a run share, such as X, is sent to a worker once, not with each task.
"""

import io
import os
import pickle
import threading
import uuid
import warnings
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from contextvars import copy_context

import numpy as np
from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from joblib.externals.loky.backend.reduction import get_loky_pickler
from joblib.parallel import get_active_backend
from sklearn import config_context, get_config

from skvarimp._running.guards import (
    WORKERS,
    is_part_of_other_work,
    no_overflow,
    undivided,
    warn,
    working,
)
from skvarimp._running.memory import bytes_of
from skvarimp._running.private_sklearn import with_callbacks

LARGE = 2**20  # bytes; joblib maps arrays from this size on into the workers' memory
KEPT_SECONDS = 5.0  # that an idle worker keeps what it was sent
_latest = {}  # in a worker: name -> what it was sent last
_timer = None
_opening = threading.RLock()


class Shared:
    """Objects that every task of a run is given.

    They are pickled once for all tasks. Arrays of at least a megabyte stay beside the
    pickle, where joblib finds them and maps them into the workers' memory. A worker
    unpickles once, so that what it computes and keeps serves its later tasks too.

    joblib's Dask backend sends an argument of every task once if it is large, and
    with each task if it is small. It asks `sys.getsizeof`, which by itself sees
    nothing of what an object's attributes hold.

    Parameters
    ----------
    *parts : tuple of object
        What the tasks share.
    """

    def __init__(self, *parts):
        self._packed = None
        self._held = parts, os.getpid(), get_config(), list(warnings.filters)

    def parts(self):
        """What the tasks share."""
        return self._opened()[0]

    def _opened(self):
        with _opening:
            if self._held is None:
                _, pickled, arrays = self._packed
                self._held = _Unpickler(io.BytesIO(pickled), arrays).load()
        return self._held

    @contextmanager
    def settings(self):
        """The settings of the thread that made this, around a task.

        scikit-learn's in every worker, the filters of warnings in other processes.
        Threads share these: set around each task, as scikit-learn's own `delayed`
        does, they would be left changed, or empty, where tasks overlap.
        """
        _, home, config, filters = self._opened()
        with config_context(**config):
            if os.getpid() == home:
                yield
                return
            with warnings.catch_warnings():
                warnings.resetwarnings()
                warnings.filters.extend(filters)
                yield

    def __sizeof__(self):
        held = self._packed if self._held is None else self._held[0]
        return max(10_000, bytes_of(held))

    def pack(self):
        """Pickle the parts, once: what changes in them later is not sent."""
        if self._packed is None:
            pickler = _Pickler(io.BytesIO())
            pickler.dump(self._held)
            pickled = np.frombuffer(pickler.file.getvalue(), dtype=np.uint8)
            self._packed = uuid.uuid4().hex, pickled, pickler.arrays

    def __reduce__(self):
        self.pack()
        return _received, self._packed


class _Pickler(get_loky_pickler()):  # as joblib pickles tasks, lambdas included
    """Leaves out large arrays, which it lists."""

    def __init__(self, file):
        super().__init__(file)
        self.file, self.arrays, self._position = file, [], {}

    def persistent_id(self, value):
        """Position of what is left out; None: pickle the value."""
        if type(value) not in (np.ndarray, np.memmap):
            return None
        if value.nbytes < LARGE or value.dtype.hasobject:
            return None
        if id(value) not in self._position:
            self._position[id(value)] = len(self.arrays)
            self.arrays.append(value)
        return self._position[id(value)]


class _Unpickler(pickle.Unpickler):
    def __init__(self, file, arrays):
        super().__init__(file)
        self._arrays = arrays

    def persistent_load(self, position):
        return self._arrays[position]


def _received(name, pickled, arrays):
    """In a worker: the `Shared` of that name, unpickled."""
    global _timer
    shared = _latest.get(name)
    if shared is None:
        shared = Shared.__new__(Shared)
        shared._held, shared._packed = None, (name, pickled, arrays)
        shared._opened()
        _latest.clear()
        _latest[name] = shared
    if _timer is not None:
        _timer.cancel()
    _timer = threading.Timer(KEPT_SECONDS, _latest.clear)
    _timer.daemon = True
    _timer.start()
    return shared


@undivided
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
    if effective_n_jobs(n_jobs) == 1:  # without joblib's overhead
        for task in tasks:
            with no_overflow():
                result = function(task, *arguments)
            yield task, result
        return
    shared = Shared(function, arguments)
    sent = deque()  # kept here: a worker need not send its task back
    closed = False
    backend, _ = get_active_backend(prefer=prefer)
    to_threads = getattr(backend, "supports_sharedmem", False)

    def calls():
        for task in tasks:
            if closed:
                return
            # joblib pickles in a thread of its own, while the next task is being made
            # and may store something in the parts
            if not to_threads:
                shared.pack()
            sent.append(task)
            yield delayed(_guarded)(shared, task)

    try:
        parallel = Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator")
    except ValueError:  # "Backend ... does not support return_as"
        parallel = Parallel(n_jobs=n_jobs, prefer=prefer)
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


def in_threads(function, items):
    """Yield function(item) for each of the items, in their order.

    Threads share the work if the fit has several workers. It suits work that lets go
    of the interpreter and lies between tasks, so that workers need not wait for it.

    Parameters
    ----------
    function : callable
        Runs under the caller's settings.
    items : iterable
    """
    workers, waiting = WORKERS.get(), deque()
    n_workers = 1 if workers is None else effective_n_jobs(workers.n_jobs)
    if n_workers == 1:
        yield from map(function, items)
        return
    if workers.pool is None:
        workers.pool = ThreadPoolExecutor(min(n_workers, cpu_count()))
    numeric = {**np.geterr(), "call": np.geterrcall()}

    def work(item, config):
        with config_context(**config), np.errstate(**numeric), working(1):
            return function(item)

    # models in threads may mix up the filters of warnings
    with warnings.catch_warnings():
        try:
            for item in items:
                run = copy_context().run
                waiting.append(workers.pool.submit(run, work, item, get_config()))
                if len(waiting) > 2 * n_workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


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


def tasks_done(progress, function, tasks, arguments, n_jobs, least=1):
    """Yield (task, function(task, *arguments)) until a callback or Ctrl-C stops it.

    The callbacks see the `Progress`, task by task. With fewer than `least` tasks done,
    an interrupt is raised.
    """
    results = in_order(function, tasks, arguments, n_jobs)
    with progress, progress.until_interrupted(least), closing(results):
        for task, result in results:
            yield task, result
            if progress.step():
                return


def callback_context(estimator, n_steps):
    """The context of an estimator's callbacks, None where it has none."""
    given = hasattr(estimator, "_skl_callbacks")
    inherited = hasattr(estimator, "_parent_callback_ctx")
    if (given or inherited) and hasattr(estimator, "_init_callback_context"):
        return estimator._init_callback_context(max_subtasks=n_steps)
    return None


class Progress:
    """Drives the callbacks of measures that share work of `n_steps` steps.

    Attributes
    ----------
    n_done : int
        Steps done so far.
    stopped : bool
        Whether a callback asked to stop, or an interrupt did.
    """

    def __init__(self, measures, n_steps, task_name="feature"):
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
