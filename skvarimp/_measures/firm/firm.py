"""`FIRMImportance`: the feature importance ranking measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from numbers import Integral
from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator

from skvarimp._data.base_table import numbers_if_possible
from skvarimp._data.statistics import Units, unit_of
from skvarimp._data.table import are_apart, as_table
from skvarimp._data.validation import (
    Interval,
    StrOptions,
    check_length,
    check_rows,
    check_target,
    finite_numbers,
)
from skvarimp._measures.base import BaseImportance
from skvarimp._measures.firm.conditional import number_of_bins
from skvarimp._measures.firm.covariance import NAMED, make_covariance
from skvarimp._measures.firm.estimate import (
    Estimator,
    MethodChoice,
    Scores,
)
from skvarimp._measures.firm.features import Values, with_functions
from skvarimp._measures.firm.gaussian import WAY_OUT, gaussian_estimates
from skvarimp._measures.response_importance import warn_stopped
from skvarimp._measures.rows import KeptRows, constant_columns, fingerprint, store_rows
from skvarimp._models.gradients import linear_coefficients
from skvarimp._models.labels import as_columns, encoded, indicators
from skvarimp._models.model import (
    Model,
    check_not_tiny,
    names_in,
    output_names,
    target_names,
)
from skvarimp._running.guards import warn
from skvarimp._running.tasks import Progress
from skvarimp._types import FeatureFunctions, Features, ResponseMethod

# The paper's score is a real-valued function: decision functions before probabilities.
SCORES_FIRST = ("decision_function", "predict_proba", "predict")


@dataclass(kw_only=True, eq=False, repr=False)
class FIRMImportance(BaseImportance):
    """Standard deviation of the expected score given the value of a feature.

    Q_f = sd of q(f(X)), where q(t) = E[s(X) given f(X) = t] is the conditional expected
    score, for any score s and any feature f: a column, a group of columns, or a
    function of the columns.

    The measure is *conditional*: it compares rows without moving them, so that a
    feature gets credit for correlated columns as well. Partial dependence and
    sensitivities are marginal: they move one column and keep the others. The two kinds
    agree only for independent columns.

    Parameters
    ----------
    method : {"auto", "binary", "conditional_mean", "linear", "gaussian"}, \
default="auto"
        How q is estimated. "binary", for features of two values: (q_b - q_a) sqrt(p_a
        p_b). "conditional_mean": the mean score of the rows with each value, or in each
        quantile bin if there are more than `n_bins` values; the chance variation of the
        means is subtracted. "linear": the regression of the score on the feature.
        "gaussian": from the covariance of X and the score's gradient at the mean.
        "auto", for each feature: "binary" for at most two values; "linear" for more
        than `n_bins` numbers if score and feature are linear in X; else
        "conditional_mean".
    feature_functions : sequence or dict of callable, default=None
        Functions X -> (n_samples,) that become features, or a dict label -> function;
        see `skvarimp.feature_functions`. Without `features` they are the only ones.
    features : sequence or dict, default=None
        Features: names, positions, or lists of them (groups, taken jointly); None:
        each column, or none if `feature_functions` are given.
    covariance : {"empirical", "ledoit_wolf", "schaefer_strimmer"} or estimator, \
default="empirical"
        Covariance of X ("gaussian" only): with divisor n; shrunk towards a multiple of
        the identity; with correlations shrunk towards 0 and variances towards their
        median; or an unfitted scikit-learn covariance estimator.
    n_bins : int or "auto", default="auto"
        Number of quantile bins of a continuous feature, and the largest number of
        values that each get a mean. "auto": 10; fewer below 100 rows (10 rows per bin,
        at least 2 bins), and more above 1000 rows (the cube root of their number).
    standardize : bool, default=False
        Whether to divide by the score's standard deviation, so that the importances
        of different models compare.
    response_method : {"auto", "predict_proba", "decision_function", "predict"}, \
default="auto"
        The score; "auto": of a classifier the decision function, else probabilities,
        else the labels' indicators; `predict` of other models.
    keep_rows : bool, default=False
        Whether to keep `influences_`, from which `interval` and the comparisons of
        importances are computed.

    Attributes
    ----------
    importances_ : ndarray of shape (n_features,)
        Standard deviation of the expected score given the feature, mean over the
        outputs, in units of the score (of its standard deviation with `standardize`).
    importances_per_output_ : ndarray of shape (n_features, n_outputs)
        Importance for each output.
    signed_importances_ : ndarray of shape (n_features, n_outputs)
        With the slope's sign, or that of the score at the larger of two values minus
        at the smaller; NaN for conditional means and groups.
    standard_errors_ : ndarray of shape (n_features,) or None
        Sampling errors with the model held fixed. None with a `covariance` other than
        "empirical".
    method_ : list of str
        The method of each feature.
    conditional_scores_ : dict
        Feature name -> (t, q): values (k,) or, of a group, (k, n_members), and
        conditional expected scores (k,) or (k, n_outputs). Bins are represented by
        their mean value; straight lines by both ends, those of groups by all rows.
    influences_ : ndarray of shape (n_samples, n_features)
        With `keep_rows`: how much each row moves each importance; weighted mean 0.
    row_importances_ : None
        The importance is not a mean over rows.
    ranking_ : ndarray of shape (n_features,)
        1 = most important.
    directions_ : ndarray of shape (n_features,) or None
        Which way the conditional score goes as values rise: 1 where it only rises, -1
        where it only falls, near 0 where it turns; see the glossary. NaN for groups and
        for categories without an order. None for several outputs.
    directions_per_output_ : ndarray of shape (n_features, n_outputs)
        Direction for each output.
    features_, output_names_ : list of str
        Labels of the features and the outputs.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where X has some.

    See Also
    --------
    skvarimp.feature_functions : Products, thresholds and Boolean functions of columns.
    SensitivityImportance : Marginal: one column is moved, the others are kept.

    Notes
    -----
    Variances have the divisor n. A constant feature or score has importance 0; missing
    values are a value of their own (conditional means only). Sample weights count
    repeated rows.

    Standard errors are the infinitesimal jackknife; those of conditional means leave
    out one row at a time. Bins are held fixed. Near an
    importance of 0 the error of conditional means is at most the root of the error of
    the squared importance. Where too few values repeat to tell an effect from chance,
    importance and error are NaN, and an `ImportanceWarning` names the feature.
    Conditional means of bins estimate the standard deviation *between bins*, which is
    a little below that of q itself.

    Cost: one prediction of X, then O(n_samples n_outputs) a feature; "gaussian" adds
    one gradient for the importances and 2 n_samples of them for the standard errors of
    a score that is not linear. No p x p matrix is formed, except by a scikit-learn
    covariance estimator; a sparse X stays sparse.

    References
    ----------
    A. Zien, N. Krämer, S. Sonnenburg, G. Rätsch: The Feature Importance Ranking
    Measure. ECML PKDD 2009; definitions 1 and 2, eqs. 9 to 12. (The sign of D_0 in
    eq. 11 is reversed in print.)
    J. Schäfer, K. Strimmer: A shrinkage approach to large-scale covariance matrix
    estimation and implications for functional genomics. SAGMB 4(1), 2005.

    Examples
    --------
    The score uses only the first of two correlated columns. Given x0 it is -2 or 2,
    each in half of the rows; given x1 = -1 it is -2 in one row, and given x1 = 1 it is
    2 / 3 on average in the other three:

    >>> import numpy as np
    >>> from skvarimp import FIRMImportance
    >>> X = np.array([[-1, -1], [-1, 1], [1, 1], [1, 1]])
    >>> firm = FIRMImportance().fit(lambda X: 2.0 * X[:, 0], X)
    >>> firm.importances_.round(3)  # 4 * sqrt(1 / 4) and (2 / 3 + 2) * sqrt(3 / 16)
    array([2.   , 1.155])
    """

    _parameter_constraints = {  # noqa: RUF012 scikit-learn's form
        "feature_functions": [Sequence, Mapping, None],
        "covariance": [StrOptions(set(NAMED)), BaseEstimator],
        "n_bins": [StrOptions({"auto"}), Interval(Integral, 2, None, closed="left")],
        "standardize": ["boolean"],
    }

    method: Literal["auto", "binary", "conditional_mean", "linear", "gaussian"] = "auto"
    feature_functions: FeatureFunctions = None
    features: Features = None
    covariance: (
        Literal["empirical", "ledoit_wolf", "schaefer_strimmer"] | BaseEstimator
    ) = "empirical"
    n_bins: Literal["auto"] | int = "auto"
    standardize: bool = False
    response_method: ResponseMethod = "auto"
    keep_rows: bool = False

    def _not_per_column(self):
        if self.feature_functions is None:
            return None
        return (
            "FIRMImportance with `feature_functions` gives a number per function, not "
            "per column. Use feature_functions=None."
        )

    _takes_groups = True

    def _store_estimates(
        self, table, features, output_names, results, half_range=np.inf
    ):
        results = results.in_units()
        directions, lines = results.directions, np.sign(results.signed)
        directions = np.where(np.isnan(lines), directions, lines)
        for e, feature in enumerate(features):
            if feature.is_group:
                directions[e] = results.signed[e] = np.nan
            elif feature.columns and (
                feature.columns[0] in self._categorical
                or not table.has_order(feature.columns[0])
            ):
                directions[e] = np.nan
        self.signed_importances_ = results.signed
        self.method_ = results.methods.tolist()
        names = [feature.name for feature in features]
        self.conditional_scores_ = results.conditional_scores(names)
        units = results.scores.units
        self._half_range = half_range
        self._store(
            results.importances,
            names,
            output_names,
            results.errors,
            units=units,
            directions=directions,
        )

    def _highest(self):
        return np.maximum(self._half_range, self.importances_)

    def _fit(self, estimator, X, y, sample_weight, groups=None):
        table = as_table(X)
        weights, kept, labels = check_rows(sample_weight, groups, table.n_samples)
        columns = self._set_features(table, self.features, estimator)
        if self.features is None and self.feature_functions is not None:
            columns = []
        features = with_functions(columns, self.feature_functions, table)
        self._feature_columns = [feature.columns for feature in features]
        model = self._model(estimator, y)
        check_length(y, table.n_samples)
        if model is None:
            y, names = check_target(y, table.n_samples), names_in(y)
            raw, output_names = label_scores(y, names)
            check_not_tiny(raw)
            raw = raw[weights > 0]
        if not kept.all():  # the other rows are ignored
            table, weights = table.take(np.flatnonzero(kept)), weights[kept]
        if model is not None:
            raw = model.unmoved(table).T
            output_names = model.output_names
        total = weights.sum()
        units = Units.of(weights / total, labels)
        scores = make_scores(raw, units, total, self.standardize, self.keep_rows)
        values = Values(table, self._categorical)
        n_bins = number_of_bins(self.n_bins, X.weight if are_apart(X) else total)
        results = self._estimates(model, values, features, scores, weights, n_bins)
        half_range = np.inf
        if self.method != "gaussian":  # a standard deviation is at most half of it
            half_range = 0.5 * scores.unit * np.ptp(scores.values, axis=0).mean()
        self._store_estimates(table, features, output_names, results, half_range)
        if self.keep_rows:
            self._keep_rows(table, kept, scores, results)
        warn_stopped(self, np.array([way is None for way in self.method_]))

    def _keep_rows(self, table, kept, scores, results):
        influences = results.influences
        if influences is None:
            warn(
                "`influences_` is NaN: the covariance has no influence function, or a "
                "callback stopped the fit."
            )
            influences = np.full((table.n_samples, len(results.importances)), np.nan)
        rows = KeptRows(influences, None, scores.units, kept, fingerprint(table))
        store_rows(self, replace(rows, constant=constant_columns(table)))

    def _model(self, estimator, y):
        if estimator is None:
            if self.method == "gaussian":
                raise ValueError(
                    "method='gaussian' needs a score that is a function of X; labels "
                    "are not. Use method='linear', the same for Gaussian X."
                )
            return None
        return Model(estimator, self.response_method, prefer=SCORES_FIRST, y=y)

    def _estimates(self, model, values, features, scores, weights, n_bins):
        start = partial(Progress, [self])
        if self.method == "gaussian":
            finite_numbers(values.table, f"method='gaussian' needs them. {WAY_OUT}")
            covariance = make_covariance(self.covariance, values.matrix, weights)
            return gaussian_estimates(
                model, values, features, covariance, scores, start
            )
        linear = cache(partial(is_linear, model, values.table))
        choice = MethodChoice(self.method, n_bins, linear)
        estimator = Estimator(features, values, scores, choice)
        with start(len(features)) as progress:
            return estimator.estimate(progress)

    def _quantity(self):
        return "standard deviation of expected score"

    def _in_words(self):
        text = "the standard deviation of the expected score given a feature"
        if self.standardize:
            share = "the standard deviation of the score"
            return self._says(text, share_of=share, moves="score")
        return self._says(text, unit="units of the score", moves="score")


def is_linear(model, table):
    """Whether the score is known to be linear in the columns."""
    return model is not None and linear_coefficients(model, table) is not None


def make_scores(raw, units, total, standardize, keep_rows):
    """Centre (and standardise) scores.

    Parameters
    ----------
    raw : ndarray of shape (n_samples, n_outputs)
    units : Units
    total : float
        What the weights summed to.
    standardize, keep_rows : bool

    Returns
    -------
    Scores
    """
    weights = units.weights
    mean = weights @ raw
    values = np.where(np.ptp(raw, axis=0) == 0, 0.0, raw - mean)
    unit = unit_of(values)
    values, scale = values / unit, np.full(raw.shape[1], unit)
    if standardize:
        spread = np.sqrt(weights @ values**2)
        spread = np.where(spread > 0, spread, 1.0)
        values, scale, unit = values / spread, scale * spread, 1.0
    return Scores(
        values, mean, scale, unit, total, len(values), units, standardize, keep_rows
    )


def label_scores(y, names=()):
    """The labels as scores, with the names of the outputs.

    Parameters
    ----------
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs), or None
        Numbers as they are; others as indicators of each class, of two classes the
        second.
    names : sequence of str
        Of the columns of y, if it has any.

    Returns
    -------
    scores : ndarray of shape (n_samples, n_outputs)
    names : list of str
    """
    if y is None:
        raise ValueError(
            "fit(None, X, y) takes the labels as the score, but y was not given. Pass "
            "y, or a fitted estimator."
        )
    columns = numbers_if_possible(as_columns(y))
    if columns.dtype.kind in "fbiu":
        names = target_names(columns.shape[1], names)
        return columns.astype(np.float64), names
    lists = [encoded(column)[0] for column in columns.T]
    return indicators(columns, lists), output_names(lists, names)
