"""The contract of a response: how a model's output moves as one entry moves.

With f the model, x_i the evaluated rows, v_k the grid values of a move on the columns
J of the table:

    outputs[o, i]   = f_o(x_i)
    curves[o, i, k] = f_o(x_i with x_iJ := v_k)

Each form has a response, which is entered in `lowering.py`. It must give `curves`. It
may give more, where it knows a shorter way than the default:

=========================== ==================================================
`steps`, `shapes`           the curves by their steps, or in another `Shape`
`mean_curves`, `averaged`   means of curves over the rows
`at_cells`                  few cells of each curve, for scores
`critical_values`, `inside` what the probe should look at
`costs`, `evaluations`      what ``estimation="auto"`` decides by
`walker`                    how a walk is carried out, by a `Walker` of its own
=========================== ==================================================
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from skvarimp._response.reductions import Reduction
from skvarimp._response.shapes.shape import Dense, Margins, reduced
from skvarimp._response.shapes.steps import StepCurves
from skvarimp._response.states import Merging, State
from skvarimp._running.memory import BLOCK, at_once, even_slices, slices

OUTPUT = 2.0  # what each further output adds to a call and to a value of a curve


@dataclass(frozen=True)
class Costs:
    """What a response costs. The unit is one number written: about 20 nanoseconds.

    A response states them for one output; `of_outputs` adds the others.

    Attributes
    ----------
    call : float
        The model itself, for one row.
    row : float
        A row's curve, whatever its number of values.
    cell : float
        Each value of a curve.
    joint : float or None
        Each joint value of columns that move together; None: the same as `cell`.
    """

    call: float = 1.0
    row: float = 0.0
    cell: float = 1.0
    joint: float | None = None

    def evaluations(self, n_rows, n_cells, grouped=False):
        """Cost of curves of one entry, in calls of the model; see the response."""
        if grouped and self.joint is not None:
            return n_rows * n_cells * self.joint / self.call
        if n_cells == 1:
            return 0.0
        return n_rows * (self.row + self.cell * n_cells) / self.call

    def of_outputs(self, n_outputs):
        """The costs of several outputs, all of which are written.

        A curve whose values cost nothing is known as steps, which `row` counts.
        """
        more = OUTPUT * (n_outputs - 1)
        cell = self.cell + more if self.cell else 0.0
        joint = None if self.joint is None else self.joint + more
        return Costs(self.call + more, self.row, cell, joint)

    @staticmethod
    def added(parts):
        """Costs of several members and of one function of their outputs."""
        joint = [c.cell if c.joint is None else c.joint for c in parts]
        return Costs(
            sum(c.call for c in parts),
            sum(c.row for c in parts),
            sum(c.cell for c in parts) + 1.0,
            sum(joint) + 1.0,
        )


@dataclass(frozen=True)
class Task:
    """A part of a walk that is computed in one go.

    Attributes
    ----------
    positions : tuple of int
        Moves served.
    rows : slice
        Evaluated rows covered.
    """

    positions: tuple
    rows: slice


class Response:
    """How a model responds when an entry moves; see the module's formulas.

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
    gap : float
        How near outputs other than 0 and 1 can be to 0 and 1; 0 if not known.
    """

    path = "response"
    additive = False
    rounding = 0.0
    prefer = None
    reads_cells = False
    gap = 0.0

    def curves(self, table, rows, move, base):
        """ICE curves of some rows.

        Parameters
        ----------
        table : Table
        rows : ndarray of shape (n_rows,)
            Rows of the table.
        move : Move
        base : ndarray of shape (n_outputs, n_rows)
            Their unmoved response.

        Returns
        -------
        ndarray of shape (n_outputs, n_rows, n_cells)
        """
        raise NotImplementedError

    def steps(self, table, move):
        """What gives the curves of a move by their steps.

        Returns
        -------
        callable or None
            steps(rows, base) -> Steps, of rows and base as in `curves`. None: the
            curves are not known by their steps.
        """
        return

    def mean_curves(self, table, rows, weights, move, base):
        """Weighted mean over the rows of their curves minus their unmoved response.

        result[o, k] = sum_i weights[i] (curves[o, i, k] - base[o, i])

        A response that knows the mean without forming each row's curve overrides this.
        Parameters as in `curves`; `weights` of shape (n_rows,).

        Returns
        -------
        ndarray of shape (n_outputs, n_cells)
        """
        of_rows = base[np.newaxis], weights, slice(0, len(rows))
        of_cells = move.probabilities[np.newaxis], np.ones((1, move.n_cells))
        margins = Margins(*of_rows, *of_cells)
        shapes = self.shapes(table, rows, move, margins)
        return State.merged(reduced([_Mean()], s)[0] for s in shapes).cells[0]

    def at_cells(self, table, rows, moves, base, cells):
        """The response of rows that are each moved to a few cells of their own.

            result[m, o, t, i] = curves[o, i, cells[m, t, i]] of moves[m]

        A response that finds these without whole curves, or for all moves at once,
        overrides this.

        Parameters
        ----------
        table, rows, base : see `curves`
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
                ice = self.curves(table, rows[part], move, base[:, part])
                own = np.arange(part.stop - part.start)
                result[m, :, :, part] = ice[:, own, cells[m, :, part]]
        return result

    def shapes(self, table, rows, move, margins):
        """Yield the curves of some rows block by block, in the shape that is known.

        Parameters
        ----------
        table : Table
        rows : ndarray of shape (n_rows,)
            Rows of the table.
        move : Move
        margins : Margins
            Of these rows and the move's cells.

        Yields
        ------
        Shape
        """
        step = at_once(move.n_cells * self.n_outputs)
        steps = self.steps(table, move)
        for part, of_part in margins.parts(step):
            base = of_part.base[0]
            if steps is not None:
                yield StepCurves(of_part, steps(rows[part], base))
            else:
                ice = self.curves(table, rows[part], move, base)
                yield Dense(of_part, ice[np.newaxis])

    def averaged(self, table, rows, weights, base, n_columns):
        """Mean curves of many moves of the same rows.

        A response that can prepare for all moves at once overrides this. Parameters as
        in `mean_curves`; `n_columns` is how many columns of X move at once, at most.
        Behind steps that make several columns of one, more columns may move.

        Returns
        -------
        callable
            averaged(move) -> as `mean_curves`.
        """
        return partial(self.mean_curves, table, rows, weights, base=base)

    def critical_values(self, column):
        """Values of a column next to which the response may jump, for the probe."""
        return np.empty(0)

    def inside(self, table):
        """Responses inside this one that see other columns, for the probe.

        Yields
        ------
        response : Response
        model : Model
            Whose response it is.
        table : Table
            What it sees of the table.
        entry_behind : callable
            The entry it sees of an entry.
        """
        return ()

    def costs(self):
        """What curves of one output cost, and a call of the model."""
        return Costs()

    def evaluations(self, n_rows, n_cells, reduction=None, grouped=False):
        """Cost of the curves of one entry, in calls of the model for one row.

        Parameters
        ----------
        n_rows, n_cells : int
        reduction : Reduction or None
            For which a shape of the curves may do; None: for `curves` themselves.
        grouped : bool
            Whether the entry has several columns, and `n_cells` joint values.
        """
        costs = self.costs().of_outputs(self.n_outputs)
        return costs.evaluations(n_rows, n_cells, grouped)

    def walker(self, walk):
        """The `Walker` that carries out a walk by this response."""
        return Walker(self, walk)


class Walker:
    """How a response carries out a walk: one entry after the other, in blocks of rows.

    A response that serves many entries at once, or reduces without forming curves, has
    a walker of its own, which overrides `tasks` and `run`.

    Parameters
    ----------
    response : Response
    walk : Walk
    """

    # Evaluations in one task: enough to keep a worker busy, and few enough for a
    # progress bar to move and a stop to be heard soon.
    TASK_EVALUATIONS = BLOCK

    def __init__(self, response, walk):
        self.response, self.walk = response, walk

    def tasks(self):
        """The parts of the walk; the grids of one entry follow each other."""
        n_entries, n_moves = self.walk.n_entries, len(self.walk.moves)
        for e in range(n_entries):
            for position in range(e, n_moves, n_entries):
                yield from self.tasks_of(position)

    def tasks_of(self, position):
        """The parts of one position: blocks of rows."""
        per_row = max(1, int(self.walk.moves[position].cells_per_row))
        step = max(1, self.TASK_EVALUATIONS // per_row)
        for part in even_slices(len(self.walk.rows), step):
            yield Task((position,), part)

    def run(self, task):
        """The merged states of one task.

        Returns
        -------
        list of (positions, states)
            `positions` a tuple of moves with equally many cells, `states` one `State`
            a reduction, whose arrays have one leading entry a position. Where the walk
            is `final` and the task holds all rows, `states` may be one `Finished` a
            reduction.
        """
        return [
            ((position,), self.reduced(position, task.rows))
            for position in task.positions
        ]

    def reduced(self, position, rows):
        """States of a position's reductions over some of the evaluated rows."""
        walk, move = self.walk, self.walk.moves[position]
        reductions = walk.reductions_of(position)
        if move.parts is None:
            return self.reduced_along(move, rows, reductions)
        parts = [[] for _ in reductions]
        for of_part, at, cells in move.parts.split(move, walk.rows[rows]):
            states = self.reduced_along(of_part, rows.start + at, reductions)
            for of_one, state in zip(parts, states):
                of_one.append((state, at, cells))
        sizes = rows.stop - rows.start, move.n_cells
        return [State.of_parts(of_one, *sizes) for of_one in parts]

    def reduced_along(self, move, rows, reductions, multiplicity=None):
        """States of some evaluated rows that all go through the cells of a move."""
        walk = self.walk
        margins = walk.margins(rows, move.probabilities[np.newaxis], multiplicity)
        merging = [Merging() for _ in reductions]
        shapes = self.response.shapes(walk.table, walk.rows[rows], move, margins)
        for shape in shapes:
            all_rows = shape.margins.n_rows == len(walk.rows)
            for of_blocks, state in zip(merging, reduced(reductions, shape)):
                # the next block may have another basis
                of_blocks.add(state if all_rows else state.on_cells())
        return [of_blocks.merged() for of_blocks in merging]


class _Mean(Reduction):
    """The mean curve alone."""

    def reduce(self, shape):
        return State(cells=shape.sums(shape.margins.weights))
