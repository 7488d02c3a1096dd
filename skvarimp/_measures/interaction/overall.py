"""Friedman's H of an entry with all others, as a reduction of the curves."""

from dataclasses import dataclass

import numpy as np

from skvarimp._data.statistics import divided
from skvarimp._response.reductions.reductions import Finished, Reduction, State

MOST_VALUES = 1e10  # responses of one entry


def check_affordable(problem, entries, request):
    """Refuse entries of which H with all others would take for ever."""
    n_samples = problem.table.n_samples
    if n_samples**2 <= MOST_VALUES:
        return
    moves = problem.moves(entries, [request])
    for e, entry in enumerate(entries):
        if n_samples * moves[e].n_cells > MOST_VALUES:
            raise ValueError(
                f"statistic='h_overall' moves each of the {n_samples} rows to each of "
                f"the {moves[e].n_cells} values of {entry.name!r}, which is more than "
                f"{MOST_VALUES:.0e} responses. Fit on a random sample of the rows."
            )


@dataclass(frozen=True)
class OverallInteraction(Reduction):
    """Friedman's H of an entry with all others [Friedman & Popescu, eq. 45].

    With d[i, k] = ICE[i, k] - f[i], F_-j at row i is f[i] + sum_k p[k] d[i, k], and
    F_j at cell k a constant + sum_i w[i] d[i, k]: f - F_j - F_-j takes two means of d.
    """

    needs = "moments"
    uses_squares = True

    def reduce(self, shape):
        """See `Reduction.reduce`."""
        size = np.abs(shape.margins.base).max()
        return State(*shape.means(lambda chunk: chunk.moved, size))

    def finish(self, state, sample):
        """See `Reduction.finish`."""
        own = sample.donated(state.cells)
        rest = state.rows + own
        rest -= (rest @ sample.weights)[..., np.newaxis]
        total = sample.squared_deviations() @ sample.weights
        return Finished(np.sqrt(divided(rest**2 @ sample.weights, total)), None)
