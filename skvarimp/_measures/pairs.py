"""Mean response curves of two entries at once, and statistics of interaction."""

import numbers
from collections import Counter
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from skvarimp._data.table import as_table
from skvarimp._response.grid import make_move, product_move
from skvarimp._response.reductions.flatness import flatness
from skvarimp._response.responses.black_box import BlackBoxResponse, moved_rows

MOST_PAIRS = 100_000  # of 447 entries; more are millions before one knows

# A joint effect with a smaller part of the response's variance is rounding.
NO_JOINT_EFFECT = 1e-20


def resolve_pairs(pairs, entries):
    """Positions of the pairs asked for.

    Parameters
    ----------
    pairs : sequence of pairs of names or positions, or None
        None: every pair, at most `MOST_PAIRS`.
    entries : list of Entry

    Returns
    -------
    list of (int, int)
    """
    if pairs is None:
        if len(entries) < 2:
            raise ValueError(
                "Interactions need at least two entries, got 1: "
                f"{entries[0].name!r}. Add to `features`."
            )
        n_pairs = len(entries) * (len(entries) - 1) // 2
        if n_pairs > MOST_PAIRS:
            raise ValueError(
                f"{len(entries)} entries have {n_pairs} pairs, more than the "
                f"{MOST_PAIRS} that pairs=None takes. Name those of interest, such as "
                "pairs=[(0, 1), (0, 2)], choose entries with `features`, or use "
                "statistic='h_overall', one number per entry."
            )
        resolved = list(combinations(range(len(entries)), 2))
    else:
        if np.ndim(pairs) == 0:
            raise TypeError(
                f"`pairs` must be a sequence of pairs, got {pairs!r}. Use "
                "pairs=[(0, 1)] for one pair."
            )
        places = {entry.name: e for e, entry in enumerate(entries)}
        resolved = [_resolved_pair(pair, places, entries) for pair in pairs]
    if not resolved:
        raise ValueError("`pairs` is empty. Use pairs=None for every pair.")
    (pair, count) = Counter(frozenset(pair) for pair in resolved).most_common(1)[0]
    if count > 1:
        names = [entries[e].name for e in sorted(pair)]
        raise ValueError(f"`pairs` names the pair {names} {count} times.")
    for j, k in resolved:
        shared = set(entries[j].columns) & set(entries[k].columns)
        if shared:
            raise ValueError(
                f"The entries {entries[j].name!r} and {entries[k].name!r} share the "
                f"column {min(shared)}, so that they cannot move independently. Leave "
                "the pair out of `pairs`."
            )
    return resolved


def _resolved_pair(pair, places, entries):
    if isinstance(pair, str) or np.ndim(pair) != 1 or len(pair) != 2:
        raise ValueError(
            f"`pairs` takes pairs of entries, such as (0, 1), got {pair!r}."
        )
    j, k = (_entry_position(member, places) for member in pair)
    if j == k:
        raise ValueError(f"`pairs` has the entry {entries[j].name!r} with itself.")
    return j, k


def _entry_position(member, places):
    """Position of an entry given by its name or by a (possibly negative) integer."""
    if isinstance(member, str):
        if member not in places:
            names = list(places)
            shown = names if len(names) <= 20 else [*names[:20], "..."]
            raise ValueError(
                f"`pairs` names {member!r}, which is not among the {len(names)} "
                f"entries: {shown}."
            )
        return places[member]
    if isinstance(member, bool | np.bool_) or not isinstance(member, numbers.Integral):
        raise TypeError(
            f"`pairs` takes names or positions of entries, got {member!r} of type "
            f"{type(member).__name__}."
        )
    if not -len(places) <= member < len(places):
        raise ValueError(
            f"`pairs` names entry {member}, but positions run from 0 to "
            f"{len(places) - 1}: they count the entries of `features`."
        )
    return int(member) % len(places)


@dataclass
class MeanCurves:
    """Mean response curves over all rows of a problem, unmoved response subtracted.

    Attributes
    ----------
    response : Response
        Serves the pairs' columns jointly.
    model : Model
    table : Table
    weights : ndarray of shape (n_samples,)
    base : ndarray of shape (n_outputs, n_samples)
    n_columns : int
        How many columns move at once, at most.
    """

    response: object
    model: object
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

    def predicted(self, entry):
        """Whether the model itself is asked for the curves of `on_grid`."""
        return not all(self.table.takes_numbers(j) for j in entry.columns)

    def on_grid(self, first, second):
        """Mean response with two entries moved at once.

        result[o, k, l] has the first at its cell k, the second at its cell l. Where
        values are no plain numbers, the first is moved in X's own container, and the
        model itself asked for the curves of the second.
        """
        if not (self.predicted(first.entry) or self.predicted(second.entry)):
            curve = self.of(product_move(first, second))
            return curve.reshape(-1, first.n_cells, second.n_cells)
        rows = np.arange(len(self.weights))
        curves = []
        for cell in range(first.n_cells):
            cells = np.full(len(rows), cell)
            table = as_table(moved_rows(self.table, rows, first, cells))
            base = np.ascontiguousarray(self.model(table.copy()).T)
            black_box = BlackBoxResponse(self.model, len(base))
            curve = black_box.mean_curves(table, rows, self.weights, second, base)
            shift = (base - self.base) @ self.weights
            curves.append(curve + shift[:, np.newaxis])
        return np.stack(curves, axis=1)


@dataclass
class ConditionalStd:
    """Greenwell et al., section 3.2: does flatness along one entry vary with another?

    Attributes
    ----------
    curves : MeanCurves
    grid : str, int, array-like or dict
    categorical_columns : frozenset of int
    """

    curves: MeanCurves
    grid: object
    categorical_columns: frozenset

    def path(self, joint_entries):
        """How the responses of pairs are computed."""
        fast = self.curves.response.path
        n_predicted = sum(self.curves.predicted(entry) for entry in joint_entries)
        if not n_predicted or fast.startswith("black box"):
            return fast
        black_box = "black box (values that are no numbers)"
        if n_predicted == len(joint_entries):
            return black_box
        n_pairs = len(joint_entries)
        return f"{fast}; {n_predicted} of {n_pairs} pairs: {black_box}"

    def alone(self, entry):
        """What is needed of one entry: its move."""
        table, weights = self.curves.table, self.curves.weights
        return make_move(table, weights, entry, self.grid, self.categorical_columns)

    def of_pair(self, joint_entry, first, second):
        """The statistic of a pair of moves, (n_outputs,)."""
        joint = self.curves.on_grid(first, second)
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
class PairH:
    """Friedman's H of pairs at the rows of X [Friedman & Popescu, eq. 44, the root].

    Attributes
    ----------
    curves : MeanCurves
    """

    curves: MeanCurves

    def path(self, joint_entries):
        """See `ConditionalStd.path`."""
        return self.curves.response.path

    def alone(self, entry):
        """What is needed of one entry: F_j at each row, (n_outputs, n_samples)."""
        move, curve = self.curves.observed(entry)
        return curve[:, move.codes]

    def of_pair(self, joint_entry, first, second):
        """The statistic of a pair, (n_outputs,)."""
        move, joint = self.curves.observed(joint_entry)
        p = move.probabilities
        joint = _centred(joint, p)
        rest = joint - _centred(first[:, move.donors], p)
        rest -= _centred(second[:, move.donors], p)
        effect = joint**2 @ p
        response = variance(self.curves.base, self.curves.weights)
        share = np.zeros(len(joint))
        present = effect > NO_JOINT_EFFECT * response
        np.divide(rest**2 @ p, effect, out=share, where=present)
        return np.sqrt(share)


def _centred(values, weights):
    """Minus the weighted mean; exactly 0 where constant."""
    shifted = values - values[:, :1]
    return shifted - (shifted @ weights)[:, np.newaxis]


def variance(base, weights):
    """Weighted variance of each output."""
    return _centred(base, weights) ** 2 @ weights
