"""What reductions keep of a block of rows, and what they give in the end."""

from dataclasses import dataclass, replace

import numpy as np

from skvarimp._data.units import Units


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
        first, _, _ = parts[0]
        rows, cells = np.zeros((*first.rows.shape[:2], n_rows)), None
        if first.cells is not None:
            cells = np.zeros((*first.cells.shape[:2], n_cells))
        for state, at, of_cells in parts:
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
class Finished:
    """Final numbers of a reduction.

    Attributes
    ----------
    importances : ndarray of shape (n_entries, n_outputs)
    standard_errors : ndarray of shape (n_entries,) or None
        Of the mean over the outputs.
    monte_carlo_errors : float or None
        Of drawn numbers: the error of drawing; of several entries an array, as the two
        that follow. It is NaN for one repeat of every row, and the standard error with
        it.
    n_draws : int or None
    largest_draw : float or None
        Largest size of a draw.
    influences : ndarray of shape (n_entries, n_rows) or None
        How much each row moves the importance, where `Sample.keep_rows` asks for it.
    contributions : ndarray of shape (n_entries, n_rows) or None
        Each row's own importance, where the importance is their mean.
    curves : ndarray of shape (n_entries, n_outputs, n_cells) or None
    errors_per_output : ndarray of shape (n_entries, n_outputs) or None
        Standard errors of each output by itself.
    skewness : ndarray of shape (n_entries,) or None
        Of the sampling error of the mean over the outputs; None where it is not known.
    """

    importances: np.ndarray
    standard_errors: np.ndarray | None
    monte_carlo_errors: float | None = None
    n_draws: int | None = None
    largest_draw: float | None = None
    influences: np.ndarray | None = None
    contributions: np.ndarray | None = None
    curves: np.ndarray | None = None
    errors_per_output: np.ndarray | None = None
    skewness: np.ndarray | None = None


@dataclass
class Sample:
    """What `finish` needs to know of the evaluated rows.

    Attributes
    ----------
    weights : ndarray of shape (n_rows,) or (n_entries, n_rows)
        Sum to 1.
    units : Units
        The independent rows, for standard errors.
    base : ndarray of shape (n_outputs, n_rows)
    codes : ndarray of shape (n_entries, n_rows), slice or None
        The cell of each row's own value; a slice of all cells where row i has cell i.
        None: rows are not donors of the grid.
    probabilities, multiplicity : ndarray of shape (n_entries, n_cells)
    scale : ndarray of shape (n_outputs,)
        What importances are divided by.
    level : ndarray of shape (n_outputs,)
        Mean response of the unmoved rows.
    keep_rows : bool
        Whether `Finished` is to hold the numbers of single rows.
    parts : ndarray of shape (n_rows,) or None
        The part of each row, where rows are donors of their own part only.
    squares : ndarray of shape (n_outputs, n_rows) or None
        `squared_deviations` where they do not follow from `base`.
    """

    weights: np.ndarray
    units: Units
    base: np.ndarray
    codes: np.ndarray | slice | None
    probabilities: np.ndarray
    multiplicity: np.ndarray
    scale: np.ndarray
    level: np.ndarray
    keep_rows: bool = False
    parts: np.ndarray | None = None
    squares: np.ndarray | None = None

    def squared_deviations(self):
        """Squared deviations of the rows' response from its mean."""
        if self.squares is not None:
            return self.squares
        return (self.base - self.level[:, np.newaxis]) ** 2

    def of_donors(self, rows, cells):
        """What each row adds to the importance as donor, minus the mean of all donors.

        Where there are parts, minus the mean of the donors of the row's own part.

        Parameters
        ----------
        rows : ndarray of shape (n_entries, n_outputs, n_rows)
            Each row's mean over its cells.
        cells : ndarray of shape (n_entries, n_outputs, n_cells)
            Weighted sums over the rows, of each cell.

        Returns
        -------
        ndarray of shape (n_entries, n_outputs, n_rows)
        """
        if self.parts is None:
            means = np.matmul(rows, self.weights[..., np.newaxis])
            return self.donated(cells) - means
        masses = np.bincount(self.parts, self.weights)
        means = np.empty((*rows.shape[:2], len(masses)))
        for at in np.ndindex(*rows.shape[:2]):
            means[at] = np.bincount(self.parts, self.weights * rows[at]) / masses
        donated = self.donated(cells) / masses[self.parts]
        return donated - means[..., self.parts]

    def donated(self, cells):
        """Of numbers of cells, (..., n_cells), those of the rows' own."""
        if isinstance(self.codes, slice):
            return cells[..., self.codes]
        return np.take_along_axis(cells, self.codes[:, np.newaxis, :], axis=2)

    def finished(self, importances, influences, contributions=None, curves=None):
        """`Finished` with standard errors, of the mean over outputs and of each.

        By the infinitesimal jackknife, see `Units`.

        Parameters
        ----------
        importances : ndarray of shape (n_entries, n_outputs)
            Scaled already, unlike the following.
        influences : ndarray of shape (n_entries, n_outputs, n_rows)
        contributions : ndarray of shape (n_entries, n_outputs, n_rows), default=None
        curves : ndarray of shape (n_entries, n_outputs, n_cells), default=None
        """
        psi = self._scaled_mean(influences)
        errors = self.units.error(psi)
        finished = Finished(importances, errors, curves=curves)
        finished.skewness = self.units.skewness(psi, errors)
        of_outputs = self.units.error(np.moveaxis(influences, 1, 0))
        finished.errors_per_output = of_outputs.T / self.scale
        if self.keep_rows:
            finished.influences = psi
            if contributions is not None:
                finished.contributions = self._scaled_mean(contributions)
        return finished

    def _scaled_mean(self, of_outputs):
        return np.einsum("boi,o->bi", of_outputs, 1.0 / (len(self.scale) * self.scale))


class Draw:
    """What is drawn: (row, donors) and their contribution to the importance.

    Attributes
    ----------
    n_moves : int
        Donors of one draw.
    donor_factor : int
        How much of a row's influence is that as donor.
    """

    def contribution(self, base, moved, y):
        """(n_outputs, n) from the moved responses, a list of (n_outputs, n)."""
        raise NotImplementedError

    def unmoved(self, base, y):
        """What `further_influence` must know of each unmoved row, (n_rows,); or 0."""
        return 0.0

    def further_influence(self, theta, unmoved):
        """Influence of the rows, (n_rows,), through what the mean is divided by."""
        return 0.0
