"""Numbers of y and of the unmoved response over all partitions.

Where values are too many to be counted one by one, they are sorted into bins of
neighbours, each of which is put in order on some worker. With F the distribution
function, Gini's mean difference is 2 times the integral of F (1 - F): the sum over bins
of that within the bin and over the gap to the next one.
"""

from functools import partial

import numpy as np

from skvarimp._data.base_table import ArrayTable
from skvarimp._data.entries import Entry
from skvarimp._data.partitions import all_merged, summed
from skvarimp._data.statistics import (
    gini_mean_difference,
    precise_cumsum,
    weighted_median,
)
from skvarimp._response.partitioned.moments import Moments
from skvarimp._response.partitioned.observed import Observed
from skvarimp._response.reductions.losses import loss_of_rows
from skvarimp._response.scale import STATISTICS, checked_scale, compared_with
from skvarimp._response.unmoved import unmoved_response

BIN_VALUES = 2**22  # that one task puts in order, about: 64 MB with their weights


def scale_over(problem, contrast):
    """The divisor of each output for `scale="auto"`, see `scale_of`."""
    model, n_outputs = problem.model, len(problem.base)
    if contrast not in STATISTICS:
        return np.ones(n_outputs)
    observed, values = problem.targets, _values_of(problem)
    if contrast == "range":
        return checked_scale(model, [float(np.ptp(_values(o))) for o in observed])
    statistics = [
        gini_mean_difference(_values(o), o.masses / o.masses.sum())
        if o.distinct
        else _gini(problem, partial(_row, values=values, row=row), o)
        for row, o in enumerate(observed)
    ]
    return checked_scale(model, statistics)


def mean_loss(problem, loss):
    """Mean loss of the unmoved rows."""
    total, weight = problem.partitions.passed(
        _sum_of_losses, (problem.model, loss), summed
    )
    return float(total / weight)


def relative_deviation(problem):
    """Huh & Lee's GoFit of one numeric output; None where y is constant."""
    (observed,) = problem.targets
    median = _median(problem.partitions, observed)
    around, off, _ = problem.partitions.passed(
        _deviations, (problem.model, median), summed
    )
    return None if around == 0 else float(1.0 - off / around)


def response_moments(part, model):
    """`Moments` of each output of a part, and its largest size."""
    base = unmoved_response(model, part.table)
    moments = [Moments.of(row[np.newaxis], part.weights, None, 1) for row in base]
    return moments, np.abs(base).max(axis=1)


def merge_moments(first, second):
    """Merge the results of `response_moments`."""
    moments = [a.merged(b) for a, b in zip(first[0], second[0])]
    return moments, np.maximum(first[1], second[1])


def _compared(part, model, n_outputs):
    """What the outputs are compared with, (n_outputs, n_rows)."""
    needs_base = model.kind == "score" or model.clusters
    base = unmoved_response(model, part.table) if needs_base else [None] * n_outputs
    return compared_with(model, None if needs_base else part.target(), base)


def _target(part):
    return part.target().astype(np.float64)[np.newaxis]


def _row(part, values, row):
    return values(part)[row]


def _values(observed):
    return observed.rows.column(0).astype(np.float64)


def observed_targets(problem):
    """`Observed` of what each output is compared with."""
    values = _values_of(problem)
    return problem.partitions.passed(_observe, (values,), all_merged)


def _values_of(problem):
    return partial(_compared, model=problem.model, n_outputs=len(problem.base))


def _observe(part, values):
    entry = Entry("value", (0,))
    return [
        Observed.of(ArrayTable(of_one[:, np.newaxis]), entry, part.weights)
        for of_one in values(part)
    ]


def _sum_of_losses(part, model, loss):
    base = unmoved_response(model, part.table)
    return part.weights @ loss_of_rows(loss, part.target(), base), part.weights.sum()


def _deviations(part, model, median):
    y, weights = _target(part)[0], part.weights
    (base,) = unmoved_response(model, part.table)
    return weights @ np.abs(y - median), weights @ np.abs(y - base), weights.sum()


def _edges(observed, n_rows):
    """Values that part a column in bins of about `BIN_VALUES` rows."""
    values = _values(observed)
    n_bins = -(-n_rows // BIN_VALUES)
    below = np.cumsum(observed.masses)
    shares = np.arange(1, n_bins) / n_bins * below[-1]
    return np.unique(values[np.searchsorted(below, shares)])


def _gini(problem, values, observed):
    """Gini's mean difference of one number per row, whatever the number of rows."""
    total = observed.masses.sum()
    edges = _edges(observed, problem.n_rows)
    bins = problem.partitions.in_bins(values, edges, partial(_of_bin, total=total))
    result, below, last = 0.0, 0.0, None
    for first, end, mass, even, squares in filter(None, bins):
        if last is not None:
            result += (first - last) * below * (1.0 - below)
        # of (below + c) (1 - below - c), with c the mass of the bin up to a value
        result += (end - first) * below * (1.0 - below)
        result += (1.0 - 2.0 * below) * even - squares
        below, last = below + mass, end
    return 2.0 * result


def _of_bin(values, weights, total):
    """Ends and mass of a bin, and the integrals of its mass and of its square."""
    order = np.argsort(values, kind="stable")
    values, up_to = values[order], precise_cumsum(weights[order]) / total
    gaps = np.diff(values)
    return values[0], values[-1], up_to[-1], gaps @ up_to[:-1], gaps @ up_to[:-1] ** 2


def _median(partitions, observed):
    """The weighted median of y."""
    values, masses = _values(observed), observed.masses
    if observed.distinct:
        return weighted_median(values, masses)
    half, below = masses.sum() / 2, np.cumsum(masses)
    # the ends of the bin that surely holds it, a few steps of the sketch to each side
    around = 1e-2 * below[-1]
    low, high = np.searchsorted(below, [half - around, half + around])
    low, high = values[max(low - 1, 0)], values[min(high + 1, len(values) - 1)]
    below, inside = partitions.passed(_between, (low, high), _merge_between)
    return _median_of(*inside, below, half)


def _between(part, low, high):
    y = _target(part)[0]
    inside = (y >= low) & (y <= high)
    return part.weights @ (y < low), (y[inside], part.weights[inside])


def _merge_between(first, second):
    inside = tuple(map(np.concatenate, zip(first[1], second[1])))
    return first[0] + second[0], inside


def _median_of(values, weights, below, half):
    """See `weighted_median`, of values above others with the weight `below`."""
    order = np.argsort(values, kind="stable")
    values, up_to = values[order], below + np.cumsum(weights[order])
    tolerance = 2e-12 * half
    low = np.searchsorted(up_to, half - tolerance)
    high = np.searchsorted(up_to, half + tolerance)
    return 0.5 * (values[low] + values[min(high, len(values) - 1)])
