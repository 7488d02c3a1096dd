"""Filters: scores of single columns against y, without any model.

Each is a `score_func(X, y)` for :class:`sklearn.feature_selection.SelectKBest` and
its relatives, and for :class:`skvarimp.FilterImportance`. A filter sees one column at
a time: it misses what columns do jointly, and credits a column for what it merely
repeats of another.

References
----------
.. [1] Greenwell, McCarthy & Boehmke (2017), A general model-based variable importance
   metric for supervised learning, section 2.2.
.. [2] Cleveland (1979), Robust locally weighted regression and smoothing scatterplots,
   Journal of the American Statistical Association 74, 829-836.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, special
from scipy.stats import rankdata

from skvarimp._data.sparse_table import column_blocks
from skvarimp._data.table import as_table
from skvarimp._data.validation import (
    Interval,
    StrOptions,
    check_class_labels,
    check_target,
    finite_numbers,
    numeric_target,
)
from skvarimp._lowess import lowess_fit
from skvarimp._models.labels import encoded
from skvarimp._running.guards import no_overflow
from skvarimp._running.private_sklearn import validate_parameter_constraints
from skvarimp._types import Floats, Matrix

__all__ = ["auc", "group_statistic", "lowess_r2"]

COMPLETE = (
    "Filters, like all score functions of SelectKBest, take complete columns of "
    "numbers: impute missing values and encode others first, or use group_statistic "
    "with groups='X'."
)
LOWESS_CONSTRAINTS = {
    "frac": [Interval(Real, 0, 1, closed="right")],
    "n_iter": [Interval(Integral, 0, 1000, closed="both")],
    "n_fits": [Interval(Integral, 2, None, closed="left"), None],
}


@no_overflow()
def lowess_r2(
    X: Matrix,
    y: ArrayLike,
    *,
    frac: float = 2 / 3,
    n_iter: int = 3,
    n_fits: int | None = 200,
) -> Floats:
    """Share of y's variance explained by a smooth curve in each column by itself.

    1 - SSE / SST of Cleveland's robust LOWESS of y on the column: local lines with
    tricube weights over the nearest `frac` of the rows, refitted `n_iter` times with
    bisquare weights that let outlying rows go. It is measured on the rows fitted, and
    rows that were let go still count in SSE, so that it may fall below 0.

    Parameters
    ----------
    X : {array-like, frame, sparse} of shape (n_samples, n_features)
        Numbers, without missing values.
    y : array-like of shape (n_samples,)
        Numeric target.
    frac : float, default=2/3
        Share of the rows in each neighbourhood, in (0, 1].
    n_iter : int, default=3
        Robustifying iterations, at most 1000; 0 for plain least squares.
    n_fits : int or None, default=200
        Columns with at most so many distinct values are fitted exactly. Others have
        lines fitted at no more than `n_fits` + 2 of their values, half of them equally
        spaced in rows, half in value, with linear interpolation in between; None fits
        every distinct value.

    Returns
    -------
    ndarray of shape (n_features,)
        At most 1; 0 for a constant column.

    Notes
    -----
    A neighbourhood is the round(frac * n_samples) nearest rows, the point's own
    included; rows at its very edge have weight 0, and rows tied with each other the
    same weight. Where so many rows are tied with the point that the neighbourhood has
    no width, the local line is their mean, and so it is where all weight lies on one
    value. Where all rows of a neighbourhood are let go, the first fit stays; where at
    least half the rows are met to rounding, there is no scale to call a residual large
    and the iterations stop.

    Cost: O(n_samples * n_fits) a column and iteration.

    Examples
    --------
    The parabola is invisible to a correlation:

    >>> import numpy as np
    >>> from skvarimp.filters import lowess_r2
    >>> x = np.linspace(-1, 1, 101)
    >>> X = np.column_stack([x, np.ones(101)])
    >>> lowess_r2(X, x**2).round(2)
    array([0.95, 0.  ])
    """
    given = {"frac": frac, "n_iter": n_iter, "n_fits": n_fits}
    validate_parameter_constraints(LOWESS_CONSTRAINTS, given, "lowess_r2")
    table, X, y = _check_data(X, y)
    y = _check_numeric_target(y)
    about_mean = y - y.mean()
    total = about_mean @ about_mean
    scores = np.zeros(table.n_columns)
    for columns, block in column_blocks(X):
        fitted = lowess_fit(block, about_mean, frac, n_iter, n_fits)
        error = np.sum((about_mean[:, np.newaxis] - fitted) ** 2, axis=0)
        varies = block.max(axis=0) > block.min(axis=0)
        scores[columns] = np.where(varies, 1.0 - error / total, 0.0)
    return scores


@no_overflow()
def auc(X: Matrix, y: ArrayLike) -> Floats:
    """Area under the ROC curve of each column by itself, in either direction.

    With a the chance that a row of a class holds a larger value than a row of another
    class, ties counting half, the score is max(a, 1 - a): 0.5 for a column that says
    nothing, 1 for one that separates the classes. With more than two classes, the
    largest over the classes, each against the rest. A class in the middle of two
    others goes unnoticed by this.

    Parameters
    ----------
    X : {array-like, frame, sparse} of shape (n_samples, n_features)
        Numbers, without missing values.
    y : array-like of shape (n_samples,)
        Class labels of two or more classes.

    Returns
    -------
    ndarray of shape (n_features,)
        Between 0.5 and 1; 0.5 for a constant column.

    Notes
    -----
    a = (R - m (m + 1) / 2) / (m (n - m)), with R the sum of the average ranks of the m
    rows of the class (Mann and Whitney's statistic). Cost: a sort per column.

    Examples
    --------
    Of the four pairs of a row of class 1 and one of class 0, the first column orders
    three correctly:

    >>> from skvarimp.filters import auc
    >>> auc([[1, 5], [3, 5], [2, 5], [4, 5]], [0, 0, 1, 1])
    array([0.75, 0.5 ])
    """
    table, X, y = _check_data(X, y)
    code = _class_codes(y)
    members = np.eye(code.max() + 1)[code]  # (n_samples, n_classes)
    if members.shape[1] == 2:
        members = members[:, 1:]
    n_in = members.sum(axis=0)[:, np.newaxis]
    n_pairs = n_in * (len(y) - n_in)
    scores = np.empty(table.n_columns)
    for columns, block in column_blocks(X):
        rank_sums = members.T @ rankdata(block, axis=0)
        area = (rank_sums - n_in * (n_in + 1) / 2) / n_pairs
        scores[columns] = np.maximum(area, 1.0 - area).max(axis=0)
    return scores


@no_overflow()
def group_statistic(
    X: Matrix, y: ArrayLike, *, groups: Literal["y", "X"] = "y"
) -> tuple[Floats, Floats]:
    """F statistic of each column by itself: variance between over within groups.

    The one-way analysis of variance; for two groups F is the square of Student's t.

    Parameters
    ----------
    X : {array-like, frame, sparse} of shape (n_samples, n_features)
        Without missing values; numbers if they are compared between groups.
    y : array-like of shape (n_samples,)
        Class labels, or numbers where the columns are the groups.
    groups : {"y", "X"}, default="y"
        What makes the groups. "y": each column's means in the classes of y are
        compared, for numeric columns and a classification. "X": the means of y at the
        distinct values of each column are compared, for categorical columns (numbers
        or strings) and a regression.

    Returns
    -------
    f_statistic : ndarray of shape (n_features,)
        0 for a column (or target) whose group means agree, constants included;
        infinite for groups without any variance within, but different means.
    p_values : ndarray of shape (n_features,)
        Chance of so large an F with normal errors of one variance in all groups and
        equal means.

    Notes
    -----
    Equals :func:`sklearn.feature_selection.f_classif` for groups="y", but for constant
    columns (NaN there, 0 with p-value 1 here); the sums of squares are taken about the
    means, so that a large common offset costs no digits. A column whose variance
    within groups is below 1e-26 of its square counts as having none. Cost: O(n_samples)
    a column and group.

    Examples
    --------
    Means 2 and 5, variance 1 within: t = 3 / sqrt(2/3), F = 13.5.

    >>> from skvarimp.filters import group_statistic
    >>> X = [[1], [2], [3], [4], [5], [6]]
    >>> f, p = group_statistic(X, [0, 0, 0, 1, 1, 1])
    >>> f, p.round(4)
    (array([13.5]), array([0.0213]))
    """
    allowed = {"groups": [StrOptions({"y", "X"})]}
    validate_parameter_constraints(allowed, {"groups": groups}, "group_statistic")
    if groups == "X":
        return _target_between_levels(X, y)
    table, X, y = _check_data(X, y)
    code = _class_codes(y)
    f, p = np.empty((2, table.n_columns))
    for columns, block in column_blocks(X):
        f[columns], p[columns] = _f_test(block, code, "y")
    return f, p


def _target_between_levels(X, y):
    """F of y between the distinct values of each column, and its p-values."""
    table = as_table(X)
    y = _check_numeric_target(_check_rows(table, y))
    f, p = np.zeros(table.n_columns), np.ones(table.n_columns)
    for j, name in enumerate(table.column_names()):
        levels = table.column(j)
        if levels.dtype.kind == "f" and np.isnan(levels).any():
            raise ValueError(f"X contains NaN in {[name]}. {COMPLETE}")
        level = table.factorize([j])[0]
        if level.any():  # a constant column makes no groups
            ((f[j],), (p[j],)) = _f_test(y[:, np.newaxis], level, f"column {name!r}")
    return f, p


def _f_test(values, group, what):
    """F of columns between groups, (n_columns,), and its p-values."""
    n_in = np.bincount(group)
    n_samples, n_groups = len(values), len(n_in)
    if n_samples <= n_groups:
        raise ValueError(
            f"{what} makes {n_groups} groups of {n_samples} rows: nothing is left to "
            "measure the variance within groups. Each group but one may hold a single "
            "row, not all of them."
        )
    freedom, centred = (n_groups - 1, n_samples - n_groups), values - values.mean(0)
    members = sparse.csr_array((np.ones(n_samples), group, np.arange(n_samples + 1)))
    means = (members.T @ centred) / n_in[:, np.newaxis]  # (n_groups, n_columns)
    between = n_in @ means**2
    centred -= members @ means
    within = np.sum(centred**2, axis=0)
    # sums of squares below this are 0
    rounding = 1e-26 * n_samples * np.abs(values).max(axis=0) ** 2
    between = np.where(between > rounding, between, 0.0) / freedom[0]
    within = np.where(within > rounding, within, 0.0) / freedom[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        f = np.where(between > 0, between / within, 0.0)
    return f, special.fdtrc(*freedom, f)


def _check_rows(table, y):
    if y is None:
        raise ValueError("y is needed: a filter compares each column with it.")
    y = check_target(y, table.n_samples)
    if y.ndim == 2:
        raise ValueError(
            f"y must be 1-dimensional, got {y.shape[1]} outputs. Score each by itself."
        )
    if table.n_columns == 0:
        raise ValueError("X has no columns.")
    return y


def _check_data(X, y):
    """X as a table and as float64 without missing values, y as a 1-d array."""
    table = as_table(X)
    y = _check_rows(table, y)
    return table, finite_numbers(table, COMPLETE), y


def _check_numeric_target(y):
    y = numeric_target(
        y, "Use auc or group_statistic to compare columns between classes."
    )
    if np.all(y == y[:1]):
        raise ValueError("y is constant: there is no variance to explain.")
    return y


def _class_codes(y):
    """The number of each row's class, (n_samples,)."""
    with warnings.catch_warnings():  # many classes of few rows are no mistake here
        warnings.filterwarnings("ignore", message="The number of unique classes")
        check_class_labels(y)
    classes, code = encoded(y)
    if len(classes) < 2:
        raise ValueError(f"y must hold at least two classes, got {classes.tolist()}.")
    return code
