"""What reductions are given of a block of rows, keep of it, and give in the end."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse


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

    @property
    def moved(self):
        """ICE values minus the unmoved response, (n_entries, n_outputs, n_rows, k)."""
        return self.ice - self.base[..., np.newaxis]

    @property
    def chances(self):
        """Probabilities that go with the ICE values, of a shape that broadcasts."""
        return self.probabilities[:, np.newaxis, np.newaxis, :]

    def over_cells(self, values):
        """sum_k p[b, k] values[b, o, i, k]."""
        return np.matmul(values, self.chances[:, 0, :, :, np.newaxis])[..., 0]

    def over_rows(self, values, weights=None):
        """sum_i w[i] values[b, o, i, k]; other weights (n_entries, n_outputs, i)."""
        if weights is None:
            return np.matmul(self.weights, values)
        return np.matmul(weights[:, :, np.newaxis], values)[:, :, 0]

    def moved_over_rows(self):
        """sum_i w[i] moved[b, o, i, k]."""
        return self._added(sparse.csr_array(self.weights[np.newaxis]))[:, :, 0]

    def moved_by_group(self, signs, groups, n_groups):
        """Sums of signs[i] moved[b, o, i, k] over the rows of each group."""
        where = (groups, np.arange(len(groups)))
        return self._added(
            sparse.csr_array((signs, where), shape=(n_groups, len(groups)))
        )

    def _added(self, add):
        """A sparse matrix times `moved`; a curve that is constant stays exactly so."""
        n_entries, n_outputs, _, n_cells = self.ice.shape
        base = np.broadcast_to(self.base, self.ice.shape[:3])
        result = np.empty((n_entries, n_outputs, add.shape[0], n_cells))
        for at in np.ndindex(n_entries, n_outputs):
            result[at] = add @ self.ice[at]
            result[at] -= (add @ base[at])[:, np.newaxis]
        return result


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
    apart : ndarray of shape (n_entries, n_outputs, n_rows, n_cells) or None
        Each row's moved curve, in place of a sketch.
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

    def expanded(self):
        """The state over grid values, from one over cells that hold several."""
        cells = self.cell_of_value
        if cells is None:
            return self

        def expand(array):
            return None if array is None else array[..., cells]

        sketch = self.sketch if self.basis is not None else expand(self.sketch)
        return State(
            self.rows,
            expand(self.cells),
            sketch,
            expand(self.basis),
            expand(self.apart),
        )


class Merging:
    """Merges the states of consecutive blocks of rows as they arrive."""

    def __init__(self):
        self._blocks, self._sums, self._own = {"rows": [], "apart": []}, None, False

    def add(self, state):
        """Take the next block's state."""
        for name, blocks in self._blocks.items():
            blocks.append(getattr(state, name))
        if self._sums is None:
            self._sums = replace(state, rows=None, apart=None)
            return
        for name in ("cells", "sketch"):
            total, more = getattr(self._sums, name), getattr(state, name)
            if total is None:
                continue
            if self._own:  # the first block's arrays may be another's
                total += more
            else:
                setattr(self._sums, name, total + more)
        self._own = True

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
    curves : ndarray of shape (n_entries, n_outputs, n_cells) or None
    influences : ndarray of shape (n_entries, n_rows) or None
        How much each row moves the importance, where `Sample.keep_rows` asks for it.
    contributions : ndarray of shape (n_entries, n_rows) or None
        Each row's own importance, where the importance is their mean.
    """

    importances: np.ndarray
    standard_errors: np.ndarray | None
    curves: np.ndarray | None = None
    influences: np.ndarray | None = None
    contributions: np.ndarray | None = None


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
    keep_rows : bool
        Whether `Finished` is to hold the numbers of single rows.
    """

    weights: np.ndarray
    total_weight: float
    base: np.ndarray
    codes: np.ndarray | None
    probabilities: np.ndarray
    multiplicity: np.ndarray
    scale: np.ndarray
    categorical: np.ndarray | None = None
    keep_rows: bool = False

    def finished(self, importances, influences, contributions=None, curves=None):
        """`Finished` with the standard error of the mean over outputs.

        Infinitesimal jackknife: (sum_i psi_i^2)^(1/2) / n, integer weights counting
        as repeated rows.

        Parameters
        ----------
        importances : ndarray of shape (n_entries, n_outputs)
            Scaled already, unlike the following.
        influences : ndarray of shape (n_entries, n_outputs, n_rows)
        contributions : ndarray of shape (n_entries, n_outputs, n_rows), default=None
        curves : ndarray of shape (n_entries, n_outputs, n_cells), default=None
        """
        psi = self._scaled_mean(influences)
        variance = np.einsum("bi,i->b", psi**2, self.weights) / self.total_weight
        finished = Finished(importances, np.sqrt(variance), curves)
        if self.keep_rows:
            finished.influences = psi
            if contributions is not None:
                finished.contributions = self._scaled_mean(contributions)
        return finished

    def _scaled_mean(self, of_outputs):
        return (of_outputs / self.scale[:, np.newaxis]).mean(axis=1)
