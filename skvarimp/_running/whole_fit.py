"""`whole_fit`: what a fit learns is taken over all at once, when it has ended."""

from collections.abc import Callable
from copy import copy
from functools import wraps
from typing import Any, TypeVar

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
