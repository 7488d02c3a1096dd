"""Intervals and p-values of estimates, from their errors and skewness.

An estimate has a sampling error, whose skewness may be known, and perhaps an error of
drawing. Every interval that is shown comes from here.
"""

import numpy as np
from scipy.stats import t as student

from skvarimp._data.statistics import (
    divided,
    root_of_squares,
    skewness_of,
    t_quantile,
)


def error_and_skewness(terms, drawn):
    """Standard errors of estimates and their skewness.

    Parameters
    ----------
    terms : ndarray of shape (n_features, n_rows)
        What the rows add to the sampling error.
    drawn : ndarray of shape (n_features,)
        Errors of random draws, which have no skewness.

    Returns
    -------
    error, skew : ndarray of shape (n_features,)
        NaN and 0 where an error is not known.
    """
    error = np.hypot(root_of_squares(terms), drawn)
    return error, skewness_of(terms, error)


def corrected(statistic, skew):
    """A studentised estimate whose skewness is removed: nearly standard normal.

    Hall's transformation t + g t^2 / 3 + g^2 t^3 / 27 + g / 6 (Hall 1992, "On the
    removal of skewness by transformation", JRSS B 54, section 2), where g is the
    skewness of the estimate.
    """
    return statistic + skew * statistic**2 / 3 + skew**2 * statistic**3 / 27 + skew / 6


def uncorrected(quantile, skew):
    """The studentised estimate whose corrected value is `quantile`."""
    shifted = quantile - skew / 6
    small = np.abs(skew) < 1e-9
    g = np.where(small, 1.0, skew)
    return np.where(small, shifted, 3.0 / g * (np.cbrt(1.0 + g * shifted) - 1.0))


def interval_ends(estimates, errors, skew, drawn, freedom, confidence):
    """Ends of the intervals of estimates: all intervals that are shown are these.

    The error of random draws is added to the sampling error, and takes its part of the
    skewness.

    Parameters
    ----------
    estimates, errors : ndarray of shape (n_features,)
        With their sampling errors.
    skew : ndarray of shape (n_features,) or None
        Skewness of the sampling errors; NaN or None where it is not known.
    drawn : ndarray of shape (n_features,) or float
        Errors of random draws.
    freedom, confidence : float

    Returns
    -------
    lower, upper : ndarray of shape (n_features,)
        NaN where no error is known.
    """
    both = np.hypot(errors, drawn)
    skew = np.zeros(len(errors)) if skew is None else np.nan_to_num(skew)
    skew = skew * divided(errors, both) ** 3
    quantile = t_quantile((1 + confidence) / 2, freedom)
    return interval_bounds(estimates, both, skew, quantile)


def interval_bounds(estimates, errors, skew, quantile):
    """Lower and upper bounds of skewness-corrected intervals.

    Parameters
    ----------
    estimates, errors, skew : ndarray of shape (n_features,)
    quantile : float
        Of the corrected studentised estimate, such as 1.96.

    Returns
    -------
    lower, upper : ndarray of shape (n_features,)
    """
    lower = estimates - errors * uncorrected(quantile, skew)
    upper = estimates - errors * uncorrected(-quantile, skew)
    return lower, upper


def two_sided_p_values(difference, error, skew, freedom):
    """Of no difference, by Student's distribution.

    A difference that is known exactly has p-value 0 or 1, one whose error is not known
    has none (NaN).
    """
    statistic = corrected(divided(difference, error), skew)
    p_values = 2.0 * student.sf(np.abs(statistic), freedom)
    p_values = np.where(error == 0, 0.0, p_values)
    return np.where(np.isnan(error), np.nan, np.where(difference == 0, 1.0, p_values))


def one_sided_pvalues(importances, errors, freedom):
    """Of "not positive", by Student's distribution.

    Where the error is 0, 0 for a positive importance and 1 for others; NaN stays.
    """
    ratio = np.where(importances > 0, np.inf, -np.inf) + 0.0 * errors
    np.divide(importances, errors, out=ratio, where=errors > 0)
    return student.sf(ratio, freedom)
