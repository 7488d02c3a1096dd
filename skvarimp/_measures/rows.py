"""What single rows contribute to an importance, and intervals from it.

An influence psi_i says how much row i, as evaluated row and as donor, moves an
importance; its weighted mean over the rows is 0. With weights w that sum to 1 and a
total weight N,

    variance of the importance        sum_i w_i psi_i^2 / N
    third central moment              sum_i w_i psi_i^3 / N^2
"""

import hashlib
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student
from sklearn.utils.validation import check_is_fitted

from skvarimp._data.statistics import divided
from skvarimp._data.values import spread_over

SEEN_ROWS, SEEN_COLUMNS = 64, 32  # of X, to tell whether two fits saw the same rows


@dataclass(frozen=True)
class Rows:
    """Influences of the rows of positive weight.

    Attributes
    ----------
    influences : ndarray of shape (n_rows, n_entries)
    contributions : ndarray of shape (n_rows, n_entries) or None
        Each row's own importance.
    weights : ndarray of shape (n_rows,)
        Sum to 1.
    total_weight : float
    kept : ndarray of shape (n_samples,)
        Which rows of X these are.
    fingerprint : str
        Equal for fits on the same rows.
    """

    influences: np.ndarray
    contributions: np.ndarray | None
    weights: np.ndarray
    total_weight: float
    kept: np.ndarray
    fingerprint: str

    @classmethod
    def of(cls, problem, influences, contributions=None):
        """Those of a `Problem`."""
        weights, total_weight = problem.weights, problem.total_weight
        seen = fingerprint(problem.table)
        return cls(influences, contributions, weights, total_weight, problem.kept, seen)

    def variance(self, influences):
        """Variances of estimates with these influences, one per column."""
        return self.weights @ influences**2 / self.total_weight

    def third_moment(self, influences):
        """Third central moments of estimates with these influences."""
        return self.weights @ influences**3 / self.total_weight**2

    def at_all_rows(self, values):
        """Values of the rows kept at all rows of X, NaN elsewhere; None for None."""
        if values is None or self.kept.all():
            return values
        every = np.full((len(self.kept), values.shape[1]), np.nan)
        every[self.kept] = values
        return every


def store_rows(measure, rows):
    """Set `influences_` and `row_importances_` of a measure with `keep_rows=True`."""
    measure._rows = rows
    measure.influences_ = rows.at_all_rows(rows.influences)
    measure.row_importances_ = rows.at_all_rows(rows.contributions)


def fingerprint(table):
    """A digest of some rows and columns, equal for the same rows in any container."""
    rows = spread_over(table.n_samples, SEEN_ROWS)
    columns = spread_over(table.n_columns, SEEN_COLUMNS)
    digest = hashlib.sha256(f"{table.n_samples} {table.n_columns}".encode())
    some = table.part(rows, columns)
    for j in range(len(columns)):
        values = some.column(j)
        numeric = values.dtype.kind in "fiub"
        values = values.astype(np.float64) if numeric else values.tolist()
        digest.update(values.tobytes() if numeric else repr(values).encode())
    return digest.hexdigest()


def rows_of(importance):
    """The rows of a fitted importance, or a ValueError that says how to keep them."""
    check_is_fitted(importance, "importances_")
    rows = getattr(importance, "_rows", None)
    if rows is None:
        name = type(importance).__name__
        way_out = (
            f"Fit it with {name}(keep_rows=True)"
            if "keep_rows" in importance.get_params(deep=False)
            else "It has no influences of single rows. Use importance_across_folds to "
            "compare refits"
        )
        why = getattr(importance, "_without_rows", None)
        raise ValueError(f"{name} has kept no rows. {why or way_out}.")
    return rows


def drawing_variances(importance):
    """Squared errors of random draws, (n_entries,); 0 where nothing was drawn."""
    errors = getattr(importance, "monte_carlo_errors_", None)
    return np.zeros(len(importance.importances_)) if errors is None else errors**2


def skewness(third_moment, error):
    """Skewness of an estimate from its third central moment and its standard error."""
    return divided(third_moment, error**3)


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


def interval_bounds(estimates, errors, third_moment, quantile):
    """Lower and upper bounds of skewness-corrected intervals.

    Parameters
    ----------
    estimates, errors, third_moment : ndarray of shape (n_entries,)
    quantile : float
        Of the corrected studentised estimate, such as 1.96.

    Returns
    -------
    lower, upper : ndarray of shape (n_entries,)
    """
    skew = skewness(third_moment, errors)
    lower = estimates - errors * uncorrected(quantile, skew)
    upper = estimates - errors * uncorrected(-quantile, skew)
    return lower, upper


def two_sided_p_values(difference, error, third_moment, total_weight):
    """Of no difference; a difference that is known exactly has p-value 0 or 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = corrected(difference / error, skewness(third_moment, error))
    p_values = 2.0 * student.sf(np.abs(statistic), max(total_weight - 1.0, 1.0))
    return np.where(error > 0, p_values, np.where(difference == 0, 1.0, 0.0))


def t_quantile(probability, total_weight):
    """Quantile of Student's distribution with N - 1 degrees of freedom."""
    return float(student.ppf(probability, max(total_weight - 1.0, 1.0)))
