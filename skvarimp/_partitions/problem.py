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
from skvarimp._data.validation import check_target
from skvarimp._measures.problem import Problem, compared_with, make_problem
from skvarimp._partitions.errors import extend_errors
from skvarimp._partitions.passes import sent
from skvarimp._response.grid import Moves
from skvarimp._response.losses import loss_of_rows
from skvarimp._response.mean_curves import PartialDependence
from skvarimp._response.reductions import RowMean
from skvarimp._response.rows import Rows
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

    @classmethod
    def of(cls, partitions, estimator, response_method):
        """That of a model."""
        table, y, weights = partitions.table, partitions.y, partitions.sample_weight
        groups = partitions.groups
        donors = make_problem(estimator, table, y, weights, response_method, groups)
        # it knows its outputs by now, and any clusters that it does not list itself
        own = {"partitions": partitions, "sent_model": sent(donors.model)}
        return cls(**vars(donors), **own)

    def __getstate__(self):
        apart = {"partitions": None, "sent_model": None, "model": None}
        return {**super().__getstate__(), **apart}

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
        # what is wrong with any y is no fault of one partition
        compared = compared_with(self.model, lambda: self.y, self.base)
        bins = [_edges(targets) for targets in compared]
        sums, ends = self._passed(_binned, bins)
        lowest, highest = np.array(list(ends.values())).transpose(1, 2, 0)
        targets = []
        for o, (edges, (weights, above)) in enumerate(zip(bins, sums)):
            means = edges + divided(above, weights)
            values = np.array([lowest[o].min(), *means, highest[o].max()])
            targets.append((values, np.pad(weights / weights.sum(), 1)))
        return targets

    def mean_loss(self, loss):
        return float(self._passed(_loss, loss) / self.partitions.weight)

    def value_weights(self, features):
        columns = [feature.columns[0] for feature in features]
        masses = self.partitions.passed(_masses, self.table, columns)
        return masses / self.partitions.weight

    def outcomes(self, features, requests, keep_rows=False, n_jobs=None, measures=()):
        """The donors' walk, for errors; then one of each partition, for means."""
        keep_rows |= self.units.groups is not None
        n_steps = len(features) * len(requests)
        with Progress(measures, n_steps) as progress:
            outcomes = super().outcomes(features, requests, keep_rows, n_jobs)
            if _asked(requests, 1):
                self._take_means(outcomes, features, requests)
            for outcome in chain.from_iterable(outcomes):
                outcome.influences = outcome.contributions = outcome.effects = None
                outcome.skewness = None
            progress.step(n_steps)
        return outcomes

    def _take_means(self, outcomes, features, requests):
        """Give outcomes of the donors the means over all rows, and their errors."""
        response, weight = self.response(features), self.partitions.weight
        asked = response.asks_model, features, requests
        found = zip(
            _deviations(self, response, features, requests),
            self._passed(_walk_of_part, self, *asked),
        )
        walk = self.walk(response, features, requests)
        for request, of_request in zip(requests, outcomes):
            for reduction, scale, outcome in zip(
                request.reductions, request.scales, of_request
            ):
                if not _is_mean(reduction, request):
                    continue
                deviations, (sums, curves) = next(found)
                extend_errors(outcome, deviations, self)
                outcome.importances = sums / weight
                for e, curve in enumerate(curves):
                    outcome.curves[e] = curve / weight
                    move = self.move(features[e], request)
                    spread = _spread(outcome.curves[e], reduction, move, walk, scale)
                    outcome.importances[e] = spread / scale

    def joined(self, part):
        """The donors, and below them the rows of a partition, as a problem."""
        table = stacked([self.table, part.table])
        table.names, n = self.table.names, len(self.weights) + len(part.weights)
        base = np.hstack([self.base, self.model.unmoved(part.table)])
        return Problem(
            table, self.model, None, np.full(n, 1 / n), n, base, np.ones(n, dtype=bool)
        )


def _is_mean(reduction, request):
    """Whether importances are means over rows, or follow from curves that are.

    Within subgroups, to which only donors belong, they are not.
    """
    of_rows = isinstance(reduction, PartialDependence | RowMean)
    return of_rows and not callable(request.grid)


def _asked(requests, n_rows):
    """The requests of such means of so many rows, of which no error is asked."""
    asked = []
    for request in requests:
        found = replace(request, reductions=[], scales=[])
        for reduction, scale in zip(request.reductions, request.scales):
            if isinstance(reduction, PartialDependence):
                reduction = type(reduction).over(reduction.statistic, n_rows, 1)
            if _is_mean(reduction, request):
                found.reductions.append(reduction)
                found.scales.append(scale)
        if found.reductions:
            asked.append(found)
    return asked


def _deviations(problem, response, features, requests):
    """How far importances move with the donors: (n_samples, n_features, n_outputs).

    One array for each reduction whose importances are means. A sample of the donors
    deviates from all of them as they deviate from all rows, if its size makes both
    variances alike: 1 / size - 1 / n_donors = 1 / n_donors - 1 / n_rows. Those that are
    there for certain are in each sample.
    """
    n, random = len(problem.weights), np.random.default_rng(0)
    rows = np.sort(random.choice(n, min(n, MOVED_ROWS), replace=False))
    asked = _asked(requests, len(rows))
    walk = problem.walk(response, features, asked)
    y = None if walk.rows.y is None else walk.rows.y[rows]
    certain, weights = problem.partitions.certain, problem.weights
    drawn = np.flatnonzero(~certain)
    size = round(len(drawn) / (2.0 - problem.partitions.share))

    def importances(weights):
        moves = MovesToDonors(problem, features, asked, weights)
        found = _outcomes(walk, moves, rows, problem.weights[rows], y)
        return [outcome.importances for outcome in found]

    samples = []
    for _ in range(N_SAMPLES):
        chosen = random.choice(drawn, size, replace=False)
        times = np.where(certain, size / len(drawn), 0.0)
        times[chosen] = 1.0
        samples.append(importances(times * weights))
    everywhere = importances(weights)
    return [np.stack(of_one) - of_all for *of_one, of_all in zip(*samples, everywhere)]


class MovesToDonors(Moves):
    """Moves of other rows to the values of donors.

    Parameters
    ----------
    problem : PartitionedProblem
    features : list of Feature
    requests : list of Request
    weights : ndarray of shape (n_samples,)
        Of the donors, the rows of the problem's table; 0 for those that are none.
    """

    def __init__(self, problem, features, requests, weights):
        self.donors = np.flatnonzero(weights)
        weights = weights[self.donors]
        super().__init__(
            problem.table.take(self.donors),
            weights / weights.sum(),
            features,
            [request.grid for request in requests],
            [request.categorical for request in requests],
        )

    @property
    def by_column(self):
        """None does: the values are not those of the rows that move."""
        return np.zeros(len(self.features), dtype=bool)

    def __getitem__(self, position):
        move = super().__getitem__(position)
        if (rows := move.donors) is not None:
            rows = np.where(rows >= 0, self.donors[rows], -1)
        return replace(move, donors=rows, codes=None)


def _outcomes(walk, moves, rows, weights, y):
    """Those of some rows of the table that move to the values of donors."""
    table, base, weights = walk.rows.table, walk.rows.base, weights / weights.sum()
    units = Units(len(rows), weights)
    some = Rows(table, rows, weights, base[:, rows], units, y)
    return list(chain.from_iterable(run_walk(replace(walk, moves=moves, rows=some))))


def _spread(curve, reduction, move, walk, scale):
    """The unscaled importance, (n_outputs,), that follows from a feature's curve."""
    sample = sample_of(walk, [move], scale)
    return reduction.for_kind(move.categorical).spread(curve[np.newaxis], sample)[0]


def _walk_of_part(part, model, problem, asks_model, features, requests):
    """Importances and curves of the rows of a partition, times their weight."""
    problem.model = model
    joined, n_donors, n_rows = problem.joined(part), problem.n_rows, len(part.weights)
    response = joined.drawing() if asks_model else joined.response(features)
    asked = _asked(requests, n_rows)
    moves = MovesToDonors(problem, features, asked, problem.weights)
    y = None
    if "y" in vars(problem):
        y = check_target(part.y, n_rows, structured=True)
    walk, rows = joined.walk(response, features, asked), n_donors + np.arange(n_rows)
    weight = part.weights.sum()
    return [
        (weight * one.importances, [weight * curve for curve in one.curves or []])
        for one in _outcomes(walk, moves, rows, part.weights, y)
    ]


def _masses(part, table, columns):
    """Weights of the rows, each given to the donor of the next larger value.

    (n_columns, n_donors); donors of equal values share them.
    """
    n, both = table.n_samples, stacked([table, part.table])
    masses = np.empty((len(columns), n))
    for of_column, j in zip(masses, columns):
        codes, _ = both.factorize((j,))
        known, cells = np.unique(codes[:n], return_inverse=True)
        next_cells = np.searchsorted(known[:-1], codes[n:])
        mass = np.bincount(next_cells, part.weights, len(known))
        of_column[:] = (mass / np.bincount(cells))[cells]
    return masses


def _moments(part, model, level):
    """Weighted sums of responses above a level, and of their squares."""
    shifted = model.unmoved(part.table) - level[:, np.newaxis]
    return np.stack([shifted, shifted**2]) @ part.weights


def _loss(part, model, loss):
    """Weighted sum of the losses of the unmoved rows."""
    y = check_target(part.y, len(part.weights), structured=True)
    return part.weights @ loss_of_rows(loss, y, model.unmoved(part.table))


def _edges(targets):
    """Where bins begin: at each of the targets; one bin is for those above, below."""
    known = np.unique(targets)
    return np.concatenate([known[:1], known, np.nextafter(known[-1:], np.inf)])


def _binned(part, model, bins):
    """Weights of the targets in bins, and sums of what they exceed the edges by; ends.

    With the mean of each bin in place of its targets, Gini's mean difference loses the
    square of a bin's weight times the difference within it: 1e-9 of it or less.

    Parameters
    ----------
    part : Partition
    model : Model
    bins : list of ndarray of shape (n_bins,)
        The edges of each output's bins.
    """
    target = partial(check_target, part.y, len(part.weights))
    compared = compared_with(model, target, model.unmoved(part.table))
    sums = []
    for values, edges in zip(compared, bins):
        bin_of_row = np.searchsorted(edges[1:], values, side="right")
        above = part.weights * (values - edges[bin_of_row])
        both = [np.bincount(bin_of_row, w, len(edges)) for w in (part.weights, above)]
        sums.append(np.array(both))
    return sums, {part.number: (compared.min(axis=1), compared.max(axis=1))}
