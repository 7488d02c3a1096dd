"""FIRM over partitions: scores summed by group of values, and products with values.

An influence is, in each group of rows, quadratic in the row's score; that of a slope is
linear in a few products of the score and the feature. So means and second moments of
these give the standard errors, whichever partition the rows are in.
"""

from functools import partial

import numpy as np

from skvarimp._data.units import Units
from skvarimp._measures.firm.conditional import (
    Groups,
    number_of_bins,
    quantile_codes,
    root_with_error,
)
from skvarimp._measures.firm.estimate import Estimates, Scores, method_of
from skvarimp._measures.firm.firm import is_linear
from skvarimp._measures.firm.slope import Slopes, lines_of, signs_of
from skvarimp._partitions.donors import MOST_VALUES
from skvarimp._partitions.moments import moments_by_weight
from skvarimp._partitions.targets import response_moments
from skvarimp._partitions.walk import Count, PartModel
from skvarimp._response.unmoved import unmoved_response


class Feature:
    """How the rows of all partitions are grouped by a feature, or its slope is taken.

    Parameters
    ----------
    entry : Entry
    observed : ObservedValues
    method, n_bins, is_linear
        See `Estimator`.

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

    def __init__(self, entry, observed, method, n_bins, is_linear):
        self.entry, self.observed, numeric = entry, observed, observed.is_numeric
        self.values = observed.rows.column(observed.entry.columns[0])
        n_values, self.groups = len(observed.masses), None
        numbers = self.values if numeric else np.arange(n_values)
        self.numbers = numbers.astype(np.float64)
        finite = bool(np.all(np.isfinite(self.numbers)))
        self.method = method_of(
            method, n_bins, is_linear, entry, n_values, finite, finite and numeric
        )
        weights = observed.masses / observed.masses.sum()
        if self.method != "conditional_mean":
            self.center = float(weights @ self.numbers)
        elif numeric and n_values > n_bins:
            self.groups = quantile_codes(self.numbers, weights, n_bins)
        elif numeric or observed.distinct:
            self.groups = np.arange(n_values)
        else:
            raise ValueError(
                f"{entry.name!r} has more than {MOST_VALUES} levels, too many for rows "
                "in partitions. Group them."
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
            return table.column(self.entry.columns[0]).astype(np.float64)
        return self._cells(table).astype(np.float64)

    def _cells(self, table):
        move = self.observed.move(self.entry, "all", frozenset())
        return move.donors[self.observed.cells_of(table, self.entry, move)]

    def codes(self, table):
        """The group of each row."""
        if self.observed.distinct:
            return self.groups[self._cells(table)]
        edges = self.numbers[np.flatnonzero(np.diff(self.groups, prepend=-1))]
        return np.maximum(np.searchsorted(edges, self.of(table), side="right") - 1, 0)


def fit_firm(measure, estimator, partitions):
    """Fit a `FIRMImportance` over partitions."""
    table, model = partitions.head.table, measure._model(estimator, partitions.head.y)
    entries = measure._set_entries(table, measure.features, estimator)
    for what, asked in {
        "estimator=None": estimator is None,
        "method='gaussian'": measure.method == "gaussian",
        "A group in `features`": any(entry.is_group for entry in entries),
        "`feature_functions`": measure.feature_functions is not None,
        "keep_rows=True": measure.keep_rows,
    }.items():
        if asked:
            partitions.refuse(what)
    unmoved_response(model, table)  # names the outputs
    linear = partial(is_linear, model, table)
    results = estimates_over(measure, model, entries, partitions, linear)
    measure._store_estimates(entries, model.output_names, results)


def estimates_over(measure, model, entries, partitions, linear):
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
    count = partitions.passed(Count.of, (none, entries, (False,)))
    units, standardize = Units(sum(count.n_rows.values())), measure.standardize
    scores = Scores(values, level, scale, 1.0, np.ones(1), total, units, standardize)
    n_bins = number_of_bins(measure.n_bins, total)
    features = [
        Feature(entry, count.observed[entry, False], measure.method, n_bins, linear)
        for entry in entries
    ]
    sums = partitions.passed(_sums, (model, features, scores))
    results = Estimates(len(entries), scores)
    for e, (feature, of_feature) in enumerate(zip(features, sums)):
        if feature.groups is None:
            found = _slopes(feature, of_feature[0], scores)
            results.put_slopes([e], [feature.method], found)
            if not feature.observed.is_numeric:
                results.others[e] = (feature.values, found.lines[0])
        else:
            root, means = _means(feature.entry.name, of_feature, scores)
            results.put([e], feature.method, *root)
            results.others[e] = (feature.labels(), means)
    return results


ROUNDING = 1e-15  # a spread below this part of the response is none


def _sums(part, model, features, scores):
    """`moments_by_weight` of each group of each feature from one partition's rows."""
    v = ((unmoved_response(model, part.table).T - scores.mean) / scores.scale).T
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
        result.append([moments_by_weight(*of_group) for of_group in of_rows])
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
    squares = _products(of_squares, factors[np.newaxis], fixed)[0]
    error = scores.units.error_of_squares(squares / scores.total**2)
    steps = (ends - (feature.center + shift))[np.newaxis]
    lines = lines_of(signed[np.newaxis], steps, np.array([sd]), scores)
    return Slopes(signed[np.newaxis], error, ends[np.newaxis], lines)


def _means(name, by_group, scores):
    """See `conditional_means`: the root of Q^2 with its error, and the means."""
    n = scores.n_outputs
    by_group, of_squares = zip(*by_group)
    sizes = np.array([m.weights[0] for m in by_group])
    means = np.array([m.means[:n, 0] for m in by_group])
    squares = np.array([np.sum(m.root[:n] ** 2, axis=1) for m in by_group])
    groups = Groups(sizes[:, np.newaxis], means, squares, scores)
    known = groups.without_influence(name)
    if known is None:
        of_rows = groups.of_rows()
        b0, b1, b2 = of_rows.influence_terms()
        # of the numbers v and v^2: e = v - mean, e^2 = v^2 - 2 mean v + mean^2
        fixed = b0 - b1 * means + b2 * means**2
        products = np.zeros((n, n))
        for g, moments in enumerate(of_squares):
            factors = b1[g] - 2.0 * b2[g] * means[g], b2[g]
            factor = np.hstack([one * np.eye(n) for one in factors])
            products += _products(moments, factor, fixed[g])
        products /= scores.total**2
        known = groups.root, *root_with_error(of_rows.variance, products, scores)[1:]
    return known[:2], scores.in_units(means)


def _products(moments, factors, fixed):
    """Weighted sums of products of influences, factors @ numbers + fixed."""
    psi, root = factors @ moments.means[:, 0] + fixed, factors @ moments.root
    return moments.weights[0] * np.outer(psi, psi) + root @ root.T
