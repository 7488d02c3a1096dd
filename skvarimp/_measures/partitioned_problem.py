"""`PartitionedProblem`: a model on rows that no one place holds."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from skvarimp._data.partitions import naming
from skvarimp._data.table import stacked
from skvarimp._measures.partitioned_targets import UnmovedProblem
from skvarimp._measures.problem import ALL
from skvarimp._models.model import Model
from skvarimp._models.registry import read
from skvarimp._response.grid import is_categorical
from skvarimp._response.partitioned_donors import (
    MOST_VALUES,
    Observed,
    draw_in,
    pool_points,
    pool_rows,
)
from skvarimp._response.partitioned_walk import (
    Count,
    GlobalMove,
    PartitionedWalk,
    PartModel,
    Sums,
    after_means,
    moves_on,
    spans_of,
)
from skvarimp._response.reductions import Range
from skvarimp._response.responses.black_box import BlackBoxResponse
from skvarimp._response.responses.trees.response import TreeResponse
from skvarimp._response.sampling import entry_seeds
from skvarimp._response.unmoved import unmoved_response
from skvarimp._running.tasks import Progress


@dataclass
class PartitionedProblem(UnmovedProblem):
    """A problem whose table is a few rows, which stand for all in `Partitions`.

    What depends on all rows asks each partition and merges the answers.

    Attributes
    ----------
    foreseen : list of Entry
        Counted together as soon as one of them, or the number of rows, is asked for.
    """

    foreseen: list = field(default_factory=list)
    _counts: dict = field(default_factory=dict, repr=False)

    @property
    def n_rows(self):
        """See `Problem.n_rows`."""
        return sum(self.count(()).n_rows.values())

    def part_model(self, entries):
        """What makes the response of each partition."""
        if isinstance(self.response(entries), BlackBoxResponse):
            return self._no_form()
        return PartModel(self.model, self._form, len(self.base))

    @cached_property
    def _form(self):
        form = read(self.model, self.table)
        self.partitions.sent.add(form)
        return form

    def count(self, entries):
        """The `Count` of all partitions, of the values of some entries at least."""
        for known, count in self._counts.items():
            if set(entries) <= known:
                return count
        if set(entries) < set(self.foreseen):
            return self.count(self.foreseen)
        model, kinds = self._no_form(), (False,)
        if entries:
            model = self.part_model(entries)
            if isinstance(self.response(entries), TreeResponse):
                kinds = False, True
        arguments = model, list(entries), kinds
        count = self.partitions.passed(Count.of, arguments)
        self._counts[frozenset(entries)] = count
        return count

    def _no_form(self):
        return PartModel(self.model, None, len(self.base))

    def global_moves(self, entries, requests, by_cells=True):
        """The `GlobalMove` of each entry under each request, by position."""
        moves = [
            GlobalMove.of(observed, entry, request)
            for request in requests
            for entry, observed in zip(
                entries, self._observed(entries, request, by_cells)
            )
        ]
        too_many = [m.move.entry.name for m in moves if m.lacks_values]
        if too_many:
            trees = isinstance(self.response(entries), TreeResponse)
            raise ValueError(_too_many(too_many, trees))
        return moves

    def _observed(self, entries, request, by_cells=True):
        """The `Observed` of each entry: by cells, where trees need no more."""
        cells = by_cells and isinstance(self.response(entries), TreeResponse)
        cells &= not any(r.counts_values for r in request.reductions)
        count = self.count(entries)
        return [
            count.observed[entry, cells and _takes_all(entry, request)]
            for entry in entries
        ]

    def moves(self, entries, requests):
        """See `Problem.moves`; donors are rows of the values observed."""
        return [m.move for m in self.global_moves(entries, requests)]

    def move(self, entry, request):
        """See `Problem.move`; on the few rows of `table` its donors mean nothing."""
        return self._bare(entry, request).move

    def _bare(self, entry, request):
        """The `GlobalMove` of an entry, however many its values."""
        observed = self.count([entry]).observed[entry, False]
        return GlobalMove.of(observed, entry, request)

    def curves(self, entries, entry, request, rows):
        """See `Problem.curves`."""
        bare = self._bare(entry, request)
        move, bare.move = bare.move, replace(bare.move, codes=None)
        head, model = self.partitions.head, self.part_model(entries)
        response, table, (there,), n_donors = moves_on(head, model, [bare])
        rows_there, base = n_donors + rows, self.base[:, rows]
        return move, response.curves(table, rows_there, there, base)

    def distinct_values(self, entry):
        """See `Problem.distinct_values`; of too many, some of them."""
        move = self.move(entry, ALL)
        return move.values, move.probabilities

    def exact_is_cheap(self, entries, request, drawn):
        """See `Problem.exact_is_cheap`; ranges cannot be estimated from donors."""
        if isinstance(request.reductions[0], Range):
            return True
        observed = zip(entries, self._observed(entries, request))
        if not all(o.distinct or not _takes_all(e, request) for e, o in observed):
            return False
        return super().exact_is_cheap(entries, request, drawn)

    def drawn(self, entries, request, draw, scale, measure):
        """See `Problem.drawn`; for donors see `draws`."""
        if measure.keep_rows:
            self.in_one_place("keep_rows=True")
        seeds = entry_seeds(measure.random_state, len(entries))
        observed = self._observed(entries, request, by_cells=False)
        pooled = [
            _takes_all(entry, request) and not o.distinct
            for entry, o in zip(entries, observed)
        ]
        if any(pooled):
            pool = self._pool(int(seeds[0]))
            ones = np.ones(pool.n_samples)
            observed = [
                Observed.of(pool, entry, ones) if from_pool else o
                for entry, o, from_pool in zip(entries, observed, pooled)
            ]
        moves = [GlobalMove.of(*both, request) for both in zip(observed, entries)]
        walk = self._walk(
            self._no_form(), entries, moves, [replace(request, reductions=[])]
        )
        with Progress([measure], len(entries)) as progress:
            arguments = walk, pooled, draw, scale, measure.n_repeats, seeds
            drawn = self.partitions.passed(draw_in, arguments)
            progress.step(len(entries))
        sample = walk.n_rows, walk.weight
        for e, of_entry in enumerate(drawn):
            how = moves[e].move, draw, measure.n_repeats, sample
            points, level = of_entry.rows.points(), of_entry.importances.mean()
            n_donors = pool.n_samples if pooled[e] else np.inf
            yield e, of_entry.estimate(points, level, *how, n_donors)[0]

    def _pool(self, seed):
        """Rows drawn from all partitions by their weights, as a `Table`."""
        count = self.count(())
        where = pool_points(seed, count.weight), spans_of(count.weights)
        tables = self.partitions.passed(pool_rows, where)
        pool = stacked([tables[number] for number in sorted(tables)])
        pool.names = self.table.names
        return pool

    def run(self, entries, requests, keep_rows=False, n_jobs=None, on_done=None):
        """See `Problem.run`; the scheduler of Dask says where."""
        if keep_rows:
            self.in_one_place("keep_rows=True")
        moves = self.global_moves(entries, requests)
        walk = self._walk(self.part_model(entries), entries, moves, requests)
        walk = after_means(walk, self.partitions)
        sums = self.partitions.passed(Sums.of, (walk,))
        outcomes = walk.finished(sums, [request.scales for request in requests])
        if on_done is not None:
            on_done(len(moves))
        return outcomes

    def _walk(self, model, entries, moves, requests):
        """What walks over each partition."""
        count = self.count(entries)
        categorical = [
            is_categorical(self.table, entry, request.categorical)
            for request in requests
            for entry in entries
        ]
        return PartitionedWalk(
            model,
            entries,
            moves,
            categorical,
            [request.reductions for request in requests],
            spans_of(count.n_rows),
            count.weight,
            "y" in vars(self),
            self._level(requests),
        )

    def _level(self, requests):
        """Mean of the response, where a reduction needs deviations from it."""
        if not any(r.uses_squares for q in requests for r in q.reductions):
            return np.zeros(len(self.base))
        moments, _ = self._response_moments
        return np.array([of_one.means[0, 0] for of_one in moments])

    def walk(self, response, entries, requests, keep_rows=False):
        """See `Problem.walk`: there is no one walk."""
        raise ValueError(
            "Rows in partitions have no draws of single rows, which estimation='rows' "
            "and `tol` take. Use estimation='sampled' or 'exact', or pass a sample, "
            "X.sample(frac=0.01).compute()."
        )

    def in_one_place(self, what, way_out="leave it out"):
        """See `Problem.in_one_place`."""
        raise ValueError(
            f"{what} needs all rows in one place, got X in partitions. Pass "
            f"X.compute(), or {way_out}."
        )


def _takes_all(entry, request):
    """Whether an entry moves through all of its observed values."""
    grid = request.grid
    if isinstance(grid, Mapping):
        return entry.name not in grid
    return isinstance(grid, str) and grid == "all"


def _too_many(names, trees):
    """Why grid="all" cannot be served, and the way out."""
    shown = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
    why = "each distinct value counts once" if trees else "the model is no tree"
    return (
        f"grid='all' of rows in partitions takes at most {MOST_VALUES} distinct values "
        f"where {why}; more are in {shown}. Use a number of bins such as grid=100 or "
        "grid='equidistant', or pass a sample, X.sample(frac=0.01).compute(), to a "
        "measure without `grid`."
    )


def partitioned_problem(estimator, partitions, response_method, entries):
    """A problem of a model on rows in partitions, some of whose entries are known."""
    head = partitions.head
    partitions.sent.add(estimator)
    model = Model(estimator, response_method)
    with naming(head.number):
        base = unmoved_response(model, head.table)
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
        foreseen=entries,
    )
