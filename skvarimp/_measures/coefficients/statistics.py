"""Statistics of coefficients on the training data: t and Wald's, and a spline's GCV.

t: an estimated coefficient over its standard error. Standard errors come from the
Fisher information of the model's likelihood at the estimator's own coefficients, times
the dispersion where the family has one. For least squares that is the textbook t.

There is no maximum of the likelihood at finite coefficients where some combination of
columns separates the classes (wholly or in part), or the zeros of a count from the
rest: the likelihood keeps growing along it, and a solver stops where it happens to.

Reference: Bach (2010), Self-concordant analysis for logistic regression, Electronic
Journal of Statistics 4, 384-414.
"""

import numpy as np
from scipy.special import expit, softmax
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    TweedieRegressor,
)

from skvarimp._data.statistics import divided
from skvarimp._measures.coefficients.design import Design
from skvarimp._models.labels import class_lists, positions
from skvarimp._models.model import is_exactly
from skvarimp._running.guards import warn

# Distance of the coefficients from the likelihood's maximum, in standard errors, from
# which on statistics are warned about or refused.
_WARN_DISTANCE, _LARGEST_DISTANCE = 0.1, 1.0
_GCV_TOLERANCE = 1e-6  # of the model's own criterion

FAMILIES = {
    LinearRegression: (0, "identity"),
    PoissonRegressor: (1, "log"),
    GammaRegressor: (2, "log"),
}


def family_of(estimator):
    """Power and link of an unpenalised regressor's family, None for other estimators.

    The family is one of exponential dispersion with variance mu ** power. Exact types:
    a subclass may estimate otherwise.
    """
    if type(estimator) is TweedieRegressor:
        power, link = estimator.power, estimator.link
        usual = "identity" if power <= 0 else "log"
        return power, usual if link == "auto" else link
    return FAMILIES.get(type(estimator))


def check_has_statistic(estimator):
    """Raise an error that says why an estimator's coefficients have no statistic."""
    name, is_logistic = type(estimator).__name__, type(estimator) is LogisticRegression
    if not is_logistic and family_of(estimator) is None:
        raise TypeError(
            f"{name} has no t or Wald statistics: these need estimates of least "
            "squares or maximum likelihood that no penalty or margin shrinks. Use "
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
    statistics : ndarray of shape (n_features, n_outputs)
        Coefficients, those of least norm among all that predict the same, over their
        standard errors; 0 where both are 0 (constant columns).
    standard_errors : ndarray of shape (n_features, n_outputs)
    dispersion : ndarray of shape (n_outputs,)
        Residual variance of least squares; 1 for families without dispersion.
    degrees_of_freedom : int
        Rows of positive weight minus rank.
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
    predictor = X @ coefficients + np.ravel(estimator.intercept_)
    freedom, dispersion = design.n_samples - design.rank, np.ones(predictor.shape[1])
    may_lack_maximum = True
    if type(estimator) is LogisticRegression:
        code = positions(y, class_lists(estimator.classes_))[:, 0]
        roots, residuals = _logistic_terms(predictor, code, weights)
        if len(dispersion) > 1:
            coefficients = coefficients - coefficients.mean(axis=1, keepdims=True)
    else:
        power, link = family_of(estimator)
        y = y.reshape(len(y), -1)
        roots, residuals, chi_square = _family_terms(power, link, predictor, y, weights)
        may_lack_maximum = link == "log" and power < 2
        if power != 1:  # Pearson's estimate; the variance of Poisson is its mean
            dispersion = chi_square / freedom
    inverse = design.inverse_information(roots)
    _check_maximum(design, inverse, residuals, dispersion, may_lack_maximum)
    coefficients = design.shortest(coefficients)
    errors = np.sqrt(design.slope_variances(inverse, roots.shape[1]) * dispersion)
    return divided(coefficients, errors), errors, dispersion, freedom


def _family_terms(power, link, predictor, y, weights):
    """Exponential dispersion families; weights divide the variance of their row.

    Returns
    -------
    roots, residuals
        Of the information, see `Design.triangle`; and the score's, by the predictor.
    chi_square : ndarray of shape (n_outputs,)
    """
    with np.errstate(over="ignore"):
        mean = np.exp(predictor) if link == "log" else predictor
    if power != 0 and not np.all((mean > 0) & np.isfinite(mean)):
        raise ValueError(
            "The model's means are not all positive on X, which variance "
            f"mean**{power:g} needs. Pass the training data."
        )
    by_predictor = mean if link == "log" else np.ones_like(mean)  # dmu / deta
    variance, weights = np.power(mean, power), weights[:, np.newaxis]
    information = weights * by_predictor**2 / variance
    residuals = weights * (y - mean) * by_predictor / variance
    chi_square = np.sum(weights * (y - mean) ** 2 / variance, axis=0)
    rounding = (10 * np.finfo(np.float64).eps) ** 2 * len(y)
    rounding = rounding * np.sum(weights * y**2 / variance, axis=0)
    if power != 1 and np.any(chi_square <= rounding):
        raise ValueError(
            "The model fits y without any residual: the standard errors are 0 and t "
            "is not defined. Use statistic='standardized' or 'absolute'."
        )
    return np.sqrt(information[:, :1, np.newaxis]), residuals, chi_square


def _logistic_terms(predictor, code, weights):
    """Binary (one linear predictor) and multinomial (one per class) models.

    Roots and residuals as those of `_family_terms`.
    """
    weights = weights[:, np.newaxis]
    if predictor.shape[1] == 1:
        chance = expit(predictor)
        observed = code[:, np.newaxis] == 1
        roots = np.sqrt(weights * chance * expit(-predictor))[:, :, np.newaxis]
    else:
        chance = softmax(predictor, axis=1)
        observed = code[:, np.newaxis] == np.arange(chance.shape[1])
        # M_i M_i' = w_i (diag(p_i) - p_i p_i') = w_i (I - p 1') diag(p) (I - 1 p'), as
        # p sums to 1
        centred = np.eye(chance.shape[1]) - chance[:, :, np.newaxis]
        roots = centred * np.sqrt(weights * chance)[:, np.newaxis, :]
    return roots, weights * (observed - chance)


def _check_maximum(design, inverse, residuals, dispersion, may_lack_maximum):
    """Warn where coefficients do not maximise the likelihood, and refuse those far off.

    With score g and information I, sqrt(g' I^-1 g / dispersion) bounds the distance,
    in standard errors, of every coefficient from the maximum, to first order.

    Where the likelihood may lack one, the derivatives tell. Along any direction h of
    unit information the third derivative of minus the log likelihood (logistic, or of a
    log link with power below 2) is at most R times the second, R the largest spread of
    a row's linear predictors along h. So the slope, at least -lambda at the start
    (lambda^2 = g' I^-1 g), gains 1 / R or more on the way: with lambda R < 1 no
    direction descends for ever (Bach, proposition 2). 1/2 leaves room for rounding.
    """
    distance = np.inf
    if inverse is not None:
        score = design.score(residuals)  # (n_parameters, n_predictors)
        if len(inverse) > design.n_parameters:
            score = score.T.reshape(-1, 1)
        decrement = np.einsum("ao,ab,bo->o", score, inverse, score)
        distance = np.sqrt(np.max(decrement / dispersion))
    if not distance <= _WARN_DISTANCE:
        message = (
            "The coefficients are not those of greatest likelihood on X and y: they "
            f"are up to {distance:.2g} standard errors away. Pass the data (and "
            "weights) the estimator was fitted on. If these are, its solver stopped "
            "early or dropped directions (standardise the columns, or refit with a "
            "smaller `tol` and a larger `max_iter`), or the columns separate the "
            "classes of y (use statistic='standardized', or a penalised model)."
        )
        if not distance <= _LARGEST_DISTANCE:
            raise ValueError(message)
        warn(message)
    elif may_lack_maximum and decrement[0] * _spread(design, inverse) > 0.25:
        warn(
            "The solver stopped where the likelihood may have no maximum. Either it "
            "needs a smaller `tol` or a larger `max_iter`, or a combination of columns "
            "separates the classes of y, or the rows with y = 0, at least in part. "
            "Wald statistics then mean nothing: use statistic='standardized', or a "
            "penalised model."
        )


def _spread(design, inverse):
    """R^2: largest variance of a row's linear predictor, or of a difference of two."""
    n_predictors = len(inverse) // design.n_parameters
    parts = inverse.reshape((n_predictors, design.n_parameters) * 2)
    if n_predictors == 1:
        contrasts = [parts[0, :, 0]]
    else:
        contrasts = [
            parts[k, :, k] + parts[m, :, m] - parts[k, :, m] - parts[m, :, k]
            for k in range(n_predictors)
            for m in range(k)
        ]
    return max(
        np.max(np.einsum("ia,ab,ib->i", z, contrast, z, optimize=True))
        for _, z in design.blocks()
        for contrast in contrasts
    )


SPLINES = ("Earth", "EarthRegressor")


def increases_of_gcv(estimator, X, y):
    """Increase of the criterion without the basis functions that use a column.

    Parameters
    ----------
    estimator : Earth or EarthRegressor
        Of the package `mars-earth`.
    X : ndarray of shape (n_samples, n_features)
        The training rows.
    y : ndarray of shape (n_samples,)

    Returns
    -------
    ndarray of shape (n_features,)
        0 for a column in no basis function.
    """
    name = type(estimator).__name__
    if not any(is_exactly(estimator, "pymars", kind) for kind in SPLINES):
        raise TypeError(
            "statistic='gcv' needs a spline that least squares fitted, Earth or "
            f"EarthRegressor of the package mars-earth, got {name}. Use "
            "SensitivityImportance for other models."
        )
    if getattr(estimator, "earth_", estimator).categorical_imputer_ is not None:
        raise TypeError(
            f"statistic='gcv' takes numeric features only, but this {name} has "
            "categorical ones. Use SensitivityImportance."
        )
    present = np.zeros(X.shape, dtype=bool)
    basis = estimator.basis_
    functions = np.column_stack([b.transform(X, present) for b in basis])
    # the newest factor of a product says whether it took a knot of its own
    knots = np.array([type(b).__name__ == "HingeBasisFunction" for b in basis])
    whole = _criterion(functions, knots, y, estimator.penalty)
    if not np.isclose(whole, estimator.gcv_, rtol=_GCV_TOLERANCE, atol=0.0):
        raise ValueError(
            f"The criterion of {name} on X and y is {whole:.6g}, but the model's own "
            f"`gcv_` is {estimator.gcv_:.6g}. Pass the training data, and the "
            "`penalty` of the fit."
        )
    result = np.zeros(X.shape[1])
    for j in range(X.shape[1]):
        of_column = np.array([j in b.get_involved_variables() for b in basis])
        if of_column.any():
            left, own = functions[:, ~of_column], knots[~of_column]
            result[j] = _criterion(left, own, y, estimator.penalty) - whole
    return result


def _criterion(functions, knots, y, penalty):
    """RSS / (n (1 - C / n)^2) of least squares, C = terms + penalty knots."""
    if functions.shape[1] == 0:  # then the mean remains
        functions, knots = np.ones((len(y), 1)), np.zeros(1)
    fitted = functions @ np.linalg.lstsq(functions, y, rcond=None)[0]
    n, parameters = len(y), functions.shape[1] + penalty * np.sum(knots)
    if parameters >= n:
        return np.inf
    return np.sum((y - fitted) ** 2) / (n * (1.0 - parameters / n) ** 2)
