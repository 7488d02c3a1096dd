"""Which pairs and triples of entries interact, and statistics of how much."""

import numbers
from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from skvarimp._data.statistics import centred, divided, variance
from skvarimp._data.table import check_known, together
from skvarimp._measures.problem import Request
from skvarimp._response.further_moves import product_move
from skvarimp._response.further_reductions import OwnShare, TotalShare
from skvarimp._response.grid import make_move
from skvarimp._response.mean_curves import flatness
from skvarimp._response.reductions import Outcome, Reduction, State
from skvarimp._running.memory import Memo, working_bytes

MOST_PAIRS = 100_000  # of 447 entries; more are millions before one knows
TRIED = 4  # pairs that a screen computes for each that is asked for
SIZES = {"pairs": 2, "triples": 3}


def check_asked(statistic, pairs, triples):
    """Raise where pairs or triples do not go with the statistic."""
    asked = pairs is not None or triples is not None
    if statistic in {"h_overall", "h_total"} and asked:
        raise ValueError(
            f"`pairs` and `triples` have no meaning for statistic={statistic!r}, which "
            "is about all entries together. Use `features` to choose entries."
        )
    if triples is not None and statistic != "h":
        raise ValueError(f"`triples` is for statistic='h', got {statistic!r}.")
    if triples is not None and pairs is not None:
        raise ValueError(
            "`pairs` and `triples` cannot both be given: fit a measure for each."
        )


def check_several(entries):
    """Raise where there is no pair."""
    if len(entries) < 2:
        raise ValueError(
            "Interactions need at least two entries, got 1: "
            f"{entries[0].name!r}. Add to `features`."
        )


def all_pairs(entries):
    """Every pair of positions, of at most `MOST_PAIRS`."""
    check_several(entries)
    n_pairs = len(entries) * (len(entries) - 1) // 2
    if n_pairs > MOST_PAIRS:
        raise ValueError(
            f"{len(entries)} entries have {n_pairs} pairs, more than the "
            f"{MOST_PAIRS} that pairs=None takes. Name those of interest, such as "
            "pairs=[(0, 1), (0, 2)], ask for the strongest, such as pairs=20, choose "
            "entries with `features`, or use statistic='h_overall', one number per "
            "entry."
        )
    check_disjoint(entries, "Leave the pair out of `pairs`.")
    return list(combinations(range(len(entries)), 2))


def resolve_sets(given, entries, parameter):
    """Positions of the entries of the pairs or triples that were named.

    Parameters
    ----------
    given : sequence of sequences of names or positions
    entries : list of Entry
    parameter : {"pairs", "triples"}

    Returns
    -------
    list of tuple of int
    """
    example = tuple(range(SIZES[parameter]))
    if np.ndim(given) == 0:
        raise TypeError(
            f"`{parameter}` must be a sequence of {parameter}, got {given!r}. Use "
            f"{parameter}=[{example}] for one."
        )
    places = {entry.name: e for e, entry in enumerate(entries)}
    resolved = [_resolved(members, places, parameter) for members in given]
    if not resolved:
        raise ValueError(
            f"`{parameter}` is empty. Use {parameter}=[{example}] for one."
        )
    (most, count) = Counter(frozenset(s) for s in resolved).most_common(1)[0]
    one = parameter.removesuffix("s")
    if count > 1:
        names = [entries[e].name for e in sorted(most)]
        raise ValueError(f"`{parameter}` names the {one} {names} {count} times.")
    for members in resolved:
        way_out = f"Leave the {one} out of `{parameter}`."
        check_disjoint([entries[e] for e in members], way_out)
    return resolved


def check_disjoint(entries, way_out):
    """Raise where two entries share a column."""
    owner = {}
    for e, entry in enumerate(entries):
        for column in entry.columns:
            other = owner.setdefault(column, e)
            if other != e:
                raise ValueError(
                    f"The entries {entries[other].name!r} and {entry.name!r} share the "
                    f"column {column}, so that they cannot move independently. "
                    f"{way_out}"
                )


def _resolved(members, places, parameter):
    size, resolved = SIZES[parameter], ()
    if not isinstance(members, str) and np.ndim(members) == 1 and len(members) == size:
        resolved = tuple(_entry_position(m, places, parameter) for m in members)
    if len(set(resolved)) < size:
        raise ValueError(
            f"`{parameter}` takes {parameter} of different entries, such as "
            f"{tuple(range(size))}, got {members!r}."
        )
    return resolved


def _entry_position(member, places, parameter):
    """Position of an entry given by its name or by a (possibly negative) integer."""
    if isinstance(member, str):
        check_known(member, places, parameter)
        return places[member]
    if isinstance(member, bool | np.bool_) or not isinstance(member, numbers.Integral):
        raise TypeError(
            f"`{parameter}` takes names or positions of entries, got {member!r} of "
            f"type {type(member).__name__}."
        )
    if not -len(places) <= member < len(places):
        raise ValueError(
            f"`{parameter}` names entry {member}, but positions run from 0 to "
            f"{len(places) - 1}: they count the entries of `features`."
        )
    return int(member) % len(places)


def screened_pairs(problem, entries, grid, n_pairs, n_jobs):
    """The pairs of the entries with the largest shares of variance in interactions.

    An entry's total minus its first-order index is the share of the variance in its
    interactions, for independent inputs an upper bound for that of each of its pairs.
    The first entries by this share are taken until they have `TRIED` times as many
    pairs as are wanted.

    Parameters
    ----------
    problem : Problem
    entries : list of Entry
    grid : str, int, array-like or dict
    n_pairs : int
        How many are wanted.
    n_jobs : int or None

    Returns
    -------
    list of (int, int)
    """
    response, share = problem.response(entries), np.zeros(len(entries))
    if not response.additive:
        spread, _ = problem.spread()
        scale = np.where(spread > 0, spread, 1.0)
        shares = [TotalShare(), OwnShare.over("variance", problem.n_rows, 1)]
        request = Request(grid, shares, [scale, scale])
        ((total, own),) = problem.run(entries, [request], n_jobs=n_jobs)
        share = (total.importances - own.importances).max(axis=1)
    n_taken = int(np.ceil(0.5 + np.sqrt(0.25 + 2 * TRIED * n_pairs)))
    taken = np.sort(np.argsort(-share, kind="stable")[:n_taken]).tolist()
    columns = [set(entry.columns) for entry in entries]
    return [(j, k) for j, k in combinations(taken, 2) if not columns[j] & columns[k]]


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

    @classmethod
    def over(cls, problem, entries, n_columns):
        """The curves of entries over the rows of a `Problem`."""
        response, table = problem.response(entries), problem.table
        return cls(response, table, problem.weights, problem.base, n_columns)

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

    def strength(self, task):
        """The statistic of a pair, (n_outputs,), from the entries and their moves."""
        _, first, second = task
        return conditional_std(self.curves.on_grid(first, second), first, second)


def conditional_std(joint, first, second):
    """The statistic from the mean response with both moved, and their moves."""
    along_second = _spread_of_flatness(joint, second.categorical)
    along_first = _spread_of_flatness(joint.swapaxes(1, 2), first.categorical)
    return 0.5 * (along_first + along_second)


def _spread_of_flatness(joint, categorical):
    """sd over the middle axis of the flatness along the last one."""
    statistic = "range" if categorical else "std"
    ones = np.ones((1, max(joint.shape)))
    given = flatness(joint[np.newaxis], ones[:, : joint.shape[2]], statistic)
    return flatness(given, ones[:, : joint.shape[1]], "std")[0]


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

    def strength(self, task):
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
        size = np.abs(shape.margins.base).max()
        return State(*shape.means(lambda chunk: chunk.moved, size))

    def finish(self, state, sample):
        own = sample.donated(state.cells)
        rest = state.rows + own
        rest -= (rest @ sample.weights)[..., np.newaxis]
        total = sample.squared_deviations() @ sample.weights
        return Outcome(np.sqrt(divided(rest**2 @ sample.weights, total)))
