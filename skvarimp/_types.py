"""The types of public signatures, by the words of the glossary.

Estimators and frames are known by what they can do, not by their class, and optional
packages are not imported for their names: both are `Any` where a type would say more
than is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

if TYPE_CHECKING:
    from matplotlib.axes import Axes
else:
    Axes = Any


class SupportsArray(Protocol):
    """An array, or what converts to one, such as the columns of a frame."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        """Convert."""


Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.intp]

# A scikit-learn estimator, a model with a response method, or a callable.
AnyEstimator: TypeAlias = Any
# pandas, polars or pyarrow: the library that X came in.
Frame: TypeAlias = Any
# X: an array, a frame (they convert to arrays), or sparse.
Matrix: TypeAlias = ArrayLike | sparse.sparray | sparse.spmatrix

Column: TypeAlias = str | int
Group: TypeAlias = Sequence[Column]
# `...` stands for each column that is not named.
Features: TypeAlias = (
    Sequence[Column | Group | EllipsisType]
    | Mapping[str, Column | Group]
    | SupportsArray
    | None
)
Pairs: TypeAlias = Sequence[Sequence[Column]] | SupportsArray | None
Triples: TypeAlias = Pairs
FeatureFunctions: TypeAlias = (
    Sequence[Callable[[Any], ArrayLike]]
    | Mapping[str, Callable[[Any], ArrayLike]]
    | None
)
NamedGrid: TypeAlias = Literal["all", "equidistant", "deciles"]
CustomGrid: TypeAlias = ArrayLike | Mapping[Any, ArrayLike]

ResponseMethod: TypeAlias = Literal[
    "auto", "predict_proba", "decision_function", "predict"
]
# Of a row: loss(y, outputs) -> (n_rows,), or one by name.
Loss: TypeAlias = (
    Literal[
        "auto",
        "squared_error",
        "absolute_error",
        "poisson_deviance",
        "gamma_deviance",
        "tweedie_deviance",
        "log_loss",
        "zero_one",
    ]
    | Callable[[Any, Any], ArrayLike]
)
Scoring: TypeAlias = str | Callable[..., float] | None
# Several scorers, too.
Scorings: TypeAlias = Scoring | Sequence[str] | Mapping[str, str | Callable[..., float]]
# "subgroups", "residuals", labels, labels of each feature, or an estimator.
Conditional: TypeAlias = (
    Literal["subgroups", "residuals"]
    | ArrayLike
    | Mapping[str, ArrayLike]
    | AnyEstimator
    | None
)
RandomState: TypeAlias = int | np.random.RandomState | np.random.Generator | None


class Splitter(Protocol):
    """What scikit-learn's cross-validation splitters can do."""

    def split(self, *args: Any, **kwargs: Any) -> Iterable[Any]:
        """Yield (training, held-out) positions."""

    def get_n_splits(self, *args: Any, **kwargs: Any) -> int:
        """Count them."""


CrossValidation: TypeAlias = (
    int | Splitter | Iterable[tuple[ArrayLike, ArrayLike]] | None
)
