"""Trees and ensembles of trees: exact curves from the leaves that rows can reach.

One walk down all trees finds the pieces of each row's curve of each feature (`pieces`),
which the reductions run over (`walks`). Means over rows alone go by `masses`, other
columns that move together by `groups`.
"""

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from skvarimp._compiled import use_compiled
from skvarimp._data.base_table import numbers_if_possible, spread_over
from skvarimp._data.table import ArrayTable
from skvarimp._response.contract import Response
from skvarimp._response.grid import Move, kind_of, make_move, values_alone
from skvarimp._response.mean_curves import MeanCurve, PartialDependence
from skvarimp._response.reductions import RowMean
from skvarimp._response.responses.trees.curves import Descent, Linked
from skvarimp._response.responses.trees.groups import TreeCoalitions, moved_together
from skvarimp._response.responses.trees.means import (
    Averaged,
    counts_masses,
    mean_of_group,
)
from skvarimp._response.responses.trees.pieces import (
    TreeGrids,
    TreeMove,
    distinct,
    first_of_each,
)
from skvarimp._response.responses.trees.walks import TreeTasks
from skvarimp._response.steps import settled
from skvarimp._running.memory import Memo
from skvarimp._running.tasks import in_threads


class TreeCodes:
    """A table and its moves as trees see them: codes of values.

    Parameters
    ----------
    trees : TreeTable

    Attributes
    ----------
    feature_of : dict
        Column of X -> feature of the tree table, if any tree splits on it.
    """

    def __init__(self, trees):
        self.trees = trees
        self.feature_of = {j: u for u, j in enumerate(trees.columns.tolist())}
        self._coded = Memo(most=2, travels=True)  # the table and a probe's few rows

    def rows(self, table):
        """Codes of a table's rows, (n_samples, n_features), made once a table."""
        return self._coded.get(table, partial(self.trees.codes_of, table, in_threads))

    def of(self, rows):
        """Codes of `Rows`, (n_rows, n_features)."""
        return self.rows(rows.table)[rows.index]

    def by_feature(self, rows):
        """Codes of `Rows`, (n_features, n_rows), contiguous."""
        return self.rows(rows.table).T.take(rows.index, axis=1)

    def grid(self, table, move):
        """Features that move, and the codes of the grid's values.

        Returns
        -------
        features : list of int
        codes : ndarray of shape (n_values, len(features))
        """
        members = [
            (self.feature_of[j], m)
            for m, j in enumerate(move.feature.columns)
            if j in self.feature_of
        ]
        features = [u for u, _ in members]
        codes = np.empty((move.n_cells, len(features)), dtype=np.int32)
        donors, values = move.donors_of_columns, move.rows_of_values(slice(None))
        single = isinstance(table, ArrayTable) and table.native.dtype.kind == "f"
        for own_codes, (u, m) in zip(codes.T, members):
            if np.all(donors[:, m] >= 0):
                own_codes[:] = self.rows(table)[donors[:, m], u]
                continue
            numbers = numbers_if_possible(values[:, m])
            if single:  # as they are put into X
                numbers = numbers.astype(table.native.dtype)
            own_codes[:] = self.trees.codes(u, numbers)
        return features, codes

    def features(self, feature):
        """The features among a feature's columns."""
        return [self.feature_of[j] for j in feature.columns if j in self.feature_of]

    def is_group(self, feature):
        """Whether a feature has several columns that trees split on."""
        return len(self.features(feature)) > 1


@dataclass(frozen=True)
class CellGrid:
    """All values of a column of numbers, joined where no tree tells them apart.

    Called as `make_move` is, with the grid already known. All values of other features
    are taken.

    Parameters
    ----------
    codes : TreeCodes
    """

    codes: TreeCodes

    def __call__(self, table, weights, feature, categorical_columns):
        """The `Move` of a feature."""
        own = self._ascending(table, feature)
        if own is None:
            return make_move(table, weights, feature, "all", categorical_columns)
        cells = np.flatnonzero(np.bincount(own))
        cell_of_code = np.zeros(cells[-1] + 1, dtype=own.dtype)
        cell_of_code[cells] = np.arange(len(cells))
        codes, donors = cell_of_code[own], np.empty(len(cells), dtype=np.intp)
        donors[codes[::-1]] = np.arange(len(codes))[::-1]  # the first row of each
        values = table.column(feature.columns[0])[donors]
        probabilities = np.bincount(codes, weights)
        kind = kind_of(table, feature, categorical_columns)
        return Move(
            feature,
            values,
            donors,
            probabilities,
            codes,
            kind.categorical,
            ordered=kind.ordered,
        )

    def _ascending(self, table, feature):
        """Codes of a column of numbers, missing ones last; None where they are not."""
        j, *more = feature.columns
        if more or table.has_levels(j) or table.is_categorical(j):
            return None
        if table.column(j).dtype.kind not in "fiu":
            return None
        missing, features = table.missing(j), self.codes.features(feature)
        if not features:
            return missing.astype(np.uint8)
        (u,) = features
        own, trees = self.codes.rows(table)[:, u], self.codes.trees
        same = np.array_equal(own == trees.missing_code[u], missing)
        return own if same and not trees.categorical[u] else None


class TreeResponse(Response):
    """Sum of trees, perhaps behind a link.

    Parameters
    ----------
    model : Model
        Settles labels that hang on the last digit.
    form : Trees
    table : Table
        Some of its rows tell what curves cost.
    """

    path = "trees"
    reads_cells = True
    compiled = False

    def __init__(self, model, form, table):
        self.model, self.link = model, form.link
        self.trees = trees = form.nodes
        self.n_outputs = trees.n_raw
        if self.link is None:
            self.known_coalitions = TreeCoalitions
        else:
            self.n_outputs = self.link.n_outputs(trees.n_raw)
        self.offset = np.broadcast_to(form.offset, trees.n_raw).astype(np.float64)
        self.rounding, self.gap = form.rounding, _gap(trees, form)
        self.doubt = form.doubt
        if form.doubt is None:
            self.doubt = _rounding(trees, self.offset)
        self.codes = TreeCodes(trees)
        self._some_codes = self.codes.rows(table)[spread_over(table.n_samples, 20)]
        if use_compiled():
            self.path, self.compiled, self.prefer = "trees, compiled", True, "threads"

    def grid(self, grid, reductions):
        """See `Response`."""
        joins = (RowMean, MeanCurve)
        if not isinstance(grid, str) or grid != "all":
            return grid
        if all(type(reduction) is PartialDependence for reduction in reductions):
            return values_alone
        if any(r.counts_values or not isinstance(r, joins) for r in reductions):
            return grid
        return CellGrid(self.codes)

    def critical_values(self, column):
        """See `Response`."""
        feature = self.codes.feature_of.get(column)
        return np.empty(0) if feature is None else self.trees.critical_values(feature)

    @cached_property
    def visits(self):
        """Leaves that a row visits as every feature moves, and the depth of its own."""
        codes, trees = self._some_codes, np.arange(len(self.trees.roots))
        descent = Descent(self.trees, codes, trees)
        leaves = descent.leaves(np.ones(len(self.trees.columns), dtype=bool))
        visited = sum([np.count_nonzero(edge >= 0) for *_, edge in leaves])
        depth = self.trees.depth.take(descent.own).sum()
        return visited / len(codes), depth / len(codes)

    def call_cost(self):
        _, depth = self.visits
        return 15.0 + 0.4 * depth + self.outputs_cost

    def row_cost(self, n_cells, grouped=False):
        """A row's curve of one column has its pieces, whatever its values."""
        outputs = 0.6 + 0.4 * self.trees.n_raw
        if grouped:
            return n_cells * (12.5 * outputs + self.outputs_cost)
        visited, _ = self.visits
        return 30.0 + 7.5 * visited / max(1, len(self.trees.columns)) * outputs

    def curves(self, rows, move):
        if self.codes.is_group(move.feature):
            return settled(self._group_curves(rows, move), self.gap)
        (found,) = self.curves_of(rows, [move])
        return found

    def curves_of(self, rows, moves):
        """All moves share one way down the trees."""
        if any(self.codes.is_group(move.feature) for move in moves):
            return super().curves_of(rows, moves)
        coded = [self.codes.grid(rows.table, move) for move in moves]
        members = [
            TreeMove(self.trees, m, move, *grid)
            for m, (move, grid) in enumerate(zip(moves, coded))
        ]
        shape, grids = (self.n_outputs, len(rows)), TreeGrids(self, members)
        found = [np.empty((*shape, move.n_cells)) for move in moves]
        every = [np.arange(move.n_cells)[:, np.newaxis] for move in moves]
        for part, curves in grids.curves_of(rows, moves):
            base = rows.base[:, np.newaxis, part]
            for own, moved in zip(found, grids.at(curves, every)):
                own[:, part] = settled(base + moved, self.gap).swapaxes(1, 2)
        return found

    def _group_curves(self, rows, move):
        features, codes = self.codes.grid(rows.table, move)
        cells, cell_of_value = distinct(codes)
        own = self.codes.of(rows)
        moved = moved_together(self.trees, features, cells, own)
        if self.link is not None:
            linked = Linked(self, rows, self.trees.raw(own))
            row, cell = np.divmod(np.arange(moved[0].size), len(cells))
            value = first_of_each(cell_of_value)[cell]
            moved = linked(
                moved.reshape(len(moved), -1), row, lambda at: [(at, move, value[at])]
            )
            moved = moved.reshape(self.n_outputs, len(rows), len(cells))
        return rows.base[:, :, np.newaxis] + moved[:, :, cell_of_value]

    def at_cells(self, rows, moves, cells):
        """All moves share one way down the trees."""
        coded = [(move, *self.codes.grid(rows.table, move)) for move in moves]
        if any(len(features) > 1 for _, features, _ in coded):
            return super().at_cells(rows, moves, cells)
        members = [TreeMove(self.trees, m, *move) for m, move in enumerate(coded)]
        result = np.empty((len(moves), self.n_outputs, *cells.shape[1:]))
        grids = TreeGrids(self, members)
        for part, curves in grids.curves_of(rows, moves):
            base = rows.base[:, np.newaxis, part]
            for m, moved in enumerate(grids.at(curves, cells[:, :, part])):
                result[m, :, :, part] = settled(base + moved, self.gap)
        return result

    def steps(self, table, move):
        categorical = self.trees.categorical[self.codes.features(move.feature)]
        if not move.ascends or categorical.any():
            return None
        member = TreeMove(self.trees, 0, move, *self.codes.grid(table, move))
        first_value = np.searchsorted(member.cell_of_value, np.arange(member.n_cells))

        def steps_of(rows):
            steps = TreeGrids(self, [member]).joined_steps(rows, [move])
            positions = first_value[steps.positions]
            return replace(steps, positions=positions, n_cells=move.n_cells)

        return steps_of

    def mean_curves(self, rows, move):
        """Forms no row's curve."""
        features, codes = self.codes.grid(rows.table, move)
        if counts_masses(self, len(rows), len(features)):
            return Averaged(self, rows, features, len(features))(move)
        if len(features) > 1 and self.link is not None:
            return super().mean_curves(rows, move)
        if len(features) > 1:
            return mean_of_group(self, rows, features, codes)
        member = TreeMove(self.trees, 0, move, features, codes)
        mean, grids = (
            np.zeros((self.n_outputs, member.n_cells)),
            TreeGrids(self, [member]),
        )
        for part, curves in grids.curves_of(rows, [move]):
            mean += grids.steps(curves, 0, rows.index[part]).over_rows(
                rows.weights[part]
            )
        return mean[:, member.cell_of_value]

    def averaged(self, rows, n_columns):
        if not counts_masses(self, len(rows), n_columns):
            return super().averaged(rows, n_columns)
        features = np.arange(len(self.trees.columns))
        return Averaged(self, rows, features, n_columns)

    def tasks(self, walk):
        return TreeTasks(self, walk)


ROUNDING = 1e-11  # of sums over the trees; no share is as small


def _gap(trees, form):
    """How near outputs other than 0 and 1 can be to 0 and 1; 0 if not known.

    A mean of shares is 0 if all shares are 0, and otherwise at least the smallest share
    of one tree. The same holds for 1.
    """
    if form.link is not None or form.shares is None or np.any(form.offset):
        return 0.0
    leaf = trees.feature < 0
    leaves, share = trees.values[:, leaf], form.shares[trees.tree[leaf]]
    sizes = np.stack([leaves, share - leaves])
    smallest = sizes.min(where=np.abs(sizes) > ROUNDING * share, initial=np.inf)
    return smallest if ROUNDING < smallest < np.inf else 0.0


def _rounding(trees, offset):
    """By how much sums of the leaves may be off; labels so close are asked for."""
    values, roots = trees.values, trees.roots
    if np.all(values == np.rint(values)) and not np.any(offset):
        return -1.0  # sums of whole numbers are exact, and so are their ties
    size = np.maximum.reduceat(np.abs(values).max(axis=0), roots)
    return 1e-12 * (size.sum() + np.abs(offset).max())
