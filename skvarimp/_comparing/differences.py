"""Differences of importances with tests: between models, and between cohorts."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from skvarimp._data.frames import feature_frame, frame_of
from skvarimp._data.statistics import holm, ranking, t_quantile
from skvarimp._data.validation import check_confidence, check_labels
from skvarimp._measures.base import BaseImportance
from skvarimp._measures.rows import Rows, drawing_errors, rows_of
from skvarimp._results.intervals import (
    error_and_skewness,
    interval_bounds,
    two_sided_p_values,
)
from skvarimp._running.guards import warn
from skvarimp._types import Frame


def importance_difference(
    first: BaseImportance, second: BaseImportance, *, confidence: float = 0.95
) -> Frame:
    """Differences of two importances of the same features, with tests.

    Two importances of the same rows (two models, or two measures on one scale) are
    compared row by row, so that what moves both in the same way cancels. Importances of
    different rows (two groups of customers, two months) are compared as independent
    samples; groups of rows that have the same label in both are one group.

    Parameters
    ----------
    first, second : importance instances
        Fitted with ``keep_rows=True``, with the same features.
    confidence : float, default=0.95
        Of each interval by itself.

    Returns
    -------
    frame of shape (n_features, 7)
        Columns feature, difference (first minus second), standard_error, lower, upper,
        p_value (two-sided, of no difference) and adjusted_p_value (Holm, over the
        features), largest absolute difference first.

    Raises
    ------
    ValueError
        If an importance has kept no rows, the features differ, or the same rows have
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
    >>> [(e, bool(p < 0.01)) for e, p in zip(table["feature"], table["p_value"])]
    [('x0', True), ('x1', False)]
    """
    check_confidence(confidence)
    ours, theirs = rows_of(first), rows_of(second)
    order = _matching(first.features_, second.features_)
    difference = first.importances_ - second.importances_[order]
    psi, other = ours.influences, theirs.influences[:, order]
    if _same_rows(ours, theirs):
        terms, freedom = ours.terms(psi - other), ours.units.freedom
    else:
        terms = _together(ours, theirs, psi, other)
        freedom = min(ours.units.freedom, theirs.units.freedom)
    drawn = np.hypot(drawing_errors(first), drawing_errors(second)[order])
    error, skew = error_and_skewness(terms, drawn)
    size = np.abs(first.importances_) + np.abs(second.importances_[order])
    difference, p_values = _tested(difference, size, error, skew, freedom)
    quantile = t_quantile((1 + confidence) / 2, freedom)
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
    return feature_frame(first.features_, ranks, columns, first._frame_library)


def _matching(names, others):
    """Where each of the names stands among the others; ValueError where it does not."""
    if sorted(names) != sorted(others):
        alone = sorted(set(names) ^ set(others))
        raise ValueError(
            f"The two importances must have the same features; only one has {alone}. "
            "Fit both with the same `features`."
        )
    place = {name: e for e, name in enumerate(others)}
    return np.array([place[name] for name in names], dtype=np.intp)


def _same_rows(ours, theirs):
    if ours.fingerprint != theirs.fingerprint or len(ours.kept) != len(theirs.kept):
        return False
    if ours.are_samples != theirs.are_samples:
        raise ValueError(
            "The two importances are of the same rows, one by a loss and the other by "
            "a scorer, whose errors come from bootstrap samples. Fit both with "
            "`scoring`, or both with `loss`."
        )
    same = np.array_equal(ours.kept, theirs.kept) and np.allclose(
        ours.weights_of_rows, theirs.weights_of_rows, rtol=1e-12, atol=0
    )
    if not same:
        raise ValueError(
            "The two importances are of the same rows with different weights. Fit both "
            "with the same `sample_weight`."
        )
    if not ours.units.same_groups(theirs.units):
        raise ValueError(
            "The two importances are of the same rows with different groups. Fit both "
            "with the same `groups`."
        )
    return True


def _together(ours, theirs, psi, other):
    """Terms of a difference of different rows; groups of one label are one group."""
    terms, others = ours.terms(psi), -theirs.terms(other)
    labels, of_others = ours.units.labels, theirs.units.labels
    if labels is None or of_others is None:
        return np.hstack([terms, others])
    _, shared, of_shared = np.intersect1d(labels, of_others, return_indices=True)
    terms[:, shared] += others[:, of_shared]
    return np.hstack([terms, np.delete(others, of_shared, axis=1)])


def importance_by_cohort(
    importance: BaseImportance, cohorts: ArrayLike, *, confidence: float = 0.95
) -> Frame:
    """Importances of groups of rows, each compared with all other rows.

    The importance of a cohort is the mean of its rows' own importances. Donors are
    all rows, so that the cohorts' importances, weighted by their sizes, add up to the
    importance itself.

    Parameters
    ----------
    importance : importance instance
        Fitted with ``keep_rows=True``; its importance must be a mean over rows
        (SensitivityImportance, PermutationImportance).
    cohorts : array-like of shape (n_samples,)
        The cohort of each row: strings, numbers or any other labels.
    confidence : float, default=0.95
        Of each interval by itself.

    Returns
    -------
    frame of shape (n_cohorts * n_features, 9)
        Columns cohort, feature, n_samples (rows of positive weight), importance,
        standard_error, lower, upper, difference (to all other rows; NaN for a single
        cohort) and p_value (two-sided, of no difference), the cohorts in sorted order,
        the most important feature of each first.

    Raises
    ------
    ValueError
        If the importance has kept no rows or is no mean over rows, or if the labels
        have another length than X.

    Notes
    -----
    A row counts as an evaluated row of its cohort and as a donor to all rows. Its part
    as a donor is known for the mean over all rows; for a cohort it is taken to be
    proportional to the cohort's importance, which is exact for a single cohort. The
    error of a cohort of one row (or one group) is not known: its numbers are NaN, with
    a warning. Statistics are corrected for skewness (Hall 1992). The p-values are not
    adjusted for the number of cohorts and features.

    Examples
    --------
    The response to x0 is twice as strong in cohort b:

    >>> import numpy as np
    >>> from skvarimp import SensitivityImportance, importance_by_cohort
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> model = lambda X: X[:, 0] * (1 + X[:, 1])
    >>> imp = SensitivityImportance(features=[0], scale=None, keep_rows=True)
    >>> imp = imp.fit(model, X)
    >>> table = importance_by_cohort(imp, ["a", "a", "b", "b"])
    >>> table[["cohort", "importance", "difference"]].values.tolist()
    [['a', 0.5, -0.5], ['b', 1.0, 0.5]]
    """
    check_confidence(confidence)
    rows, drawn = rows_of(importance), drawing_errors(importance)
    if rows.contributions is None:
        raise ValueError(
            f"The importance of {type(importance).__name__} is no mean over rows, so "
            "cohorts have none. Fit it to the rows of each cohort and use "
            "importance_difference."
        )
    labels = check_labels(cohorts, len(rows.kept), "cohorts")[rows.kept]
    names, of_row = np.unique(labels, return_inverse=True)
    sizes = np.bincount(of_row)
    alone = [rows.units.count(of_row == c) < 2 for c in range(len(names))]
    if any(alone):
        what = "row of positive weight" if rows.units.groups is None else "group"
        found = ", ".join(map(repr, names[alone].tolist()))
        warn(
            f"Cohorts of one {what} have no importance (NaN): {found}. Give them a "
            "label together with other rows."
        )
    table = []
    for c, name in enumerate(names.tolist()):
        numbers = _cohort_numbers(rows, drawn, of_row == c, confidence)
        for e in np.argsort(-numbers["importance"], kind="stable"):
            row = {"cohort": name, "feature": importance.features_[e]}
            row["n_samples"] = int(sizes[c])
            table.append(row | {key: float(of[e]) for key, of in numbers.items()})
    columns = {key: [row[key] for row in table] for key in table[0]}
    return frame_of(columns, importance._frame_library)


def _cohort_numbers(rows: Rows, drawn, inside, confidence):
    """The importance, error, interval, difference and p-value by feature."""
    n_inside, share = rows.units.count(inside), rows.weights[inside].sum()
    names = "importance", "standard_error", "lower", "upper", "difference", "p_value"
    numbers = dict.fromkeys(names, np.full(len(drawn), np.nan))
    if n_inside < 2:
        return numbers
    everyone = rows.weights @ rows.contributions
    as_donor = rows.influences - (rows.contributions - everyone)
    theta, psi = _mean_of(rows, inside, everyone, as_donor)
    # draws are spread evenly over the rows
    error, skew = error_and_skewness(rows.terms(psi), drawn / np.sqrt(share))
    quantile = t_quantile((1 + confidence) / 2, max(n_inside - 1, 1))
    lower, upper = interval_bounds(theta, error, skew, quantile)
    numbers |= {"importance": theta, "standard_error": error}
    numbers |= {"lower": lower, "upper": upper}
    n_others = rows.units.count(~inside)
    if n_others < 2:
        return numbers
    others, psi_others = _mean_of(rows, ~inside, everyone, as_donor)
    drawn = drawn / np.sqrt(share * (1.0 - share))
    error, skew = error_and_skewness(rows.terms(psi - psi_others), drawn)
    freedom, size = min(n_inside, n_others) - 1, np.abs(theta) + np.abs(others)
    difference, p_values = _tested(theta - others, size, error, skew, freedom)
    return numbers | {"difference": difference, "p_value": p_values}


def _tested(difference, size, error, skew, freedom):
    """The difference, 0 where it is rounding of terms of a size, and its p-value."""
    difference = np.where(np.abs(difference) <= 1e-12 * size, 0.0, difference)
    return difference, two_sided_p_values(difference, error, skew, freedom)


def _mean_of(rows, inside, everyone, as_donor):
    """Mean importance of some rows, and the influence of every row on it."""
    share = rows.weights[inside].sum()
    theta = rows.weights[inside] @ rows.contributions[inside] / share
    factor = np.divide(theta, everyone, out=np.zeros_like(theta), where=everyone != 0)
    psi = as_donor * factor
    psi[inside] += (rows.contributions[inside] - theta) / share
    return theta, psi
