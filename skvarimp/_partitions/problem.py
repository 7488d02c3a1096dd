"""`PartitionedProblem`: a problem of donors, whose means are taken over all partitions.

The importances of rows that move to the donors' values are means over the rows, so that
each partition is a walk of its own. `errors.py` says what they vary by.
"""

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain

import numpy as np

from skvarimp._data.statistics import Units, divided
from skvarimp._data.table import stacked
from skvarimp._measures.problem import Problem, compared_with
from skvarimp._partitions.errors import extend_errors
from skvarimp._partitions.values import between, masses, up_to_next
from skvarimp._response.grid import make_move
from skvarimp._response.losses import loss_of_rows
from skvarimp._response.mean_curves import PartialDependence
from skvarimp._response.reductions import RowMean
from skvarimp._response.walk import run_walk, sample_of
from skvarimp._running.tasks import Progress

MOVED_ROWS = 1000  # that show how far importances move with the donors
N_SAMPLES = 24  # of the donors: the error of that is known to 15%


@dataclass
class PartitionedProblem(Problem):
    """A problem whose table holds the donors.

    What is exact asks all rows; what is drawn, and what is shown, the donors alone.

    Attributes
    ----------
    partitions : Partitions
    sent_model : Delayed
        The model, which is sent once to each worker.
    """

    partitions: object = None
    sent_model: object = None

    def __getstate__(self):
        return {**super().__getstate__(), "partitions": None, "sent_model": None}

    def _passed(self, function, *arguments):
        """Merge function(part, model, *arguments) over all partitions."""
        return self.partitions.passed(function, self.sent_model, *arguments)

    def response(self, features, n_moves=1):
        """Its path says where the donors come from."""
        found = copy(super().response(features, n_moves))
        found.path += self.partitions.note
        return found

    def drawing(self, done="drawn rows"):
        return super().drawing(done + self.partitions.note)

    @cached_property
    def spread(self):
        level = self.base @ self.weights
        first, second = self._passed(_moments, level) / self.partitions.weight
        return second - first**2, np.abs(self.base).max(axis=1)

    @cached_property
    def targets(self):
        # of the donors first: what is wrong with any y is no fault of one partition
        bins = [_edges(values) for values, _ in super().targets]
        sums, ends = self._passed(_binned, bins)
        targets = []
        for edges, (weights, above), *more in zip(bins, sums, *ends):
            values = np.concatenate([edges + divided(above, weights), *more])
            weights = np.pad(weights / weights.sum(), (0, len(values) - len(edges)))
            targets.append((values, weights))
        return targets

    def mean_loss(self, loss):
        return float(self._passed(_loss, loss) / self.partitions.weight)

    def value_table(self, features, ends_of):
        table, columns = self.table, [feature.columns[0] for feature in features]
        weights = self.partitions.passed(masses, table, columns)
        bounds = []
        for feature, of_donors in zip(features, weights):
            move = make_move(table, of_donors, feature, "all")
            ends = ends_of(move)
            bounds.append(move.donors[[np.maximum(ends - 1, 0), ends]])
        rows = np.unique(np.concatenate(bounds, axis=1))
        known, bounds = table.take(rows), [np.searchsorted(rows, b) for b in bounds]
        found = self.partitions.passed(between, known, columns, bounds)
        table = stacked([table, *(values for values, _ in found)])
        further = np.hstack([of_values for _, of_values in found])
        for j, of_donors, own in zip(columns, weights, further):
            of_donors -= up_to_next(table, len(of_donors), j, own)
        return table, np.hstack([weights, further]) / self.partitions.weight

    def outcomes(self, features, requests, keep_rows=False, n_jobs=None, measures=()):
        """The donors' walk, for errors; then one of each partition, for means."""
        keep_rows |= self.units.groups is not None
        n_steps = len(features) * len(requests)
        with Progress(measures, n_steps) as progress:
            outcomes = super().outcomes(features, requests, keep_rows, n_jobs)
            means = list(chain.from_iterable(map(_means, requests, outcomes)))
            if means:
                self._extend(means, features, requests)
            progress.step(n_steps)
        return outcomes

    def _extend(self, means, features, requests):
        """Give outcomes of the donors the means over all rows, and their errors.

        Parameters
        ----------
        means : list of (Request, Reduction, ndarray, Outcome)
            Each reduction whose importances are means, with its scale.
        features : list of Feature
        requests : list of Request
        """
        response, weight = self.response(features), self.partitions.weight
        asked = response.asks_model, features, requests
        deviations = _deviations(self, response, features, requests)
        found = self._passed(_walk_of_part, replace(self.rows, units=None), *asked)
        walk = self.walk(response, features, requests)
        for mean, moved, (sums, curves) in zip(means, deviations, found):
            request, reduction, scale, outcome = mean
            extend_errors(outcome, moved, self)
            outcome.skewness = outcome.influences = None
            outcome.importances = sums / weight
            for e, curve in enumerate(curves):
                outcome.curves[e] = curve / weight
                move = self.move(features[e], request)
                own = reduction.for_kind(move.categorical)
                sample = sample_of(walk, [move], scale)
                spread = own.spread(outcome.curves[e][np.newaxis], sample)
                outcome.importances[e] = spread[0] / scale


def _means(request, *others):
    """The reductions of a request that are means over rows, or follow from such curves.

    Each after the request, and before its scale and what others hold for it. Within
    subgroups, to which only donors belong, there are none.
    """
    every = zip(request.reductions, request.scales, *others)
    kinds = () if callable(request.grid) else (PartialDependence, RowMean)
    return [(request, *one) for one in every if isinstance(one[0], kinds)]


def _move_to_donors(table, weights, feature, categorical_columns, grid, donors):
    """The `Move` of a feature to the values of donors, for rows that are none.

    Called as `make_move` is, with what follows already known.

    Parameters
    ----------
    grid : str, int, array-like or dict
        Of the donors' values.
    donors : (Table, ndarray of shape (n_donors,), ndarray of shape (n_donors,))
        Their values, weights, which sum to 1, and which rows they are of the table.
    """
    values, chances, rows = donors
    move = make_move(values, chances, feature, grid, categorical_columns)
    if (places := move.donors) is not None:
        places = np.where(places >= 0, rows[places], -1)
    return replace(move, donors=places, codes=None)


def _moved(problem, response, features, requests, chances, rows):
    """The outcomes of some rows that move to the values of others, one for each mean.

    Parameters
    ----------
    problem : Problem
    response : Response
    features : list of Feature
    requests : list of Request
    chances : ndarray of shape (n_samples,)
        In proportion to these each row of the table is a donor.
    rows : ndarray of int
        That are evaluated.
    """
    places = np.flatnonzero(chances)
    donors = problem.table.take(places), chances[places] / chances.sum(), places
    asked = []
    for request in requests:
        grid = partial(_move_to_donors, grid=request.grid, donors=donors)
        own = replace(request, grid=grid, reductions=[], scales=[])
        for _, reduction, scale in _means(request):
            if isinstance(reduction, PartialDependence):  # no error is asked
                reduction = type(reduction).over(reduction.statistic, len(rows), 1)
            own.reductions.append(reduction)
            own.scales.append(scale)
        if own.reductions:
            asked.append(own)
    walk = problem.walk(response, features, asked)
    walk.rows = walk.rows.alone(rows)
    walk.rows.units = Units(len(rows), walk.rows.weights)
    return list(chain.from_iterable(run_walk(walk)))


def _deviations(problem, response, features, requests):
    """How far importances move with the donors: (n_samples, n_features, n_outputs).

    One array for each reduction whose importances are means. A sample of the donors
    deviates from all of them as they deviate from all rows, if its size makes both
    variances alike: 1 / size - 1 / n_donors = 1 / n_donors - 1 / n_rows. Those that are
    there for certain are in each sample.
    """
    n, random = len(problem.weights), np.random.default_rng(0)
    rows = np.sort(random.choice(n, min(n, MOVED_ROWS), replace=False))
    certain = problem.partitions.certain
    drawn, likelihood = np.flatnonzero(~certain), 1.0 / (2.0 - problem.partitions.share)
    samples = [np.ones(n)]  # how often each donor counts: first, all of them
    for _ in range(N_SAMPLES):
        times = np.where(certain, likelihood, 0.0)
        chosen = random.choice(drawn, round(likelihood * len(drawn)), replace=False)
        times[chosen] = 1.0
        samples.append(times)
    importances = []
    for times in samples:
        chances = times * problem.weights
        found = _moved(problem, response, features, requests, chances, rows)
        importances.append([outcome.importances for outcome in found])
    return [np.stack(of_one) - of_all for of_all, *of_one in zip(*importances)]


def _walk_of_part(part, model, donors, asks_model, features, requests):
    """Importances and curves of the rows of a partition, times their weight."""
    table, weight = stacked([donors.table, part.table]), part.weights.sum()
    table.names, n_rows = donors.table.names, len(part.weights)
    weights = np.append(donors.weights, part.weights / weight) / 2.0
    base = np.hstack([donors.base, model.unmoved(part.table)])
    kept = np.ones(len(weights), dtype=bool)
    both = Problem(table, model, None, weights, 2.0, base, kept)
    if donors.y is not None:
        both.y = np.concatenate([donors.y, part.target])
    response = both.drawing() if asks_model else both.response(features)
    chances, rows = np.pad(donors.weights, (0, n_rows)), np.arange(len(weights))
    found = _moved(both, response, features, requests, chances, rows[-n_rows:])
    return tuple(
        (weight * one.importances, tuple(weight * curve for curve in one.curves or ()))
        for one in found
    )


def _moments(part, model, level):
    """Weighted sums of responses above a level, and of their squares."""
    shifted = model.unmoved(part.table) - level[:, np.newaxis]
    return np.stack([shifted, shifted**2]) @ part.weights


def _loss(part, model, loss):
    """Weighted sum of the losses of the unmoved rows."""
    return part.weights @ loss_of_rows(loss, part.target, model.unmoved(part.table))


def _edges(targets):
    """Where bins begin: at each of the targets, right above it, and below the least."""
    known = np.unique(targets)
    return np.sort(np.concatenate([known[:1], known, np.nextafter(known, np.inf)]))


def _binned(part, model, bins):
    """Weights of the targets in bins, and sums of what they exceed the edges by; ends.

    With the mean of each bin in place of its targets, Gini's mean difference loses the
    square of a bin's weight times the difference within it. Bins with several values
    hold no donor's: 1e-9 of it or less.

    Parameters
    ----------
    part : Partition
    model : Model
    bins : list of ndarray of shape (n_bins,)
        The edges of each output's bins.
    """
    compared = compared_with(model, lambda: part.target, model.unmoved(part.table))
    sums = []
    for values, edges in zip(compared, bins):
        bin_of_row = np.searchsorted(edges[1:], values, side="right")
        above = part.weights * (values - edges[bin_of_row])
        both = [np.bincount(bin_of_row, w, len(edges)) for w in (part.weights, above)]
        sums.append(np.array(both))
    ends = np.stack([compared.min(axis=1), compared.max(axis=1)], axis=1)
    return tuple(sums), [ends]
