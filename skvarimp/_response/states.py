"""What reductions keep of a block of rows, and the numbers of all entries."""

from dataclasses import dataclass, field, replace

import numpy as np

# What an `Outcome` takes from a `Finished` besides importances, curves and rows.
NUMBERS = (
    "standard_errors",
    "skewness",
    "errors_per_output",
    "monte_carlo_errors",
    "n_draws",
)


@dataclass
class State:
    """What a reduction keeps of the rows seen so far.

    Attributes
    ----------
    rows : ndarray of shape (n_entries, n_outputs, n_rows) or None
        Each row's own mean contribution.
    cells : ndarray of shape (n_entries, n_outputs, n_cells) or None
        Weighted sums over the rows, one per cell.
    sketch : ndarray of shape (n_entries, n_outputs, n_groups, n_cells) or None
        Signed sums over the rows of each group, one per cell.
    basis : ndarray of shape (n_entries, n_outputs, n_functions, n_cells) or None
        Where the curves are sums of a few functions of the cell: `sketch` is then
        (n_entries, n_outputs, n_groups, n_functions) and sketch @ basis is meant.
        The same for all rows.
    apart : ndarray of shape (n_entries, n_outputs, n_rows, n_cells) or None
        Each row's moved curve, instead of a sketch; perhaps over the basis.
    cell_of_value : ndarray of shape (n_values,) or None
        The cell of each grid value, where one cell holds several; None: its own.
    """

    rows: np.ndarray | None = None
    cells: np.ndarray | None = None
    sketch: np.ndarray | None = None
    basis: np.ndarray | None = None
    apart: np.ndarray | None = None
    cell_of_value: np.ndarray | None = None

    @staticmethod
    def merged(states):
        """One state of consecutive blocks of rows; takes them one by one."""
        merging = Merging()
        for state in states:
            merging.add(state)
        return merging.merged()

    @staticmethod
    def of_parts(parts, n_rows, n_cells):
        """One state of parts of the rows that have cells of their own.

        Parameters
        ----------
        parts : list of (State, ndarray of int, slice)
            With the positions of their rows, and their cells.
        n_rows, n_cells : int
            Of all parts.
        """
        (first, _, _), rows, cells = parts[0], None, None
        if first.rows is not None:
            rows = np.zeros((*first.rows.shape[:2], n_rows))
        if first.cells is not None:
            cells = np.zeros((*first.cells.shape[:2], n_cells))
        for state, at, of_cells in parts:
            if rows is not None:
                rows[:, :, at] = state.rows
            if cells is not None:
                cells[:, :, of_cells] = state.cells
        return State(rows, cells)

    def changed(self, function, *names, **more):
        """The state with a function of some of its arrays in their place."""
        arrays = {name: getattr(self, name) for name in names}
        known = {name: function(a) for name, a in arrays.items() if a is not None}
        return replace(self, **known, **more)

    def single(self, b):
        """The state of one entry."""
        names = "rows", "cells", "sketch", "basis", "apart"
        return self.changed(lambda array: array[b : b + 1], *names)

    def on_cells(self):
        """The state with its sums over the cells, from one over a basis."""
        if self.basis is None:
            return self
        names = "sketch", "apart"
        return self.changed(lambda a: np.matmul(a, self.basis), *names, basis=None)

    def expanded(self):
        """The state over grid values, from one over cells that hold several."""
        cells = self.cell_of_value
        if cells is None:
            return self
        names = "cells", "apart", "sketch" if self.basis is None else "basis"
        return self.changed(lambda a: a[..., cells], *names, cell_of_value=None)


class Merging:
    """Merges the states of consecutive blocks of rows as they arrive."""

    def __init__(self):
        self._blocks, self._sums = {"rows": [], "apart": []}, None

    def add(self, state):
        """Take the next block's state."""
        for name, blocks in self._blocks.items():
            blocks.append(getattr(state, name))
        if self._sums is None:
            sums = replace(state, rows=None, apart=None)
            # the first block's arrays may be another's
            self._sums = sums.changed(np.copy, "cells", "sketch")
            return
        for name in ("cells", "sketch"):
            total = getattr(self._sums, name)
            if total is not None:
                total += getattr(state, name)

    def merged(self):
        """The state of all blocks."""
        return replace(
            self._sums,
            **{name: self._joined(blocks) for name, blocks in self._blocks.items()},
        )

    @staticmethod
    def _joined(blocks):
        if blocks[0] is None or len(blocks) == 1:
            return blocks[0]
        return np.concatenate(blocks, axis=2)


@dataclass
class Waiting:
    """States of moves, some rows at a time, until the last rows are in.

    Attributes
    ----------
    n_rows : int
        Of all blocks together.
    merging : dict
        Positions -> how many rows there are so far, and the `Merging` of each state.
    """

    n_rows: int
    merging: dict = field(default_factory=dict)

    def complete(self, results, n_rows):
        """Yield (positions, merged states) where a block of rows is the last.

        Parameters
        ----------
        results : list of (positions, states)
            Of the block. What is no `State` is complete already.
        n_rows : int
            Of the block.
        """
        for positions, states in results:
            if not isinstance(states[0], State):
                yield positions, states
                continue
            new = (0, [Merging() for _ in states])
            n_seen, merging = self.merging.pop(positions, new)
            for of_one, state in zip(merging, states):
                of_one.add(state)
            if n_seen + n_rows < self.n_rows:
                self.merging[positions] = n_seen + n_rows, merging
            else:
                yield positions, [of_one.merged() for of_one in merging]


@dataclass
class Outcome:
    """One reduction of one request, over all entries.

    Attributes
    ----------
    importances : ndarray of shape (n_entries, n_outputs)
        NaN for entries that a stop came before.
    standard_errors : ndarray of shape (n_entries,)
        NaN where there is none.
    curves : list of (ndarray of shape (n_outputs, n_cells) or None)
    monte_carlo_errors, n_draws : ndarray of shape (n_entries,) or None
        Of drawn numbers: the error of drawing, and how many draws there were.
    influences, contributions : ndarray of shape (n_rows, n_entries) or None
        Of single rows, see `Finished`; None where they are not kept or there are none.
    errors_per_output : ndarray of shape (n_entries, n_outputs) or None
        NaN where there is none.
    skewness : ndarray of shape (n_entries,) or None
        Of the sampling error; NaN where it is not known.
    directions, effects : ndarray or None
        As in `Finished`, of all entries; NaN where there is none.
    complete : ndarray of bool of shape (n_entries,) or None
        Which entries were drawn as often as wanted, where draws were stopped.
    """

    importances: np.ndarray
    standard_errors: np.ndarray
    curves: list
    monte_carlo_errors: np.ndarray | None = None
    n_draws: np.ndarray | None = None
    influences: np.ndarray | None = None
    contributions: np.ndarray | None = None
    errors_per_output: np.ndarray | None = None
    skewness: np.ndarray | None = None
    directions: np.ndarray | None = None
    effects: np.ndarray | None = None
    complete: np.ndarray | None = None

    @classmethod
    def empty(cls, n_entries, n_outputs):
        """To be filled as the entries are finished."""
        return cls(
            np.full((n_entries, n_outputs), np.nan),
            np.full(n_entries, np.nan),
            [None] * n_entries,
            errors_per_output=np.full((n_entries, n_outputs), np.nan),
            skewness=np.full(n_entries, np.nan),
        )

    @classmethod
    def drawn(cls, n_entries, n_outputs):
        """As `empty`, with room for what only drawn numbers have."""
        outcome = cls.empty(n_entries, n_outputs)
        outcome.monte_carlo_errors = np.full(n_entries, np.nan)
        outcome.n_draws = np.zeros(n_entries, dtype=np.intp)
        return outcome

    @classmethod
    def all_empty(cls, n_entries, scales):
        """One for each reduction of each request, from what they are divided by."""
        return [[cls.empty(n_entries, len(s)) for s in every] for every in scales]

    def store(self, entries, finished):
        """Take the numbers of some entries from their `Finished`."""
        self.importances[entries] = finished.importances
        for name in NUMBERS:
            if getattr(finished, name) is not None:
                getattr(self, name)[entries] = getattr(finished, name)
        if finished.curves is not None:
            for e, curve in zip(entries, finished.curves):
                self.curves[e] = curve
        for name in ("influences", "contributions"):
            values = getattr(finished, name)
            if values is None:
                continue
            values = np.atleast_2d(values).T
            if getattr(self, name) is None:
                shape = len(values), len(self.importances)
                setattr(self, name, np.full(shape, np.nan, order="F"))
            getattr(self, name)[:, entries] = values
        for name in ("directions", "effects"):
            values = getattr(finished, name)
            if values is None:
                continue
            if getattr(self, name) is None:
                shape = len(self.importances), *values.shape[1:]
                setattr(self, name, np.full(shape, np.nan))
            getattr(self, name)[entries] = values

    def times(self, factor):
        """The outcome with importances, errors and numbers of rows times a factor."""
        names = "importances", "standard_errors", "monte_carlo_errors"
        for name in (*names, "influences", "contributions"):
            if getattr(self, name) is not None:
                setattr(self, name, factor * getattr(self, name))
        return self
