"""Guards of a fit: float64 that fails, warnings at the user's line, all or nothing."""

import contextlib
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
    `np.errstate` of its own. Products of matrices are judged by their results, see
    `check_finite_results`.
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


def check_finite_results(results):
    """Raise FloatingPointError where results are infinite; NaN is what has none."""
    if np.any(np.isinf(results)):
        raise FloatingPointError("overflow encountered in a matrix product")


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


# Where frames between the user and the warning come from: us, and our decorators.
_NOT_THE_USER = (
    str(Path(__file__).parents[1]),
    str(Path(sklearn.__file__).parent / "callback"),
    contextlib.__file__,
)


def code_down_to_the_user():
    """Code of the functions under way: of ours from the caller on, then the user's."""
    frame, codes = sys._getframe(1), []
    while frame.f_back and frame.f_code.co_filename.startswith(_NOT_THE_USER):
        codes.append(frame.f_code)
        frame = frame.f_back
    return [*codes, frame.f_code]


def warn(message, category=ImportanceWarning):
    """Warn at the innermost line that is the user's.

    Parameters
    ----------
    message : str
    category : type
        One of `skvarimp.exceptions`.
    """
    warnings.warn(message, category, stacklevel=len(code_down_to_the_user()))


# Functions whose work is kept as a whole or not at all, by their code.
_undivided = set()
# Where calls come from that fit many models: searches, pipelines, parallel loops.
_LIBRARIES = tuple(str(Path(m.__file__).parent) for m in (sklearn, joblib))

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
    last one learned.
    """

    @wraps(fit)
    def fit_on_copy(self, *args, **params):
        learner = copy(self)
        fit(learner, *args, **params)
        self.__dict__ = learner.__dict__
        return self

    return fit_on_copy  # type: ignore[return-value]
