"""Linear responses of many single columns at once, with their own values as grid.

With u_k the sorted values of a column and D_k = E|u_k - U| the mean distance of one to
the others, every row's curve is the line w (v - x_ij), so that

    pairs = observed = |w| E D(U),      psi_k = 2 |w| (D_k - E D(U)),
    range = |w| (max u - min u),        partial dependence = |w| flatness(u),

the latter two without sampling error. Rows of equal value need not be merged. A batch
holds columns side by side; of a sparse one the stored values and, once, the zero. The
squared error, of dense columns, needs moments only and no order.
"""

import numpy as np

from skvarimp._data.table import ArrayTable, SparseTable
from skvarimp._response.reductions.flatness import flatness
from skvarimp._response.reductions.reductions import (
    IndividualFlatness,
    Observed,
    Pairs,
    PartialDependence,
    Range,
    SquaredError,
)
from skvarimp._response.reductions.states import Finished, Sample, State
from skvarimp._response.shapes.scaled_line import mean_distances

BATCH_ELEMENTS = 2**17  # values of a batch: one array stays in the processor's cache

REDUCTIONS = (Pairs, Observed, Range, PartialDependence, IndividualFlatness)


def serves(table, reductions, grid, keep_rows=False):
    """Whether a request is one of those of this module."""
    if not isinstance(grid, str):
        return False
    if keep_rows and any(type(r) is not SquaredError for r in reductions):
        return False  # sorted columns have lost their rows
    if all(type(reduction) is Range for reduction in reductions):
        return grid in {"all", "equidistant", "deciles"}  # from smallest to largest
    known = REDUCTIONS
    if not isinstance(table, SparseTable):
        known = (*known, SquaredError)
    return grid == "all" and all(type(r) in known for r in reductions)


def batches(table, columns):
    """Split columns into batches of bounded size.

    Parameters
    ----------
    table : Table
    columns : ndarray of int

    Yields
    ------
    which : ndarray of int
        Positions in `columns`; of sparse X those with as many stored values together.
    """
    if not isinstance(table, SparseTable):
        step = max(1, BATCH_ELEMENTS // table.n_samples)
        for start in range(0, len(columns), step):
            yield np.arange(start, min(start + step, len(columns)))
        return
    X = table.csc()
    sizes = np.diff(X.indptr)[columns] + 1
    order = np.argsort(sizes, kind="stable")
    start = 0
    while start < len(order):
        # the last of a batch is its longest
        totals = sizes[order[start:]] * np.arange(1, len(order) - start + 1)
        stop = start + max(1, int(np.searchsorted(totals, BATCH_ELEMENTS)))
        yield order[start:stop]
        start = stop


class SortedColumns:
    """Values of some columns in ascending order with their probabilities.

    Attributes
    ----------
    values : ndarray of shape (n_columns, n_values)
    probabilities : ndarray of shape (n_columns or 1, n_values)
    """

    def __init__(self, table, columns, weights):
        if isinstance(table, SparseTable):
            values, probabilities = _stored(table.csc(), columns, weights)
        else:
            values = _side_by_side(table, columns)
            probabilities = weights[np.newaxis]
            if np.all(weights == weights[0]):
                values.sort(axis=1)
                self.values, self.probabilities = values, probabilities
                return
        order = np.argsort(values, axis=1)
        self.values = np.take_along_axis(values, order, axis=1)
        probabilities = np.broadcast_to(probabilities, values.shape)
        self.probabilities = np.take_along_axis(probabilities, order, axis=1)

    def flatness(self, statistic, categorical):
        """Flatness over the distinct values, see `_flatness.flatness`."""
        values = self.values[:, np.newaxis]
        return flatness(values, self.distinct(), statistic, categorical)[:, 0]

    def distances(self):
        """Mean of D_k and its standard deviation, over the rows."""
        distance = mean_distances(self.values, self.probabilities)
        p = np.broadcast_to(self.probabilities, distance.shape)
        mean = np.einsum("bk,bk->b", distance, p)
        distance -= mean[:, np.newaxis]
        np.square(distance, out=distance)
        return mean, np.sqrt(np.einsum("bk,bk->b", distance, p))

    def means(self):
        """Mean of each column."""
        first = self.values[:, :1]
        p = np.broadcast_to(self.probabilities, self.values.shape)
        return first[:, 0] + np.einsum("bk,bk->b", self.values - first, p)

    def distinct(self):
        """Where each distinct value stands for the first time."""
        new = np.ones(self.values.shape, dtype=bool)
        np.not_equal(self.values[:, 1:], self.values[:, :-1], out=new[:, 1:])
        return new


def _side_by_side(table, columns):
    """Dense columns as rows of a new float64 array."""
    if isinstance(table, ArrayTable):
        return np.array(table.native[:, columns].T, dtype=np.float64, order="C")
    return np.array([table.column(j) for j in columns], dtype=np.float64)


def _stored(X, columns, weights):
    """Stored values and the zero of sparse columns, filled up to one length."""
    n_samples = X.shape[0]
    starts, sizes = X.indptr[columns], np.diff(X.indptr)[columns]
    at = np.arange(sizes.max(initial=0))
    present = at < sizes[:, np.newaxis]
    where = (starts[:, np.newaxis] + at)[present]
    # where no row is zero, the first value fills up
    filler = np.zeros(len(columns))
    full = np.flatnonzero((sizes == n_samples) & (sizes > 0))
    filler[full] = X.data[starts[full]]
    values = np.repeat(filler[:, np.newaxis], len(at) + 1, axis=1)
    probabilities = np.zeros_like(values)
    values[:, 1:][present] = X.data[where]
    probabilities[:, 1:][present] = weights[X.indices[where]]
    rest = 1.0 - probabilities.sum(axis=1)
    probabilities[:, 0] = np.where(sizes < n_samples, rest, 0.0)
    return values, probabilities


def finish(walk, request, columns, slopes, categorical):
    """The finished reductions of a batch.

    Parameters
    ----------
    walk : Walk
    request : int
    columns : ndarray of int
    slopes : ndarray of shape (n_columns, n_outputs)
    categorical : ndarray of shape (n_columns,) or None
        Needed where a statistic is "auto".

    Returns
    -------
    list of Finished
    """
    reductions, scales = walk.reductions[request], walk.scales[request]
    if all(type(reduction) is Range for reduction in reductions):
        return _ranges(walk.table, columns, slopes, scales)
    batch = None
    if any(type(reduction) is not SquaredError for reduction in reductions):
        batch = SortedColumns(walk.table, columns, walk.weights)
    known, result = {}, []
    for reduction, scale in zip(reductions, scales):
        kind = type(reduction)
        if kind is SquaredError:
            result.append(_squared_error(reduction, walk, columns, slopes))
            continue
        size = np.abs(slopes) / scale
        if kind in (Pairs, Observed):
            if "distances" not in known:
                known["distances"] = batch.distances()
            mean, deviation = known["distances"]
            errors = 2.0 * size.mean(axis=1) * deviation / np.sqrt(walk.total_weight)
            result.append(Finished(size * mean[:, np.newaxis], errors))
            continue
        statistic = "range" if kind is Range else reduction.statistic
        flat = batch.flatness(statistic, categorical)
        curves = None
        if kind is PartialDependence:
            curves = list(_mean_curves(batch, slopes, walk.base @ walk.weights))
        no_error = np.zeros(len(slopes))
        result.append(Finished(size * flat[:, np.newaxis], no_error, curves))
    return result


def _ranges(table, columns, slopes, scales):
    """Ranges alone need no order."""
    if isinstance(table, SparseTable):
        X = table.csc()
        # the weights do not matter, only that there is one a row
        values, _ = _stored(X, columns, np.ones(X.shape[0]))
    else:
        values = _side_by_side(table, columns)
    span = np.ptp(values, axis=1)[:, np.newaxis]
    no_error = np.zeros(len(slopes))
    return [Finished(np.abs(slopes) / scale * span, no_error) for scale in scales]


def _mean_curves(sorted_columns, slopes, level):
    new = sorted_columns.distinct()
    centred = sorted_columns.values - sorted_columns.means()[:, np.newaxis]
    for j, slope in enumerate(slopes):
        yield level[:, np.newaxis] + slope[:, np.newaxis] * centred[j, new[j]]


def _squared_error(reduction, walk, columns, slopes):
    """The finished squared error of a batch of dense columns.

    With c a column minus its mean, V its variance, e the unmoved error and s a slope,
    the loss gained is s^2 (c_k - c_i)^2 - 2 s e_i (c_k - c_i), whose means over the
    donors k of a row and over the rows i of a donor are moments of c and e c.
    """
    values, weights = _side_by_side(walk.table, columns), walk.weights
    values -= values[:, :1].copy()  # a constant column is exactly 0
    values -= (values @ weights)[:, np.newaxis]
    squares = values**2
    squares += (squares @ weights)[:, np.newaxis]  # c_i^2 + V
    error = reduction.target(walk.y) - walk.base
    rows, donors = np.zeros_like(values), np.zeros_like(values)
    for of_output, slope in zip(error, slopes.T[:, :, np.newaxis]):
        both = slope**2 * squares
        crossed = values @ (weights * of_output)
        rows += both + 2.0 * slope * of_output * values
        donors += both - 2.0 * slope * (
            (weights @ of_output) * values - crossed[:, np.newaxis]
        )
    base = np.broadcast_to((error**2).mean(axis=0), rows.shape)
    n_outputs = len(error)
    state = State(
        np.stack([rows / n_outputs, base], axis=1), donors[:, np.newaxis] / n_outputs
    )
    each_its_own = np.broadcast_to(np.arange(len(weights)), rows.shape)
    one = np.ones(1)
    return reduction.finish(
        state,
        Sample(
            weights,
            walk.total_weight,
            None,
            each_its_own,
            None,
            None,
            one,
            keep_rows=walk.keep_rows,
        ),
    )
