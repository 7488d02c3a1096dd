"""Responses of models around others: votes, transformed targets, column-wise steps.

Behind column-wise steps a moved input column becomes moved model columns. The rows are
transformed once. A donor's model values are its row of the transformed table; other
values of the grid are transformed by the steps.
"""

from dataclasses import replace
from functools import cached_property, partial

import numpy as np

from skvarimp._data.base_table import begins_value, side_by_side
from skvarimp._data.table import Feature, as_table
from skvarimp._models.links import InverseTransform
from skvarimp._models.transformers import is_monotone
from skvarimp._response.contract import Response
from skvarimp._response.responses.many_columns import line_batches, values_of
from skvarimp._response.responses.scores import ScoreResponse, unmoved_kept
from skvarimp._response.steps import Steps, settled
from skvarimp._running.guards import users_code
from skvarimp._running.memory import Memo


class CombinedResponse(ScoreResponse):
    """link(f_1, ..., f_M) of members on the same columns.

    Parameters
    ----------
    model : Model
    form : Combined
    members : list of Response
        Those of the form's members.
    """

    def __init__(self, model, form, members):
        n_scores = sum(member.n_outputs for member in members)
        super().__init__(model, form.link, n_scores)
        self.members = members
        self.models = [member.model for member in form.members]
        self._outputs = Memo(travels=True)
        paths = " and ".join(dict.fromkeys(member.path for member in members))
        self.path = f"{form.name} {paths}"
        self.reads_cells = all(member.reads_cells for member in members)
        if any(member.prefer == "threads" for member in members):
            self.prefer = "threads"
        self.rounding = max(member.rounding for member in members)
        if isinstance(form.link, InverseTransform):
            # an inverse like exp turns errors of its argument into relative ones
            self.rounding *= 10

    def _of_members(self, rows):
        """The rows as each member sees them, with its own outputs."""

        def ask():
            return [model(rows.table.copy()).T for model in self.models]

        every = self._outputs.get(rows.table, ask)
        return [replace(rows, base=own[:, rows.index]) for own in every]

    def critical_values(self, column):
        """Those of all members, see `Response`."""
        known = [m.critical_values for m in self.members if m.critical_values]
        return np.unique(np.concatenate([[], *(values(column) for values in known)]))

    def changes(self, move):
        """The members know."""
        return True

    def curves(self, rows, move):
        """Unmoved where no member's output moves."""
        scores = self.scores(rows, move)
        unmoved = np.concatenate([own.base for own in self._of_members(rows)])
        still = np.all(scores == unmoved[:, :, np.newaxis], axis=0)
        index, cells = rows.index[:, np.newaxis], np.arange(move.n_cells)
        ice = self.linked(scores, rows.table, index, move, cells)
        ice = unmoved_kept(ice, rows, move)
        return np.where(still, rows.base[:, :, np.newaxis], ice)

    def steps(self, table, move):
        """The function is evaluated once per piece."""
        each = [member.steps(table, move) for member in self.members]
        if any(steps is None for steps in each):
            return None
        return partial(self._steps, each, move)

    def _steps(self, each, move, rows):
        of_members = self._of_members(rows)
        steps = Steps.together([steps(own) for steps, own in zip(each, of_members)])
        unmoved = [own.base for own in of_members]
        ends = np.cumsum([len(own) for own in unmoved])[:-1]
        unmoved = np.concatenate(unmoved)

        def linked(moved, row, cells):
            scores = unmoved[:, row] + moved
            for member, own in zip(self.members, np.split(scores, ends)):
                settled(own, member.gap)
            values = self.linked(scores, rows.table, rows.index[row], move, cells)
            values -= rows.base[:, row]
            values[:, ~moved.any(axis=0)] = 0.0
            return values

        return steps.mapped(linked)

    def at_cells(self, rows, moves, cells):
        each = zip(self.members, self._of_members(rows))
        outputs = [member.at_cells(own, moves, cells) for member, own in each]
        scores = np.concatenate(outputs, axis=1)
        result = np.empty((len(moves), self.n_outputs, *cells.shape[1:]))
        for m, move in enumerate(moves):
            result[m] = self.linked(scores[m], rows.table, rows.index, move, cells[m])
        return result

    def scores(self, rows, move):
        each = zip(self.members, self._of_members(rows))
        return np.concatenate([member.curves(own, move) for member, own in each])

    def call_cost(self):
        return sum(member.call_cost() for member in self.members) + self.outputs_cost

    def row_cost(self, n_cells, grouped=False):
        """The function is evaluated per cell or per step."""
        one, members = (
            sum(member.row_cost(k, grouped) for member in self.members)
            for k in (1, n_cells)
        )
        if one == members:  # their steps are brought together and formed again
            return 2.5 * members
        return members + n_cells * (1.0 + self.outputs_cost)


class Transformed:
    """A table and moves seen behind column-wise steps.

    Parameters
    ----------
    form : BehindSteps
    raw : Table
    """

    def __init__(self, form, raw):
        self.steps, self.raw = form.steps, raw
        self.source, self.model = form.source, form.model
        self.table = self._transform(raw.copy())
        # model columns in the order of their sources, and where each source starts
        self._order = np.argsort(self.source, kind="stable")
        raw_columns = np.arange(raw.n_columns + 1)
        self._starts = np.searchsorted(self.source[self._order], raw_columns).tolist()

    @property
    def monotone(self):
        """Whether the steps keep the order of the values of each column."""
        return all(is_monotone(step) for _, step in self.steps.steps)

    def _transform(self, native):
        with users_code():
            return as_table(self.steps.transform(native))

    def of(self, raw):
        """The transformed table of a raw one."""
        return self.table if raw is self.raw else self._transform(raw.copy())

    def feature(self, feature):
        """The model columns that move with a feature."""
        starts = self._starts
        parts = [self._order[starts[j] : starts[j + 1]] for j in feature.columns]
        columns = np.sort(np.concatenate([np.arange(0), *parts]))
        return Feature(feature.name, tuple(columns.tolist()), len(columns) > 1)

    def move(self, raw, table, move):
        """The move of the model columns; the same cells in the same order."""
        feature = self.feature(move.feature)
        behind, rows, donors = table, move.donors, move.donors
        if rows is None or rows.ndim == 2:  # put into copies of one row
            cells = np.arange(move.n_cells)
            behind = self._transform(
                raw.moved(*move.replaced(np.zeros_like(cells), cells))
            )
            rows = cells
        if donors is not None and donors.ndim == 2:
            place = {j: m for m, j in enumerate(move.feature.columns)}
            donors = donors[:, [place[self.source[j]] for j in feature.columns]]
        columns = [behind.column(j)[rows] for j in feature.columns]
        values = side_by_side(columns, len(rows))
        floats = values.dtype.kind == "f"
        if move.donors is None and floats and not np.isfinite(values).all():
            self.model(behind.copy())  # it may refuse these
        return replace(move, feature=feature, values=values, donors=donors)


def _n_distinct(values):
    return begins_value(np.sort(values, axis=1)).sum(axis=1)


class TransformedMoves:
    """`Moves` seen behind column-wise steps."""

    def __init__(self, moves, raw, transformed, table):
        self.raw_moves, self.raw = moves, raw
        self.transformed, self.table = transformed, table
        self.weights, self.grids = moves.weights, moves.grids
        self.features = [transformed.feature(feature) for feature in moves.features]
        self._made = Memo(most=256)

    @cached_property
    def by_column(self):
        """Only if the steps ascend and merge no two values.

        If a selector leaves one column of a group, it has the grid of the group. If an
        imputer fills in a missing value, it is still the last value of its grid.
        """
        result = np.zeros(len(self.features), dtype=bool)
        if not self.transformed.monotone or self.raw.numeric() is None:
            return result
        one_behind = np.array([len(e.columns) == 1 for e in self.features], dtype=bool)
        singles = np.flatnonzero(one_behind & self.raw_moves.by_column)
        columns = np.array([self.features[e].columns[0] for e in singles], np.intp)
        raw_columns = self.transformed.source[columns]
        for which in line_batches(self.table, columns):
            behind, _ = values_of(self.table, columns[which], self.weights)
            before, _ = values_of(self.raw, raw_columns[which], self.weights)
            same = _n_distinct(behind) == _n_distinct(before)
            missing_before = np.isnan(before).any(axis=1)
            result[singles[which]] = same & ~missing_before
        return result

    def kind(self, position):
        """See `Moves.kind`."""
        return self.raw_moves.kind(position)

    def __getitem__(self, position):
        def make():
            raw = self.raw_moves[position]
            return self.transformed.move(self.raw, self.table, raw)

        return self._made.get(position, make)


class ColumnwiseResponse(Response):
    """An inner response on transformed columns.

    Parameters
    ----------
    form : BehindSteps
    table : Table
    respond : callable
        respond(model, form, table) -> the inner response.
    """

    def __init__(self, form, table, respond):
        self.transformed = Transformed(form, table)
        inner = respond(form.model, form.form, self.transformed.table)
        self.inner, self.n_outputs = inner, inner.n_outputs
        self.path, self.prefer = f"column-wise steps, {inner.path}", inner.prefer
        self.rounding, self.reads_cells = inner.rounding, inner.reads_cells
        self.additive = inner.additive
        self.cost, self.row_cost = inner.cost, inner.row_cost
        self.call_cost = inner.call_cost

    def inside(self, table):
        """The inner response and what it sees, see `Response`."""
        behind = self.transformed
        return self.inner, behind.model, behind.of(table), behind.feature

    def _behind(self, rows, *moves):
        """Rows and moves as the inner response sees them."""
        behind = self.transformed.of(rows.table)
        moves = [self.transformed.move(rows.table, behind, move) for move in moves]
        return replace(rows, table=behind), *moves

    def curves(self, rows, move):
        return self.inner.curves(*self._behind(rows, move))

    def at_cells(self, rows, moves, cells):
        behind, *moves = self._behind(rows, *moves)
        return self.inner.at_cells(behind, moves, cells)

    def steps(self, table, move):
        behind = self.transformed.of(table)
        moved = self.transformed.move(table, behind, move)
        steps = self.inner.steps(behind, moved)
        return steps and (lambda rows: steps(replace(rows, table=behind)))

    def mean_curves(self, rows, move):
        return self.inner.mean_curves(*self._behind(rows, move))

    def averaged(self, rows, n_columns):
        (behind,) = self._behind(rows)
        averaged = self.inner.averaged(behind, n_columns)
        return partial(self._averaged, averaged, rows.table, behind.table)

    def coalitions(self, rows, features):
        features = [self.transformed.feature(feature) for feature in features]
        return self.inner.coalitions(*self._behind(rows), features)

    def _averaged(self, averaged, table, behind, move):
        return averaged(self.transformed.move(table, behind, move))

    def tasks(self, walk):
        """The inner response walks behind the steps."""
        (rows,), table = self._behind(walk.rows), walk.rows.table
        moves = TransformedMoves(walk.moves, table, self.transformed, rows.table)
        inner = replace(walk, response=self.inner, rows=rows, moves=moves)
        return self.inner.tasks(inner)
