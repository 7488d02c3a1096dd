"""What splits and surrogate splits earn on training rows, by batches of trees."""

from dataclasses import dataclass

import numpy as np

from skvarimp._measures.impurity.cuts import TOLERANCE, best_cuts
from skvarimp._measures.impurity.tree_batch import TreeBatch
from skvarimp._running.memory import CACHE, numbers_at_once


@dataclass(frozen=True)
class Rules:
    """Which surrogate splits count, and what is wanted of them.

    Attributes
    ----------
    n_kept : int or None
        The largest number per node; None for all of positive association.
    min_rows : int
        Rows that a surrogate must leave on each side.
    class_boundary : bool
        No cut between two values that hold only one and the same class.
    criterion : object or None
        Where given, the decrease that each surrogate's own split makes.
    """

    n_kept: int | None = None
    min_rows: int = 1
    class_boundary: bool = False
    criterion: object = None


def batches(tables, trainings, n_features):
    """Trees put together until a batch is worth an array operation.

    Yields
    ------
    tuple of (list of Tree, list of Training)
    """
    held, size = [], 0
    for table, training in zip(tables, trainings):
        n_pairs = np.count_nonzero(training.weight) * n_features
        if held and size + n_pairs > numbers_at_once(CACHE):
            yield tuple(zip(*held))
            held, size = [], 0
        held.append((table, training))
        size += n_pairs
    yield tuple(zip(*held))


def search_batch(batch, columns, criterion, rules):
    """What the splits of the trees of one batch earn.

    Parameters
    ----------
    batch : tuple
        From `batches`.
    columns : SortedColumns
    criterion : object or None
        Where splits have to be judged anew. They are, too, where their decreases by
        the same criterion are recorded, if surrogates are judged by it: trees take
        differences of large numbers, and equal partitions are to earn alike.
    rules : Rules or None
        Which surrogates to find.

    Returns
    -------
    list of (decrease, found)
        For each tree the decrease of weight times impurity by its primary splits,
        (n_nodes,), and its surrogates with what they earn as their `decrease`, see
        `find_surrogates`; None without rules. Nodes are numbered as in the tree.
    """
    trees = TreeBatch(*batch)
    decrease = trees.decrease
    if criterion is not None:
        decrease = criterion.primary_decreases(trees)
    decreases = np.split(decrease, trees.roots[1:])
    if rules is None:
        return [(own, None) for own in decreases]
    found = find_surrogates(trees, columns, rules)
    if rules.criterion is None:  # the rpart convention
        found["decrease"] = found["association"] * decrease[found["node"]]
    ends = np.searchsorted(found["node"], trees.roots[1:])
    found["node"] -= trees.roots[trees.tree_of_node[found["node"]]].astype(np.int32)
    runs = zip(*(np.split(values, ends) for values in found.values()))
    return [(d, dict(zip(found, run))) for d, run in zip(decreases, runs)]


def find_surrogates(trees, columns, rules):
    """All surrogate splits of a few trees, by node and rank.

    Parameters
    ----------
    trees : TreeBatch
    columns : SortedColumns
    rules : Rules

    Returns
    -------
    dict of ndarray of shape (n_surrogates,)
        "node", "feature", "association", "threshold", "direction", "decrease", "rank".
        Nodes are numbered as in the trees. The threshold on a nominal column, which has
        none, is NaN. Direction +1: x <= threshold goes where the primary's left goes;
        -1: the other way. The decrease of weight times impurity, by the surrogate's own
        split, is NaN where it was not asked for. Rank 1 is the best of its node.
    """
    parts = zip(*best_cuts(trees, columns, rules))
    node, feature, number = map(np.concatenate, parts)
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
    return np.where(middle < above, np.maximum(middle, below), below)


class SplitRecords:
    """All kept surrogate splits as one structured array, in the smallest integers.

    A deep forest has millions of them; the array grows in place.

    Parameters
    ----------
    tables : list of Tree
        The trees whose splits are to be held.
    n_features : int
    """

    def __init__(self, tables, n_features):
        sizes = n_features, len(tables), max(len(table.left) for table in tables)
        columns, trees, nodes = (np.min_scalar_type(-1 - n) for n in sizes)  # signed
        fields = [
            ("tree", trees),
            ("node", nodes),
            ("feature", columns),
            ("threshold", np.float64),
            ("direction", np.int8),
            ("association", np.float64),
            ("rank", columns),
        ]
        self.records, self.n_trees = np.empty(0, dtype=fields), 0

    def add(self, found):
        """Append the surrogates of the next tree, see `find_surrogates`."""
        old = len(self.records)
        self.records.resize(old + len(found["node"]), refcheck=False)
        new = self.records[old:]
        new["tree"] = self.n_trees
        self.n_trees += 1
        for name in new.dtype.names[1:]:
            new[name] = found[name]
