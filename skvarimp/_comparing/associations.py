"""Which columns of X tell the same: associations of pairs, and groups by them."""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.cluster.hierarchy import average, fcluster
from scipy.spatial.distance import squareform
from scipy.stats import rankdata

from skvarimp._data.base_table import factorized, is_missing
from skvarimp._data.sparse_table import SparseTable
from skvarimp._data.table import as_table, resolve_columns
from skvarimp._data.validation import Interval, StrOptions
from skvarimp._display.matrix import DendrogramDisplay
from skvarimp._running.guards import no_overflow
from skvarimp._running.private_sklearn import validate_parameter_constraints
from skvarimp._types import Axes, Column, Matrix

CONSTRAINTS = {
    "threshold": [Interval(Real, 0, 1, closed="right")],
    "method": [StrOptions({"spearman", "pearson"})],
}
LEAST_ROWS = 3  # that two columns must have in common; two always lie on a line
MOST_COLUMNS = 10_000  # their associations take 800 MB


@no_overflow()
def correlated_groups(
    X: Matrix,
    *,
    threshold: float = 0.7,
    method: Literal["spearman", "pearson"] = "spearman",
    categorical_features: ArrayLike | None = None,
) -> CorrelatedGroups:
    """Groups of columns that are associated with each other, for `features`.

    Columns of one group tell nearly the same, so that one of them can stand in for
    another. Their importances taken alone may all be small. Moved together, or left
    out together, they show what the group carries. The model is not looked at.

    Parameters
    ----------
    X : {array-like, frame} of shape (n_samples, n_features)
        Numbers, dates, booleans and categories, with missing values or without.
    threshold : float, default=0.7
        The smallest mean association of two groups that are joined, in (0, 1].
    method : {"spearman", "pearson"}, default="spearman"
        Whether columns with an order are compared by their ranks or by their values.
    categorical_features : array-like or str, default=None
        Columns of numbers that are categories: names, positions, or a mask.

    Returns
    -------
    dict
        Label -> the group's columns, by name, or by position if X has no names. Every
        column is in one group; most groups may hold a single column. The dict has
        `plot()`, which draws how the columns were joined.

    Raises
    ------
    TypeError
        If X is sparse.

    See Also
    --------
    PermutationImportance : Takes the result as its `features`.
    leave_out_importances : Leaves one group out after the other.

    Notes
    -----
    The association of two columns is between 0 and 1, from the rows where neither is
    missing:

    - both have an order (numbers, dates, booleans, categories whose type declares
      one): the absolute correlation, of the ranks or of the values. Dates and
      categories have the position of their level as value;
    - one has an order: the correlation ratio, the square root of the share of its
      variance (of the ranks or of the values) between the categories of the other,
      corrected for the number of categories: the root of epsilon squared [1]_;
    - none has an order: Cramér's V, corrected for the numbers of categories [2]_.

    Without the corrections two columns of many categories would seem associated. The
    association is 0 where a column is constant and where fewer than 3 rows are known.

    Groups start as single columns. The two groups with the largest mean association
    over all pairs of a column of one and a column of the other are joined, again and
    again, until it is below `threshold`: average linkage on 1 - association.

    Cost: O(n_samples * n_features^2). Columns whose missing values lie in the same
    rows are compared by one product of matrices.

    References
    ----------
    .. [1] T. L. Kelley, "An Unbiased Correlation Ratio Measure", PNAS 21 (1935),
       554-559, eq. 8.
    .. [2] W. Bergsma, "A Bias-Correction for Cramér's V and Tschuprow's T", Journal of
       the Korean Statistical Society 42 (2013), 323-328, eqs. 8 to 10.

    Examples
    --------
    The second column falls where the first rises:

    >>> from skvarimp import correlated_groups
    >>> X = [[1, 9, 0], [2, 4, 1], [3, 3, 1], [4, 1, 0]]
    >>> correlated_groups(X)
    {'x0+x1': [0, 1], 'x2': [2]}
    """
    given = {"threshold": threshold, "method": method}
    validate_parameter_constraints(CONSTRAINTS, given, "correlated_groups")
    table = _checked(X)
    names, n_columns = table.column_names(), table.n_columns
    unordered = resolve_columns(categorical_features, table.names, n_columns, "of X")
    values, codes = _columns(table, unordered, method)
    linkage, labels = np.empty((0, 4)), np.ones(n_columns, dtype=np.intp)
    if n_columns > 1:
        distance = 1.0 - _associations(values, codes, method)
        # a sum of n products is as large as 1 only up to its rounding
        distance[distance < table.n_samples * np.finfo(np.float64).eps] = 0.0
        linkage = average(squareform(distance, checks=False))
        labels = fcluster(linkage, 1.0 - threshold, "distance")
    result, columns = CorrelatedGroups(), names if table.names else range(n_columns)
    for label in dict.fromkeys(labels.tolist()):  # by their first column
        members = np.flatnonzero(labels == label).tolist()
        name = _label([names[j] for j in members])
        while name in result:
            name += "'"
        result[name] = [columns[j] for j in members]
    result.display = DendrogramDisplay(linkage, names, threshold=threshold)
    return result


class CorrelatedGroups(dict[str, list[Column]]):
    """Label -> columns, and how they were joined; see `correlated_groups`.

    Attributes
    ----------
    display : DendrogramDisplay
    """

    display: DendrogramDisplay

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> DendrogramDisplay:
        """Draw how the columns were joined, and where the threshold cuts.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a figure.
        **kwargs : dict
            Passed to `DendrogramDisplay.plot`.

        Returns
        -------
        display : DendrogramDisplay
            Holds `ax_` and `figure_`.
        """
        return self.display.plot(ax, **kwargs)


def _checked(X):
    table = as_table(X)
    if isinstance(table, SparseTable):
        raise TypeError(
            "X must be an array or a frame, got a sparse matrix: correlated_groups "
            "compares every pair of columns. Pass X[:, columns].toarray()."
        )
    if table.n_columns == 0:
        raise ValueError("X has no columns.")
    if table.n_columns > MOST_COLUMNS:
        raise ValueError(
            f"X must have at most {MOST_COLUMNS} columns, of which every pair is "
            f"compared, got {table.n_columns}. Pass some of them."
        )
    if table.n_samples < LEAST_ROWS:
        raise ValueError(
            f"X must have at least {LEAST_ROWS} rows to compare its columns, got "
            f"{table.n_samples}."
        )
    return table


def _label(names):
    """The names of a few columns, or the first and how many there are."""
    return "+".join(names) if len(names) <= 3 else f"{names[0]}+{len(names) - 1} more"


def _columns(table, unordered, method):
    """Columns with an order and those without.

    Returns
    -------
    values : dict
        Position -> numbers, dates or levels as float64, NaN where missing.
    codes : dict
        Position -> number of the category, -1 where missing.
    """
    values, codes = {}, {}
    for j in range(table.n_columns):
        if j in unordered or table.has_levels(j):
            level, first = table.factorize([j])
            if is_missing(table.column(j)[first[-1]]):
                level = np.where(level == len(first) - 1, -1, level)
            if j in unordered or not table.has_order(j):
                codes[j] = level
            else:
                values[j] = np.where(level < 0, np.nan, level)
            continue
        values[j] = table.column(j).astype(np.float64)
        if method == "pearson" and np.isinf(values[j]).any():
            raise ValueError(
                f"X contains infinity in {table.column_names()[j]!r}. Use "
                "method='spearman', or replace it by a large number."
            )
    return values, codes


def _associations(values, codes, method):
    """Of all pairs of columns, (n_columns, n_columns) in [0, 1]."""
    n_columns = len(values) + len(codes)
    result = np.eye(n_columns)
    blocks = _by_missing(values)
    for b, (columns, block, known) in enumerate(blocks):
        for others, other, also_known in blocks[b:]:
            rows = known & also_known
            if rows.sum() >= LEAST_ROWS:
                one, two = _unit(block[rows], method), _unit(other[rows], method)
                result[np.ix_(columns, others)] = np.abs(one.T @ two)
                result[np.ix_(others, columns)] = result[np.ix_(columns, others)].T
        for j, level in codes.items():
            rows = known & (level >= 0)
            if rows.sum() >= LEAST_ROWS:
                ratios = _correlation_ratios(_unit(block[rows], method), level[rows])
                result[j, columns] = result[columns, j] = ratios
    for j, level in codes.items():
        for k, other in codes.items():
            rows = (level >= 0) & (other >= 0)
            if j < k and rows.sum() >= LEAST_ROWS:
                result[j, k] = result[k, j] = _cramers_v(level[rows], other[rows])
    result = np.minimum(result, 1.0)
    np.fill_diagonal(result, 1.0)
    return result


def _by_missing(values):
    """Columns whose missing values lie in the same rows, together.

    Returns
    -------
    list of (list of int, ndarray, ndarray)
        Positions; values, (n_samples, n_columns); which rows are known, (n_samples,).
    """
    alike = {}
    for j, column in values.items():
        alike.setdefault(np.isnan(column).tobytes(), []).append(j)
    return [
        (members, np.column_stack([values[j] for j in members]), known)
        for members in alike.values()
        for known in [~np.isnan(values[members[0]])]
    ]


def _unit(block, method):
    """Columns of mean 0 and length 1, of ranks or values; constant ones become 0."""
    if method == "spearman":
        block = rankdata(block, axis=0)
    constant = block.max(axis=0) == block.min(axis=0)
    block = block / np.maximum(np.abs(block).max(axis=0), np.finfo(np.float64).tiny)
    block -= block.mean(axis=0)
    length = np.sqrt(np.sum(block**2, axis=0))
    return block / np.where(constant, np.inf, length)


def _correlation_ratios(unit, level):
    """Roots of epsilon squared, (n_columns,), of columns of mean 0 and length 1."""
    n, sizes = len(level), np.bincount(level)
    n_levels = np.count_nonzero(sizes)
    if n_levels == n:
        return np.zeros(unit.shape[1])
    sums = np.zeros((len(sizes), unit.shape[1]))
    np.add.at(sums, level, unit)
    within = np.sum(unit**2, axis=0)  # 1, and 0 of a constant column
    within -= np.sum(sums**2 / np.maximum(sizes, 1)[:, np.newaxis], axis=0)
    constant = ~unit.any(axis=0)
    squared = 1.0 - within * (n - 1) / (n - n_levels)  # eq. 8 of [1]
    return np.where(constant, 0.0, np.sqrt(np.clip(squared, 0.0, 1.0)))


def _cramers_v(one, two):
    """Corrected for the numbers of categories, of rows without missing values."""
    n, (rows, columns) = len(one), (np.bincount(one), np.bincount(two))
    joint, first = factorized(one * len(columns) + two)
    cells = np.bincount(joint)
    phi = np.sum(cells / rows[one[first]] * (cells / columns[two[first]])) - 1.0
    extra = np.array([np.count_nonzero(rows), np.count_nonzero(columns)]) - 1.0
    phi = max(phi - extra.prod() / (n - 1), 0.0)  # eq. 8 of [2]
    extra -= extra**2 / (n - 1)
    return np.sqrt(phi / extra.min()) if extra.min() > 0 else 0.0
