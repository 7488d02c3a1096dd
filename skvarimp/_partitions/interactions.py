"""Mean response curves of pairs and triples of features over partitions."""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations

import numpy as np

from skvarimp._data.statistics import divided
from skvarimp._measures.joint.statistics import (
    MeanCurves,
    conditional_std,
    friedman_h,
    together,
)
from skvarimp._measures.problem import ALL
from skvarimp._partitions.donors import MOST_CELLS, MOST_VALUES
from skvarimp._partitions.moments import Moments
from skvarimp._partitions.walk import Count, GlobalMove, moves_on
from skvarimp._response.responses.trees.response import TreeResponse

SETS_AT_ONCE = 32  # whose observed values are held together


@dataclass
class InPartitions:
    """Statistics of pairs and triples, which passes over partitions compute together.

    Attributes
    ----------
    problem : PartitionedProblem
    moved : list of Feature
        All whose curves are asked for.
    n_columns : int
        How many columns move at once, at most.
    joint : list of Feature
        The features of each set as one; without sets the features themselves.
    sets : list of list of Feature
    request : Request or None
        Of the grid of a conditional standard deviation; None for Friedman's H.
    """

    problem: object
    moved: list
    n_columns: int
    joint: list
    sets: list
    request: object

    def alone(self, feature):
        """Do nothing: all features go through the partitions together."""

    def strength(self, task):
        """The statistic of a set, as `ConditionalStd` and `JointH` give it."""
        return self._strengths[tuple(task[0])]

    @cached_property
    def _strengths(self):
        """Set -> its statistic, (n_outputs,)."""
        compute = self._joint_h if self.request is None else self._conditional_stds
        return dict(zip(map(tuple, self.sets), compute()))

    def _conditional_stds(self):
        problem = self.problem
        problem.foreseen = features = list(dict.fromkeys(chain(*self.sets)))
        moves = problem.global_moves(features, [self.request], by_cells=False)
        pairs = [[features.index(feature) for feature in pair] for pair in self.sets]
        weight = problem.count(features).weight
        arguments = self._model, moves, weight, self.n_columns, pairs
        curves = problem.partitions.passed(_joint_curves, arguments)
        for joint, (j, k) in zip(curves, pairs):
            yield conditional_std(joint, moves[j].move, moves[k].move)

    def _joint_h(self):
        """Friedman's H of each set, at the values that occur together."""
        spread, _ = self.problem.spread()
        for first in range(0, len(self.sets), SETS_AT_ONCE):
            some = slice(first, first + SETS_AT_ONCE)
            count, observed = self._counted(self.joint[some])
            parts = [_subset_moves(*own) for own in zip(self.sets[some], observed)]
            curves = iter(self._curves(list(chain(*parts)), count.weight))
            for members, moves, of_joint in zip(self.sets[some], parts, observed):
                smaller = [
                    (size, next(curves)[:, move.move.codes])
                    for size, move in zip(map(len, _subsets(members)), moves)
                ]
                _, joint = smaller.pop()
                p = of_joint.masses / of_joint.masses.sum()
                yield friedman_h(joint, len(members), smaller, p, spread)

    def _counted(self, features):
        """The `Count` of features, and the values of each that occur.

        By cells where the model is trees.
        """
        by_cells = isinstance(self.problem.response(self.moved), TreeResponse)
        arguments = self._model, features, (by_cells,)
        count = self.problem.partitions.passed(Count.of, arguments)
        observed = [count.observed[feature, by_cells] for feature in features]
        for of_feature in observed:
            if not of_feature.distinct:
                raise ValueError(
                    "Friedman's H of rows in partitions needs the values of "
                    f"{of_feature.feature.name!r} that occur together: at most "
                    f"{MOST_CELLS} cells between the cuts of trees, at most "
                    f"{MOST_VALUES} values for other models and columns with levels. "
                    "There are more. Use statistic='conditional_std', or pass a "
                    "sample, X.sample(frac=0.01).compute()."
                )
        return count, observed

    def _curves(self, moves, weight):
        """Mean curves of moves, whose rows' own cells are not needed."""
        moves = [replace(m, move=replace(m.move, codes=None)) for m in moves]
        arguments = self._model, moves, weight, self.n_columns
        return self.problem.partitions.passed(_curves, arguments)

    @property
    def _model(self):
        return self.problem.part_model(self.moved)

    def left(self, singles):
        """The share of the variance that is left, as `JointH` gives it."""
        moves = self.problem.global_moves(self.joint, [ALL])
        curves = self._curves(moves, self.problem.count(self.joint).weight)
        arguments = self._model, moves, curves
        moments = self.problem.partitions.passed(_left, arguments)
        rest, response = np.array([np.sum(m.root**2, axis=1) for m in moments]).T
        return divided(rest, response)


def _subsets(members):
    """All parts of a set of features, the smaller ones first."""
    sizes = range(1, len(members) + 1)
    return [part for size in sizes for part in combinations(members, size)]


def _subset_moves(members, observed):
    """The `GlobalMove` of each part of a set through the values that occur.

    Their codes are those of the values observed.
    """
    place = dict(zip(together(members).columns, observed.feature.columns))
    moves = []
    for feature in map(together, _subsets(members)):
        own = replace(
            feature, columns=tuple(place[column] for column in feature.columns)
        )
        of_part = replace(observed, feature=own)
        moves.append(GlobalMove.of(of_part, feature, ALL))
    return moves


def _mean_curves(part, model, moves, weight, n_columns):
    """`MeanCurves` over the rows of one partition, and the moves there."""
    response, table, moves, n_donors = moves_on(part, model, moves)
    weights = np.concatenate([np.zeros(n_donors), part.weights / weight])
    base = model.model.unmoved(table)
    return MeanCurves(response, table, weights, base, n_columns), moves


def _joint_curves(part, model, moves, weight, n_columns, pairs):
    """The curves of each pair, summed over the rows of one partition."""
    curves, moves = _mean_curves(part, model, moves, weight, n_columns)
    return [curves.on_grid(moves[j], moves[k]) for j, k in pairs]


def _curves(part, model, moves, weight, n_columns):
    """The curve of each move, summed over the rows of one partition."""
    curves, moves = _mean_curves(part, model, moves, weight, n_columns)
    return [curves.of(move) for move in moves]


def _left(part, model, moves, curves):
    """`Moments` of what all curves leave of the response, and of that, by output."""
    _, _, moves, n_donors = moves_on(part, model, moves)
    base = model.model.unmoved(part.table)
    rest = base.copy()
    for move, curve in zip(moves, curves):
        rest -= curve[:, move.codes[n_donors:]]
    return [
        Moments.of(np.stack(both), part.weights, None, 1) for both in zip(rest, base)
    ]
