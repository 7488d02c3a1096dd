"""A walk over partitions: each by the same code as rows in memory, then merged."""

from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, pairwise

import numpy as np

from skvarimp._data.statistics import Units
from skvarimp._data.table import stacked
from skvarimp._partitions.donors import ObservedValues
from skvarimp._partitions.moments import Largest, Merged
from skvarimp._response.contract import BlackBoxResponse
from skvarimp._response.grid import Kind
from skvarimp._response.lowering import response_of
from skvarimp._response.mean_curves import directions
from skvarimp._response.reductions import Sample
from skvarimp._response.responses.trees.means import (
    averaged_alone,
    mean_curves,
    with_slopes,
)
from skvarimp._response.responses.trees.response import TreeResponse
from skvarimp._response.responses.trees.walks import member_of, serves
from skvarimp._response.walk import Walk, merged_states, unknown_outcomes


@dataclass
class PartModel:
    """A model that makes its response anew for the rows of each partition.

    Attributes
    ----------
    model : Model
    form : Form or None
        None: the black box serves.
    n_outputs : int
    """

    model: object
    form: object
    n_outputs: int

    def response(self, table):
        """The response on a table."""
        if self.form is None:
            return BlackBoxResponse(self.model, self.n_outputs)
        return response_of(self.model, self.form, table)


@dataclass
class Count:
    """What a first pass finds out about the rows of some partitions.

    Attributes
    ----------
    n_rows, weights : dict
        Number of a partition -> its rows of positive weight, and their weight.
    observed : dict
        (feature, whether by cells of the trees) -> ObservedValues.
    """

    n_rows: dict
    weights: dict
    observed: dict

    @classmethod
    def of(cls, part, model, features, kinds):
        """That of one partition.

        Parameters
        ----------
        part : Partition
        model : PartModel
        features : list of Feature
            Whose values are counted.
        kinds : tuple of bool
            Whether by cells of the trees; both, if there are two.
        """
        table, weights = part.table, part.weights
        _ask_where_missing(model.model, table)
        response = model.response(table) if True in kinds else None
        observed = {}
        for feature in features:
            has_levels = any(table.has_levels(j) for j in feature.columns)
            for by_cells in kinds:
                # levels are told apart by themselves, also in the cells of trees
                by_keys = by_cells and not has_levels
                keys = response.codes.keys(table, feature) if by_keys else None
                of_feature = ObservedValues.of(table, feature, weights, keys)
                observed[feature, by_cells] = of_feature
        number = part.number
        return cls({number: table.n_samples}, {number: weights.sum()}, observed)

    @property
    def weight(self):
        """Weight of all rows."""
        return sum(self.weights[number] for number in sorted(self.weights))


def spans_of(sizes):
    """Number of a partition -> where its own part of a sum begins and ends.

    Of numbers of rows these are its first row among all and the first of the next.
    """
    numbers = sorted(sizes)
    ends = accumulate((sizes[number] for number in numbers), initial=0)
    return dict(zip(numbers, pairwise(ends)))


def _ask_where_missing(model, table):
    """Let a model that refuses missing values say so where they are."""
    columns = [table.column(j) for j in range(table.n_columns)]
    missing = [np.isnan(column) for column in columns if column.dtype.kind == "f"]
    rows = sorted({int(some.argmax()) for some in missing if some.any()})
    if rows:
        model(table.take(np.array(rows)).native)


@dataclass
class GlobalMove:
    """A move over the values of all partitions.

    Attributes
    ----------
    move : Move
        Its donors are rows of `observed`.
    observed : ObservedValues
    """

    move: object
    observed: ObservedValues

    @classmethod
    def of(cls, observed, feature, request):
        """The move of a feature of X through the grid of a request."""
        return cls(observed.move(feature, request.grid, request.categorical), observed)

    @property
    def takes_rows(self):
        """Whether its values are put into X as rows that hold them."""
        return self.move.donors is not None and not self.observed.is_numeric

    @property
    def lacks_values(self):
        """Whether it is to move through all values, which were too many to be kept."""
        return self.move.codes is not None and not self.observed.distinct

    def on(self, response, table, first_donor):
        """The move on a table whose rows from `first_donor` on hold its donors."""
        move, codes = self.move, None
        if move.codes is not None:
            by_cells = self.observed.keys is not None
            keys = response.codes.keys(table, move.feature) if by_cells else None
            codes = self.observed.cells_of(table, move.feature, move, keys)
        donors = first_donor + move.donors if self.takes_rows else None
        return replace(move, donors=donors, codes=codes)


def moves_on(part, model, global_moves):
    """The response and the moves of one partition.

    Returns
    -------
    response : Response
    table : Table
        Rows that hold the moves' values, where these are no plain numbers; then the
        rows of the partition.
    moves : list of Move
        On that table.
    n_donors : int
        How many rows come before those of the partition.
    """
    donors = [m.observed.rows for m in global_moves if m.takes_rows]
    ends = np.cumsum([0, *(rows.n_samples for rows in donors)]).tolist()
    table = stacked([*donors, part.table]) if donors else part.table
    table.names = part.table.names
    response, first = model.response(table), iter(ends)
    moves = [
        m.on(response, table, next(first) if m.takes_rows else 0) for m in global_moves
    ]
    return response, table, moves, ends[-1]


class PartMoves:
    """`Moves` of a walk over one partition: those of all, found already."""

    def __init__(self, moves, features, weights, categorical):
        self._moves, self.features, self.weights = moves, features, weights
        self._categorical = categorical
        self.grids = [None] * (len(moves) // len(features))

    def __len__(self):
        return len(self._moves)

    def __getitem__(self, position):
        return self._moves[position]

    def kind(self, position):
        """See `Moves.kind`."""
        return Kind(self._categorical[position], self._moves[position].ordered)


@dataclass
class PartitionedWalk:
    """What the walk over each partition needs, and the numbers of all rows.

    Attributes
    ----------
    model : PartModel
    features : list of Feature
    moves : list of GlobalMove
        By position, request after request.
    categorical : list of bool
        By position, whether the feature is categorical.
    reductions : list of list of Reduction
        Of each request.
    spans : dict
        Number of a partition -> (first, stop) of its rows among all.
    weight : float
        Of all rows.
    needs_y : bool
        Whether a reduction looks at y.
    level : ndarray of shape (n_outputs,)
        Mean of the response, where a reduction needs deviations from it.
    units : Units
        Of all rows.
    means : dict
        See `Walk`.
    """

    model: PartModel
    features: list
    moves: list
    categorical: list
    reductions: list
    spans: dict
    weight: float
    needs_y: bool
    level: np.ndarray
    units: Units
    means: dict = field(default_factory=dict)

    def of(self, part):
        """The walk over one partition."""
        response, table, moves, n_donors = moves_on(part, self.model, self.moves)
        rows = n_donors + np.arange(part.table.n_samples)
        weights, span = part.weights / self.weight, slice(*self.spans[part.number])
        units = part.units_of(self.units)
        reductions = [
            [r.for_part(span, units) for r in every] for every in self.reductions
        ]
        return Walk(
            response,
            table,
            PartMoves(moves, self.features, weights, self.categorical),
            reductions,
            rows,
            weights,
            self.model.model.unmoved(part.table),
            Units(self.n_rows, weights),
            part.target() if self.needs_y else None,
            means=self.means,
        )

    @property
    def n_rows(self):
        """Number of all rows."""
        return max(stop for _, stop in self.spans.values())

    def finished(self, sums, scales):
        """The outcomes of all requests.

        Parameters
        ----------
        sums : Sums
        scales : list of list of ndarray of shape (n_outputs,)

        Returns
        -------
        list of list of Outcome
        """
        n_features = len(self.features)
        outcomes = unknown_outcomes(n_features, scales)
        for position, of_position in enumerate(sums.states):
            request, e = divmod(position, n_features)
            move = self.moves[position].move
            for r, merged in enumerate(of_position):
                reduction = self.reductions[request][r]
                reduction = reduction.for_kind(self.categorical[position])
                points = merged.points(reduction, len(sums.level), self.units)
                reduction, state, weights, codes, squares, units = points
                sample = Sample(
                    weights,
                    units,
                    sums.largest.values[:, np.newaxis],
                    None if move.codes is None else codes,
                    move.probabilities[np.newaxis],
                    np.ones((1, move.n_cells)),
                    scales[request][r],
                    sums.level,
                    squares=squares,
                    directions=partial(
                        directions, [move.order], sums.largest.values, None
                    ),
                )
                finished = reduction.finish(state, sample)
                outcomes[request][r].store([e], finished)
        return outcomes


@dataclass
class Sums:
    """What the walks over some partitions give.

    Attributes
    ----------
    states : list of list of Merged
        By position, of each reduction.
    level : ndarray of shape (n_outputs,)
        Weighted sum of the unmoved responses.
    largest : Largest
        The largest of their sizes, of each output.
    """

    states: list
    level: np.ndarray
    largest: Largest

    @classmethod
    def of(cls, part, walk):
        """Walk over one partition."""
        level, units, walk = walk.level, part.units_of(walk.units), walk.of(part)
        squares = (walk.base - level[:, np.newaxis]) ** 2
        states = [None] * len(walk.moves)
        for position, of_position in merged_states(walk, n_jobs=1):
            move = walk.moves[position]
            cells = None if move.codes is None else move.codes[walk.rows]
            own = walk.weights, cells, move.n_cells, units
            states[position] = [
                Merged.of(state, reduction, own, squares)
                for state, reduction in zip(of_position, walk.reductions_of(position))
            ]
        largest = Largest(walk.size)
        return cls(states, walk.level, largest)


def after_means(walk, partitions):
    """A `PartitionedWalk` with the means that it needs, by a pass of their own."""
    own = walk.of(partitions.head)
    members = _members(own, walk.n_rows)
    if not members:
        return walk
    means, size = partitions.passed(_sums, (walk,))
    return replace(walk, means=with_slopes(own, members, means, size.values))


def _members(walk, n_rows):
    """Moves in trees of which the means over so many rows are all that is wanted."""
    response = walk.response
    if not isinstance(response, TreeResponse):
        return []
    members = [
        member_of(response, walk, position)
        for position in range(len(walk.moves))
        if not response.codes.is_group(walk.moves[position].feature)
    ]
    return [m for m in members if serves(response, walk, m, n_rows)]


def _sums(part, walk):
    """Mean curves, the part of one partition, and the size of its responses."""
    own = walk.of(part)
    members = _members(own, walk.n_rows)
    averaged = averaged_alone(own.response, own)
    means = mean_curves(averaged, own, members)
    return list(means), Largest(np.abs(own.base).max(axis=1))
