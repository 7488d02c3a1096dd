"""What a spline loses without a column: generalised cross-validation."""

import numpy as np

from skvarimp._models.model import is_exactly

SPLINES = ("Earth", "EarthRegressor")
GCV_TOLERANCE = 1e-6  # of the model's own criterion


def is_spline(estimator):
    """Whether a model is a multivariate adaptive regression spline of `mars-earth`."""
    return any(is_exactly(estimator, "pymars", kind) for kind in SPLINES)


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
    if not is_spline(estimator):
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
    if not np.isclose(whole, estimator.gcv_, rtol=GCV_TOLERANCE, atol=0.0):
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
