"""What a spline's generalised cross-validation loses with a column."""

import numpy as np

from skvarimp._models.forms import NotReadable
from skvarimp._models.readers.linear import spline_form

_TOLERANCE = 1e-6  # of the model's own criterion


def increases_of_gcv(estimator, table, X, y):
    """Increase of the criterion without the basis functions that use a column.

    Parameters
    ----------
    estimator : Earth or EarthRegressor
        Of the package `mars-earth`.
    table : Table
        The training rows.
    X : ndarray of shape (n_samples, n_features)
        The same as numbers.
    y : ndarray of shape (n_samples,)

    Returns
    -------
    ndarray of shape (n_features,)
        0 for a column in no basis function.
    """
    name = type(estimator).__name__
    try:
        form = spline_form(estimator, table)
    except NotReadable as declined:
        raise TypeError(
            "statistic='gcv' needs a spline that least squares fitted, Earth or "
            f"EarthRegressor of the package mars-earth, got {name}: {declined}. Use "
            "SensitivityImportance for other models."
        ) from None
    functions = form.products(X)
    # the newest factor of a product says whether it took a knot of its own
    knots = np.append(form.hinges, False)[form.factors[:, 0]]
    whole = _criterion(functions, knots, y, estimator.penalty)
    if not np.isclose(whole, estimator.gcv_, rtol=_TOLERANCE, atol=0.0):
        raise ValueError(
            f"The criterion of {name} on X and y is {whole:.6g}, but the model's own "
            f"`gcv_` is {estimator.gcv_:.6g}. Pass the training data, and the "
            "`penalty` of the fit."
        )
    uses = np.pad(form.matrix != 0, [(0, 0), (0, 1)])[:, form.factors].any(axis=2)
    result = np.zeros(len(uses))
    for j, of_column in enumerate(uses):
        if of_column.any():
            left = functions[:, ~of_column], knots[~of_column]
            result[j] = _criterion(*left, y, estimator.penalty) - whole
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
