"""FIRM of all entries from the scores of the rows: which method, and its numbers."""

from collections.abc import Mapping

import numpy as np
from scipy import sparse

from skvarimp._measures.firm.conditional import (
    conditional_means,
    distinct_counts,
    quantile_codes,
    root_with_error,
)
from skvarimp._measures.firm.features import is_linear
from skvarimp._measures.firm.slope import slopes, sparse_slopes, two_valued
from skvarimp._response.sampling import scaled_influences
from skvarimp._running.memory import slices


class Estimates:
    """Results of the entries, filled in as they come; NaN where they never came.

    Attributes
    ----------
    importances, signed : ndarray of shape (n_entries, n_outputs)
    errors : ndarray of shape (n_entries,)
    influences : ndarray of shape (n_rows, n_entries) or None
        How much each row moves each importance, where it is kept.
    methods : ndarray of shape (n_entries,)
        Names.
    ends : ndarray of shape (n_entries, 2)
    lines : ndarray of shape (n_entries, 2, n_outputs)
        Conditional expected scores that are straight lines, at their ends.
    others : dict
        Position of an entry -> (t, q) where they are not.
    """

    def __init__(self, n_entries, scores):
        n_outputs, self.scores = scores.n_outputs, scores
        self.importances = np.full((n_entries, n_outputs), np.nan)
        self.signed = np.full((n_entries, n_outputs), np.nan)
        self.errors = np.full(n_entries, np.nan)
        self.influences = None
        if scores.keep_rows:
            self.influences = np.full((len(scores.weights), n_entries), np.nan)
        self.methods = np.empty(n_entries, dtype=object)
        self.ends = np.full((n_entries, 2), np.nan)
        self.lines = np.full((n_entries, 2, n_outputs), np.nan)
        self.others = {}

    def put_slopes(self, entries, methods, found):
        """Enter `Slopes` of several entries."""
        self.signed[entries] = found.signed
        self.importances[entries] = np.abs(found.signed)
        self.errors[entries] = found.errors
        self.methods[entries] = methods
        self.ends[entries] = found.ends
        self.lines[entries] = found.lines
        self.keep(entries, found.influences)

    def put(self, e, method, root, t, q):
        """Enter one entry that has no sign, with its `Root`."""
        self.importances[e] = root.importances
        self.errors[e] = root.error
        if root.influences is not None:
            self.keep([e], root.influences[:, np.newaxis])
        self.methods[e] = method
        self.others[e] = (t, q)

    def keep(self, entries, influences):
        """Keep influences, (n_rows, len(entries)), with mean 0 and the errors' norm."""
        if self.influences is None:
            return
        scores = self.scores
        for e, psi in zip(entries, influences.T):
            variance = self.errors[e] ** 2 * scores.total
            kept = scaled_influences(psi, scores.weights, variance)
            self.influences[:, e] = kept


class ConditionalScores(Mapping):
    """Entry name -> (t, q), the conditional expected scores, made when asked for.

    Parameters
    ----------
    names : list of str
    estimates : Estimates
    """

    def __init__(self, names, estimates):
        self._names, self._positions = names, None
        self._ends, self._lines = estimates.ends, estimates.lines
        self._others = estimates.others

    def __getitem__(self, name):
        if self._positions is None:
            self._positions = {n: e for e, n in enumerate(self._names)}
        e = self._positions[name]
        t, q = self._others.get(e, (self._ends[e], self._lines[e]))
        return t, q[:, 0] if q.shape[1] == 1 else q

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)

    def __repr__(self):
        return f"<conditional expected scores of {len(self)} entries>"


class Estimator:
    """FIRM by every method that reads scores at rows, not the model.

    Parameters
    ----------
    features : list of Entry and FunctionEntry
    values : Values
    scores : Scores
    method : {"auto", "binary", "conditional_mean", "linear"}
    n_bins : int
    score_is_linear : callable
        Whether the score is linear in X; called when it matters.
    """

    def __init__(self, features, values, scores, method, n_bins, score_is_linear):
        self.features, self.values, self.scores = features, values, scores
        self.method, self.n_bins = method, n_bins
        self.score_is_linear = score_is_linear
        self.results = Estimates(len(features), scores)

    def estimate(self, progress):
        """Importances of all entries.

        Parameters
        ----------
        progress : Progress
            Of as many steps as there are entries; may ask to stop.

        Returns
        -------
        Estimates
        """
        for n_done in self._steps():
            if progress.step(n_done):
                break
        return self.results

    def _steps(self):
        """Do the entries, yielding how many have been done since."""
        groups = np.array([f.is_group for f in self.features], dtype=bool)
        singles = np.flatnonzero(~groups)
        if sparse.issparse(self.values.matrix) and not self.scores.keep_rows:
            left = self._stored(singles)
            yield len(singles) - len(left)
            singles = left
        for part in slices(len(singles), self.values.table.n_samples):
            block = singles[part]
            self._block(block)
            yield len(block)
        for e in np.flatnonzero(groups):
            self._group(e, self.features[e])
            yield 1

    def _stored(self, entries):
        """Do what needs only the stored elements of a sparse X; what is left."""
        if self.method == "conditional_mean":
            return entries
        # -1: a function, in no column
        columns = [(*self.features[e].columns, -1)[0] for e in entries]
        columns = np.array(columns, dtype=np.intp)
        chosen, columns = entries[columns >= 0], columns[columns >= 0]
        X = self.values.matrix
        if not np.array_equal(columns, np.arange(X.shape[1])):
            X = X[:, columns]
        if self.method == "linear":
            self._require_finite(chosen, _finite_columns(X))
            method, take = "linear", np.ones(len(chosen), dtype=bool)
        else:
            method, take = "binary", two_valued(X)
        if take.any():
            X = X if take.all() else X[:, np.flatnonzero(take)]
            self.results.put_slopes(chosen[take], method, sparse_slopes(X, self.scores))
        return entries[~np.isin(entries, chosen[take])]

    def _block(self, entries):
        features = [self.features[e] for e in entries]
        F, levels = self.values.block(features)
        counts = distinct_counts(F, self.n_bins)
        categorical = np.zeros(len(entries), dtype=bool)
        categorical[list(levels)] = True
        finite = np.isfinite(F).all(axis=0)
        methods = self._methods(entries, counts, categorical, finite, F)
        by_slope = np.flatnonzero(methods != "conditional_mean")
        if len(by_slope):
            block = F if len(by_slope) == len(entries) else F[:, by_slope]
            found = slopes(block, self.scores)
            self.results.put_slopes(entries[by_slope], methods[by_slope], found)
        for b in by_slope[categorical[by_slope]]:
            t = levels[b][: counts[b]]  # the categories, not their codes
            q = self.results.lines[entries[b], : counts[b]]
            self.results.others[entries[b]] = (t, q)
        for b in np.flatnonzero(methods == "conditional_mean"):
            few = categorical[b] or counts[b] <= self.n_bins
            self._means(entries[b], F[:, b], few, levels.get(b))

    def _methods(self, entries, counts, categorical, finite, F):
        """The method of each entry of a block, or why the one asked for cannot be."""
        if self.method == "binary":
            self._require_binary(entries, counts, finite, F)
        if self.method == "linear":
            self._require_finite(entries, finite & ~categorical)
        if self.method != "auto":
            return np.full(len(entries), self.method, dtype=object)
        methods = np.full(len(entries), "conditional_mean", dtype=object)
        methods[finite & (counts <= 2)] = "binary"
        many = finite & (counts > self.n_bins) & ~categorical
        if many.any() and self.score_is_linear():
            line = np.array([is_linear(self.features[e]) for e in entries])
            methods[many & line] = "linear"
        return methods

    def _require_binary(self, entries, counts, finite, F):
        bad = np.flatnonzero((counts > 2) | ~finite)
        if len(bad) == 0:
            return
        b = bad[0]
        found = f"{len(np.unique(F[:, b]))} values"
        if not finite[b]:
            found = "missing or infinite values"
        raise not_two_values(self.features[entries[b]], found)

    def _require_finite(self, entries, finite):
        bad = np.flatnonzero(~finite)
        if len(bad):
            raise not_finite(self.features[entries[bad[0]]])

    def _means(self, e, values, few, levels):
        """Conditional means per value, or per quantile bin."""
        w = self.scores.weights
        if few:
            t, codes = np.unique(values, return_inverse=True)
            t = t if levels is None else levels
        else:
            codes = quantile_codes(values, w, self.n_bins)
            t = np.bincount(codes, w * values) / np.bincount(codes, w)
        name = self.features[e].name
        root, means = conditional_means(codes, self.scores, name)
        self.results.put(e, "conditional_mean", root, t, means)

    def _group(self, e, feature):
        """A group of columns: its joint values take the part of one feature's."""
        codes, donors = self.values.group_codes(feature)
        numbers = self.values.group(feature)
        usable = numbers is not None and np.isfinite(numbers).all()
        method = self._group_method(feature, len(donors), usable)
        if method == "linear":
            fitted = self._regression(numbers)
            variance = self.scores.weights @ fitted**2
            # Influence of row i on the variance of a projection: 2 s q - q^2 - Q^2.
            influence = (2.0 * self.scores.values - fitted) * fitted - variance
            root = root_with_error(variance, influence, self.scores)
            q = self.scores.in_units(fitted)
            self.results.put(e, method, root, numbers, q)
            return
        if method == "binary":
            found = slopes(codes[:, np.newaxis].astype(np.float64), self.scores)
            root = found.without_sign()
            t, q = (
                self.values.group_values(feature, donors),
                found.lines[0, : len(donors)],
            )
            self.results.put(e, method, root, t, q)
            return
        if len(donors) > self.n_bins:
            codes, donors = self._joint_bins(feature)
        t = self.values.group_values(feature, donors)
        root, q = conditional_means(codes, self.scores, feature.name)
        self.results.put(e, method, root, t, q)

    def _group_method(self, feature, n_values, usable):
        if self.method == "binary" and n_values > 2:
            raise not_two_values(feature, f"{n_values} values")
        if self.method == "linear" and not usable:
            raise not_finite(feature)
        if self.method != "auto":
            return self.method
        if n_values <= 2:
            return "binary"
        if n_values > self.n_bins and usable and self.score_is_linear():
            return "linear"
        return "conditional_mean"

    def _regression(self, numbers):
        """Fitted values of the regression of the scores on a group."""
        w = self.scores.weights
        root = np.sqrt(w)[:, np.newaxis]
        centred = numbers - w @ numbers
        spread = np.sqrt(w @ centred**2)
        centred = centred / np.where(spread > 0, spread, 1.0)
        coef = np.linalg.lstsq(root * centred, root * self.scores.values, rcond=None)[0]
        return centred @ coef

    def _joint_bins(self, feature):
        """Joint quantile bins of a group, about `n_bins` in all."""
        n_bins = max(2, int(round(self.n_bins ** (1.0 / len(feature.columns)), 6)))
        joint = np.zeros(self.values.table.n_samples, dtype=np.intp)
        for j in feature.columns:
            column = self.values.table.column(j)
            if column.dtype.kind in "fbiu":
                values = column.astype(np.float64)
                codes = quantile_codes(values, self.scores.weights, n_bins)
            else:
                codes, _ = self.values.table.factorize((j,))
            joint = joint * (codes.max() + 1) + codes
        _, donors, codes = np.unique(joint, return_index=True, return_inverse=True)
        return codes, donors


def _finite_columns(X):
    """Which columns of a CSC matrix hold only finite numbers."""
    result = np.ones(X.shape[1], dtype=bool)
    columns = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
    result[columns[~np.isfinite(X.data)]] = False
    return result


def not_two_values(feature, found):
    """The error of a feature with other than two values."""
    return ValueError(
        f"method='binary' takes features of two values, but {feature.name!r} has "
        f"{found}. Use method='conditional_mean', or 'auto'."
    )


def not_finite(feature):
    """The error of a feature with values that are no finite numbers."""
    return ValueError(
        f"method='linear' takes finite numbers, but {feature.name!r} has other values. "
        "Use method='conditional_mean', or 'auto'."
    )
