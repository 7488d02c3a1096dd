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


def store_rows(
    measure, table, kept, weights, total_weight, influences, contributions=None
):
    """Set `influences_` and `row_importances_` of a measure with `keep_rows=True`.

    Parameters
    ----------
    measure : BaseImportance
    table : Table
        The rows of positive weight.
    kept : ndarray of shape (n_samples,)
        Which rows of X have positive weight.
    weights : ndarray of shape (n_rows,)
        Of those rows, summing to 1.
    total_weight : float
        What the weights summed to before.
    influences : ndarray of shape (n_rows, n_entries)
        Mean over the outputs, scaled as the importances are.
    contributions : ndarray of shape (n_rows, n_entries), default=None
        Each row's own importance, where the importance is their mean.
    """
    measure._rows = Rows(
        influences, contributions, weights, total_weight, kept, fingerprint(table)
    )
    measure.influences_ = _at_all_rows(influences, kept)
    measure.row_importances_ = None
    if contributions is not None:
        measure.row_importances_ = _at_all_rows(contributions, kept)


def _at_all_rows(values, kept):
    if kept.all():
        return values
    every = np.full((len(kept), values.shape[1]), np.nan)
    every[kept] = values
    return every


def fingerprint(table):
    """A digest of some rows and columns, equal for the same rows in any container."""
    rows = np.unique(np.linspace(0, table.n_samples - 1, SEEN_ROWS).astype(int))
    columns = np.unique(np.linspace(0, table.n_columns - 1, SEEN_COLUMNS).astype(int))
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
    rows = getattr(importance, "_rows", None)
    if rows is None:
        name = type(importance).__name__
        way_out = (
            f"Fit it with {name}(keep_rows=True)."
            if "keep_rows" in importance.get_params(deep=False)
            else "It has no influences of single rows. Use importance_across_folds to "
            "compare refits."
        )
        raise ValueError(f"{name} has kept no rows. {way_out}")
    return rows


def drawing_variances(importance):
    """Squared errors of random draws, (n_entries,); 0 where nothing was drawn."""
    errors = getattr(importance, "monte_carlo_errors_", None)
    return np.zeros(len(importance.importances_)) if errors is None else errors**2


def skewness(third_moment, error):
    """Skewness of an estimate from its third central moment and its standard error."""
    cubed = error**3
    return np.divide(
        third_moment, cubed, out=np.zeros_like(cubed + third_moment), where=cubed > 0
    )


def third_moments(rows):
    """Third central moment of each entry's estimate, (n_entries,)."""
    return rows.weights @ rows.influences**3 / rows.total_weight**2


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


def interval_bounds(estimates, errors, skew, quantile):
    """Lower and upper bounds of skewness-corrected intervals.

    Parameters
    ----------
    estimates, errors, skew : ndarray of shape (n_entries,)
    quantile : float
        Of the corrected studentised estimate, such as 1.96.

    Returns
    -------
    lower, upper : ndarray of shape (n_entries,)
    """
    lower = estimates - errors * uncorrected(quantile, skew)
    upper = estimates - errors * uncorrected(-quantile, skew)
    return lower, upper


def t_quantile(probability, total_weight):
    """Quantile of Student's distribution with N - 1 degrees of freedom."""
    return float(student.ppf(probability, max(total_weight - 1.0, 1.0)))
