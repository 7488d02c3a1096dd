"""`importance_difference`: is an input more important to one model than to another?"""

from __future__ import annotations

import numpy as np

from skvarimp._data.statistics import holm
from skvarimp._data.validation import check_confidence
from skvarimp._measures.base import BaseImportance, entry_frame, ranking
from skvarimp._measures.rows import (
    drawing_variances,
    interval_bounds,
    rows_of,
    skewness,
    t_quantile,
    two_sided_p_values,
)
from skvarimp._types import Frame


def importance_difference(
    first: BaseImportance, second: BaseImportance, *, confidence: float = 0.95
) -> Frame:
    """Differences of two importances of the same entries, with tests.

    Two importances of the same rows (two models, or two measures on one scale) are
    compared row by row, so that what moves both in the same way cancels. Importances of
    different rows (two groups of customers, two months) are compared as independent
    samples.

    Parameters
    ----------
    first, second : importance instances
        Fitted with ``keep_rows=True``, with the same entries.
    confidence : float, default=0.95
        Of each interval by itself.

    Returns
    -------
    frame of shape (n_entries, 7)
        Columns entry, difference (first minus second), standard_error, lower, upper,
        p_value (two-sided, of no difference) and adjusted_p_value (Holm, over the
        entries), largest absolute difference first.

    Raises
    ------
    ValueError
        If an importance has kept no rows, the entries differ, or the same rows have
        other weights.

    Notes
    -----
    The standard error of a difference on the same rows is that of the difference of
    the influences; on different rows the variances add up. Errors of random draws
    count as independent. Statistics are corrected for skewness (Hall 1992) and
    compared with Student's distribution. Models and scales are held fixed.

    References
    ----------
    .. [1] S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure",
       Scandinavian Journal of Statistics 6 (1979).

    Examples
    --------
    >>> import numpy as np
    >>> from skvarimp import ALEImportance, importance_difference
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> old = ALEImportance(keep_rows=True).fit(lambda X: X[:, 0] + X[:, 1], X)
    >>> new = ALEImportance(keep_rows=True).fit(lambda X: 2 * X[:, 0] + X[:, 1], X)
    >>> table = importance_difference(new, old)
    >>> [(e, bool(p < 0.01)) for e, p in zip(table["entry"], table["p_value"])]
    [('x0', True), ('x1', False)]
    """
    check_confidence(confidence)
    ours, theirs = rows_of(first), rows_of(second)
    order = _matching(first.entry_names_, second.entry_names_)
    difference = first.importances_ - second.importances_[order]
    psi, other = ours.influences, theirs.influences[:, order]
    if _same_rows(ours, theirs):
        psi = psi - other
        variance, third = ours.variance(psi), ours.third_moment(psi)
        total = ours.total_weight
    else:
        variance = ours.variance(psi) + theirs.variance(other)
        third = ours.third_moment(psi) - theirs.third_moment(other)
        total = min(ours.total_weight, theirs.total_weight)
    variance += drawing_variances(first) + drawing_variances(second)[order]
    error = np.sqrt(variance)
    size = np.abs(first.importances_) + np.abs(second.importances_[order])
    rounding = np.abs(difference) <= 1e-12 * size
    difference = np.where(rounding, 0.0, difference)
    p_values = two_sided_p_values(difference, error, third, total)
    p_values[difference == 0] = 1.0
    quantile = t_quantile((1 + confidence) / 2, total)
    skew = skewness(third, error)
    lower, upper = interval_bounds(difference, error, skew, quantile)
    columns = {
        "difference": difference,
        "standard_error": error,
        "lower": lower,
        "upper": upper,
        "p_value": p_values,
        "adjusted_p_value": holm(p_values),
    }
    ranks = ranking(np.abs(difference))
    return entry_frame(first.entry_names_, ranks, columns, first._frame_library)


def _matching(names, others):
    """Where each of the names stands among the others; ValueError where it does not."""
    if sorted(names) != sorted(others):
        alone = sorted(set(names) ^ set(others))
        raise ValueError(
            f"The two importances must have the same entries; only one has {alone}. "
            "Fit both with the same `features`."
        )
    place = {name: e for e, name in enumerate(others)}
    return np.array([place[name] for name in names], dtype=np.intp)


def _same_rows(ours, theirs):
    if ours.fingerprint != theirs.fingerprint or len(ours.kept) != len(theirs.kept):
        return False
    same = np.array_equal(ours.kept, theirs.kept) and np.allclose(
        ours.weights, theirs.weights, rtol=1e-12, atol=0
    )
    if not same:
        raise ValueError(
            "The two importances are of the same rows with different weights. Fit both "
            "with the same `sample_weight`."
        )
    return True
