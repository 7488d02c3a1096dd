"""Numbers of y and of the unmoved response over all partitions.

Where values are too many to be counted one by one, they are sorted into bins of
neighbours, each of which is put in order on some worker. With F the distribution
function, Gini's mean difference is 2 times the integral of F (1 - F): the sum over bins
of that within the bin and over the gap to the next one.
"""

from functools import cached_property, partial

import numpy as np

from skvarimp._data.base_table import ArrayTable
from skvarimp._data.entries import Entry
from skvarimp._data.partitions import Largest
from skvarimp._data.statistics import (
    gini_mean_difference,
    precise_cumsum,
    weighted_median,
)
from skvarimp._measures.problem import Problem
from skvarimp._response.losses import loss_of_rows
from skvarimp._response.partitioned_donors import Observed
from skvarimp._response.partitioned_moments import Moments
from skvarimp._response.unmoved import (
    STATISTICS,
    checked_scale,
    compared_with,
    unmoved_response,
)

BIN_VALUES = 2**22  # that one task puts in order, about: 64 MB with their weights


class UnmovedProblem(Problem):
    """What a `Problem` knows of y and of the unmoved response, over all partitions."""

    @cached_property
    def _response_moments(self):
        """`Moments` of each output, and its largest size."""
        moments, size = self.partitions.passed(response_moments, (self.model,))
        return moments, size.values

    def spread(self):
        """See `Problem.spread`."""
        moments, size = self._response_moments
        variances = [np.diag(of_one.scatter)[0] for of_one in moments]
        return np.array(variances) / moments[0].weights.sum(), size

    @cached_property
    def _targets(self):
        """`Observed` of what each output is compared with."""
        return self.partitions.passed(_observe, (self.model, len(self.base)))

    def scale(self, contrast):
        """See `Problem.scale`."""
        if contrast not in STATISTICS:
            return np.ones(len(self.base))
        if contrast == "range":
            statistics = [float(np.ptp(_values(o))) for o in self._targets]
        else:
            statistics = [self._gini(row, o) for row, o in enumerate(self._targets)]
        return checked_scale(self.model, statistics)

    def _gini(self, row, observed):
        """Gini's mean difference of one output's targets, whatever their number."""
        total = observed.masses.sum()
        if observed.distinct:
            return gini_mean_difference(_values(observed), observed.masses / total)
        of_row = {"model": self.model, "n_outputs": len(self.base), "row": row}
        values, reduce = partial(_row, **of_row), partial(_of_bin, total=total)
        bins = self.partitions.in_bins(values, _edges(observed, self.n_rows), reduce)
        result, below, last = 0.0, 0.0, None
        for first, end, mass, even, squares in filter(None, bins):
            if last is not None:
                result += (first - last) * below * (1.0 - below)
            # of (below + c) (1 - below - c), with c the mass of the bin up to a value
            result += (end - first) * below * (1.0 - below)
            result += (1.0 - 2.0 * below) * even - squares
            below, last = below + mass, end
        return 2.0 * result

    def mean_loss(self, loss):
        """See `Problem.mean_loss`."""
        total, weight = self.partitions.passed(_sum_of_losses, (self.model, loss))
        return float(total / weight)

    @cached_property
    def _relative_deviation(self):
        (observed,) = self._targets
        median = _median(self.partitions, observed)
        around, off = self.partitions.passed(_deviations, (self.model, median))
        return None if around == 0 else float(1.0 - off / around)


def response_moments(part, model):
    """`Moments` of each output of a part, and its largest size."""
    base = unmoved_response(model, part.table)
    moments = [Moments.of(row[np.newaxis], part.weights, None, 1) for row in base]
    return moments, Largest(np.abs(base).max(axis=1))


def _compared(part, model, n_outputs):
    """What the outputs are compared with, (n_outputs, n_rows)."""
    needs_base = model.kind == "score" or model.clusters
    base = unmoved_response(model, part.table) if needs_base else [None] * n_outputs
    return compared_with(model, None if needs_base else part.target(), base)


def _target(part):
    return part.target().astype(np.float64)[np.newaxis]


def _row(part, model, n_outputs, row):
    return _compared(part, model, n_outputs)[row]


def _values(observed):
    return observed.rows.column(0).astype(np.float64)


def _observe(part, model, n_outputs):
    entry = Entry("value", (0,))
    return [
        Observed.of(ArrayTable(of_one[:, np.newaxis]), entry, part.weights)
        for of_one in _compared(part, model, n_outputs)
    ]


def _sum_of_losses(part, model, loss):
    base = unmoved_response(model, part.table)
    return part.weights @ loss_of_rows(loss, part.target(), base), part.weights.sum()


def _deviations(part, model, median):
    y, weights = _target(part)[0], part.weights
    (base,) = unmoved_response(model, part.table)
    return weights @ np.abs(y - median), weights @ np.abs(y - base)


def _edges(observed, n_rows):
    """Values that part a column in bins of about `BIN_VALUES` rows."""
    values = _values(observed)
    n_bins = -(-n_rows // BIN_VALUES)
    below = np.cumsum(observed.masses)
    shares = np.arange(1, n_bins) / n_bins * below[-1]
    return np.unique(values[np.searchsorted(below, shares)])


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
