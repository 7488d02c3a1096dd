"""FIRM of all entries from the scores of the rows: which method, and its numbers.

Scores are a model's response, or the labels themselves.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from skvarimp._data.base_table import is_missing
from skvarimp._data.statistics import Units
from skvarimp._measures.firm.conditional import (
    conditional_means,
    distinct_counts,
    quantile_codes,
    root_of_rows,
)
from skvarimp._measures.firm.features import is_linear
from skvarimp._measures.firm.slope import column_sums, slopes, sparse_slopes, two_valued
from skvarimp._response.mean_curves import direction
from skvarimp._response.rounds import scaled_influences
from skvarimp._running.memory import slices


@dataclass
class Scores:
    """Centred scores of rows of positive weight.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_outputs)
        Minus their mean, in units of `scale`; exactly 0 for a constant score.
    mean, scale : ndarray of shape (n_outputs,)
        Scores are mean + scale * values.
    unit : float
        What importances are in: the scale of all outputs, or 1 where `standardized`.
    total : float
        What the weights summed to: the number of rows of the importances.
    n_rows : int
        Number of rows of positive weight.
    units : Units
        The independent rows, or groups of rows, of the standard errors.
    standardized : bool
        Whether the values have standard deviation 1.
    keep_rows : bool
        Whether the rows' influences on the importances are kept.
    """

    values: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    unit: float
    total: float
    n_rows: int
    units: Units
    standardized: bool
    keep_rows: bool = False

    @property
    def weights(self):
        """Weights of the rows, (n_samples,); they sum to 1."""
        return self.units.weights

    @property
    def n_outputs(self):
        """Number of outputs."""
        return self.values.shape[1]

    @property
    def constant(self):
        """Whether each output is the same at all rows, (n_outputs,)."""
        return ~np.any(self.values, axis=0)

    def in_units(self, values):
        """Centred and scaled scores back in the units of the score."""
        return self.mean + self.scale * values


class Estimates:
    """Results of the entries, filled in as they come; NaN where they never came.

    Attributes
    ----------
    importances, signed : ndarray of shape (n_entries, n_outputs)
    directions : ndarray of shape (n_entries, n_outputs)
        Of conditional means.
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
        shape = 3, n_entries, n_outputs
        self.importances, self.signed, self.directions = np.full(shape, np.nan)
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
        size = np.abs(found.signed)
        self.put(entries, methods, size, found.errors, found.influences)
        self.signed[entries] = found.signed
        self.ends[entries] = found.ends
        self.lines[entries] = found.lines

    def put_means(self, e, root, t, means, masses):
        """Enter the conditional means at the values t of one entry."""
        self.put([e], "conditional_mean", *root)
        self.others[e] = (t, means)
        if t.ndim > 1:
            return
        known = np.array([not is_missing(value) for value in t], dtype=bool)
        size = np.abs(means).max(axis=0)
        self.directions[e] = direction(means[known].T, masses[known], size)

    def put(self, entries, methods, importances, errors, influences=None):
        """Enter entries; influences, (n_rows, n_entries), get the errors' norm."""
        self.importances[entries] = importances
        self.errors[entries] = errors
        self.methods[entries] = methods
        if self.influences is None:
            return
        shape = len(self.influences), len(entries)
        for e, psi in zip(entries, np.broadcast_to(influences, shape).T):
            psi = scaled_influences(psi, self.scores.units, self.errors[e])
            self.influences[:, e] = psi

    def in_units(self):
        """These results in the units of the score, as `ConditionalScores` are."""
        for name in ("importances", "signed", "errors", "influences"):
            values = getattr(self, name)
            setattr(self, name, None if values is None else self.scores.unit * values)
        return self


class ConditionalScores(Mapping):
    """Entry name -> (t, q), the conditional expected scores, made when asked for.

    Parameters
    ----------
    names : list of str
    estimates : Estimates
    """

    def __init__(self, names, estimates):
        self._positions = {name: e for e, name in enumerate(names)}
        self._ends, self._lines = estimates.ends, estimates.lines
        self._others = estimates.others

    def __getitem__(self, name):
        e = self._positions[name]
        t, q = self._others.get(e, (self._ends[e], self._lines[e]))
        return t, q[:, 0] if q.shape[1] == 1 else q

    def __iter__(self):
        return iter(self._positions)

    def __len__(self):
        return len(self._positions)

    def __repr__(self):
        return f"<conditional expected scores of {len(self)} entries>"


class Estimator:
    """FIRM by every method that reads scores at rows, not the model.

    Parameters
    ----------
    features : list of Entry and FunctionEntry
    values : Values
    scores : Scores
    choice : MethodChoice
    """

    def __init__(self, features, values, scores, choice):
        self.features, self.values, self.scores = features, values, scores
        self.choice, self.n_bins = choice, choice.n_bins
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
        if self.choice.asked == "conditional_mean":
            return entries
        chosen = np.array([e for e in entries if self.features[e].columns], np.intp)
        columns = np.array([self.features[e].columns[0] for e in chosen], np.intp)
        X = self.values.matrix
        method, take = "binary", two_valued(X)[columns]
        if self.choice.asked == "linear":
            for e in chosen[column_sums(X, ~np.isfinite(X.data))[columns] > 0]:
                self.choice.of(self.features[e], 0, False, False)  # says why not
            method, take = "linear", np.ones(len(chosen), dtype=bool)
        chosen, columns = chosen[take], columns[take]
        if len(chosen):
            X = X if np.array_equal(columns, np.arange(X.shape[1])) else X[:, columns]
            self.results.put_slopes(chosen, method, sparse_slopes(X, self.scores))
        return entries[~np.isin(entries, chosen)]

    def _block(self, entries):
        features = [self.features[e] for e in entries]
        F, levels = self.values.block(features)
        counts = distinct_counts(F, self.n_bins)
        categorical = np.zeros(len(entries), dtype=bool)
        categorical[list(levels)] = True
        finite = np.isfinite(F).all(axis=0)
        numeric = (finite & ~categorical).tolist()
        known = zip(features, counts.tolist(), finite.tolist(), numeric)
        methods = np.array([self.choice.of(*one) for one in known], dtype=object)
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

    def _means(self, e, values, few, levels):
        """Conditional means per value, or per quantile bin."""
        w = self.scores.weights
        if few:
            t, codes = np.unique(values, return_inverse=True)
            t = t if levels is None else levels
        else:
            codes = quantile_codes(values, w, self.n_bins)
            t = np.bincount(codes, w * values) / np.bincount(codes, w)
        self._put_means(e, codes, t)

    def _put_means(self, e, codes, t):
        root, means = conditional_means(codes, self.scores, self.features[e].name)
        masses = np.bincount(codes, self.scores.weights)
        self.results.put_means(e, root, t, means, masses)

    def _group(self, e, feature):
        """A group of columns: its joint values take the part of one feature's."""
        table, scores = self.values.table, self.scores
        codes, donors = table.factorize(feature.columns)
        values = self.values.group(feature)
        usable = values.dtype != object and bool(np.isfinite(values).all())
        method = self.choice.of(feature, len(donors), True, usable)
        if method == "conditional_mean":
            if len(donors) > self.n_bins:
                codes, donors = self._joint_bins(feature)
            self._put_means(e, codes, values[donors])
        elif method == "binary":
            found = slopes(codes[:, np.newaxis].astype(np.float64), scores)
            size = np.abs(found.signed)
            self.results.put([e], method, size, found.errors, found.influences)
            self.results.others[e] = (values[donors], found.lines[0, : len(donors)])
        else:
            numbers = values.astype(np.float64)
            fitted = self._regression(numbers)
            variance = scores.weights @ fitted**2
            # Influence of row i on the variance of a projection: 2 s q - q^2 - Q^2.
            influence = (2.0 * scores.values - fitted) * fitted - variance
            if scores.standardized:
                influence -= variance * (scores.values**2 - ~scores.constant)
            self.results.put([e], method, *root_of_rows(variance, influence, scores))
            self.results.others[e] = (numbers, scores.in_units(fitted))

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


@dataclass(frozen=True)
class MethodChoice:
    """Which method an entry gets.

    Attributes
    ----------
    asked : str
        A parameter of `FIRMImportance`.
    n_bins : int
    score_is_linear : callable
        Whether the score is known to be linear in the columns.
    """

    asked: str
    n_bins: int
    score_is_linear: Callable

    def of(self, entry, n_values, seen, numeric):
        """The method of an entry, or why the one asked for cannot be.

        Parameters
        ----------
        entry : Entry or FunctionEntry
        n_values : int
            Number of its distinct values, or `n_bins` + 1 of more.
        seen : bool
            Whether none is missing or infinite.
        numeric : bool
            Whether they are finite numbers.
        """
        if self.asked == "binary" and (n_values > 2 or not seen):
            many = f"more than {self.n_bins}" if n_values > self.n_bins else n_values
            found = f"{many} values" if seen else "missing or infinite values"
            raise ValueError(
                f"method='binary' takes features of two values, but {entry.name!r} has "
                f"{found}. Use method='conditional_mean', or 'auto'."
            )
        if self.asked == "linear" and not numeric:
            raise ValueError(
                f"method='linear' takes finite numbers, but {entry.name!r} has other "
                "values. Use method='conditional_mean', or 'auto'."
            )
        if self.asked != "auto":
            return self.asked
        if seen and n_values <= 2:
            return "binary"
        line = numeric and n_values > self.n_bins and is_linear(entry)
        return "linear" if line and self.score_is_linear() else "conditional_mean"
