"""scikit-learn's inspection functions with the same results, faster.

A changed import is all it takes::

    from skvarimp.inspection import permutation_importance

scikit-learn's own functions check the input, shuffle, score and draw. Only their slow
part, the model's output at moved rows, comes from the fast responses of this package.
Models without a fast response are called as scikit-learn calls them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from inspect import unwrap
from types import FunctionType
from typing import Any, Literal

import numpy as np
import sklearn.inspection
from joblib import effective_n_jobs
from numpy.typing import ArrayLike

from skvarimp._data.entries import Entry
from skvarimp._data.table import SparseTable, as_table
from skvarimp._inspection import PermutedScores
from skvarimp._measures.scores import Responses
from skvarimp._response.grid import Move
from skvarimp._running.memory import HELD, even_slices
from skvarimp._running.private_sklearn import SLOW_PARTS, check_arguments
from skvarimp._types import AnyEstimator, Matrix

__all__ = ["PartialDependenceDisplay", "partial_dependence", "permutation_importance"]


def permutation_importance(
    estimator: AnyEstimator,
    X: Matrix,
    y: ArrayLike | None,
    *,
    scoring: Any = None,
    n_repeats: int = 5,
    n_jobs: int | None = None,
    random_state: Any = None,
    sample_weight: ArrayLike | None = None,
    max_samples: int | float = 1.0,
) -> Any:
    """Score lost when a column is shuffled, as by scikit-learn.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), or None
        Target.
    scoring : str, callable, list, tuple, or dict, default=None
        Scorers; None: the estimator's own `score`.
    n_repeats : int, default=5
        Shuffles of each column.
    n_jobs : int, default=None
        Number of joblib workers over the columns.
    random_state : int, RandomState or None, default=None
        Of the shuffles.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights for the scorer.
    max_samples : int or float, default=1.0
        Rows to draw for each column, a number or a share.

    Returns
    -------
    result : Bunch, or dict of them
        With `importances_mean`, `importances_std` and `importances` of shape
        (n_features, n_repeats), in units of the score.

    See Also
    --------
    skvarimp.PermutationImportance : The exact mean over all donors, with standard
        errors.

    Notes
    -----
    The same int `random_state` gives the same permutations, so that `importances`
    equal scikit-learn's to rounding. For models with a fast response and scorers given
    by name, all columns and shuffles are served together as far as memory allows. With
    other scorers, or `max_samples` below the number of rows, everything is computed as
    by scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from skvarimp.inspection import permutation_importance
    >>> X, y = make_friedman1(200, random_state=0)
    >>> tree = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, y)
    >>> result = permutation_importance(tree, X, y, random_state=0)
    >>> result.importances.shape
    (10, 5)
    """
    given = dict(locals())
    function = sklearn.inspection.permutation_importance
    if not hasattr(X, "shape"):
        return function(**given)
    check_arguments(function, given)
    how = estimator, X, scoring, effective_n_jobs(n_jobs) == 1
    name = "_calculate_permutation_scores"
    return rebound(function, name, lambda old: PermutedScores(old, *how))(**given)


def partial_dependence(
    estimator: AnyEstimator,
    X: Matrix,
    features: Any,
    *,
    sample_weight: ArrayLike | None = None,
    categorical_features: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    response_method: Literal["auto", "predict_proba", "decision_function"] = "auto",
    percentiles: tuple[float, float] = (0.05, 0.95),
    grid_resolution: int = 100,
    custom_values: Mapping[Any, ArrayLike] | None = None,
    method: Literal["auto", "recursion", "brute"] = "auto",
    kind: Literal["average", "individual", "both"] = "average",
) -> Any:
    """Mean response as columns move through a grid, as by scikit-learn.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X : {array-like, frame, sparse} of shape (n_samples, n_features)
        Rows.
    features : array-like of {int, str, bool}, or int or str
        The column, or several that move together.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the mean.
    categorical_features : array-like, default=None
        Columns whose grid is their values.
    feature_names : sequence of str, default=None
        Names of the columns.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        The response of a classifier.
    percentiles : tuple of float, default=(0.05, 0.95)
        Ends of the grid.
    grid_resolution : int, default=100
        Values of the grid for each column.
    custom_values : dict, default=None
        Grids of columns.
    method : {"auto", "recursion", "brute"}, default="auto"
        As in :func:`sklearn.inspection.partial_dependence`: "auto" is the recursion
        for some trees, which ignores the rows' distribution.
    kind : {"average", "individual", "both"}, default="average"
        Averages, or the curve of each row, or both.

    Returns
    -------
    result : Bunch
        With `average`, `individual` and `grid_values`.

    See Also
    --------
    skvarimp.PartialDependenceImportance : An importance from the same curves.

    Notes
    -----
    The recursion is scikit-learn's. The brute method is faster for models with a fast
    response, on grids of numbers. scikit-learn itself moves X to values that X does not
    store as given (fractions among integers), that are not finite, and to the zeros
    of a sparse X, which it stores.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.linear_model import LinearRegression
    >>> from skvarimp.inspection import partial_dependence
    >>> X, y = make_friedman1(200, random_state=0)
    >>> line = partial_dependence(LinearRegression().fit(X, y), X, [3])
    >>> line["average"].shape
    (1, 100)
    """
    given = dict(locals())
    function, name = sklearn.inspection.partial_dependence, "_partial_dependence_brute"
    check_arguments(function, given)
    return rebound(function, name, lambda old: partial(fast_curves, old, kind))(**given)


class PartialDependenceDisplay(sklearn.inspection.PartialDependenceDisplay):
    """scikit-learn's display of the numbers of `partial_dependence` here.

    See :class:`sklearn.inspection.PartialDependenceDisplay` for parameters,
    attributes and methods, which are all the same.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.linear_model import LinearRegression
    >>> from skvarimp.inspection import PartialDependenceDisplay
    >>> X, y = make_friedman1(200, random_state=0)
    >>> line = LinearRegression().fit(X, y)
    >>> display = PartialDependenceDisplay.from_estimator(line, X, [0, (1, 3)])
    >>> display.axes_.shape
    (1, 2)
    """

    @classmethod
    def from_estimator(cls, *args: Any, **kwargs: Any) -> Any:
        """Draw partial dependence and the curves of rows.

        Parameters
        ----------
        *args, **kwargs : tuple and dict
            As in scikit-learn's method of this name.

        Returns
        -------
        display : PartialDependenceDisplay
            The drawn display.
        """
        method = sklearn.inspection.PartialDependenceDisplay.from_estimator.__func__
        method = rebound(method, "partial_dependence", lambda _: partial_dependence)
        return method(cls, *args, **kwargs)


def rebound(function, name, make):
    """A copy of a function of scikit-learn that calls a replacement of what it calls.

    scikit-learn's own module is not touched, so that other threads and callers see
    nothing of it.

    Parameters
    ----------
    function : callable
        Perhaps wrapped by scikit-learn's decorators. It is returned itself where it
        calls nothing by the name.
    name : str
        One of `SLOW_PARTS`, by which it calls a (private) function.
    make : callable
        make(original function) -> its replacement.
    """
    assert name in SLOW_PARTS
    inner = unwrap(function)
    if name not in inner.__globals__:
        return function
    known = inner.__globals__ | {name: make(inner.__globals__[name])}
    copy = FunctionType(inner.__code__, known, closure=inner.__closure__)
    copy.__defaults__, copy.__kwdefaults__ = inner.__defaults__, inner.__kwdefaults__
    return copy


def fast_curves(original, kind, *given):
    """Takes the place of the function that moves X through a grid.

    Parameters
    ----------
    original : callable
        scikit-learn's, which serves where this cannot.
    kind : {"average", "individual", "both"}
        Whether the curves of single rows are wanted.
    *given : tuple
        As for the original.

    Returns
    -------
    (averages, predictions)
        Of shapes (n_outputs, n_points) and as scikit-learn's.
    """
    est, grid, features, X, response_method, sample_weight = given
    grid = np.asarray(grid)
    if grid.dtype.kind not in "fiu" or not hasattr(X, "shape"):
        return original(*given)
    table, columns = as_table(X), tuple(int(j) for j in np.ravel(features))
    entry = Entry("moved", columns, len(columns) > 1)
    takes_numbers = all(map(table.takes_numbers, columns))
    if len(set(columns)) < len(columns) or not takes_numbers:
        return original(*given)
    grid = grid.astype(np.float64)
    if isinstance(X, np.ndarray) and X.dtype.kind == "f":
        grid = grid.astype(X.dtype).astype(np.float64)  # as X stores them
    served = _kept_as_given(table, columns, grid)
    problem, response = Responses(est, table, [entry]).of(response_method)
    # scikit-learn refuses labels
    if response is None or problem.model.kind == "label" or not served.any():
        return original(*given)
    found = _served(problem, response, entry, grid[served], kind, sample_weight)
    if served.all():
        return found
    rest = original(est, grid[~served], features, X, response_method, sample_weight)
    back = np.argsort(np.argsort(~served, kind="stable"))
    return tuple(
        np.concatenate([ours, theirs.reshape(*ours.shape[:-1], -1)], axis=-1)[..., back]
        for ours, theirs in zip(found, rest)
    )


def _kept_as_given(table, columns, grid):
    """Which points of a grid X stores as they are, (n_points,).

    Integers are truncated. Models may refuse numbers that are not finite, and tell a
    zero that a sparse X stores from an absent one.
    """
    kept = np.isfinite(grid)
    with np.errstate(invalid="ignore", over="ignore"):
        for at, j in enumerate(columns):
            stored = grid[:, at].astype(table.column(j).dtype)
            kept[:, at] &= stored == grid[:, at]
    if isinstance(table, SparseTable):
        kept &= grid != 0
    return kept.all(axis=1)


def _served(problem, response, entry, grid, kind, sample_weight):
    """Averages and predictions from a fast response; see `fast_curves`."""
    values, back = np.unique(grid, axis=0, return_inverse=True)
    back = np.ravel(back)
    if len(entry.columns) == 1:
        values = values[:, 0]
    equal = np.full(len(values), 1.0 / len(values))
    move = Move(entry, values, None, equal, None, False)
    n = problem.table.n_samples
    weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight)
    weights = weights / weights.sum()
    base, rows = problem.base, np.arange(n)
    if kind == "average":
        means = response.mean_curves(problem.table, rows, weights, move, base)
        means = means + (base @ weights)[:, np.newaxis]
        predictions = np.zeros((len(base), n, len(back)))
    else:
        curves = np.empty((len(base), n, len(values)))
        for part in even_slices(n, max(1, HELD // len(values))):
            some = problem.table, rows[part], move, base[:, part]
            curves[:, part] = response.curves(*some)
        means = np.einsum("onk,n->ok", curves, weights)
        predictions = curves[:, :, back]
    if len(base) == 1:
        predictions = predictions[0]
    return means[:, back], predictions
