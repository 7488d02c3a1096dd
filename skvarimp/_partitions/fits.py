"""FIRM over partitions, and what splits of trees earn there.

FIRM needs scores summed by group of values, and products with values. An influence is,
in each group of rows, quadratic in the row's score; that of a slope is linear in a few
products of the score and the feature. So means and second moments of these give the
standard errors, whichever partition the rows are in.
"""

from functools import partial

import numpy as np

from skvarimp._data.statistics import unit_of
from skvarimp._measures.firm.conditional import (
    Groups,
    number_of_bins,
    quantile_codes,
    root_with_error,
)
from skvarimp._measures.firm.covariance import Slopes, lines_of, signs_of
from skvarimp._measures.firm.estimate import Estimates, MethodChoice, Scores
from skvarimp._measures.firm.firm import is_linear
from skvarimp._measures.impurity.rows import rows_in_trees
from skvarimp._partitions.donors import MOST_VALUES, response_moments
from skvarimp._partitions.moments import GroupSums, moments_by_weight
from skvarimp._partitions.walk import Count, PartModel


class ColumnOfParts:
    """How the rows of all partitions are grouped by a feature, or its slope is taken.

    Parameters
    ----------
    feature : Feature
    observed : ObservedValues
    choice : MethodChoice

    Attributes
    ----------
    method : {"binary", "linear", "conditional_mean"}
    values : ndarray of shape (n_values,)
        Those observed.
    numbers : ndarray of shape (n_values,)
        The same, or their positions where they are not numbers.
    groups : ndarray of shape (n_values,) or None
        The group of each observed value; None for a slope.
    center : float
        Near the mean of a feature whose slope is taken.
    """

    def __init__(self, feature, observed, choice):
        self.feature, self.observed, numeric = feature, observed, observed.is_numeric
        self.values = observed.rows.column(observed.feature.columns[0])
        n_values, self.groups = len(observed.masses), None
        numbers = self.values if numeric else np.arange(n_values)
        self.numbers = numbers.astype(np.float64)
        finite = bool(np.all(np.isfinite(self.numbers)))
        self.method = choice.of(feature, n_values, finite, finite and numeric)
        weights = observed.masses / observed.masses.sum()
        if self.method != "conditional_mean":
            self.center = float(weights @ self.numbers)
        elif numeric and n_values > choice.n_bins:
            self.groups = quantile_codes(self.numbers, weights, choice.n_bins)
        elif numeric or observed.distinct:
            self.groups = np.arange(n_values)
        else:
            raise ValueError(
                f"{feature.name!r} has more than {MOST_VALUES} levels, too many for "
                "rows in partitions. Group them."
            )

    def labels(self):
        """What stands for each group: its values' mean, or its level."""
        if not self.observed.is_numeric:
            return self.values
        groups, masses = self.groups, self.observed.masses
        return np.bincount(groups, masses * self.numbers) / np.bincount(groups, masses)

    def of(self, table):
        """The feature as numbers, (n_rows,)."""
        if self.observed.is_numeric:
            return table.column(self.feature.columns[0]).astype(np.float64)
        return self._cells(table).astype(np.float64)

    def _cells(self, table):
        move = self.observed.move(self.feature, "all", frozenset())
        return move.donors[self.observed.cells_of(table, self.feature, move)]

    def codes(self, table):
        """The group of each row."""
        if self.observed.distinct:
            return self.groups[self._cells(table)]
        edges = self.numbers[np.flatnonzero(np.diff(self.groups, prepend=-1))]
        return np.maximum(np.searchsorted(edges, self.of(table), side="right") - 1, 0)


def fit_firm(measure, estimator, partitions):
    """Fit a `FIRMImportance` over partitions."""
    table, model = partitions.head.table, measure._model(estimator, partitions.head.y)
    features = measure._set_features(table, measure.features, estimator)
    for what, asked in {
        "estimator=None": estimator is None,
        "method='gaussian'": measure.method == "gaussian",
        "A group in `features`": any(feature.is_group for feature in features),
        "`feature_functions`": measure.feature_functions is not None,
        "keep_rows=True": measure.keep_rows,
    }.items():
        if asked:
            partitions.refuse(what)
    model.unmoved(table)  # names the outputs
    linear = partial(is_linear, model, table)
    results = estimates_over(measure, model, features, partitions, linear)
    measure._store_estimates(table, features, model.output_names, results)


def estimates_over(measure, model, features, partitions, linear):
    """`Estimates` of single columns over partitions."""
    partitions.sent.add(model.estimator)
    moments, size = partitions.passed(response_moments, (model,))
    level = np.array([of_one.means[0, 0] for of_one in moments])
    total = moments[0].weights.sum()
    spread = np.abs([of_one.root[0, 0] for of_one in moments]) / np.sqrt(total)
    constant = spread <= ROUNDING * size.values
    scale = np.where(constant | (not measure.standardize), 1.0, spread)
    values = np.where(constant, 0.0, 1.0)[np.newaxis]
    none = PartModel(model, None, len(level))
    count = partitions.passed(Count.of, (none, features, (False,)))
    n_rows, standardize = sum(count.n_rows.values()), measure.standardize
    units = partitions.units(n_rows)
    scores = Scores(values, level, scale, 1.0, total, n_rows, units, standardize)
    choice = MethodChoice(measure.method, number_of_bins(measure.n_bins, total), linear)
    observed = count.observed
    columns = [
        ColumnOfParts(feature, observed[feature, False], choice) for feature in features
    ]
    sums = partitions.passed(_sums, (model, columns, scores))
    results = Estimates(len(features), scores)
    for e, (column, of_column) in enumerate(zip(columns, sums)):
        if column.groups is None:
            found = _slopes(column, of_column[0], scores)
            results.put_slopes([e], [column.method], found)
            if not column.observed.is_numeric:
                results.others[e] = (column.values, found.lines[0])
        else:
            root, means = _means(column.feature.name, of_column, scores)
            masses = np.array([of_group[0].weights[0] for of_group in of_column])
            results.put_means(e, root, column.labels(), means, masses)
    return results


ROUNDING = 1e-15  # a spread below this part of the response is none


def _sums(part, model, features, scores):
    """`moments_by_weight` of each group of each feature from one partition's rows."""
    v = ((model.unmoved(part.table).T - scores.mean) / scores.scale).T
    v[scores.constant] = 0.0
    result = []
    for feature in features:
        if feature.groups is not None:
            numbers, codes = np.vstack([v, v**2]), feature.codes(part.table)
            n_groups = int(feature.groups.max()) + 1
        else:
            d = feature.of(part.table) - feature.center
            numbers = np.vstack([d * v, v, v**2, d, d**2])
            codes, n_groups = np.zeros(len(d), dtype=np.intp), 1
        bounds = np.cumsum(np.bincount(codes, minlength=n_groups))[:-1]
        groups = np.split(np.argsort(codes, kind="stable"), bounds)
        of_rows = [(numbers[:, rows], part.weights[rows], None, 1) for rows in groups]
        units = [part.units_of(scores.units, rows) for rows in groups]
        both = zip(of_rows, units)
        result.append([moments_by_weight(*one, of_one) for one, of_one in both])
    return result


def _slopes(feature, moments, scores):
    """`Slopes` of one feature, see `slopes`; z = (d - shift) / sd."""
    n, (moments, of_squares) = scores.n_outputs, moments
    products, v, _, (shift, squares) = np.split(moments.means[:, 0], [n, 2 * n, 3 * n])
    ends = feature.numbers[[0, -1]]
    sd = np.sqrt(max(squares - shift**2, 0.0))
    varies = ends[0] < ends[1] and sd > 0
    sd = sd if varies else 1.0
    signed = varies * (products - shift * v) / sd
    signs, size = signs_of(signed[np.newaxis])[0] * varies, np.abs(signed).mean()
    halves = 0.5 * np.abs(signed) / n * scores.standardized
    of_d = [size * shift / sd**2, -0.5 * size / sd**2]
    factors = np.hstack([signs / sd, -shift * signs / sd, -halves, of_d])
    fixed = halves @ ~scores.constant - 0.5 * size * (shift**2 / sd**2 + 1.0)
    squares = _products([of_squares], [factors[np.newaxis]], [fixed])[0, 0]
    error = scores.units.error_of_squares(squares / scores.total**2)
    steps = (ends - (feature.center + shift))[np.newaxis]
    lines = lines_of(signed[np.newaxis], steps, np.array([sd]), scores)
    return Slopes(signed[np.newaxis], error, ends[np.newaxis], lines)


def _means(name, by_group, scores):
    """The root of Q^2 with its error, and the means."""
    n = scores.n_outputs
    by_group, of_squares = zip(*by_group)
    sizes = np.array([m.weights[0] for m in by_group])
    means = np.array([m.means[:n, 0] for m in by_group])
    squares = np.array([np.sum(m.root[:n] ** 2, axis=1) for m in by_group])
    groups = Groups(sizes[:, np.newaxis], means, squares, scores)
    known = groups.without_influence(name)
    if known is None:
        of_rows = groups.scaled_to_rows()
        b0, b1, b2 = of_rows.influence_terms()
        # of the numbers v and v^2: e = v - mean, e^2 = v^2 - 2 mean v + mean^2
        fixed = b0 - b1 * means + b2 * means**2
        both = zip(b1 - 2.0 * b2 * means, b2)
        factors = [np.hstack([f * np.eye(n) for f in of_group]) for of_group in both]
        products = _products(of_squares, factors, fixed) / scores.total**2
        known = groups.root, *root_with_error(of_rows.variance, products, scores)[1:]
    return known[:2], scores.in_units(means)


def _products(by_group, factors, fixed):
    """Sums of products of the weighted influences, factors @ numbers + fixed.

    Parameters
    ----------
    by_group : list of Moments or of GroupSums
        Of the numbers of the rows of each group of values.
    factors : list of ndarray of shape (n, n_numbers)
    fixed : list of ndarray of shape (n,)
    """
    products = sums = 0.0
    for moments, factor, more in zip(by_group, factors, fixed):
        if isinstance(moments, GroupSums):
            masses = moments.weights.toarray()[:, 0]
            sums = sums + factor @ moments.numbers + np.multiply.outer(more, masses)
        else:
            psi, root = factor @ moments.means[:, 0] + more, factor @ moments.root
            products += moments.weights[0] * np.outer(psi, psi) + root @ root.T
    return sums @ sums.T if np.ndim(sums) else products


def fit_trees(measure, estimator, partitions, y):
    """Fit an `ImpurityImportance` with rows="unseen", in two passes.

    Parameters
    ----------
    measure : ImpurityImportance
    estimator : estimator
    partitions : Partitions
    y : object
        As given, which names the outputs.
    """
    measure._set_features(partitions.head.table, None, estimator)
    if measure.keep_rows:
        partitions.refuse("keep_rows=True", ", or leave it out")
    partitions.sent.add(estimator)
    n_rows, sums = partitions.passed(_tree_sums, (estimator,))
    # totals follow from the sums alone
    credit = _in_trees(partitions.head, estimator).credit(sums)
    size = unit_of(credit.totals)
    units = partitions.units(n_rows)
    squares = partitions.passed(_tree_squares, (estimator, sums, size, units))
    if partitions.labels is not None:
        squares = np.sum(squares.numbers**2, axis=1)
    errors = size * units.error_of_squares(squares)
    measure._store_earned(credit.columns, credit.totals, errors, units, y)


def _tree_sums(part, estimator):
    return len(part.weights), _in_trees(part, estimator).sums()


def _tree_squares(part, estimator, sums, size, units):
    """Sums over the rows of what each adds to the sampling errors, squared.

    Or sums within the groups, where rows depend on each other.
    """
    influences = _in_trees(part, estimator).credit(sums).influences / size
    weights = part.weights / sums[0]
    units = part.units_of(units)
    if units is None:
        return weights**2 @ influences**2
    return GroupSums.of(influences.T, weights, None, 1, units)


def _in_trees(part, estimator):
    rows = rows_in_trees(estimator, part.table, part.target(), part.weights)
    if rows.loss is not None and not rows.loss.takes_single_rows:
        raise ValueError(
            f"The loss of {type(estimator).__name__} depends on all rows together, "
            "which need to be in one place. Pass X.compute()."
        )
    return rows
