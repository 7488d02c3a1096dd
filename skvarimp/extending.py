"""What an extender needs: own measures, reductions and model families.

The pages "Add a measure" and "Add a model family" have complete examples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from skvarimp._data.table import as_table
from skvarimp._data.validation import check_target
from skvarimp._measures.base import BaseImportance
from skvarimp._measures.problem import Request
from skvarimp._measures.response_importance import Plan, ResponseImportance
from skvarimp._models.array_forms import Additive
from skvarimp._models.forms import Form, NotReadable
from skvarimp._models.links import Link
from skvarimp._models.registry import OWN_READERS
from skvarimp._response.reductions import Observed, State

__all__ = [
    "Additive",
    "BaseImportance",
    "Form",
    "Link",
    "NotReadable",
    "Observed",
    "Plan",
    "Request",
    "ResponseImportance",
    "State",
    "as_table",
    "check_target",
    "register_reader",
]


def register_reader(kind: type, reader: Callable[[Any, Any], Form] | None) -> None:
    """Let all measures use the fast response of a model family.

    Parameters
    ----------
    kind : type
        The exact type of the fitted models. Subclasses do not count: they may predict
        in another way.
    reader : callable or None
        (model, table) -> form. The model has the fitted `estimator` and the `method`
        that is watched; the table holds some rows of X. Raises `NotReadable`, with the
        reason, for what it cannot read exactly. None: the family is a black box again.

    Notes
    -----
    Registered for this process. On every fit the response is compared with the model's
    own output, and is not used if the two differ.

    Examples
    --------
    >>> import numpy as np
    >>> from skvarimp import SensitivityImportance
    >>> from skvarimp.extending import Additive, register_reader
    >>> class Prices:
    ...     def predict(self, X):
    ...         return X @ np.array([1.0, 2.0])
    >>> def read_prices(model, table):
    ...     weights = np.array([[1.0], [2.0]])
    ...     return Additive(weights=weights, intercept=np.zeros(1))
    >>> register_reader(Prices, read_prices)
    >>> imp = SensitivityImportance(scale=None).fit(Prices(), np.eye(2))
    >>> imp.response_path_
    'linear'
    >>> register_reader(Prices, None)
    """
    if not isinstance(kind, type):
        raise TypeError(
            f"`kind` must be a type, got {kind!r}. Use the class of the models."
        )
    if reader is None:
        OWN_READERS.pop(kind, None)
    elif callable(reader):
        OWN_READERS[kind] = reader
    else:
        raise TypeError(
            f"`reader` must be a function (model, table) -> form or None, got "
            f"{reader!r}."
        )
