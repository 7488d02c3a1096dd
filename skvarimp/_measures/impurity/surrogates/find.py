"""Surrogate splits of fitted trees, by the engine at hand."""

import numpy as np

from skvarimp._measures.impurity.surrogates import numpy_search
from skvarimp._measures.impurity.surrogates.splits import TOLERANCE


def find_surrogates(grove, columns, rules, compiled=False):
    """All surrogate splits of a few trees, by node and rank.

    Both engines find the same splits, and numbers that agree to rounding.

    Parameters
    ----------
    grove : Grove
    columns : SortedColumns
    rules : Rules
    compiled : bool
        Whether compiled kernels search. They do not know criteria that sort the rows
        of every split.

    Returns
    -------
    dict of ndarray of shape (n_surrogates,)
        "node", "feature", "association", "threshold", "direction", "decrease", "rank".
        Nodes are numbered as in the grove. The threshold on a nominal column, which has
        none, is NaN. Direction +1: x <= threshold goes where the primary's left goes;
        -1: the other way. The decrease of weight times impurity, by the surrogate's own
        split, is NaN where it was not asked for. Rank 1 is the best of its node.
    """
    engine = numpy_search
    if compiled and (rules.criterion is None or rules.criterion.of_sums):
        from skvarimp._measures.impurity.surrogates import compiled_search as engine

    parts = list(engine.best_cuts(grove, columns, rules))
    joined = parts.pop() if len(parts) == 1 else map(np.concatenate, zip(*parts))
    node, feature, number = joined
    n_kept = rules.n_kept or len(columns)
    association = number[:, 0].copy()
    order, rank = by_rank(node, feature, association, n_kept)
    association, below, above, running, decrease = number[order].T
    return {
        "node": node[order],
        "feature": feature[order],
        "association": association,
        "threshold": midpoint(below, above),
        "direction": np.where(running > 0, 1, -1).astype(np.int8),
        "decrease": decrease,
        "rank": rank,
    }


def by_rank(node, feature, association, n_kept):
    """The best surrogates of each node, in their order; ties go by column.

    Parameters
    ----------
    node, feature : ndarray of shape (n_found,), int32
    association : ndarray of shape (n_found,)
        Those of a node that are in turn within `TOLERANCE` are tied.
    n_kept : int
        The largest number per node.

    Returns
    -------
    order : ndarray of shape (n_surrogates,)
        Which of those found.
    rank : ndarray of shape (n_surrogates,), int32
        1 for the best of its node.
    """
    order = np.lexsort((_small(feature), -association, _small(node)))
    node, association = node[order], association[order]
    new_node = np.diff(node, prepend=-1) > 0
    gap = np.diff(association, prepend=np.inf)
    begins = new_node | (gap < -TOLERANCE)
    if np.any(gap[~begins]):  # ties that are not exact
        order = order[np.lexsort((feature[order], np.cumsum(begins)))]
    at = np.arange(len(node))
    rank = at + 1 - np.maximum.accumulate(np.where(new_node, at, 0))
    kept = rank <= n_kept
    return order[kept], rank[kept].astype(np.int32)


def _small(numbers):
    """The same in as few bits as hold them: NumPy sorts up to 16 bits by radix."""
    return numbers.astype(np.min_scalar_type(numbers.max(initial=0)))


def midpoint(below, above):
    """Midway between two values, such that below <= threshold < above."""
    with np.errstate(invalid="ignore"):  # -inf and inf have no middle
        middle = below / 2 + above / 2
    return np.where((below <= middle) & (middle < above), middle, below)
