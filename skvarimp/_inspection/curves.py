"""scikit-learn's brute partial dependence, from fast responses."""

import numpy as np

from skvarimp._data.entries import Entry
from skvarimp._data.table import as_table
from skvarimp._inspection.responses import Responses
from skvarimp._measures.interaction.statistics import takes_numbers
from skvarimp._response.grid import Move
from skvarimp._running.memory import HELD, even_slices


class FastCurves:
    """Takes the place of the function that moves X through a grid.

    Parameters
    ----------
    original : callable
        scikit-learn's, which serves where this cannot.
    kind : {"average", "individual", "both"}
        Whether the curves of single rows are wanted.
    """

    def __init__(self, original, kind):
        self.original, self.kind = original, kind

    def __call__(self, *given):
        """Averages (n_outputs, n_points) and predictions, as scikit-learn's."""
        found = self._fast(*given)
        return self.original(*given) if found is None else found

    def _fast(self, est, grid, features, X, response_method, sample_weight):
        grid = np.asarray(grid)
        if grid.dtype.kind not in "fiu" or not hasattr(X, "shape"):
            return None
        table, columns = as_table(X), tuple(int(j) for j in np.ravel(features))
        entry = Entry("moved", columns, len(columns) > 1)
        if len(set(columns)) < len(columns) or not takes_numbers(table, entry):
            return None
        problem, response = Responses(est, table, [entry]).of(response_method)
        if response is None:
            return None
        grid = grid.astype(np.float64)
        values, back = np.unique(grid, axis=0, return_inverse=True)
        back = np.ravel(back)
        if len(columns) == 1:
            values = values[:, 0]
        equal = np.full(len(values), 1.0 / len(values))
        move = Move(entry, values, None, equal, None, False)
        n = problem.table.n_samples
        weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight)
        weights = weights / weights.sum()
        base = problem.base
        if self.kind == "average":
            rows = np.arange(n)
            means = response.mean_curves(problem.table, rows, weights, move, base)
            means = means + (base @ weights)[:, np.newaxis]
            predictions = np.zeros((len(base), n, len(back)))
        else:
            curves = np.empty((len(base), n, len(values)))
            step = max(1, HELD // len(values))
            for part in even_slices(n, step):
                rows = np.arange(part.start, part.stop)
                curves[:, part] = response.curves(
                    problem.table, rows, move, base[:, part]
                )
            means = np.einsum("onk,n->ok", curves, weights)
            predictions = curves[:, :, back]
        if len(base) == 1:
            predictions = predictions[0]
        return means[:, back], predictions
