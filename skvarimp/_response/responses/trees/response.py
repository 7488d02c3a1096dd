"""Trees and ensembles of trees: exact curves from the leaves that rows can reach.

One walk down all trees finds where each row's curve of each feature steps (`descent`,
`curves`); the reductions run over the pieces between the steps (`walks`). Means over
rows alone go by `masses`, other columns that move together by `Group`.
"""

from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from skvarimp._compiled import use_compiled
from skvarimp._data.table import ArrayTable
from skvarimp._data.values import numbers_if_possible, spread_over
from skvarimp._models.tree_table import TreeTable
from skvarimp._response.contract import Costs, Response
from skvarimp._response.responses.black_box import BlackBoxResponse
from skvarimp._response.responses.trees import masses, walks
from skvarimp._response.responses.trees.curves import (
    Member,
    distinct,
    first_of_each,
    steps_of_rows,
)
from skvarimp._response.responses.trees.descent import Descent, Group
from skvarimp._response.responses.trees.means import Averaged
from skvarimp._response.shapes.steps import Steps, settled
from skvarimp._running.memory import HELD, Memo, even_slices, numbers_at_once

ROWS_OF_LEAF = 50  # from so many on masses gain in plain NumPy
COMPILED_FEATURES = 2**22 - 2  # compiled kernels number no more


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

    TASK_PATHS = 100_000  # (row, tree) in one task

    def __init__(self, model, form, table):
        self.model, self.link = model, form.link
        self.trees = trees = TreeTable(form.trees, form.encoding)
        self.rounding, self.gap = form.rounding, form.gap()
        self.n_outputs = trees.n_raw
        if self.link is not None:
            self.n_outputs = self.link.n_outputs(trees.n_raw)
        self.offset = np.broadcast_to(form.offset, trees.n_raw).astype(np.float64)
        self.doubt = self._rounding() if form.doubt is None else form.doubt
        self._feature_of = {j: u for u, j in enumerate(trees.columns.tolist())}
        # the table itself and the few rows of a probe
        self._coded = Memo(most=2, travels=True)
        self._some_codes = self.codes(table)[spread_over(table.n_samples, 20)]
        if use_compiled() and len(trees.columns) < COMPILED_FEATURES:
            self.path, self.compiled, self.prefer = "trees, compiled", True, "threads"

    def _rounding(self):
        """By how much sums of the leaves may be off; labels so close are asked for."""
        values, roots = self.trees.values, self.trees.roots
        if np.all(values == np.rint(values)) and not np.any(self.offset):
            return -1.0  # sums of whole numbers are exact, and so are their ties
        size = np.maximum.reduceat(np.abs(values).max(axis=0), roots)
        return 1e-12 * (size.sum() + np.abs(self.offset).max())

    def codes(self, table):
        """Codes of a table's rows, (n_samples, n_features), made once a table."""
        return self._coded.get(table, lambda: self.trees.codes_of(table))

    def grid_codes(self, table, move):
        """Features that move, and the codes of the grid's values.

        Returns
        -------
        features : list of int
        codes : ndarray of shape (n_values, len(features))
        """
        members = [
            (self._feature_of[j], m)
            for m, j in enumerate(move.entry.columns)
            if j in self._feature_of
        ]
        features = [u for u, _ in members]
        codes = np.empty((move.n_cells, len(features)), dtype=np.int32)
        donors, values = move.donors_of_columns, move.rows_of_values(slice(None))
        single = isinstance(table, ArrayTable) and table.native.dtype.kind == "f"
        for of_feature, (u, m) in zip(codes.T, members):
            if np.all(donors[:, m] >= 0):
                of_feature[:] = self.codes(table)[donors[:, m], u]
                continue
            numbers = numbers_if_possible(values[:, m])
            if single:  # as they are put into X
                numbers = numbers.astype(table.native.dtype)
            of_feature[:] = self.trees.codes(u, numbers)
        return features, codes

    def keys(self, table, entry):
        """Codes of an entry's own values, (n_samples, n_keys): equal in one cell."""
        features = self._features(entry)
        if not features:
            return np.zeros((table.n_samples, 1), dtype=np.int32)
        return self.codes(table)[:, features]

    def _features(self, entry):
        """The features among an entry's columns."""
        return [self._feature_of[j] for j in entry.columns if j in self._feature_of]

    def is_group(self, entry):
        """Whether an entry has several columns that trees split on."""
        return len(self._features(entry)) > 1

    def critical_values(self, column):
        """See `Response.critical_values`."""
        if column not in self._feature_of:
            return np.empty(0)
        return self.trees.critical_values(self._feature_of[column])

    @cached_property
    def visits(self):
        """Leaves that a row visits as every feature moves, and the depth of its own."""
        codes, trees = self._some_codes, np.arange(len(self.trees.roots))
        descent = Descent(self.trees, codes, trees)
        leaves = descent.leaves(np.ones(len(self.trees.columns), dtype=bool))
        visited = sum(np.count_nonzero(edge >= 0) for *_, edge in leaves)
        depth = self.trees.depth.take(descent.own).sum()
        return visited / len(codes), depth / len(codes)

    def costs(self):
        """See `Response.costs`; a row's curve has its pieces, whatever its values."""
        visited, depth = self.visits
        visited /= max(1, len(self.trees.columns))
        outputs = 0.6 + 0.4 * self.trees.n_raw
        row = 30.0 + 7.5 * visited * outputs
        return Costs(15.0 + 0.4 * depth, row, 0.0, 12.5 * outputs)

    def rows_at_once(self, n_cells):
        """Rows whose moves have so many cells together."""
        steps = self.n_outputs * max(1, min(n_cells, int(self.visits[0])))
        paths = self.TASK_PATHS // len(self.trees.roots)
        return max(1, min(paths, numbers_at_once(HELD) // steps))

    # Curves of one entry

    def curves(self, table, rows, move, base):
        """See `Response.curves`."""
        features, codes = self.grid_codes(table, move)
        if len(features) > 1:
            return self._group_curves(table, rows, move, base, features, codes)
        member = Member(self.trees, 0, move, features, codes)
        (steps,) = self.steps_of_members(table, rows, base, [member], [move])
        moved = steps.dense()[:, :, member.cell_of_value]
        return settled(np.add(base[:, :, np.newaxis], moved, out=moved), self.gap)

    def at_cells(self, table, rows, moves, base, cells):
        """See `Response.at_cells`; all moves share one way down the trees."""
        coded = [(move, *self.grid_codes(table, move)) for move in moves]
        if any(len(features) > 1 for _, features, _ in coded):
            return super().at_cells(table, rows, moves, base, cells)
        members = [Member(self.trees, m, *move) for m, move in enumerate(coded)]
        result = np.empty((len(moves), self.n_outputs, *cells.shape[1:]))
        for part in even_slices(len(rows), self.rows_at_once(len(moves))):
            own = base[:, part]
            of_rows = table, rows[part], own
            all_steps = self.steps_of_members(*of_rows, members, moves)
            for m, (member, steps) in enumerate(zip(members, all_steps)):
                moved = steps.at(member.cell_of_value[cells[m, :, part]])
                moved += own[:, np.newaxis]
                result[m, :, :, part] = settled(moved, self.gap)
        return result

    def steps(self, table, move):
        """See `Response.steps`."""
        categorical = self.trees.categorical[self._features(move.entry)]
        if not move.ascends or categorical.any():
            return None
        member = Member(self.trees, 0, move, *self.grid_codes(table, move))
        return partial(self._steps, table, member, move)

    def _steps(self, table, member, move, rows, base):
        (steps,) = self.steps_of_members(table, rows, base, [member], [move])
        first_value = np.searchsorted(member.cell_of_value, np.arange(member.n_cells))
        positions = first_value[steps.positions]
        return replace(steps, positions=positions, n_cells=move.n_cells)

    def mean_curves(self, table, rows, weights, move, base):
        """See `Response.mean_curves`; forms no row's curve."""
        features, codes = self.grid_codes(table, move)
        if self._counts_masses(len(rows), len(features)):
            averaged = Averaged(self, table, rows, weights, features, len(features))
            return averaged(move)
        if len(features) > 1:
            if self.link is not None:
                return super().mean_curves(table, rows, weights, move, base)
            return self.mean_of_group(table, rows, weights, features, codes)
        member = Member(self.trees, 0, move, features, codes)
        mean = np.zeros((self.n_outputs, member.n_cells))
        for part in even_slices(len(rows), self.rows_at_once(member.n_cells)):
            of_part = table, rows[part], base[:, part]
            (steps,) = self.steps_of_members(*of_part, [member], [move])
            mean += steps.over_rows(weights[part])
        return mean[:, member.cell_of_value]

    def mean_of_group(self, table, rows, weights, features, codes):
        """Mean curves over the joint codes of any number of features."""
        cells, cell_of_value = distinct(codes)
        group = Group(self.trees, features, cells)
        mean = group.moved(self.codes(table)[rows], weights)[:, 0]
        return mean[:, cell_of_value]

    def averaged(self, table, rows, weights, base, n_columns):
        """See `Response.averaged`."""
        if not self._counts_masses(len(rows), n_columns):
            return super().averaged(table, rows, weights, base, n_columns)
        features = np.arange(len(self.trees.columns))
        return Averaged(self, table, rows, weights, features, n_columns)

    def _counts_masses(self, n_rows, n_features):
        """Whether means come from masses: plain NumPy takes time for every list."""
        if self.link is not None or not 0 < n_features <= masses.ORDER:
            return False
        n_leaves = np.count_nonzero(self.trees.feature < 0)
        of_leaf = n_rows * len(self.trees.roots) / n_leaves
        return self.compiled or of_leaf >= ROWS_OF_LEAF

    def steps_of_members(self, table, rows, base, members, moves):
        """Yield the steps of each member, in units of the response."""
        codes = self.codes(table)[rows]
        used = [member for member in members if member.feature >= 0]
        if used:
            with_raw = self.link is not None
            steps_of = self.kernels().steps_of_rows if self.compiled else steps_of_rows
            parts, raw = zip(*steps_of(self.trees, codes, used, with_raw))
            steps, raw = zip(*parts), np.concatenate(raw, axis=1)
        for member in members:
            if member.feature < 0:
                yield Steps.none(self.n_outputs, len(rows))
                continue
            of_member = Steps.joined(next(steps))
            if self.link is not None:
                (linked,) = self.linked(table, rows, base, raw, [member], moves)
                of_member = of_member.mapped(linked)
            yield of_member

    def linked(self, table, rows, base, raw, members, moves):
        """The link of some rows: one for all members unless it asks the model."""
        raw = raw + self.offset[:, np.newaxis]
        if not self.link.discrete:
            return [Linked(self.link, raw, base)]

        def asked(member, *at):
            move, values = moves[member.position], member.first_values()
            return self._ask(table, rows, move, values, *at)

        return [
            Linked(self.link, raw, base, self.doubt, partial(asked, member))
            for member in members
        ]

    def _ask(self, table, rows, move, value_of_cell, which, cells):
        """The model's own response of moved rows, through a grid value of each cell."""
        black_box = BlackBoxResponse(self.model, self.n_outputs)
        return black_box.at(table, rows[which], move, value_of_cell[cells])

    def _group_curves(self, table, rows, move, base, features, codes):
        cells, cell_of_value = distinct(codes)
        own = self.codes(table)[rows]
        moved = Group(self.trees, features, cells).moved(own)
        if self.link is not None:
            values = first_of_each(cell_of_value)
            raw = self.trees.raw(own) + self.offset[:, np.newaxis]
            asked = partial(self._ask, table, rows, move, values)
            linked = Linked(self.link, raw, base, self.doubt, asked)
            row, cell = np.divmod(np.arange(moved[0].size), len(cells))
            moved = linked(moved.reshape(len(moved), -1), row, cell)
            moved = moved.reshape(self.n_outputs, len(rows), len(cells))
        ice = settled(np.add(base[:, :, np.newaxis], moved, out=moved), self.gap)
        return ice[:, :, cell_of_value]

    # Walks

    def kernels(self):
        """Imported where kernels were built."""
        from skvarimp._response.responses.trees import compiled_trees

        return compiled_trees

    def lists(self):
        """What sends lists of rows down the trees: compiled kernels, or NumPy."""
        return self.kernels() if self.compiled else masses

    def walker(self, walk):
        """See `Response.walker`."""
        return walks.TreeWalker(self, walk)


class Linked:
    """Response moved minus unmoved, from raw outputs moved minus unmoved.

    Parameters
    ----------
    link : Link
    raw : ndarray of shape (n_raw, n_rows)
        Unmoved.
    base : ndarray of shape (n_outputs, n_rows)
        The model's own response, unmoved.
    doubt : float
        A label decided by no more is asked from the model itself, whose sum of the
        same numbers in another order may decide otherwise.
    ask : callable or None
        ask(rows, cells) -> (n_outputs, n), the model's own response at positions among
        the rows and cells, (n,); of a discrete link.
    """

    def __init__(self, link, raw, base, doubt=-1.0, ask=None):
        self.link, self.raw, self.doubt, self.ask = link, raw, doubt, ask
        # of a smooth link our own, so that what does not move is exactly 0
        self.unmoved = base if link.discrete else link(raw)[0]

    def __call__(self, moved, rows, cells):
        """(n_outputs, n) of moved (n_raw, n), rows and cells (n,)."""
        total = self.raw.take(rows, axis=1) + moved
        if not self.link.discrete:
            result, _ = self.link(total)
        else:
            result = self.link.decided(total)
            unsure = np.flatnonzero(self.link.lead(total) <= self.doubt)
            if len(unsure):
                result[:, unsure] = self.ask(rows[unsure], cells[unsure])
        return result - self.unmoved.take(rows, axis=1)
