"""FIRM for normally distributed inputs, from the gradient at the mean (eq. 9).

    Q_j = Sigma_j g / Sigma_jj^(1/2),    g = ds/dx at the mean

exact for a linear score (Q = D^-1 Sigma w); for a feature a'x, a'Sigma g over
(a'Sigma a)^(1/2); for a group of columns G the most correlated such feature,
a = Sigma_GG^-1 Sigma_G g.
"""

import numpy as np
from scipy import sparse

from skvarimp._data.base_table import dense
from skvarimp._data.statistics import divided
from skvarimp._measures.firm.estimate import Estimates
from skvarimp._measures.firm.features import is_linear
from skvarimp._measures.firm.slope import ends_of
from skvarimp._models.gradients import (
    STEP,
    gradient,
    linear_coefficients,
    piecewise_constant,
)
from skvarimp._response.shape import add_by_group
from skvarimp._running.guards import warn
from skvarimp._running.memory import at_once, even_slices

WAY_OUT = "Use method='conditional_mean'."
HESSIAN_STEP = 1e-4  # along a row's distance from the mean


def gaussian_estimates(model, values, features, covariance, scores, start):
    """FIRM of columns, groups and `Linear` features.

    Parameters
    ----------
    model : Model
    values : Values
    features : list of Entry and FunctionEntry
    covariance : object
        See `make_covariance`.
    scores : Scores
    start : callable
        start(n_steps) -> Progress; a step is a block of rows.

    Returns
    -------
    Estimates
    """
    table, X = values.table, values.matrix
    linear = {
        e: _coefficients(feature, table)
        for e, feature in enumerate(features)
        if not feature.columns
    }
    ends = ends_of(X)
    # Shrinkage gives a constant column a variance, but it tells rows apart by nothing.
    covariance.variances = np.where(ends[:, 0] < ends[:, 1], covariance.variances, 0.0)
    score = GaussianScore(model, table, covariance, scores)
    groups = {e: f.columns for e, f in enumerate(features) if f.is_group}
    single = [e for e, f in enumerate(features) if len(f.columns) == 1]
    slopes = covariance.product(score.gradient)
    of_groups = group_directions(groups.values(), covariance, slopes)
    directions = [a[:, np.newaxis] for a in linear.values()] + of_groups
    rows = X.tocsr() if sparse.issparse(X) else X
    columns = np.array([features[e].columns[0] for e in single], dtype=np.intp)
    parts = [_Columns(columns, covariance, slopes)]
    parts += [_Direction(a, covariance, slopes) for a in directions]
    signed = np.concatenate([part.signed for part in parts])
    spreads = np.concatenate([part.spread for part in parts])
    found = gaussian_errors(score, covariance, rows, parts, scores, start)

    order = np.array([*single, *linear, *groups], dtype=np.intp)
    results = Estimates(len(features), scores)
    errors, influences = (np.nan, np.nan) if found is None else found
    results.put(order, "gaussian", np.abs(signed), errors, influences)
    if found is None:
        results.errors = results.influences = None
    results.signed[order] = signed
    results.signed[list(groups)] = np.nan
    lines = divided(signed * scores.scale, spreads)
    centre = score.at_mean()
    ends, means = ends[columns], covariance.mean[columns]
    if linear:
        a = np.column_stack([*linear.values()])
        ends = np.vstack([ends, ends_of(rows @ a)])
        means = np.append(means, covariance.mean @ a)
    straight = order[: len(ends)]
    steps = (ends - means[:, np.newaxis])[:, :, np.newaxis]
    results.ends[straight] = ends
    results.lines[straight] = centre + steps * lines[: len(ends), np.newaxis]
    for (e, members), a in zip(groups.items(), of_groups):
        members = list(members)
        t = values.group(features[e]).astype(np.float64)
        plane = (t - covariance.mean[members]) @ a[members]
        results.others[e] = (t, centre + scores.scale * plane)
    return results


def _coefficients(feature, table):
    """Those of a `Linear` feature; other functions have no closed form."""
    if not is_linear(feature):
        raise ValueError(
            "method='gaussian' takes columns, groups of them, and Linear features, but "
            f"{feature.name!r} is another function. Use method='auto' for it."
        )
    return feature.function.coefficients(table.names, table.n_columns)


class GaussianScore:
    """Gradient of a score at the mean of X, and how it changes along directions.

    Parameters
    ----------
    model : Model
    table : Table
    covariance : object
        See `make_covariance`.
    scores : Scores
    """

    def __init__(self, model, table, covariance, scores):
        self.model, self.table, self.mean = model, table, covariance.mean
        self.scale = scores.scale
        spread = np.sqrt(covariance.variances)
        self.steps = STEP * np.where(spread > 0, spread, 1.0)
        linear = linear_coefficients(model, table)
        self.is_linear = linear is not None
        if scores.constant.all():
            self.is_linear, slopes = True, np.zeros((len(self.mean), scores.n_outputs))
        elif self.is_linear:
            slopes = linear[0].T
        else:
            reason = piecewise_constant(model, table)
            if reason is None:
                (slopes,) = self._at(self.mean[np.newaxis])
                if not np.any(slopes):
                    reason = "the gradient of the score at the mean is 0 everywhere"
            if reason is not None:
                raise ValueError(
                    f"method='gaussian' needs the gradient of the score, but {reason}. "
                    f"{WAY_OUT}"
                )
        self.gradient = slopes / self.scale  # (n_features, n_outputs)

    def at_mean(self):
        """The score at the mean, (n_outputs,)."""
        return self.model(self._points(self.mean[np.newaxis]))[0]

    def _at(self, points):
        return gradient(self.model, self._points(points), steps=self.steps)

    def _points(self, points):
        """Any points in the container that the model takes."""
        rows = np.zeros(len(points), dtype=int)
        columns = tuple(range(len(self.mean)))
        return self.table.moved(rows, columns, values=points)

    def changes(self, rows):
        """Derivatives of the gradient along centred rows, the Hessian times them.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_features, n_outputs)
        """
        shift = HESSIAN_STEP * rows
        ends = self._at(np.concatenate([self.mean + shift, self.mean - shift]))
        change = (ends[: len(rows)] - ends[len(rows) :]) / (2.0 * HESSIAN_STEP)
        return change / self.scale


def gaussian_errors(score, covariance, X, parts, scores, start):
    """Standard errors, from the influence of each row on the importances.

    Parameters
    ----------
    score : GaussianScore
    covariance : object
        See `make_covariance`.
    X : {ndarray, CSR} of shape (n_samples, n_features)
    parts : list of _Columns and _Direction
    scores : Scores
    start : callable
        start(n_steps) -> Progress.

    Returns
    -------
    errors : ndarray of shape (n_entries,)
    influences : ndarray of shape (n_samples, n_entries) or None
        Where they are kept. In place of both None where the covariance has no
        influence function, or a callback stopped.
    """
    if covariance.influence is None:
        with start(1) as progress:
            progress.step()
        return None
    n_samples, n_features = X.shape
    # about 12 arrays like X
    cost = (12 * n_features + n_samples) * score.gradient.shape[1]
    # Products with Sigma are best for many rows at once; else blocks fit the cache.
    step = at_once(cost, np.inf, arrays=1)
    if score.is_linear:
        step = min(step, at_once(n_features))
    blocks = even_slices(n_samples, step)
    of_covariance = covariance.influence(score.gradient)
    size = np.abs(np.concatenate([part.signed for part in parts]))
    units, kept = scores.units, None
    joined = units.groups is not None
    sums = np.zeros((units.n, len(size)) if joined else len(size))
    if scores.keep_rows:
        kept = np.empty((X.shape[0], len(size)))
    with start(len(blocks)) as progress:
        for rows in blocks:
            centred = dense(X[rows]) - covariance.mean
            moved, variances = of_covariance(centred)
            if not score.is_linear:
                moved = moved + _products(covariance, score.changes(centred))
            influence = np.concatenate(
                [part.influence(centred, moved, variances) for part in parts], axis=1
            )
            if scores.standardized:
                deviation = scores.values[rows] ** 2 - ~scores.constant
                influence -= 0.5 * deviation[:, np.newaxis] * size
            influence = influence.mean(axis=2)
            if joined:
                weighted = units.weights[rows, np.newaxis] * influence
                add_by_group(sums, units.groups[rows], weighted)
            else:
                sums += units.weights[rows] ** 2 @ influence**2
            if kept is not None:
                kept[rows] = influence
            if progress.step() and rows.stop < n_samples:
                warn(
                    f"A callback stopped FIRMImportance after {rows.stop} of "
                    f"{n_samples} rows: there are no standard errors."
                )
                return None
    squares = np.sum(sums**2, axis=0) if joined else sums
    return units.error_of_squares(squares), kept


def _products(covariance, changes):
    """Sigma times the change of the gradient, for each row and output."""
    n_rows, n_features, n_outputs = changes.shape
    stacked = changes.transpose(1, 0, 2).reshape(n_features, -1)
    product = covariance.product(stacked).reshape(n_features, n_rows, n_outputs)
    return product.transpose(1, 0, 2)


class _Columns:
    """Entries that are columns: Q_j = (Sigma g)_j / sd_j."""

    def __init__(self, columns, covariance, slopes):
        everything = np.array_equal(columns, np.arange(len(slopes)))
        self.columns = slice(None) if everything else columns
        spread = np.sqrt(covariance.variances[columns])[:, np.newaxis]
        inverse = divided(1.0, spread)
        self.signed = divided(slopes[columns], spread)
        self.spread = np.broadcast_to(spread, self.signed.shape)
        # d|Q_j| = sign (d(Sigma g)_j / sd_j - Q_j dSigma_jj / (2 Sigma_jj))
        self.by_product = np.where(self.signed < 0, -1.0, 1.0) * inverse
        self.by_variance = 0.5 * np.abs(self.signed) * inverse**2

    def influence(self, centred, moved, variances):
        """Influence on |Q|, (n_rows, n_columns, n_outputs)."""
        change = moved[:, self.columns] * self.by_product
        change -= variances[:, self.columns, np.newaxis] * self.by_variance
        return change


class _Direction:
    """An entry a'x: Q = a'Sigma g / (a'Sigma a)^(1/2).

    A group's a depends on Sigma itself; as it maximises |Q|, its own change has no
    effect of first order.
    """

    def __init__(self, a, covariance, slopes):
        n_outputs = slopes.shape[1]
        self.a = np.broadcast_to(a, (len(a), n_outputs)).copy()
        variance = np.einsum("jo,jo->o", self.a, covariance.product(self.a))
        self.spread = np.sqrt(np.maximum(variance, 0.0))[np.newaxis]
        self.inverse = divided(1.0, self.spread)
        self.signed = divided(np.einsum("jo,jo->o", self.a, slopes), self.spread)
        if covariance.influence is not None:
            self.of_covariance = covariance.influence(self.a)

    def influence(self, centred, moved, variances):
        """Influence on |Q|, (n_rows, 1, n_outputs)."""
        own, _ = self.of_covariance(centred)
        variance = np.einsum("jo,ijo->io", self.a, own) * self.inverse**2 / 2.0
        change = np.einsum("jo,ijo->io", self.a, moved) * self.inverse
        change -= self.signed * variance
        return (np.where(self.signed < 0, -1.0, 1.0) * change)[:, np.newaxis]


def group_directions(groups, covariance, slopes):
    """Give a = Sigma_GG^-1 (Sigma g)_G of each group of columns, for each output.

    Parameters
    ----------
    groups : list of tuple of int
    covariance : object
    slopes : ndarray of shape (n_features, n_outputs)
        Sigma g.

    Returns
    -------
    list of ndarray of shape (n_features, n_outputs)
    """
    result = []
    for group in groups:
        members = [j for j in group if covariance.variances[j] > 0]
        units = np.zeros((len(slopes), len(members)))
        units[members, np.arange(len(members))] = 1.0
        inner = covariance.product(units)[members]
        a = np.zeros_like(slopes)
        a[members] = np.linalg.lstsq(inner, slopes[members], rcond=1e-12)[0]
        result.append(a)
    return result
