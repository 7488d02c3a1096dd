"""One function of the responses of member models: votes, transformed targets."""

from dataclasses import replace

import numpy as np

from skvarimp._models.links import InverseTransform
from skvarimp._response.costs import Costs
from skvarimp._response.responses.scores import ScoreResponse
from skvarimp._response.shapes.steps import Steps, settled
from skvarimp._running.memory import Memo


class OwnOutputs:
    """The unmoved output of one model inside another, asked once per table."""

    def __init__(self, model):
        self.model, self._outputs = model, Memo(travels=True)

    def __call__(self, table):
        return self._outputs.get(table, lambda: self.model(table.copy()).T)


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
        self.own = [OwnOutputs(member.model) for member in form.members]
        paths = " and ".join(dict.fromkeys(member.path for member in members))
        self.path = f"{form.name} {paths}"
        self.reads_cells = all(member.reads_cells for member in members)
        self.steps_alone = all(member.steps_alone for member in members)
        if any(member.prefer == "threads" for member in members):
            self.prefer = "threads"
        self.rounding = max(member.rounding for member in members)
        if isinstance(form.link, InverseTransform):
            # an inverse like exp turns errors of its argument into relative ones
            self.rounding *= 10

    def _unmoved(self, table, rows):
        """The members' outputs at unmoved rows, a list of (n_outputs, n_rows)."""
        return [own(table)[:, rows] for own in self.own]

    def critical_values(self, column):
        """Values at and next to which a member may jump."""
        each = [getattr(member, "critical_values", None) for member in self.members]
        values = [critical(column) for critical in each if critical is not None]
        return np.unique(np.concatenate([np.empty(0), *values]))

    def changes(self, move):
        """See `ScoreResponse.changes`; the members know."""
        return True

    def curves(self, table, rows, move, base):
        """See `Response.curves`; unmoved where no member's output moves."""
        scores = self.scores(table, rows, move)
        own = np.concatenate(self._unmoved(table, rows))
        still = np.all(scores == own[:, :, np.newaxis], axis=0)
        ice = self.linked(scores, table, rows, move, base)
        return np.where(still, base[:, :, np.newaxis], ice)

    def is_stepped(self, table, move):
        """See `Response.is_stepped`."""
        return all(member.is_stepped(table, move) for member in self.members)

    def stepped(self, table, rows, move, base):
        """See `Response.stepped`; the function is evaluated once per piece."""
        unmoved = self._unmoved(table, rows)
        each = zip(self.members, unmoved)
        steps = Steps.together([m.stepped(table, rows, move, own) for m, own in each])
        ends = np.cumsum([len(own) for own in unmoved])[:-1]
        unmoved = np.concatenate(unmoved)

        def linked(moved, row, cells):
            scores = unmoved[:, row] + moved
            for member, own in zip(self.members, np.split(scores, ends)):
                settled(own, member.gap)
            values = self.linked_or_asked(scores, table, rows[row], move, cells)
            values -= base[:, row]
            values[:, ~moved.any(axis=0)] = 0.0
            return values

        return steps.mapped(linked)

    def at_cells(self, table, rows, moves, base, cells):
        """See `Response.at_cells`."""
        each = zip(self.members, self._unmoved(table, rows))
        of_members = [m.at_cells(table, rows, moves, own, cells) for m, own in each]
        scores = np.concatenate(of_members, axis=1)
        result = np.empty((len(moves), self.n_outputs, *cells.shape[1:]))
        for m, move in enumerate(moves):
            at = table, rows, move, cells[m]
            result[m] = self.linked_or_asked(scores[m], *at)
        return result

    def scores(self, table, rows, move):
        """See `ScoreResponse.scores`."""
        each = zip(self.members, self._unmoved(table, rows))
        return np.concatenate([m.curves(table, rows, move, own) for m, own in each])

    def costs(self):
        """See `Response.costs`; the function is evaluated per cell or per step."""
        costs = Costs.added([member.costs() for member in self.members], self.n_outputs)
        if not self.steps_alone:
            return costs
        # the members' steps are brought together and formed again
        return replace(costs, row=2.5 * costs.row, cell=costs.cell - self.n_outputs)
