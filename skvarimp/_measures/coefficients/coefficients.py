"""`CoefficientImportance`: coefficients, and how sure they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse
from sklearn.compose import TransformedTargetRegressor
from sklearn.multioutput import MultiOutputClassifier

from skvarimp._data.sparse_table import column_blocks
from skvarimp._data.statistics import divided, variance
from skvarimp._data.table import check_fitted
from skvarimp._data.validation import (
    check_sample_weight,
    check_target,
    finite_numbers,
    numeric_target,
)
from skvarimp._measures.behind_transformers import (
    before_transformed_target,
    set_columns,
)
from skvarimp._measures.coefficients.splines import increases_of_gcv, is_spline
from skvarimp._measures.coefficients.statistics import (
    NoStatistic,
    check_has_statistic,
    coefficient_statistics,
    family_of,
)
from skvarimp._measures.coefficients.weights import WeightImportance, output_names
from skvarimp._models.forms import NotReadable
from skvarimp._models.labels import as_columns
from skvarimp._models.model import is_classifier
from skvarimp._models.readers.linear import linear_form
from skvarimp._models.registry import unwrapped
from skvarimp._running.guards import warn


@dataclass(kw_only=True, eq=False, repr=False)
class CoefficientImportance(WeightImportance):
    """Importance of each column from the coefficients of a linear model or a spline.

    With t or Wald statistics, the importance is the number of standard errors between a
    coefficient and 0. This is the evidence that the column matters given the others; it
    grows with the number of rows, and does not say how much the column matters.
    Standardized, it is the number of standard deviations of y by which the prediction
    moves when the column moves by one of its own standard deviations. With "gcv", it is
    the increase of a spline's estimated prediction error without the column.

    Parameters
    ----------
    statistic : {"auto", "t", "standardized", "absolute", "gcv"}, default="auto"
        "auto": "t" where it is valid, else "standardized"; of splines "gcv". "t": the
        absolute t statistic of least squares, or Wald's statistic of a generalised
        linear model, from its training data; for LinearRegression,
        LogisticRegression(C=np.inf), and PoissonRegressor, GammaRegressor and
        TweedieRegressor with alpha=0. "standardized": abs(coefficient) sd(x) / sd(y),
        for any model with `coef_`; without sd(y) where the coefficients are not in y's
        unit, in classifiers and with a log link. "absolute": abs(coefficient), which
        depends on each column's unit; behind a scaler that is the scaled column's.
        "gcv": the increase of the criterion of generalised cross-validation when the
        basis functions that use the column are left out and the others are fitted again
        to the training data by least
        squares; for multivariate adaptive regression splines (Earth and
        EarthRegressor of the package mars-earth).

    Attributes
    ----------
    importances_ : ndarray of shape (n_features,)
        Mean over outputs; 0 for a constant column with "t" and "standardized", and
        for a column without basis functions with "gcv", which may be negative.
    importances_per_output_ : ndarray of shape (n_features, n_outputs)
        One column per output, per class of a multinomial model, or per pair of classes
        of a support vector machine.
    signed_importances_ : ndarray of shape (n_features, n_outputs)
        The same with the coefficients' signs.
    coefficient_errors_ : ndarray of shape (n_features, n_outputs) or None
        Standard errors of the coefficients, with "t".
    dispersion_ : ndarray of shape (n_outputs,) or None
        With "t": residual variance, or Pearson's estimate of the dispersion; 1 where
        the family has none (logistic, Poisson).
    degrees_of_freedom_ : int or None
        With "t": rows of positive weight minus the rank of the design.
    wald_statistics_ : ndarray of shape (n_features, n_outputs) or None
        With "t": t squared; Wald's joint statistic of a feature of several columns.
    wald_degrees_of_freedom_ : ndarray of shape (n_features,) or None
        Of `wald_statistics_`: 1 for a column, for a category its levels minus one, 0
        where the data determine nothing.
    pvalues_ : ndarray of shape (n_features, n_outputs) or None
        Of `wald_statistics_`, by the F distribution where the family has a dispersion,
        else by chi square; NaN for 0 degrees of freedom.
    encoded_columns_ : dict or None
        Of a pipeline: the names of the columns that each feature has behind its steps.
    standard_errors_ : None
        The importances have none; see `coefficient_errors_`.
    ranking_ : ndarray of shape (n_features,)
        1 = most important.
    features_ : list of str
        Names of the columns.
    output_names_ : list of str
        Classes (of two, the second), or the columns of a frame y, or "y", or "y0",
        "y1", ...
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, when there are any.

    Notes
    -----
    In a pipeline whose steps work column by column, the coefficients of the last step
    count for the features that its columns come from. Several columns of one feature,
    as of one-hot categories, are added up, or with "t" tested together: with b their
    coefficients, C the covariance of these and q its rank, W = b' C^+ b, and the
    importance is sqrt(W / q), the root of F. It is the same for every coding, with or
    without a level left out. The signs and errors of such a feature are NaN.

    t = b_j / (s sqrt((X'WX)^+_jj)), X with a column of ones if there is an intercept,
    s² = sum w r² / (n - rank). In a generalised linear model W holds the Fisher
    information of each row, w (dmu/deta)² / V(mu), and s² is Pearson's dispersion, or 1
    where the family has none. A multinomial model's coefficients are taken to sum to 0
    over the classes, because only their differences are determined.

    "auto" takes "t" for the models listed there, unless X has too few rows, the model
    fits y without residuals, or its coefficients are not those of greatest likelihood
    (other data, separated classes): an `ImportanceWarning` then says why not.

    Inside TransformedTargetRegressor, y and all numbers are of the transformed target.

    X and y must be the training data: coefficients more than a standard error from
    the likelihood's maximum raise an error, more than a tenth of one an
    `ImportanceWarning`. Where columns are linear combinations of each other, an
    `ImportanceWarning` names them, and statistics are those of the pseudo-inverse's
    shortest solution. Where the likelihood may have no maximum (separated classes), an
    `ImportanceWarning` says so.

    Sample weights must be those of the fit. Where the family has a dispersion they are
    analytic: the variance of a row is dispersion / weight, and t does not change when
    all weights are multiplied by a number. A weight of 2 is then one observation of
    half the variance, not two observations: t of repeated rows is larger by the root of
    (sum of weights - rank) / (n - rank), with the same coefficients. Without a
    dispersion they count, and integer weights equal repeated rows. Rows with zero
    weight are ignored. "standardized" takes sd with the weights, "absolute" reads no X.

    "gcv": RSS / (n (1 - C / n)²) with RSS the sum of squared residuals, C the number of
    basis functions plus `penalty` for each that ends in a hinge, as the package counts
    (Friedman 1991, equations 30 and 32). Where no basis function is left, the mean
    remains. X and y must be the training data: another criterion than the model's own
    `gcv_` raises an error. Splines take no sample weights.

    Cost: O(n_samples n_features²) for "t", times the cube of the number of classes for
    a multinomial model; a fit by least squares for each column for "gcv".

    References
    ----------
    Greenwell, McCarthy & Boehmke (2017), A general model-based variable importance
    metric for supervised learning, sections 2.1 and 3.1; Friedman (1991), Multivariate
    adaptive regression splines; Huh & Lee (2003), Input
    variable importance in supervised learning models, Table 3 (beta coefficients);
    McCullagh & Nelder (1989), Generalized linear models, sections 2.5 and 9.2.

    Examples
    --------
    Slope 0.6, residual variance 2.4 / 3, and sum of squares 10 about the mean of x:
    t = 0.6 / sqrt(0.8 / 10).

    >>> from sklearn.linear_model import LinearRegression
    >>> from skvarimp import CoefficientImportance
    >>> X, y = [[1], [2], [3], [4], [5]], [2, 4, 5, 4, 5]
    >>> model = LinearRegression().fit(X, y)
    >>> CoefficientImportance().fit(model, X, y).importances_.round(4)
    array([2.1213])
    """

    _reads_training_rows = True

    statistic: Literal["auto", "t", "standardized", "absolute", "gcv"] = "auto"

    def _fit(self, estimator, X, y, sample_weight):
        check_fitted(estimator)
        inside = unwrapped(estimator)
        if isinstance(inside, TransformedTargetRegressor):
            estimator, y = before_transformed_target(inside, y)
        super()._fit(estimator, X, y, sample_weight)

    def _read(self, estimator, X, y, sample_weight):
        names, table = set_columns(self, estimator, X)
        outside, estimator = estimator, unwrapped(estimator)
        self.coefficient_errors_ = self.dispersion_ = self.degrees_of_freedom_ = None
        self.wald_statistics_ = self.wald_degrees_of_freedom_ = self.pvalues_ = None
        self.encoded_columns_ = None
        self._adds_up_to_score = _adds_up_to_score(estimator)
        self.statistic_ = self._statistic_for(estimator, y)
        if self.statistic_ == "gcv":
            signed = self._increases_of_gcv(estimator, table, y, sample_weight)
        else:
            signed = _read_coefficients(estimator, len(names))
        if self.statistic_ == "t":
            check_has_statistic(estimator)
        if self.statistic_ in {"t", "standardized"}:
            rows = self._training_data(table, y, sample_weight)
        if self.statistic_ == "t":
            signed = self._statistics(estimator, signed, *rows, names)
        if self.statistic_ == "standardized":
            signed = _standardized(estimator, signed, *rows)
        self.signed_importances_ = signed
        importances = signed if self.statistic_ == "gcv" else np.abs(signed)
        outputs = output_names(outside, signed.shape[1], y)
        self._store(importances, names, outputs)

    def _statistic_for(self, estimator, y):
        """The statistic to take of a kind of model."""
        if self.statistic != "auto":
            return self.statistic
        if is_spline(estimator):
            return "gcv"
        try:
            check_has_statistic(estimator)
        except (TypeError, ValueError):
            return "standardized"
        return "standardized" if y is None else "t"

    def _training_data(self, table, y, sample_weight):
        """X as numbers, y and weights, for rows of positive weight."""
        if table is None:
            raise ValueError(
                f"statistic={self.statistic!r} needs the training data X. Use "
                "statistic='absolute' to read the coefficients alone."
            )
        X = finite_numbers(table, "Pass the numbers the estimator was fitted with.")
        weights = check_sample_weight(sample_weight, table.n_samples)
        y = check_target(y, table.n_samples)
        if y is None and self.statistic_ != "standardized":
            raise ValueError(
                f"statistic={self.statistic_!r} needs the training target y."
            )
        rows = np.flatnonzero(weights)
        if len(rows) < table.n_samples:
            X = X.tocsr()[rows].tocsc() if sparse.issparse(X) else X[rows]
        return X, None if y is None else y[rows], weights[rows]

    def _statistics(self, estimator, coefficients, X, y, weights, names):
        """Signed t or Wald statistics; with "auto" coefficients where they are none."""
        inputs = self._inputs or [np.array([j]) for j in range(len(names))]
        target = y
        if not is_classifier(estimator):
            target = _numeric_target(y, coefficients.shape[1])
        try:
            found = coefficient_statistics(
                estimator, coefficients, X, target, weights, names, inputs
            )
            if found.doubt is not None and self.statistic == "auto":
                raise NoStatistic(found.doubt)
        except NoStatistic as reason:
            if self.statistic == "t":
                raise
            warn(f"The importances are standardized coefficients, not t. {reason}")
            self.statistic_ = "standardized"
            return coefficients
        if found.doubt is not None:
            warn(found.doubt)
        self.coefficient_errors_, self.dispersion_ = (
            found.standard_errors,
            found.dispersion,
        )
        self.degrees_of_freedom_ = found.degrees_of_freedom
        self.wald_statistics_ = found.wald
        self.wald_degrees_of_freedom_ = found.wald_freedom
        self.pvalues_ = found.pvalues
        return found.statistics

    def _join(self, inner, labels, importances):
        """The importances of a pipeline's features, and the names of their columns."""
        self._adds_up_to_score = inner._adds_up_to_score
        columns, names = inner._inputs, np.asarray(inner.features_, dtype=object)
        self.encoded_columns_ = {
            label: list(names[of_input]) for label, of_input in zip(labels, columns)
        }
        if inner.statistic_ != "t":
            return importances
        freedom = inner.wald_degrees_of_freedom_[:, np.newaxis]
        return np.sqrt(divided(inner.wald_statistics_, freedom))

    def _increases_of_gcv(self, estimator, table, y, sample_weight):
        X, y, weights = self._training_data(table, y, sample_weight)
        if len(weights) < table.n_samples or np.ptp(weights) > 0:
            raise ValueError(
                f"{type(estimator).__name__} is fitted without sample weights: pass "
                "sample_weight=None."
            )
        y = _numeric_target(y, 1)[:, 0]
        return increases_of_gcv(estimator, X, y)[:, np.newaxis]

    def _unit(self):
        """What coefficients are per unit of."""
        if self.encoded_columns_ is None:
            return "the feature"
        return "what the model is given behind its steps"

    def _quantity(self):
        return {
            "t": "absolute t or Wald statistic",
            "standardized": "absolute coefficient in standard deviations",
            "absolute": f"absolute coefficient, per unit of {self._unit()}",
            "gcv": "increase of generalised cross-validation",
        }[self.statistic_]

    def _further_columns(self):
        if self.pvalues_ is None or self.pvalues_.shape[1] > 1:
            return {}
        return {
            "degrees_of_freedom": self.wald_degrees_of_freedom_,
            "p_value": self.pvalues_[:, 0],
        }

    def _in_words(self):
        units_of_y, spreads_of_y = "units of y", "standard deviations of y"
        if self._adds_up_to_score:  # it has no spread in the data
            units_of_y = spreads_of_y = "units of the score"
        text, unit = {
            "t": (
                "the distance of a coefficient from 0 (absolute t or Wald statistic)",
                "standard errors of the coefficient",
            ),
            "standardized": (
                "the absolute coefficient times the standard deviation of a feature",
                spreads_of_y,
            ),
            "absolute": (
                "the absolute coefficient of a feature",
                f"{units_of_y} per unit of {self._unit()}",
            ),
            "gcv": (
                "the increase of the criterion of generalised cross-validation without "
                "a feature",
                "squared units of y",
            ),
        }[self.statistic_]
        return self._says(text, unit=unit)


def _adds_up_to_score(estimator):
    """Whether coefficients add up to a score, not to y itself."""
    family = family_of(estimator)
    return is_classifier(estimator) or (family is not None and family[1] != "identity")


def _standardized(estimator, coefficients, X, y, weights):
    """Coefficients times sd(x) over sd(y), (n_features, n_outputs)."""
    weights = weights / weights.sum()
    spread = np.empty(X.shape[1])
    for columns, block in column_blocks(X):
        spread[columns] = np.sqrt(variance(block.T, weights))
    if _adds_up_to_score(estimator):
        return coefficients * spread[:, np.newaxis]
    if y is None:
        raise ValueError(
            "statistic='standardized' needs y: coefficients are divided by its "
            "standard deviation. Use statistic='absolute' without."
        )
    y = _numeric_target(y, coefficients.shape[1])
    spread_y = np.sqrt(variance(y.T, weights))
    if np.any(spread_y == 0):
        raise ValueError(
            "y is constant: coefficients cannot be given in its standard deviations. "
            "Use statistic='absolute'."
        )
    return coefficients * spread[:, np.newaxis] / spread_y


def _numeric_target(y, n_outputs):
    y = as_columns(numeric_target(y, "Pass the training target."))
    if y.shape[1] != n_outputs:
        raise ValueError(
            f"y has {y.shape[1]} outputs, but the estimator {n_outputs}. Pass the "
            "training target."
        )
    return y


def _read_coefficients(estimator, n_features):
    """Coefficients as (n_features, n_outputs)."""
    if type(estimator) is MultiOutputClassifier:
        members = [unwrapped(member) for member in estimator.estimators_]
        return np.hstack([_read_coefficients(m, n_features) for m in members])
    name = type(estimator).__name__
    try:
        coefficients = linear_form(estimator).weights
    except NotReadable as declined:
        raise TypeError(
            f"CoefficientImportance needs a linear model, got {name}: {declined}. Use "
            "SensitivityImportance for other models."
        ) from None
    if coefficients.ndim != 2 or len(coefficients) != n_features:
        raise TypeError(
            "CoefficientImportance needs one coefficient for each column, got shape "
            f"{coefficients.shape[::-1]} from {name} for {n_features} columns."
        )
    if not np.all(np.isfinite(coefficients)):
        raise ValueError(f"`coef_` of {name} contains NaN or infinity.")
    return coefficients
