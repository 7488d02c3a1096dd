"""Intervals and p-values of estimates, from their errors and skewness.

An estimate has a sampling error, whose skewness may be known, and perhaps an error of
drawing. Every interval that is shown comes from here.
"""

from dataclasses import dataclass

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


@dataclass(frozen=True)
class Sampling:
    """What the rows and the measure say of the intervals of single estimates.

    Attributes
    ----------
    freedom : float, default=inf
        Degrees of freedom of Student's distribution.
    widening : float, default=1.0
        By which standard errors are too small, see `Units.understatement`.
    evenness : float, default=1.0
        Of the units' weights, see `Units.evenness`.
    lowest : float, default=-inf
        The smallest importance that can be.
    highest : float or ndarray of shape (n_features,), default=inf
        The largest one.
    """

    freedom: float = np.inf
    widening: float = 1.0
    evenness: float = 1.0
    lowest: float = -np.inf
    highest: float = np.inf

    @classmethod
    def of(cls, units, lowest=-np.inf, highest=np.inf):
        """From the units of the standard errors."""
        numbers = units.interval_freedom, units.understatement, units.evenness
        return cls(*numbers, lowest, highest)


# The correction for skewness makes an interval at most so many times as long on each
# side: where a few rows make the skewness, it is hardly known. See doc/coverage.rst.
LONGEST = 2.0


def corrected(statistic, skew):
    """A studentised estimate whose skewness is removed: nearly standard normal.

    Hall's transformation t + g t^2 / 3 + g^2 t^3 / 27 + g / 6 (Hall 1992, "On the
    removal of skewness by transformation", JRSS B 54, section 2), where g is the
    skewness of the estimate; at least half of t, see `LONGEST`.
    """
    cubic = statistic + skew * statistic**2 / 3 + skew**2 * statistic**3 / 27 + skew / 6
    least = np.abs(statistic) / LONGEST
    return np.where(statistic < 0, np.minimum(cubic, -least), np.maximum(cubic, least))


def uncorrected(quantile, skew, evenness=1.0):
    """The studentised estimate whose corrected value is `quantile`.

    Parameters
    ----------
    quantile : float
    skew : ndarray
    evenness : float, default=1.0
        The correction makes a side shorter at most by this share.
    """
    shifted = quantile - skew / 6
    small = np.abs(skew) < 1e-9
    g = np.where(small, 1.0, skew)
    exact = np.where(small, shifted, 3.0 / g * (np.cbrt(1.0 + g * shifted) - 1.0))
    ends = np.sort([(1.0 - evenness) * quantile, LONGEST * quantile])
    return np.clip(exact, *ends)


def interval_ends(estimates, errors, skew, drawn, sampling, confidence):
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
    sampling : Sampling
    confidence : float

    Returns
    -------
    lower, upper : ndarray of shape (n_features,)
        NaN where no error is known.
    """
    errors = errors * sampling.widening
    both = np.hypot(errors, drawn)
    skew = np.zeros(len(errors)) if skew is None else np.nan_to_num(skew)
    skew = skew * divided(errors, both) ** 3
    quantile = t_quantile((1 + confidence) / 2, sampling.freedom)
    lower, upper = interval_bounds(estimates, both, skew, quantile, sampling.evenness)
    # an estimate out of the range, as chance allows, is in its interval
    lowest = np.minimum(sampling.lowest, estimates)
    return np.maximum(lower, lowest), np.minimum(upper, sampling.highest)


def interval_bounds(estimates, errors, skew, quantile, evenness=1.0):
    """Lower and upper bounds of skewness-corrected intervals.

    Parameters
    ----------
    estimates, errors, skew : ndarray of shape (n_features,)
    quantile : float
        Of the corrected studentised estimate, such as 1.96.
    evenness : float, default=1.0
        See `uncorrected`.

    Returns
    -------
    lower, upper : ndarray of shape (n_features,)
    """
    lower = estimates - errors * uncorrected(quantile, skew, evenness)
    upper = estimates - errors * uncorrected(-quantile, skew, evenness)
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
