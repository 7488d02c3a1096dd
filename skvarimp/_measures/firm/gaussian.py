"""FIRM for normally distributed features, from the gradient at the mean (eq. 9).

    Q_j = Sigma_j g / Sigma_jj^(1/2),    g = ds/dx at the mean

exact for a linear score (Q = D^-1 Sigma w); for a feature a'x, a'Sigma g over
(a'Sigma a)^(1/2); for a group of columns G the most correlated such feature,
a = Sigma_GG^-1 Sigma_G g.
"""

import numpy as np
from scipy import sparse

from skvarimp._data.base_table import dense
from skvarimp._data.statistics import divided
from skvarimp._measures.firm.covariance import EmpiricalCovariance, ends_of
from skvarimp._measures.firm.estimate import Estimates
from skvarimp._measures.firm.features import is_linear
from skvarimp._models.gradients import (
    STEP,
    gradient,
    linear_coefficients,
    piecewise_constant,
)
from skvarimp._response.shape import add_by_group
from skvarimp._running.guards import warn
from skvarimp._running.memory import slices

WAY_OUT = "Use method='conditional_mean'."
HESSIAN_STEP = 1e-4  # along a row's distance from the mean


def gaussian_estimates(model, values, features, covariance, scores, start):
    """FIRM of columns, groups and `Linear` features.

    Parameters
    ----------
    model : Model
    values : Values
    features : list of Feature and FunctionFeature
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
    ends, n_outputs = ends_of(X), scores.n_outputs
    # Shrinkage gives a constant column a variance, but it tells rows apart by nothing.
    covariance.variances = np.where(ends[:, 0] < ends[:, 1], covariance.variances, 0.0)
    single = [e for e, f in enumerate(features) if len(f.columns) == 1]
    linear = [e for e, f in enumerate(features) if not f.columns]
    groups = [e for e, f in enumerate(features) if f.is_group]
    of_linear = np.zeros((len(linear), X.shape[1]))
    for a, e in zip(of_linear, linear):
        a[:] = _coefficients(features[e], table)
    score = GaussianScore(model, table, covariance, scores)
    slopes = covariance.product(score.gradient)
    others = np.stack([of_linear.T] * n_outputs, axis=2)
    of_groups = [group_direction(features[e], covariance, slopes) for e in groups]
    others = np.concatenate([others, *(a[:, np.newaxis] for a in of_groups)], axis=1)
    columns = np.array([features[e].columns[0] for e in single], dtype=np.intp)
    directions = Directions(columns, others, covariance, slopes)
    rows = X.tocsr() if sparse.issparse(X) else X
    found = gaussian_errors(score, covariance, rows, directions, scores, start)

    order = np.array([*single, *linear, *groups], dtype=np.intp)
    results, signed = Estimates(len(features), scores), directions.signed
    errors, influences = (np.nan, np.nan) if found is None else found
    results.put(order, "gaussian", np.abs(signed), errors, influences)
    if found is None:
        results.errors = results.influences = None
    results.signed[order] = signed
    lines = divided(signed * scores.scale, directions.spread)
    centre = score.at_mean()
    straight = order[: len(single) + len(linear)]
    ends, means = ends[columns], covariance.mean[columns]
    if linear:
        ends = np.vstack([ends, ends_of(rows @ of_linear.T)])
        means = np.append(means, of_linear @ covariance.mean)
    steps = (ends - means[:, np.newaxis])[:, :, np.newaxis]
    results.ends[straight] = ends
    results.lines[straight] = centre + steps * lines[: len(ends), np.newaxis]
    for e, a in zip(groups, of_groups):
        t = values.group(features[e]).astype(np.float64)
        members = list(features[e].columns)
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
    """Gradient of a score at the mean of X, and how it changes along rows.

    Parameters
    ----------
    model : Model
    table : Table
    covariance : object
        See `make_covariance`.
    scores : Scores
    """

    def __init__(self, model, table, covariance, scores):
        self.model, self.table, self.covariance = model, table, covariance
        self.mean, self.scale = covariance.mean, scores.scale
        spread = np.sqrt(covariance.variances)
        self.steps = STEP * np.where(spread > 0, spread, 1.0)
        constant = scores.constant.all()
        self.is_linear = constant or linear_coefficients(model, table) is not None
        slopes, reason = np.zeros((len(self.mean), scores.n_outputs)), None
        if not constant:
            reason = piecewise_constant(model, table)
        if not constant and reason is None:
            (slopes,) = self._at(self.mean[np.newaxis])
            if not np.any(slopes) and not self.is_linear:
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

    def moved(self, rows):
        """Sigma times the change of the gradient along centred rows (the Hessian's).

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_features, n_outputs), or None where it is 0
        """
        if self.is_linear:
            return None
        shift = HESSIAN_STEP * rows
        ends = self._at(np.concatenate([self.mean + shift, self.mean - shift]))
        change = (ends[: len(rows)] - ends[len(rows) :]) / (2.0 * HESSIAN_STEP)
        change = (change / self.scale).transpose(1, 0, 2)
        product = self.covariance.product(change.reshape(len(self.mean), -1))
        return product.reshape(change.shape).transpose(1, 0, 2)


class Directions:
    """Features as sums of columns: Q = a'Sigma g / (a'Sigma a)^(1/2).

    Parameters
    ----------
    columns : ndarray of shape (n_single,)
        Those that are features.
    others : ndarray of shape (n_features, n_others, n_outputs)
        a of the features after these, for each output.
    covariance : object
    slopes : ndarray of shape (n_features, n_outputs)
        Sigma g.

    Attributes
    ----------
    signed, spread : ndarray of shape (n_single + n_others, n_outputs)
        Q and (a'Sigma a)^(1/2).
    """

    def __init__(self, columns, others, covariance, slopes):
        self.columns, self.others = columns, others
        n_outputs = slopes.shape[1]
        products = [self.of(slopes[:, o], o) for o in range(n_outputs)]
        single = np.tile(covariance.variances[columns], (n_outputs, 1)).T
        variances = np.empty(others.shape[1:])
        for o in range(n_outputs if others.size else 0):
            a = others[:, :, o]
            variances[:, o] = np.einsum("je,je->e", a, covariance.product(a))
        variances = np.concatenate([single, np.maximum(variances, 0.0)])
        self.spread = np.sqrt(variances)
        self.signed = divided(np.transpose(products), self.spread)

    def of(self, rows, o):
        """a'x of rows (..., n_features), for one output, (..., n_features)."""
        columns = rows[..., self.columns], rows @ self.others[:, :, o]
        return np.concatenate(columns, axis=-1)

    def influence(self, centred, score):
        """Influences of centred rows on the mean of |Q|, (n_rows, n_features).

        Those of a slope, see the module `slope`, for the score's tangent at the mean,
        whose own change adds a'Sigma dg. A group's a depends on Sigma itself; as it
        maximises |Q|, its own change has no effect of first order.
        """
        tangent, moved = centred @ score.gradient, score.moved(centred)
        size, inverse = np.abs(self.signed), divided(1.0, self.spread)
        signs = np.where(self.signed < 0, -1.0, 1.0)
        influence = 0.0
        for o in range(size.shape[1]):
            z = self.of(centred, o) * inverse[:, o]
            change = z * tangent[:, [o]]
            if moved is not None:
                change += self.of(moved[:, :, o], o) * inverse[:, o]
            change *= signs[:, o]
            influence = influence + change - 0.5 * size[:, o] * (z**2 + 1.0)
        return influence / size.shape[1]


def gaussian_errors(score, covariance, X, directions, scores, start):
    """Standard errors, from the influence of each row on the importances.

    Parameters
    ----------
    score : GaussianScore
    covariance : object
        See `make_covariance`.
    X : {ndarray, CSR} of shape (n_samples, n_columns)
    directions : Directions
    scores : Scores
    start : callable
        start(n_steps) -> Progress.

    Returns
    -------
    errors : ndarray of shape (n_features,)
    influences : ndarray of shape (n_samples, n_features) or None
        Where they are kept. In place of both None where the covariance has no
        influence function, or a callback stopped.
    """
    if not isinstance(covariance, EmpiricalCovariance):
        with start(1) as progress:
            progress.step()
        return None
    n_samples, n_columns = X.shape
    # About 12 arrays like X; products with Sigma are best for many rows at once.
    cost = (12 * n_columns + n_samples) * scores.n_outputs
    blocks = slices(n_samples, cost, np.inf, arrays=1)
    halves = 0.5 * np.abs(directions.signed) / scores.n_outputs
    units, n_features = scores.units, len(halves)
    joined = units.groups is not None
    sums = np.zeros((units.n, n_features) if joined else n_features)
    kept = np.empty((n_samples, n_features)) if scores.keep_rows else None
    with start(len(blocks)) as progress:
        for rows in blocks:
            centred = dense(X[rows]) - covariance.mean
            influence = directions.influence(centred, score)
            if scores.standardized:
                influence -= (scores.values[rows] ** 2 - ~scores.constant) @ halves.T
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


def group_direction(group, covariance, slopes):
    """a = Sigma_GG^-1 (Sigma g)_G of a group of columns, (n_features, n_outputs)."""
    members = [j for j in group.columns if covariance.variances[j] > 0]
    units = np.zeros((len(slopes), len(members)))
    units[members, np.arange(len(members))] = 1.0
    inner = covariance.product(units)[members]
    # in standard deviations of the columns, whose units must decide nothing
    scales = np.sqrt(covariance.variances[members])[:, np.newaxis]
    correlations, scaled = inner / scales / scales.T, slopes[members] / scales
    a = np.zeros_like(slopes)
    a[members] = np.linalg.lstsq(correlations, scaled, rcond=1e-12)[0] / scales
    return a
