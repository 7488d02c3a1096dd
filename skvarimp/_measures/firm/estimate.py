"""FIRM of all features from the scores of the rows: which method, and its numbers.

Scores are a model's response, or the labels themselves.
"""

from collections.abc import Callable
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
from skvarimp._measures.firm.covariance import slopes, sparse_slopes, two_valued
from skvarimp._measures.firm.features import is_linear
from skvarimp._response.drawing import scaled_influences
from skvarimp._response.mean_curves import direction
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
    """Results of the features, filled in as they come; NaN where they never came.

    Attributes
    ----------
    importances, signed : ndarray of shape (n_features, n_outputs)
    directions : ndarray of shape (n_features, n_outputs)
        Of conditional means.
    errors : ndarray of shape (n_features,)
    influences : ndarray of shape (n_rows, n_features) or None
        How much each row moves each importance, where it is kept.
    methods : ndarray of shape (n_features,)
        Names.
    ends : ndarray of shape (n_features, 2)
    lines : ndarray of shape (n_features, 2, n_outputs)
        Conditional expected scores that are straight lines, at their ends.
    others : dict
        Position of a feature -> (t, q) where they are not.
    """

    def __init__(self, n_features, scores):
        n_outputs, self.scores = scores.n_outputs, scores
        shape = 3, n_features, n_outputs
        self.importances, self.signed, self.directions = np.full(shape, np.nan)
        self.errors = np.full(n_features, np.nan)
        self.influences = None
        if scores.keep_rows:
            self.influences = np.full((len(scores.weights), n_features), np.nan)
        self.methods = np.empty(n_features, dtype=object)
        self.ends = np.full((n_features, 2), np.nan)
        self.lines = np.full((n_features, 2, n_outputs), np.nan)
        self.others = {}

    def put_slopes(self, features, methods, found):
        """Enter `Slopes` of several features."""
        size = np.abs(found.signed)
        self.put(features, methods, size, found.errors, found.influences)
        self.signed[features] = found.signed
        self.ends[features] = found.ends
        self.lines[features] = found.lines

    def put_means(self, e, root, t, means, masses):
        """Enter the conditional means at the values t of one feature."""
        self.put([e], "conditional_mean", *root)
        self.others[e] = (t, means)
        if t.ndim > 1:
            return
        known = np.array([not is_missing(value) for value in t], dtype=bool)
        size = np.abs(means).max(axis=0)
        self.directions[e] = direction(means[known].T, masses[known], size)

    def put(self, features, methods, importances, errors, influences=None):
        """Enter features; influences, (n_rows, n_features), get the errors' norm."""
        self.importances[features] = importances
        self.errors[features] = errors
        self.methods[features] = methods
        if self.influences is None:
            return
        shape = len(self.influences), len(features)
        for e, psi in zip(features, np.broadcast_to(influences, shape).T):
            psi = scaled_influences(psi, self.scores.units, self.errors[e])
            self.influences[:, e] = psi

    def conditional_scores(self, names):
        """Feature name -> (t, q), in the units of the score."""
        found = {}
        for e, name in enumerate(names):
            t, q = self.others.get(e, (self.ends[e], self.lines[e]))
            found[name] = (t, q[:, 0] if q.shape[1] == 1 else q)
        return found

    def in_units(self):
        """These results in the units of the score, as conditional scores are."""
        for name in ("importances", "signed", "errors", "influences"):
            values = getattr(self, name)
            setattr(self, name, None if values is None else self.scores.unit * values)
        return self


class Estimator:
    """FIRM by every method that reads scores at rows, not the model.

    Parameters
    ----------
    features : list of Feature and FunctionFeature
    values : Values
    scores : Scores
    choice : MethodChoice
    """

    def __init__(self, features, values, scores, choice):
        self.features, self.values, self.scores = features, values, scores
        self.choice, self.n_bins = choice, choice.n_bins
        self.results = Estimates(len(features), scores)

    def estimate(self, progress):
        """Importances of all features.

        Parameters
        ----------
        progress : Progress
            Of as many steps as there are features; may ask to stop.

        Returns
        -------
        Estimates
        """
        for n_done in self._steps():
            if progress.step(n_done):
                break
        return self.results

    def _steps(self):
        """Do the features, yielding how many have been done since."""
        left = np.arange(len(self.features))
        alone = self.scores.units.groups is None and not self.scores.keep_rows
        binary = self.choice.asked in ("auto", "binary")
        if sparse.issparse(self.values.matrix) and alone and binary:
            left = self._stored()
            yield len(self.features) - len(left)
        for part in slices(len(left), self.values.table.n_samples):
            self._block(left[part])
            yield part.stop - part.start

    def _stored(self):
        """Do two-valued columns of a sparse X by their stored elements; what is left.

        What is left goes through dense blocks.
        """
        X, features = self.values.matrix, self.features
        two = two_valued(X)
        chosen = [len(f.columns) == 1 and two[f.columns[0]] for f in features]
        chosen = np.array(chosen, dtype=bool)
        done = np.flatnonzero(chosen)
        columns = np.array([features[e].columns[0] for e in done], dtype=np.intp)
        for part in slices(len(done), (2 * self.scores.n_outputs + 1) ** 2):
            found = sparse_slopes(X[:, columns[part]], self.scores)
            self.results.put_slopes(done[part], "binary", found)
        return np.flatnonzero(~chosen)

    def _block(self, at):
        features = [self.features[e] for e in at]
        F, levels = self.values.block(features)
        counts = distinct_counts(F, self.n_bins)
        finite = np.isfinite(F).all(axis=0)
        numeric = finite.copy()
        for b, t in levels.items():
            numeric[b] = t.dtype.kind in "fbiu" and np.isfinite(t).all()
        known = zip(features, counts.tolist(), finite.tolist(), numeric.tolist())
        methods = np.array([self.choice.of(*one) for one in known], dtype=object)
        groups = np.array([feature.is_group for feature in features], dtype=bool)
        means, planes = methods == "conditional_mean", groups & (methods == "linear")
        by_slope = np.flatnonzero(~means & ~planes)
        if len(by_slope):
            block = F if len(by_slope) == len(at) else F[:, by_slope]
            found = slopes(block, self.scores)
            self.results.put_slopes(at[by_slope], methods[by_slope], found)
        for b in by_slope[np.isin(by_slope, list(levels))]:
            t = levels[b][: counts[b]]  # the categories, not their codes
            q = self.results.lines[at[b], : counts[b]]
            self.results.others[at[b]] = (t, q)
        for b in np.flatnonzero(means):
            self._means(at[b], F[:, b], counts[b], levels.get(b))
        for e in at[planes]:
            self._plane(e)

    def _means(self, e, values, n_values, levels):
        """Conditional means per value, or per quantile bin."""
        w, feature = self.scores.weights, self.features[e]
        offset = self.values.offset(feature)
        if n_values <= self.n_bins or (levels is not None and not feature.is_group):
            t, codes = np.unique(values, return_inverse=True)
            t = t if levels is None else levels
        elif feature.is_group:
            codes, donors = self._joint_bins(feature)
            t = self.values.group(feature)[donors]
        else:
            codes = quantile_codes(values, w, self.n_bins)
            t = np.bincount(codes, w * values) / np.bincount(codes, w)
        if offset:
            t = t + float(offset)
        root, means = conditional_means(codes, self.scores, feature.name)
        self.results.put_means(e, root, t, means, np.bincount(codes, w))

    def _plane(self, e):
        """The regression of the score on the columns of a group."""
        scores = self.scores
        numbers = self.values.group(self.features[e]).astype(np.float64)
        fitted = self._regression(numbers)
        variance = scores.weights @ fitted**2
        # Influence of row i on the variance of a projection: 2 s q - q^2 - Q^2.
        influence = (2.0 * scores.values - fitted) * fitted - variance
        if scores.standardized:
            influence -= variance * (scores.values**2 - ~scores.constant)
        self.results.put([e], "linear", *root_of_rows(variance, influence, scores))
        self.results.others[e] = (numbers, scores.in_units(fitted))

    def _regression(self, numbers):
        """Fitted values of the regression of the scores on a group."""
        w = self.scores.weights
        root = np.sqrt(w)[:, np.newaxis]
        centred = numbers - w @ numbers
        spread = np.sqrt(w @ centred**2)
        centred = centred / np.where(spread > 0, spread, np.inf)
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
    """Which method a feature gets.

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

    def of(self, feature, n_values, seen, numeric):
        """The method of a feature, or why the one asked for cannot be.

        Parameters
        ----------
        feature : Feature or FunctionFeature
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
                f"method='binary' takes features of two values, but {feature.name!r} "
                f"has {found}. Use method='conditional_mean', or 'auto'."
            )
        if self.asked == "linear" and not numeric:
            raise ValueError(
                f"method='linear' takes finite numbers, but {feature.name!r} has other "
                "values. Use method='conditional_mean', or 'auto'."
            )
        if self.asked != "auto":
            return self.asked
        if seen and n_values <= 2:
            return "binary"
        line = numeric and n_values > self.n_bins and is_linear(feature)
        return "linear" if line and self.score_is_linear() else "conditional_mean"
