"""Which pairs and triples of entries an interaction is asked for."""

import numbers
from collections import Counter
from itertools import combinations

import numpy as np

from skvarimp._data.entries import check_known
from skvarimp._measures.problem import Request
from skvarimp._response.mean_curves import OwnShare, TotalShare

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
