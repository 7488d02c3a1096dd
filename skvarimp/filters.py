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
from scipy.stats import rankdata

from skvarimp._data.sparse_table import column_blocks
from skvarimp._data.table import as_table
from skvarimp._data.validation import (
    Interval,
    StrOptions,
    categories_of_numbers,
    check_class_labels,
    finite_numbers,
)
from skvarimp._lowess import lowess_fit
from skvarimp._measures.f_statistics import (
    COMPLETE,
    check_filter_rows,
    check_numeric_target,
    f_test,
    target_between_levels,
)
from skvarimp._models.labels import encoded
from skvarimp._running.guards import no_overflow
from skvarimp._running.private_sklearn import validate_parameter_constraints
from skvarimp._types import Floats, Matrix

__all__ = ["auc", "group_statistic", "lowess_r2"]

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
    A neighbourhood is the round(frac * n_samples) nearest rows, the point's
    own included; rows at its very edge have weight 0, and rows tied with each other the
    same weight. Where so many rows are tied with the point that the neighbourhood has
    no width, the local line is their mean, and so it is where all weight lies on one
    value. If all rows of a neighbourhood lose their weight, its first fit stays. If the
    curve fits at least half of the rows up to rounding, the iterations stop.

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
    y = check_numeric_target(y)
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
        return target_between_levels(X, y)
    table, X, y = _check_data(X, y)
    code = _class_codes(y)
    f, p = np.empty((2, table.n_columns))
    for columns, block in column_blocks(X):
        f[columns], p[columns] = f_test(block, code, "y")
    return f, p


def _check_data(X, y):
    """X as a table and as float64 without missing values, y as a 1-d array."""
    table = as_table(X)
    y = check_filter_rows(table, y)
    numeric = finite_numbers(table, COMPLETE)
    names = [table.column_names()[j] for j in categories_of_numbers(table)]
    if names:
        raise ValueError(f"The columns {names} are categories. {COMPLETE}")
    return table, numeric, y


def _class_codes(y):
    """The number of each row's class, (n_samples,)."""
    with warnings.catch_warnings():  # many classes of few rows are no mistake here
        warnings.filterwarnings("ignore", message="The number of unique classes")
        check_class_labels(y)
    classes, code = encoded(y)
    if len(classes) < 2:
        raise ValueError(f"y must hold at least two classes, got {classes.tolist()}.")
    return code
