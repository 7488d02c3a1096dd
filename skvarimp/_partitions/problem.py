"""`PartitionedProblem`: a problem of donors, whose means are taken over all partitions.

The importances of rows that move to the donors' values are means over the rows, so that
each partition is a walk of its own. `errors.py` says what they vary by.
"""

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from skvarimp._data.statistics import Units, gini_mean_difference
from skvarimp._data.table import stacked
from skvarimp._data.validation import check_rows, check_target
from skvarimp._measures.problem import Problem, compared_with, weighted_median
from skvarimp._models.model import Model
from skvarimp._partitions.errors import extend_errors
from skvarimp._partitions.passes import passed_over
from skvarimp._response.contract import BlackBoxResponse
from skvarimp._response.grid import Moves
from skvarimp._response.losses import loss_of_rows
from skvarimp._response.mean_curves import PartialDependence
from skvarimp._response.reductions import RowMean
from skvarimp._response.walk import run_walk, sample_of, unknown_outcomes
from skvarimp._running.memory import even_slices
from skvarimp._running.tasks import Progress

MOST_TARGETS = 2**16  # different targets that are told apart
MOVED_ROWS = 1000  # that show how far importances move with the donors
N_SAMPLES = 24  # of the donors: the error of that is known to 15%


@dataclass
class PartitionedProblem(Problem):
    """A problem whose table holds the donors.

    What is exact asks all rows; what is drawn, and what is shown, the donors alone.

    Attributes
    ----------
    share : float
        Share of the rows that are donors.
    """

    draws_rows = False

    partitions: object = None
    share: float = 1.0

    @classmethod
    def of(cls, partitions, estimator, response_method):
        """That of a model; the partitions' own tasks ask it for its response."""
        table, n_rows = partitions.table, partitions.table.n_samples
        of_rows = partitions.sample_weight, partitions.groups
        weights, kept, labels = check_rows(*of_rows, n_rows)
        model = Model(estimator, response_method, y=partitions.y)
        if model.clusters and model.class_lists is None:
            raise TypeError(
                "Rows in partitions need a model that lists its clusters (`labels_`, "
                "`weights_` or `cluster_centers_`), as one partition may lie in a few "
                f"of them, got {type(estimator).__name__}. Pass X.compute()."
            )
        if not kept.all():
            table, weights = table.take(np.flatnonzero(kept)), weights[kept]
            table.names = partitions.table.names
        with partitions.naming(partitions.head.number):
            level = model.unmoved(partitions.head.table).mean(axis=1)
        partitions.sent.add(estimator)
        partitions.sent.add(table)
        found, sums = partitions.passed(_responses, model, level, partitions.chosen)
        base = np.hstack([found[number][0] for number in sorted(found)])
        total = weights.sum()
        problem = cls(
            table, model, partitions.y, weights / total, total, base, kept, labels
        )
        problem.partitions, problem.share = partitions, partitions.share
        largest = np.max([size for _, size in found.values()], axis=0)
        first, second = sums[1:] / partitions.weight
        problem.all_responses = second - first**2, largest
        return problem

    @property
    def whole(self):
        """Whether the donors are all rows."""
        return self.share == 1.0

    def __getstate__(self):
        return {**super().__getstate__(), "partitions": None}

    def in_one_place(self, what, way_out="leave it out"):
        self.partitions.refuse(what, way_out)

    def response(self, features, n_moves=1):
        """Its path says where the donors come from."""
        key = tuple(features)
        if key not in self._responses:
            made = copy(super().response(features, n_moves))
            made.path += self.partitions.note
            self._responses[key] = made
        return self._responses[key]

    def drawing(self, done="drawn rows"):
        return super().drawing(done + self.partitions.note)

    def spread(self):
        return super().spread() if self.whole else self.all_responses

    def _statistics(self, contrast):
        if self.whole:
            return super()._statistics(contrast)
        # what is wrong with any y is no fault of one partition
        compared_with(self.model, lambda: self.y, self.base)
        if contrast == "range":
            return [float(np.ptp(targets.values)) for targets in self._targets]
        return [gini_mean_difference(*targets.shares) for targets in self._targets]

    @cached_property
    def _targets(self):
        """`Targets` that each output is compared with."""
        return self.partitions.passed(_targets, self.model)

    def _relative_deviation(self, y):
        if self.whole:
            return super()._relative_deviation(y)
        (targets,) = self._targets
        values, shares = targets.shares
        around = shares @ np.abs(values - weighted_median(values, shares))
        off = self.partitions.passed(_loss, self.model, _distance)
        off /= self.partitions.weight
        return None if around == 0 else float(1.0 - off / around)

    def mean_loss(self, loss):
        if self.whole:
            return super().mean_loss(loss)
        lost = self.partitions.passed(_loss, self.model, partial(loss_of_rows, loss))
        return float(lost / self.partitions.weight)

    def run(self, features, requests, keep_rows=False, n_jobs=None, measures=()):
        """As tasks of Dask's scheduler: donors by features, others by partitions."""
        response, n_features = self.response(features), len(features)
        n_tasks = len(self.partitions.delayed) if self.whole else 1
        at_most = -(-n_features // n_tasks)
        parts = [features[some] for some in even_slices(n_features, at_most)]
        outcomes = unknown_outcomes(n_features, [r.scales for r in requests])
        arguments = self, response, requests, keep_rows
        with Progress(measures, n_features * len(requests)) as progress:
            found = passed_over(parts, _walk_of_donors, arguments, self.partitions.sent)
            for part in parts:
                places = [features.index(feature) for feature in part]
                for of_request, new in zip(outcomes, found[part[0]]):
                    for outcome, one in zip(of_request, new):
                        outcome.store(places, one)
            if not self.whole:
                self._complete(outcomes, response, features, requests)
            progress.step(n_features * len(requests))
        return outcomes

    def _complete(self, outcomes, response, features, requests):
        """Take the importances of all rows in place of those of the donors."""
        if not _asked(requests, 1):
            return
        weight = self.partitions.weight
        arguments = self, response, features, requests, self.partitions.chosen
        others = self.partitions.passed(_walk_of_others, *arguments)
        if others is None:
            return
        own, moves = self.total_weight / weight, self.moves(features, requests)
        walk, everywhere = self.walk(response, features, requests), iter(others)
        for r, (request, of_request) in enumerate(zip(requests, outcomes)):
            asked = zip(request.reductions, of_request, request.scales)
            for reduction, outcome, scale in asked:
                if reduction not in _means_of(request).reductions:
                    continue
                means, curves = next(everywhere)
                outcome.importances = own * outcome.importances + means / weight
                for e, curve in enumerate(curves):
                    outcome.curves[e] = own * outcome.curves[e] + curve / weight
                    if not isinstance(reduction, PartialDependence):
                        continue
                    position = r * len(features) + e
                    kind = reduction.for_kind(moves.kind(position).categorical)
                    sample = sample_of(walk, [moves[position]], scale)
                    spread = kind.spread(outcome.curves[e][np.newaxis], sample)[0]
                    outcome.importances[e] = spread / scale

    def joined(self, part):
        """The donors and further rows as a problem of their own."""
        table = stacked([self.table, part.table])
        table.names, n = self.table.names, len(self.weights) + len(part.weights)
        base = np.hstack([self.base, self.model.unmoved(part.table)])
        return Problem(
            table, self.model, None, np.full(n, 1 / n), n, base, np.ones(n, dtype=bool)
        )


def _means_of(request, n_rows=None):
    """A request for importances, or curves that they follow from, that are row means.

    Within subgroups, to which only donors belong, there are none. With `n_rows`, of so
    many rows, of which no error is asked.
    """
    reductions, scales = [], []
    for reduction, scale in zip(request.reductions, request.scales):
        of_curve = isinstance(reduction, PartialDependence)
        if callable(request.grid) or not (of_curve or isinstance(reduction, RowMean)):
            continue
        if of_curve and n_rows is not None:
            reduction = type(reduction).over(reduction.statistic, n_rows, 1)
        reductions.append(reduction)
        scales.append(scale)
    return replace(request, reductions=reductions, scales=scales)


def _asked(requests, n_rows):
    """The requests of such means of so many rows, without those that have none."""
    asked = [_means_of(request, n_rows) for request in requests]
    return [request for request in asked if request.reductions]


def _walk_of_donors(features, problem, response, requests, keep_rows):
    """The outcomes of some features, all of whose rows are donors."""
    keep_rows |= not problem.whole and problem.units.groups is not None
    outcomes = run_walk(problem.walk(response, features, requests, keep_rows))
    if problem.whole:
        return {features[0]: outcomes}
    deviations = iter(_deviations(problem, response, features, requests))
    for request, of_request in zip(requests, outcomes):
        means = _means_of(request).reductions
        for reduction, outcome in zip(request.reductions, of_request):
            if reduction in means:
                extend_errors(outcome, next(deviations), problem)
            outcome.influences = outcome.contributions = outcome.effects = None
            outcome.skewness = None
    return {features[0]: outcomes}


def _deviations(problem, response, features, requests):
    """How far importances move with the donors: (n_samples, n_features, n_outputs).

    One array for each reduction whose importances are means. A sample of the donors
    deviates from all of them as they deviate from all rows, if its size makes both
    variances alike: 1 / size - 1 / n_donors = 1 / n_donors - 1 / n_rows.
    """
    n, random = len(problem.weights), np.random.default_rng(0)
    rows = np.sort(random.choice(n, min(n, MOVED_ROWS), replace=False))
    if not (asked := _asked(requests, len(rows))):
        return []
    walk = problem.walk(response, features, asked)
    y = None if walk.y is None else walk.y[rows]

    def importances(donors):
        moves = MovesToDonors(problem, features, asked, donors)
        found = run_walk(_of_others(walk, moves, rows, problem.weights[rows], y))
        return [outcome.importances for of_one in found for outcome in of_one]

    size = round(n / (2.0 - problem.share))
    samples = [
        importances(np.sort(random.choice(n, size, replace=False)))
        for _ in range(N_SAMPLES)
    ]
    everywhere = importances(np.arange(n))
    return [np.stack(of_one) - of_all for *of_one, of_all in zip(*samples, everywhere)]


class MovesToDonors(Moves):
    """Moves of other rows to the values of some donors.

    Parameters
    ----------
    problem : PartitionedProblem
    features : list of Feature
    requests : list of Request
    donors : ndarray of int
        Rows of the problem's table.
    """

    def __init__(self, problem, features, requests, donors):
        self.donors = donors
        weights = problem.weights[donors]
        super().__init__(
            problem.table.take(donors),
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


def _of_others(walk, moves, rows, weights, y):
    """A walk over some rows of the table that are no donors."""
    weights, base = weights / weights.sum(), walk.base[:, rows]
    units = Units(len(rows), weights)
    return replace(
        walk, moves=moves, rows=rows, weights=weights, base=base, units=units, y=y
    )


def _walk_of_others(part, problem, response, features, requests, chosen):
    """Importances and curves of the rows that are no donors, times their weight."""
    others = np.delete(np.arange(len(part.weights)), chosen[part.number])
    if (part := part.some(others)) is None:
        return None
    joined, n_donors, n_rows = problem.joined(part), len(problem.weights), len(others)
    if not isinstance(response, BlackBoxResponse):
        response = joined.response(features)
    asked = _asked(requests, n_rows)
    moves = MovesToDonors(problem, features, asked, np.arange(n_donors))
    y = None
    if "y" in vars(problem):
        y = check_target(part.y, n_rows, structured=True)
    walk, rows = joined.walk(response, features, asked), n_donors + np.arange(n_rows)
    found = run_walk(_of_others(walk, moves, rows, part.weights, y))
    weight = part.weights.sum()
    return [
        (
            weight * outcome.importances,
            [weight * curve for curve in outcome.curves or []],
        )
        for of_request in found
        for outcome in of_request
    ]


def _responses(part, model, level, chosen):
    """Responses of donors, and the largest of all; sums of weights and of moments."""
    base = model.unmoved(part.table)
    shifted = base - level[:, np.newaxis]
    sums = np.stack([shifted**0, shifted, shifted**2]) @ part.weights
    donors = base[:, chosen[part.number]] if chosen else base
    return {part.number: (donors, np.abs(base).max(axis=1))}, sums


def _loss(part, model, loss):
    """Weighted sum of the losses of the unmoved rows."""
    y = check_target(part.y, len(part.weights), structured=True)
    return part.weights @ loss(y, model.unmoved(part.table))


def _distance(y, base):
    return np.abs(y.astype(np.float64) - base[0])


@dataclass
class Targets:
    """Distinct numbers and their weights; many are joined with their neighbours.

    With the mean of each group in its place, Gini's mean difference loses the square of
    a group's weight times the difference within it: 1e-9 of it or less.

    Attributes
    ----------
    values, weights : ndarray of shape (n,)
    """

    values: np.ndarray
    weights: np.ndarray

    def __add__(self, other):
        values = np.concatenate([self.values, other.values])
        weights = np.concatenate([self.weights, other.weights])
        return Targets(values, weights).joined()

    def joined(self):
        """The same, ascending, with at most about `MOST_TARGETS` values."""
        values, group = np.unique(self.values, return_inverse=True)
        weights = np.bincount(group, self.weights)
        if len(values) > MOST_TARGETS:
            middle = np.cumsum(weights) - weights / 2
            group = 1 + (middle * (MOST_TARGETS / weights.sum())).astype(np.intp)
            group[0], group[-1] = 0, group[-1] + 1  # the ends stay as they are
            first = np.flatnonzero(np.diff(group, prepend=-1))
            sums = np.add.reduceat(weights * (values - values[0]), first)
            weights = np.add.reduceat(weights, first)
            values = values[0] + sums / weights
        return Targets(values, weights)

    @property
    def shares(self):
        """Values and their probabilities."""
        return self.values, self.weights / self.weights.sum()


def _targets(part, model):
    n_rows = len(part.weights)
    target = partial(check_target, part.y, n_rows)
    base = model.unmoved(part.table)
    return [
        Targets(of_one, part.weights).joined()
        for of_one in compared_with(model, target, base)
    ]
