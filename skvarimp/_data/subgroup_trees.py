"""Parts of the rows within which an entry hardly depends on the other columns.

A regression tree predicts the entry from the other columns, and its leaves are the
parts. Of an entry's columns, numbers are one standardised target each, missing values
an indicator, and categories an indicator for each of the most frequent levels.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import fdtrc
from sklearn.base import clone, is_classifier
from sklearn.tree import DecisionTreeRegressor

from skvarimp._data.table import SparseTable
from skvarimp._data.values import is_missing

# Measured by benchmarks/conditional_level.py; doc/correlated.rst explains the choice.
SMALLEST_PART = 15  # rows: with more, dependence is left; with fewer, no donors
CANDIDATES = 4  # columns that a tree may split on: those the entry depends on most
BINS = 16  # of each column, to tell how much an entry depends on it
CHANCE = 0.01  # of any candidate at all, where an entry depends on no other column
LEVELS = 20  # of a categorical column that get an indicator


@dataclass(frozen=True, eq=False)
class Predictors:
    """The columns of a table as a tree splits them, made once for all entries.

    Attributes
    ----------
    columns : float32 array or CSC of shape (n_samples, n_columns)
        Numbers by their rank, categories by their code, missing values last. The
        stored values themselves where X is sparse.
    bins : sparse array of shape (n_samples, n_bins)
        Which bin of which column a row is in. Of sparse X: whether it is not 0.
    owner : ndarray of shape (n_bins,)
        The column of each bin.
    """

    columns: object
    bins: sparse.csr_array
    owner: np.ndarray

    @classmethod
    def of(cls, table):
        """Those of a table."""
        n, p = table.n_samples, table.n_columns
        if isinstance(table, SparseTable):
            columns = table.csc().astype(np.float32)
            bins = sparse.csr_array((columns != 0).astype(np.float64))
            return cls(columns, bins, np.arange(p))
        columns = np.empty((n, p), dtype=np.float32, order="F")
        bins = np.empty((n, p), dtype=np.int64)
        for j in range(p):
            codes, values = table.factorize((j,))
            columns[:, j] = codes
            below = np.searchsorted(np.sort(codes), np.arange(len(values)))
            bins[:, j] = below[codes] * BINS // n
        bins += BINS * np.arange(p)
        starts = np.arange(0, n * p + 1, p)
        ones = np.ones(n * p)
        held = sparse.csr_array((ones, bins.ravel(), starts), shape=(n, BINS * p))
        return cls(columns, held, np.repeat(np.arange(p), BINS))

    def others(self, entry):
        """Positions of the columns that do not belong to an entry."""
        return np.setdiff1d(np.arange(self.columns.shape[1]), entry.columns)

    def nearest(self, entry, target, weights, n_rows):
        """The other columns that an entry depends on most, at most `CANDIDATES`.

        By the F statistic of the target's means in the bins of a column. A column whose
        statistic may be due to chance (Bonferroni) is none of them: splits on it would
        take donors away and gain nothing.

        Parameters
        ----------
        entry : Entry
        target : ndarray of shape (n_samples, n_targets)
        weights : ndarray of shape (n_samples,)
        n_rows : float
            Number of rows that the weights stand for.

        Returns
        -------
        ndarray of int
        """
        weighted = weights[:, np.newaxis] * target
        sums, masses = self.bins.T @ weighted, self.bins.T @ weights
        n_columns = self.columns.shape[1]
        rest = np.zeros((n_columns, target.shape[1]))
        np.subtract.at(rest, self.owner, sums)  # targets have mean 0
        left = 1.0 - np.bincount(self.owner, masses, n_columns)
        between = _over(np.square(rest).sum(axis=1), left)
        in_bins = _over(np.square(sums).sum(axis=1), masses)
        between += np.bincount(self.owner, in_bins, n_columns)
        n_bins = np.bincount(self.owner[masses > 0], minlength=n_columns) + (
            left > 1e-12
        )
        total = (weights @ target**2).sum()
        above, below = np.maximum(n_bins - 1, 1), np.maximum(n_rows - n_bins, 1e-9)
        statistic = _over(between / above, np.maximum(total - between, 0.0) / below)
        p_values = fdtrc(above, below, statistic)
        others = self.others(entry)
        others = others[p_values[others] * len(others) < CHANCE]
        order = np.argsort(-between[others], kind="stable")[:CANDIDATES]
        return np.sort(others[order])

    def dense(self, columns):
        """Some columns as an array."""
        part = self.columns[:, columns]
        return part.toarray() if sparse.issparse(part) else part


def _over(sums, masses):
    """sums / masses, 0 where there is no mass."""
    return np.divide(sums, masses, out=np.zeros_like(sums), where=masses > 1e-12)


def target_of(table, entry, weights, categorical):
    """What a tree predicts of an entry, (n_samples, n_targets), of mean 0.

    Parameters
    ----------
    table : Table
    entry : Entry
    weights : ndarray of shape (n_samples,)
        Sum to 1.
    categorical : frozenset of int
        Columns to treat as categorical besides those that are by their type.
    """
    targets = []
    for j in entry.columns:
        codes, donors = table.factorize((j,))
        values = table.column(j)[donors]
        if j in categorical or table.is_categorical(j):
            masses = np.bincount(codes, weights)
            frequent = np.argsort(-masses, kind="stable")[:LEVELS]
            indicators = (codes[:, np.newaxis] == frequent).astype(np.float64)
            targets.append(_standardised(indicators, weights))
            continue
        last = len(values) - 1  # missing values are one, the last
        missing = codes == (last if is_missing(values[last]) else len(values))
        numbers = codes if values.dtype.kind not in "fiu" else values[codes]
        numbers = np.where(missing, 0.0, numbers.astype(np.float64))
        known = weights * ~missing
        if known.any():
            numbers[missing] = known @ numbers / known.sum()
        targets.append(_standardised(numbers[:, np.newaxis], weights))
        if missing.any():
            targets.append(_standardised(missing[:, np.newaxis] * 1.0, weights))
    return np.hstack(targets)


def _standardised(target, weights):
    """Of mean 0, and a total variance of 1 over all its columns, or 0."""
    size = np.abs(target).max(initial=0.0)
    target = target / size if size > 0 else target
    centred = target - weights @ target
    variance = (weights @ centred**2).sum()
    return centred / np.sqrt(variance) if variance > 1e-24 else np.zeros_like(target)


def explained(target, parts, weights):
    """Share of the targets' variance that lies between the parts; 0 of a constant."""
    masses = np.bincount(parts, weights)
    total = (weights @ target**2).sum()
    between = sum(
        np.sum(np.bincount(parts, weights * one) ** 2 / masses) for one in target.T
    )
    return float(between / total) if total > 0 else 0.0


def parts_by_tree(predictors, entry, target, weights, total_weight, seed):
    """The leaves of a tree of at least `SMALLEST_PART` rows each.

    Parameters
    ----------
    predictors : Predictors
    entry : Entry
    target : ndarray of shape (n_samples, n_targets)
        See `target_of`.
    weights : ndarray of shape (n_samples,)
        Sum to 1.
    total_weight : float
        What they summed to before: the number of rows. Weights that are no counts,
        with a smaller sum, are taken to sum to n_samples.
    seed : int

    Returns
    -------
    ndarray of shape (n_samples,)
        The part of each row, from 0 on.
    """
    n_rows = max(total_weight, len(weights))
    columns = predictors.nearest(entry, target, weights, n_rows)
    least = (SMALLEST_PART - 1e-6) / n_rows
    if len(columns) == 0 or least > 0.5:
        return np.zeros(len(weights), dtype=np.intp)
    tree = DecisionTreeRegressor(min_weight_fraction_leaf=least, random_state=seed)
    return _leaves(tree, predictors.dense(columns), target, weights)


def parts_by_given_tree(tree, predictors, entry, target, codes, weights, seed):
    """The leaves of a scikit-learn tree that is cloned and fitted on the other columns.

    Parameters
    ----------
    tree : BaseDecisionTree
    predictors, entry, target, weights, seed
        See `parts_by_tree`.
    codes : ndarray of shape (n_samples,) or None
        The levels of a categorical entry, which classifiers predict.
    """
    if is_classifier(tree) and codes is None:
        raise ValueError(
            f"`conditional` is a {type(tree).__name__}, which predicts classes, but "
            f"{entry.name!r} is not categorical. Use a regression tree; it takes "
            "categorical entries as well."
        )
    tree = clone(tree)
    if tree.get_params().get("random_state", 0) is None:
        tree.set_params(random_state=seed)
    columns = predictors.others(entry)
    if len(columns) == 0:
        return np.zeros(len(weights), dtype=np.intp)
    target = codes if is_classifier(tree) else target
    return _leaves(tree, predictors.columns[:, columns], target, weights)


def _leaves(tree, columns, target, weights):
    weights = weights * len(weights)
    leaves = tree.fit(columns, target, sample_weight=weights).apply(columns)
    return np.unique(leaves, return_inverse=True)[1]
