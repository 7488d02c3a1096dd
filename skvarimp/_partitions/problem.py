"""`PartitionedProblem`: a model on rows that no one place holds.

Targets that are too many to be counted one by one are sorted into bins of neighbours,
each of which is put in order on some worker. With F the distribution function, Gini's
mean difference is 2 times the integral of F (1 - F): the sum over bins of that within
the bin and over the gap to the next one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from skvarimp._data.statistics import deciles, gini_mean_difference
from skvarimp._data.table import stacked
from skvarimp._measures.problem import ALL, Problem, compared_with, weighted_median
from skvarimp._models.model import Model
from skvarimp._models.registry import read
from skvarimp._partitions.donors import (
    MOST_VALUES,
    ObservedValues,
    bin_edges,
    bin_integrals,
    compared_rows,
    counted_targets,
    deviations,
    draw_in,
    pool_points,
    pool_rows,
    response_moments,
    rows_around,
    sum_of_losses,
)
from skvarimp._partitions.interactions import InPartitions
from skvarimp._partitions.moments import weighted_points
from skvarimp._partitions.walk import (
    Count,
    GlobalMove,
    PartitionedWalk,
    PartModel,
    Sums,
    after_means,
    moves_on,
    spans_of,
)
from skvarimp._response.contract import BlackBoxResponse
from skvarimp._response.further_reductions import Loss, LossDraw
from skvarimp._response.grid import kind_of
from skvarimp._response.reductions import Outcome, Range
from skvarimp._response.responses.trees.response import TreeResponse
from skvarimp._response.rounds import Effort, feature_seeds
from skvarimp._response.sampling import DonorDraws
from skvarimp._running.tasks import Progress


@dataclass
class PartitionedProblem(Problem):
    """A problem whose table is a few rows, which stand for all in `Partitions`.

    What depends on all rows asks each partition and merges the answers.

    Attributes
    ----------
    foreseen : list of Feature
        Counted together as soon as one of them, or the number of rows, is asked for.
    """

    foreseen: list = field(default_factory=list)
    _counts: dict = field(default_factory=dict, repr=False)

    @property
    def n_rows(self):
        return sum(self.count(()).n_rows.values())

    @property
    def units(self):
        """Their weights and groups stay in the partitions."""
        return self.partitions.units(self.n_rows)

    def part_model(self, features):
        """What makes the response of each partition; of no features the black box."""
        fast = features and not isinstance(self.response(features), BlackBoxResponse)
        return PartModel(self.model, self._form if fast else None, len(self.base))

    @cached_property
    def _form(self):
        form = read(self.model, self.table)
        self.partitions.sent.add(form)
        return form

    def count(self, features):
        """The `Count` of all partitions, of the values of some features at least."""
        for known, count in self._counts.items():
            if set(features) <= known:
                return count
        if set(features) < set(self.foreseen):
            return self.count(self.foreseen)
        trees = features and isinstance(self.response(features), TreeResponse)
        kinds = (False, True) if trees else (False,)
        arguments = self.part_model(features), list(features), kinds
        count = self.partitions.passed(Count.of, arguments)
        self._counts[frozenset(features)] = count
        return count

    def global_moves(self, features, requests, by_cells=True):
        """The `GlobalMove` of each feature under each request, by position."""
        moves = [
            GlobalMove.of(*both, request)
            for request in requests
            for both in zip(self._observed(features, request, by_cells), features)
        ]
        names = [repr(m.move.feature.name) for m in moves if m.lacks_values]
        if names:
            raise ValueError(
                f"grid='all' of rows in partitions takes at most {MOST_VALUES} "
                "distinct values, except in means over the values of trees. There are "
                f"more in {', '.join(names[:5])}, for example. Use a number of bins "
                "such as grid=100 or grid='equidistant', or pass a sample, "
                "X.sample(frac=0.01).compute(), to a measure without `grid`."
            )
        return moves

    def uncountable(self, features):
        count = self.count(features)
        return [e for e in features if not count.observed[e, False].distinct]

    def _observed(self, features, request, by_cells=True):
        """The `ObservedValues` of each feature: by cells, where trees need no more."""
        cells = by_cells and isinstance(self.response(features), TreeResponse)
        cells &= not any(r.counts_values for r in request.reductions)
        count = self.count(features)
        return [
            count.observed[feature, cells and _takes_all(feature, request)]
            for feature in features
        ]

    def moves(self, features, requests):
        """Donors are rows of the values observed."""
        return [m.move for m in self.global_moves(features, requests)]

    def move(self, feature, request):
        """The donors mean nothing on the few rows of `table`."""
        return self._bare(feature, request).move

    def _bare(self, feature, request):
        """The `GlobalMove` of a feature, however many its values."""
        observed = self.count([feature]).observed[feature, False]
        return GlobalMove.of(observed, feature, request)

    def curves(self, features, feature, request, rows):
        bare = self._bare(feature, request)
        move, bare.move = bare.move, replace(bare.move, codes=None)
        head, model = self.partitions.head, self.part_model(features)
        response, table, (there,), n_donors = moves_on(head, model, [bare])
        rows_there, base = n_donors + rows, self.base[:, rows]
        return move, response.curves(table, rows_there, there, base)

    def distinct_values(self, feature):
        """Where there are too many values, these are some of them."""
        move = self.move(feature, ALL)
        return move.values, move.probabilities

    def deciles(self, feature):
        return deciles(*self.distinct_values(feature))

    def exact_is_cheap(self, features, request, drawn):
        """Ranges cannot be estimated from donors."""
        if isinstance(request.reductions[0], Range):
            return True
        observed = zip(features, self._observed(features, request))
        if not all(o.distinct or not _takes_all(e, request) for e, o in observed):
            return False
        return super().exact_is_cheap(features, request, drawn)

    def drawn(self, features, request, reduction, scale, measure):
        """Rows draw their donors as `draw_in` says."""
        draw = reduction
        if isinstance(reduction, Loss):
            ratio = float(scale[0]) if reduction.relative else None
            draw = LossDraw(reduction.loss, ratio)
        n_repeats = Effort.of(measure).n_draws // draw.n_moves
        measure.response_path_ = self.drawing().path
        seeds = feature_seeds(measure.random_state, len(features))
        observed = self._observed(features, request, by_cells=False)
        pooled = [
            _takes_all(feature, request) and not o.distinct
            for feature, o in zip(features, observed)
        ]
        if any(pooled):
            pool = self._pool(int(seeds[0]))
            ones = np.ones(pool.n_samples)
            for e in np.flatnonzero(pooled):
                observed[e] = ObservedValues.of(pool, features[e], ones)
        moves = [GlobalMove.of(*both, request) for both in zip(observed, features)]
        no_reductions = [replace(request, reductions=[])]
        walk = self._walk(self.part_model(()), features, moves, no_reductions)
        draws = DonorDraws(walk, draw, scale, n_repeats, seeds)
        with Progress([measure], len(features)) as progress:
            drawn, largest = self.partitions.passed(draw_in, (pooled, draws))
            progress.step(len(features))
        n_rows, outcome = walk.n_rows, Outcome.drawn(len(features), len(scale))
        for e, of_feature in enumerate(drawn):
            *points, units = weighted_points(*of_feature.rows, self.units)
            n_donors = pool.n_samples if pooled[e] else np.inf
            level = of_feature.importances.mean()
            finished, _ = of_feature.estimate(
                points, units, level, moves[e].move, draw, n_donors
            )
            finished.importances = finished.importances + reduction.offset
            finished.n_draws = n_repeats * n_rows
            finished.directions = of_feature.direction(moves[e].move, largest.values)
            outcome.store([e], finished)
        return outcome

    def _pool(self, seed):
        """Rows drawn from all partitions by their weights, as a `Table`."""
        count = self.count(())
        where = pool_points(seed, count.weight), spans_of(count.weights)
        tables = self.partitions.passed(pool_rows, where)
        pool = stacked([tables[number] for number in sorted(tables)])
        pool.names = self.table.names
        return pool

    def run(self, features, requests, keep_rows=False, n_jobs=None, measures=()):
        """The scheduler of Dask says where."""
        moves = self.global_moves(features, requests)
        walk = self._walk(self.part_model(features), features, moves, requests)
        walk = after_means(walk, self.partitions)
        with Progress(measures, len(moves)) as progress:
            sums = self.partitions.passed(Sums.of, (walk,))
            outcomes = walk.finished(sums, [request.scales for request in requests])
            progress.step(len(moves))
        return outcomes

    def _walk(self, model, features, moves, requests):
        """What walks over each partition."""
        count, level = self.count(features), np.zeros(len(self.base))
        if any(r.uses_squares for request in requests for r in request.reductions):
            level = np.array([m.means[0, 0] for m in self._response_moments[0]])
        categorical = [
            kind_of(self.table, feature, request.categorical).categorical
            for request in requests
            for feature in features
        ]
        return PartitionedWalk(
            model,
            features,
            moves,
            categorical,
            [request.reductions for request in requests],
            spans_of(count.n_rows),
            count.weight,
            "y" in vars(self),
            level,
            self.units,
        )

    @cached_property
    def _response_moments(self):
        """`Moments` of each output, and its largest size."""
        moments, size = self.partitions.passed(response_moments, (self.model,))
        return moments, size.values

    def interactions(self, moved, n_columns, joint, sets, request):
        """The statistics of pairs and triples, see `InPartitions`."""
        return InPartitions(self, moved, n_columns, joint, sets, request)

    def spread(self):
        moments, size = self._response_moments
        variances = [of_one.root[0, 0] ** 2 for of_one in moments]
        return np.array(variances) / moments[0].weights.sum(), size

    @cached_property
    def _targets(self):
        """`ObservedValues` of what each output is compared with."""
        return self.partitions.passed(counted_targets, (self.model, len(self.base)))

    def _statistics(self, contrast):
        # what is wrong with any y is no fault of one partition
        compared_with(self.model, self.partitions.head.target, self.base)
        if contrast == "range":
            return [float(np.ptp(o.rows.column(0))) for o in self._targets]
        return [self._gini(row, o) for row, o in enumerate(self._targets)]

    def _gini(self, row, observed):
        """Gini's mean difference of one output's targets, whatever their number."""
        known, total = observed.rows.column(0), observed.masses.sum()
        if observed.distinct:
            return gini_mean_difference(known, observed.masses / total)
        values = partial(
            compared_rows, model=self.model, n_outputs=len(self.base), row=row
        )
        reduce = partial(bin_integrals, total=total)
        bins = self.partitions.in_bins(values, bin_edges(observed, self.n_rows), reduce)
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
        total, weight = self.partitions.passed(sum_of_losses, (self.model, loss))
        return float(total / weight)

    def _relative_deviation(self, y):
        arguments = self.model, self._median()
        around, off = self.partitions.passed(deviations, arguments)
        return None if around == 0 else float(1.0 - off / around)

    def _median(self):
        """The weighted median of y."""
        (observed,) = self._targets
        values, masses = observed.rows.column(0), observed.masses
        if not observed.distinct:
            # the ends of a range that surely holds it, a few steps of the sketch away
            below = np.cumsum(masses)
            low, high = np.searchsorted(below, below[-1] * np.array([0.49, 0.51]))
            ends = values[max(low - 1, 0)], values[min(high + 1, len(values) - 1)]
            outside, inside = self.partitions.passed(rows_around, ends)
            pieces = [(np.array(ends), outside), *inside.values()]
            values, masses = map(np.concatenate, zip(*pieces))
        return weighted_median(values, masses)


def _takes_all(feature, request):
    """Whether a feature moves through all of its observed values."""
    grid = request.grid
    if isinstance(grid, Mapping):
        return feature.name not in grid
    return isinstance(grid, str) and grid == "all"


def partitioned_problem(estimator, partitions, features, response_method):
    """A problem of a model on rows in partitions, some of whose features are known."""
    head = partitions.head
    partitions.sent.add(estimator)
    model = Model(estimator, response_method, y=head.y)
    with partitions.naming(head.number):
        base = model.unmoved(head.table)
    n_rows = head.table.n_samples
    return PartitionedProblem(
        head.table,
        model,
        head.y,
        np.full(n_rows, 1 / n_rows),
        np.nan,
        base,
        np.ones(n_rows, dtype=bool),
        partitions=partitions,
        foreseen=features,
    )
