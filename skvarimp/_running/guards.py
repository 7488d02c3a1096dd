"""Guards of a fit: float64 that fails, warnings at the user's line, all or nothing.

They also count the rows that a model is asked to predict in a fit, and keep to a limit.
Whatever asks a model in the process of the fit counts its rows here. Draws, which may
run in other processes, are planned: no round begins that might ask for more rows than
are left.
"""

import contextlib
import os
import sys
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import joblib
import numpy as np
import sklearn

from skvarimp._running.private_sklearn import with_callbacks
from skvarimp.exceptions import ImportanceWarning

# NumPy's settings outside, which the user's own code keeps.
_settings_outside = ContextVar("settings_outside", default=None)

# Matrix products come from BLAS libraries, some of which (Accelerate on macOS) set
# flags that say nothing about finite numbers.
PRODUCTS = (" in matmul", " in dot", " in vecdot", " in matvec", " in vecmat")


class _Judge:
    """What NumPy tells of each flag: raises it, but for flags of matrix products."""

    @staticmethod
    def write(message):
        """Called by NumPy with 'Warning: overflow encountered in ...'."""
        message = message.strip().removeprefix("Warning: ")
        if not message.endswith(PRODUCTS):
            raise FloatingPointError(message)


def _settings():
    return _settings_outside.get() or {**np.geterr(), "call": np.geterrcall()}


@contextmanager
def no_overflow():
    """Turn overflow and undefined operations of our own code into a ValueError.

    A context manager and a decorator. Code that expects infinity says so with an
    `np.errstate` of its own. Products of matrices are judged by their results, in
    `BaseImportance._store`.
    """
    token = _settings_outside.set(_settings())
    try:
        with np.errstate(over="log", divide="log", invalid="log", call=_Judge):
            yield
    except FloatingPointError as error:
        if getattr(error, "of_users_code", False):
            raise
        raise ValueError(
            "X, y, `sample_weight` or the model's response hold numbers so large, or "
            f"so far apart, that float64 arithmetic fails ({error}). Rescale them."
        ) from None
    finally:
        _settings_outside.reset(token)


@contextmanager
def users_code(hear_names=False):
    """Run a model, scorer or function of the user under the user's own settings.

    Parameters
    ----------
    hear_names : bool, default=False
        Whether scikit-learn's warnings about feature names reach the user: in one call
        per fit, which all others would repeat.
    """
    try:
        with warnings.catch_warnings(), np.errstate(**_settings()):
            if not hear_names:
                for start in ("X does not have valid feature", "X has feature names"):
                    warnings.filterwarnings("ignore", message=start)
            yield
    except FloatingPointError as error:  # the user asked NumPy to raise it
        error.of_users_code = True
        raise


def folder(path):
    """What the names of all files in a folder begin with, and no others."""
    return f"{path}{os.sep}"


# Where frames between the user and the warning come from: us, and our decorators.
_NOT_THE_USER = (
    folder(Path(__file__).parents[1]),
    folder(Path(sklearn.__file__).parent / "callback"),
    contextlib.__file__,
)


def code_down_to_the_user():
    """Code of the functions under way: of ours from the caller on, then the user's."""
    frame, codes = sys._getframe(1), []
    while frame.f_back and frame.f_code.co_filename.startswith(_NOT_THE_USER):
        codes.append(frame.f_code)
        frame = frame.f_back
    return [*codes, frame.f_code]


_said = ContextVar("said", default=None)  # the warnings of the running fit


def warn(message, category=ImportanceWarning):
    """Warn at the innermost line that is the user's, once in a fit.

    Parameters
    ----------
    message : str
    category : type
        One of `skvarimp.exceptions`.
    """
    said = _said.get()
    if said is not None:
        if message in said:
            return
        said.add(message)
    warnings.warn(message, category, stacklevel=len(code_down_to_the_user()))


# Functions whose work is kept as a whole or not at all, by their code.
_undivided = set()
# Where calls come from that fit many models: searches, pipelines, parallel loops.
_LIBRARIES = tuple(folder(Path(m.__file__).parent) for m in (sklearn, joblib))

Work = TypeVar("Work", bound=Callable[..., Any])


def undivided(function: Work) -> Work:
    """Let an interrupt within a function end all of it; see `is_part_of_other_work`."""
    _undivided.add(function.__code__)
    return function


def is_part_of_other_work():
    """Whether the running fit serves an `undivided` function or another library.

    An interrupt then ends the whole: what one of many fits has done so far would
    otherwise be taken for its result.
    """
    *ours, users = code_down_to_the_user()
    in_one_piece = not _undivided.isdisjoint(ours)
    return in_one_piece or users.co_filename.startswith(_LIBRARIES)


Fit = TypeVar("Fit", bound=Callable[..., Any])


def whole_fit(fit: Fit) -> Fit:
    """Let a `fit` learn on a copy of the instance, which then takes over the result.

    Two fits at once on one instance do not meet, and one that fails leaves what the
    last one learned. The model is asked for `max_evaluations` rows at most. Work
    between tasks is shared by as many threads as there are workers. Callbacks are torn
    down at the end, however it comes.
    """

    @wraps(fit)
    def fit_on_copy(self, *args, **params):
        learner, token = copy(self), _said.set(set())
        try:
            most = getattr(self, "max_evaluations", None)
            with spending(most), working(getattr(self, "n_jobs", None)):
                with_callbacks(lambda one: fit(one, *args, **params))(learner)
        finally:
            _said.reset(token)
        self.__dict__ = learner.__dict__
        return self

    return fit_on_copy  # type: ignore[return-value]


_current = ContextVar("budget", default=None)
READING = 0.5  # share of the rows left that reading and probing a model may take


class OverBudget(ValueError):
    """The model was about to be asked for more rows than it may."""


class Budget:
    """Rows that a model may be asked for.

    Parameters
    ----------
    most : float
        `max_evaluations`, or inf.

    Attributes
    ----------
    spent : int
        Rows asked for so far.
    enough : int
        How many rows would do, with what is known before the first; 0 is not known.
    """

    enough = 0

    def __init__(self, most):
        self.most, self.limit, self.spent = most, most, 0

    @property
    def left(self):
        """Rows that may still be asked for."""
        return max(0, self.most - self.spent)

    def spend(self, n_rows):
        """Count rows before the model is asked; OverBudget if they are too many."""
        if self.spent + n_rows > self.limit:
            raise OverBudget(
                f"The model has been asked for {self.spent} rows and needs {n_rows} "
                f"more, but max_evaluations={self.most}. Pass fewer rows of X, or use "
                f"{self._more()}."
            )
        self.spent += n_rows

    def _more(self):
        """What `max_evaluations` to use, as far as that is known."""
        if self.enough <= self.most:
            return "a larger max_evaluations"
        return f"max_evaluations={self.enough}"

    def require(self, needed, enough=0):
        """Raise where the rows left do not allow the fewest for every feature.

        Parameters
        ----------
        needed : int
            Rows without which nothing is known.
        enough : int, default=0
            Rows without which errors are not known, if they are more.
        """
        if needed > self.left:
            raise OverBudget(
                f"max_evaluations={self.most} leaves {self.left} rows after the first "
                f"{self.spent}, and all features together take {needed} or more. "
                "Pass fewer rows of X, fewer `features`, or max_evaluations="
                f"{self.spent + max(needed, enough)}."
            )

    def restart(self, measure, spent):
        """Count the draws of one measure, which has a limit of its own."""
        most = getattr(measure, "max_evaluations", None)
        self.most = self.limit = np.inf if most is None else most
        self.spent = spent

    @contextmanager
    def reading(self, kept):
        """Let a model be read and probed by a part of what is left.

        Parameters
        ----------
        kept : int
            Rows that must be left, to draw at all.
        """
        most = min(np.floor(READING * self.left), self.left - kept)
        before, self.limit = self.limit, min(self.limit, self.spent + max(0, most))
        try:
            yield
        finally:
            self.limit = before


def budget():
    """That of the fit under way; without a limit outside."""
    return _current.get() or Budget(np.inf)


@contextmanager
def spending(most):
    """Count the rows that a model is asked for in a block; None: without a limit."""
    token = _current.set(Budget(np.inf if most is None else most))
    try:
        yield _current.get()
    finally:
        _current.reset(token)


class Workers:
    """Threads that share a fit's work between tasks; they start when first needed.

    Parameters
    ----------
    n_jobs : int or None
        Of the fit, perhaps not checked yet.

    Attributes
    ----------
    pool : ThreadPoolExecutor or None
        The threads, once they have started.
    """

    def __init__(self, n_jobs):
        self.n_jobs, self.pool = n_jobs, None


WORKERS = ContextVar("workers", default=None)  # of the current block; None: one


@contextmanager
def working(n_jobs):
    """Let a block use as many threads as joblib has workers, see `tasks.in_threads`."""
    workers = Workers(n_jobs)
    token = WORKERS.set(workers)
    try:
        yield
    finally:
        WORKERS.reset(token)
        if workers.pool is not None:
            workers.pool.shutdown(cancel_futures=True)


def drawing_budget(measure):
    """A `Budget` of the draws of one measure: what fitting it leaves of its own.

    Parameters
    ----------
    measure : BaseImportance
        With `max_evaluations` or without.
    """
    own = Budget(np.inf)
    own.restart(measure, budget().spent)
    return own
