"""Which pairs and triples of features are moved, and statistics of what they do."""

from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations
from numbers import Integral

import numpy as np

from skvarimp._data.base_table import is_missing
from skvarimp._data.statistics import centred, divided, variance
from skvarimp._data.table import check_known, together
from skvarimp._response.conditional import product_move
from skvarimp._response.grid import make_move
from skvarimp._response.losses import OwnShare, TotalShare
from skvarimp._response.mean_curves import flatness
from skvarimp._response.reductions import Outcome, Reduction, State

MOST_PAIRS = 100_000  # of 447 features; more are millions before one knows
TRIED = 4  # pairs that a screen computes for each that is asked for
SIZES = {"pairs": 2, "triples": 3}


def check_asked(statistic, pairs, triples):
    """Raise where pairs or triples do not go with the statistic."""
    asked = pairs is not None or triples is not None
    if statistic in {"h_overall", "h_total"} and asked:
        raise ValueError(
            f"`pairs` and `triples` have no meaning for statistic={statistic!r}, which "
            "is about all features together. Use `features` to choose features."
        )
    if triples is not None and statistic != "h":
        raise ValueError(f"`triples` is for statistic='h', got {statistic!r}.")
    if triples is not None and pairs is not None:
        raise ValueError(
            "`pairs` and `triples` cannot both be given: fit a measure for each."
        )


def check_several(features):
    """Raise where there is no pair."""
    if len(features) < 2:
        raise ValueError(
            "Interactions need at least two features, got 1: "
            f"{features[0].name!r}. Add to `features`."
        )


def all_pairs(features):
    """Every pair of positions, of at most `MOST_PAIRS`."""
    check_several(features)
    n_pairs = len(features) * (len(features) - 1) // 2
    if n_pairs > MOST_PAIRS:
        raise ValueError(
            f"{len(features)} features have {n_pairs} pairs, more than the "
            f"{MOST_PAIRS} that pairs=None takes. Name those of interest, such as "
            "pairs=[(0, 1), (0, 2)], ask for the strongest, such as pairs=20, choose "
            "features with `features`, or use statistic='h_overall', one number per "
            "feature."
        )
    check_disjoint(features, "Leave the pair out of `pairs`.")
    return list(combinations(range(len(features)), 2))


def resolve_sets(given, features, parameter):
    """Positions of the features of the pairs or triples that were named.

    Parameters
    ----------
    given : sequence of sequences of names or positions
    features : list of Feature
    parameter : {"pairs", "triples"}

    Returns
    -------
    list of tuple of int
    """
    size, names = SIZES[parameter], [feature.name for feature in features]
    if np.ndim(given) == 0 or len(given) == 0:
        raise ValueError(
            f"`{parameter}` must be a sequence of {parameter} that is not empty, such "
            f"as [{tuple(range(size))}], got {given!r}."
        )
    resolved = []
    for members in given:
        known = ()
        if not isinstance(members, str) and np.ndim(members) == 1:
            known = tuple(_feature_position(m, names, parameter) for m in members)
        if len(known) != size or len(set(known)) < size:
            raise ValueError(
                f"`{parameter}` takes {parameter} of different features, such as "
                f"{tuple(range(size))}, got {members!r}."
            )
        way_out = f"Leave {members!r} out of `{parameter}`."
        check_disjoint([features[e] for e in known], way_out)
        resolved.append(known)
    members, count = Counter(map(frozenset, resolved)).most_common(1)[0]
    if count > 1:
        same = [features[e].name for e in sorted(members)]
        raise ValueError(
            f"`{parameter}` names {same} more than once. Name each of the "
            f"{parameter} once, in any order."
        )
    return resolved


def _feature_position(member, names, parameter):
    """Position of a feature given by its name or by a (possibly negative) integer."""
    if isinstance(member, str):
        check_known(member, names, parameter)
        return names.index(member)
    whole = isinstance(member, Integral) and not isinstance(member, bool)
    if not whole or not -len(names) <= member < len(names):
        raise ValueError(
            f"`{parameter}` takes names or positions of features, got {member!r}: "
            f"positions run from 0 to {len(names) - 1} and count the features of "
            "`features`."
        )
    return int(member) % len(names)


def check_disjoint(features, way_out):
    """Raise where two features share a column."""
    owner = {}
    for e, feature in enumerate(features):
        for column in feature.columns:
            other = owner.setdefault(column, e)
            if other != e:
                raise ValueError(
                    f"The features {features[other].name!r} and {feature.name!r} share "
                    f"the column {column}, so that they cannot move independently. "
                    f"{way_out}"
                )


def screened_pairs(problem, features, on_grid, n_pairs, n_jobs):
    """The pairs of the features with the largest shares of variance in interactions.

    A feature's total minus its first-order index is the share of the variance in its
    interactions, for independent features an upper bound for that of each of its pairs.
    The first features by this share are taken until they have `TRIED` times as many
    pairs as are wanted.

    Parameters
    ----------
    problem : Problem
    features : list of Feature
    on_grid : Request
        The grid, and the columns that are categorical.
    n_pairs : int
        How many are wanted.
    n_jobs : int or None

    Returns
    -------
    list of (int, int)
    """
    response, share = problem.response(features), np.zeros(len(features))
    if not response.additive:
        spread, _ = problem.spread
        scale = np.where(spread > 0, spread, 1.0)
        shares = [TotalShare(), OwnShare.over("variance", problem.n_rows, 1)]
        request = replace(on_grid, reductions=shares, scales=[scale, scale])
        ((total, own),) = problem.outcomes(features, [request], n_jobs=n_jobs)
        share = (total.importances - own.importances).max(axis=1)
    n_taken = int(np.ceil(0.5 + np.sqrt(0.25 + 2 * TRIED * n_pairs)))
    taken = np.sort(np.argsort(-share, kind="stable")[:n_taken]).tolist()
    columns = [set(feature.columns) for feature in features]
    return [(j, k) for j, k in combinations(taken, 2) if not columns[j] & columns[k]]


# A joint effect with a smaller part of the response's variance is rounding.
NO_JOINT_EFFECT = 1e-20
MOST_RESPONSES = 1e10  # of one feature


class MeanCurves:
    """Mean response curves over all rows of a problem, unmoved response subtracted.

    Parameters
    ----------
    response : Response
        Serves the pairs' columns jointly.
    rows : Rows
    n_columns : int
        How many columns move at once, at most.
    over : Rows, default=None
        Those of the rows that the means are over; None: all.
    """

    def __init__(self, response, rows, n_columns, over=None):
        self.rows = rows
        self.of = response.averaged(rows if over is None else over, n_columns)

    @classmethod
    def over(cls, problem, features, n_columns, some=None):
        """The curves of features over the rows of a `Problem`, or over some of them."""
        over = problem.rows_alone(some)
        return cls(problem.response(features), problem.rows, n_columns, over)

    def observed(self, feature):
        """A feature's move through its observed values, and its mean curve."""
        move = make_move(self.rows.table, self.rows.weights, feature, "all")
        return move, self.of(move)

    def on_grid(self, first, second):
        """Mean response with two features moved at once.

        result[o, k, l] has the first at its cell k, the second at its cell l.
        """
        curve = self.of(product_move(first, second))
        return curve.reshape(-1, first.n_cells, second.n_cells)


def spread_cells(move, most):
    """At most so many cells, equally spaced, both ends among them; missing ones too."""
    n_known = move.n_cells
    if move.values.ndim == 1:
        n_known -= is_missing(move.values[-1])
    cells = np.linspace(0, n_known - 1, min(n_known, most)).round().astype(np.intp)
    return np.union1d(cells, np.arange(n_known, move.n_cells))


SURFACE_VALUES = 25  # of each column in a picture of a pair, at most


def joint_dependence(plan, request):
    """Mean response over the rows at pairs of values, for pictures.

    Parameters
    ----------
    plan : Plan
        Its `own` are positions of the features of each pair.
    request : Request
        Of each column at most `SURFACE_VALUES` are used, spread over the grid.

    Returns
    -------
    dict
        (name, name) -> (values of the first, values of the second, averages of shape
        (n_first, n_second) or (n_first, n_second, n_outputs)).
    """
    problem, features, pairs = plan.problem, plan.features, plan.own
    joint = [together([features[j], features[k]]) for j, k in pairs]
    curves = MeanCurves.over(problem, joint, n_columns=2, some=plan.rows)
    level = problem.base @ problem.weights
    moves = {}
    for e in {e for pair in pairs for e in pair}:
        move = problem.move(features[e], request)
        some = spread_cells(move, SURFACE_VALUES)
        share = move.probabilities[some]
        share = share / share.sum()
        moves[e] = move.at_cells(some, probabilities=share, codes=None, nearest=None)
    result = {}
    for j, k in pairs:
        averages = np.moveaxis(curves.on_grid(moves[j], moves[k]), 0, -1) + level
        averages = averages[..., 0] if len(level) == 1 else averages
        names = features[j].name, features[k].name
        result[names] = moves[j].values, moves[k].values, averages
    return result


@dataclass
class ConditionalStd:
    """Greenwell et al., section 3.2: does flatness along one feature vary with another?

    Attributes
    ----------
    curves : MeanCurves
    move : callable
        move(feature) -> Move.
    """

    curves: MeanCurves
    move: object

    def alone(self, feature):
        """What is needed of one feature: its move."""
        return self.move(feature)

    def strength(self, task):
        """The statistic of a pair, (n_outputs,), from the features and their moves."""
        _, (first, second) = task
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

    With S the features of a pair or triple and every F centred over the rows,

        H^2 = sum_i (sum_{T in S} (-1)^|S - T| F_T(x_i))^2 / sum_i F_S(x_i)^2.

    Attributes
    ----------
    curves : MeanCurves
    """

    curves: MeanCurves

    def alone(self, feature):
        """What is needed of one feature: F at each row, (n_outputs, n_samples)."""
        move, curve = self.curves.observed(feature)
        return curve[:, move.codes]

    def strength(self, task):
        """The statistic of a pair or triple, (n_outputs,), from what its parts are."""
        members, parts = task
        move, joint = self.curves.observed(together(members))
        sizes = np.where(np.arange(len(parts)) < len(members), 1, 2)
        smaller = [(size, part[:, move.donors]) for size, part in zip(sizes, parts)]
        response = variance(self.curves.rows.base, self.curves.rows.weights)
        return friedman_h(joint, len(members), smaller, move.probabilities, response)

    def left(self, singles):
        """Share of the variance that the sum of the F of all features leaves."""
        weights, base = self.curves.rows.weights, self.curves.rows.base
        rest = variance(base - sum(singles), weights)
        return divided(rest, variance(base, weights))


def friedman_h(joint, size, smaller, p, response):
    """H of a pair or triple, see `JointH`.

    Parameters
    ----------
    joint : ndarray of shape (n_outputs, n_cells)
        F_S at each observed value.
    size : int
        Number of features in S.
    smaller : list of (int, ndarray of shape (n_outputs, n_cells))
        Of each T the number of features and F_T at these values.
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
    for n_features, of_some in smaller:
        rest += (-1.0) ** (size - n_features) * centred(of_some, p)
    least = NO_JOINT_EFFECT * response
    return np.sqrt(divided(rest**2 @ p, joint**2 @ p, least))


def check_affordable(problem, features, request):
    """Refuse features of which H with all others would take for ever."""
    n_samples = problem.table.n_samples
    moves = problem.moves(features, [request])
    for e, feature in enumerate(features):
        if n_samples * moves[e].n_cells > MOST_RESPONSES:
            raise ValueError(
                f"statistic='h_overall' moves each of the {n_samples} rows to each of "
                f"the {moves[e].n_cells} values of {feature.name!r}, which is more "
                f"than {MOST_RESPONSES:.0e} responses. Fit on a random sample of the "
                "rows."
            )


@dataclass(frozen=True)
class OverallInteraction(Reduction):
    """Friedman's H of a feature with all others [Friedman & Popescu, eq. 45].

    With d[i, k] = ICE[i, k] - f[i], F_-j at row i is f[i] + sum_k p[k] d[i, k], and
    F_j at cell k a constant + sum_i w[i] d[i, k]: f - F_j - F_-j takes two means of d.
    """

    needs = "moments"
    uses_squares = True

    def reduce(self, shape):
        size = np.abs(shape.rows.base).max()
        return State(*shape.means(lambda chunk: chunk.moved, size))

    def finish(self, state, sample):
        own = sample.donated(state.cells)
        rest = state.rows + own
        rest -= (rest @ sample.weights)[..., np.newaxis]
        total = sample.rows.squared_deviations @ sample.weights
        return Outcome(np.sqrt(divided(rest**2 @ sample.weights, total)))
