"""t and Wald statistics of coefficients estimated without penalty.

An estimated coefficient over its standard error. Standard errors come from the Fisher
information of the model's likelihood at the estimator's own coefficients, times the
dispersion where the family has one. For least squares that is the textbook t.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, softmax
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    TweedieRegressor,
)

from skvarimp._data.labels import class_lists, positions
from skvarimp._measures.coefficients.design import Design
from skvarimp._measures.coefficients.separation import warn_without_maximum
from skvarimp._running.warn import warn

# Distance of the coefficients from the likelihood's maximum, in standard errors, from
# which on statistics are warned about or refused.
_WARN_DISTANCE, _LARGEST_DISTANCE = 0.1, 1.0

# Parameters by which scikit-learn's linear models are penalised.
_PENALTIES = {"alpha", "alphas", "alpha_1", "C", "Cs", "l1_ratio", "n_nonzero_coefs"}


@dataclass
class CoefficientStatistics:
    """What is known about the coefficients of an unpenalised model.

    Attributes
    ----------
    coefficients : ndarray of shape (n_features, n_outputs)
        Of least norm among those that predict the same.
    standard_errors : ndarray of shape (n_features, n_outputs)
    dispersion : ndarray of shape (n_outputs,)
        Residual variance of least squares; 1 for families without dispersion.
    degrees_of_freedom : int
        Rows of positive weight minus rank.
    """

    coefficients: np.ndarray
    standard_errors: np.ndarray
    dispersion: np.ndarray
    degrees_of_freedom: int

    @property
    def statistics(self):
        """Coefficients over standard errors; 0 where both are 0 (constant columns)."""
        return np.divide(
            self.coefficients,
            self.standard_errors,
            out=np.zeros_like(self.coefficients),
            where=self.standard_errors > 0,
        )


@dataclass(frozen=True)
class Family:
    """An exponential dispersion family with variance mu ** power, and its link."""

    power: float
    link: str

    @property
    def has_dispersion(self):
        """False for Poisson, whose variance is its mean."""
        return self.power != 1


def family_of(estimator):
    """Family of an unpenalised regressor, None for other estimators.

    Exact types: a subclass may estimate otherwise.
    """
    if type(estimator) is LinearRegression:
        return Family(0, "identity")
    if type(estimator) is PoissonRegressor:
        return Family(1, "log")
    if type(estimator) is GammaRegressor:
        return Family(2, "log")
    if type(estimator) is TweedieRegressor:
        link = estimator.link
        if link == "auto":
            link = "identity" if estimator.power <= 0 else "log"
        return Family(estimator.power, link)
    return None


def check_has_statistic(estimator):
    """Raise an error that says why an estimator's coefficients have no statistic."""
    name, is_logistic = type(estimator).__name__, type(estimator) is LogisticRegression
    if not is_logistic and family_of(estimator) is None:
        raise TypeError(
            f"{name} has no t or Wald statistics: {_reason(estimator)}. Use "
            "statistic='standardized', or fit LinearRegression, "
            "LogisticRegression(C=np.inf), or PoissonRegressor, GammaRegressor or "
            "TweedieRegressor with alpha=0."
        )
    way_out = "Use statistic='standardized', or refit without it."
    if getattr(estimator, "positive", False):
        raise ValueError(
            f"{name}(positive=True) has no t statistics: at the bound 0 a coefficient "
            f"has no normal distribution. {way_out}"
        )
    if is_logistic:
        penalised = getattr(estimator, "penalty", "deprecated") is not None
        penalised = penalised and np.isfinite(estimator.C)
        parameter, without = "C", "C=np.inf"
    else:
        penalised = getattr(estimator, "alpha", 0) > 0
        parameter, without = "alpha", "alpha=0"
    if penalised:
        raise ValueError(
            f"{name}({parameter}={getattr(estimator, parameter):g}) has no Wald "
            "statistics: its penalty shrinks the coefficients, so that they are biased "
            "and the information does not give their errors. Use "
            f"statistic='standardized', or refit with {without}."
        )
    if getattr(estimator, "class_weight", None) is not None:
        raise ValueError(
            f"{name} with `class_weight` has no Wald statistics: it counts rows more "
            f"or less often than they were observed. {way_out}"
        )


def _reason(estimator):
    parameters = estimator.get_params() if hasattr(estimator, "get_params") else {}
    if _PENALTIES & parameters.keys():
        return (
            "its penalty or margin shrinks the coefficients, so that they are biased "
            "and no information matrix gives their errors"
        )
    return (
        "its coefficients are not known to be estimates of least squares or maximum "
        "likelihood, the ones with such a distribution"
    )


def coefficient_statistics(estimator, coefficients, X, y, weights, names):
    """Statistics of an unpenalised model on its training data.

    Parameters
    ----------
    estimator : object
        One that `check_has_statistic` lets pass.
    coefficients : ndarray of shape (n_features, n_outputs)
    X : {ndarray, sparse} of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    weights : ndarray of shape (n_samples,)
        All positive.
    names : list of str
        Names of the columns.

    Returns
    -------
    CoefficientStatistics
    """
    design = Design(X, estimator.fit_intercept)
    if design.n_samples <= design.n_parameters:
        raise ValueError(
            f"statistic='t' needs more rows than coefficients, got {design.n_samples} "
            f"rows and {design.n_parameters} coefficients: no degree of freedom is "
            "left for their errors. Use statistic='standardized'."
        )
    if len(design.aliased):
        warn(
            f"Columns {[names[j] for j in design.aliased]} are constant or linear "
            "combinations of each other: the data do not determine their coefficients, "
            "and the pseudo-inverse shares what they have in common among them."
        )
    intercepts = np.ravel(estimator.intercept_)
    predictor = design.linear_predictor(coefficients, intercepts)
    if type(estimator) is not LogisticRegression:
        family = family_of(estimator)
        return _of_family(family, design, coefficients, predictor, y, weights)
    code = positions(y, class_lists(estimator.classes_))[:, 0]
    return _of_logistic(design, coefficients, predictor, code, weights)


def _of_family(family, design, coefficients, predictor, y, weights):
    """Exponential dispersion families; weights divide the variance of their row."""
    y = y.reshape(len(y), -1)
    with np.errstate(over="ignore"):
        mean = np.exp(predictor) if family.link == "log" else predictor
    if family.power != 0 and not np.all((mean > 0) & np.isfinite(mean)):
        raise ValueError(
            "The model's means are not all positive on X, which variance "
            f"mean**{family.power:g} needs. Pass the training data."
        )
    by_predictor = mean if family.link == "log" else np.ones_like(mean)  # dmu / deta
    variance = np.power(mean, family.power)
    weights = weights[:, np.newaxis]
    information = weights * by_predictor**2 / variance
    residuals = weights * (y - mean) * by_predictor / variance
    freedom = design.n_samples - design.rank
    dispersion = np.ones(y.shape[1])
    if family.has_dispersion:  # Pearson's estimate
        chi_square = np.sum(weights * (y - mean) ** 2 / variance, axis=0)
        _check_residuals(chi_square, weights * y**2 / variance)
        dispersion = chi_square / freedom
    roots = np.sqrt(information[:, :1, np.newaxis])  # (n_samples, 1, 1)
    inverse = design.inverse_information(roots)
    near = _is_near_maximum(design, inverse, residuals, dispersion)
    if near and family.link == "log" and family.power < 2:
        warn_without_maximum(design, inverse, residuals)
    return CoefficientStatistics(
        design.shortest(coefficients),
        np.sqrt(design.slope_variances(inverse) * dispersion),
        dispersion,
        freedom,
    )


def _of_logistic(design, coefficients, predictor, code, weights):
    """Binary (one linear predictor) and multinomial (one per class) models."""
    if predictor.shape[1] == 1:
        chance = expit(predictor)
        observed = code[:, np.newaxis] == 1
        information = weights[:, np.newaxis] * chance * expit(-predictor)
        roots = np.sqrt(information)[:, :, np.newaxis]
    else:
        chance = softmax(predictor, axis=1)
        observed = code[:, np.newaxis] == np.arange(chance.shape[1])
        coefficients = coefficients - coefficients.mean(axis=1, keepdims=True)
        roots = _multinomial_roots(chance, weights)
    residuals = weights[:, np.newaxis] * (observed - chance)
    inverse = design.inverse_information(roots)
    dispersion = np.ones(predictor.shape[1])
    if _is_near_maximum(design, inverse, residuals, dispersion):
        warn_without_maximum(design, inverse, residuals)
    return CoefficientStatistics(
        design.shortest(coefficients),
        np.sqrt(design.slope_variances(inverse, predictor.shape[1])),
        dispersion,
        design.n_samples - design.rank,
    )


def _multinomial_roots(chance, weights):
    """M_i with M_i M_i' = w_i (diag(p_i) - p_i p_i'), (n_samples, K, K)."""
    # (I - p 1') diag(p) (I - 1 p') = diag(p) - p p', as p sums to 1.
    centred = np.eye(chance.shape[1]) - chance[:, :, np.newaxis]
    return centred * np.sqrt(weights[:, np.newaxis] * chance)[:, np.newaxis, :]


def _check_residuals(chi_square, terms):
    rounding = (10 * np.finfo(np.float64).eps) ** 2 * len(terms) * np.sum(terms, axis=0)
    if np.any(chi_square <= rounding):
        raise ValueError(
            "The model fits y without any residual: the standard errors are 0 and t "
            "is not defined. Use statistic='standardized' or 'absolute'."
        )


def _is_near_maximum(design, inverse, residuals, dispersion):
    """Whether coefficients maximise the likelihood on the data given.

    Warns where they are somewhat off, and refuses those that are far away.

    With score g and information I, sqrt(g' I^-1 g / dispersion) bounds the distance,
    in standard errors, of every coefficient from the maximum, to first order.
    """
    if inverse is None:
        distance = np.inf
    else:
        n_classes = len(inverse) // design.n_parameters
        score = design.score(residuals)  # (n_parameters, n_outputs)
        if n_classes > 1:
            score = score.T.reshape(-1, 1)
        square = np.einsum("ao,ab,bo->o", score, inverse, score) / dispersion
        distance = np.sqrt(np.max(square))
    if distance <= _WARN_DISTANCE:
        return True
    message = (
        "The coefficients are not those of greatest likelihood on X and y: they are up "
        f"to {distance:.2g} standard errors away. Pass the data (and weights) the "
        "estimator was fitted on. If these are, its solver stopped early or dropped "
        "directions (standardise the columns, or refit with a smaller `tol` and a "
        "larger `max_iter`), or the columns separate the classes of y (use "
        "statistic='standardized', or a penalised model)."
    )
    if not distance <= _LARGEST_DISTANCE:
        raise ValueError(message)
    warn(message)
    return False
