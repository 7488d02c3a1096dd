"""Mean response curves of pairs of entries over partitions."""

from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from skvarimp._measures.interaction.statistics import MeanCurves
from skvarimp._response.partitioned.walk import moves_on
from skvarimp._response.unmoved import unmoved_response


@dataclass
class PartitionedCurves:
    """`MeanCurves` of some pairs, which one pass computes together.

    Attributes
    ----------
    problem : PartitionedProblem
    response : Response
        Of the few rows that stand for all.
    n_columns : int
        How many columns move at once, at most.
    pairs : list of (Entry, Entry)
    move : callable
        move(entry) -> Move over all partitions.
    """

    problem: object
    response: object
    n_columns: int
    pairs: list
    move: object

    predicted = MeanCurves.predicted

    @property
    def table(self):
        """The few rows that stand for all."""
        return self.problem.table

    def on_grid(self, first, second):
        """See `MeanCurves.on_grid`."""
        return self._of_pairs[first.entry, second.entry]

    @cached_property
    def _of_pairs(self):
        problem, entries = self.problem, list(dict.fromkeys(chain(*self.pairs)))
        count = problem.count(entries)
        sums = problem.partitions.passed(
            _joint_curves,
            (
                problem.part_model(entries),
                [problem.global_move(entry, self.move) for entry in entries],
                [[entries.index(entry) for entry in pair] for pair in self.pairs],
                count.weight,
                self.n_columns,
            ),
            _added,
        )
        return dict(zip(map(tuple, self.pairs), sums))


def _joint_curves(part, model, moves, pairs, weight, n_columns):
    """The curves of each pair, summed over the rows of one partition."""
    response, table, moves, n_donors = moves_on(part, model, moves)
    weights = np.concatenate([np.zeros(n_donors), part.weights / weight])
    base = unmoved_response(model.model, table)
    curves = MeanCurves(response, model.model, table, weights, base, n_columns)
    return [curves.on_grid(moves[j], moves[k]) for j, k in pairs]


def _added(first, second):
    return [a + b for a, b in zip(first, second)]
