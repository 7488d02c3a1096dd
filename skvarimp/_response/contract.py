"""The contract of a response: how a model's output moves as one feature moves.

With f the model, x_i the evaluated `Rows`, v_k the grid values of a `Move` on the
columns J of the table:

    outputs[o, i]   = f_o(x_i)
    curves[o, i, k] = f_o(x_i with x_iJ := v_k)

Each form has a response, which is entered in `probe.py`. It must give `curves`. It
may give more, where it knows a shorter way than the default:

=========================== ==================================================
`steps`, `shapes`           the curves by their steps, or in another `Shape`
`mean_curves`, `averaged`   means of curves over the rows
`curves_of`                 curves of several moves at once
`at_cells`                  few cells of each curve, for scores
`grid`                      cells in place of the values that a feature takes
`critical_values`, `inside` what the probe should look at
`row_cost`, `call_cost`     what ``estimation="auto"`` decides by
`tasks`                     how a walk is carried out, by `Tasks` of its own kind
`coalitions`                what is known of means over donors of other features
=========================== ==================================================
"""

from functools import partial

import numpy as np

from skvarimp._response.coalitions import AdditiveCoalitions, Coalitions
from skvarimp._response.mean_curves import MeanCurve
from skvarimp._response.shape import Cells, Dense, Merging, reduced
from skvarimp._response.steps import StepCurves
from skvarimp._response.walk import Tasks
from skvarimp._running.guards import OverBudget
from skvarimp._running.memory import at_once, call_slices, slices

# Exact numbers may cost this many times what drawn ones cost, or, by a fast response,
# this many numbers written, which take about five seconds.
TIMES_DRAWN, NUMBERS_AFFORDABLE = 3.0, 2.5e8
OUTPUT = 2.0  # numbers that each further output adds to a call and to a value


class Response:
    """How a model responds when a feature moves; see the module's formulas.

    Attributes
    ----------
    path : str
        Name shown in `response_path_`.
    n_outputs : int
    additive : bool
        Whether the response is a sum of functions of one column of X each.
    rounding : float
        How far the model's own output may be off the sum that the response forms,
        relative to the output's scale: 0 for a model that computes in double
        precision.
    prefer : {None, "threads"}
        Kind of workers, where they are free to choose: "threads" for a response that
        works without the interpreter's lock.
    reads_cells : bool
        Whether `at_cells` computes no more than the cells that it is asked for.
    asks_model : bool
        Whether curves are computed from predictions of moved rows.
    gap : float
        How near outputs other than 0 and 1 can be to 0 and 1; 0 if not known.
    known_coalitions : type
        The `Coalitions` of a response that is not additive.
    critical_values : callable or None
        critical_values(column) -> values of a column next to which the response may
        jump, for the probe. None: it does not jump.
    inside : callable or None
        inside(table) -> (response, model, table, feature) that the probe should look at
        too: a response inside this one, whose response it is, what it sees of the
        table, and a function that gives the feature it sees of a feature.
    """

    path = "response"
    additive = False
    rounding = 0.0
    prefer = None
    reads_cells = False
    asks_model = False
    gap = 0.0
    known_coalitions = Coalitions
    critical_values = inside = None

    def curves(self, rows, move):
        """ICE curves of some `Rows`, (n_outputs, n_rows, n_cells)."""
        raise NotImplementedError

    def grid(self, grid, reductions):
        """A grid that gives the same numbers as another one.

        A response that is constant between a few values may join these, where the
        reductions cannot tell.

        Parameters
        ----------
        grid : str, int, array-like, dict or callable
            See `make_move`.
        reductions : list of Reduction

        Returns
        -------
        str, int, array-like, dict or callable
        """
        return grid

    def curves_of(self, rows, moves):
        """A list of the curves of each of some moves."""
        return [self.curves(rows, move) for move in moves]

    def steps(self, table, move):
        """What gives the curves of a move by their steps.

        Returns
        -------
        callable or None
            steps(rows) -> Steps, of `Rows` of the table. None: the curves are not
            known by their steps.
        """
        return

    def mean_curves(self, rows, move):
        """Weighted mean over the rows of their curves minus their unmoved response.

        result[o, k] = sum_i weights[i] (curves[o, i, k] - base[o, i])

        A response that knows the mean without forming each row's curve overrides this.

        Parameters
        ----------
        rows : Rows
        move : Move

        Returns
        -------
        ndarray of shape (n_outputs, n_cells)
        """
        merging = Merging()
        for shape in self.shapes(rows, move):
            merging.add(*reduced([MeanCurve()], shape))
        return merging.merged().cells[0]

    def at_cells(self, rows, moves, cells):
        """The response of rows that are each moved to a few cells of their own.

            result[m, o, t, i] = curves[o, i, cells[m, t, i]] of moves[m]

        A response that finds these without whole curves, or for all moves at once,
        overrides this.

        Parameters
        ----------
        rows : Rows
        moves : list of Move
        cells : ndarray of shape (n_moves, n_times, n_rows)

        Returns
        -------
        ndarray of shape (n_moves, n_outputs, n_times, n_rows)
        """
        n_moves, n_times, n_rows = cells.shape
        result = np.empty((n_moves, self.n_outputs, n_times, n_rows))
        for m, move in enumerate(moves):
            for part in slices(n_rows, move.n_cells * self.n_outputs):
                ice = self.curves(rows.block(part), move)
                own = np.arange(part.stop - part.start)
                result[m, :, :, part] = ice[:, own, cells[m, :, part]]
        return result

    def shapes(self, rows, move):
        """Yield the `Shape` of the curves of some rows, block by block.

        Parameters
        ----------
        rows : Rows
        move : Move
        """
        cells, steps = Cells.of(move), self.steps(rows.table, move)
        for block in rows.blocks(at_once(move.n_cells * self.n_outputs)):
            if steps is not None:
                yield StepCurves(block, cells, steps(block))
            else:
                yield Dense(block, cells, self.curves(block, move)[np.newaxis])

    def averaged(self, rows, n_columns):
        """Mean curves of many moves of the same rows.

        A response that can prepare for all moves at once overrides this.

        Parameters
        ----------
        rows : Rows
        n_columns : int
            How many columns of X move at once, at most. Behind steps that make several
            columns of one, more columns may move.

        Returns
        -------
        callable
            averaged(move) -> as `mean_curves`.
        """
        return partial(self.mean_curves, rows)

    @property
    def outputs_cost(self):
        """What outputs but the first add to a call, and to a value of a curve."""
        return OUTPUT * (self.n_outputs - 1)

    def call_cost(self):
        """What a call of the model for one row costs; see `cost`."""
        return 1.0 + self.outputs_cost

    def row_cost(self, n_cells, grouped=False):
        """What the curve of one row costs, by the number of its values; see `cost`."""
        return n_cells * (1.0 + self.outputs_cost)

    def cost(self, n_rows, n_cells, reduction=None, grouped=False):
        """What the curves of one feature cost. The unit is one number written.

        That takes about 20 nanoseconds.

        Parameters
        ----------
        n_rows, n_cells : int
        reduction : Reduction or None
            For which a shape of the curves may do; None: for `curves` themselves.
        grouped : bool
            Whether the feature has several columns, and `n_cells` joint values.
        """
        return n_rows * self.row_cost(n_cells, grouped) if n_cells > 1 else 0.0

    def affordable(self, n_drawn):
        """What exact numbers may cost where drawn ones take so many predictions.

        Only the costs of fast responses are known; a black box may be slow.
        """
        limit = TIMES_DRAWN * n_drawn * self.call_cost()
        return limit if self.asks_model else max(limit, NUMBERS_AFFORDABLE)

    def forms_no_curve(self, walk, position):
        """Whether the reductions of a position take no row's values on all cells."""
        return False

    def tasks(self, walk):
        """The `Tasks` that carry out a walk by this response."""
        return Tasks(self, walk)

    def coalitions(self, rows, features):
        """The `Coalitions` of features without a column in common, of all `Rows`."""
        kind = AdditiveCoalitions if self.additive else self.known_coalitions
        return kind(self, rows, features)


class BlackBoxResponse(Response):
    """Asks the model itself, some ten thousand rows per call.

    Parameters
    ----------
    model : Model
    n_outputs : int
    reason : str
        Why no faster response serves.
    """

    asks_model = True

    def __init__(self, model, n_outputs, reason=""):
        self.model = model
        self.n_outputs = n_outputs
        self.reason = reason
        self.path = f"black box ({reason})" if reason else "black box"

    def curves(self, rows, move):
        n_cells, n_rows = move.n_cells, len(rows)
        if move.codes is None:
            which = np.arange(n_rows * n_cells)
        else:  # a row moved to its own value is the row itself
            own = move.codes[rows.index][:, np.newaxis] == np.arange(n_cells)
            which = np.flatnonzero(~own.ravel())
        ice = np.repeat(rows.base[:, :, np.newaxis], n_cells, axis=2)
        flat, row = ice.reshape(len(ice), -1), rows.index[which // n_cells]
        flat[:, which] = self.at(rows.table, row, move, which % n_cells)
        return ice

    def curves_of(self, rows, moves):
        """A list of the curves of each move, in one call of the model.

        For some models, such as forests, a call costs more than a few thousand rows.
        """
        asked = []
        for move in moves:
            every_row, every_cell = all_cells(rows.index, move)
            asked.append((every_row, move, every_cell))
        return [
            part.reshape(self.n_outputs, len(rows), -1)
            for part in self.at_several(rows.table, asked)
        ]

    def at_several(self, table, asked):
        """A list of what `at` gives for each (rows, Move, cells), in one call."""
        sizes = [len(rows) for rows, _, _ in asked]
        if len(asked) > 1 and sum(sizes):
            calls = [move.replaced(rows, cells) for rows, move, cells in asked]
            try:
                outputs = self.model(table.moved_together(calls)).T
                return np.split(outputs, np.cumsum(sizes)[:-1], axis=1)
            except OverBudget:
                raise
            except ValueError:  # asked move by move, the message is more exact
                pass
        return [self.at(table, *one) for one in asked]

    def at(self, table, rows, move, cells):
        """The response of single moved rows.

        result[o, m] = f_o(x_rows[m] with the feature at v_cells[m])

        Parameters
        ----------
        table : Table
        rows, cells : ndarray of shape (n,)
        move : Move

        Returns
        -------
        ndarray of shape (n_outputs, n)
        """
        result = np.empty((self.n_outputs, len(rows)))
        for part in call_slices(len(rows), table.n_columns, self.n_outputs):
            moved = table.moved(*move.replaced(rows[part], cells[part]))

            def where(m, start=part.start):
                row, cell = rows[start + m], cells[start + m]
                at = move.values_at(np.array([row]), np.array([cell]))[0].tolist()
                at = at[0] if len(at) == 1 else at
                return f"with {move.feature.name!r} set to {at!r}, in row {row} of X"

            result[:, part] = self.model(moved, where).T
        return result


def all_cells(rows, move):
    """Rows and cells of every row at every cell."""
    n_cells = len(move.probabilities)
    return rows.repeat(n_cells), np.tile(np.arange(n_cells), len(rows))
