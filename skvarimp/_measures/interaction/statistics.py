"""Mean response curves of several entries at once, and statistics of interaction."""

from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations

import numpy as np

from skvarimp._data.entries import Entry
from skvarimp._data.statistics import centred, divided, variance
from skvarimp._response.grid import make_move, product_move
from skvarimp._response.reductions import Reduction, flatness
from skvarimp._response.states import Finished, State
from skvarimp._running.memory import Memo, working_bytes

# A joint effect with a smaller part of the response's variance is rounding.
NO_JOINT_EFFECT = 1e-20
MOST_VALUES = 1e10  # responses of one entry


@dataclass
class MeanCurves:
    """Mean response curves over all rows of a problem, unmoved response subtracted.

    Attributes
    ----------
    response : Response
        Serves the pairs' columns jointly.
    table : Table
    weights : ndarray of shape (n_samples,)
    base : ndarray of shape (n_outputs, n_samples)
    n_columns : int
        How many columns move at once, at most.
    """

    response: object
    table: object
    weights: np.ndarray
    base: np.ndarray
    n_columns: int

    def __post_init__(self):
        rows = np.arange(len(self.weights))
        self.of = self.response.averaged(
            self.table, rows, self.weights, self.base, self.n_columns
        )

    def observed(self, entry):
        """An entry's move through its observed values, and its mean curve."""
        move = make_move(self.table, self.weights, entry, "all")
        return move, self.of(move)

    def on_grid(self, first, second):
        """Mean response with two entries moved at once.

        result[o, k, l] has the first at its cell k, the second at its cell l.
        """
        curve = self.of(product_move(first, second))
        return curve.reshape(-1, first.n_cells, second.n_cells)


@dataclass
class ConditionalStd:
    """Greenwell et al., section 3.2: does flatness along one entry vary with another?

    Attributes
    ----------
    curves : MeanCurves
    move : callable
        move(entry) -> Move.
    """

    curves: MeanCurves
    move: object

    def alone(self, entry):
        """What is needed of one entry: its move."""
        return self.move(entry)

    def of_set(self, task):
        """The statistic of a pair, (n_outputs,), from the entries and their moves."""
        _, first, second = task
        return conditional_std(self.curves.on_grid(first, second), first, second)


def conditional_std(joint, first, second):
    """See `ConditionalStd`; from the mean response with both moved, and their moves."""
    along_second = _spread_of_flatness(joint, second.categorical)
    along_first = _spread_of_flatness(joint.swapaxes(1, 2), first.categorical)
    return 0.5 * (along_first + along_second)


def _spread_of_flatness(joint, categorical):
    """sd over the middle axis of the flatness along the last one."""
    statistic = "range" if categorical else "std"
    ones = np.ones((1, max(joint.shape)))
    given = flatness(joint[np.newaxis], ones[:, : joint.shape[2]], statistic)
    return flatness(given, ones[:, : joint.shape[1]], "std")[0]


def together(entries):
    """Several entries as one."""
    return reduce(Entry.together_with, entries)


@dataclass
class JointH:
    """Friedman's H at the rows of X [Friedman & Popescu, section 8.1], the root.

    With S the entries of a pair or triple and every F centred over the rows,

        H^2 = sum_i (sum_{T in S} (-1)^|S - T| F_T(x_i))^2 / sum_i F_S(x_i)^2.

    Attributes
    ----------
    curves : MeanCurves
    """

    curves: MeanCurves
    _pairs: Memo = field(
        default_factory=lambda: Memo(most=np.inf, most_bytes=working_bytes() / 4)
    )

    def alone(self, entry):
        """What is needed of one entry: F at each row, (n_outputs, n_samples)."""
        move, curve = self.curves.observed(entry)
        return curve[:, move.codes]

    def of_set(self, task):
        """The statistic of a pair or triple, (n_outputs,), from what each is alone."""
        members, *singles = task
        move, joint = self.curves.observed(together(members))
        smaller = [(1, single[:, move.donors]) for single in singles]
        for pair in combinations(members, 2) if len(members) > 2 else ():
            of_pair = self._pairs.get(
                pair, lambda pair=pair: self.alone(together(pair))
            )
            smaller.append((2, of_pair[:, move.donors]))
        response = variance(self.curves.base, self.curves.weights)
        return friedman_h(joint, len(members), smaller, move.probabilities, response)

    def left(self, singles):
        """Share of the variance that the sum of the F of all entries leaves."""
        weights, base = self.curves.weights, self.curves.base
        rest = variance(base - sum(singles), weights)
        return divided(rest, variance(base, weights))


def friedman_h(joint, size, smaller, p, response):
    """H of a pair or triple, see `JointH`.

    Parameters
    ----------
    joint : ndarray of shape (n_outputs, n_cells)
        F_S at each observed value.
    size : int
        Number of entries in S.
    smaller : list of (int, ndarray of shape (n_outputs, n_cells))
        Of each T the number of entries and F_T at these values.
    p : ndarray of shape (n_cells,)
        Probabilities of the values.
    response : ndarray of shape (n_outputs,)
        Variance of the response.

    Returns
    -------
    ndarray of shape (n_outputs,)
    """
    joint = centred(joint, p)
    rest = joint.copy()
    for n_entries, of_some in smaller:
        rest += (-1) ** (size - n_entries) * centred(of_some, p)
    least = NO_JOINT_EFFECT * response
    return np.sqrt(divided(rest**2 @ p, joint**2 @ p, least))


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
