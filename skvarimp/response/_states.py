"""What reductions are given of a block of rows, keep of it, and give in the end."""

from dataclasses import dataclass, replace

import numpy as np


@dataclass
class Block:
    """ICE values of some rows.

    Attributes
    ----------
    ice : ndarray of shape (n_entries, n_outputs, n_rows, n_cells)
    base : ndarray of shape (1 or n_entries, n_outputs, n_rows)
        The response of the unmoved rows.
    weights : ndarray of shape (n_rows,)
        Row weights; over all blocks they sum to 1.
    rows : slice
        Which of the evaluated rows these are.
    probabilities : ndarray of shape (n_entries, n_cells)
    multiplicity : ndarray of shape (n_entries, n_cells)
        How many distinct grid values each cell holds.
    y : ndarray of shape (n_rows, ...) or None
    categorical : ndarray of shape (n_entries,) or None
        Whether an entry is categorical.
    """

    ice: np.ndarray
    base: np.ndarray
    weights: np.ndarray
    rows: slice
    probabilities: np.ndarray
    multiplicity: np.ndarray
    y: np.ndarray | None = None
    categorical: np.ndarray | None = None

    CHUNK_ELEMENTS = 2**17  # one array of them stays in the processor's cache

    def chunks(self):
        """The block in parts of rows small enough for the processor's cache."""
        n_rows = len(self.weights)
        step = max(1, self.CHUNK_ELEMENTS * n_rows // self.ice.size)
        if step >= n_rows:
            yield self
            return
        first = self.rows.start
        for start in range(0, n_rows, step):
            part = slice(start, min(start + step, n_rows))
            yield replace(
                self,
                ice=self.ice[:, :, part],
                base=self.base[:, :, part],
                weights=self.weights[part],
                rows=slice(first + part.start, first + part.stop),
                y=None if self.y is None else self.y[part],
            )


@dataclass
class State:
    """What a reduction keeps of the rows seen so far.

    Attributes
    ----------
    rows : ndarray of shape (n_entries, n_outputs, n_rows) or None
        Each row's own mean contribution.
    cells : ndarray of shape (n_entries, n_outputs, n_cells) or None
        Weighted sums over the rows, a cell.
    sketch : ndarray of shape (n_entries, n_outputs, n_groups, n_cells) or None
        Signed sums over the rows of each group, a cell.
    basis : ndarray of shape (n_entries, n_outputs, n_functions, n_cells) or None
        Where the curves are sums of a few functions of the cell: `sketch` is then
        (n_entries, n_outputs, n_groups, n_functions) and sketch @ basis is meant.
        The same for all rows.
    """

    rows: np.ndarray | None = None
    cells: np.ndarray | None = None
    sketch: np.ndarray | None = None
    basis: np.ndarray | None = None

    @staticmethod
    def merged(states):
        """One state of consecutive blocks of rows."""
        if len(states) == 1:
            return states[0]

        def join(name, how):
            parts = [getattr(state, name) for state in states]
            return None if parts[0] is None else how(parts)

        return State(
            join("rows", lambda parts: np.concatenate(parts, axis=2)),
            join("cells", sum),
            join("sketch", sum),
            states[0].basis,
        )

    def expanded(self, cell_of_value):
        """The state over grid values, from one over cells that hold several."""

        def expand(array):
            return None if array is None else array[..., cell_of_value]

        if self.basis is not None:
            return replace(self, cells=expand(self.cells), basis=expand(self.basis))
        return State(self.rows, expand(self.cells), expand(self.sketch))


@dataclass
class Finished:
    """Final numbers of a reduction.

    Attributes
    ----------
    importances : ndarray of shape (n_entries, n_outputs)
    standard_errors : ndarray of shape (n_entries,) or None
        Of the mean over the outputs.
    curves : ndarray of shape (n_entries, n_outputs, n_cells) or None
    """

    importances: np.ndarray
    standard_errors: np.ndarray | None
    curves: np.ndarray | None = None


@dataclass
class Sample:
    """What `finish` needs to know of the evaluated rows.

    Attributes
    ----------
    weights : ndarray of shape (n_rows,)
        Sum to 1.
    total_weight : float
        What the weights summed to before; the sample size of the standard errors.
    base : ndarray of shape (n_outputs, n_rows)
    codes : ndarray of shape (n_entries, n_rows) or None
        The cell of each row's own value; None: rows are no donors of the grid.
    probabilities, multiplicity : ndarray of shape (n_entries, n_cells)
    scale : ndarray of shape (n_outputs,)
        What importances are divided by.
    categorical : ndarray of shape (n_entries,) or None
        Whether an entry is categorical.
    """

    weights: np.ndarray
    total_weight: float
    base: np.ndarray
    codes: np.ndarray | None
    probabilities: np.ndarray
    multiplicity: np.ndarray
    scale: np.ndarray
    categorical: np.ndarray | None = None

    def error(self, projections):
        """Standard error of the mean over outputs from its influence function.

        Infinitesimal jackknife: (sum_i psi_i^2)^(1/2) / n, integer weights counting
        as repeated rows. `projections` is (n_entries, n_outputs, n_rows), unscaled.
        """
        psi = (projections / self.scale[:, np.newaxis]).mean(axis=1)
        return np.sqrt(np.einsum("bi,i->b", psi**2, self.weights) / self.total_weight)
