"""Parts of the rows within which a feature hardly depends on the other columns.

A regression tree predicts the feature from the other columns, and its leaves are the
parts. Each numeric column of a feature is one standardised target, with an indicator of
its missing values. A categorical column has an indicator for each frequent level.

Integer weights and repeated rows give the same parts. Of splits that are equally good
one is better by rounding, and rounding depends on the order of a sum. So trees get
targets and counts whose sums are exact in any order, and what is ranked is rounded.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import fdtrc
from sklearn.base import clone, is_classifier
from sklearn.tree import BaseDecisionTree, DecisionTreeRegressor

from skvarimp._data.base_table import dense, factorized, is_missing, numbers_if_possible
from skvarimp._data.sparse_table import SparseTable
from skvarimp._data.table import check_known
from skvarimp._response.conditional import Subgroups
from skvarimp._response.grid import kind_of
from skvarimp._response.rounds import feature_seeds
from skvarimp._running.tasks import in_order

# `benchmarks/coverage.py conditional` measures it; doc/correlated.rst has the choice.
SMALLEST_PART = 15  # rows: with more, dependence is left; with fewer, no donors
CANDIDATES = 4  # columns that a tree may split on: those the feature depends on most
BINS = 8  # of each column, to tell how much a feature depends on it
CHANCE = 0.001  # of any candidate at all, where a feature depends on no other column
LEVELS = 20  # of a categorical column that get an indicator


@dataclass(frozen=True, eq=False)
class Predictors:
    """The columns of a table as a tree splits them, made once for all features.

    Attributes
    ----------
    columns : float32 array or CSC of shape (n_samples, n_columns)
        Numbers by their rank, categories by their code, missing values last. The
        stored values themselves where X is sparse.
    bins : sparse array of shape (n_samples, n_columns * BINS)
        Which bin of each column a row is in. Rows that store no value are in none.
    """

    columns: object
    bins: sparse.csr_array

    @classmethod
    def of(cls, table, weights):
        """Those of a table with weights that sum to 1."""
        n, p = table.n_samples, table.n_columns
        if isinstance(table, SparseTable):
            columns = table.csc.astype(np.float32)
            bins = np.empty(columns.nnz, dtype=np.int64)
            for j in np.flatnonzero(np.diff(columns.indptr)):
                stored = slice(*columns.indptr[[j, j + 1]])
                codes, _ = factorized(columns.data[stored])
                bins[stored] = _bins(codes, weights[columns.indices[stored]]) + j * BINS
            held = np.ones(len(bins)), (columns.indices, bins)
            return cls(columns, sparse.csr_array(held, shape=(n, p * BINS)))
        columns = np.empty((n, p), dtype=np.float32, order="F")
        bins = np.empty((n, p), dtype=np.int32)
        for j in range(p):
            codes, _ = table.factorize((j,))
            columns[:, j] = codes
            bins[:, j] = _bins(codes, weights) + j * BINS
        held = np.ones(n * p), bins.ravel(), np.arange(0, n * p + 1, p)
        return cls(columns, sparse.csr_array(held, shape=(n, p * BINS)))

    def others(self, feature):
        """Positions of the columns that do not belong to a feature."""
        return np.setdiff1d(np.arange(self.columns.shape[1]), feature.columns)

    def nearest(self, feature, target, weights, n_rows):
        """The other columns that a feature depends on most, at most `CANDIDATES`.

        By the F statistic of the target's means in the bins of a column. A column whose
        statistic may be due to chance (Bonferroni) is none of them: splits on it would
        take donors away and gain nothing.

        Parameters
        ----------
        feature : Feature
        target : ndarray of shape (n_samples, n_targets)
        weights : ndarray of shape (n_samples,)
        n_rows : float
            Number of rows that the weights stand for.

        Returns
        -------
        ndarray of int
        """
        n_columns = self.columns.shape[1]
        sums = self.bins.T @ (weights[:, np.newaxis] * target)
        sums = sums.reshape(n_columns, BINS, -1)
        masses = (self.bins.T @ weights).reshape(n_columns, BINS)
        # targets have mean 0: what the rows outside of all bins hold
        sums = np.concatenate([sums, -sums.sum(axis=1, keepdims=True)], axis=1)
        masses = np.column_stack([masses, 1.0 - masses.sum(axis=1)])
        filled = masses > 1e-12
        squares = np.square(sums).sum(axis=2)
        between = np.divide(squares, masses, out=0.0 * masses, where=filled).sum(axis=1)
        n_bins = filled.sum(axis=1)
        total = (weights @ target**2).sum()
        above, below = np.maximum(n_bins - 1, 1), np.maximum(n_rows - n_bins, 1e-9)
        within = np.maximum(total - between, 1e-12)  # not 0 for a copy
        p_values = fdtrc(above, below, (between / above) / (within / below))
        others = self.others(feature)
        others = others[p_values[others] * len(others) < CHANCE]
        return np.sort(others[_largest(between[others], CANDIDATES)])


def _largest(values, n):
    """Positions of the n largest positive values; of equal ones the first."""
    rounded = np.round(values / values.max(initial=1e-300), 9)
    return np.argsort(-rounded, kind="stable")[:n]


def _bins(codes, weights):
    """The bin of each value, of equal weight; equal values share a bin."""
    masses = np.bincount(codes, weights)
    below = (np.cumsum(masses) - masses) / masses.sum()
    return np.minimum((BINS * below + 1e-9).astype(int), BINS - 1)[codes]


def target_of(table, feature, weights, categorical):
    """What a tree predicts of a feature, (n_samples, n_targets), of mean 0.

    Parameters
    ----------
    table : Table
    feature : Feature
    weights : ndarray of shape (n_samples,)
        Sum to 1.
    categorical : frozenset of int
        Columns to treat as categorical besides those that are by their type.
    """
    targets = []
    for j in feature.columns:
        codes, donors = table.factorize((j,))
        values = table.column(j)[donors]
        if j in categorical or table.is_categorical(j):
            frequent = _largest(np.bincount(codes, weights), LEVELS)
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
    if len(masses) == 1:
        return 0.0
    total = (weights @ target**2).sum()
    between = sum(
        np.sum(np.bincount(parts, weights * one) ** 2 / masses) for one in target.T
    )
    return float(between / total) if total > 0 else 0.0


def parts_by_tree(predictors, feature, target, problem, seed):
    """The leaves of a tree of at least `SMALLEST_PART` rows each.

    Parameters
    ----------
    predictors : Predictors
    feature : Feature
    target : ndarray of shape (n_samples, n_targets)
    problem : Problem
        Weights that are no counts, with a sum of less than n_samples, are taken to sum
        to n_samples.
    seed : int

    Returns
    -------
    ndarray of shape (n_samples,)
        The part of each row, from 0 on.
    """
    weights = problem.weights
    n_rows = max(problem.total_weight, len(weights))
    columns = predictors.nearest(feature, target, weights, n_rows)
    least = (SMALLEST_PART - 1e-6) / n_rows
    if len(columns) == 0 or least > 0.5:
        return np.zeros(len(weights), dtype=np.intp)
    tree = DecisionTreeRegressor(min_weight_fraction_leaf=least, random_state=seed)
    columns = dense(predictors.columns[:, columns])
    return _leaves(tree, columns, target, problem)


def parts_by_given_tree(tree, predictors, feature, target, problem, seed):
    """The leaves of a scikit-learn tree that is cloned and fitted on the other columns.

    Parameters
    ----------
    tree : BaseDecisionTree
    predictors, feature, problem, seed
        See `parts_by_tree`.
    target : ndarray of shape (n_samples,) or (n_samples, n_targets)
        For a classifier levels.
    """
    tree = clone(tree)
    if tree.get_params().get("random_state", seed) is None:
        tree.set_params(random_state=seed)
    columns = predictors.others(feature)
    if len(columns) == 0:
        return np.zeros(len(problem.weights), dtype=np.intp)
    return _leaves(tree, predictors.columns[:, columns], target, problem)


def _leaves(tree, columns, target, problem):
    weights, total_weight = problem.weights, problem.total_weight
    counts = weights * total_weight
    near = np.allclose(counts, np.round(counts), rtol=1e-9, atol=0.0)
    if near and total_weight < 2**52:
        counts = np.round(counts)
    else:
        counts = weights * len(weights)
    if not is_classifier(tree):
        target = _summable(target, counts)
    leaves = tree.fit(columns, target, sample_weight=counts).apply(columns)
    return np.unique(leaves, return_inverse=True)[1]


def _summable(target, counts):
    """Targets rounded so that sums of them and of their squares are exact.

    The squares sum to the counts for each column of a feature (`_standardised`), and 52
    bits hold them. With more than 2**20 rows the sums are exact to 16 bits only.
    """
    squares = counts.sum() * target.shape[1]
    bits = max(16, int(52 - np.ceil(np.log2(squares))) // 2)
    return np.ldexp(np.round(np.ldexp(target, bits)), -bits)


def parts_of_feature(task, problem, tree, given, categorical):
    """(part of each row, share of the variance between the parts) of a feature.

    From the `Predictors` of a tree, or from labels.
    """
    (feature, seed), table, weights = task, problem.table, problem.weights
    target = target_of(table, feature, weights, categorical)
    if isinstance(tree, str):
        parts = parts_by_tree(given, feature, target, problem, seed)
    elif isinstance(tree, BaseDecisionTree):
        learned = target
        if is_classifier(tree):
            learned = _levels(tree, table, feature, categorical)
        parts = parts_by_given_tree(tree, given, feature, learned, problem, seed)
    else:  # all rows are one part for a feature without labels
        parts = given.get(feature.name, np.zeros(table.n_samples, dtype=np.intp))
    return parts, explained(target, parts, weights)


def _levels(tree, table, feature, categorical):
    """The levels of a categorical feature, which a classifier predicts."""
    if not kind_of(table, feature, categorical).categorical:
        raise ValueError(
            f"`conditional` is a {type(tree).__name__}, which predicts classes, but "
            f"{feature.name!r} is not categorical. Use a regression tree; it takes "
            "categorical features as well."
        )
    return table.factorize(feature.columns)[0]


def parts_by_labels(given, features, kept):
    """Feature name -> the part of each row that is kept, as the user's labels say."""
    names = [feature.name for feature in features]
    if not isinstance(given, Mapping):
        return dict.fromkeys(names, _codes(given, kept, "`conditional`"))
    for name in given:
        check_known(name, names, "conditional")
    return {
        name: _codes(labels, kept, f"`conditional` of {name!r}")
        for name, labels in given.items()
    }


def _codes(labels, kept, name):
    """Numbers of the labels of the rows of positive weight."""
    labels = np.asarray(labels)
    if labels.shape != kept.shape:
        raise ValueError(
            f"{name} must hold one label per row of X, shape {kept.shape}, got shape "
            f"{labels.shape}."
        )
    return factorized(numbers_if_possible(labels[kept]))[0]


def subgroup_grid(measure, problem, features, grid):
    """A grid within the parts that `conditional` asks for.

    Parameters
    ----------
    measure : ConditionalImportance
    problem : Problem
    features : list of Feature
    grid : str or int

    Returns
    -------
    Subgroups
    subgroups : dict
        Name of a feature -> the part of each row of X; -1 for rows of weight 0.
    explained : ndarray of shape (n_features,)
    """
    if isinstance(measure.conditional, str | BaseDecisionTree):
        given = Predictors.of(problem.table, problem.weights)
    else:
        given = parts_by_labels(measure.conditional, features, problem.kept)
    seeds = np.zeros(len(features), dtype=np.int64)
    if measure.random_state is not None:
        seeds = feature_seeds(measure.random_state, len(features)) % 2**31
    arguments = problem, measure.conditional, given, measure._categorical
    tasks = list(zip(features, seeds.tolist()))
    n_jobs, parts, subgroups, shares = measure.n_jobs, {}, {}, []
    fitted = in_order(parts_of_feature, tasks, arguments, n_jobs, prefer="threads")
    for (feature, _), (of_feature, share) in fitted:
        parts[feature] = of_feature
        every = np.full(len(problem.kept), -1)
        every[problem.kept] = of_feature
        subgroups[feature.name] = every
        shares.append(share)
    return Subgroups(grid, parts), subgroups, np.array(shares)
