"""Cleveland's robust locally weighted regression (LOWESS), many columns at a time.

W. S. Cleveland (1979), Robust locally weighted regression and smoothing
scatterplots, Journal of the American Statistical Association 74, 829-836.

Indices: c column, g point at which a local line is fitted, i row in the order of
column c. The local sums at all points are matrix products of a table of tricube
weights (c, g, i), made once, with the robustness weights of the iteration.
"""

import numpy as np

from skvarimp._running.memory import CACHE, even_slices, working_bytes


def lowess_fit(X, y, frac, n_iter, n_fits):
    """Robust LOWESS of y on each column of X by itself, at the rows of X.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    frac : float
        Share of the rows in a neighbourhood; their number is frac * n_samples
        rounded to the nearest integer.
    n_iter : int
        Number of robustifying iterations.
    n_fits : int or None
        Columns with more distinct values than this have their lines fitted at
        `n_fits` of them and interpolated linearly in between; None: at all.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
    """
    n_samples, n_features = X.shape
    n_neighbours = min(max(int(frac * n_samples + 0.5), 1), n_samples)
    n_points = n_samples if n_fits is None else min(n_fits, n_samples)
    fitted = np.empty((n_samples, n_features))
    step = max(1, CACHE // (n_points * n_samples))
    for columns in even_slices(n_features, step):
        order = np.argsort(X[:, columns], axis=0, kind="stable").T  # (c, i)
        x = _to_unit_interval(np.take_along_axis(X[:, columns].T, order, axis=1))
        in_order = _robust_fits(x, y[order], n_neighbours, n_iter, n_fits)
        np.put_along_axis(fitted[:, columns], order.T, in_order.T, axis=0)
    return fitted


def _to_unit_interval(x):
    """Sorted rows moved and scaled to [0, 1]; constant rows are 0."""
    x = x / np.maximum(np.abs(x).max(axis=1, keepdims=True), 1.0)  # no overflow
    x = x - x[:, :1]
    width = x[:, -1:]
    return np.divide(x, width, out=np.zeros_like(x), where=width > 0)


def _robust_fits(x, y, n_neighbours, n_iter, n_fits):
    """Fitted values (c, i) for sorted columns x (c, i) with their own y (c, i)."""
    points = Points(x, n_neighbours, n_fits)
    spread = np.mean(np.abs(y - y.mean(axis=1, keepdims=True)), axis=1)
    first = points.fit(y, np.ones_like(y))
    fitted = points.interpolate(first)
    for _ in range(n_iter):
        residuals = np.abs(y - fitted)
        scale = 6.0 * np.median(residuals, axis=1)
        # Where half the rows are met to rounding, no scale is left to call a
        # residual large: the column keeps its fit.
        active = scale > 1e-7 * spread
        scale = np.where(active, scale, 1.0)[:, np.newaxis]
        # Bisquare robustness weights, Cleveland (1979) section 2, step 3.
        robustness = np.maximum(1.0 - (residuals / scale) ** 2, 0.0) ** 2
        refitted = points.interpolate(points.fit(y, robustness, otherwise=first))
        fitted = np.where(active[:, np.newaxis], refitted, fitted)
    return fitted


class Points:
    """The points of some columns at which local lines are fitted.

    Parameters
    ----------
    x : ndarray of shape (n_columns, n_samples)
        Columns, each sorted and within [0, 1].
    n_neighbours : int
        Rows in a neighbourhood.
    n_fits : int or None
        Most points per column. None: each distinct value.
    """

    def __init__(self, x, n_neighbours, n_fits):
        chosen = [_chosen_rows(column, n_fits) for column in x]
        n_points = max(len(rows) for rows in chosen)
        last = [np.full(n_points - len(rows), rows[-1]) for rows in chosen]
        rows = np.array([np.r_[r, more] for r, more in zip(chosen, last)])  # (c, g)
        self._x = x
        self._at = np.take_along_axis(x, rows, axis=1)  # (c, g)
        self._width = np.array(
            [_widths(c, at, n_neighbours) for c, at in zip(x, self._at)]
        )
        self._step = max(1, CACHE // x.size)
        keep = 3 * 8 * n_points * x.size <= working_bytes()  # three tables
        self._kept = list(self._tables()) if keep else None

    def interpolate(self, values):
        """Values at the rows (c, i) from values at the points (c, g)."""
        return np.array(list(map(np.interp, self._x, self._at, values)))

    def _tables(self):
        """W, W d, W d² (c, g, i): tricube weights times powers of the distance."""
        n_points = self._at.shape[1]
        for start in range(0, n_points, self._step):
            some = slice(start, start + self._step)
            distance = self._x[:, np.newaxis, :] - self._at[:, some, np.newaxis]
            ratio = np.abs(distance)
            ratio /= self._width[:, some, np.newaxis]
            np.minimum(ratio, 1.0, out=ratio)
            weight = 1.0 - ratio * ratio * ratio
            weight = weight * weight * weight  # tricube, Cleveland (1979) section 2
            slope = weight * distance
            yield some, weight, slope, slope * distance

    def fit(self, y, robustness, otherwise=None):
        """Local lines at their own points, (c, g).

        Parameters
        ----------
        y : ndarray of shape (n_columns, n_samples)
        robustness : ndarray of shape (n_columns, n_samples)
            Weights of the rows besides the tricube weights.
        otherwise : ndarray of shape (n_columns, n_points), default=None
            Result where all rows of a neighbourhood have robustness weight 0.
        """
        result = np.empty_like(self._at)
        both = np.stack([robustness, robustness * y], axis=2)  # (c, i, 2)
        for some, *tables in self._tables() if self._kept is None else self._kept:
            (s0, t0), (s1, t1) = (np.moveaxis(w @ both, 2, 0) for w in tables[:2])
            s2 = (tables[2] @ both[:, :, :1])[:, :, 0]
            result[:, some] = _line_at_origin(s0, s1, s2, t0, t1)
        if otherwise is not None:
            result = np.where(np.isnan(result), otherwise, result)
        return result


def _line_at_origin(s0, s1, s2, t0, t1):
    """Value at 0 of weighted least squares lines, from sums of w d^k and w d^k y.

    NaN without weight; the weighted mean where all weight is on one value.
    """
    # Rounding may leave a row at the very edge 1e-45 in place of its weight 0.
    s0 = np.where(s0 > 1e-20, s0, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        centre, mean = s1 / s0, t0 / s0
        about_centre = s2 - s1 * centre
        slope = np.where(
            about_centre > 1e-12 * s2, (t1 - centre * t0) / about_centre, 0.0
        )
        return mean - slope * centre


def _chosen_rows(x, n_fits):
    """First rows of the distinct values of one sorted column to fit lines at.

    Half the points are equally spaced in rows, so that dense stretches are met, and
    half in value, so that sparse ones are.
    """
    starts = np.flatnonzero(np.r_[True, x[1:] > x[:-1]])
    if n_fits is None or len(starts) <= n_fits:
        return starts
    n_by_row = n_fits // 2
    by_row = np.linspace(0, len(x) - 1, n_by_row).astype(np.intp)
    by_row = np.searchsorted(starts, by_row, side="right") - 1
    by_value = np.linspace(0.0, 1.0, n_fits - n_by_row + 2)[1:-1]
    by_value = np.searchsorted(x[starts], by_value)
    chosen = np.unique(np.r_[0, by_row, by_value, len(starts) - 1])
    return starts[chosen]


def _widths(x, points, n_neighbours):
    """Distances from points to their n-th nearest rows, itself counted, (g,).

    A window of n rows reaches as far as its farther end. Moving it up, the lower end
    comes nearer and the upper end recedes; the best window is where the two cross,
    which a sum of the two ends shows.
    """
    reach = n_neighbours - 1
    ends = x[: len(x) - reach] + x[reach:]
    crossing = np.searchsorted(ends, 2.0 * points)
    nearest = np.full(len(points), np.inf)
    for low in (crossing - 1, crossing, crossing + 1):  # rounding may shift by one
        low = np.clip(low, 0, len(ends) - 1)
        farther = np.maximum(points - x[low], x[low + reach] - points)
        nearest = np.minimum(nearest, farther)
    # Width 0 (ties): rows at the point count fully, others not at all.
    return np.maximum(nearest, np.finfo(np.float64).tiny)
