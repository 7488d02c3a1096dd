"""Least squares and ridge regression without some columns, from one fit."""

from dataclasses import replace

import numpy as np
from sklearn.linear_model import LinearRegression, Ridge

from skvarimp._data.values import as_columns

CLOSED_FORM_SOLVERS = ("auto", "cholesky", "svd")  # the others stop at a tolerance
WORST_CONDITION = 1e6  # of the centred columns
AGREES = 1e-10


def linear_predictions_without(estimator, table, removal):
    """A function that predicts without each entry, or None where refits must do.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    table : Table
    removal : {"constant", "drop"}

    Returns
    -------
    callable or None
        (refits, train, held_out, entries) -> (fitted estimator, outputs of shape
        (n_outputs, n_held_out, 1 + n_entries)), or None where the closed form does not
        hold or disagrees with the estimator.
    """
    if type(estimator) not in (LinearRegression, Ridge) or estimator.positive:
        return None
    if not estimator.fit_intercept and removal == "constant":
        return None  # a constant column acts as an intercept
    if isinstance(estimator, Ridge) and (
        estimator.solver not in CLOSED_FORM_SOLVERS or np.ndim(estimator.alpha) > 0
    ):
        return None
    return _predictions if isinstance(table.numeric(), np.ndarray) else None


def _predictions(refits, train, held_out, entries):
    """See `linear_predictions_without`.

    With A = Xc' W Xc + alpha I of the centred training columns, C = A^-1 and
    coefficients b = C Xc' W y, leaving out the columns S changes the prediction at x
    by -xc' C[:, S] (C[S, S])^-1 b[S] (block inversion of A).
    """
    X = refits.table.numeric()
    if not np.all(np.isfinite(X)):
        return None  # let the estimator say so
    estimator = refits.fitted(train, np.random.default_rng(0))
    weight = refits.passed.fit.get("sample_weight")
    weight = np.ones(len(X)) if weight is None else weight
    inverse, center = _inverse(X[train], weight[train], estimator)
    if inverse is None:
        return None
    left, share, ridge = inverse
    coef = np.atleast_2d(estimator.coef_).T  # (n_features, n_outputs)
    moved = X[held_out] - center
    # Rows of (x - center)' C: V diag(share) V' + ridge I.
    projected = ((moved @ left) * share) @ left.T + ridge * moved
    base = as_columns(estimator.predict(refits.table.take(held_out).native))
    outputs = np.empty((coef.shape[1], len(held_out), 1 + len(entries)))
    outputs[:, :, 0] = base.T
    for e, entry in enumerate(entries):
        S = list(entry.columns)
        block = (left[S] * share) @ left[S].T + ridge * np.eye(len(S))
        change = projected[:, S] @ np.linalg.solve(block, coef[S])
        outputs[:, :, 1 + e] = (base - change).T
    if not _agrees(refits, train, held_out, entries[-1], outputs[:, :, -1]):
        return None
    return estimator, outputs


def _inverse(X, weight, estimator):
    """(V, share, ridge) of C = V diag(share) V' + ridge I, and the columns' centre."""
    center = np.zeros(X.shape[1])
    if estimator.fit_intercept:
        center = weight @ X / weight.sum()
    scaled = np.sqrt(weight)[:, np.newaxis] * (X - center)
    _, size, right = np.linalg.svd(scaled, full_matrices=False)
    alpha = float(getattr(estimator, "alpha", 0.0))
    full = len(size) == X.shape[1]
    smallest = size[-1] ** 2 if full else 0.0
    if smallest + alpha <= (size[0] ** 2 + alpha) / WORST_CONDITION**2:
        return None, None
    if full:
        return (right.T, 1.0 / (size**2 + alpha), 0.0), center
    # 1 / (s^2 + alpha) along V, 1 / alpha across it
    return (right.T, -(size**2) / (alpha * (size**2 + alpha)), 1.0 / alpha), center


def _agrees(refits, train, held_out, entry, outputs):
    """Whether a refit without one entry predicts the same."""
    rest = np.setdiff1d(np.arange(refits.table.n_columns), entry.columns)
    if len(rest) == 0:
        return True
    without = replace(refits, table=refits.table.select(rest))
    estimator = without.fitted(train, np.random.default_rng(0))
    refitted = as_columns(estimator.predict(without.table.take(held_out).native)).T
    gap = np.abs(refitted - outputs).max()
    return gap <= AGREES * np.abs(refitted).max()
