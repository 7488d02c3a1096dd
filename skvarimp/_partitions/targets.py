"""What `PartitionedProblem` asks each partition of the targets and the response."""

import numpy as np

from skvarimp._data.entries import Entry
from skvarimp._data.merging import Largest
from skvarimp._data.statistics import precise_cumsum
from skvarimp._data.table import ArrayTable
from skvarimp._partitions.donors import ObservedValues
from skvarimp._partitions.moments import Moments
from skvarimp._response.losses import loss_of_rows
from skvarimp._response.unmoved import compared_with, unmoved_response

BIN_VALUES = 2**22  # that one task puts in order, about: 64 MB with their weights


def response_moments(part, model):
    """`Moments` of each output of a part, and its largest size."""
    base = unmoved_response(model, part.table)
    moments = [Moments.of(row[np.newaxis], part.weights, None, 1) for row in base]
    return moments, Largest(np.abs(base).max(axis=1))


def compared_rows(part, model, n_outputs, row=...):
    """What the outputs are compared with, (n_outputs, n_rows), or one row of that."""
    needs_base = model.kind == "score" or model.clusters
    base = unmoved_response(model, part.table) if needs_base else [None] * n_outputs
    return compared_with(model, part.target(), base)[row]


def counted_targets(part, model, n_outputs):
    """`ObservedValues` of what each output is compared with."""
    entry = Entry("value", (0,))
    return [
        ObservedValues.of(ArrayTable(of_one[:, np.newaxis]), entry, part.weights)
        for of_one in compared_rows(part, model, n_outputs)
    ]


def sum_of_losses(part, model, loss):
    """Weighted sum of the unmoved rows' losses, and their weight."""
    base = unmoved_response(model, part.table)
    return part.weights @ loss_of_rows(loss, part.target(), base), part.weights.sum()


def deviations(part, model, median):
    """Weighted sums of |y - median| and |y - f|."""
    y, weights = part.target().astype(np.float64), part.weights
    (base,) = unmoved_response(model, part.table)
    return weights @ np.abs(y - median), weights @ np.abs(y - base)


def bin_edges(observed, n_rows):
    """Values that part a column in bins of about `BIN_VALUES` rows."""
    values = observed.rows.column(0)
    n_bins = -(-n_rows // BIN_VALUES)
    below = np.cumsum(observed.masses)
    shares = np.arange(1, n_bins) / n_bins * below[-1]
    return np.unique(values[np.searchsorted(below, shares)])


def bin_integrals(values, weights, total):
    """Ends and mass of a bin, and the integrals of its mass and of its square."""
    order = np.argsort(values, kind="stable")
    values, up_to = values[order], precise_cumsum(weights[order]) / total
    gaps = np.diff(values)
    return values[0], values[-1], up_to[-1], gaps @ up_to[:-1], gaps @ up_to[:-1] ** 2


def rows_around(part, low, high):
    """Weights below and above a range, and by partition what lies inside."""
    y, weights = part.target().astype(np.float64), part.weights
    inside = (y >= low) & (y <= high)
    outside = np.array([weights @ (y < low), weights @ (y > high)])
    return outside, {part.number: (y[inside], weights[inside])}
