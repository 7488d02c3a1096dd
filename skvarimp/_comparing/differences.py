"""Differences of importances with tests: between models, and between cohorts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from skvarimp._comparing.differences_result import (
    CohortImportances,
    ImportanceDifferences,
)
from skvarimp._data.base_table import column_names
from skvarimp._data.statistics import root_of_squares, skewness_of
from skvarimp._data.table import as_table, column_position
from skvarimp._data.validation import check_confidence, check_labels
from skvarimp._measures.base import BaseImportance
from skvarimp._measures.rows import KeptRows, rows_of
from skvarimp._results.importances import Importances
from skvarimp._results.intervals import error_and_skewness, two_sided_p_values
from skvarimp._results.ranks import joint_ends
from skvarimp._results.sentences import definition_of, setting_of
from skvarimp._results.words import Quantity
from skvarimp._running.guards import warn
from skvarimp._types import Column, Matrix


def importance_difference(
    first: BaseImportance, second: BaseImportance, *, confidence: float = 0.95
) -> ImportanceDifferences:
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
        Of each single interval.

    Returns
    -------
    ImportanceDifferences
        First minus second with intervals and two-sided p-values, the largest absolute
        difference first; `to_frame()` and `plot()`. NaN for features that have one
        value in all rows of both: these rows say nothing of them.

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
    >>> table = importance_difference(new, old).to_frame()
    >>> [(e, bool(p < 0.01)) for e, p in zip(table["feature"], table["p_value"])]
    [('x0', True), ('x1', False)]
    """
    check_confidence(confidence)
    ours, theirs = rows_of(first), rows_of(second)
    order = _matching(first.features_, second.features_)
    ends = np.stack([first.importances_, second.importances_[order]])
    psi, other = ours.influences, theirs.influences[:, order]
    if _same_rows(ours, theirs):
        terms, freedom = ours.terms(psi - other), ours.units.freedom
    else:
        terms = _together(ours, theirs, psi, other)
        freedom = min(ours.units.freedom, theirs.units.freedom)
    unknown = _constant(first, ours) & _constant(second, theirs)[order]
    ends = np.where(unknown, np.nan, ends)
    terms = np.where(unknown[:, np.newaxis], np.nan, terms)
    drawn = np.hypot(first.result_.drawn, second.result_.drawn[order])
    error, skew = error_and_skewness(terms, drawn)
    difference, p_values = _tested(ends, error, skew, freedom)
    errors = root_of_squares(terms)
    one, other = first.result_, second.result_
    return ImportanceDifferences(
        first.features_,
        difference,
        standard_errors=errors,
        drawing_errors=drawn if np.any(drawn) else None,
        skewness=skewness_of(terms, errors),
        degrees_of_freedom=freedom,
        confidence=confidence,
        p_values=p_values,
        joint_ends=joint_ends(difference, terms, drawn, freedom, confidence),
        compared=_compared(one, other),
        quantity=_difference_of(one, other),
        circumstances=one.circumstances,
        frame_library=first._frame_library,
    )


def _compared(one, other):
    """Both importances in words: what they do not share."""
    texts = [setting_of(one), setting_of(other)]
    if one.quantity != other.quantity:
        texts = [f"({f.quantity.label}) {t}" for f, t in zip((one, other), texts)]
    if texts[0] == texts[1]:
        return f"the first importance {texts[0]}", "the second"
    return tuple(f"the importance {text}" for text in texts)


def _difference_of(one, other):
    """What the differences are, in words."""
    label, what = "difference of importances", "the difference of two importances"
    if one.quantity == other.quantity:
        label = f"difference of the {one.quantity.label}"
        what += f", each of which is {definition_of(one)}"
        return replace(one.quantity, label=label, definition=what, unit="", share_of="")
    return Quantity(label, what)


def _constant(importance, rows):
    """Features all of whose columns have one value in the rows, (n_features,)."""
    columns = getattr(importance, "_feature_columns", None)
    if columns is None:  # of a pipeline, which is measured by columns of X
        columns = [[j] for j in range(len(importance.features_))]
    return np.array(
        [
            len(of_feature) > 0 and bool(np.all(rows.constant[list(of_feature)]))
            for of_feature in columns
        ]
    )


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
    importance: BaseImportance,
    cohorts: ArrayLike | Column | Sequence[Column],
    *,
    X: Matrix | None = None,
    confidence: float = 0.95,
) -> CohortImportances:
    """Importances of groups of rows, each compared with all other rows.

    The importance of a cohort is the mean of its rows' own importances. Donors are
    all rows, so that the cohorts' importances, weighted by their sizes, add up to the
    importance itself.

    Parameters
    ----------
    importance : importance instance
        Fitted with ``keep_rows=True``; its importance must be a mean over rows
        (SensitivityImportance, PermutationImportance).
    cohorts : array-like of shape (n_samples,), or str, int or list of them
        The cohort of each row: strings, numbers or any other labels. With `X`: the
        column that holds them, or several columns, whose combinations of values that
        occur are the cohorts, called such as "region=north, smoker=yes".
    X : {array-like, frame, sparse} of shape (n_samples, n_columns), default=None
        Where the columns that `cohorts` names are; perhaps others than the model's.
    confidence : float, default=0.95
        Of each single interval.

    Returns
    -------
    CohortImportances
        The importances of all rows and of each cohort with intervals, and its
        differences from all other rows with p-values; `to_frame()` and `plot()`.

    Raises
    ------
    ValueError
        If the importance has kept no rows or is not a mean over rows, or if the labels
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
    >>> table = importance_by_cohort(imp, ["a", "a", "b", "b"]).to_frame()
    >>> table[["cohort", "importance", "difference"]].values.tolist()
    [['a', 0.5, -0.5], ['b', 1.0, 0.5]]
    >>> list(importance_by_cohort(imp, 1, X=X).by_cohort)
    [0.0, 1.0]
    """
    check_confidence(confidence)
    rows, drawn = rows_of(importance), importance.result_.drawn
    if rows.contributions is None:
        raise ValueError(
            f"The importance of {type(importance).__name__} is not a mean over rows, "
            "so cohorts have none. Fit it to the rows of each cohort and use "
            "importance_difference."
        )
    if X is None and isinstance(cohorts, str | Integral):
        raise ValueError(f"cohorts={cohorts!r} is a column. Pass X=, which has it.")
    if X is None:
        labels = [check_labels(cohorts, len(rows.kept), "cohorts")[rows.kept]]
        columns = [""]
    else:
        columns, labels = _labels_in(X, cohorts, rows.kept)
    names, of_row = _cohorts_of(columns, labels)
    sizes = np.bincount(of_row)
    alone = [rows.units.count(of_row == c) < 2 for c in range(len(names))]
    if any(alone):
        what = "row of positive weight" if rows.units.groups is None else "group"
        found = ", ".join(map(repr, names[alone].tolist()))
        warn(
            f"Cohorts of one {what} have no importance (NaN): {found}. Give them a "
            "label together with other rows."
        )
    result, by_cohort, differences, p_values = importance.result_, {}, [], []
    for c, name in enumerate(names.tolist()):
        inside = of_row == c
        about = replace(
            result.circumstances,
            n_samples=int(sizes[c]),
            n_groups=None if rows.units.groups is None else rows.units.count(inside),
        )
        by_cohort[name] = Importances(
            result.features,
            **_of_cohort(rows, drawn, inside),
            confidence=confidence,
            quantity=result.quantity,
            circumstances=about,
            frame_library=result.frame_library,
        )
        difference, p_value = _from_others(rows, drawn, inside)
        differences.append(difference)
        p_values.append(p_value)
    return CohortImportances._from(
        result,
        by_cohort=by_cohort,
        differences=np.array(differences),
        p_values=np.array(p_values),
        column=columns[0] if len(columns) == 1 else "",
        confidence=confidence,
    )


def _labels_in(X, cohorts, kept):
    """Names of the columns that give the cohorts, and their values in rows kept."""
    table = as_table(X)
    given = [cohorts] if isinstance(cohorts, str | Integral) else list(cohorts)
    if not given:
        raise ValueError("`cohorts` must name at least one column of X, got none.")
    at = [column_position(c, table.names, table.n_columns, "of X") for c in given]
    columns = [column_names(table.names, table.n_columns)[j] for j in at]
    labels = [
        check_labels(table.column(j), len(kept), f"cohorts={name}")[kept]
        for j, name in zip(at, columns)
    ]
    return columns, labels


def _cohorts_of(columns, labels):
    """The cohorts that occur, in the order of their labels, and that of each row.

    Parameters
    ----------
    columns : list of str
        Named in the labels of cohorts by several columns.
    labels : list of ndarray of shape (n_rows,)
        Of each column.

    Returns
    -------
    names : ndarray of shape (n_cohorts,)
    of_row : ndarray of shape (n_rows,)
    """
    levels, codes = zip(*(np.unique(of, return_inverse=True) for of in labels))
    if len(columns) == 1:
        return levels[0], codes[0]
    found, of_row = np.unique(np.array(codes), axis=1, return_inverse=True)
    names = [
        ", ".join(f"{c}={of[k]}" for c, of, k in zip(columns, levels, combined))
        for combined in found.T
    ]
    return np.array(names), np.ravel(of_row)


def _of_cohort(rows: KeptRows, drawn, inside):
    """The importances of some rows with their errors, as attributes."""
    n_inside, share = rows.units.count(inside), rows.weights[inside].sum()
    if n_inside < 2:
        unknown = np.full(len(drawn), np.nan)
        return {"importances": unknown, "standard_errors": unknown}
    theta, psi = _mean_of(rows, inside)
    terms = rows.terms(psi)
    errors = root_of_squares(terms)
    return {
        "importances": theta,
        "standard_errors": errors,
        # draws are spread evenly over the rows
        "drawing_errors": drawn / np.sqrt(share) if np.any(drawn) else None,
        "skewness": skewness_of(terms, errors),
        "degrees_of_freedom": n_inside - 1,
    }


def _from_others(rows: KeptRows, drawn, inside):
    """How far the importances of some rows are from those of all others; p-values."""
    n_inside, n_others = rows.units.count(inside), rows.units.count(~inside)
    if min(n_inside, n_others) < 2:
        return np.full((2, len(drawn)), np.nan)
    share = rows.weights[inside].sum()
    (theta, psi), (others, psi_others) = _mean_of(rows, inside), _mean_of(rows, ~inside)
    drawn = drawn / np.sqrt(share * (1.0 - share))
    error, skew = error_and_skewness(rows.terms(psi - psi_others), drawn)
    ends, freedom = np.stack([theta, others]), min(n_inside, n_others) - 1
    return _tested(ends, error, skew, freedom)


def _tested(ends, error, skew, freedom):
    """The first less the second, 0 where that is rounding, and the p-value."""
    same = np.isclose(*ends, rtol=1e-12, atol=0.0)
    difference = np.where(same, 0.0, ends[0] - ends[1])
    return difference, two_sided_p_values(difference, error, skew, freedom)


def _mean_of(rows, inside):
    """Mean importance of some rows, and the influence of every row on it."""
    everyone = rows.weights @ rows.contributions
    share = rows.weights[inside].sum()
    theta = rows.weights[inside] @ rows.contributions[inside] / share
    factor = np.divide(theta, everyone, out=np.zeros_like(theta), where=everyone != 0)
    psi = (rows.influences - (rows.contributions - everyone)) * factor  # as donors
    psi[inside] += (rows.contributions[inside] - theta) / share
    return theta, psi
