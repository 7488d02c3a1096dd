"""The work of `ImpurityImportance` that needs the training data, tree by tree."""

import numpy as np

from skvarimp._measures.impurity.surrogates.find import find_surrogates
from skvarimp._measures.impurity.tables import Grove, check_training
from skvarimp._running.memory import CACHE, numbers_at_once


def batches(tables, trainings, n_features):
    """Trees put together until a batch is worth an array operation.

    Yields
    ------
    tuple of (int, list of Tree, list of Training)
        With the number of the first tree.
    """
    first, held, size = 0, [], 0
    for t, (table, training) in enumerate(zip(tables, trainings)):
        n_pairs = np.count_nonzero(training.weight) * n_features
        if held and size + n_pairs > numbers_at_once(CACHE):
            yield first, *map(list, zip(*held))
            first, held, size = t, [], 0
        held.append((table, training))
        size += n_pairs
    yield first, *map(list, zip(*held))


def search_batch(batch, columns, criterion, rules, compiled):
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
    compiled : bool
        Whether compiled kernels find them.

    Returns
    -------
    list of (decrease, found)
        For each tree the decrease of weight times impurity by its primary splits,
        (n_nodes,), and its surrogates with what they earn as their `decrease`, see
        `find_surrogates`; None without rules. Nodes are numbered as in the tree.
    """
    first, tables, trainings = batch
    for t, (table, training) in enumerate(zip(tables, trainings), start=first):
        check_training(table, training, t)
    grove = Grove(tables, trainings)
    decrease = grove.decrease
    if criterion is not None:
        decrease = criterion.primary_decreases(grove)
    of_trees = np.split(decrease, grove.roots[1:])
    if rules is None:
        return [(of_tree, None) for of_tree in of_trees]
    found = find_surrogates(grove, columns, rules, compiled)
    if rules.criterion is None:  # the rpart convention
        found["decrease"] = found["association"] * decrease[found["node"]]
    ends = np.searchsorted(found["node"], grove.roots[1:])
    found["node"] -= grove.roots[grove.tree_of_node[found["node"]]].astype(np.int32)
    runs = zip(*(np.split(values, ends) for values in found.values()))
    return [(d, dict(zip(found, run))) for d, run in zip(of_trees, runs)]
